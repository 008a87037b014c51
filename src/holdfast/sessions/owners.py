"""Owners: which conversation owns each workflow."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import LedgerError
from holdfast.files.redact import redact
from holdfast.memory import log
from holdfast.memory.rows import Told, WorkflowRow
from holdfast.memory.store import key
from holdfast.sessions import contents, conversations
from holdfast.workflow.model import place_of
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from holdfast.memory.store import Table
    from holdfast.project import OpenProject
    from holdfast.workflow.model import Workflow

NAMED = 16  # workflows of each kind that `lately` names
OWNED = 64  # workflows of a conversation that its events look for
LONGEST_DAYS = 36_500  # that `freshness_days` may mean: no time is before the year 1


def own(project: OpenProject, workflow: Workflow, conversation: str) -> None:
    """Make a conversation the owner of a workflow, whoever owned it. For its owner, only the branch is updated."""
    _set(project, workflow, conversation, branch=project.branch or "")


def begin(project: OpenProject, workflow: Workflow, conversation: str | None) -> None:
    """Give a new workflow to the conversation whose shell started it, or to nobody if a person did in a terminal.

    Attended sessions then get a message about it as they start or at their next prompt.
    """
    if conversation:
        own(project, workflow, conversation)
    else:
        release(project, workflow, by_hand=True)


def release(project: OpenProject, workflow: Workflow, *, by_hand: bool = False) -> None:
    """Remove a workflow's owner. Attended sessions get a message about it, and the first to act on it owns it.

    `by_hand` means that a person ran the command, which makes the workflow fresh (`fresh`).
    """
    if by_hand or owner(project, workflow):
        _set(project, workflow, "", branch="", released_at=clock.stamp())


def take(project: OpenProject, workflow: Workflow, conversation: str) -> None:
    """Make a conversation that works on a workflow its owner, unless another live one owns it or goes first."""
    live = conversations.live_others(project, conversation)
    holder = owner(project, workflow)
    if holder == conversation or (holder not in live and conversation in takers(project, conversation, live)):
        own(project, workflow, conversation)


def owner(project: OpenProject, workflow: Workflow) -> str | None:
    """Return the conversation that owns a workflow; None for none."""
    return holders(project, (workflow,))[workflow.key]


def holders(project: OpenProject, workflows: Iterable[Workflow]) -> dict[str, str | None]:
    """Return the conversation that owns each workflow, None for none, by the workflow's key."""
    keys = [each.key for each in workflows]
    rows = _rows(project, keys)
    return {key: rows[key].owner or None if key in rows else None for key in keys}


def all_owners(project: OpenProject) -> set[str]:
    """Return the conversations that own a workflow, those included that the ledger knows nothing else of."""
    return {str(row["owner"]) for row in project.ledger.rows("SELECT DISTINCT owner FROM workflows WHERE owner > ''")}


def owned(project: OpenProject, conversation: str) -> list[str]:
    """Return the keys of the workflows that a conversation owns, up to the `OWNED` that it got last."""
    return [each.workflow for each in _owned(project, conversation, OWNED)]


def keys_without_file(project: OpenProject, conversation: str) -> list[str]:
    """Return the keys of workflows that a conversation owns and whose file is gone, completed ones included."""
    found = [each.workflow for each in _owned(project, conversation, NAMED)]
    return [each for each in found if not (project.root / place_of(each)).exists()]


def lately(project: OpenProject, conversation: str) -> list[str]:
    """Return the keys of the workflows that a conversation owns, then of those whose owner changed lately.

    Lately means within `freshness_days`. There are up to `NAMED` of each kind, the latest first, and none at all if the
    ledger can't be read.
    """
    rows: list[WorkflowRow] = []
    with suppress(LedgerError):
        rows += _owned(project, conversation, NAMED)
        here: dict[str, Any] = {"worktree": project.worktree, "order": "since DESC", "limit": NAMED}
        for condition in ("owner > '' AND since >= ?", "owner = '' AND since >= ?"):
            rows += _table(project).where(condition, fresh_since(project), **here)
    return list(dict.fromkeys(each.workflow for each in rows))


def branch(project: OpenProject, workflow: Workflow) -> str:
    """Return the branch that was checked out when a session last worked on a workflow; empty if unknown."""
    row = _rows(project, [workflow.key]).get(workflow.key)
    return row.branch if row else ""


def changes_since(project: OpenProject, conversation: str, topic: str) -> dict[str, bool]:
    """Return workflows that lately lost their owner, or were this conversation's, and that it got no message about.

    The messages are of a topic of `messages`. Each key's value says whether the workflow was this conversation's.
    Lately means within `freshness_days`; of many, these are the last `NAMED` of each kind.
    """
    here: dict[str, Any] = {"worktree": project.worktree, "order": "since DESC", "limit": NAMED}
    rows = _table(project).where("owner = '' AND since >= ?", fresh_since(project), **here)
    rows += _table(project).where("since >= ?", fresh_since(project), previous_owner=conversation, **here)
    keys = [each.workflow for each in rows]
    known = project.ledger.table(Told).by("key", keys, conversation=conversation, topic=topic)
    new = [each for each in rows if each.workflow not in known or known[each.workflow].at < each.since]
    return {each.workflow: each.previous_owner == conversation for each in new}


def _table(project: OpenProject) -> Table[WorkflowRow]:
    return project.ledger.table(WorkflowRow)


def _rows(project: OpenProject, keys: Collection[str]) -> dict[str, WorkflowRow]:
    """Return the rows of workflows, by their keys."""
    # Without any, the ledger isn't opened.
    return _table(project).by("workflow", keys, worktree=project.worktree) if keys else {}


def _owned(project: OpenProject, conversation: str, most: int) -> list[WorkflowRow]:
    if not conversation:
        return []
    return _table(project).where(worktree=project.worktree, owner=conversation, order="since DESC", limit=most)


def fresh_since(project: OpenProject) -> str:
    """Return the UTC stamp before which work is too old to be taken up unasked (`freshness_days`)."""
    return clock.stamp(clock.now() - _freshness(project))


def _freshness(project: OpenProject) -> timedelta:
    return timedelta(days=min(project.config.freshness_days, LONGEST_DAYS))


def _set(project: OpenProject, workflow: Workflow, conversation: str, **values: str) -> None:
    """Set a workflow's owner, empty for nobody, and other columns."""
    table, place = _table(project), WorkflowRow(project.worktree, workflow.key)
    with project.ledger.transaction():
        row = table.one(**key(place)) or place
        before = row.owner
        if before != conversation:
            values |= {"owner": conversation, "previous_owner": before or row.previous_owner}
        if before != conversation or not conversation:
            values["since"] = clock.stamp()
        table.amend(row, **values)
        if before == conversation and conversation:
            return
        what = "now owned by this session" if conversation else "no owner any more" if before else "no owner yet"
        log.note(
            project,
            "owner",
            what,
            conversation=conversation,
            workflow=workflow.key,
            title=redact(clean(workflow.title)),
            data={"previous_owner": before or None},
        )


def takers(project: OpenProject, conversation: str, live: Collection[str]) -> set[str]:
    """Return who of a conversation and the other live ones may get a workflow that none of them owns.

    Those are the attended ones. Only if no session is attended do unattended ones (`claude -p`, the SDK) count.
    """
    everyone = {conversation, *live}
    return (conversations.attended(project, everyone) if live else everyone) or everyone


def may_move(project: OpenProject, conversation: str, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return the workflows that a conversation may save and move: its own and, if no other may, all fresh free ones."""
    every = list(workflows)
    holder = holders(project, every)
    live = conversations.live_others(project, conversation)
    others = [each for each in every if holder[each.key] not in (conversation, *live)]
    alone = takers(project, conversation, live) == {conversation}
    free = {each.key for each in fresh_ones(project, others)} if alone else ()
    return [each for each in every if holder[each.key] == conversation or each.key in free]


def fresh(project: OpenProject, workflow: Workflow) -> bool:
    """Return whether a workflow changed recently enough to be restored automatically (`fresh_ones`)."""
    return bool(fresh_ones(project, (workflow,)))


def fresh_ones(project: OpenProject, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return the workflows that changed recently enough to be restored automatically.

    The age counts from a workflow's last change (`changed_at`) or, if later, from when it was last released for the
    next session. That a session got it doesn't make it younger. `freshness_days` is the limit.
    """
    every = list(workflows)
    if not every:
        return []  # without opening the ledger
    rows = _rows(project, [each.key for each in every])
    released = [rows[each.key].released_at if each.key in rows else "" for each in every]
    times = map(max, _changed_at(project, every), released)
    oldest = clock.now() - _freshness(project)
    moments = zip(every, map(clock.parse, times), strict=True)
    return [each for each, moment in moments if moment is None or moment >= oldest]


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


def by_rank(workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return workflows with the newest first: those made by agents before those from plans (I001-9), then by time.

    Workflows of the same time are ordered by name, as in every list (I001-10).
    """
    by_name = sorted(workflows, key=lambda each: each.ref)
    return sorted(by_name, key=lambda each: (each.origin == "agent", each.updated_at), reverse=True)
