"""Choose the events to replay: recorded ones that start a process or, without any, the package's samples."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.clients import claude
from holdfast.clients.claude import events, matchers
from holdfast.errors import EventError
from holdfast.install import register
from holdfast.plugins import discovery
from holdfast.testkit import recorded
from holdfast.testkit.client import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.project import OpenProject


@dataclass(frozen=True, slots=True)
class Chosen:
    """The events to replay.

    Attributes:
        payloads: the payloads, in their original order.
        older: how many more there were beyond the limit.
        unwanted: how many were left out because no handler wants them, so the client starts no process for them.
        unread: how many lines couldn't be read.
        samples: whether these are the package's samples, because none were recorded.
    """

    payloads: tuple[dict[str, Any], ...] = ()
    older: int = 0
    unwanted: int = 0
    unread: int = 0
    samples: bool = False


def wanted(project: OpenProject) -> dict[str, str | None]:
    """Return event -> matcher that a project's handlers want, as an install registers them."""
    wanted = register.entries(register.wishes_of(discovery.find(claude, project)), events.EVENTS)
    return {event: entry.matcher for event, entry in wanted.items()}


def of_recordings(lines: Iterable[str], asked: Mapping[str, str | None], event: str | None, limit: int) -> Chosen:
    """Choose the newest recorded events.

    Args:
        lines: the recorded lines of all sessions (`history.recordings`).
        asked: event -> matcher that handlers want (`wanted`).
        event: only this event; None for all.
        limit: how many at most.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    unwanted = unread = 0
    for line in lines:
        at, payload = _read(line)
        if not payload:
            unread += 1
        elif event in (None, payload["hook_event_name"]):
            if _fires(payload, asked):
                found.append((at, payload))
            else:
                unwanted += 1
    found.sort(key=lambda each: each[0])
    chosen = tuple(payload for _, payload in found[-limit:])
    return Chosen(chosen, len(found) - len(chosen), unwanted, unread)


def samples(project: OpenProject, asked: Mapping[str, str | None], event: str | None, limit: int) -> Chosen:
    """Choose the package's sample payloads that start a process, and adapt them to a project."""
    names = recorded.names_of(event) if event else recorded.names()
    found = [payload for name in names if _fires(payload := recorded.sent(name, SESSION, project.root), asked)]
    return Chosen(tuple(found[:limit]), max(len(found) - limit, 0), samples=True)


def _fires(payload: Mapping[str, Any], asked: Mapping[str, str | None]) -> bool:
    """Return whether the client starts a process for an event."""
    name = payload["hook_event_name"]
    try:
        return name in asked and matchers.matches(asked[name], claude.matcher_value(events.parse(payload)), name)
    except EventError:
        return False


def _read(line: str) -> tuple[str, dict[str, Any]]:
    """Return when an event was recorded, and its payload; an empty payload if the line can't be read."""
    try:
        noted = json.loads(line)
        at, payload = str(noted["at"]), noted["payload"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", {}
    known = isinstance(payload, dict) and isinstance(payload.get("hook_event_name"), str)
    return at, payload if known else {}
