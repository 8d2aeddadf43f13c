# shellcheck shell=bash
# Shared by the scripts, which source it.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }

# fail <message> [<status>]
fail() {
  printf 'scripts/%s: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-1}"
}

# need <use>...: installs the packages of scripts/packages with these uses, as far as missing.
need() {
  local uses wanted installed missing=() sudo=()
  uses=$(IFS='|' && echo "$*")
  mapfile -t wanted < <(sed -nE "s/^([^# ]+) +# ($uses):.*/\1/p" scripts/packages)
  if [ -n "${VCCL_NO_INSTALL:-}" ]; then return; fi
  if ! command -v apt-get > /dev/null; then
    fail "this is no Debian; install what these packages hold, then set VCCL_NO_INSTALL=1: ${wanted[*]}"
  fi
  installed=$(dpkg-query -W -f '${Package}:${db:Status-Status}\n' "${wanted[@]}" 2> /dev/null || true)
  for package in "${wanted[@]}"; do
    grep -qxF "$package:installed" <<< "$installed" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi

  say "installing"
  for package in "${missing[@]}"; do grep -F "$package " scripts/packages | grep "^$package "; done
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || fail "neither root nor sudo; as root: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
  "${apt[@]}" update || say "apt-get update failed; trying with the lists that are here"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" > /dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

# logged <file> <command>...: the command's output goes to the file, and here when it fails.
logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" > "$log" 2>&1; then
    tail -n 200 "$log"
    return 1
  fi
}
