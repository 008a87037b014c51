"""Check the `compaction` format's files: warnings, files that pile up, and what memory files and plans say."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from holdfast.checks import notice, states
from holdfast.errors import command_line
from holdfast.formats.compaction import adapter, file
from holdfast.formats.compaction.detection import memory
from holdfast.formats.compaction.detection.detect import detect
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


def findings(project: Workspace) -> Iterator[Finding]:
    """Check the state files and the files in which a workflow could be detected; nothing is written."""
    entries, _ = file.scan(project)
    kept = [entry.workflow for entry in entries]
    yield from states.unsound(kept, notice)  # people may keep such a file by hand, in their own schema
    yield from _piled_up(project, kept)
    yield from _said(project)


def _piled_up(project: Workspace, kept: Iterable[Workflow]) -> Iterator[Finding]:
    """Yield the files that are left of finished workflows, and files with a newer one of the same workflow."""
    current = {each.path for each in adapter.find(project).workflows}
    for workflow in kept:
        if workflow.path not in current:
            text = f"{workflow.path} is an older state of {quoted(workflow.title)}, which has a newer file"
            yield notice(text, f"rm {shlex.quote(str(workflow.path))}")
        elif workflow.finished or workflow.ended:
            over = f"over: {workflow.ended}" if workflow.ended else "finished"
            text = f"{workflow.path}: {quoted(workflow.title)} is {over}, but its file is still there"
            more = f"; `{command_line('update', workflow.id, '--note', 'TEXT')}` continues it" if workflow.ended else ""
            yield notice(f"{text}{more}", command_line("done", "--all", workflow.id))


def _said(project: Workspace) -> Iterator[Finding]:
    """Yield the warnings of `holdfast status --why` about the memory file and the accepted plan."""
    for candidate in detect(project, everything=True).candidates:
        if candidate.accepted or candidate.method == memory.FILE:
            for warning in candidate.warnings:
                yield notice(f"{candidate.path}: {warning}", f"correct {candidate.path}")
