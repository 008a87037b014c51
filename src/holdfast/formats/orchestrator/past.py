"""Contents of the state file that the program did not just write: earlier ones, and changes by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.files import document
from holdfast.formats.orchestrator import schema, view
from holdfast.workflow import restore as restoring
from holdfast.workflow.statefile import StateFile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Restored, Workflow
    from holdfast.workflow.records import Records


def parsed(project: Records, path: Path, raw: bytes) -> Workflow:
    """Return the run in a content of the state file. Raises SchemaMismatch, or StateError if it is broken."""
    return _checked(project, StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw))


def restore(project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
    """Make the state file hold an earlier content again (`workflow.restore`)."""
    wanted = parsed(project, path, raw)
    return restoring.restore(project, wanted, why=why, replace=replace, read=lambda file: _checked(project, file))


def written(project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
    """Return a run if the written file is its state file, else None; nothing is generated from it."""
    return workflow if path == workflow.path else None


def _checked(project: Records, file: StateFile) -> Workflow:
    schema.check(file)
    return view.workflow(project, file)[0]
