"""Which events the handlers of a scope want to have registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.events import OLDEST_CLIENT_EVENTS
from holdfast.registration import merged, routes, settings, visible, wanted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.project import Project
    from holdfast.scopes import Scope

Route = tuple[str, str | None]
"""An event's name with the matcher a handler gave, None for every value."""


def demand(
    scope: Scope, project: Project, known: frozenset[str], others: Iterable[Route] = ()
) -> dict[str, str | None]:
    """Return event -> matcher for the settings of `scope`.

    The project scope is the team's: shipped and trusted project handlers, events of the oldest client only. User and
    local scope have the user's handlers too, and what the trusted handlers of this and, by `others`, of other
    projects want. Events outside `known` are left out.
    """
    if scope == "project":
        return team(project.root)
    from holdfast import loader

    mine = routes(visible(loader.find(project), "shipped", "user"))
    return merged([*mine, *of_project(project), *others], known)


def of_project(project: Project) -> list[Route]:
    """Return what the trusted handlers of the project itself want."""
    from holdfast import loader

    return routes(visible(loader.find(project), "project"))


def team(root: Path) -> dict[str, str | None]:
    """Return event -> matcher for everyone who works in the project at `root`: no user's own files or configuration."""
    from holdfast import loader
    from holdfast.config import Config
    from holdfast.project import Project

    files = loader.find(Project(root.resolve(), Config()))
    return wanted(visible(files, "shipped", "project"), OLDEST_CLIENT_EVENTS)


def printed(root: Path) -> str:
    """Return the settings.json text that registers what a team wants: the same on every machine."""
    import json

    return json.dumps(settings(team(root)), indent=2) + "\n"
