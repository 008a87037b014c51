"""Complete a `compaction` workflow: leave its tombstone, keep its versions, remove its files."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import LedgerError
from holdfast.formats.compaction import record
from holdfast.formats.compaction.detection.detect import detect
from holdfast.workflow import names, statefile
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.formats.compaction.detection.extract import Extract
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records


def complete(project: Records, workflow: Workflow, files: Iterable[Path]) -> Workflow:
    """Leave a tombstone for a workflow and remove its state files (R001-19), then their folders if these are empty.

    Hold the folder's lock. Returns the completed workflow, whose path no longer exists. Raises StateError.
    """
    # The tombstone comes first: a process killed in between then leaves a finished file, and can't revive the workflow.
    _bury(project, workflow)
    warnings: list[str] = []
    for path in sorted({workflow.path, *files}):
        aside = statefile.discard(project, path, why="complete")
        warnings += [f"{aside.name} stays in {aside.parent}, for the ledger has not kept it"] if aside else []
        for left_over in path.parent.glob(f".{path.name}.*.tmp"):  # a killed writer left it
            left_over.unlink(missing_ok=True)
        if path.parent.parent == project.root / record.TOP:
            with suppress(OSError):  # other files are in it
                path.parent.rmdir()
    return replace(workflow, warnings=(*workflow.warnings, *warnings))


def _bury(project: Records, workflow: Workflow) -> None:
    try:
        for name, digest in _claims(project, workflow):
            project.bury(name, digest)
    except LedgerError as error:
        log.write("warning", f"the completion of {quoted(workflow.title)} wasn't remembered: {error}")


def _claims(project: Records, workflow: Workflow) -> set[tuple[str, str]]:
    """Return (name, digest) of each extract that could create this workflow's file again."""
    detected = detect(project, everything=True).extracts  # plans that aren't the newest, too: they may become it
    claims = {(names.key(each.name), each.digest) for each in detected if _names(each, workflow)}
    last = project.remembered(workflow.path)
    return claims | ({(last["name"], last["digest"])} if last else set())


def _names(extract: Extract, workflow: Workflow) -> bool:
    if names.key(extract.name) == names.key(workflow.title):
        return True
    return names.faithful(extract.name) and names.slug(extract.name) == workflow.path.parent.name
