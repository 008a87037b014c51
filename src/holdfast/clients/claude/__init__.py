"""Claude Code as a client: the object `claude`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import events, hookspecs, matchable, matchers, replies, tools
from holdfast.clients.client import Client
from holdfast.plugins.outcomes import block, deny
from holdfast.process import caller, liveness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.clients.claude.events.event import Event
    from holdfast.clients.client import ScriptRuns, Transcripts
    from holdfast.dispatch.client import Event as DispatchedEvent
    from holdfast.plugins.outcomes import Outcome

# Cursor and Copilot run Claude Code's settings too. These are keys of theirs, with Claude Code's name for the same.
_FOREIGN_KEYS = {"cursor_version": "", "sessionId": "session_id", "hookEventName": "hook_event_name"}
_PROCESS_VARIABLE = "CLAUDE_PID"  # older clients set none
_ATTENDED_VARIABLE = "CLAUDE_CODE_SESSION_ATTENDED"  # older clients set none
_ENTRYPOINT_VARIABLE = "CLAUDE_CODE_ENTRYPOINT"
_ANCESTORS = 5  # the handlers' process, the entrypoint, the shell, the client


class ClaudeCode(Client):
    """Claude Code: its hooks, and what sessions ask of it."""

    NAME = "claude-code"
    EVENT_KEY = "hook_event_name"
    SESSION_KEY = "session_id"
    START_EVENT = "SessionStart"
    PROMPT_EVENT = "UserPromptSubmit"
    CALL_EVENT = "PreToolUse"
    END_EVENT = "SessionEnd"
    ROOT_VARIABLE = "CLAUDE_PROJECT_DIR"
    PLUGIN_VARIABLE = "CLAUDE_PLUGIN_ROOT"
    ENVIRONMENT_VARIABLE = "CLAUDE_ENV_FILE"
    STRICT_EVENTS = frozenset(name for name, each in events.EVENTS.items() if each.strict)
    SOURCES = (__file__, events.__file__, hookspecs.__file__, matchers.__file__, matchable.__file__, tools.__file__)

    EVENTS = events.EVENTS
    HOOK_NAMES = events.HOOK_NAMES

    parse = staticmethod(events.parse)
    matches = staticmethod(matchers.matches)
    valid = staticmethod(matchers.valid)
    never = staticmethod(matchable.never)
    doubt = staticmethod(matchable.doubt)
    changed = staticmethod(replies.changed)
    as_said = staticmethod(replies.as_said)
    merge = staticmethod(replies.merge)

    def foreign(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> str:
        """Return why an event isn't Claude Code's, or an empty string if it is.

        Other clients run the hooks in Claude Code's settings too, with the same or nearly the same payloads. They get
        no answer and exit code 0. `refuse.sh` has the same rule for the environment.

        Args:
            payload: what came on stdin, as far as it could be read.
            environ: the hook's environment.
        """
        theirs = [key for key, ours in _FOREIGN_KEYS.items() if key in payload and ours not in payload]
        if theirs:
            return f"the payload has {theirs[0]!r}, which Claude Code does not send"
        if not environ.get("CLAUDECODE") and not environ.get("AI_AGENT", "").startswith("claude-code"):
            missing = "neither CLAUDECODE nor AI_AGENT=claude-code…"
            return f"the environment has {missing}, which Claude Code sets for every hook"
        if not environ.get(self.ROOT_VARIABLE):
            return f"the environment has no {self.ROOT_VARIABLE}, which Claude Code sets for every hook"
        return ""

    def matched(self, event: str, payload: Mapping[str, Any]) -> str | None:
        """Return the name of the tool or slash command, by which handlers are chosen before the event is parsed."""
        field = self.EVENTS[event].matcher if event in self.EVENTS else None
        value = payload.get(field) if field in ("tool_name", "command_name") else None
        return value if isinstance(value, str) else None

    def matcher_value(self, event: DispatchedEvent) -> str | None:
        """Return the value that a matcher is compared with; None if the event has no such field or it was absent.

        Of a file that changed it is the name without folders.
        """
        field = self.EVENTS[event.hook_event_name].matcher
        value: str | None = getattr(event, field) if field else None
        return PurePath(value).name if value is not None and event.hook_event_name == "FileChanged" else value

    def given_input(self, event: DispatchedEvent) -> object:
        """Return a tool call's input, or None for an event without one."""
        return getattr(event, "tool_input", None)

    def edited_file(self, event: DispatchedEvent) -> str:
        """Return the path of the file that a call of one of the client's own tools edits; empty for any other event."""
        asked = self.given_input(event)
        if not (isinstance(asked, dict) and getattr(event, "tool_name", "") in tools.EDITORS):
            return ""
        return str(asked.get("file_path") or asked.get("notebook_path") or "")

    def also_answers(self, event: str, matcher: str | None) -> str:
        """Return the other event that handlers of an event get, if their matcher selects it; else an empty string.

        No PreToolUse fires for an inline shell command of a skill, so handlers of it get the event that does.
        """
        other = "PreSkillShellCommand"
        shell = any(self.matches(matcher, name, other) for name in ("Bash", "PowerShell"))
        return other if event == "PreToolUse" and shell else ""

    def as_called(self, event: Event, matcher: str | None) -> Event:
        """Return an event as the client would hand it to a hook with this matcher (`matchers.called_as`)."""
        name, value = event.hook_event_name, self.matcher_value(event)
        if value != "Monitor" or matchers.called_as(matcher, value, name) == value:
            return event
        asked = getattr(event, "tool_input", {})  # one that watches a WebSocket has no command
        fields = {key: asked.get(key, "") for key in ("command", "description")}
        return event.model_copy(update={"tool_name": "Bash", "tool_input": fields})

    def to_json(self, event: Event) -> str:
        """Return an event as the client sends it to a hook, with what handlers have changed, as JSON text."""
        fields = event.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return json.dumps({**fields, **event.unreadable}, ensure_ascii=False)

    def hook_outcomes(self, event: str, exit_code: int, stdout: str, stderr: str) -> Sequence[Outcome]:
        """Return the outcomes of a hook's process, read as the client reads them (`hook_output.read`)."""
        from holdfast.clients.claude import hook_output

        return hook_output.read(event, exit_code, stdout, stderr)

    def refusal(self, event: str, reason: str) -> Outcome:
        """Return the outcome that refuses what an event announces."""
        return deny(reason) if "deny" in self.EVENTS[event].accepts else block(reason)

    def unanswered(self, event: str) -> str:
        """Return why a WorktreeCreate handler's silence is a failure: the client takes it for one."""
        return "named no folder; it has to return worktree(path)" if event == "WorktreeCreate" else ""

    def process(self, environ: Mapping[str, str]) -> str | None:
        """Return the client's process id: `CLAUDE_PID`, or from older clients the ancestor that is called `claude`.

        None if neither exists. Then a crashed session counts as live until it has been silent for long enough.
        """
        if environ.get(_PROCESS_VARIABLE):
            return environ[_PROCESS_VARIABLE]
        return _claude_above(caller())

    def attended(self, environ: Mapping[str, str]) -> bool:
        """Return whether a person sits at the session: in a terminal or an app, not `claude -p` or the SDK.

        `CLAUDE_CODE_SESSION_ATTENDED` says so. Older clients set only the entrypoint, `sdk-…` where nobody does.
        """
        told = environ.get(_ATTENDED_VARIABLE)
        return told != "0" if told else not environ.get(_ENTRYPOINT_VARIABLE, "").startswith("sdk")

    def marks_agents(self, environ: Mapping[str, str]) -> bool:
        """Return whether the client marks a subagent's compaction (`agent_id`), as those that name their process do."""
        return bool(environ.get(_PROCESS_VARIABLE))

    def reader(self) -> Transcripts:
        """Return the reader of its transcripts, loaded on first use."""
        from holdfast.clients.claude.transcripts import Transcripts as Reader

        return Reader()

    def agent_runs(self) -> ScriptRuns:
        """Return the reader of what the Workflow tool's agents returned, loaded on first use."""
        from holdfast.clients.claude.workflow_runs import WorkflowRuns

        return WorkflowRuns()

    def samples(self) -> Sequence[Mapping[str, Any]]:
        """Return sample events, which an idle child of the server answers before a real one comes."""
        from holdfast.clients.claude import sample

        return sample.PAYLOADS


@cache  # an event asks several times
def _claude_above(process: int) -> str | None:
    for _ in range(_ANCESTORS):
        found = liveness.parent(process)
        if found is None:
            return None
        name, above = found
        if name == "claude":
            return str(process)
        process = above
    return None


claude = ClaudeCode()
