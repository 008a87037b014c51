"""The child process that calls an event's handlers: forked before the event comes, ready before its payload is read."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast import engine, log
from holdfast.dispatch import isolation
from holdfast.dispatch.isolation import Isolated
from holdfast.ledger import connection
from holdfast.plugins import loader
from holdfast.plugins.context import Context
from holdfast.process import set_caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.plugins.loader import Sight
    from holdfast.process.spare import Told
    from holdfast.project import OpenProject


@dataclass(frozen=True, slots=True)
class Place:
    """What a hook's process was started with, apart from its descriptors.

    Attributes:
        environ: its environment.
        folder: its working directory.
        mask: its umask.
        process: its process id.
    """

    environ: dict[bytes, bytes]
    folder: bytes
    mask: int
    process: int

    def strings(self) -> dict[str, str]:
        """Return its environment as strings."""
        return {os.fsdecode(name): os.fsdecode(value) for name, value in self.environ.items()}

    def enter(self) -> None:
        """Make its working directory this process's own. Raises OSError if that fails."""
        os.chdir(self.folder)

    def take(self) -> None:
        """Take over its umask, environment and time zone, and name it as the caller (`process.caller`)."""
        os.umask(self.mask)
        zone = os.environb.get(b"TZ")
        if os.environb != self.environ:
            os.environb.clear()
            os.environb.update(self.environ)
        if self.environ.get(b"TZ") != zone:
            time.tzset()
        set_caller(self.process)


def rehearsed_place() -> Place:
    """Return this process's own place with another environment, so that there is something to take over."""
    return Place({**os.environb, b"HOLDFAST_REHEARSED": b"1"}, b"/", 0o022, os.getpid())


def handle(told: Told, report: int, captured: int, heard: int) -> None:
    """Run in the child: prepare for an event, wait for its payload, then call its handlers.

    Args:
        told: yields first the place and the `time.monotonic()` when the event came; then the payload.
        report: descriptor to write messages to (`Child.fork`).
        captured: descriptor to read what was printed from.
        heard: descriptor to read the list of deliveries from.
    """
    announced = told.next()
    if not announced:
        return
    place, started = announced
    place.enter()
    place.take()
    project, seen = look(os.environ)
    given = told.next()
    if not given:
        return
    payload: dict[str, Any] = given[0]
    name = payload[engine.CLIENT.EVENT_KEY]
    plan, event = engine.choose(payload, seen.files(name, engine.CLIENT.matched(name, payload)))
    if event is None or engine.strict(plan):  # then the worker forks a process for each place's strict handlers
        return
    limits = project.config.handlers
    context, deadline = Context(project, os.environ), engine.deadline(event, limits, started, plan)
    isolation.work(Isolated(engine.CLIENT, event, context, limits.timeout, deadline), plan, report, captured, heard)
    told.next()  # to end takes processor time, too: not before the client has its answer


def hold_ledger(root: str) -> None:
    """Connect to the ledger of a project whose event probably comes next, if there is one."""
    with suppress(Exception):  # a real event will show what is wrong
        connection.hold(engine.open_project({engine.CLIENT.ROOT_VARIABLE: root}, tell=False).ledger_file)
    log.set_project(None)


def look(environ: Mapping[str, str]) -> tuple[OpenProject, Sight]:
    """Open the project and look at the handler files, before the payload tells which of them are wanted.

    Args:
        environ: the hook's environment.

    Returns:
        The project, whose configuration problems the parent logs, and the files.

    Raises:
        KeyError: the environment names no project, so this is no hook of the client's.
    """
    project = engine.open_project(environ, tell=False)
    return project, loader.look_around(engine.CLIENT, project)
