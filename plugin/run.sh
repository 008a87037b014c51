#!/bin/sh
# What the plugin's hooks run: `run.sh EVENT`. Without an environment that is ready it says nothing and, at the start
# of a session, has one built in the background. It starts the entrypoint with that environment's own Python: neither a
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
[ "$1" = SessionStart ] && mkdir -p "$data" || exit 0

# What went wrong is told once: of two sessions that start, one can move it away.
[ -f "$data/report" ] && mv "$data/report" "$data/report.told" && cat "$data/report.told"
(
    exec < /dev/null > /dev/null 2>&1 # whoever keeps them open keeps the session waiting
    build quietly
) &
exit 0
