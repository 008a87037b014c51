"""Owners: which session owns each workflow."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import LedgerError
from holdfast.files.redact import redact
from holdfast.memory.store import new_id
from holdfast.sessions import contents
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.sessions.ownership import sessions
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked
    from holdfast.workflow.model import Workflow

KEPT = 1_000  # changes of ownership per project; the oldest go
NAMED = 16  # workflows of each kind that `lately` names
OWNED = 64  # workflows of a session that its events look for
_HERE = "project = ?1 AND worktree = ?2"
_OWN = "owners WHERE project = ? AND worktree = ? AND session = ? ORDER BY since DESC"


def own(project: OpenProject, workflow: Workflow, session: str) -> None:
    """Make a session the owner of a workflow, whoever owned it. For its present owner, only the branch is updated."""
    before = owner(project, workflow)
    project.ledger.run(
        "INSERT INTO owners (project, worktree, workflow, session, branch, host, client, since)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, worktree, workflow) DO UPDATE SET"
        " session = excluded.session, branch = excluded.branch, host = excluded.host, client = excluded.client,"
        " since = CASE WHEN owners.session = excluded.session THEN owners.since ELSE excluded.since END",
        *(project.key, project.worktree, workflow.key, session, project.branch or ""),
        *(project.host, project.client.NAME, clock.stamp()),
    )
    if before != session:
        _note(project, workflow, session, before or "")


def begin(project: OpenProject, workflow: Workflow, session: str | None) -> None:
    """Give a new workflow to the session whose shell started it, and to nobody if a person did in a terminal (None).

    Attended sessions are then told of it as they start or at their next prompt.
    """
    if session:
        own(project, workflow, session)
    else:
        release(project, workflow, by_hand=True)


def owner(project: OpenProject, workflow: Workflow) -> str | None:
    """Return the session that owns a workflow; None for none."""
    return holders(project, (workflow,))[workflow.key]


def holders(project: OpenProject, workflows: Iterable[Workflow]) -> dict[str, str | None]:
    """Return the session that owns each workflow, None for none, by the workflow's key."""
    keys = [each.key for each in workflows]
    if not keys:
        return {}  # without opening the ledger
    sql = f"SELECT workflow, session FROM owners WHERE {_HERE} AND workflow IN (*)"
    rows = project.ledger.by_value("workflow", keys, sql, project.key, project.worktree)
    return {key: str(rows[key]["session"]) if key in rows else None for key in keys}


def sessions_that_own(project: OpenProject) -> set[str]:
    """Return the sessions that own a workflow, those included that the ledger knows nothing else of."""
    rows = project.ledger.rows("SELECT DISTINCT session FROM owners WHERE project = ?", project.key)
    return {str(row["session"]) for row in rows}


def keys(project: OpenProject, session: str) -> list[str]:
    """Return the keys of all workflows that a session owns."""
    return _keys(project, _OWN, session, -1)


def owned(project: OpenProject, session: str) -> list[str]:
    """Return the keys of the workflows that a session owns, up to the `OWNED` that it got last.

    The ledger never forgets an owner, so a session that a project resumes for a year may own a thousand.
    """
    return _keys(project, _OWN, session, OWNED)


def keys_without_file(project: OpenProject, session: str) -> list[str]:
    """Return the keys of workflows that a session owns and whose file doesn't exist, completed ones included."""
    found = _keys(project, _OWN, session)
    return [each for each in found if not (project.root / each.partition(":")[2].rpartition("#")[0]).exists()]


def lately(project: OpenProject, session: str) -> list[str]:
    """Return the keys of the workflows that a session owns, then of those that got an owner or were released lately.

    Lately means within `freshness_days`. There are up to `NAMED` of each kind, the latest first, and none at all if the
    ledger can't be read.
    """
    since = clock.stamp(clock.now() - timedelta(days=project.config.freshness_days))
    asked = (
        (_OWN, session),
        ("owners WHERE project = ? AND worktree = ? AND since >= ? ORDER BY since DESC", since),
        ("ownings WHERE project = ? AND worktree = ? AND session = '' AND at >= ? ORDER BY at DESC", since),
    )
    keys = dict[str, None]()
    with suppress(LedgerError):
        for which, value in asked:
            keys.update(dict.fromkeys(_keys(project, which, value)))
    return list(keys)


def branch(project: OpenProject, workflow: Workflow) -> str:
    """Return the branch that was checked out when a session last worked on a workflow; empty if unknown."""
    row = project.ledger.one(
        "SELECT branch FROM owners WHERE project = ? AND worktree = ? AND workflow = ?",
        *(project.key, project.worktree, workflow.key),
    )
    return str(row["branch"] or "") if row else ""


def take(project: OpenProject, workflow: Workflow, session: str) -> None:
    """Make a session that works on a workflow its owner, unless another live one owns it or goes first (`takers`)."""
    live = sessions.live_others(project, session)
    holder = owner(project, workflow)
    if holder == session or (holder not in live and session in takers(project, session, live)):
        own(project, workflow, session)


def follow(project: OpenProject, before: str, session: str) -> None:
    """Note that a session owns from now on what an earlier id owned, as its rows are moved."""
    project.ledger.run(
        "INSERT INTO ownings (id, project, worktree, host, client, workflow, title, session, before, at)"
        " SELECT lower(hex(randomblob(16))), project, worktree, host, client, workflow, COALESCE((SELECT title FROM"
        " ownings WHERE project = owners.project AND worktree = owners.worktree AND workflow = owners.workflow"
        " ORDER BY at DESC LIMIT 1), ''), ?, session, ? FROM owners WHERE project = ? AND session = ?",
        *(session, clock.stamp(), project.key, before),
    )


def release(project: OpenProject, workflow: Workflow, *, by_hand: bool = False) -> None:
    """Remove a workflow's owner: attended sessions are told of it, and the one that acts on it owns it.

    `by_hand` means that somebody asked for this, which makes it fresh (`fresh`).
    """
    before = owner(project, workflow)
    project.ledger.run(
        "DELETE FROM owners WHERE project = ? AND worktree = ? AND workflow = ?",
        *(project.key, project.worktree, workflow.key),
    )
    if before or by_hand:
        _note(project, workflow, "", before or "")


def changes_since(project: OpenProject, session: str, topic: str) -> dict[str, bool]:
    """Return the workflows that lately lost their owner, or were this session's, and of which no newer hint tells.

    Args:
        project: the project.
        session: the session to tell.
        topic: the topic of the hint that it was told.

    Returns:
        Whether the workflow was this session's, by the workflow's key. Lately means within `freshness_days`.
    """
    rows = project.ledger.rows(
        f"SELECT workflow, MAX(before = ?3) AS own FROM ownings WHERE {_HERE} AND (session = '' OR before = ?3)"
        " AND at >= ?5 AND NOT EXISTS (SELECT 1 FROM hints WHERE project = ?1 AND session = ?3 AND topic = ?4"
        " AND hints.workflow = ownings.workflow AND noted_at >= ownings.at) GROUP BY workflow",
        *(project.key, project.worktree, session, topic),
        clock.stamp(clock.now() - timedelta(days=project.config.freshness_days)),
    )
    return {str(row["workflow"]): bool(row["own"]) for row in rows}


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: changes of ownership; for a session, those of what it got or lost."""
    found = [
        row
        for column in (("session", "before") if asked.session else ("session",))
        for row in timeline_event.newest(project, asked, table="ownings", at="at", session=column)
    ]
    return [
        TimelineEvent(
            *(row["at"], "owner", _change(row), row["session"]),
            *(row["workflow"], row["title"]),
            detail=f"before: session {row['before'][:8]}" if row["before"] else "",
            worktree=row["worktree"],
            data={"previous_owner": row["before"] or None},
        )
        for row in found
    ]


def _keys(project: OpenProject, which: str, value: str, most: int = NAMED) -> list[str]:
    """Return the keys of up to `most` workflows that a condition selects; a negative number means all."""
    sql = f"SELECT workflow FROM {which} LIMIT ?"
    return [str(row["workflow"]) for row in project.ledger.rows(sql, project.key, project.worktree, value, most)]


def _change(row: Mapping[str, Any]) -> str:
    if row["session"]:
        return "ownership changed"
    return "released" if row["before"] else "no owner yet"


def _note(project: OpenProject, workflow: Workflow, session: str, before: str) -> None:
    project.ledger.run(
        "INSERT INTO ownings (id, project, worktree, host, client, workflow, title, session, before, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(new_id(), project.key, project.worktree, project.host, project.client.NAME),
        *(workflow.key, redact(clean(workflow.title)), session, before, clock.stamp()),
    )
    project.ledger.prune(project.key, "ownings", "at", KEPT)


def takers(project: OpenProject, session: str, live: Collection[str]) -> set[str]:
    """Return who of a session and the other live ones may get a workflow that none of them owns.

    Those are the attended ones. Only if no session is attended do unattended ones (`claude -p`, the SDK) count.
    """
    everyone = {session, *live}
    return (sessions.attended(project, everyone) if live else everyone) or everyone


def of_session(project: OpenProject, session: str, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return the workflows a session may save and move: its own and, if only it may take any, all fresh free ones."""
    every = list(workflows)
    holder = holders(project, every)
    live = sessions.live_others(project, session)
    others = [each for each in every if holder[each.key] not in (session, *live)]
    free = {each.key for each in fresh_ones(project, others)} if takers(project, session, live) == {session} else ()
    return [each for each in every if holder[each.key] == session or each.key in free]


def fresh(project: OpenProject, workflow: Workflow) -> bool:
    """Return whether a workflow changed recently enough to be restored without being asked for (`fresh_ones`)."""
    return bool(fresh_ones(project, (workflow,)))


def fresh_ones(project: OpenProject, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return the workflows that changed recently enough to be restored without being asked for.

    The age counts from a workflow's last change (`changed_at`) or, if later, from when it was last released for the
    next session. `freshness_days` is the limit.
    """
    every = list(workflows)
    if not every:
        return []  # without opening the ledger
    times = map(max, _changed_at(project, every), _released_at(project, every))
    now, longest = clock.now(), timedelta(days=project.config.freshness_days)
    moments = zip(every, map(clock.parse, times), strict=True)
    return [each for each, moment in moments if moment is None or now - moment <= longest]


def changed_at(project: OpenProject, workflow: Workflow) -> str:
    """Return when a workflow was last changed (UTC stamp).

    This is when the ledger first saw its present content or, if it never did, what the file tells (`model.changed`,
    I001-10). For an untouched copy of a plan, it is the plan's own time.
    """
    return _changed_at(project, (workflow,))[0]


def _changed_at(project: OpenProject, workflows: Collection[Workflow]) -> list[str]:
    """Return when each workflow was last changed (`changed_at`)."""
    seen = contents.seen_at(project, {each.path: each.raw for each in workflows if not each.plan_at})
    return [each.plan_at or seen.get(each.path) or each.updated_at for each in workflows]


def _released_at(project: OpenProject, workflows: Iterable[Workflow]) -> list[str]:
    """Return when each workflow was last released (UTC stamp); empty texts for those that never were."""
    keys = [each.key for each in workflows]
    rows = project.ledger.by_value(
        "workflow",
        keys,
        f"SELECT workflow, MAX(at) AS at FROM ownings WHERE {_HERE} AND session = '' AND workflow IN (*)"
        " GROUP BY workflow",
        *(project.key, project.worktree),
    )
    return [str(rows[key]["at"]) if key in rows else "" for key in keys]


def by_rank(workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return workflows with the newest first: those made by agents before those from plans (I001-9), then by time.

    Workflows of the same time are ordered by name, as in every list (I001-10).
    """
    by_name = sorted(workflows, key=lambda each: each.ref)
    return sorted(by_name, key=lambda each: (each.origin == "agent", each.updated_at), reverse=True)
