"""Which sessions have been seen in a project, and which of them are still live."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.process import liveness
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked
    from holdfast.sessions.hook import Context, Event

_NAMED = 5  # sessions that an error names
_OFTEN = timedelta(minutes=5)  # after which another event of a session is written down
_LONGEST_TURN = timedelta(days=7)  # without an event of which a session is not looked for any more
_LOOKED_AT = 200  # sessions that may be live, the newest
SILENCE = timedelta(minutes=60)  # a session without an event for this long is not live (survival: "Live")


def note_event(project: OpenProject, session: str, process: str | None = None, transcript: str = "") -> None:
    """Note that a session has just had an event; a session that had ended is live again (`--resume`).

    Args:
        project: where.
        session: the client's session id.
        process: the client's process id, if it is known (`Client.process`).
        transcript: where its transcript lies; empty if the event does not say.
    """
    _note_event(project, session, None if _stays(project, session) else _number(process), transcript)


def _note_event(
    project: OpenProject, session: str, process: int | None, transcript: str, attended: bool | None = None
) -> None:
    """Note an event of a session, in the process that is noted already if `process` is None."""
    now = clock.stamp()
    where = (process, liveness.started_at(process), liveness.namespace()) if process is not None else (None,) * 3
    project.ledger.run(
        "INSERT INTO sessions (project, id, worktree, host, client, process, process_start, namespace, transcript,"
        " attended, first_seen, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, id) DO UPDATE SET worktree = excluded.worktree, host = excluded.host,"
        " process = COALESCE(excluded.process, sessions.process),"
        " process_start = CASE WHEN excluded.process IS NULL THEN sessions.process_start"
        " ELSE excluded.process_start END,"
        " namespace = CASE WHEN excluded.process IS NULL THEN sessions.namespace ELSE excluded.namespace END,"
        " attended = COALESCE(excluded.attended, sessions.attended),"
        " transcript = CASE WHEN excluded.transcript = '' THEN sessions.transcript ELSE excluded.transcript END,"
        " last_seen = excluded.last_seen, ended_at = NULL, resting = 0",
        *(project.key, session, project.worktree, project.host, project.client.NAME, *where),
        *(transcript, attended, now, now),
    )


def join(event: Event, context: Context) -> bool:
    """Note that a session lives, with the client's process; one that had ended lives again.

    Args:
        event: an event of the main conversation.
        context: its context.

    Returns:
        Whether Holdfast knew the session before.
    """
    project, session = context.project, event.session_id
    before, process = _row(project, session), client_process(context)
    moved = before is not None and before["process"] not in (None, process)
    process = None if moved and _stays(project, session) else process
    _note_event(project, session, process, event.transcript_path, project.client.attended(context.environ))
    return before is not None


def touch(event: Event, context: Context) -> None:
    """Note that a session lives, whatever its event was: one long turn has no prompt that would tell (`join`).

    A subagent's event counts too, for its session runs. What was noted less than five minutes ago is not written again.

    Args:
        event: any event.
        context: its context.
    """
    project, now = context.project, clock.now()
    project.ledger.run(
        "UPDATE sessions SET last_seen = ? WHERE project = ? AND id = ? AND ended_at IS NULL AND last_seen < ?",
        *(clock.stamp(now), project.key, event.session_id, clock.stamp(now - _OFTEN)),
    )


def leave(event: Event, context: Context) -> None:
    """Note that a session has ended, and claims nothing any more.

    Args:
        event: a `SessionEnd`.
        context: its context.
    """
    ended(context.project, event.session_id)


def rest(project: OpenProject, session: str) -> None:
    """Note that a session's turn is over; its next event of its own ends the rest (`note_event`)."""
    project.ledger.run(
        "UPDATE sessions SET resting = 1, last_seen = ? WHERE project = ? AND id = ?",
        *(clock.stamp(), project.key, session),
    )


def is_idle(project: OpenProject, session: str) -> bool:
    """Return whether a session's last event was the end of a turn."""
    row = _row(project, session)
    return bool(row and row["resting"])


def ended(project: OpenProject, session: str) -> None:
    """Note that a session has ended."""
    project.ledger.run(
        "UPDATE sessions SET ended_at = ? WHERE project = ? AND id = ?", clock.stamp(), project.key, session
    )


def crashed(event: Event, context: Context) -> bool:
    """Return whether a session broke off: no SessionEnd came, and the process it ran in on this host is gone.

    Args:
        event: the `SessionStart` that resumes it; ask before `join` notes the new process.
        context: its context.
    """
    return has_crashed(context.project, event.session_id)


def has_crashed(project: OpenProject, session: str) -> bool:
    """Return whether a session broke off (`crashed`). One whose process was never noted may still run."""
    row = _row(project, session)
    return row is not None and not row["ended_at"] and is_gone(project, row)


def process_gone(project: OpenProject, session: str) -> bool:
    """Return whether the process a session was last seen in, on this host, is gone; see `crashed` for when to ask."""
    row = _row(project, session)
    return row is not None and is_gone(project, row)


def live_others(project: OpenProject, session: str) -> set[str]:
    """Return the other sessions of this worktree that are live.

    Live is a session with no SessionEnd and an event within 60 minutes, or a transcript that was written within them:
    in a turn that takes hours most tools start no process of ours. Where its process was noted on this host and can be
    seen from here (`is_gone`), that process must still run, and not run the asking session now: a client has one
    session at a time, and the id it had before `/clear` or a fork is over, whether it said so or not.
    """
    rows = project.ledger.rows(
        "SELECT * FROM sessions WHERE project = ? AND worktree = ? AND id <> ? AND ended_at IS NULL AND last_seen >= ?"
        " ORDER BY last_seen DESC LIMIT ?",
        *(project.key, project.worktree, session, clock.stamp(clock.now() - _LONGEST_TURN), _LOOKED_AT),
    )
    if not rows:  # nearly always: most work alone
        return set()
    own = _row(project, session)
    same = own["process"] if own and _is_visible(project, own) else None
    going = [row for row in rows if not is_gone(project, row) and not is_in(project, row, same)]
    return {row["id"] for row in going if not silent(row)}


def attended(project: OpenProject, among: Collection[str]) -> set[str]:
    """Return those of some sessions at which a person sits, as far as Holdfast knows (`Client.attended`)."""
    sql = "SELECT id, attended FROM sessions WHERE project = ? AND id IN (*)"
    rows = project.ledger.by_value("id", among, sql, project.key)
    return {each for each in among if each not in rows or rows[each]["attended"] != 0}


def silent(row: Mapping[str, Any]) -> bool:
    """Return whether nothing was heard of a session within 60 minutes (`last_seen`, `transcript`)."""
    since = clock.now() - SILENCE
    if str(row["last_seen"]) >= clock.stamp(since):
        return False
    try:
        written = clock.from_mtime(Path(row["transcript"]).stat().st_mtime) if row["transcript"] else since
    except (OSError, ValueError):
        return True
    return not since < written < clock.now() + SILENCE  # a time to come says nothing: a clock has jumped


def transcript(project: OpenProject, session: str) -> str:
    """Return where a session's transcript lies, as its last event that said so did; empty if none did."""
    row = _row(project, session)
    return row["transcript"] if row else ""


def superseded(project: OpenProject, session: str, by: str) -> bool:
    """Return whether a session can have become another one: it doesn't certainly run elsewhere, nor went on beside it.

    A session whose process runs, and does not run the other one, goes on. Where no process was noted, or it can't be
    seen from here, a session that had an event after the other was first seen goes on.
    """
    row, other = _row(project, session), _row(project, by)
    if row is None or other is None or row["ended_at"]:
        return True
    if row["process"] is not None and _is_visible(project, row):
        return is_gone(project, row) or is_in(project, row, other["process"])
    return bool(row["last_seen"] <= other["first_seen"])


def ended_ids(project: OpenProject) -> set[str]:
    """Return the sessions that can do nothing any more: they ended, or their process on this host did."""
    rows = project.ledger.rows("SELECT * FROM sessions WHERE project = ?", project.key)
    return {row["id"] for row in rows if row["ended_at"] or is_gone(project, row)}


def over_since(project: OpenProject, session: str, since: str, most: int) -> list[str]:
    """Return the latest other sessions of this worktree that ended, or whose process did, since a UTC stamp."""
    rows = [
        row
        for condition, order in (("ended_at IS NULL AND last_seen >= ?", "last_seen"), ("ended_at >= ?", "ended_at"))
        for row in project.ledger.rows(
            f"SELECT * FROM sessions WHERE project = ? AND worktree = ? AND {condition} ORDER BY {order} DESC LIMIT ?",
            *(project.key, project.worktree, since, most),
        )
    ]
    return [row["id"] for row in rows if row["id"] != session and (row["ended_at"] or is_gone(project, row))]


def all_of(project: OpenProject) -> list[dict[str, object]]:
    """Return every session seen, the latest event first: id, worktree, transcript, first_seen, last_seen, ended_at."""
    return project.ledger.rows(
        "SELECT id, worktree, transcript, first_seen, last_seen, ended_at FROM sessions WHERE project = ?"
        " ORDER BY last_seen DESC, id",
        project.key,
    )


def resolve(project: OpenProject, beginning: str) -> str:
    """Return the one session whose id is, or begins with, a text.

    Raises:
        HoldfastError: several begin so, or none is known.
    """
    found = _beginning(project, beginning)
    if found[:1] == [beginning] or len(found) == 1:
        return found[0]
    if not found:
        raise HoldfastError(f"no session of this project begins with {beginning!r}; `holdfast log` shows the sessions")
    more = " and more" if len(found) > _NAMED else ""
    raise HoldfastError(
        f"several sessions begin with {beginning!r}; name one with more characters: {', '.join(found[:_NAMED])}{more}"
    )


def completed(project: OpenProject, beginning: str) -> str:
    """Return what `resolve` does, but a text that no known session begins with as it is: it may be a new session's id.

    Raises:
        HoldfastError: several sessions begin so.
    """
    return resolve(project, beginning) if _beginning(project, beginning) else beginning


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return when sessions began, ended or went silent, those asked for; each as its last events have it."""
    if asked.workflow:
        return []
    found = [
        TimelineEvent(row[at], "session", what, session=row["id"], worktree=row["worktree"])
        for at, what in (("first_seen", "session began"), ("ended_at", "session ended"))
        for row in timeline_event.newest(project, asked, table="sessions", at=at, session="id", workflow="")
    ]
    since = clock.stamp(clock.now() - SILENCE)
    for condition, why in ((f"last_seen < '{since}'", ""), (f"last_seen >= '{since}'", "its process is gone")):
        rows = timeline_event.newest(
            *(project, asked),
            table="sessions",
            at="last_seen",
            where=f"ended_at IS NULL AND {condition}",
            session="id",
            workflow="",
        )
        about = [row for row in rows if (is_gone(project, row) if why else silent(row) or is_gone(project, row))]
        found += [
            TimelineEvent(
                row["last_seen"], "session", "session went silent", row["id"], detail=why, worktree=row["worktree"]
            )
            for row in about
        ]
    return found


def _row(project: OpenProject, session: str) -> dict[str, Any] | None:
    return project.ledger.one("SELECT * FROM sessions WHERE project = ? AND id = ?", project.key, session)


def _beginning(project: OpenProject, text: str) -> list[str]:
    """Return the first sessions whose ids begin with a text, one more than an error names."""
    rows = project.ledger.rows(
        "SELECT id FROM sessions WHERE project = ?1 AND id >= ?2 AND id < ?3 UNION SELECT conversation FROM events"
        " WHERE conversation >= ?2 AND conversation < ?3 ORDER BY id LIMIT ?4",
        *(project.key, text, f"{text}\U0010ffff", _NAMED + 1),
    )
    return [str(row["id"]) for row in rows]


def _stays(project: OpenProject, session: str) -> bool:
    """Return whether a session goes on in the process that is noted, whichever one names it now.

    That process runs, and no later session is in it. A fork of 2.1.197 first sends an event under the id it comes from,
    while that session may go on elsewhere.
    """
    row = project.ledger.one(
        "SELECT * FROM sessions WHERE project = ? AND id = ? AND host = ? AND ended_at IS NULL AND process IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM sessions AS later WHERE later.project = sessions.project"
        " AND later.process = sessions.process AND later.process_start IS sessions.process_start"
        " AND later.namespace IS sessions.namespace"
        " AND later.first_seen >= sessions.last_seen AND later.id <> sessions.id)",
        *(project.key, session, project.host),
    )
    return row is not None and _is_visible(project, row) and not is_gone(project, row)


def _number(process: str | None) -> int | None:
    """Read a process number; None for what cannot be one."""
    return int(process) if process and process.isascii() and process.isdigit() and len(process) < 10 else None


def client_process(context: Context) -> int | None:
    """Return the number of the client's process that sent an event; None if unknown."""
    return _number(context.project.client.process(context.environ))


def last_in(project: OpenProject, process: int | None, besides: str) -> str:
    """Return the last session that was seen in a client process of this host, besides one; empty if none was."""
    rows = project.ledger.rows(
        "SELECT * FROM sessions WHERE project = ? AND process = ? AND id <> ? ORDER BY last_seen DESC",
        *(project.key, process, besides),
    )
    return next((str(row["id"]) for row in rows if is_in(project, row, process)), "")


def is_gone(project: OpenProject, row: Mapping[str, Any]) -> bool:
    """Return whether the client process that a session, or a call of it, was noted in runs no more.

    False if it was never noted, or can't be seen from here: it runs on another host or in another container.

    Args:
        project: the project.
        row: a row with `host` and `process`, of table `sessions` or of one with a `session`.
    """
    row = _placed(project, row)
    return (
        row["process"] is not None
        and _is_visible(project, row)
        and not liveness.runs(row["process"], row["process_start"])
    )


def is_in(project: OpenProject, row: Mapping[str, Any], process: int | None) -> bool:
    """Return whether a session, or a call of it, was noted in a client process that runs on this host (`is_gone`)."""
    if process is None or row["process"] != process:
        return False
    row = _placed(project, row)
    return _is_visible(project, row) and row["process_start"] in (None, liveness.started_at(process))


def _is_visible(project: OpenProject, row: Mapping[str, Any]) -> bool:
    """Return whether the number of a session's process means something here: same host, same container."""
    return row["host"] == project.host and row["namespace"] in (None, liveness.namespace())


def _placed(project: OpenProject, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a call's row with the start and the namespace of its process, which its session's row has."""
    if "namespace" in row:
        return row
    found = _row(project, row["session"]) or {"process": None, "process_start": None, "namespace": None}
    start = found["process_start"] if found["process"] == row["process"] else None
    return {**row, "process_start": start, "namespace": found["namespace"]}
