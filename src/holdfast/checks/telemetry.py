"""Check that the collector answers, if one is configured, and say what was sent and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock, config
from holdfast.checks import ok, problem
from holdfast.errors import HoldfastError, StateError
from holdfast.telemetry import flush, position
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

_TIMEOUT_S = 3.0
_REMEDY = "start the collector, or change [telemetry] in your holdfast.toml; what waits is sent later"
_EXTRA = "uv tool install --force '.[otel]', in the checkout"


def findings(project: Workspace) -> Iterator[Finding]:
    """Send the endpoint an empty request."""
    settings = config.load(None, trusted=False).config.telemetry
    if not settings.endpoint:
        yield ok(
            "telemetry is off: no endpoint is configured; `holdfast doctor configuration` finds what doesn't count"
        )
        return
    at, waiting = position.load(), flush.waiting()
    sent = f"{count(at.sent, 'record')} sent, the last {clock.minute(at.sent_at)}" if at.sent_at else "nothing sent yet"
    state = f"{sent}; {count(waiting, 'record')} waiting"
    if at.dropped:
        state += f"; {count(at.dropped, 'record')} dropped: {flush.WHY_DROPPED}"
    try:
        failure = flush.sender(settings, _TIMEOUT_S).send([])
    except HoldfastError as error:
        yield problem(str(error), f"look at {error.path}" if isinstance(error, StateError) else _EXTRA)
        return
    if failure:
        yield problem(f"the telemetry endpoint {settings.endpoint} takes nothing: {failure} ({state})", _REMEDY)
    else:
        yield ok(f"the telemetry endpoint {settings.endpoint} answers; {state}")
