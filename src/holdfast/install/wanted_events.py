"""The events that the handlers of a scope want registered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast import config, paths
from holdfast.clients import claude
from holdfast.clients.claude.events import OLDEST_CLIENT_EVENTS
from holdfast.install.registration import covers, merged, plugin_command, routes, settings, timeouts, visible, wanted
from holdfast.plugins import discovery

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile

Wish = tuple[str, str | None]
"""An event's name with a handler's matcher; None for every value."""


def personal(files: Sequence[HandlerFile], known: frozenset[str], others: Iterable[Wish] = ()) -> dict[str, str | None]:
    """Return event -> matcher for a user's own settings, of user or local scope.

    Args:
        files: what `discovery.find` found for the present project. Its trusted handlers count, with the shipped ones
            and the user's own.
        known: the events that may be registered.
        others: the wishes of other projects whose handlers rely on the same settings.
    """
    mine = routes(visible(files, "shipped", "user"))
    return merged([*mine, *of_project(files), *others], known)


def of_project(files: Iterable[HandlerFile]) -> list[Wish]:
    """Return what a project's trusted handlers want, and other handlers that only its configuration switches on.

    A handler that changed since it was trusted counts as it was, because an event that it wanted says that it changed.
    These wishes are recorded for the project, so that a session elsewhere doesn't remove them from the user's settings.
    """
    files = list(files)
    changed = [route for file in files if file.changed for route in discovery.trusted_routes(claude, file)]
    waiting = [file for file in visible(files, "shipped", "user") if file.active and file.runs_when]
    usual = config.load(None, trusted=False).config if waiting else None
    woken = [file for file in waiting if usual and not discovery.runs(file.runs_when, usual)]
    return [*routes([*visible(files, "project"), *woken]), *((route.event, route.match) for route in changed)]


def team(
    root: Path, present: Mapping[str, object] | None = None, known: frozenset[str] = OLDEST_CLIENT_EVENTS
) -> dict[str, str | None]:
    """Return event -> matcher for everyone who works in the project at `root`.

    The shipped handlers and all of the project's count, but no user's files or configuration. A handler of the project
    that is off or not trusted on this machine counts too, because others rely on it.

    Args:
        root: the project's root.
        present: event -> matcher registered now. It stays while a handler of the project is broken or gone, because
            nobody knows what that one wants.
        known: the events that may be registered; by default the oldest client's, which teammates may have.
    """
    own, shipped = _of_team(root)
    events = merged([*routes(shipped), *((route.event, route.match) for file in own for route in file.routes)], known)
    if any(file.faults for file in own) or discovery.lacks_strict(paths.project_handlers(root.resolve()), own):
        for event, matcher in (present or {}).items():
            there = matcher if isinstance(matcher, str) else None
            if event not in events or covers(event, there, events[event]):
                events[event] = there
            else:
                events |= merged([(event, there), (event, events[event])], frozenset({event}))
    return events


def team_timeouts(root: Path) -> dict[str, int]:
    """Return event -> the timeout (seconds) that the handlers of `team` need, if the client's default is too short."""
    own, shipped = _of_team(root)
    return timeouts([*own, *shipped])


def _of_team(root: Path) -> tuple[list[HandlerFile], list[HandlerFile]]:
    """Return the handler files of the project at `root`, and the shipped ones."""
    folder = paths.project_handlers(root.resolve())
    return discovery.offered(claude, "project", folder), discovery.offered(claude, "shipped", paths.shipped("handlers"))


def bundled() -> str:
    """Return the text of the plugin's hooks.json: what the shipped handlers want of the oldest client's events.

    The plugin is the same for everybody; a project's and a user's own handlers are registered by `install`.
    """
    files = discovery.offered(claude, "shipped", paths.shipped("handlers"))
    described = {"description": "Routes hook events to Holdfast's handlers"}
    return json.dumps(described | settings(wanted(files, OLDEST_CLIENT_EVENTS), plugin_command), indent=2) + "\n"


def printed(root: Path) -> str:
    """Return the settings.json text that registers what a team wants; it is the same on every machine."""
    return json.dumps(settings(team(root), timeouts=team_timeouts(root)), indent=2) + "\n"
