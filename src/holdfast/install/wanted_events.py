"""Which events the handlers of a scope want to have registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.clients import claude
from holdfast.clients.claude.events import OLDEST_CLIENT_EVENTS
from holdfast.install.registration import covers, merged, plugin_command, routes, settings, timeouts, visible, wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.plugins.loader import HandlerFile

Wish = tuple[str, str | None]
"""An event's name with the matcher a handler gave, None for every value."""


def personal(files: Sequence[HandlerFile], known: frozenset[str], others: Iterable[Wish] = ()) -> dict[str, str | None]:
    """Return event -> matcher for a user's own settings, of user or local scope.

    `files` are what `loader.find` found for the project at hand; its trusted handlers count beside the shipped and the
    user's own, and so do the wishes of `others`, the projects whose handlers rely on the same settings. Events that
    are not `known` are left out.
    """
    mine = routes(visible(files, "shipped", "user"))
    return merged([*mine, *of_project(files), *others], known)


def of_project(files: Iterable[HandlerFile]) -> list[Wish]:
    """Return what the trusted handlers among a project's own files want, and others that only its configuration wakes.

    Those are wishes of this project alone: a session elsewhere must not take them out of the user's settings again.
    """
    from holdfast import config
    from holdfast.plugins import loader

    files = list(files)
    waiting = [file for file in visible(files, "shipped", "user") if file.active and file.runs_when]
    usual = config.load(None, trusted=False).config if waiting else None
    woken = [file for file in waiting if usual and not loader.runs(file.runs_when, usual)]
    return routes([*visible(files, "project"), *woken])


def team(
    root: Path, present: Mapping[str, object] | None = None, known: frozenset[str] = OLDEST_CLIENT_EVENTS
) -> dict[str, str | None]:
    """Return event -> matcher for everyone who works in the project at `root`.

    Shipped handlers and all of the project count; no user's own files or configuration. A handler of the project that
    is not trusted here, or is off, counts too: somebody else relies on it. What is `present` (event -> matcher) stays
    while a handler of the project cannot be read as it was: nobody knows what it wants. Events that are not `known`
    are left out: teammates may have the oldest client.
    """
    from holdfast.plugins import loader

    own, shipped = _of_team(root)
    events = merged([*routes(shipped), *((route.event, route.match) for file in own for route in file.routes)], known)
    if any(file.faults for file in own) or loader.vanished(claude, paths.project_handlers(root.resolve())):
        for event, matcher in (present or {}).items():
            there = matcher if isinstance(matcher, str) else None
            if event not in events or covers(event, there, events[event]):
                events[event] = there
            else:
                events |= merged([(event, there), (event, events[event])], frozenset({event}))
    return events


def team_timeouts(root: Path) -> dict[str, int]:
    """Return event -> the seconds the client has to wait for the handlers of `team`, where its default is too short."""
    own, shipped = _of_team(root)
    return timeouts([*own, *shipped])


def _of_team(root: Path) -> tuple[list[HandlerFile], list[HandlerFile]]:
    """Return the handler files of the project at `root`, and the shipped ones."""
    from holdfast.plugins import loader

    folder = paths.project_handlers(root.resolve())
    return loader.offered(claude, "project", folder), loader.offered(claude, "shipped", paths.shipped("handlers"))


def bundled() -> str:
    """Return the text of the plugin's hooks.json: what the shipped handlers want, on the oldest client's events.

    A project's own handlers and a user's are registered by `install`; the plugin is the same for everybody.
    """
    import json

    from holdfast.plugins import loader

    files = loader.offered(claude, "shipped", paths.shipped("handlers"))
    described = {"description": "Routes hook events to Holdfast's handlers"}
    return json.dumps(described | settings(wanted(files, OLDEST_CLIENT_EVENTS), plugin_command), indent=2) + "\n"


def printed(root: Path) -> str:
    """Return the settings.json text that registers what a team wants: the same on every machine."""
    import json

    return json.dumps(settings(team(root), timeouts=team_timeouts(root)), indent=2) + "\n"
