"""A sample `compaction` workflow, written as people do: a state file (R001-05), or a memory file (R001-21)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.formats.compaction import record

if TYPE_CHECKING:
    from tools.survival.samples import Planned

KIND = "custom"
BEGINS = True
DELIVERS = False


def state(planned: Planned, *, finished: bool = False) -> tuple[str, str]:
    """Return the state file's path and text."""
    current = len(planned.phases) if finished else planned.current
    context: dict[str, Any] = dict(planned.variables)
    context["phases"] = [phase.title for phase in planned.phases]
    data = {
        "workflow": planned.title,
        "workflow_type": KIND,
        "phase": {
            "current": current,
            "total": len(planned.phases),
            "name": planned.phases[current - 1].title,
            "status": "completed" if finished else "in_progress",
        },
        "required_reading": [f"@{entry}" for entry in planned.reading],
        "context": context,
        "key_reminders": planned.reminders,
        "created_at": "2025-01-02T03:04:05Z",
    }
    name = planned.title.lower()[:50] or "unnamed"
    place = f"{record.TOP}/{name}/state-{name}-20250102_030405.json"
    return place, json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def source(planned: Planned) -> tuple[str, str]:
    """Return the memory file's path and text."""
    phase = planned.phases[planned.current - 1]
    lines = ["# Current Workflow State", "", f"Workflow: {planned.title}"]
    lines += [f"Phase: {planned.current}/{len(planned.phases)} - {phase.title}", "", "Required reading:"]
    lines += [f"@{entry}" for entry in planned.reading]
    lines += ["", "Key reminders:", *(f"- {text}" for text in planned.reminders)]
    lines += ["", "Context:", *(f"- {key}: {value}" for key, value in planned.context.items())]
    lines += [f"- decision {number}: {text}" for number, text in enumerate(planned.decisions, 1)]
    lines += [f"- last request: {planned.request}"] if planned.request else []
    return record.SOURCES[0], "\n".join(lines) + "\n"
