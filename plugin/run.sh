#!/bin/sh
# The command of the plugin's hooks: `run.sh EVENT`. It starts the entrypoint with the Python of the plugin's own
# environment, so an event needs neither a second interpreter nor a `python3` on PATH. While that environment isn't
# ready, it only refuses what a strict handler guards (refuse.sh), and builds the environment in the background when a
# session starts.
root=${0%/plugin/run.sh}
data=$CLAUDE_PLUGIN_DATA
case $data in /*) ;; *) exit 0 ;; esac
for needed in plugin/environment.sh hooks/dispatch.py src/holdfast/refuse.sh; do
    [ -r "$root/$needed" ] || exit 1 # shell and Python would end with 2, which blocks some events
done
. "$root/plugin/environment.sh"

if [ "$1" = SessionStart ] && [ -n "$CLAUDE_ENV_FILE" ] && [ ! -s "$CLAUDE_ENV_FILE" ]; then
    case $data in
    *"'"*) ;; # can't be quoted here; bin/holdfast looks in the usual places
    *) echo "export HOLDFAST_PLUGIN_DATA='$data'" >> "$CLAUDE_ENV_FILE" ;;
    esac
fi
# Whether a session's start put the native relay there for this copy and its environment (plugin_relay.py).
native() {
    [ -x "$data/relay/run" ] && [ -r "$data/relay/run.conf" ] || return 1
    { IFS= read -r _ && IFS= read -r interpreter && IFS= read -r entry; } < "$data/relay/run.conf" || return 1
    [ "$interpreter" = "$python" ] && [ "$entry" = "$root/hooks/dispatch.py" ]
}
ready && [ "$1" != SessionStart ] && native && exec "$data/relay/run" "$@"
ready && exec "$python" -IS "$root/hooks/dispatch.py" "$@"
[ "$1" = SessionStart ] || exec sh "$root/src/holdfast/refuse.sh" "$1" "" "$python" "$root/src"
mkdir -p "$data"
if ! { [ -d "$data" ] && [ -w "$data" ] && [ -x "$data" ]; }; then
    # Nothing can be recorded there, so tell the user at each start of a new session, but not when one is resumed.
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

# Tell the user what went wrong, once: of two sessions that start together, only one can move the file.
[ -f "$data/report" ] && mv "$data/report" "$data/report.told" && cat "$data/report.told"
(
    exec < /dev/null > /dev/null 2>&1 # the session would wait while they are open
    build quietly
) &
exit 0
