"""Record in the ledger what an event decided and how much its reply put into the model's context, after the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import LedgerError
from holdfast.files.redact import beginning

if TYPE_CHECKING:
    from holdfast.dispatch.client import Event
    from holdfast.dispatch.reply import Conclusion
    from holdfast.project import OpenProject

REASON_LIMIT_CHARS = 500  # of a decision's reason, secrets masked
_IDS = ("session_id", "prompt_id", "tool_use_id", "agent_id")  # what a decision belongs to


def note(project: OpenProject, event: Event, conclusion: Conclusion) -> None:
    """Record the decisions and the size of a reply. Without any, don't open the ledger. An error is logged.

    Args:
        project: the event's project.
        event: the event that was answered.
        conclusion: how it ended.
    """
    units, decisions = conclusion.units, conclusion.decisions
    if not (units or decisions):
        return
    from holdfast.memory import costs
    from holdfast.memory import log as event_log

    try:
        conversation = project.ledger.conversation(event.session_id)
        if decisions:
            about = {"event": event.hook_event_name, "tool": getattr(event, "tool_name", None)}
            about |= {name: getattr(event, name, None) for name in _IDS}
            for each in decisions:
                data = {**about, **each, "reason": beginning(each["reason"], REASON_LIMIT_CHARS)}
                event_log.note(project, "decision", each["outcome"], conversation=conversation, data=data)
        if units:
            costs.note(project, conversation, event.hook_event_name, units, agent=event.reaches_agent)
    except LedgerError as error:
        log.write("warning", f"the decisions and costs of a reply weren't recorded: {error}")
