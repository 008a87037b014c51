"""A sample `hybrid` workflow, written as people do (R000-02), with the keys that they add (R000-38)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.formats.hybrid import record

if TYPE_CHECKING:
    from tools.survival.samples import Planned

KIND = "custom"
BEGINS = False
DELIVERS = True


def state(planned: Planned, *, finished: bool = False) -> tuple[str, str]:
    """Return the state file's path and text."""
    current = len(planned.phases) + 1 if finished else planned.current
    phases = [
        {
            "id": f"phase_{number}",
            "title": phase.title,
            "agent": phase.agent or record.DEFAULT_AGENT,
            "status": "completed" if number + 1 < current else "active" if number + 1 == current else "pending",
            "deliverables": [phase.deliverable] if phase.deliverable else [],
            "context_for_next": phase.handover,
        }
        for number, phase in enumerate(planned.phases)
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
    return record.STATES[0], json.dumps(data, indent=2, ensure_ascii=False) + "\n"
