"""The child that calls an event's handlers, forked before the event comes and ready before its payload does."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast import engine
from holdfast.dispatch import isolation
from holdfast.dispatch.isolation import Isolated
from holdfast.plugins import loader
from holdfast.plugins.context import Context
from holdfast.process import set_caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.plugins.loader import HandlerFile
    from holdfast.process.spare import Told
    from holdfast.project import OpenProject


@dataclass(frozen=True, slots=True)
class Place:
    """All that a hook's process was started with beside its descriptors.

    Attributes:
        environ: its environment.
        folder: its current folder.
        mask: its umask.
        process: its id.
    """

    environ: dict[bytes, bytes]
    folder: bytes
    mask: int
    process: int

    def enter(self) -> None:
        """Be in its folder. Raises OSError where that cannot be entered."""
        os.chdir(self.folder)

    def take(self) -> None:
        """Have all the rest of it."""
        os.umask(self.mask)
        zone = os.environb.get(b"TZ")
        if os.environb != self.environ:
            os.environb.clear()
            os.environb.update(self.environ)
        if self.environ.get(b"TZ") != zone:
            time.tzset()
        set_caller(self.process)


def handle(told: Told, report: int, captured: int, heard: int) -> None:
    """Be the child.

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
    place.enter()
    place.take()
    project, found = look(os.environ, argument)
    given = told.next()
    if not given:
        return
    payload: dict[str, Any] = given[0]
    name = payload[engine.CLIENT.EVENT_KEY]
    plan, event = engine.choose(payload, found if name == argument else loader.find(engine.CLIENT, project, name))
    if event is None:
        return
    limits = project.config.handlers
    context, deadline = Context(project, os.environ), engine.deadline(event, limits, started, plan)
    isolation.work(Isolated(engine.CLIENT, event, context, limits.timeout, deadline), plan, report, captured, heard)


def look(environ: Mapping[str, str], argument: str | None) -> tuple[OpenProject, list[HandlerFile]]:
    """Open the project and find the handlers of the event that is announced.

    Args:
        environ: the hook's environment.
        argument: the event's name on the command line; the payload's own may be another.

    Returns:
        The project, whose problems the parent tells, and the handlers.

    Raises:
        KeyError: the environment names no project, so it is no hook of the client's.
    """
    project = engine.open_project(environ, tell=False)
    return project, loader.find(engine.CLIENT, project, argument) if argument in engine.CLIENT.EVENTS else []
