"""Conversations: the session ids that each has had, whether it is live, and a person's last request.

A session id is an alias. The client changes it at a compaction, a resume or `/clear`, but rows of the ledger hang on
the conversation, whose id is the session id that it began with.
"""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.memory import log
from holdfast.memory.rows import TABLES, Conversation, HandlerState, Read, SessionId, Task, Told
from holdfast.memory.store import key, new_id
from holdfast.process import liveness

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from holdfast.memory.store import Table
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event

TOUCH_INTERVAL = timedelta(minutes=5)  # after which another event of a conversation is written down
MAX_TURN = timedelta(days=7)  # a conversation that had no event for longer isn't looked for any more
MAX_CANDIDATES = 200  # conversations that may be live, the newest
LIVE_WINDOW = timedelta(minutes=60)  # a conversation without an event for this long is not live (survival: "Live")
_FORK_CANDIDATES = 20  # conversations that a fork may have begun as, the newest
_NAMED = 5  # sessions that an error names
# The columns that hold a conversation's id, in any table but those of the conversations themselves.
_COLUMNS = ("conversation", "owner", "previous_owner", "restored_in")


class Request(NamedTuple):
    """What a conversation works on. The same launch under the same prompt, in a later epoch, is the same work.

    Within one epoch the model knows what it launched, so identical launches are meant.

    Attributes:
        prompt: the conversation and the id of the prompt that a person gave last; no prompt that the client made.
        epoch: the conversation and how often it has restarted.
    """

    prompt: str
    epoch: str


def of(project: OpenProject, session: str) -> str:
    """Return the id of the conversation that goes on under a session id. Raises LedgerError."""
    return project.ledger.conversation(session)


def session_id(project: OpenProject, conversation: str) -> str:
    """Return the session id that a conversation has now."""
    return get(project, conversation).session


def session_ids(project: OpenProject, conversations: Iterable[str]) -> dict[str, str]:
    """Return the session id that each conversation has now; of one that was never seen, its own."""
    wanted = set(conversations)
    known = _table(project).by("id", wanted)
    return {each: known[each].session if each in known else each for each in wanted}


def all_ids(project: OpenProject, conversation: str) -> set[str]:
    """Return the session ids that a conversation has had."""
    aliases = project.ledger.table(SessionId).where(conversation=conversation)
    return {conversation, session_id(project, conversation), *(each.id for each in aliases)}


def note_event(
    project: OpenProject,
    session: str,
    process: str | None = None,
    transcript: str = "",
    attended: bool | None = None,
) -> bool:
    """Record that a conversation has just had an event, and return whether it was known before.

    One that had ended lives again. Without a number of the client's `process`, it goes on in the process that is noted
    already. The path of the transcript is empty, and `attended` is None, where the event doesn't say.
    """
    now, number = clock.stamp(), _identity(process)
    with project.ledger.transaction():
        conversation = of(project, session)
        row = get(project, conversation)
        values: dict[str, object] = {"first_seen": row.first_seen or now, "last_seen": now}
        if number and not _stays(project, row):
            values["process"] = number
        if attended is not None:
            values["attended"] = attended
        if transcript and row.session == session:
            values["transcript"] = transcript
        here = replace(row, worktree=project.worktree, idle=False, ended_at=None)
        _table(project).put(replace(here, **values))  # type: ignore[arg-type]
        if not row.first_seen:
            log.note(project, "session", "session began", conversation=conversation)
    return bool(row.first_seen)


def join(event: Event, context: Context) -> bool:
    """Record that a conversation lives, with the client's process; one that had ended lives again.

    `event` is an event of the main conversation.

    Returns:
        Whether Holdfast knew the conversation before.
    """
    project, client = context.project, context.project.client
    process, attended = client.process(context.environ), client.attended(context.environ)
    before = note_event(project, event.session_id, process, event.transcript_path, attended)
    source = getattr(event, "source", "")
    if source == "fork" or (source == "resume" and not before):  # clients before 2.1.214 call a fork a resume
        change(project, of(project, event.session_id), forked_from=None)
    _find_original(project, event.session_id)
    return before


def touch(event: Event, context: Context) -> None:
    """Record that a conversation lives, whatever its event was: one long turn has no prompt that would tell (`join`).

    `event` is any one; a subagent's counts too, for its session runs. It is written down every `TOUCH_INTERVAL`.
    """
    project, now = context.project, clock.now()
    _table(project).update(
        {"last_seen": clock.stamp(now)},
        "ended_at IS NULL AND last_seen > '' AND last_seen < ?",
        clock.stamp(now - TOUCH_INTERVAL),
        id=of(project, event.session_id),
    )


def leave(event: Event, context: Context) -> None:
    """Record that a conversation has ended, and claims nothing any more.

    `event` is a `SessionEnd`. That of an earlier id says nothing.
    """
    conversation = of(context.project, event.session_id)
    if session_id(context.project, conversation) == event.session_id:
        end(context.project, conversation)


def end(project: OpenProject, conversation: str) -> None:
    """Record that a conversation has ended."""
    with project.ledger.transaction():
        if _table(project).update({"ended_at": clock.stamp()}, "ended_at IS NULL", id=conversation):
            log.note(project, "session", "session ended", conversation=conversation)


def record_stop(project: OpenProject, conversation: str) -> None:
    """Record that a turn is over; the next event of the main conversation ends the rest (`join`)."""
    _table(project).update({"idle": True, "last_seen": clock.stamp()}, "first_seen > ''", id=conversation)


def record_prompt(event: Event, context: Context) -> None:
    """Record that a person gave a prompt (a `UserPromptSubmit`), under which agents are launched from now on."""
    project, prompt = context.project, str(getattr(event, "prompt_id", None) or clock.stamp())
    change(project, of(project, event.session_id), prompt=prompt)


def current_request(project: OpenProject, conversation: str) -> Request:
    """Return the request that a conversation works on now."""
    row = get(project, conversation)
    return Request(f"{conversation}/{row.prompt}", f"{conversation}/{row.epoch}")


def start_epoch(event: Event, context: Context) -> bool:
    """Record that a conversation restarts, so the model no longer knows its launches.

    After `/clear`, the new id carries on the conversation of the same client process. A conversation that is resumed
    under an earlier id goes on if that happens in its own process; else that id has one of its own from now on.

    `event` is a `SessionStart` after a compaction or `/clear`, or of a session that is resumed.

    Returns:
        Whether this is a conversation that `/clear` carried on under another id.
    """
    project, session, process = context.project, event.session_id, client_process(context)
    conversation = of(project, session)
    row = get(project, conversation)
    before = last_in(project, process, conversation) if getattr(event, "source", "") == "clear" else ""
    if before:
        adopt(project, before, session, cleared=True)
    elif row.session != session and process and row.process == process:
        change(project, conversation, session=session)
    elif row.session != session:
        project.ledger.table(SessionId).put(SessionId(session, new_id(), clock.stamp()))
    with project.ledger.transaction():
        conversation = of(project, session)
        change(project, conversation, epoch=get(project, conversation).epoch + 1)
    return bool(before)


def adopt(project: OpenProject, conversation: str, session: str, *, cleared: bool = False) -> None:
    """Let a conversation go on under another session id.

    What the new id has by now, such as its first event, becomes the conversation's; where both have something, the
    later counts. If `/clear` changed the id (`cleared`), the model knows nothing of before, but agents go on.
    """
    ledger, table, aliases = project.ledger, _table(project), project.ledger.table(SessionId)
    with ledger.transaction():
        other = of(project, session)
        if other == conversation:
            return
        if cleared:
            for rows in (Read, Task, Told, HandlerState):
                ledger.table(rows).drop(conversation=conversation)
        else:  # the transcript is another one, which has none of the earlier Reads
            lose_reading(project, conversation)
        _merge(project, other, conversation)
        earlier = get(project, conversation)
        table.put(_joined(earlier, get(project, other), cleared=cleared))
        table.drop(id=other)
        table.update({"forked_from": conversation}, forked_from=other)
        aliases.update({"conversation": conversation}, conversation=other)
        for each in {session, other}:
            aliases.put(SessionId(each, conversation, clock.stamp()))
        data = {"before": earlier.session}
        log.note(project, "session", "session id changed", conversation=conversation, data=data)


def lose_reading(project: OpenProject, conversation: str) -> None:
    """Record that the model has lost what it had read, of which it may be reminded again."""
    lost = {"in_context": False, "refused": False, "parts": ""}
    project.ledger.table(Read).update(lost, conversation=conversation)
    change(project, conversation, reminded=False)


def _joined(earlier: Conversation, later: Conversation, *, cleared: bool) -> Conversation:
    """Return a conversation that goes on as another one: what the later one knows counts."""
    names = ("process", "attended", "transcript", "last_seen", "prompt")
    known = {name: value for name in names if (value := getattr(later, name)) not in (None, "")}
    gone = {"prompt": "", "transcript": ""} if cleared else {}
    context = (
        *("session", "worktree", "idle", "ended_at"),
        *("size", "boundary", "reminded"),
    )
    return replace(
        earlier,
        epoch=earlier.epoch + later.epoch,
        first_seen=earlier.first_seen or later.first_seen,
        **{name: getattr(later, name) for name in context},
        **(gone | known),
    )


def _merge(project: OpenProject, other: str, conversation: str) -> None:
    """Give the rows of another conversation to one, in every table; where both have a row, the other's values count."""
    for kind in (each for each in TABLES if each not in (Conversation, SessionId)):
        table = project.ledger.table(kind)
        for column in {*_COLUMNS} & {each.name for each in fields(kind)}:
            old: dict[str, Any] = {column: other}
            for row in table.where(**old) if column in kind.KEY else ():
                moved = replace(row, **{column: conversation})
                known = {name: value for name, value in vars(row).items() if value not in (None, "")}
                table.drop(**key(row))
                if present := table.one(**key(moved)):
                    known |= {name: getattr(present, name) + getattr(row, name) for name in kind.COUNTERS}
                table.put(replace(present or moved, **known | key(moved)))
            table.update({column: conversation}, **old)


def crashed(event: Event, context: Context) -> bool:
    """Return whether a conversation broke off: no SessionEnd came, and the process it ran in on this host is gone.

    `event` is the `SessionStart` that resumes it; ask before `join` notes the new process.
    """
    return has_crashed(context.project, of(context.project, event.session_id))


def has_crashed(project: OpenProject, conversation: str) -> bool:
    """Return whether a conversation broke off (`crashed`). One whose process was never noted may still run."""
    row = get(project, conversation)
    return not row.ended_at and liveness.is_gone(row.process)


def process_gone(project: OpenProject, conversation: str) -> bool:
    """Return whether the process a conversation was last seen in is gone (`crashed`: when to ask)."""
    return liveness.is_gone(get(project, conversation).process)


def live_others(project: OpenProject, conversation: str) -> set[str]:
    """Return the other conversations of this worktree that are live.

    Live is one with no SessionEnd and an event within `LIVE_WINDOW`, or a transcript that was written within it: in a
    turn that takes hours most tools start no process of ours. Where its process was noted on this host and can be seen
    from here, that process must still run, and not run the asking conversation now: a client has one session at a time,
    and the one it had before a fork is over, whether it said so or not.
    """
    since = clock.stamp(clock.now() - MAX_TURN)
    rows = _table(project).where(
        "id <> ? AND ended_at IS NULL AND last_seen >= ? AND first_seen > ''",
        *(conversation, since),
        worktree=project.worktree,
        order="last_seen DESC",
        limit=MAX_CANDIDATES,
    )
    if not rows:  # nearly always: most work alone
        return set()
    own = get(project, conversation).process
    running = [row for row in rows if not liveness.is_gone(row.process) and not (own and row.process == own)]
    return {row.id for row in running if not is_silent(row)}


def attended(project: OpenProject, among: Collection[str]) -> set[str]:
    """Return those of some conversations at which a person sits, as far as Holdfast knows."""
    known = _table(project).by("id", among)
    return {each for each in among if each not in known or known[each].attended is not False}


def is_silent(row: Conversation) -> bool:
    """Return whether nothing was heard of a conversation within `LIVE_WINDOW`: no event, no new entry."""
    since = clock.now() - LIVE_WINDOW
    if row.last_seen >= clock.stamp(since):
        return False
    try:
        written = clock.from_mtime(Path(row.transcript).stat().st_mtime) if row.transcript else since
    except (OSError, ValueError):
        return True
    return not since < written < clock.now() + LIVE_WINDOW  # a time to come says nothing: a clock has jumped


def superseded(project: OpenProject, conversation: str, by: str) -> bool:
    """Return whether one can have become another one: it doesn't certainly run elsewhere, and didn't run on next to it.

    A conversation whose process runs, and does not run the other one, goes on. Where no process was noted, or it can't
    be seen from here, one that had an event after the other was first seen goes on.
    """
    row, other = get(project, conversation), get(project, by)
    if row.ended_at or not other.last_seen:
        return True
    running = liveness.is_running(row.process)
    if running is not None:
        return not running or row.process == other.process
    return row.last_seen <= other.first_seen


def ended_ids(project: OpenProject) -> set[str]:
    """Return the conversations that can do nothing any more: they ended, or their process on this host did."""
    return {row.id for row in every(project) if row.ended_at or liveness.is_gone(row.process)}


def over_since(project: OpenProject, conversation: str, since: str, most: int) -> list[str]:
    """Return the latest other conversations of this worktree that ended, or whose process did, since a UTC stamp."""
    rows = [
        row
        for condition, order in (("ended_at IS NULL AND last_seen >= ?", "last_seen"), ("ended_at >= ?", "ended_at"))
        for row in _table(project).where(condition, since, worktree=project.worktree, order=f"{order} DESC", limit=most)
    ]
    return [row.id for row in rows if row.id != conversation and (row.ended_at or liveness.is_gone(row.process))]


def every(project: OpenProject) -> list[Conversation]:
    """Return every conversation seen, the one with the latest event first."""
    return _table(project).where("first_seen > ''", order="last_seen DESC, id")


def get(project: OpenProject, conversation: str) -> Conversation:
    """Return a conversation's row; for an unknown one, a row that isn't stored."""
    if row := _table(project).one(id=conversation):
        return row
    alias = project.ledger.table(SessionId).one(conversation=conversation)
    return Conversation(conversation, alias.id if alias else conversation, project.worktree)


def change(project: OpenProject, conversation: str, **values: object) -> None:
    """Set columns of a conversation, which becomes known with this if it wasn't."""
    _table(project).amend(get(project, conversation), **values)


def resolve(project: OpenProject, beginning: str) -> str:
    """Return the one conversation of which a session id is, or begins with, a text.

    Raises:
        HoldfastError: several begin so, or none is known.
    """
    found = _beginning(project, beginning)
    if beginning in found or len({*found.values()}) == 1:
        return found.get(beginning) or next(iter(found.values()))
    if not found:
        raise HoldfastError(f"no session of this project begins with {beginning!r}; `holdfast log` shows the sessions")
    more = " and more" if len(found) > _NAMED else ""
    raise HoldfastError(
        f"several sessions begin with {beginning!r}; name one with more characters: "
        f"{', '.join([*found][:_NAMED])}{more}"
    )


def completed(project: OpenProject, beginning: str) -> str:
    """Return what `resolve` does, but a text that no known session begins with as it is: it may be a new session's id.

    Raises:
        HoldfastError: several sessions begin so.
    """
    return resolve(project, beginning) if _beginning(project, beginning) else beginning


def client_process(context: Context) -> str:
    """Return the client's process that sent an event (`liveness.identity`); empty if unknown."""
    return _identity(context.project.client.process(context.environ))


def last_in(project: OpenProject, process: str, besides: str) -> str:
    """Return the last conversation that was seen in a client process, besides one; empty if none was."""
    row = _table(project).one("id <> ?", besides, process=process, order="last_seen DESC") if process else None
    return row.id if row else ""


def _table(project: OpenProject) -> Table[Conversation]:
    return project.ledger.table(Conversation)


def _find_original(project: OpenProject, session: str) -> None:
    """Note which conversation a fork began as, once its transcript shows that."""
    row = get(project, of(project, session))
    if row.forked_from is not None or not project.transcripts.size(row.transcript):
        return
    others = _table(project).where(
        "id <> ? AND transcript <> ''",
        row.id,
        worktree=row.worktree,
        order="last_seen DESC",
        limit=_FORK_CANDIDATES,
    )
    found = (each.id for each in others if project.transcripts.shares(row.transcript, each.transcript))
    change(project, row.id, forked_from=next(found, ""))


def _beginning(project: OpenProject, text: str) -> dict[str, str]:
    """Return the conversations of the first session ids that begin with a text, one more than an error names."""
    places = ("id", "conversations"), ("id", "session_ids"), ("conversation", "events")
    rows = project.ledger.rows(
        " UNION ".join(f"SELECT {name} AS id FROM {table} WHERE {name} >= ?1 AND {name} < ?2" for name, table in places)
        + " ORDER BY id LIMIT ?3",
        *(text, f"{text}\U0010ffff", _NAMED + 1),
    )
    return {str(row["id"]): of(project, row["id"]) for row in rows}


def _stays(project: OpenProject, row: Conversation) -> bool:
    """Return whether a conversation goes on in the process that is noted, whichever one names it now.

    That process runs, and no later conversation is in it. A fork of 2.1.197 first sends an event under the id it comes
    from, while that session may go on elsewhere.
    """
    if row.ended_at or not liveness.is_running(row.process):
        return False
    return _table(project).one("first_seen >= ? AND id <> ?", row.last_seen, row.id, process=row.process) is None


def _identity(process: str | None) -> str:
    """Return the identity of the process with a number; empty for what cannot be one."""
    is_number = process and process.isascii() and process.isdigit() and len(process) < 10
    return liveness.identity(int(process)) if process and is_number else ""
