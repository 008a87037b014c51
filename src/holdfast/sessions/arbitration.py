"""Decide which of its project's workflows a compacted session gets back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.sessions import agents, compactions, conversations, owners

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.memory.rows import Compaction
    from holdfast.project import OpenProject
    from holdfast.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be restored into a session.

    Attributes:
        full: the workflow whose guidance is restored in full, if any.
        others: workflows that get a line each.
        refused: workflows that no live session owns but another live session could, so that nothing is restored.
        taken: workflows that other live sessions own, if nothing is restored.
        step: the step of the order that decided: 1 owner, 2 compaction, 3 ancestry, 4 branch, 5 newest; 0 if nothing is
            restored.
        compaction: the compaction that PreCompact announced; None if it never fired.
    """

    full: Workflow | None = None
    others: tuple[Workflow, ...] = ()
    refused: tuple[Workflow, ...] = ()
    taken: tuple[Workflow, ...] = ()
    step: int = 0
    compaction: Compaction | None = None


def settle(
    project: OpenProject, conversation: str, workflows: Sequence[Workflow], detected: Collection[Path] = ()
) -> list[Workflow]:
    """Return the workflows that a session saves before a compaction, its own first.

    These are its own and, if no other session may take any (`owners.takers`), all fresh ones that no live session owns.
    If it owns none, it becomes the owner of the newest that has none; of several from plans, only of one in the state
    files that were `detected` for it. The rest stay without an owner, because another session may come for them.
    """
    saved = _to_save(project, conversation, workflows)
    holders = owners.holders(project, saved)
    holders |= _owning(project, conversation, saved, holders, detected)
    own = [each for each in saved if holders[each.key] == conversation]
    for each in own:
        owners.own(project, each, conversation)
    return [*own, *(each for each in saved if each not in own)]


def judge(
    project: OpenProject, session: str, workflows: Sequence[Workflow], *, known: bool, compacted: bool = True
) -> Verdict:
    """Decide what a compacted session gets back: never a workflow that another live session could own (I001-9).

    `workflows` are all that could be read, of all formats. `known` tells whether the ledger had seen the conversation
    before this compaction. A resumed session isn't `compacted`, and claims no compaction. Return the verdict, whose
    compaction is claimed by now.
    """
    conversation, compaction, step = conversations.of(project, session), None, None
    if compacted:
        compaction = compactions.claim(project, conversation, known=known)
        compaction = compaction or compactions.unanswered(project, conversation)
    if compaction and compaction.conversation != conversation:  # the compaction changed the id
        _go_on(project, compaction.conversation, session)
        conversation, step = compaction.conversation, 2
    saved = [each.key for each in compactions.saved(compaction)] if compaction else []
    holders = owners.holders(project, workflows)
    verdict, before = _decide(project, conversation, workflows, holders, saved, conversation if compaction else "")
    for each in sorted(before):
        _go_on(project, each, session)
    # Only the compaction showed that the session is its owner.
    return replace(verdict, compaction=compaction, step=step if step and verdict.step == 1 else verdict.step)


def _go_on(project: OpenProject, conversation: str, session: str) -> None:
    """Let a conversation go on under a session id; its agents ended if its process did."""
    if conversations.process_gone(project, conversation):
        agents.mark_missing(project, conversation, ())
    conversations.adopt(project, conversation, session)
    agents.join_duplicates(project, conversation)


def foresee(
    project: OpenProject, conversation: str, workflows: Sequence[Workflow], detected: Collection[Path] = ()
) -> Verdict:
    """Return the verdict of `judge` if a session were compacted now; nothing is written.

    It assumes that PreCompact comes first, saves what the session may save, and makes it the owner of what `settle`
    gives it.
    """
    saved = _to_save(project, conversation, workflows)
    holders = owners.holders(project, workflows)
    holders |= _owning(project, conversation, saved, holders, detected)
    return _decide(project, conversation, workflows, holders, [each.key for each in saved], conversation)[0]


def _to_save(project: OpenProject, conversation: str, workflows: Sequence[Workflow]) -> list[Workflow]:
    return [each for each in owners.may_move(project, conversation, workflows) if each.resumable]


def _unclear(
    project: OpenProject, workflows: Sequence[Workflow], holders: Mapping[str, str | None], *known: str
) -> set[str]:
    """Return the keys of several fresh workflows from plans that none of the known sessions owns (I001-13)."""
    plans = [each for each in workflows if each.origin == "plan" and holders[each.key] not in known]
    keys = {each.key for each in owners.fresh_ones(project, plans)} if len(plans) > 1 else set[str]()
    return keys if len(keys) > 1 else set()


def _owning(
    project: OpenProject,
    conversation: str,
    saved: Sequence[Workflow],
    holders: Mapping[str, str | None],
    detected: Collection[Path],
) -> dict[str, str | None]:
    """Return the workflow without an owner that a session comes to own when it saves: the newest, if it owns none.

    The branch doesn't decide here, since it is known only for workflows with an owner.
    """
    if conversation in {holders[each.key] for each in saved}:
        return {}
    unclear = _unclear(project, saved, holders, conversation)
    free = [each for each in owners.by_rank(saved) if holders[each.key] is None]
    free = [each for each in free if each.key not in unclear or each.path in detected]
    return {each.key: conversation for each in free[:1]}


def _decide(
    project: OpenProject,
    conversation: str,
    workflows: Sequence[Workflow],
    holders: Mapping[str, str | None],
    saved: Sequence[str],
    saver: str,
) -> tuple[Verdict, set[str]]:
    """Return the verdict, with the earlier conversations that this one turns out to go on.

    The order: the session's own workflows (1), those that an unclaimed compaction of this worktree names (2), those of
    a session whose transcript this one continues (3) and, if no other live session may take any (`owners.takers`),
    those of the branch that is checked out (4) and the newest (5). All of them are in this worktree.

    `holders` has the conversation that owns each workflow, by its key. `saved` are the keys of the workflows that this
    compaction names, its conversation's own first; `saver` is the conversation that announced it, empty without one.
    """
    unfinished = [each for each in owners.by_rank(workflows) if each.resumable]
    before = set[str]()
    live = conversations.live_others(project, conversation)
    alone = owners.takers(project, conversation, live) == {conversation}
    own = {key for key, holder in holders.items() if holder == conversation}
    ours, step = [each for each in unfinished if each.key in own], 1
    unclear = set[str]() if ours else _unclear(project, unfinished, holders, conversation, saver)
    if not ours:
        had = {key for key in saved if (alone and holders.get(key) not in live) or holders.get(key) == saver}
        had |= {key for key in saved[:1] if holders.get(key) is None}  # it was the saving session's own then
        ours, step = _of_branch(project, [each for each in unfinished if each.key in had - unclear]), 2
        ours.sort(key=lambda each: holders[each.key] != saver)  # what it owned goes first, as in step 1
    if not ours:
        before = _ancestors(project, conversation, {holders[each.key] for each in unfinished})
        ours, step = [each for each in unfinished if holders[each.key] in before], 3
        live -= before
    alone = owners.takers(project, conversation, live) == {conversation}
    if ours and not alone:
        return Verdict(ours[0], tuple(ours[1:]), step=step), before
    free, taken = ([each for each in unfinished if (holders[each.key] in live) is held] for held in (False, True))
    if not alone:
        return Verdict(refused=tuple(free), taken=tuple(taken)), before
    if not ours:
        newest = owners.fresh_ones(project, [each for each in free if each.key not in unclear])
        ours = _of_branch(project, newest)
        step = 4 if ours[:1] != newest[:1] else 5
    full = next(iter(ours), None)
    others = tuple(each for each in owners.by_rank(workflows) if each is not full and each not in taken)
    return Verdict(full, others, taken=() if full else tuple(taken), step=step if full else 0), before


def _ancestors(project: OpenProject, conversation: str, found: Iterable[str | None]) -> set[str]:
    """Return the owners that are earlier ids of this session, or that it was forked from: they share a transcript.

    An owner that still runs at the same time is left out and keeps its workflows.
    """
    path = conversations.get(project, conversation).transcript
    return {
        each
        for each in found
        if each
        and path
        and conversations.superseded(project, each, conversation)
        and (before := conversations.get(project, each).transcript)
        and (before == path or project.transcripts.shares(path, before))
    }


def _of_branch(project: OpenProject, candidates: Sequence[Workflow]) -> list[Workflow]:
    """Return workflows in their order, with those last worked on in another branch than the present one at the end."""
    now = project.branch
    if now is None:
        return list(candidates)
    return sorted(candidates, key=lambda each: owners.branch(project, each) not in ("", now))
