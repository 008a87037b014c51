"""The formats a workflow can be kept in: one module each, loaded when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from holdfast.errors import HoldfastError
from holdfast.workflow.model import Found

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.project import Project
    from holdfast.workflow.model import AgentFormat, Format, Workflow

FORMATS = {
    "hybrid": "holdfast.formats.hybrid.adapter",
    "compaction": "holdfast.formats.compaction.adapter",
    "wfs": "holdfast.formats.wfs.adapter",
}
NAMES = tuple(FORMATS)
WITH_AGENTS = ("hybrid", "wfs")
"""The formats whose phases are worked on by agents (`AgentFormat`)."""
_TOPS = {"wfs": ".workflow"}
"""The folder without which there is no workflow of a format."""


def get(name: str) -> Format:
    """Return the format's module. Raises HoldfastError for a name that is no format."""
    if name not in FORMATS:
        raise HoldfastError(f"there is no format {name!r}; known are {', '.join(sorted(FORMATS))}")
    return cast("Format", import_module(FORMATS[name]))


def of_agents(name: str) -> AgentFormat:
    """Return the module of a format whose phases agents work on."""
    return cast("AgentFormat", get(name))


def agents_work_on(project: Project, session: str) -> list[Workflow]:
    """Return the workflows that agents can be working on at an event of a session, finished ones too."""
    from holdfast.sessions.ownership import owners

    keys = owners.lately(project, session)
    found = [get(name).near(project, keys).workflows for name in _present(project) if name in WITH_AGENTS]
    return [workflow for each in found for workflow in each]


def all_found(project: Project) -> Found:
    """Return the workflows of all formats, the most recently changed first (then by path), with all problems."""
    return _together([get(name).find(project) for name in _present(project)])


def near(project: Project, session: str, path: Path | None = None) -> Found:
    """Return, in the same order, the workflows an event of a session can be about, however many others there are.

    Those are the one kept at `path`, the session's own, those that lately were anybody's or set free, and the last
    changed of each format, as far as `statefile.BUDGET` goes.
    """
    from holdfast.sessions.ownership import owners

    keys = owners.lately(project, session)
    names = _present(project)
    if path is not None and path.is_relative_to(project.root):
        keys = [*(f"{name}:{path.relative_to(project.root).as_posix()}#" for name in names), *keys]
    return _together([get(name).near(project, keys) for name in names])


def _present(project: Project) -> list[str]:
    """Return the formats that a project can have workflows of; a format that it has none of is not even loaded."""
    return [name for name in FORMATS if name not in _TOPS or (project.root / _TOPS[name]).is_dir()]


def _together(found: list[Found]) -> Found:
    workflows = sorted((workflow for each in found for workflow in each.workflows), key=lambda each: each.ref)
    workflows.sort(key=lambda each: each.updated_at, reverse=True)
    return Found(
        tuple(workflows),
        tuple(problem for each in found for problem in each.problems),
        sum(each.left for each in found),
    )
