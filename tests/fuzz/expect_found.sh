#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# expect_found.sh COMMAND...: fails unless the fuzzer finds a broken check or an access out of bounds.
set -u
if report=$("$@" 2>&1); then
  printf '%s\n' "$report"
  echo "the fuzzer did not find what was broken on purpose"
  exit 1
fi
printf '%s\n' "$report" | grep -E 'ERROR: (AddressSanitizer|libFuzzer: deadly signal)|^#[0-9]+.*pulse|Test unit written'
printf '%s\n' "$report" | grep -qE 'ERROR: (AddressSanitizer|libFuzzer: deadly signal)'
