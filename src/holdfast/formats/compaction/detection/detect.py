"""Find out whether somebody is in a formal workflow right now, and what people's own files say about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.formats.compaction.detection import memory, plans
from holdfast.formats.compaction.detection.extract import Candidate, Detection, Extract
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.records import Records

__all__ = ["Candidate", "Detection", "Extract", "detect"]


def detect(project: Records, *, everything: bool = False, written: Path | None = None) -> Detection:
    """Return the extract of the project's memory file and active plan.

    A workflow of any name and type counts (R001-23). The memory file (R001-21) names workflow and phase. The newest
    active plan (R001-22) adds reading and context (I001-16), or stands alone if the memory file names no workflow.

    A compaction waits for this, so it stops at the first plan in progress; of very many plans only some are looked at,
    among them the one that was just `written`. With `everything`, each file is examined and is among the candidates
    with its reasons, and the extracts are those of all plans in progress.

    A plan that did not change for `freshness_days` doesn't count, whatever it says. Contents of files never raise.
    """
    candidate, remembered = _inside(project, *memory.look(project.root / memory.FILE))
    if not everything:
        planned = plans.active(project.root, written)
        planned = planned if planned and project.contains(planned.source) else None
        planned, stale = _by_age(project, planned)
        single = tuple(extract for extract in (remembered, planned) if extract)
        return Detection(_combined(remembered, planned), (candidate,), single, stale)
    looked = [_inside(project, *each) for each in plans.look(project.root)]
    extracts = tuple(extract for extract in (remembered, *(extract for _, extract in looked)) if extract)
    planned, stale = _by_age(project, next((extract for _, extract in looked if extract), None))
    candidates = tuple(_too_old(plan, stale) if stale else _beside(plan, planned, remembered) for plan, _ in looked)
    return Detection(_combined(remembered, planned), (candidate, *candidates), extracts, stale)


def _by_age(project: Records, planned: Extract | None) -> tuple[Extract | None, Extract | None]:
    """Return (plan, None) for a plan that counts, and (None, plan) for one that is too old."""
    if planned is None or clock.now().timestamp() - planned.mtime <= project.config.freshness_days * 24 * 3600:
        return planned, None
    return None, planned


def _too_old(plan: Candidate, stale: Extract) -> Candidate:
    """Return an accepted plan's candidate as refused for its age; any other as it is."""
    if not plan.accepted:
        return plan
    reason = f"{plans.aged(stale)} (`freshness_days`). {plans.way(stale)}"
    return replace(plan, accepted=False, reasons=(reason,), notable=True, kind="in progress, but too old")


def _inside(project: Records, candidate: Candidate, extract: Extract | None) -> tuple[Candidate, Extract | None]:
    """Return what a file says; refuse it if a symbolic link leads out of the project."""
    if extract is None or project.contains(extract.source):
        return candidate, extract
    why = "a symbolic link leads out of the project"
    return replace(candidate, accepted=False, reasons=(why,), notable=True, kind=why), None


def _beside(plan: Candidate, planned: Extract | None, remembered: Extract | None) -> Candidate:
    """Return an accepted plan's candidate, with what it adds as its reason if the memory file names the workflow."""
    if not plan.accepted or planned is None or remembered is None:
        return plan
    reason = f"is in progress ({quoted(planned.name)}); the memory file names the workflow, this adds its reading to it"
    return replace(plan, reasons=(reason,))


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
