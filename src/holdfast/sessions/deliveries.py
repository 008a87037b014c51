"""Deliveries: each piece of guidance on its way to the model, and whether it has arrived."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from holdfast import clock
from holdfast.files.redact import redact
from holdfast.memory.log import note
from holdfast.memory.rows import Compaction, Delivery
from holdfast.memory.store import new_id
from holdfast.sessions import conversations
from holdfast.workflow.wording import Message, clean, units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.clients.client import Reached
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Event
    from holdfast.workflow.model import Workflow

State = Literal["pending", "delivered", "confirmed", "absent", "unconfirmed", "refused"]
_OPEN = "state IN ('pending', 'delivered')"
NAMED = 20  # workflows of one refusal that are stored
ABANDONED = timedelta(minutes=1)  # after this, another process may take over a delivery that was proven absent
PATIENCE = timedelta(days=1)  # after this, nobody looks for a confirmation any more


def deliver(
    project: OpenProject,
    event: Event,
    text: str,
    digest: str,
    *,
    workflow: Workflow | None,
    compaction: Compaction | None,
    omitted: int = 0,
) -> Message:
    """Return guidance as a message, after noting that it is on its way with the reply to an event.

    An earlier delivery of this conversation that is still open is looked for one last time: from now on the transcript
    could hold the new one's words in place of its own. If the transcript shows nothing, it becomes `unconfirmed`.

    Args:
        project: the project.
        event: the event.
        text: the guidance.
        digest: the guidance's digest, which is part of its text.
        workflow: the workflow that it restores; None for a trail.
        compaction: the compaction that it answers, if any.
        omitted: how many lines are only in the full version.
    """
    now, conversation = clock.stamp(), conversations.of(project, event.session_id)
    transcript = event.transcript_path or conversations.get(project, conversation).transcript
    starts = event.hook_event_name == project.client.START_EVENT
    delivery = Delivery(
        id=new_id(),
        worktree=project.worktree,
        conversation=conversation,
        compaction=compaction.id if compaction else "",
        event=event.hook_event_name,
        workflow=workflow.key if workflow else "",
        title=redact(clean(workflow.title)) if workflow else "the session's trail",
        digest=digest,
        characters=units(text),
        omitted=omitted,
        transcript=transcript,
        size=_begins(project, transcript, compaction if starts else None),
        state="pending",
        made_at=now,
        changed_at=now,
    )
    table = project.ledger.table(Delivery)
    for each in table.where(_OPEN, conversation=conversation):
        # Only prompts ask for it otherwise. The client may write after the last of them, and one turn may be compacted
        # twice.
        if (found := _reached(project, each)) != "unknown":
            _move(project, each, found)
    with project.ledger.transaction():
        for each in table.where(_OPEN, conversation=conversation):
            _move(project, each, "unconfirmed")
        again = compaction is not None and answered(project, compaction)
        _add(project, delivery, "given again" if again else "given")
    return Message(text, must_keep=True, on_delivered=lambda: written(project, delivery.id))


def refuse(
    project: OpenProject, event: Event, workflows: Sequence[Workflow], compaction: Compaction | None = None
) -> None:
    """Record that nothing was restored because another live session could own the workflows; one row for each."""
    now, conversation = clock.stamp(), conversations.of(project, event.session_id)
    with project.ledger.transaction():
        for workflow in workflows[:NAMED]:
            place = new_id(), project.worktree, conversation, compaction.id if compaction else ""
            about = event.hook_event_name, workflow.key, redact(clean(workflow.title))
            _add(project, Delivery(*place, *about, "", 0, 0, "", 0, "refused", now, now), "refused")


def _add(project: OpenProject, delivery: Delivery, what: str) -> None:
    project.ledger.table(Delivery).put(delivery)
    _note(project, delivery, what)


def _note(project: OpenProject, delivery: Delivery, what: str) -> None:
    names = ("event", "characters", "omitted", "digest")
    data = {"delivery": delivery.id} | {name: getattr(delivery, name) for name in names}
    about = {"conversation": delivery.conversation, "workflow": delivery.workflow, "title": delivery.title}
    note(project, "delivery", what, data=data, **about)


def _begins(project: OpenProject, transcript: str, compaction: Compaction | None) -> int:
    """Return the byte of a transcript from which guidance that is on its way now is looked for.

    That is the transcript's size when the compaction was announced if possible: the client may end this process and
    write on before this call.
    """
    size = project.transcripts.size(transcript)
    near = (
        compaction is not None
        and compaction.transcript == transcript
        and 0 <= size - compaction.size <= project.transcripts.TAIL_BYTES // 2
    )
    return compaction.size if compaction and near else size


def _reached(project: OpenProject, delivery: Delivery) -> Reached:
    """Return a delivery's state in the transcript, by entries since PreCompact announced its compaction."""
    compaction = project.ledger.table(Compaction).one(id=delivery.compaction) if delivery.compaction else None
    after = compaction.announced_at if compaction else ""
    return project.transcripts.reached(delivery.transcript, delivery.digest, delivery.size, after)


def written(project: OpenProject, delivery: str) -> None:
    """Record that the reply with a delivery was written."""
    row = project.ledger.table(Delivery).one(id=delivery, state="pending")
    if row:
        _move(project, row, "delivered")


def settle(project: OpenProject, conversation: str) -> Delivery | None:
    """Check whether a conversation's last guidance has arrived.

    Returns:
        The delivery if the transcript proves its absence, else None. If several processes ask, one gets it. If that
        process is killed before it begins another delivery, the next one to ask after `ABANDONED` gets it.
    """
    last = next(iter(recent(project, 1, conversation)), None)
    if last is None or last.state not in ("pending", "delivered", "absent"):
        return None
    if last.state == "absent":
        changed_at = clock.parse(last.changed_at)
        return last if changed_at is None or clock.now() - changed_at > ABANDONED else None
    found = _reached(project, last)
    if found == "unknown":
        made = clock.parse(last.made_at)
        if made is not None and clock.now() - made > PATIENCE:
            _move(project, last, "unconfirmed")
        return None
    moved = _move(project, last, found)
    return replace(last, state=found) if moved and found == "absent" else None


def let_go(project: OpenProject, delivery: str) -> None:
    """Record that an absent delivery is not repeated: its workflow is finished by now, or another session's."""
    values = {"state": "unconfirmed", "changed_at": clock.stamp()}
    project.ledger.table(Delivery).update(values, id=delivery, state="absent")


def answered(project: OpenProject, compaction: Compaction) -> bool:
    """Return whether anything was restored or refused after a compaction."""
    return project.ledger.table(Delivery).one(compaction=compaction.id) is not None


def recent(project: OpenProject, most: int, conversation: str | None = None) -> list[Delivery]:
    """Return up to `most` deliveries, of one conversation or of all, newest first."""
    table, order = project.ledger.table(Delivery), "made_at DESC, id"
    if conversation is None:
        return table.where(order=order, limit=most)
    return table.where(order=order, limit=most, conversation=conversation)


def _move(project: OpenProject, delivery: Delivery, state: State) -> bool:
    """Set a delivery's state if it is still as in `delivery`, and return whether that was done."""
    with project.ledger.transaction():
        moved = project.ledger.table(Delivery).change(delivery, state=state, changed_at=clock.stamp())
        if moved:
            unwritten = state == "unconfirmed" and delivery.state == "pending"
            _note(project, delivery, "unwritten" if unwritten else state)
    return moved
