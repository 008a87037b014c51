"""A sample workflow of a skill without a machine, written as skills do: one JSON object (R004-09 to R004-13)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.formats.skills import paths, record, schema

if TYPE_CHECKING:
    from tools.survival.samples import Planned, Unit

KIND = paths.OTHER
BEGINS = False
DELIVERS = False
_STARTED = "2025-01-02T03:04:05Z"


def state(planned: Planned, *, finished: bool = False) -> tuple[str, str]:
    """Return the state file's path and text."""
    current = len(planned.phases) + 1 if finished else planned.current
    phases = [_phase(phase, number, current) for number, phase in enumerate(planned.phases, 1)]
    name = paths.stem(KIND, planned.title)
    data = {
        "_schema": {"version": schema.VERSION, "skill": KIND},
        "workflow": {
            "id": name,
            "status": "completed" if finished else "in_progress",
            "created_at": _STARTED,
            "updated_at": _STARTED,
            "branch": None,
        },
        "context": {schema.TASK: planned.title, **planned.variables},
        "state_machine": {
            "current_phase": phases[min(current, len(phases)) - 1]["name"],
            "phases": phases,
        },
        "required_reading": [f"@{entry}" for entry in planned.reading],
        "key_reminders": planned.reminders,
        "history": [{"at": _STARTED, "event": "workflow_started"}],
    }
    return f"{record.TOP}/active/{name}.json", json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _phase(phase: Unit, number: int, current: int) -> dict[str, Any]:
    status = "completed" if number < current else "in_progress" if number == current else "pending"
    given = {"agent": phase.agent, "note": phase.handover if number < current else ""}
    return {"name": phase.title, "status": status, **{name: value for name, value in given.items() if value}}
