#!/bin/sh
# What the plugin's hooks run: `run.sh EVENT`. Without an environment that is ready it only refuses what a strict handler
# guards, as refuse.sh has it, and at the start of a session has one built in the background. It starts the entrypoint with that environment's own Python: neither a
# second interpreter nor a `python3` on PATH is needed for an event.
root=${0%/plugin/run.sh}
data=$CLAUDE_PLUGIN_DATA
case $data in /*) ;; *) exit 0 ;; esac
. "$root/plugin/environment.sh"

if [ "$1" = SessionStart ] && [ -n "$CLAUDE_ENV_FILE" ] && [ ! -s "$CLAUDE_ENV_FILE" ]; then
    case $data in
    *"'"*) ;; # bin/holdfast looks in the usual places
    *) echo "export HOLDFAST_PLUGIN_DATA='$data'" >> "$CLAUDE_ENV_FILE" ;;
    esac
fi
ready && exec "$python" -IS "$root/hooks/dispatch.py" "$@"
[ "$1" = SessionStart ] || exec sh "$root/src/holdfast/refuse.sh" "$1" "" "$python" "$root/src"
mkdir -p "$data"
if ! { [ -d "$data" ] && [ -w "$data" ] && [ -x "$data" ]; }; then
    # Nothing can be noted there, so it is told whenever a session begins anew, and not when one goes on.
    IFS= read -r payload
    case $payload in *'"source"'*'"startup"'*) ;; *) exit 0 ;; esac
    case $data in
    *[\"\\[:cntrl:]]*) folder="its data folder" ;; # JSON would have to escape it
    *) folder=$data ;;
    esac
    text="Holdfast's plugin cannot build its Python environment and does nothing without it, because $folder cannot be"
    text="$text made or written. Give yourself write access to it, or move away what is in its place; the next session"
    printf '{"systemMessage": "%s tries again."}\n' "$text"
    exit 0
fi

# What went wrong is told once: of two sessions that start, one can move it away.
[ -f "$data/report" ] && mv "$data/report" "$data/report.told" && cat "$data/report.told"
(
    exec < /dev/null > /dev/null 2>&1 # whoever keeps them open keeps the session waiting
    build quietly
) &
exit 0
