"""Planting a workflow in its format's own files: through the command line, or as people write them."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.process.trial import Ended
    from holdfast.survival.conversation import Conversation
    from holdfast.survival.truth import Truth
    from holdfast.testkit.place import Place

FORMATS = ("hybrid", "compaction", "wfs")
WITH_AGENTS = ("hybrid", "wfs")
BY_HAND = ("hybrid", "compaction")
"""The formats whose files can say all that a workflow is; a session of the other is kept by commands."""
MEMORY = "CLAUDE.local.md"
HYBRID = ".claude/state/workflow.json"
_MOST = 60_000  # characters of one command line; a system takes twice that, and more for each


class Broken(Exception):
    """Something that has to work for anything to be judged does not; the message says what."""


def install(place: Place) -> None:
    """Install Holdfast as a user does. Raises Broken where that failed."""
    ended = place.install()
    if ended.exit_code != 0:
        raise Broken(f"holdfast install ended with {ended.exit_code}: {ended.stderr.strip()}")


def said(ended: Ended) -> str:
    """Return what a command printed. Raises Broken where it failed."""
    if ended.exit_code != 0:
        raise Broken(f"a command ended with {ended.exit_code}: {ended.stderr.strip()[:300]}")
    return ended.stdout


def start(client: Conversation, planted: Truth) -> None:
    """Start a workflow as a model does, on the command line, with files for its required reading.

    Raises:
        Broken: the command failed.
    """
    for entry in planted.reading:
        client.place.write(entry, "What has to be known.\n", client.root)
    words = ["--format", planted.format, "--type", "complex" if planted.format == "wfs" else "custom"]
    for phase in planted.phases:
        words += ["--phase", f"{phase.title} @{phase.agent}" if phase.agent else phase.title]
    more = [("--read", entry) for entry in planted.reading] + [("--remind", text) for text in planted.reminders]
    more += [("--set", setting(key, value)) for key, value in planted.variables.items()]
    first, rest = _portion(more, _MOST - sum(map(len, words)))
    said(client.cli("start", planted.title, *words, *first))
    while rest:
        part, rest = _portion(rest, _MOST)
        said(client.cli("update", planted.title, *part))
    if planted.format != "compaction":  # whose first phase is begun by its start
        said(client.cli("next", planted.title))


def setting(key: str, value: str | list[str]) -> str:
    """Return a context value as the command line takes it: a text as it is, a list as JSON."""
    return f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _portion(pairs: list[tuple[str, str]], room: int) -> tuple[list[str], list[tuple[str, str]]]:
    taken: list[str] = []
    for number, pair in enumerate(pairs):
        room -= sum(map(len, pair))
        if room < 0 and number:
            return taken, pairs[number:]
        taken += pair
    return taken, []


def write_compaction(
    place: Place, planted: Truth, *, finished: bool = False, age: timedelta = timedelta(), root: Path | None = None
) -> Path:
    """Write a `compaction` state file by hand (R001-05)."""
    current = len(planted.phases) if finished else planted.current
    context: dict[str, Any] = dict(planted.variables)
    context["phases"] = [phase.title for phase in planted.phases]
    data = {
        "workflow": planted.title,
        "workflow_type": "custom",
        "phase": {
            "current": current,
            "total": len(planted.phases),
            "name": planted.phases[current - 1].title,
            "status": "completed" if finished else "in_progress",
        },
        "required_reading": [f"@{entry}" for entry in planted.reading],
        "context": context,
        "key_reminders": planted.reminders,
        "created_at": "2025-01-02T03:04:05Z",
    }
    name = planted.title.lower()[:50] or "unnamed"
    file = place.write(f"untracked/workflow-state/{name}/state-{name}-20250102_030405.json", _text(data), root)
    moment = ((place.now or clock.now()) - age).timestamp()
    os.utime(file, (moment, moment))
    return file


def write_hybrid(place: Place, planted: Truth) -> Path:
    """Write a `hybrid` state file by hand (R000-02), with the keys that people add to it (R000-38)."""
    phases = [
        {
            "id": f"phase_{number}",
            "title": phase.title,
            "agent": phase.agent or "general-purpose",
            "status": _status(number + 1, planted.current),
            "deliverables": [phase.deliverable] if phase.deliverable else [],
            "context_for_next": phase.handover,
        }
        for number, phase in enumerate(planted.phases)
    ]
    data = {
        "id": "wf_20250102_030405",
        "task": planted.title,
        "status": "active",
        "current_phase": f"phase_{planted.current - 1}",
        "phases": phases,
        "required_reading": [f"@{entry}" for entry in planted.reading],
        "key_reminders": planted.reminders,
        "context": planted.variables,
    }
    return place.write(HYBRID, _text(data))


def write_memory(place: Place, planted: Truth) -> Path:
    """Write the memory file from which a `compaction` workflow is derived (R001-21)."""
    phase = planted.phases[planted.current - 1]
    lines = ["# Current Workflow State", "", f"Workflow: {planted.title}"]
    lines += [f"Phase: {planted.position} - {phase.title}", "", "Required reading:"]
    lines += [f"@{entry}" for entry in planted.reading]
    lines += ["", "Key reminders:", *(f"- {text}" for text in planted.reminders)]
    lines += ["", "Context:", *(f"- {key}: {value}" for key, value in planted.context.items())]
    lines += [f"- decision {number}: {text}" for number, text in enumerate(planted.decisions, 1)]
    lines += [f"- last request: {planted.request}"] if planted.request else []
    return place.write(MEMORY, "\n".join(lines) + "\n")


def _status(number: int, current: int) -> str:
    return "completed" if number < current else "active" if number == current else "pending"


def _text(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
