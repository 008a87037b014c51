"""Compactions: what a conversation had before each, who came back from it, and what answered it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact
from holdfast.memory.log import note
from holdfast.memory.rows import Compaction, Delivery
from holdfast.memory.store import new_id
from holdfast.sessions import deliveries, messages
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import facts
from holdfast.workflow.model import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Workflow

LASTING = timedelta(days=1)  # the compaction that was announced before that in another session won't come any more
SHORTEST_CHARS = 4  # a shorter fact is in a summary by chance
UNANNOUNCED = "none"  # the trigger of a compaction that came without PreCompact
_NEWEST = "announced_at DESC, id"
Ending = Literal["confirmed", "given", "lost", "nothing", "open"]


class SavedWorkflow(NamedTuple):
    """A workflow as a compaction records it: its key, its title, its phase, and the SHA-256 of its file's content."""

    key: str
    title: str
    phase: str
    digest: str


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """A compaction from end to end.

    Attributes:
        row: the compaction.
        workflows: the workflows that its conversation had.
        deliveries: what answered it, oldest first, refusals included.
        missed: whether the transcript shows that it came although nothing was restored.
        not_restored: why the conversation that came back got none of the workflows; empty if it got one, or if the
            ledger doesn't show it.
    """

    row: Compaction
    workflows: tuple[SavedWorkflow, ...]
    deliveries: tuple[Delivery, ...]
    missed: bool
    not_restored: str

    @property
    def announced_at(self) -> str | None:
        """When PreCompact fired (UTC stamp); None if it never did."""
        return None if self.row.trigger == UNANNOUNCED else self.row.announced_at

    @property
    def came_at(self) -> str | None:
        """When a session came back from it (UTC stamp); None if none has."""
        return self.row.restored_at

    @property
    def at(self) -> str:
        """When it came or, if it hasn't, when it was announced (UTC stamp)."""
        return self.came_at or self.row.announced_at

    @property
    def ending(self) -> Ending:
        """How it ended for the model.

        `confirmed`: the transcript holds the guidance. `given`: it was sent, and may have arrived. `lost`: nothing
        arrived, or it was refused. `nothing`: there was nothing to restore. `open`: it was announced and has not come.
        """
        if self.missed:
            return "lost"
        if self.came_at is None:
            return "open"
        if not self.deliveries:
            return "lost" if self.workflows else "nothing"
        states = {each.state for each in self.deliveries}
        if "confirmed" in states:
            return "confirmed"
        return "given" if states & {"delivered", "pending", "unconfirmed"} else "lost"

    @property
    def restored(self) -> bool:
        """Whether guidance was sent after it."""
        return self.ending in ("confirmed", "given")


class Lost(NamedTuple):
    """Guidance that a session should have got after a compaction and never did.

    Attributes:
        delivery: the guidance that was sent and did not arrive, as the transcript proves; None if none was sent.
        compaction: the compaction; None if it isn't known any more, or if the guidance answered none.
    """

    delivery: Delivery | None = None
    compaction: Compaction | None = None


def lost(event: Event, context: Context) -> Lost | None:
    """Return, once, what never reached a session after its compaction; pass it to `restore` to make up for it.

    This happens if the reply to SessionStart(compact) was lost, or if that event never fired after a PreCompact
    ([ISS 28305], [ISS 15174]). `event` is a `UserPromptSubmit`.
    """
    project, conversation = Workspace.at(event, context)
    delivery = deliveries.settle(project, conversation)
    compaction = project.ledger.table(Compaction).one(id=delivery.compaction) if delivery else None
    if delivery is None and (compaction := missed(project, conversation)) is None:
        return None
    what = delivery.digest if delivery else "of a compaction"
    context.log(f"the guidance {what} never arrived, so it was sent again")
    return Lost(delivery, compaction)


def of(workflow: Workflow) -> SavedWorkflow:
    """Return a workflow as a compaction records it."""
    phase = redact(f"{workflow.position} {workflow.current_name}".strip())
    return SavedWorkflow(workflow.key, redact(workflow.title), phase, hashlib.sha256(workflow.raw).hexdigest())


def saved(compaction: Compaction) -> tuple[SavedWorkflow, ...]:
    """Return the workflows that a compaction's conversation had, its own first."""
    return tuple(SavedWorkflow(*each) for each in json.loads(compaction.workflows))


def announce(
    project: OpenProject, conversation: str, trigger: str, workflows: Sequence[SavedWorkflow], transcript: str = ""
) -> Compaction:
    """Record that a compaction of a conversation is about to come.

    `workflows` are those that it has, its own first. The present size of its `transcript` (a path) is stored.
    """
    size = project.transcripts.size(transcript)
    place = new_id(), project.worktree, conversation, trigger
    compaction = Compaction(*place, json.dumps(workflows), clock.stamp(), transcript, size)
    return _add(project, compaction, "announced")


def note_unannounced(project: OpenProject, conversation: str, workflow: Workflow) -> Compaction:
    """Record that a conversation came back from a compaction that PreCompact never announced, and had this workflow."""
    now = clock.stamp()
    place = new_id(), project.worktree, conversation, UNANNOUNCED
    compaction = Compaction(*place, json.dumps([of(workflow)]), now, restored_in=conversation, restored_at=now)
    return _add(project, compaction, "completed")


def _add(project: OpenProject, compaction: Compaction, what: str) -> Compaction:
    with project.ledger.transaction():
        project.ledger.table(Compaction).put(compaction)
        _note(project, compaction, what)
    return compaction


def _note(project: OpenProject, compaction: Compaction, what: str) -> None:
    """Append a compaction to the log."""
    data = {
        "trigger": compaction.trigger,
        "announced_by": None if compaction.trigger == UNANNOUNCED else compaction.conversation,
        "workflows": [{"key": each.key, "title": each.title, "phase": each.phase} for each in saved(compaction)],
    }
    conversation = compaction.restored_in if what == "completed" else compaction.conversation
    note(project, "compaction", what, conversation=conversation, data=data)


def claim(project: OpenProject, conversation: str, *, known: bool) -> Compaction | None:
    """Claim the announced compaction that a conversation comes back from.

    A conversation that is `known`, because the ledger had seen it before, claims only its own. One that isn't claims
    another's of the same worktree, and only if just one other announced any. Each claim is one conditional update, so
    one of two claimants wins. The newest one claimed is the one that came.
    """
    table, now, since = project.ledger.table(Compaction), clock.stamp(), clock.stamp(clock.now() - LASTING)
    where, value = ("conversation = ?", conversation) if known else ("announced_at >= ?", since)
    announced = table.where(where, value, worktree=project.worktree, restored_in="", order=_NEWEST)
    if not known and len({each.conversation for each in announced}) != 1:
        return None
    came = None
    for each in announced:
        restored_at = now if came is None else None
        if table.change(each, restored_in=conversation, restored_at=restored_at) and came is None:
            came = replace(each, restored_in=conversation, restored_at=now)
    if came:
        _note(project, came, "completed")
    return came


def unanswered(project: OpenProject, conversation: str) -> Compaction | None:
    """Return the compaction that a conversation claimed last if it got nothing, because the claiming process died."""
    last = _last(project, conversation)
    if last is None or last.restored_in != conversation or deliveries.answered(project, last):
        return None
    return last


def missed(project: OpenProject, conversation: str) -> Compaction | None:
    """Return a conversation's last compaction if it came and nothing was restored.

    The transcript shows whether it came, since a PreCompact without a compaction leaves one announced too. A claimed
    one counts as open if the claiming process was killed before it could give anything.
    """
    last = _last(project, conversation)
    if last is None or not saved(last) or (last.restored_at and deliveries.answered(project, last)):
        return None
    return last if project.transcripts.compacted(last.transcript, last.size, last.announced_at) else None


def saved_at(project: OpenProject, conversation: str) -> str:
    """Return when a conversation's last compaction was announced (UTC stamp); empty if none was."""
    last = _last(project, conversation)
    return "" if last is None or last.trigger == UNANNOUNCED else last.announced_at


def recent(project: OpenProject, most: int = -1) -> list[CompactionReport]:
    """Return the last `most` compactions or all, of all worktrees, the last announced first. Raises LedgerError."""
    return _reports(project, project.ledger.table(Compaction).where(order=_NEWEST, limit=most))


def naming(project: OpenProject, workflow: str) -> list[CompactionReport]:
    """Return the compactions of this worktree that name the workflow with this key, the last announced first."""
    found = project.ledger.table(Compaction).where(worktree=project.worktree, order=_NEWEST)
    return _reports(project, [each for each in found if workflow in {one.key for one in saved(each)}])


def forget(project: OpenProject, workflow: str, worktree: str, *, dry: bool = False) -> int:
    """Remove a workflow from the compactions that name it, which stay, and return their number. `dry` only counts."""
    table = project.ledger.table(Compaction)
    gone = [each for each in table.where(worktree=worktree) if workflow in {one.key for one in saved(each)}]
    for each in gone if not dry else ():
        table.change(each, workflows=json.dumps([one for one in saved(each) if one.key != workflow]))
    return len(gone)


def count_facts(project: OpenProject, compaction: str, workflow: Workflow, summary: str) -> None:
    """Store how many of a workflow's facts the client's summary of a compaction has, unless that is known.

    `compaction` is an id. Facts are counted by `facts_kept`.
    """
    found, total = facts_kept(workflow, summary)
    project.ledger.table(Compaction).update({"facts": total, "facts_kept": found}, id=compaction, facts=0)


def facts_kept(workflow: Workflow, summary: str) -> tuple[int, int]:
    """Return how many of a workflow's facts a summary has word for word, and how many there are."""
    text = " ".join(summary.split())
    found = [workflow.title, workflow.phase, *(each.title for each in workflow.phases if each.title != workflow.phase)]
    found += [entry.removeprefix("@") for entry in workflow.reading] + list(workflow.reminders)
    found += [each.value for each in facts.context(workflow).facts]
    values = [" ".join(each.split()) for each in found]
    values = [each for each in values if len(each) >= SHORTEST_CHARS]
    return sum(each in text for each in values), len(values)


def _last(project: OpenProject, conversation: str) -> Compaction | None:
    where = "conversation = ? OR restored_in = ?"
    return project.ledger.table(Compaction).one(where, conversation, conversation, order=_NEWEST)


def _reports(project: OpenProject, found: Sequence[Compaction]) -> list[CompactionReport]:
    marks, ids = ", ".join("?" * len(found)), [each.id for each in found]
    answers: dict[str, list[Delivery]] = {each: [] for each in ids}
    for delivery in project.ledger.table(Delivery).where(f"compaction IN ({marks})", *ids, order="made_at, id"):
        answers[delivery.compaction].append(delivery)
    return [_report(project, each, tuple(answers[each.id])) for each in found]


def _report(project: OpenProject, row: Compaction, answers: tuple[Delivery, ...]) -> CompactionReport:
    came_unanswered = False
    if row.restored_at is None:
        last = missed(project, row.conversation)
        came_unanswered = last is not None and last.id == row.id
    return CompactionReport(row, saved(row), answers, came_unanswered, _not_restored(project, row, answers))


def _not_restored(project: OpenProject, row: Compaction, answers: Sequence[Delivery]) -> str:
    """Return why the conversation that came back got no workflow (`CompactionReport.not_restored`)."""
    if row.restored_at is None or not saved(row) or row.trigger == UNANNOUNCED:
        return ""
    if any(each.workflow and each.state != "refused" for each in answers):
        return ""
    if any(each.state == "refused" for each in answers):
        return "it could belong to another live session"
    places = [place_of(each.key) for each in saved(row)]
    for path in messages.unread_files(project, row.restored_in):
        if place := next((each for each in places if each and f"/{path}".endswith(f"/{each}")), ""):
            return f"{place} could not be read"
    return "only the session's own trail was restored" if answers else ""
