"""Check the files of the `skills` format: state files, index, and what killed writers left."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from holdfast.checks import folders, notice, ok, problem
from holdfast.formats.skills import folder, inspection, places
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace


def findings(project: Workspace) -> Iterator[Finding]:
    """Yield what `holdfast skills check` says; what `holdfast skills repair` mends can be mended here too."""
    if folders.linked(project.root, places.active(project) / "any"):
        return  # the check of folders reports it; links are not followed
    found = inspection.findings(project, ours=False)
    mended = False
    for each in found:
        level = problem if each.serious else notice
        if each.remedy == inspection.REPAIR and not mended:
            mended = True
            yield level(each.text, "holdfast doctor --fix", partial(_mend, project))
        else:
            yield level(each.text, each.remedy)
    if not found:
        yield ok(f"{count(len(folder.names(project)), 'unfinished workflow')} of skills, with consistent files")


def _mend(project: Workspace) -> str:
    return "; ".join(inspection.repair(project))
