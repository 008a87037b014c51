#!/bin/sh
# Refuse an event in Holdfast's place: `refuse.sh EVENT [REASON [INTERPRETER PACKAGE [FAILURE [SOURCE [GUARD]]]]]`.
#
# For an event that Holdfast could not answer. If a strict handler is known for the event in this project, print a
# refusal; otherwise print nothing. Log FAILURE, if it is given. It needs only a shell, reads only the memory of strict
# handlers (see strict_memory.py) and never the payload: a tool name that cannot be read counts as matching. GUARD names
# the strict handlers if Holdfast has looked already. It always exits 0. If Holdfast is gone or does not load, it also
# tells the user so at the start of each session. No process may be available, so a refusal needs no second one.
#
# `holdfast install` writes a copy beside the launcher, with INTERPRETER, PACKAGE and SOURCE filled in. SOURCE is what to
# install again, quoted for a shell; a plugin has none. The installed `holdfast` command runs `refuse.sh --command` if
# it cannot start: that prints on stderr what is missing and what to do, and exits 1.

event=$1
reason=${2:-Holdfast did not answer}
interpreter=$3
package=$4
failure=$5
source=$6
guard=$7

if [ -n "$XDG_STATE_HOME" ]; then
    state=$XDG_STATE_HOME
elif [ -d /System/Library ]; then # macOS
    state="$HOME/Library/Application Support"
else
    state=$HOME/.local/state
fi
case ${XDG_STATE_HOME:-$HOME} in /*) ;; *) failure= ;; esac # a relative folder would be made in the project

# Ends the script, whatever fails in here: what was printed must not be printed again.
log() {
    trap 'exit 0' EXIT
    [ -n "$failure" ] || exit 0
    line="$(date -u +%Y-%m-%dT%H:%M:%SZ) error ${event:-an event} $(printf '%s' "$failure" | tr '\n' ' ')"
    (umask 077 && mkdir -p "$state/holdfast/log" && printf '%s\n' "$line" >> "$state/holdfast/log/holdfast.log") 2> /dev/null
    exit 0
}

missing=
if [ -n "$interpreter" ] && [ ! -x "$interpreter" ]; then
    missing=$interpreter
    reason="Holdfast's Python is missing"
elif [ -n "$package" ] && [ ! -f "$package/holdfast/relay.py" ]; then
    missing=$package/holdfast
    reason="Holdfast's package is missing"
fi
gone=
if [ -n "$missing" ] || [ "$reason" = "Holdfast does not load" ]; then gone=yes; fi

# What goes into JSON here is never escaped, so it has to be plain.
case $reason in *[!A-Za-z0-9_.,\'\ \(\)-]*) reason="Holdfast did not answer" ;; esac
case $missing in *[\"\\[:cntrl:]]*) missing="a path that cannot be shown here" ;; esac
case $source in *[\"\\[:cntrl:]]*) source=holdfast ;; esac
case $package in *[\"\\[:cntrl:]]*) package="the plugin's folder/src" ;; esac

# The commands that install Holdfast again and remove it, for the installer that is here.
if command -v uvx > /dev/null; then
    install="uv tool install --force $source && holdfast install"
    remove="uvx --from $source holdfast uninstall"
elif command -v pipx > /dev/null; then
    install="pipx install --force $source && holdfast install"
    remove="pipx run --spec $source holdfast uninstall"
else
    venv="python3 -m venv ~/holdfast-venv && ~/holdfast-venv/bin/pip install $source && ~/holdfast-venv/bin/holdfast"
    install="$venv install"
    remove="$venv uninstall && rm -r ~/holdfast-venv"
fi
if [ "$event" = --command ]; then
    printf '%s\n' "holdfast: $reason${missing:+: $missing}" "To install it again: $install" "To remove it: $remove" >&2
    exit 1
fi

hint="In a terminal, 'holdfast doctor' shows why."
end=" "
if [ -n "$gone" ] && [ -n "$source" ]; then # \n is a line break in JSON
    hint="If Holdfast is being upgraded, try again.\nTo install it again: $install\nTo remove it: $remove"
    end="\n"
elif [ -n "$missing" ]; then
    hint="Claude Code builds the plugin's environment when a session starts. To build it now:"
    hint="$hint ${package%/src}/bin/holdfast --build"
    end="\n"
fi

case $event in
PreToolUse | PreSkillShellCommand | PermissionRequest | UserPromptSubmit | UserPromptExpansion) ;;
SessionStart) [ -n "$gone" ] || log ;;
*) log ;;
esac
[ -n "$CLAUDECODE" ] || case $AI_AGENT in claude-code*) ;; *) log ;; esac # another client's event
[ -n "$CLAUDE_PROJECT_DIR" ] || log

if [ "$event" = SessionStart ]; then
    text="$reason${missing:+: $missing}. No handler runs, no workflow is saved, and what your strict handlers guard is"
    printf '{"systemMessage": "%s refused. %s"}\n' "$text" "$hint"
    log
fi

memory=$state/holdfast/strict
[ -e "$state/holdfast" ] || log
[ -e "$memory" ] || [ ! -O "$state/holdfast" ] || log

place=
if [ -n "$guard" ]; then # such as `user/guard.py: on_pre_tool_use, project/other.py: on_pre_tool_use`
    guard=${guard%%:*}
    case $guard in */*) place=${guard%%/*} ;; esac
elif [ -O "$state/holdfast" ] && [ -f "$memory" ] && [ -r "$memory" ]; then
    while IFS='	' read -r known matcher root file function; do
        [ "$known" = "$event" ] || continue
        place=project
        case $root in
        '*') place=user ;;
        *%*) ;; # it has characters that only Holdfast reads
        *) [ "$root" = "$CLAUDE_PROJECT_DIR" ] || [ "$root" -ef "$CLAUDE_PROJECT_DIR" ] || continue ;;
        esac
        guard=$file
        break
    done < "$memory"
    [ -n "$guard" ] || log
fi

file=${guard##*/}
case $place$file in
user*[!A-Za-z0-9_.\ -]* | project*[!A-Za-z0-9_.\ -]* | "$file") guard="a strict handler" place= ;;
*) guard="the strict handler $file" ;;
esac
[ -z "$gone" ] || place=
case $place in
user) hint="$hint To do without it: holdfast handlers off '${file%.*}'." ;;
project) hint="$hint To do without it: holdfast handlers untrust '$file'." ;;
esac
case $memory in
*[\"\\\'[:cntrl:]]*) lift="delete Holdfast's file of strict handlers" ;;
*) lift="rm -r '$memory'" ;;
esac
[ -O "$state/holdfast" ] || lift="make Holdfast's state folder your own, or set XDG_STATE_HOME"
text="Refused: $guard could not check this, because $reason."
text="$text $hint${end}To lift this without Holdfast: $lift"

specific='{"hookSpecificOutput": {"hookEventName": '
case $event in
PreToolUse | PreSkillShellCommand) printf '%s"%s", "permissionDecision": "deny", "permissionDecisionReason": "%s"}}\n' "$specific" "$event" "$text" ;;
PermissionRequest) printf '%s"%s", "decision": {"behavior": "deny", "message": "%s"}}}\n' "$specific" "$event" "$text" ;;
*) printf '{"decision": "block", "reason": "%s"}\n' "$text" ;;
esac
log
