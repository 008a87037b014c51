"""Is somebody in a formal workflow right now, and what do the files people keep say about it? (R001-21 to -23)"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.workflow import memory, plans
from holdfast.workflow.extract import Candidate, Detection, Extract

if TYPE_CHECKING:
    from holdfast.project import Project

__all__ = ["Candidate", "Detection", "Extract", "detect"]


def detect(project: Project) -> Detection:
    """Return the extract of the project's memory file and active plan, with every file that was looked at.

    The memory file names workflow and phase; the newest active plan adds readings and context (I001-16), or stands
    alone where the memory file names none. Never raises for what the files hold.
    """
    candidate, remembered = memory.look(project.root / memory.FILE)
    looked = plans.look(project.root)
    planned = next((extract for _, extract in looked if extract), None)
    candidates = (candidate, *(plan for plan, _ in looked))
    single = tuple(extract for extract in (remembered, planned) if extract)
    return Detection(_combined(remembered, planned), candidates, single)


def _combined(remembered: Extract | None, planned: Extract | None) -> Extract | None:
    if remembered is None or planned is None:
        return remembered or planned
    return replace(
        remembered,
        reading=tuple(dict.fromkeys((*remembered.reading, *planned.reading))),
        context={**planned.context, **remembered.context},
        origin="memory+plan",
        basis=remembered,
    )
