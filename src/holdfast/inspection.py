"""What is wrong with handler files, found by loading them and from what they did when they ran."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from holdfast import events, faults, loader
from holdfast.context import Context
from holdfast.isolation import Isolated
from holdfast.loader import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.loader import HandlerFile
    from holdfast.project import Project

SECONDS_PER_FILE = 5.0


def complaints(project: Project, files: Sequence[HandlerFile]) -> list[tuple[HandlerFile, str]]:
    """Find what is wrong with handler files.

    Args:
        project: for whose events they are loaded.
        files: what `loader.find` found. Files that are not active are read but not loaded.

    Returns:
        Pairs of a file and a sentence about it: what its text shows, what loading it shows (in a process of its
        own), and its latest fault when it ran.
    """
    found: list[tuple[HandlerFile, str]] = []
    for file in files:
        told = [*file.faults, *_load(project, file)] if file.active else [*file.faults]
        found += [(file, each) for each in dict.fromkeys(told)]
        if fault := faults.of(file):
            found.append((file, fault))
    return found


def listing(files: Sequence[HandlerFile]) -> dict[str, list[dict[str, Any]]]:
    """Return what `holdfast handlers list --json` prints: for each event the functions that want it.

    Those that run come first, in calling order; then those of files that do not, each with the reason in `idle`.
    """
    listed: dict[str, list[dict[str, Any]]] = {}
    for event in events.EVENTS:
        running = loader.plan(files, event, None)
        resting = [
            Call(file, route) for file in files if not file.active for route in file.routes if route.event == event
        ]
        if running or resting:
            listed[event] = [_row(call) for call in (*running, *resting)]
    return listed


def idle(file: HandlerFile) -> str:
    """Say why a file does not run; empty if it does."""
    if file.faults and not file.routes:
        return file.faults[0]
    if not file.trusted:
        return "not trusted; see holdfast handlers trust"
    if file.off and file.runs_when:
        asked = [f"{key} = {' or '.join(map(repr, values))}" for key, values in file.runs_when]
        return (
            f"switched off; it runs when the configuration says {', '.join(asked)}, and handlers.off does not name it"
        )
    if file.off:
        return "switched off; see handlers.off and, for what is off by default, handlers.on in the configuration"
    if file.replaced_by:
        return f"replaced by {file.replaced_by}" + (f" ({file.notice})" if file.notice else "")
    return "" if file.routes else "answers no event"


def _load(project: Project, file: HandlerFile) -> list[str]:
    """Load a file in a child process; faults its text shows already are not told twice."""
    plan = [Call(file, route) for route in file.routes if not route.broken]
    if not plan:
        return []
    event = events.parse({"hook_event_name": "SessionEnd", "session_id": "check"})
    deadline = time.monotonic() + SECONDS_PER_FILE
    isolated = Isolated(event, Context(project, os.environ), SECONDS_PER_FILE, deadline, only_load=True)
    answers = isolated.run(plan)
    isolated.close()
    return [f"{answer.label}: {answer.fault}" for answer in answers if answer.fault]


def _row(call: Call) -> dict[str, Any]:
    route = call.route
    return {
        "file": str(call.file.path),
        "place": call.file.place,
        "function": route.function,
        "match": route.match,
        "timeout": route.timeout,
        "strict": route.strict,
        "trusted": call.file.trusted,
        "broken": route.broken or None,
        "off": call.file.off,
        "idle": idle(call.file) or None,
    }
