#!/bin/sh
# Refuse an event in Holdfast's place: `refuse.sh EVENT [REASON [INTERPRETER PACKAGE [FAILURE]]]`.
#
# For an event that Holdfast could not answer. Log FAILURE, if it is given. If a strict handler is known for the event
# in this project, print a refusal; otherwise print nothing. It needs only a shell, reads only the memory of strict
# handlers (see strictness.py) and never the payload: a tool name that cannot be read counts as matching. It always
# exits 0.
#
# `holdfast install` writes a copy beside the launcher, with INTERPRETER and PACKAGE filled in. While one of those is
# missing, it refuses for a minute after the folder changed (an upgrade) and is silent from then on (it was removed).

event=$1
reason=${2:-Holdfast did not answer}
interpreter=$3
package=$4
failure=$5

if [ -n "$XDG_STATE_HOME" ]; then
    state=$XDG_STATE_HOME
elif [ "$(uname)" = Darwin ]; then
    state="$HOME/Library/Application Support"
else
    state=$HOME/.local/state
fi
case ${XDG_STATE_HOME:-$HOME} in /*) ;; *) failure= ;; esac # a relative folder would be made in the project
if [ -n "$failure" ]; then
    line="$(date -u +%Y-%m-%dT%H:%M:%SZ) error ${event:-an event} $(printf '%s' "$failure" | tr '\n' ' ')"
    (umask 077 && mkdir -p "$state/holdfast/log" && printf '%s\n' "$line" >> "$state/holdfast/log/holdfast.log") 2> /dev/null
fi

case $event in
PreToolUse | PreSkillShellCommand | PermissionRequest | UserPromptSubmit | UserPromptExpansion) ;;
*) exit 0 ;;
esac
[ -n "$CLAUDECODE" ] || case $AI_AGENT in claude-code*) ;; *) exit 0 ;; esac # another client's event
[ -n "$CLAUDE_PROJECT_DIR" ] || exit 0

memory=$state/holdfast/strict
[ -e "$memory" ] || exit 0

# Whether the nearest folder on the way to a missing file changed in the last minute; so does one that cannot be asked.
recent() {
    folder=${1%/*}
    while [ -n "$folder" ] && [ ! -d "$folder" ]; do folder=${folder%/*}; done
    found=$(find "${folder:-/}" -prune -mmin -1 2> /dev/null) || return 0
    [ -n "$found" ]
}

hint="In a terminal, 'holdfast doctor' shows why."
missing=
if [ -n "$interpreter" ] && [ ! -x "$interpreter" ]; then
    missing=$interpreter
    reason="Holdfast's Python is missing"
elif [ -n "$package" ] && [ ! -f "$package/holdfast/relay.py" ]; then
    missing=$package/holdfast/relay.py
    reason="Holdfast's package is missing"
fi
if [ -n "$missing" ]; then
    links=
    until recent "$missing"; do # a virtual environment's python is a link, often to another link
        links=x$links
        target=$(readlink "$missing") && [ ${#links} -lt 9 ] || exit 0
        case $target in /*) missing=$target ;; *) missing=${missing%/*}/$target ;; esac
    done
    hint="If it is being upgraded, try again; if it was removed, this ends within a minute."
fi

if [ -f "$memory" ] && [ -r "$memory" ]; then
    guard=
    tab=$(printf '\t')
    while IFS=$tab read -r known matcher root file function; do
        [ "$known" = "$event" ] || continue
        case $root in
        '*' | *%*) ;; # every project; or a root with characters that only Holdfast reads
        *) [ "$root" = "$CLAUDE_PROJECT_DIR" ] || [ "$root" -ef "$CLAUDE_PROJECT_DIR" ] || continue ;;
        esac
        guard="the strict handler ${file##*/}"
        break
    done < "$memory"
    [ -n "$guard" ] || exit 0
else
    guard="a strict handler"
fi

# What goes into JSON here is never escaped, so it has to be plain.
case $guard in *[!A-Za-z0-9_.\ -]*) guard="a strict handler" ;; esac
case $reason in *[!A-Za-z0-9_.,\'\ -]*) reason="Holdfast did not answer" ;; esac
case $memory in
*[\"\\\'[:cntrl:]]*) lift="delete Holdfast's file of strict handlers" ;;
*) lift="rm -r '$memory'" ;;
esac
text="Refused: $guard could not check this, because $reason."
text="$text $hint To lift this without Holdfast: $lift"

specific='{"hookSpecificOutput": {"hookEventName": '
case $event in
PreToolUse | PreSkillShellCommand) printf '%s"%s", "permissionDecision": "deny", "permissionDecisionReason": "%s"}}\n' "$specific" "$event" "$text" ;;
PermissionRequest) printf '%s"%s", "decision": {"behavior": "deny", "message": "%s"}}}\n' "$specific" "$event" "$text" ;;
*) printf '{"decision": "block", "reason": "%s"}\n' "$text" ;;
esac
exit 0
