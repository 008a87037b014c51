"""Record in the ledger what an event decided and how much its reply put into the model's context, after the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.dispatch.client import Event
    from holdfast.dispatch.output import Reply
    from holdfast.project import OpenProject

REASON_LIMIT_CHARS = 500  # of a decision's reason, secrets masked
_IDS = ("session_id", "prompt_id", "tool_use_id", "agent_id")  # what a decision belongs to


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


def note(project: OpenProject, event: Event, units: Mapping[str, int], decided: Sequence[Any] = ()) -> None:
    """Record a reply's decisions and shares in the ledger. Without any, don't open it. An error is logged.

    Args:
        project: the event's project.
        event: the event that was answered.
        units: the shares (`of`).
        decided: the decisions (`conclusion.conclude`).
    """
    if not (units or decided):
        return
    from holdfast.errors import LedgerError
    from holdfast.files.redact import beginning
    from holdfast.ledger import context_costs, event_log

    try:
        if decided:
            about = {"event": event.hook_event_name, "tool": getattr(event, "tool_name", None)}
            about |= {name: getattr(event, name, None) for name in _IDS}
            rows = [{**about, **each, "reason": beginning(each["reason"], REASON_LIMIT_CHARS)} for each in decided]
            event_log.note(project, "decision", event.session_id, rows)
        if units:
            context_costs.note(project, event.session_id, event.hook_event_name, units, agent=event.reaches_agent)
    except LedgerError as error:
        log.write("warning", f"the decisions and costs of a reply weren't recorded: {error}")
