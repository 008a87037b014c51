"""Counting what a reply puts into the model's context, once it was written."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.dispatch.client import Event
    from holdfast.dispatch.output import Reply, Streams
    from holdfast.project import OpenProject

WAIT_LIMIT_S = 0.3  # seconds the client is kept waiting for the count at most


def of(reply: Reply, labels: Sequence[str]) -> dict[str, int]:
    """Return how many UTF-16 units of a reply are whose, by `place/name` of the handler's file.

    Args:
        reply: what was merged.
        labels: who said each of the merged outcomes (`engine.labels`).
    """
    found: dict[str, int] = {}
    for position, units in reply.shares.items():
        if units:
            name = labels[position].split(":")[0].removesuffix(".py")
            found[name] = found.get(name, 0) + units
    return found


def note(project: OpenProject, event: Event, units: Mapping[str, int]) -> None:
    """Keep a count in the ledger, which is not opened where there is none; a ledger that refuses is logged."""
    if not units:
        return
    from holdfast.errors import LedgerError
    from holdfast.ledger import context_costs

    try:
        context_costs.note(project, event.session_id, event.hook_event_name, units, agent=event.reaches_agent)
    except LedgerError as error:
        log.write("warning", f"what a reply cost is not remembered: {error}")


def note_after(project: OpenProject, event: Event, units: Mapping[str, int], streams: Streams, code: int) -> None:
    """Let the client go on, then keep a count; or keep it in another process where it waits for the end of this one.

    Args:
        project: where.
        event: what was answered.
        units: see `of`; where there are none, nothing happens at all.
        streams: where the answer was written.
        code: the exit code.
    """
    if streams.let_go(code):
        note(project, event, units)
    else:
        note_apart(project, event, units, streams.private)


def note_apart(project: OpenProject, event: Event, units: Mapping[str, int], private: Sequence[int]) -> None:
    """Keep a count in a process of its own, so that no ledger that is locked keeps the client waiting.

    Args:
        project: where.
        event: what was answered.
        units: see `of`; where there are none, nothing happens at all.
        private: the client's own descriptors, which that process must not hold open.
    """
    if not units:
        return
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.fork() == 0:  # nobody's child, so that nobody has to bury it
                for descriptor in (reading, *private):
                    os.close(descriptor)
                note(project, event, units)
                project.close()
        finally:
            os._exit(0)
    os.close(writing)
    with suppress(ChildProcessError):  # whoever started us ignores its children's ends, and so do we then
        os.waitpid(pid, 0)
    select.select([reading], [], [], WAIT_LIMIT_S)  # its end closes the other side
    os.close(reading)
