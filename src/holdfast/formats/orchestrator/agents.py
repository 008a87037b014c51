"""Agents that the state lists and that are gone (R003-30, I003-8): a crash leaves their entries behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.formats.orchestrator import bounds, schema, transitions
from holdfast.formats.orchestrator.run import EXECUTOR, REVIEWER
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast.formats.orchestrator.run import Run


def prune(run: Run, *, older_s: int = 0, tasks: Collection[str] = ()) -> list[str]:
    """Remove agents that are gone; return what was removed. Their tasks become pending, so that they start again.

    An agent whose task failed stays until the task is retried or skipped. The time and cost of a pruned attempt count
    for nothing, since nobody knows when it ended.

    Args:
        run: the run.
        older_s: remove only those started at least this many seconds ago.
        tasks: remove only those of these tasks; empty for all.
    """
    transitions.insist_open(run)
    entries = schema.objects(run.data.get("active_agents"))
    gone = [
        each
        for each in entries
        if each.get("status") != "blocked"
        and bounds.elapsed(run, each) >= older_s
        and (not tasks or schema.task_of(each) in tasks)
    ]
    run.requeue(*(schema.task_of(each) for each in gone if each.get("type") == EXECUTOR))
    run.data["active_agents"] = [each for each in entries if all(each is not other for other in gone)]
    if any(each.get("type") == REVIEWER for each in gone):
        run.head["outer_ralph"] = run.under_review
    return [f"{values.text(each.get('type'))} of task {schema.task_of(each)}" for each in gone]
