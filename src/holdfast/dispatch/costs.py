"""Record how much a reply put into the model's context, after it was written."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

from holdfast import log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.dispatch.client import Event
    from holdfast.dispatch.output import Reply
    from holdfast.project import OpenProject

WAIT_LIMIT_S = 0.3  # how long the client may have to wait for the record


def of(reply: Reply, labels: Sequence[str]) -> dict[str, int]:
    """Return each handler's share of a reply in UTF-16 units, by `place/name` of its file.

    Args:
        reply: the merged reply.
        labels: the label of each merged outcome (`conclusion.conclude`).
    """
    found: dict[str, int] = {}
    for position, units in reply.shares.items():
        if units:
            name = labels[position].split(":")[0].removesuffix(".py")
            found[name] = found.get(name, 0) + units
    return found


def note(project: OpenProject, event: Event, units: Mapping[str, int]) -> None:
    """Record a reply's shares in the ledger; without shares, don't open it. An error of the ledger is logged."""
    if not units:
        return
    from holdfast.errors import LedgerError
    from holdfast.ledger import context_costs

    try:
        context_costs.note(project, event.session_id, event.hook_event_name, units, agent=event.reaches_agent)
    except LedgerError as error:
        log.write("warning", f"the cost of a reply wasn't recorded: {error}")


def note_apart(project: OpenProject, event: Event, units: Mapping[str, int], private: Sequence[int]) -> None:
    """Record a reply's shares in a process of its own, so that a locked ledger doesn't keep the client waiting.

    It goes on when this process ends.

    Args:
        project: the event's project.
        event: the event that was answered.
        units: the shares (`of`); if empty, nothing happens.
        private: the client's own descriptors, which that process must not hold open.
    """
    if not units:
        return
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for descriptor in (reading, *private):
                os.close(descriptor)
            note(project, event, units)  # and leave the ledger open: to close it moves its log into the file
        finally:
            os._exit(0)
    os.close(writing)
    ended, _, _ = select.select([reading], [], [], WAIT_LIMIT_S)  # the process closes the other end by ending
    os.close(reading)
    if ended:
        os.waitpid(pid, 0)
