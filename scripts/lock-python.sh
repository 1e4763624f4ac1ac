#!/bin/sh
# Writes py/requirements/cpu.lock from cpu.in and cpu.overrides.txt: exact versions for Linux x86_64, no path and no
# registry address. Needs uv (UV=... names another). PIP_FIND_LINKS is honoured, since PyPI has no CPU build of torch;
# without it uv's own --torch-backend=cpu finds one. Ends with 1 if Python 3.12 would need another set than 3.11.
set -eu
cd "$(dirname "$0")/../py/requirements"
uv=${UV:-uv}
if [ -n "${PIP_FIND_LINKS:-}" ]; then torch="--find-links $PIP_FIND_LINKS"; else torch="--torch-backend=cpu"; fi

compile() { # compile PYTHON_VERSION OUTPUT
  # shellcheck disable=SC2086 # $torch is two words
  "$uv" pip compile cpu.in --override cpu.overrides.txt $torch --python-version "$1" \
    --python-platform x86_64-manylinux_2_28 --no-header --no-annotate --quiet --output-file "$2"
}

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
compile 3.11 "$fresh"
if grep -nE ';|://|^--|@ ' "$fresh"; then
  echo "the lines above hold a marker, a path or an address; nothing was written" >&2
  exit 1
fi
cp "$fresh" cpu.lock
echo "py/requirements/cpu.lock: $(wc -l < cpu.lock) packages"

# uv starts from the output file's versions, so that only what 3.12 can't take differs.
if ! compile 3.12 "$fresh"; then
  echo "Python 3.12 was not checked (see above: its torch wheel must be at hand)" >&2
elif ! diff cpu.lock "$fresh"; then
  echo "Python 3.12 needs another set: cap those packages in cpu.in" >&2
  exit 1
fi
