"""Samples of each format: how its workflows are begun, and how people write them by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.formats.compaction import record as compaction
from holdfast.formats.hybrid import record as hybrid
from holdfast.formats.skills import paths, schema
from holdfast.formats.skills import record as skills

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.survival.truth import Truth

_STARTED = "2025-01-02T03:04:05Z"
File = tuple[str, str]
"""A file's path and text."""


class Sample(NamedTuple):
    """How a format's workflows are begun and written.

    Attributes:
        kind: a type that `holdfast start` takes for it.
        begins: whether `holdfast start` begins its first step; else `holdfast next` does.
        delivers: whether a step stores deliverables besides its hand-over.
        state: returns the state file as people write it by hand, with all steps done if the second argument is true;
            None if only commands write it.
        source: returns the file of people's own that it takes workflows over from; None if there is none.
    """

    kind: str = ""
    begins: bool = False
    delivers: bool = False
    state: Callable[[Truth, bool], File] | None = None
    source: Callable[[Truth], File] | None = None


def of(name: str) -> Sample:
    """Return the sample of a format; of one without code, only commands write files."""
    return _SAMPLES.get(name, Sample())


def _hybrid(planned: Truth, finished: bool) -> File:
    """Write what R000-02 describes, with the keys that people add (R000-38)."""
    current = len(planned.phases) + 1 if finished else planned.current
    phases = [
        {
            "id": f"phase_{number - 1}",
            "title": phase.title,
            "agent": phase.agent or hybrid.DEFAULT_AGENT,
            "status": _status(number, current, "active"),
            "deliverables": [phase.deliverable] if phase.deliverable else [],
            "context_for_next": phase.handover,
        }
        for number, phase in enumerate(planned.phases, 1)
    ]
    data = {
        "id": "wf_20250102_030405",
        "task": planned.title,
        "status": "completed" if finished else "active",
        "current_phase": None if finished else f"phase_{current - 1}",
        "phases": phases,
        "required_reading": [f"@{entry}" for entry in planned.reading],
        "key_reminders": planned.reminders,
        "context": planned.variables,
    }
    return hybrid.STATES[0], _json(data)


def _compaction(planned: Truth, finished: bool) -> File:
    """Write a state file (R001-05)."""
    current = len(planned.phases) if finished else planned.current
    data = {
        "workflow": planned.title,
        "workflow_type": "custom",
        "phase": {
            "current": current,
            "total": len(planned.phases),
            "name": planned.phases[current - 1].title,
            "status": "completed" if finished else "in_progress",
        },
        "required_reading": [f"@{entry}" for entry in planned.reading],
        "context": {**planned.variables, "phases": [phase.title for phase in planned.phases]},
        "key_reminders": planned.reminders,
        "created_at": _STARTED,
    }
    name = planned.title.lower()[:50] or "unnamed"
    return f"{compaction.TOP}/{name}/state-{name}-20250102_030405.json", _json(data)


def _memory_file(planned: Truth) -> File:
    """Write a memory file (R001-21), which names only the current step."""
    phase = planned.phases[planned.current - 1]
    lines = ["# Current Workflow State", "", f"Workflow: {planned.title}"]
    lines += [f"Phase: {planned.current}/{len(planned.phases)} - {phase.title}", "", "Required reading:"]
    lines += [f"@{entry}" for entry in planned.reading]
    lines += ["", "Key reminders:", *(f"- {text}" for text in planned.reminders)]
    lines += ["", "Context:", *(f"- {key}: {value}" for key, value in planned.context.items())]
    lines += [f"- decision {number}: {text}" for number, text in enumerate(planned.decisions, 1)]
    lines += [f"- last request: {planned.request}"] if planned.request else []
    return compaction.SOURCES[0], "\n".join(lines) + "\n"


def _skills(planned: Truth, finished: bool) -> File:
    """Write the state of a skill without a machine (R004-09 to R004-13)."""
    current = len(planned.phases) + 1 if finished else planned.current
    phases: list[dict[str, Any]] = []
    for number, phase in enumerate(planned.phases, 1):
        more = {"agent": phase.agent, "note": phase.handover if number < current else ""}
        shown = {key: value for key, value in more.items() if value}
        phases.append({"name": phase.title, "status": _status(number, current, "in_progress"), **shown})
    name = paths.stem(paths.OTHER, planned.title)
    data = {
        "_schema": {"version": schema.VERSION, "skill": paths.OTHER},
        "workflow": {
            "id": name,
            "status": "completed" if finished else "in_progress",
            "created_at": _STARTED,
            "branch": None,
        },
        "context": {schema.TASK: planned.title, **planned.variables},
        "state_machine": {"current_phase": phases[min(current, len(phases)) - 1]["name"], "phases": phases},
        "required_reading": [f"@{entry}" for entry in planned.reading],
        "key_reminders": planned.reminders,
        "history": [{"at": _STARTED, "event": "workflow_started"}],
    }
    return f"{skills.TOP}/active/{name}.json", _json(data)


def _status(number: int, current: int, running: str) -> str:
    return "completed" if number < current else running if number == current else "pending"


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


_SAMPLES = {
    "hybrid": Sample("custom", delivers=True, state=_hybrid),
    "compaction": Sample("custom", begins=True, state=_compaction, source=_memory_file),
    "wfs": Sample("complex"),
    "orchestrator": Sample("custom"),
    "skills": Sample(paths.OTHER, state=_skills),
}
FORMATS = tuple(_SAMPLES)
"""The formats that the score plays."""
