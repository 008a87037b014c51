"""Whose workflow is it: the session that owns each, and what may be restored into a session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.state.ledger import new_id
from holdfast.survival import generations, happenings, inheritance, seals, sessions, transcripts
from holdfast.survival.happenings import Happening
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.project import Project
    from holdfast.survival.happenings import Asked
    from holdfast.workflow.model import Workflow

TABLE = """
CREATE TABLE IF NOT EXISTS owners (
    project TEXT NOT NULL, worktree TEXT NOT NULL, workflow TEXT NOT NULL, session TEXT NOT NULL,
    branch TEXT NOT NULL DEFAULT '', host TEXT NOT NULL, client TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (project, worktree, workflow))
"""
CHANGES = """
CREATE TABLE IF NOT EXISTS ownings (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    workflow TEXT NOT NULL, title TEXT NOT NULL, session TEXT NOT NULL, before TEXT NOT NULL, at TEXT NOT NULL)
"""
KEPT = 1_000  # changes per project; the oldest go


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be restored into a session.

    Attributes:
        full: the workflow whose guidance is given in full, if any.
        others: workflows that get a line each.
        refused: workflows of no live session, which another live session could own and nothing decides.
        step: which step of the order decided: 1 owner, 2 seal, 3 ancestry, 4 branch, 5 nobody else; 0 when nothing is
            restored.
        sealed: whether a seal announced this compaction; without one PreCompact never fired.
    """

    full: Workflow | None = None
    others: tuple[Workflow, ...] = ()
    refused: tuple[Workflow, ...] = ()
    step: int = 0
    sealed: bool = False


def own(project: Project, workflow: Workflow, session: str) -> None:
    """Give a workflow to a session, whoever had it: it was started or taken by hand there."""
    before = owner(project, workflow)
    project.ledger.run(
        "INSERT INTO owners (project, worktree, workflow, session, branch, host, client, since)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, worktree, workflow) DO UPDATE SET"
        " session = excluded.session, branch = excluded.branch, host = excluded.host, client = excluded.client,"
        " since = excluded.since",
        *(project.key, project.worktree, workflow.key, session, project.branch or ""),
        *(project.host, project.client, clock.stamp()),
    )
    if before != session:
        _note(project, workflow, session, before or "")


def owner(project: Project, workflow: Workflow) -> str | None:
    """Return the session that owns a workflow, or None."""
    project.ledger.ensure(TABLE)
    row = project.ledger.one(
        "SELECT session FROM owners WHERE project = ? AND worktree = ? AND workflow = ?",
        *(project.key, project.worktree, workflow.key),
    )
    return str(row["session"]) if row else None


def branch(project: Project, workflow: Workflow) -> str:
    """Return the branch that was checked out when a session last worked on a workflow; empty if none is known."""
    project.ledger.ensure(TABLE)
    row = project.ledger.one(
        "SELECT branch FROM owners WHERE project = ? AND worktree = ? AND workflow = ?",
        *(project.key, project.worktree, workflow.key),
    )
    return str(row["branch"] or "") if row else ""


def take(project: Project, workflow: Workflow, session: str) -> None:
    """Give a workflow to a session that works on it, unless it belongs to another that is live."""
    if owner(project, workflow) not in {session, *sessions.live_others(project, session)}:
        own(project, workflow, session)


def release(project: Project, workflow: Workflow) -> None:
    """Let a workflow be nobody's: the next session that is alone here gets it, as long as it is fresh."""
    before = owner(project, workflow)
    project.ledger.run(
        "DELETE FROM owners WHERE project = ? AND worktree = ? AND workflow = ?",
        *(project.key, project.worktree, workflow.key),
    )
    if before:
        _note(project, workflow, "", before)


def happened(project: Project, asked: Asked) -> list[Happening]:
    """Return the changes of ownership that are asked for; of a session those by which it got or lost a workflow."""
    found = [
        row
        for column in (("session", "before") if asked.session else ("session",))
        for row in happenings.newest(project, asked, ddl=CHANGES, table="ownings", at="at", session=column)
    ]
    return [
        Happening(
            *(row["at"], "owner", "ownership changed" if row["session"] else "set free", row["session"]),
            *(row["workflow"], row["title"]),
            detail=f"before: session {row['before'][:8]}" if row["before"] else "",
            worktree=row["worktree"],
            data={"before": row["before"] or None},
        )
        for row in found
    ]


def _note(project: Project, workflow: Workflow, session: str, before: str) -> None:
    project.ledger.ensure(CHANGES)
    project.ledger.run(
        "INSERT INTO ownings (id, project, worktree, host, client, workflow, title, session, before, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(new_id(), project.key, project.worktree, project.host, project.client, workflow.key, clean(workflow.title)),
        *(session, before, clock.stamp()),
    )
    project.ledger.run(
        "DELETE FROM ownings WHERE project = ? AND id NOT IN"
        " (SELECT id FROM ownings WHERE project = ? ORDER BY at DESC, id LIMIT ?)",
        *(project.key, project.key, KEPT),
    )


def of_session(project: Project, session: str, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return the workflows a session may save and move: its own and, while no other session is live, all fresh ones."""
    alone = not sessions.live_others(project, session)
    return [each for each in workflows if owner(project, each) == session or (alone and fresh(project, each))]


def judge(project: Project, session: str, workflows: Sequence[Workflow], *, known: bool) -> Verdict:
    """Decide what a compacted session gets back.

    The order is survival's "Whose workflow is it?": the owner (1), an unclaimed seal of the same worktree (2),
    transcript ancestry (3) and, where no other live session could own one, the branch that is checked out (4) and the
    newest (5). All of them lie in this worktree.

    Args:
        project: where.
        session: the session that starts again.
        workflows: all workflows that could be read, of all formats.
        known: whether the ledger had seen the session before this compaction.

    Returns:
        The verdict; the seal, if one was claimed, is spent.
    """
    seal = seals.claim(project, session, known=known) or seals.unanswered(project, session)
    if seal and seal.session != session:  # the compaction changed the session's id: the old one is no other session
        sessions.ended(project, seal.session)
        inheritance.inherit(project, seal.session, session)
    sealed = {each.key for each in seal.workflows} if seal else set()
    unfinished = [each for each in ranked(workflows) if not each.finished]
    owners = {each.key: owner(project, each) for each in workflows}
    mine = [each for each in unfinished if owners[each.key] == session]
    from_seal = of_branch(project, [each for each in unfinished if each.key in sealed and each not in mine])
    ours, step = (mine, 1) if mine else (from_seal, 2)
    if not ours:
        before = _ancestors(project, session, {owners[each.key] for each in unfinished})
        ours, step = [each for each in unfinished if owners[each.key] in before], 3
    live = sessions.live_others(project, session)
    if not live:
        if not ours:
            newest = [each for each in unfinished if fresh(project, each)]
            ours = of_branch(project, newest)
            step = 4 if ours[:1] != newest[:1] else 5
        verdict = _alone(workflows, ours, step)
    elif ours:
        verdict = Verdict(ours[0], tuple(ours[1:]), step=step)
    else:
        verdict = Verdict(refused=tuple(each for each in unfinished if owners[each.key] not in live))
    return replace(verdict, sealed=seal is not None)


def _ancestors(project: Project, session: str, owners: Iterable[str | None]) -> set[str]:
    """Return which owners this session was before its id changed, or was forked from: their transcripts are one.

    An owner that goes on beside this session keeps what it has. One that became this session is no other any more.
    """
    path = sessions.transcript(project, session)
    found = {
        each
        for each in owners
        if each
        and path
        and sessions.superseded(project, each, session)
        and (before := sessions.transcript(project, each))
        and (before == path or transcripts.shares(path, before))
    }
    for each in found:
        sessions.ended(project, each)
        inheritance.inherit(project, each, session)
    return found


def of_branch(project: Project, candidates: Sequence[Workflow]) -> list[Workflow]:
    """Return workflows with those behind that were last worked on in another branch than the one checked out."""
    now = project.branch
    if now is None:
        return list(candidates)
    return sorted(candidates, key=lambda each: branch(project, each) not in ("", now))


def _alone(workflows: Sequence[Workflow], candidates: Sequence[Workflow], step: int) -> Verdict:
    """With no other live session: the newest in full, and every other, finished and stale ones too, in a line."""
    full = next(iter(candidates), None)
    rest = [each for each in ranked(workflows) if each is not full]
    return Verdict(full, tuple(rest), step=step if full else 0)


def fresh(project: Project, workflow: Workflow) -> bool:
    """Tell whether a workflow's content changed recently enough to be restored unasked.

    Freshness counts from the last change of content the ledger saw, and for a file it never saw from the
    modification time (I001-10); `freshness_days` says how long.
    """
    changed = generations.changed_at(project, workflow.path, workflow.raw) or workflow.updated_at
    moment = clock.parse(changed)
    return moment is None or clock.now() - moment <= timedelta(days=project.config.freshness_days)


def ranked(workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return workflows as "the newest" orders them: agent-made before plan-derived (I001-9), then time, then name.

    Of two of the same time the first by name comes first, as in every list (I001-10).
    """
    by_name = sorted(workflows, key=lambda each: each.ref)
    return sorted(by_name, key=lambda each: (each.origin == "agent", each.updated_at), reverse=True)
