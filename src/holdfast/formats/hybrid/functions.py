"""The functions that document 000 lists (I000-21), for programs that use a `hybrid` workflow.

R000-39 asks for fewer than 500 lines. That is what this module and the three that hold the format's rules have:
`schema`, `moves` and `markdown_view`, without comments and docstrings. What all formats share isn't counted.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.errors import HoldfastError
from holdfast.files import trust
from holdfast.formats.hybrid import moves, record
from holdfast.formats.hybrid.format import FORMAT, HybridDraft
from holdfast.formats.hybrid.markdown_view import generate_markdown
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import verbs
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.workflow.model import Status, Workflow

__all__ = ["create_workflow_state", "generate_markdown", "get_workflow_state", "update_phase_status"]


def create_workflow_state(
    task: str, phases: Iterable[tuple[str, str] | str], *, root: str | os.PathLike[str] | None = None
) -> str:
    """Create the project's workflow with its view, and return its id `wf_YYYYMMDD_HHMMSS` (R000-16).

    `phases` are (title, agent) pairs; a title alone gets the agent general-purpose. `root` is the project, by default
    the one around the working directory. Raises TransitionError over an unfinished workflow, SchemaMismatch over a
    file of another schema (I000-17).
    """
    pairs = tuple((phase, record.DEFAULT_AGENT) if isinstance(phase, str) else (phase[0], phase[1]) for phase in phases)
    return verbs.start(_project(root), record.NAME, Start(title=task, phases=pairs)).id


def update_phase_status(
    workflow_id: str,
    phase_id: str,
    status: Status,
    deliverables: Sequence[str] | None = None,
    context_for_next: str | None = None,
    *,
    context: str | None = None,
    advance: bool = True,
    root: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Set a phase's status, write the view and return the new state (R000-18). The to-do list isn't touched.

    Omitted values stay (I000-3). Completing a phase advances to the next unless `advance` is false (I000-7); completing
    it again changes nothing that was written (I000-8). `context` is another name for `context_for_next`. Raises
    TransitionError, and HoldfastError for a wrong id.
    """
    handover = context_for_next or context or ""

    def edit(draft: HybridDraft) -> None:
        before = draft.unit(phase_id)
        moves.move(draft.data, draft.index(phase_id), status, deliverables=deliverables or (), handover=handover)
        if advance:
            draft.advance(before)

    project = _project(root)
    workflow = _workflow(project, workflow_id)
    return _data(FORMAT.change(project, workflow, edit, why=f"{phase_id} {status}"))


def get_workflow_state(workflow_id: str, *, root: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return the state with this id (R000-19). Raises HoldfastError if the project's workflow is another or none."""
    return _data(_workflow(_project(root), workflow_id))


def _workflow(project: Workspace, workflow_id: str) -> Workflow:
    path = FORMAT.files(project)[0]
    workflow = FORMAT.view(project, FORMAT.load(project, path))
    if workflow.id != workflow_id:
        raise HoldfastError(f"{workflow.place} holds the workflow {workflow.id}, not {workflow_id}")
    return workflow


def _data(workflow: Workflow) -> dict[str, Any]:
    return dict(json.loads(workflow.raw))


def _project(root: str | os.PathLike[str] | None) -> Workspace:
    found = paths.find_root(os.fspath(root) if root is not None else None, os.environ, paths.working_folder())
    return Workspace.open(found, trusted=trust.config_trusted(found), client=claude)
