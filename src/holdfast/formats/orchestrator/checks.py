"""Check the `orchestrator` format's files: other programs' in their place, bad values, and what contradicts itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.checks import notice, states
from holdfast.errors import StateError
from holdfast.files import access
from holdfast.formats.orchestrator import adapter, check, evidence, learnings, store
from holdfast.workflow.findings import aside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

_COMMAND = re.compile(r"`(holdfast [^`]+)`")


def findings(project: Workspace) -> Iterator[Finding]:
    """Check the state file; nothing is written."""
    for each in states.in_the_way(project, adapter.foreign(project)):
        yield states.misplaced(project, each)
    yield from states.unsound(adapter.find(project).workflows, notice)
    try:
        file, run = store.current(project)
    except StateError:
        return  # missing, or reported above
    for each in adapter.foreign(project):
        yield states.misplaced(project, each)
    for said, way in check.contradictions(run):
        yield notice(f"{file.path}: {said}", way or "holdfast orchestrator repair")
    for said in evidence.drift(project, run):
        yield notice(f"{file.path}: {said}", _remedy(said))
    for said in evidence.document(project, run):
        yield notice(said, _remedy(said))
    try:
        learnings.check_log(project)
    except StateError as error:
        yield notice(str(error), access.unlinking(error.path) or access.remedy(error.path) or aside(error.path))


def _remedy(said: str) -> str:
    """Return the command that a sentence names, else the one that says more."""
    named = _COMMAND.search(said)
    return named[1] if named else "holdfast orchestrator check"
