#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: Apache-2.0
# The first program of a host, in its initramfs: loads the modules and makes the outside's file system, read-only
# below a scratch layer, the root. Whatever is built outside runs inside unchanged. /lab is shared and writable.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for module in $($b cat /modules/order); do $b insmod "/modules/$module" || echo "lab: insmod $module failed"; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /lower || echo "lab: no root"
$b mount -t tmpfs scratch /scratch
$b mkdir /scratch/upper /scratch/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/scratch/upper,workdir=/scratch/work overlay /root
$b umount /proc
$b mkdir -p /root/lab
$b mount -t proc proc /root/proc
$b mount -t sysfs sys /root/sys
$b mount --move /dev /root/dev
$b mkdir -p /root/dev/shm /root/dev/pts
$b mount -t devpts pts /root/dev/pts
for folder in dev/shm run; do $b mount -t tmpfs tmpfs "/root/$folder"; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 lab /root/lab || echo "lab: no /lab"
exec $b switch_root /root /bin/bash /lab/agent.sh
