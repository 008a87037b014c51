"""Find other programs' files at the paths that the `orchestrator` format uses; at least eight programs share one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import SchemaMismatch, StateError
from holdfast.files import access
from holdfast.formats.orchestrator import locks, schema, snapshots, store
from holdfast.workflow import statefile
from holdfast.workflow.model import Foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.workflow.records import Records


def foreign(project: Records) -> Iterator[Foreign]:
    """Yield the files that Holdfast leaves alone (I003-15, I003-20, R003-26)."""
    try:
        store.load(project)
    except SchemaMismatch as error:
        said = f"{error.reason}, so no workflow of the orchestrator format can be kept here while it is there"
        remedy = schema.IMPORT if schema.IMPORT in error.reason else ""
        yield Foreign(error.path, said, in_the_way=True, remedy=remedy)
    except StateError:
        pass  # missing or broken, but not another program's
    try:
        locks.load(project)
    except SchemaMismatch as error:
        yield Foreign(error.path, error.reason)
    except StateError:
        pass  # a link: nothing is locked, and nothing written
    latest = schema.state_path(project.root).with_name(snapshots.LATEST)
    if not access.is_there(latest):
        return
    try:
        statefile.guard(project.root, latest)
        ours = snapshots.is_ours(project)
    except StateError:
        return
    if not ours:
        yield Foreign(latest, "is another program's checkpoint; it is left alone, and nothing is restored from it")
