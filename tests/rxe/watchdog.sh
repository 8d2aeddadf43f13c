#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A lab that does not end is ended, says so, and leaves no emulator behind: watchdog.sh <scripts/rxe>
set -u
export VCCL_RXE_RUN=watchdog VCCL_RXE_LIMIT=30
status=0
output=$("$1" test never_ends 2>&1) || status=$?
printf '%s\n' "$output"
if [ "$status" -eq 77 ]; then exit 77; fi
[ "$status" -eq 3 ] || exit 1
grep -q '^rxe: booted' <<< "$output" || exit 1
grep -q '^BENCH  not at its end after 30 s$' <<< "$output" || exit 1
for _ in {1..50}; do
  if ! pgrep -f "rxe/$VCCL_RXE_RUN,mount_tag=lab" > /dev/null; then exit 0; fi
  sleep 0.1
done
echo "an emulator still runs"
exit 1
