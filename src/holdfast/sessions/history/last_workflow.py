"""Which workflow of a project ended last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import LedgerError
from holdfast.sessions.history import archive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.project import OpenProject
    from holdfast.workflow.model import Workflow


def last(project: OpenProject, workflows: Iterable[Workflow]) -> Workflow | None:
    """Return the workflow of this worktree that was completed last, or None; without a ledger, of those with a file.

    Args:
        project: where.
        workflows: those that have a file; of one that is in the archive too, what its file says counts.
    """
    try:
        kept = [each for each in archive.kept(project) if each.worktree == project.worktree]
    except LedgerError:
        kept = []
    completed_at = {each.workflow.key: each.completed_at for each in kept}
    known = {each.workflow.key: each.workflow for each in kept} | {each.key: each for each in workflows}
    over = [each for each in known.values() if each.finished]
    return max(over, key=lambda each: completed_at.get(each.key, each.updated_at), default=None)
