"""Reads: which content of which file a session's model has seen, and since which compaction."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast import clock
from holdfast.errors import LedgerError
from holdfast.sessions import deliveries
from holdfast.sessions.ownership import sessions

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event

How = Literal["read", "attached", "inlined"]
GONE = -1  # the compaction of a read in some earlier context
_ARRIVED = ("delivered", "confirmed", "unconfirmed")  # states of guidance whose reply was written
KEPT = 5_000  # reads per project; the oldest go


class Reader(NamedTuple):
    """What is known of a session's context and transcript.

    Attributes:
        compactions: how many compactions were seen.
        size: the transcript's size at the last one, in bytes.
        boundary: the id of its boundary in the transcript; None while that is still to be written.
        reminded: the number of compactions when the model was last reminded; -1 if it never was.
        searched: the byte up to which the transcript has been searched for files.
        sought: a digest of what it was searched for.
    """

    compactions: int = 0
    size: int = 0
    boundary: str | None = ""
    reminded: int = -1
    searched: int = 0
    sought: str = ""


def mentions(project: OpenProject, session: str) -> list[str]:
    """Return the files that a session edited and read, its requests and its agents' prompts, the latest of each first.

    These are what its transcript's end and the ledger have; without either, there are fewer.
    """
    with suppress(LedgerError):
        trail = project.transcripts.trail(sessions.transcript(project, session))
        prompts = project.ledger.rows(
            "SELECT prompt FROM agents WHERE conversation = ? AND prompt <> '' ORDER BY launched_at DESC", session
        )
        edited = (each.path for each in trail.edits)
        return [*edited, *trail.reads, *reversed(trail.requests), *(str(row["prompt"]) for row in prompts)]
    return []


def forget_reading(event: Event, context: Context) -> None:
    """Note that the model has lost what it had read.

    Args:
        event: a `SessionStart` after the main conversation's compaction.
        context: its context.
    """
    compacted(context.project, event.session_id)


def reminder_due(event: Event, context: Context) -> str:
    """Return whether the model may be reminded of its reading: it got guidance, had a turn, and wasn't reminded since.

    Args:
        event: a `UserPromptSubmit`.
        context: its context.

    Returns:
        The period for which reading counts, in words; empty if no reminder is due.
    """
    project, session = context.project, event.session_id
    if not sessions.is_idle(project, session):  # the guidance and this prompt reach the model in one request
        return ""
    last = next(iter(deliveries.recent(project, 1, session)), None)
    if last is None or last.state not in _ARRIVED:
        return ""
    state = reader(project, session)
    if state.reminded >= state.compactions:
        return ""
    return "since the compaction" if state.compactions else "in this session"


def note(project: OpenProject, session: str, path: str, content_hash: str, how: How = "read") -> None:
    """Note that the model has the whole content of a file in its context now.

    Args:
        project: the project.
        session: the session.
        path: the file's name in the ledger (`file_contents.name`).
        content_hash: the content's SHA-256 in hexadecimal.
        how: whether a Read, an attachment by the client or Holdfast's guidance brought it.
    """
    compaction = reader(project, session).compactions
    put(project, session, path, content=content_hash, how=how, compaction=compaction, parts="")


def put(project: OpenProject, session: str, path: str, **values: str | int) -> None:
    """Set columns of a file's read; the row is added if it is new."""
    names = [*values, "read_at"]
    changes = ", ".join(f"{each} = excluded.{each}" for each in names)
    project.ledger.run(
        f"INSERT INTO reads (project, worktree, host, client, session, path, {', '.join(names)})"
        f" VALUES (?, ?, ?, ?, ?, ?{', ?' * len(names)}) ON CONFLICT (project, session, path) DO UPDATE SET {changes}",
        *(project.key, project.worktree, project.host, project.client.NAME, session, path),
        *(*values.values(), clock.stamp()),
    )


def rows(project: OpenProject, session: str) -> dict[str, dict[str, Any]]:
    """Return all reads of a session by the file's name."""
    found = project.ledger.rows("SELECT * FROM reads WHERE project = ? AND session = ?", project.key, session)
    return {row["path"]: row for row in found}


def reader(project: OpenProject, session: str) -> Reader:
    """Return what is known of a session's context and transcript; the defaults if nothing is."""
    row = project.ledger.one(
        f"SELECT {', '.join(Reader._fields)} FROM readers WHERE project = ? AND session = ?", project.key, session
    )
    return Reader(**row) if row else Reader()


def compacted(project: OpenProject, session: str) -> None:
    """Note that the model has lost what it had read: SessionStart(compact) came."""
    size = project.transcripts.size(sessions.transcript(project, session))
    with project.ledger.transaction():
        count = reader(project, session).compactions + 1
        _set(project, session, compactions=count, size=size, boundary=None)
    project.ledger.prune(project.key, "reads", "read_at", KEPT, key="project, session, path")


def bounded(project: OpenProject, session: str, compactions: int, boundary: str) -> None:
    """Note the boundary of a session's last compaction in its transcript."""
    _set(project, session, compactions=compactions, boundary=boundary)


def searched(project: OpenProject, session: str, end: int, sought: str) -> None:
    """Note up to which byte a session's transcript was searched, and for what, so that it isn't searched again."""
    _set(project, session, searched=end, sought=sought)


def reminded(event: Event, context: Context) -> None:
    """Note that the model was reminded, or that there is nothing to remind it of until the next compaction.

    Args:
        event: a `UserPromptSubmit`.
        context: its context.
    """
    project, session = context.project, event.session_id
    _set(project, session, reminded=reader(project, session).compactions)


def _set(project: OpenProject, session: str, **values: str | int | None) -> None:
    """Set columns of a session's reader; the row is added if it is new."""
    changes = ", ".join(f"{each} = excluded.{each}" for each in values)
    project.ledger.run(
        f"INSERT INTO readers (project, worktree, host, client, session, {', '.join(values)})"
        f" VALUES (?, ?, ?, ?, ?{', ?' * len(values)}) ON CONFLICT (project, session) DO UPDATE SET {changes}",
        *(project.key, project.worktree, project.host, project.client.NAME, session, *values.values()),
    )
