#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each mistake on the command line gives exit status 2 and one line that names it:
# bad_options.sh <demo> <sample file>
set -u
demo=$1 sample=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# wrong <pattern> <argument>...
wrong() {
  pattern=$1
  shift
  output=$("$demo" "$@" 2>&1)
  status=$?
  printf '%s\n' "$output"
  if [ "$status" -ne 2 ] || [ "$(printf '%s\n' "$output" | wc -l)" -ne 1 ] ||
    ! printf '%s\n' "$output" | grep -qE -e "^demo: .*($pattern)"; then
    echo "  WRONG: status $status; expected status 2 and one line with: $pattern"
    failures=$((failures + 1))
  fi
}

script() { printf '%b' "$1" > "$folder/script"; }

wrong "--nonsense.*see .*--help" "$sample" --nonsense
wrong "second.*see .*--help" "$sample" second
wrong "--bundle: 'best' .*take resilient" "$sample" --bundle best
wrong "--seconds.*abc" "$sample" --seconds abc
wrong "--seconds: 0 .*1 to 3600" "$sample" --seconds 0
wrong "--seconds: nan " "$sample" --seconds nan
wrong "--seed: -1 is negative" "$sample" --seed -1
wrong "--seed" "$sample" --seed
wrong "/no/such: No such file" /no/such
wrong "$folder: not a regular file" "$folder"
wrong "/dev/zero: not a regular file" /dev/zero
wrong "cannot read : No such file" ""
wrong "--svg: cannot write /no/such/a.svg" "$sample" --svg /no/such/a.svg
wrong "--output: cannot write $folder: Is a directory" "$sample" --output "$folder"
wrong "$sample would be overwritten" "$sample" --output "$sample"
wrong "--faults: cannot read /no/such" "$sample" --faults /no/such
script '# only a comment\n'
wrong "script holds no fault" "$sample" --faults "$folder/script"
script 'at 1s link host0.port0 down\nat 2s link host0.port0 sideways\n'
wrong "script: line 2: 'sideways', expected .*docs/faults.md" "$sample" --faults "$folder/script"
script '\nat 1s link host0.port7 down\n'
wrong "script: line 2: no such host or port" "$sample" --faults "$folder/script"

[ "$failures" -eq 0 ] || exit 1
echo "bad_options: OK"
