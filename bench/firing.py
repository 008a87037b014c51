"""Holdfast's own contestants: the registered command for each event of a session, cold and warm."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench import place as places
from bench.race import Contestant
from holdfast.testkit.client import encoded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.place import Place

UNMATCHED = "PreToolUse, no handler matches"
MATCHED = "PreToolUse (Bash), the trivial job"
NAMED = (UNMATCHED, MATCHED, "PreCompact", "SessionStart (compact)", "PostToolUse (Agent)")
"""What the marks are about."""


@dataclass(frozen=True)
class Event:
    """One kind of firing: its name in the table, the recorded payload, what is changed in it, and what it must say.

    None where that depends on what was fired before it.
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
    """Return one contestant for each event, cold, and warm as well where a server answers.

    Args:
        place: where they are fired.
        top: its folder, for a second project, in which an agent finishes a phase again and again.
        warm: whether a server answers.
    """
    again = _Again(top)
    cold = [_contestant(place, event, again) for event in EVENTS]
    return cold + [replace(each, kind="warm", asks=True, environ=_asking(each.environ)) for each in cold if warm]


def _asking(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which the server is asked."""
    return {name: value for name, value in environ.items() if name not in places.COLD}


def _contestant(place: Place, event: Event, again: _Again) -> Contestant:
    command = places.command(event.event)
    if event.name == AGENT:
        environ = {"CLAUDE_PROJECT_DIR": str(again.place.root), **places.COLD}
        return Contestant(event.name, "cold", command, again.payload, event.says, environ=environ)
    data = encoded(place.payload(event.payload, **dict(event.changes)))
    return Contestant(event.name, "cold", command, data, event.says, environ=places.COLD)


class _Again:
    """A project that is as before each time, so that each agent's result is the first one of its phase."""

    def __init__(self, top: Path) -> None:
        self.place = places.made(places.at(top, "again"))
        self._kept = top / "kept"
        shutil.copytree(self.place.root / ".claude", self._kept)
        self._numbers = itertools.count()

    def payload(self) -> bytes:
        """Set the scene and return the result of an agent that nobody knows yet."""
        shutil.copytree(self._kept, self.place.root / ".claude", dirs_exist_ok=True)
        number = next(self._numbers)
        found = encoded(self.place.payload("PostToolUse-Agent", tool_use_id=f"toolu_{number:024}"))
        return found.replace(b"a23b8482eb527498b", b"a%016d" % number)
