#!/bin/sh
# Find a Python and run build.py with it: `build.sh ROOT DATA HOW`, where HOW is quietly, wait or now.
root=$1 data=$2 how=$3
cd "$data" 2> /dev/null || {
    [ "$how" = quietly ] ||
        echo "holdfast: the plugin's environment cannot be built in $data; give yourself access to that folder" >&2
    exit 1
}

for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
    found=$(command -v "$name") || continue
    # On a Mac without Apple's developer tools this one opens a dialogue; with them it is too old.
    [ "$found" = /usr/bin/python3 ] && [ -d /System/Library/CoreServices ] && continue
    "$found" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null &&
        exec "$found" -I "$root/plugin/build.py" "$@"
done
found=$(uv --no-config python find '>=3.11' 2> /dev/null) && exec "$found" -I "$root/plugin/build.py" "$@"

text="Holdfast's plugin needs Python 3.11 or newer, which is not on PATH, and does nothing without it."
text="$text Install it (or uv, then: uv python install 3.12); the next session finds it."
[ "$how" = quietly ] || echo "holdfast: $text" >&2
[ -e no-python ] && exit 1
if [ "$how" = quietly ] && printf '{"systemMessage": "%s"}\n' "$text" > "report.$$"; then
    # The mark comes before the report, and from one process only (set -C), or a session that starts now tells it again.
    if (set -C && echo "$text" > no-python) 2> /dev/null; then mv "report.$$" report; else rm "report.$$"; fi
fi
exit 1
