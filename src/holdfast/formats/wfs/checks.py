"""Check whether sessions of the `wfs` format are consistent: markers, states, tasks and lists."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from holdfast.checks import folders, notice, ok, problem
from holdfast.errors import command_line
from holdfast.formats.wfs import check, places, store
from holdfast.formats.wfs import repair as wfs_repair
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

_MENDED = (check.MEND, check.ANEW)
"""The remedies of findings that a repair can fix."""


def findings(project: Workspace) -> Iterator[Finding]:
    """Yield what `holdfast wfs repair` would fix, and what a person has to."""
    if folders.linked(project.root, places.top(project) / "any"):
        return  # the check of folders reports it; links are not followed
    kept = store.folders(project)
    repairs = list(wfs_repair.repairs(project))
    told = [_repair(project, each) for each in repairs]
    told += [
        (problem if each.unread else notice)(each.text, each.remedy)
        for each in (*check.findings(project, kept), *check.elsewhere(project))
        if not each.rule and each.remedy not in (*_MENDED, check.AS_IT_IS) and "/.task/" not in each.file
    ]
    for folder in kept:
        told += _tasks(project, folder, [each.what for each in repairs])
    yield from told
    if not told:
        yield ok(f"{count(len(kept), 'session')}, with consistent files")


def _repair(project: Workspace, repair: wfs_repair.Repair) -> Finding:
    level = problem if repair.unread else notice
    return level(repair.what, "holdfast doctor --fix", partial(_mend, project, repair.what))


def _mend(project: Workspace, what: str) -> str:
    """Run a repair if it is still needed; return what it did, or an empty text."""
    for each in wfs_repair.repairs(project):
        if each.what == what:
            each.do()
            return what
    return ""


def _tasks(project: Workspace, folder: Path, repairs: Sequence[str]) -> Iterator[Finding]:
    """Yield one finding for all rules that a session's tasks break, and one for each file that can't be read."""
    broken = [each for each in check.tasks(project, folder) if each.rule]
    for each in broken:
        if not each.field and not any(f"{folder.name}/{each.file}" in what for what in repairs):
            yield problem(f"{folder.name}/{each.text}", f"look at {folder / each.file}")
    wrong = [each for each in broken if each.field]
    if wrong:
        more = f"; +{len(wrong) - 1} more" if len(wrong) > 1 else ""
        yield notice(f"{folder.name}/{wrong[0].text}{more}", command_line("wfs", "check", folder.name))
