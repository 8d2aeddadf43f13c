#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when a source file is not as clang-format would write it: check_format.sh <project>
set -eu
cd "$1"
folders=
for folder in include tests examples benchmarks plugins; do
  if [ -d "$folder" ]; then folders="$folders $folder"; fi
done
# shellcheck disable=SC2086  # one word a folder
find $folders \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 clang-format-19 --dry-run -Werror
