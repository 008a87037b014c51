"""Reads: which content of which file a conversation's model has seen, and since which compaction."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from holdfast import clock
from holdfast.errors import LedgerError
from holdfast.memory.rows import Read
from holdfast.sessions import conversations, deliveries

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event

How = Literal["read", "attached", "inlined"]
GONE = -1  # the compaction of a read in some earlier context
_ARRIVED = ("delivered", "confirmed", "unconfirmed")  # states of guidance whose reply was written
LIMIT = 5_000  # reads per project; the oldest go


def mentions(project: OpenProject, conversation: str) -> list[str]:
    """Return the files that a session edited and read, its requests and its agents' prompts, the latest of each first.

    These are what its transcript's end and the ledger have; without either, there are fewer.
    """
    with suppress(LedgerError):
        trail = project.transcripts.trail(conversations.get(project, conversation).transcript)
        prompts = project.ledger.rows(
            "SELECT prompt FROM agents WHERE conversation = ? AND prompt <> '' ORDER BY launched_at DESC", conversation
        )
        edited = (each.path for each in trail.edits)
        return [*edited, *trail.reads, *reversed(trail.requests), *(str(row["prompt"]) for row in prompts)]
    return []


def forget_reading(event: Event, context: Context) -> None:
    """Note that the model has lost what it had read.

    `event` is a `SessionStart` after the main conversation's compaction.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    with project.ledger.transaction():
        row = conversations.get(project, conversation)
        size = project.transcripts.size(row.transcript)
        conversations.change(project, conversation, compactions=row.compactions + 1, size=size, boundary=None)
    project.ledger.table(Read).prune("read_at", LIMIT)


def reminder_due(event: Event, context: Context) -> str:
    """Return whether the model may be reminded of its reading: it got guidance, had a turn, and wasn't reminded since.

    `event` is a `UserPromptSubmit`.

    Returns:
        The period for which reading counts, in words; empty if no reminder is due.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    row = conversations.get(project, conversation)
    if not row.idle:  # the guidance and this prompt reach the model in one request
        return ""
    last = next(iter(deliveries.recent(project, 1, conversation)), None)
    if last is None or last.state not in _ARRIVED or row.reminded >= row.compactions:
        return ""
    return "since the compaction" if row.compactions else "in this session"


def reminded(event: Event, context: Context) -> None:
    """Note that the model was reminded, or that there is nothing to remind it of until the next compaction.

    `event` is a `UserPromptSubmit`.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    conversations.change(project, conversation, reminded=conversations.get(project, conversation).compactions)


def note(project: OpenProject, conversation: str, path: str, content_hash: str, how: How = "read") -> None:
    """Note that the model has the whole content of a file, with this SHA-256, in its context now.

    `path` is the file's name in the ledger (`file_contents.name`).
    """
    compaction = conversations.get(project, conversation).compactions
    put(project, conversation, path, content=content_hash, how=how, compaction=compaction, parts="")


def put(project: OpenProject, conversation: str, path: str, **values: Any) -> None:
    """Set columns of a file's read; the row is added if it is new."""
    table = project.ledger.table(Read)
    with project.ledger.transaction():
        row = table.one(conversation=conversation, path=path) or Read(conversation, path)
        table.put(replace(row, **values, read_at=clock.stamp()))


def rows(project: OpenProject, conversation: str) -> dict[str, Read]:
    """Return all reads of a conversation by the file's name."""
    return {row.path: row for row in project.ledger.table(Read).where(conversation=conversation)}
