"""Holdfast's contestants: the registered command for each event of a session, cold and warm, and a whole session."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.install import register
from holdfast.testkit.client import encoded
from tools.bench import place as places
from tools.bench.race import Contestant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tools.bench.place import Place

MATCHED = "PreToolUse (Bash), the trivial job"
STATUS_LINE = "The client's status line"
SECRET = {"command": "printenv SECRET", "description": "Show it"}
"""The Bash command that the trivial job refuses."""
_AGENT = "PostToolUse (Agent)"


class Event(NamedTuple):
    """One kind of firing.

    Attributes:
        payload: the recorded payload's name.
        says: a text that its answer must contain; empty if it must be silent, None if that depends on earlier events.
        changes: payload fields to change.
        times: how often a session of a hundred tool calls starts a process for it.
    """

    payload: str
    says: str | None = None
    changes: Mapping[str, Any] = {}
    times: int = 0

    @property
    def event(self) -> str:
        """The event's name."""
        return self.payload.split("-")[0]


SESSION = (
    "100 tool calls (40 Bash, 30 Read, 20 Edit, 6 TodoWrite, 4 Agent), 3 prompts, 1 compaction, from start to end; "
    "with the shipped handlers alone Bash starts no process"
)
"""What `times` adds up to."""
BASH_TIMES = 40
"""How often a session starts a process for `MATCHED` if a user's handler wants every Bash command."""
_UNMATCHED = {"tool_name": "Glob", "tool_input": {"pattern": "*.md"}}
EVENTS = {
    "PreToolUse, no handler matches": Event("PreToolUse-Read", "", _UNMATCHED),
    MATCHED: Event("PreToolUse-Bash", '"deny"', {"tool_input": SECRET}),
    "PreCompact": Event("PreCompact-auto", "Bench", times=1),
    "SessionStart (compact)": Event("SessionStart-compact", "Bench", times=1),
    _AGENT: Event("PostToolUse-Agent", "look around", times=4),
    "SessionStart (startup)": Event("SessionStart-startup", "Bench", times=1),
    "UserPromptSubmit": Event("UserPromptSubmit", times=3),
    "PreToolUse (TodoWrite)": Event("PreToolUse-TodoWrite", times=6),
    "PreToolUse (Agent)": Event("PreToolUse-Agent", times=4),
    "PostToolUse (Read)": Event("PostToolUse-Read", times=30),
    "PostToolUse (Edit)": Event("PostToolUse-Edit", times=20),
    "SubagentStart": Event("SubagentStart", times=4),
    "SubagentStop": Event("SubagentStop", times=5),  # a compaction ends with one too
    "PostCompact": Event("PostCompact-auto", times=1),
    "Stop": Event("Stop", times=3),
    "SessionEnd": Event("SessionEnd-other", changes={"session_id": "0d3f0d5e-0000-4000-8000-0000000e0d0e"}, times=1),
}
"""Every measured event by its name in the table."""


def contestants(place: Place) -> list[Contestant]:
    """Return a cold and a warm contestant for each event of a session in a place, and one for the status line."""
    again = _Again(place)
    cold = [_cold(place, name, event, again) for name, event in EVENTS.items()]
    warm = [replace(each, kind="warm", environ=_with_server(each.environ)) for each in cold]
    return [*cold, *warm, _status_line(place)]


def session_s(medians: Mapping[str, float], bash_times: int = 0) -> float:
    """Return the seconds of hooks in a session of a hundred tool calls.

    Args:
        medians: milliseconds by the event's name.
        bash_times: how often it starts a process for Bash.
    """
    events = sum(medians[name] * event.times for name, event in EVENTS.items())
    return (events + medians[MATCHED] * bash_times) / 1000


def _with_server(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in places.COLD}


def _cold(place: Place, name: str, event: Event, again: _Again) -> Contestant:
    command = places.command(event.event)
    if name == _AGENT:
        return Contestant(name, "cold", command, again.payload, event.says, environ=again.environ)
    data = encoded(place.payload(event.payload, **event.changes))
    return Contestant(name, "cold", command, data, event.says, environ=place.environ | places.COLD)


def _status_line(place: Place) -> Contestant:
    """Return the status line of a session with a workflow, as the client starts it; events don't know the session."""
    session = "0d3f0d5e-0000-4000-8000-000000057a75"
    folder = place.home / ".local/state/holdfast/status"

    def payload() -> bytes:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / session).write_text("1\nBench · phase 1/2 look around\n", "utf-8")
        return encoded(place.payload("SessionStart-startup", session_id=session))

    words = ("/bin/sh", "-c", register.STATUS_LINE)
    return Contestant(STATUS_LINE, "status", words, payload, "phase 1/2 look around · saved", environ=place.environ)


class _Again:
    """A project that is reset before each run, so that each agent's result is the first one of its phase.

    Its launch comes before, as in a session: the phase is active when the result comes.
    """

    def __init__(self, place: Place) -> None:
        cold = replace(place.place, variables=place.place.variables | places.COLD)
        self._place = replace(place, place=cold, root=cold.top / "again")
        places.start(self._place)
        self.environ = self._place.environ
        self._original: Path = place.place.top / "again-as-it-was"
        shutil.copytree(self._place.root / ".claude", self._original)

    def payload(self) -> bytes:
        """Reset the project, launch a new agent, and return its PostToolUse."""
        shutil.copytree(self._original, self._place.root / ".claude", dirs_exist_ok=True)
        agent = self._place.agent("general-purpose", "look around", "Look around.")
        agent.about_to()
        result = self._place.payload("PostToolUse-Agent", **agent.call)
        result["tool_response"] |= {"agentId": agent.run}
        return encoded(result)
