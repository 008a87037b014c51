"""The functions that document 000 lists (I000-21), for programs that use a `hybrid` workflow.

With the modules that they use, they take fewer than 500 lines (R000-39).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.files import trust
from holdfast.formats.hybrid import file as files
from holdfast.formats.hybrid import record, store, transitions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import verbs
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.workflow.model import Status


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
    error: str = "",
    root: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Set a phase's status, write the view and return the new state (R000-18). The to-do list isn't touched.

    Omitted values stay (I000-3). Completing a phase advances to the next unless `advance` is false (I000-7); completing
    it again changes nothing that was written (I000-8). `context` is another name for `context_for_next`. `error` is
    what a failed phase said, for the ledger. Raises TransitionError, and HoldfastError for a wrong id.
    """

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow_id)
        index = store.index_of(data, phase_id)
        given, handover = deliverables or (), context_for_next or context or ""
        transitions.move(data, index, status, deliverables=given, handover=handover, advance=advance)
        transitions.check_error(data, index, error)

    workflow, _ = store.change(_project(root), edit, why=f"{phase_id} {status}", error=error)
    return dict(json.loads(workflow.raw))


def get_workflow_state(workflow_id: str, *, root: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return the state with this id (R000-19). Raises HoldfastError if the project's workflow is another or none."""
    state = files.load(_project(root)).data
    store.expect(state, workflow_id)
    return state


def _project(root: str | os.PathLike[str] | None) -> Workspace:
    found = paths.find_root(os.fspath(root) if root is not None else None, os.environ, Path.cwd())
    return Workspace.open(found, trusted=trust.config_trusted(found), client=claude)
