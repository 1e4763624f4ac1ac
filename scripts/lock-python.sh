#!/bin/sh
# Writes py/requirements/NAME.lock from NAME.in and NAME.overrides.txt, for cpu, gpu and notebook: exact versions for Linux
# x86_64, no path and no registry address. Needs uv (UV=... names another). PIP_FIND_LINKS is honoured, since PyPI has no
# CPU build of torch; without it uv's own --torch-backend=cpu finds one. Ends with 1 if Python 3.12 would need another set
# than 3.11. With names (`scripts/lock-python.sh notebook`) only those are written.
set -eu
cd "$(dirname "$0")/../py/requirements"
uv=${UV:-uv}
if [ -n "${PIP_FIND_LINKS:-}" ]; then torch="--find-links $PIP_FIND_LINKS"; else torch="--torch-backend=cpu"; fi
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

compile() { # compile NAME PYTHON_VERSION OUTPUT
  overrides=""
  if [ -f "$1.overrides.txt" ]; then overrides="--override $1.overrides.txt"; fi
  # PyPI's own builds of torch are the CUDA ones.
  if [ "$1" = gpu ]; then sources=""; else sources=$torch; fi
  # shellcheck disable=SC2086 # $sources and $overrides are two words each
  "$uv" pip compile "$1.in" $overrides $sources --python-version "$2" \
    --python-platform x86_64-manylinux_2_28 --no-header --no-annotate --quiet --output-file "$3"
}

lock() { # lock NAME
  : > "$fresh"
  compile "$1" 3.11 "$fresh"
  if grep -nE ';|://|^--|@ ' "$fresh"; then
    echo "the lines above hold a marker, a path or an address; $1.lock was not written" >&2
    exit 1
  fi
  cp "$fresh" "$1.lock"
  echo "py/requirements/$1.lock: $(wc -l < "$1.lock") packages"

  # uv starts from the output file's versions, so that only what 3.12 can't take differs.
  if ! compile "$1" 3.12 "$fresh"; then
    echo "Python 3.12 was not checked (see above: its torch wheel must be at hand)" >&2
  elif ! diff "$1.lock" "$fresh"; then
    echo "Python 3.12 needs another set: cap those packages in $1.in" >&2
    exit 1
  fi
}

if [ $# -eq 0 ]; then set -- cpu gpu notebook; fi
for name in "$@"; do lock "$name"; done
