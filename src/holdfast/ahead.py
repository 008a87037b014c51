"""Doing for an event what needs no payload, while that is still on its way."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import engine, isolation, loader
from holdfast.context import Context
from holdfast.events import EVENTS
from holdfast.isolation import Isolated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.loader import HandlerFile
    from holdfast.project import Project
    from holdfast.spare import Told


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is known before the payload.

    Attributes:
        project: the project, from the hook's environment.
        event: the event's name on the command line; the payload's own may be another.
        found: the handlers that it may concern.
    """

    project: Project
    event: str
    found: list[HandlerFile]


def look(environ: Mapping[str, str], argument: str | None, *, tell: bool = True) -> Ahead:
    """Open the project and find the handlers of the event that is to come.

    Args:
        environ: the hook's environment.
        argument: the event's name on the command line, if any.
        tell: whether what is wrong with the configuration goes to the log.

    Raises:
        KeyError: the environment names no project, so it is no hook of Claude Code's.
    """
    project = engine.open_project(environ, tell=tell)
    event = argument if argument in EVENTS else ""
    return Ahead(project, event or "", loader.find(project, event) if event else [])


def handle(told: Told, report: int, captured: int, heard: int) -> None:
    """Be a child that calls an event's handlers: get ready for it when it is announced, begin when its payload comes.

    It finds by itself what is to be called, while its parent does the same to judge what comes of it.

    Args:
        told: first the place, the event's name on the command line and `time.monotonic()` of its coming; then the
            payload.
        report: see `Child.fork`, as for the next two.
        captured: see there.
        heard: see there.
    """
    announced = told.next()
    if not announced:
        return
    place, argument, started = announced
    place.take()
    seen = look(os.environ, argument, tell=False)
    given = told.next()
    if not given:
        return
    (payload,) = given
    name = payload["hook_event_name"]
    plan, event = engine.choose(payload, seen.found if seen.event == name else loader.find(seen.project, name))
    if event is None:
        return
    limits = seen.project.config.handlers
    isolated = Isolated(
        event, Context(seen.project, os.environ), limits.timeout, engine.deadline(event, limits, started)
    )
    isolation.work(isolated, plan, report, captured, heard)
