"""The adapters of the formats, each loaded when it is first asked for, and what they find together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS, WITH_AGENTS
from holdfast.workflow.model import FindsForeignFiles, Found

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.project import Project
    from holdfast.workflow.model import AgentFormat, Foreign, Format, Workflow


def get(name: str) -> Format:
    """Return a format's adapter. Raises HoldfastError for a name that is no format."""
    if name not in RECORDS:
        raise HoldfastError(f"there is no format {name!r}; known are {', '.join(sorted(RECORDS))}")
    return cast("Format", import_module(RECORDS[name].ADAPTER))


def of_agents(name: str) -> AgentFormat:
    """Return the adapter of a format whose units agents work on."""
    return cast("AgentFormat", get(name))


def agents_work_on(project: Project, session: str) -> list[Workflow]:
    """Return the workflows that agents can be working on at an event of a session, finished ones too."""
    from holdfast.sessions.ownership import owners

    keys = owners.lately(project, session)
    found = [get(name).candidates(project, keys).workflows for name in _present(project) if name in WITH_AGENTS]
    return [workflow for each in found for workflow in each]


def all_found(project: Project) -> Found:
    """Return the workflows of all formats, the most recently changed first (then by path), with all problems."""
    return _together([get(name).find(project) for name in _present(project)])


def candidates(project: Project, session: str, path: Path | None = None) -> Found:
    """Return, in the same order, the workflows an event of a session can be about, however many others there are.

    Those are the one kept at `path`, the session's own, those that lately were anybody's or set free, and the last
    changed of each format, as far as `statefile.BUDGET` goes.
    """
    from holdfast.sessions.ownership import owners

    keys = owners.lately(project, session)
    names = _present(project)
    if path is not None and path.is_relative_to(project.root):
        keys = [*(f"{name}:{path.relative_to(project.root).as_posix()}#" for name in names), *keys]
    return _together([get(name).candidates(project, keys) for name in names])


def foreign(project: Project) -> list[Foreign]:
    """Return other programs' files at the places of all formats, also of those that have no workflow here."""
    asked = (adapter for adapter in map(get, RECORDS) if isinstance(adapter, FindsForeignFiles))
    return [each for adapter in asked for each in adapter.foreign(project)]


def _present(project: Project) -> list[str]:
    """Return the formats that a project can have workflows of; a format that it has none of is not even loaded."""
    return [name for name, record in RECORDS.items() if any(_there(project.root / path) for path in record.PRESENCE)]


def _there(path: Path) -> bool:
    """Tell whether something lies at a path, also something that cannot be looked at: the format says what is wrong."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _together(found: list[Found]) -> Found:
    workflows = sorted((workflow for each in found for workflow in each.workflows), key=lambda each: each.ref)
    workflows.sort(key=lambda each: each.updated_at, reverse=True)
    return Found(
        tuple(workflows),
        tuple(problem for each in found for problem in each.problems),
        sum(each.left for each in found),
    )
