# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What a host does after init.sh: brings up its ports, then runs the scripts that the outside asks for.
#
# Port p is eth<p> with 10.0.<p>.<host+1> and rxe<p> on it; eth2, 10.99.0.<host+1>, is the management network.
# A line "<job> <seconds>" on the second serial port runs /lab/<job>.sh in the background, so long at most, with its
# output in /lab/<job>.out; "exit <job> <status>" is answered. The first answer is "ready".
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run LC_ALL=C
host=$(sed -n 's/.*lab\.host=\([0-9]*\).*/\1/p' /proc/cmdline)
hostname "host$host"
ulimit -l unlimited
echo 0 > /proc/sys/kernel/sched_autogroup_enabled  # else being nice means nothing between two jobs
ip link set lo up
for port in 0 1 2; do
  # No IPv6: its addresses would take GID indices at times of their own.
  echo 1 > "/proc/sys/net/ipv6/conf/eth$port/disable_ipv6"
  if [ "$port" = 2 ]; then network=10.99.0; else network=10.0.$port; fi
  ip addr add "$network.$((host + 1))/24" dev "eth$port"
  ip link set "eth$port" mtu 4200 up
  # Band 0 takes all traffic; each packet fault gets a band of its own.
  tc qdisc add dev "eth$port" root handle 1: prio bands 16 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
  if [ "$port" != 2 ]; then rdma link add "rxe$port" type rxe netdev "eth$port"; fi
done

if grep -q lab.shell /proc/cmdline; then
  while :; do setsid -c bash -i <> /dev/ttyS2 >&0 2>&1; done &
fi

stty raw -echo < /dev/ttyS1
exec 3<> /dev/ttyS1
echo ready >&3
while read -r job limit <&3; do
  {
    status=0
    setsid timeout -s KILL "$limit" bash "/lab/$job.sh" > "/lab/$job.out" 2>&1 < /dev/null 3>&- || status=$?
    echo "exit $job $status" >&3
  } &
done
