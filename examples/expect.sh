#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command and checks how it ends: expect.sh <status> <pattern of the last line> <command>...
# A command that is skipped (77) skips the test.
set -u
expected=$1 pattern=$2
shift 2
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
if [ "$status" -eq 77 ]; then exit 77; fi
if [ "$status" -ne "$expected" ]; then
  echo "exit status $status, expected $expected"
  exit 1
fi
if ! printf '%s\n' "$output" | tail -n 1 | grep -qE -e "$pattern"; then
  echo "the last line does not match: $pattern"
  exit 1
fi
