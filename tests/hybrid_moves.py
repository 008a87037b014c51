"""Move phases of a `hybrid` workflow, as its agents' reports or a person do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.formats.hybrid import moves
from holdfast.formats.hybrid.format import FORMAT, HybridDraft

if TYPE_CHECKING:
    from holdfast.formats.hybrid.moves import Mover
    from holdfast.workflow.model import Status, Workflow
    from holdfast.workflow.records import Records


def move(
    project: Records, phase: str, status: Status | None, *, by: Mover = "hook", error: str = "", **more: Any
) -> Workflow:
    """Change a phase of the project's workflow; return the workflow as it is now."""

    def edit(draft: HybridDraft) -> None:
        moves.move(draft.data, draft.index(phase), status, by=by, **more)

    return FORMAT.change(project, FORMAT.find(project).workflows[0], edit, why=f"{phase} {status}", error=error)


def reopen(project: Records, phase: str) -> Workflow:
    """Make a phase of the project's workflow active again, as a person does."""
    workflow = FORMAT.find(project).workflows[0]
    return FORMAT.change(project, workflow, lambda draft: draft.reopen(phase), why=f"reopen {phase}")
