"""The formats a workflow can be kept in: one module each, loaded when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from holdfast.errors import HoldfastError
from holdfast.workflow.model import Found

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.project import Project
    from holdfast.workflow.model import Format

FORMATS = {
    "hybrid": "holdfast.workflow.formats.hybrid",
    "compaction": "holdfast.workflow.formats.compaction",
}
NAMES = tuple(FORMATS)


def get(name: str) -> Format:
    """Return the format's module. Raises HoldfastError for a name that is no format."""
    if name not in FORMATS:
        raise HoldfastError(f"there is no format {name!r}; known are {', '.join(sorted(FORMATS))}")
    return cast("Format", import_module(FORMATS[name]))


def all_found(project: Project) -> Found:
    """Return the workflows of all formats, the most recently changed first (then by path), with all problems."""
    return _together([get(name).find(project) for name in FORMATS])


def near(project: Project, session: str, path: Path | None = None) -> Found:
    """Return, in the same order, the workflows an event of a session can be about, however many others there are.

    Those are the last changed of each format, the session's own, those that lately were anybody's or set free, and the
    one kept at `path`.
    """
    from holdfast.survival import owners
    from holdfast.workflow.formats import compaction

    keys = owners.lately(project, session)
    if path is not None and path.is_relative_to(project.root):
        keys.add(f"{compaction.NAME}:{path.relative_to(project.root).as_posix()}#")
    return _together(
        [compaction.near(project, keys) if name == compaction.NAME else get(name).find(project) for name in FORMATS]
    )


def _together(found: list[Found]) -> Found:
    workflows = sorted((workflow for each in found for workflow in each.workflows), key=lambda each: each.ref)
    workflows.sort(key=lambda each: each.updated_at, reverse=True)
    return Found(
        tuple(workflows),
        tuple(problem for each in found for problem in each.problems),
        sum(each.left for each in found),
    )
