"""What a compacted session gets back of its project's workflows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.sessions.agents import session_lineage
from holdfast.sessions.compaction import snapshots
from holdfast.sessions.ownership import owners, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.project import OpenProject
    from holdfast.sessions.compaction.snapshots import Seal
    from holdfast.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be restored into a session.

    Attributes:
        full: the workflow whose guidance is given in full, if any.
        others: workflows that get a line each.
        refused: workflows of no live session, which another live session could own and nothing decides.
        taken: workflows of other live sessions, where nothing is restored.
        step: which step of the order decided: 1 owner, 2 seal, 3 ancestry, 4 branch, 5 nobody else; 0 when nothing is
            restored.
        seal: the seal that announced this compaction; without one PreCompact never fired.
    """

    full: Workflow | None = None
    others: tuple[Workflow, ...] = ()
    refused: tuple[Workflow, ...] = ()
    taken: tuple[Workflow, ...] = ()
    step: int = 0
    seal: Seal | None = None


def settle(project: OpenProject, session: str, workflows: Sequence[Workflow]) -> list[Workflow]:
    """Return the workflows that a session seals when it is about to be compacted: its own and, alone, all fresh ones.

    Where it owns none, the newest that nobody has becomes its own. The others stay nobody's, for another session may
    come for them. Its own are the first.
    """
    sealed = _to_seal(project, session, workflows)
    holders = {each.key: owners.owner(project, each) for each in sealed}
    holders |= _owning(session, sealed, holders)
    own = [each for each in sealed if holders[each.key] == session]
    for each in own:
        owners.own(project, each, session)
    return [*own, *(each for each in sealed if each not in own)]


def judge(project: OpenProject, session: str, workflows: Sequence[Workflow], *, known: bool) -> Verdict:
    """Decide what a compacted session gets back, which is nothing that another live session could own (I001-9).

    Args:
        project: where.
        session: the session that starts again.
        workflows: all workflows that could be read, of all formats.
        known: whether the ledger had seen the session before this compaction.

    Returns:
        The verdict; the seal, if one was claimed, is spent.
    """
    seal = snapshots.claim(project, session, known=known) or snapshots.unanswered(project, session)
    sealed = [each.key for each in seal.workflows] if seal else []
    if seal and seal.session != session:  # the compaction changed the session's id: the old one is no other session
        _succeed(project, (seal.session,), session)
    holders = {each.key: owners.owner(project, each) for each in workflows}
    verdict, before = _decide(project, session, workflows, holders, sealed, seal.session if seal else "")
    _succeed(project, before, session)
    return replace(verdict, seal=seal)


def foresee(project: OpenProject, session: str, workflows: Sequence[Workflow]) -> Verdict:
    """Return what `judge` will decide when a session is compacted now; nothing is written.

    Its PreCompact seals what it may save, and gives it what it would get back of nobody's (`settle`).
    """
    sealed = _to_seal(project, session, workflows)
    holders = {each.key: owners.owner(project, each) for each in workflows}
    holders |= _owning(session, sealed, holders)
    return _decide(project, session, workflows, holders, [each.key for each in sealed], session)[0]


def _to_seal(project: OpenProject, session: str, workflows: Sequence[Workflow]) -> list[Workflow]:
    return [each for each in owners.of_session(project, session, workflows) if each.resumable]


def _owning(session: str, sealed: Sequence[Workflow], holders: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return which workflow of nobody's becomes a session's when it is sealed: the newest, where it has none so far.

    No branch decides between them: it is known only of what belongs to somebody.
    """
    if session in {holders[each.key] for each in sealed}:
        return {}
    free = [each for each in owners.ranked(sealed) if holders[each.key] is None]
    return {each.key: session for each in free[:1]}


def _decide(
    project: OpenProject,
    session: str,
    workflows: Sequence[Workflow],
    holders: Mapping[str, str | None],
    sealed: Sequence[str],
    sealer: str,
) -> tuple[Verdict, set[str]]:
    """Return the verdict, with the sessions that this one turns out to have been before.

    The order is survival's "Whose workflow is it?": the owner (1), an unclaimed seal of the same worktree (2),
    transcript ancestry (3) and, where no other live session could own one, the branch that is checked out (4) and the
    newest (5). All of them lie in this worktree.

    Args:
        project: where.
        session: the session that starts again.
        workflows: all workflows that could be read, of all formats.
        holders: the session that owns each, by the workflow's key.
        sealed: the keys of those that the seal of this compaction names, its session's own first.
        sealer: the session that left it; empty without one.
    """
    unfinished = [each for each in owners.ranked(workflows) if each.resumable]
    before = set[str]()
    alone = not sessions.live_others(project, session)
    # Where nobody else could own it, what was nobody's when it was sealed counts with the session's own: newest first.
    own = {key for key, holder in holders.items() if holder == session}
    own |= {key for key in sealed if own and alone and holders.get(key) is None}
    ours, step = [each for each in unfinished if each.key in own], 1
    if not ours:
        had = {key for key in sealed if alone or holders.get(key) == sealer}
        had |= {key for key in sealed[:1] if holders.get(key) is None}  # it was the sealing session's then
        ours, step = _of_branch(project, [each for each in unfinished if each.key in had]), 2
    if not ours:
        before = _ancestors(project, session, {holders[each.key] for each in unfinished})
        ours, step = [each for each in unfinished if holders[each.key] in before], 3
    live = sessions.live_others(project, session) - before
    if live and ours:
        return Verdict(ours[0], tuple(ours[1:]), step=step), before
    if live:
        refused, taken = (
            tuple(each for each in unfinished if (holders[each.key] in live) is held) for held in (False, True)
        )
        return Verdict(refused=refused, taken=taken), before
    if not ours:
        newest = [each for each in unfinished if owners.fresh(project, each)]
        ours = _of_branch(project, newest)
        step = 4 if ours[:1] != newest[:1] else 5
    return _alone(workflows, ours, step), before


def _ancestors(project: OpenProject, session: str, found: Iterable[str | None]) -> set[str]:
    """Return which owners this session was before its id changed, or was forked from: their transcripts are one.

    An owner that goes on beside this session keeps what it has. One that became this session is no other any more.
    """
    path = sessions.transcript(project, session)
    return {
        each
        for each in found
        if each
        and path
        and sessions.superseded(project, each, session)
        and (before := sessions.transcript(project, each))
        and (before == path or project.transcripts.shares(path, before))
    }


def _succeed(project: OpenProject, before: Iterable[str], session: str) -> None:
    """Let a session take the place of those it was before."""
    for each in before:
        sessions.ended(project, each)
        session_lineage.inherit(project, each, session)


def _of_branch(project: OpenProject, candidates: Sequence[Workflow]) -> list[Workflow]:
    """Return workflows with those behind that were last worked on in another branch than the one checked out."""
    now = project.branch
    if now is None:
        return list(candidates)
    return sorted(candidates, key=lambda each: owners.branch(project, each) not in ("", now))


def _alone(workflows: Sequence[Workflow], candidates: Sequence[Workflow], step: int) -> Verdict:
    """With no other live session: the newest in full, and every other, finished and stale ones too, in a line."""
    full = next(iter(candidates), None)
    rest = [each for each in owners.ranked(workflows) if each is not full]
    return Verdict(full, tuple(rest), step=step if full else 0)
