"""Holdfast's contestants: the registered command for each event of a session, cold and warm."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.install import register
from holdfast.testkit.client import encoded
from tools.bench import place as places
from tools.bench import race
from tools.bench.race import Contestant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tools.bench.place import Place

UNMATCHED = "PreToolUse, no handler matches"
MATCHED = "PreToolUse (Bash), the trivial job"
NAMED = (UNMATCHED, MATCHED, "PreCompact", "SessionStart (compact)", "PostToolUse (Agent)")
"""The events that are measured by name."""


@dataclass(frozen=True)
class Event:
    """One kind of firing.

    Attributes:
        name: its name in the table.
        payload: the recorded payload's name.
        says: a text that its answer must contain; empty if it must be silent, None if that depends on earlier events.
        changes: payload fields to change.
    """

    name: str
    payload: str
    says: str | None = None
    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def event(self) -> str:
        """The event's name."""
        return self.payload.split("-")[0]


_SECRET = {"command": "printenv SECRET", "description": "Show it"}
AGENT = "PostToolUse (Agent)"
STATUS_LINE = "The client's status line"
EVENTS = (
    Event(UNMATCHED, "PreToolUse-Read", "", changes=(("tool_name", "Glob"), ("tool_input", {"pattern": "*.md"}))),
    Event(MATCHED, "PreToolUse-Bash", '"deny"', (("tool_input", _SECRET),)),
    Event("PreCompact", "PreCompact-auto", "Bench"),
    Event("SessionStart (compact)", "SessionStart-compact", "Bench"),
    Event(AGENT, "PostToolUse-Agent", "look around"),
    Event("SessionStart (startup)", "SessionStart-startup", "Bench"),
    Event("UserPromptSubmit", "UserPromptSubmit"),
    Event("PreToolUse (TodoWrite)", "PreToolUse-TodoWrite"),
    Event("PreToolUse (Agent)", "PreToolUse-Agent"),
    Event("PostToolUse (Read)", "PostToolUse-Read"),
    Event("PostToolUse (Edit)", "PostToolUse-Edit"),
    Event("SubagentStart", "SubagentStart"),
    Event("SubagentStop", "SubagentStop"),
    Event("PostCompact", "PostCompact-auto"),
    Event("Stop", "Stop"),
    Event("SessionEnd", "SessionEnd-other", changes=(("session_id", "0d3f0d5e-0000-4000-8000-0000000e0d0e"),)),
)


def contestants(place: Place, top: Path, *, warm: bool) -> list[Contestant]:
    """Return a cold contestant for each event, and also a warm one if a server answers.

    Args:
        place: the home and project of the events.
        top: its folder, in which a second project is made where an agent completes the same phase again and again.
        warm: whether a server answers.
    """
    again = _Again(place, top)
    cold = [_contestant(place, event, again) for event in EVENTS]
    return cold + [replace(each, kind="warm", asks=True, environ=_asking(each.environ)) for each in cold if warm]


def status_line(place: Place) -> Contestant:
    """Return the status line of a session with a workflow, as the client starts it; events don't know the session."""
    session = "0d3f0d5e-0000-4000-8000-000000057a75"
    folder = place.home / ".local/state/holdfast/status"

    def shown() -> bytes:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / session).write_text("holdfast status 1\n1\nBench · phase 1/2 look around\n", "utf-8")
        return encoded(place.payload("SessionStart-startup", session_id=session))

    command = ("/bin/sh", "-c", register.STATUS_LINE)
    return Contestant(STATUS_LINE, "status", command, shown, "phase 1/2 look around · saved")


def _asking(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the server switched on."""
    return {name: value for name, value in environ.items() if name not in places.COLD}


def _contestant(place: Place, event: Event, again: _Again) -> Contestant:
    command = places.command(event.event)
    if event.name == AGENT:
        return Contestant(event.name, "cold", command, again.payload, event.says, environ=again.environ)
    data = encoded(place.payload(event.payload, **dict(event.changes)))
    return Contestant(event.name, "cold", command, data, event.says, environ=places.COLD)


class _Again:
    """A project that is reset before each run, so that each agent's result is the first one of its phase.

    Its launch comes before, as in a session: the phase is active when the result comes.
    """

    def __init__(self, place: Place, top: Path) -> None:
        self.place = places.made(replace(place, root=top / "again"))
        self.environ = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(self.place.root), **places.COLD}
        self._kept = top / "kept"
        shutil.copytree(self.place.root / ".claude", self._kept)
        self._numbers = itertools.count()

    def payload(self) -> bytes:
        """Reset the project, launch a new agent, and return its PostToolUse."""
        shutil.copytree(self._kept, self.place.root / ".claude", dirs_exist_ok=True)
        number = next(self._numbers)
        call = f"toolu_{number:024}"
        launch = encoded(self.place.payload("PreToolUse-Agent", tool_use_id=call))
        race.once(places.command("PreToolUse"), launch, {**self.place.environ, **self.environ})
        found = encoded(self.place.payload("PostToolUse-Agent", tool_use_id=call))
        return found.replace(b"a23b8482eb527498b", b"a%016d" % number)
