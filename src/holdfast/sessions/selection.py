"""Select the workflow that a command is about, or claim it for a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import ChoiceError, HoldfastError, command_line
from holdfast.sessions import archive, conversations, messages, owners, saving
from holdfast.workflow import registry, wording
from holdfast.workflow.names import matching, short
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.sessions.archive import Archived
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Found, Workflow


LISTED = 10  # workflows that an error message names


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim did.

    Attributes:
        workflow: the workflow.
        session: the session that owns it now; None for nobody.
        before: the other session that owned it until now, None for none.
        live: whether that other session is live.
        held: whether `session` is live and keeps the workflow.
    """

    workflow: Workflow
    session: str | None
    before: str | None
    live: bool
    held: bool


def select(
    project: Workspace,
    wanted: str | None,
    conversation: str | None,
    *,
    whole: bool = False,
    anyway: bool = False,
    ended: bool = False,
    format: str = "",
) -> Workflow:
    """Return the workflow that a command names or, if it names none, the current one.

    Args:
        project: the project.
        wanted: an id, a title (in any spelling), a path or the unambiguous beginning of an id or title; None means the
            current workflow.
        conversation: the one that asks, None for a person. Its own workflow is the current one. Another live session's
            never is, except with `anyway`.
        whole: whether only a whole id, title or path counts, as for a command that changes the workflow.
        anyway: whether another live session's workflow counts if the session owns none and none is free to it.
        ended: whether the command is also about workflows that are over, so that the message lists those if there are
            no others.
        format: the format that it has to be of; empty for any.

    Raises:
        HoldfastError: there is none, or it could be several; the message lists them.
    """
    saving.take_over(project, conversation or "")
    found = registry.all_found(project)
    workflows, unread = tuple(each for each in found.workflows if format in ("", each.format)), unreadable(found)
    if wanted is not None:
        return _matching(project, workflows, wanted, whole, unread)
    own, free = candidates(project, workflows, conversation)
    if own:
        return own[0]
    unfinished = _waiting(workflows)
    if ended and not unfinished and (over := archive.entries(project)):
        raise _choice(f"no workflow is unfinished{unread}; name one that is over", [each.workflow for each in over])
    taken = len(unfinished) - len(free)
    theirs = "1 belongs to another live session" if taken == 1 else f"{taken} belong to other live sessions"
    if not taken or (anyway and not free):
        return _only(unfinished, "unfinished", workflows, unread)
    if not free:
        raise _choice(f"no workflow is free for this session; {theirs}", unfinished)
    return _only(free, f"free for this session ({theirs})", unfinished, unread)


def claim(
    project: Workspace, wanted: str | None, session: str | None, *, asked_by: str | None = None, anyway: bool = False
) -> Claim:
    """Make a session the owner of a workflow, however old it is and whoever owned it.

    Args:
        project: the project.
        wanted: its whole id, title or path; None means the current one (`selection.select`).
        session: the new owner. None means no owner yet: attended sessions get a message about it, unless a live one
            owns it.
        asked_by: the session that asks; None for a person. If the owner is another session, its model is told.
        anyway: whether to take it even from another live session.

    Raises:
        HoldfastError: there is no such workflow, it could be several, or it is completed.
        TransitionError: it is paused, and another live session works on what would be paused instead.
    """
    workflow = select(project, wanted, session, whole=True, anyway=True)
    if workflow.finished:
        raise HoldfastError(
            f"{quoted(workflow.title)} is completed, so there is nothing to resume; "
            f"`{command_line('status', workflow.id)}` shows it. To open it again: {registry.reopening(workflow)}"
        )
    before = owners.owner(project, workflow)
    live = before in conversations.live_others(project, session or "")
    if workflow.paused and (session is None or anyway or not live):
        workflow = registry.get(workflow.format).resume(project, workflow, asked_by, anyway=anyway)
    if live and (session is None or not anyway):
        return Claim(workflow, before, None, live, held=True)
    if session is None:
        owners.release(project, workflow, by_hand=True)
    elif session == asked_by:
        owners.own(project, workflow, session)
    else:  # the owner's model is told at its next prompt
        owners.own(project, workflow, session)
        messages.owe(project, session, messages.GIVEN, workflow.key)
    return Claim(workflow, session, None if before == session else before, live, held=False)


def archived(project: Workspace, wanted: str, *, whole: bool = False) -> Archived | None:
    """Return the archived workflow that is named, the latest of several; None for none. Raises LedgerError."""
    rows = archive.entries(project)
    found = matching([each.workflow for each in rows], wanted, whole=whole)
    return next((each for each in rows if each.workflow in found[:1]), None)


def anywhere(project: Workspace, wanted: str, *, whole: bool = False) -> tuple[Workflow, str]:
    """Return the workflow that is named, archived ones included, and the worktree it is, or was, in.

    Raises:
        HoldfastError: there is none, or it could be several.
    """
    try:
        return select(project, wanted, None, whole=whole), project.worktree
    except HoldfastError:
        found = archived(project, wanted, whole=whole)
        if found is None:
            raise
        return found.workflow, found.worktree


def candidates(
    project: Workspace, workflows: Iterable[Workflow], conversation: str | None
) -> tuple[list[Workflow], list[Workflow]]:
    """Return the unfinished workflows that may be the current one: the session's own, and those free to it.

    A paused workflow counts only if all are paused. Another live session's workflow isn't free to a session; to a
    person (None) all are free.
    """
    unfinished = _waiting(workflows)
    if conversation is None:
        return [], unfinished
    owner = owners.holders(project, unfinished)
    others = conversations.live_others(project, conversation)
    own = [each for each in unfinished if owner[each.key] == conversation]
    return own, [each for each in unfinished if owner[each.key] not in others]


def _waiting(workflows: Iterable[Workflow]) -> list[Workflow]:
    unfinished = [each for each in workflows if not each.finished]
    return [each for each in unfinished if each.resumable] or unfinished


def unreadable(found: Found) -> str:
    """Return a hint about unreadable files if no workflow is found: one of them may be the wanted one."""
    if not found.problems:
        return ""
    first, more = found.problems[0], len(found.problems) - 1
    others = f", nor can {more} more" if more else ""
    return f"; {wording.with_remedy(f'{first.path} cannot be read: {first.reason}{others}')}"


def _matching(project: Workspace, workflows: Sequence[Workflow], wanted: str, whole: bool, unread: str) -> Workflow:
    found = matching(workflows, wanted, whole=True)
    over = None if found else archived(project, wanted, whole=True)  # a whole name beats a beginning
    found = found or ([] if over else matching(workflows, wanted) or _asked(project, workflows, wanted))
    over = over or (None if found else archived(project, wanted))
    if over is not None:
        raise HoldfastError(
            f"{quoted(over.workflow.title)} was {over.workflow.word} at {clock.minute(over.completed_at)}; "
            f"`{command_line('status', over.workflow.id)}` shows it"
        )
    if whole and found and not (matching(found, wanted, whole=True) or _asked(project, found, wanted)):
        raise _choice(f"no workflow is named {quoted(wanted)}; did you mean", found, wanted, workflows)
    return _only(found, f"named {quoted(wanted)}", workflows, unread, wanted)


def _asked(project: Workspace, workflows: Sequence[Workflow], wanted: str) -> list[Workflow]:
    """Return those of some workflows that a format knows by another name, such as what they are about."""
    keys = {each.key for each in registry.asked(project, "", wanted)}
    return [each for each in workflows if each.key in keys]


def _only(
    candidates: Sequence[Workflow], what: str, workflows: Sequence[Workflow], unread: str, wanted: str | None = None
) -> Workflow:
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise _choice(f"{len(candidates)} workflows are {what}; name one", candidates, wanted, workflows)
    unfinished = [each for each in workflows if not each.finished]
    if wanted is not None and (unfinished or workflows):
        raise _choice(f"no workflow is {what}{unread}; these are here", unfinished or workflows, wanted, workflows)
    raise HoldfastError(f"no workflow is {what}{unread}; `holdfast start TITLE` starts one")


def _choice(
    reason: str, candidates: Sequence[Workflow], wanted: str | None = None, among: Sequence[Workflow] = ()
) -> ChoiceError:
    """Return the error that lists workflows with what can be typed for each.

    Args:
        reason: why one has to be named.
        candidates: the workflows to list.
        wanted: the name that you typed.
        among: all workflows, from which a name must tell one; the candidates by default.
    """
    choices = [
        (short(each, among or candidates), f"{quoted(each.title, 60)}, {each.word}, {each.progress_text}")
        for each in candidates[:LISTED]
    ]
    more, paused = max(len(candidates) - LISTED, 0), all(each.paused for each in candidates)
    return ChoiceError(reason, choices, more=more, wanted=wanted, paused=paused)
