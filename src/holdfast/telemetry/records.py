"""What is sent of an event of the log: plain records, whose names are those of OpenTelemetry and of the client.

`session.id`, `prompt.id` and `tool_use_id` are what the client's own telemetry calls them, so its records join. Secrets
are masked wherever they stand. Reasons are left out unless the user wants them sent.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.memory.rows import Event
    from holdfast.plugins.loader import Call

KINDS = ("archive", "decision", "delivery", "phase")
"""The kinds of events that are sent."""
_IDS = {"prompt_id": "prompt.id", "tool_use_id": "tool_use_id", "agent_id": "agent.id"}
_REFUSALS = ("deny", "block", "refusal")
_STATES = {"given": "pending", "given again": "pending", "absent": "lost", "unwritten": "lost"}
"""What a delivery's states are called, where the log has another word."""
_IN_BODY = (
    *("holdfast.outcome", "holdfast.handler", "hook_event", "holdfast.delivery.state"),
    *("holdfast.workflow.id", "holdfast.workflow.phase", "holdfast.workflow.status"),
)


class Record(NamedTuple):
    """One log record.

    Attributes:
        name: the name of the event, such as `holdfast.decision`.
        at: when it happened.
        attributes: what it says; None is left out.
        severe: whether it should catch somebody's eye: a refusal, a failed phase, lost guidance.
    """

    name: str
    at: datetime
    attributes: dict[str, Any]
    severe: bool = False

    @property
    def body(self) -> str:
        """A line for people that read the log as it is."""
        return " ".join((self.name, *(str(self.attributes[name]) for name in _IN_BODY if name in self.attributes)))


def of_event(event: Event, session: str, *, reasons: bool) -> Record:
    """Return the telemetry record of an event.

    Args:
        event: the event, one of `KINDS`.
        session: the session id that its conversation had then.
        reasons: whether a handler's reason may be sent.
    """
    data = json.loads(event.data)
    if event.kind == "decision":
        name, values = "decision", _decision(data, reasons=reasons)
        severe = data["outcome"] in _REFUSALS
    elif event.kind == "delivery":
        name, values = "delivery", _delivery(event, data)
        severe = values["holdfast.delivery.state"] == "lost"
    else:
        status = data["status"] if event.kind == "archive" else event.what
        values = _workflow(event) | {"holdfast.workflow.status": status, "holdfast.workflow.cause": data.get("cause")}
        name, severe = "workflow", status in ("failed", "blocked")
    ids = {"log.record.uid": event.id, "session.id": data.get("session_id") or session}
    return _record(name, clock.parse(event.at) or clock.now(), ids | values, severe=severe)


def of_guard(call: Call, last_run: datetime | None, host: str) -> Record:
    """Return the report of the day on a guard: a function that runs before tool calls, even if it never ran.

    Args:
        call: the guard.
        last_run: when it last ran; None for never.
        host: the name of this machine.
    """
    now = clock.now()
    name = f"{host} {call.file.path} {call.route.function} {now:%Y-%m-%d}"
    values = {
        "log.record.uid": hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:32],
        "holdfast.handler": f"{call.file.place}/{call.file.path.name}",
        "holdfast.place": call.file.place,
        "holdfast.strict": call.route.strict,
        "holdfast.guard.function": call.route.function,
        "holdfast.guard.ran": last_run is not None,
        "holdfast.guard.last_run": clock.stamp(last_run) if last_run else None,
    }
    return _record("guard", now, values, severe=last_run is None)


def _record(name: str, at: datetime, values: Mapping[str, Any], *, severe: bool) -> Record:
    attributes = {  # JSON and file names can hold half a character; OTLP can't
        key: redact(value).encode(errors="replace").decode() if isinstance(value, str) else value
        for key, value in values.items()
        if value is not None and value != ""
    }
    return Record(f"holdfast.{name}", at, attributes, severe)


def _decision(data: Mapping[str, Any], *, reasons: bool) -> dict[str, Any]:
    values = {name: data.get(key) for key, name in _IDS.items()} | {
        "hook_event": data["event"],
        "tool_name": data["tool"],
        "holdfast.handler": data["handler"],
        "holdfast.place": data.get("place"),
        "holdfast.outcome": data["outcome"],
        "holdfast.strict": data.get("strict"),
        "holdfast.dropped": bool(data["dropped"]),
        "holdfast.duration_ms": data.get("duration_ms"),
    }
    if reasons:
        values |= {"holdfast.reason": data["reason"], "holdfast.dropped.reason": data["dropped"]}
    return values


def _delivery(event: Event, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "hook_event": data["event"],
        "holdfast.delivery.id": data.get("delivery"),
        "holdfast.delivery.state": _STATES.get(event.what, event.what),
        "holdfast.delivery.characters": data["characters"],
        **_workflow(event),
    }


def _workflow(event: Event) -> dict[str, Any]:
    """Return the workflow and phase that an event is about; a workflow's key is `FORMAT:PATH#ID`."""
    if not event.workflow:
        return {}
    return {
        "holdfast.workflow.id": event.workflow.rpartition("#")[2],
        "holdfast.workflow.format": event.workflow.partition(":")[0],
        "holdfast.workflow.phase": event.phase,
    }
