"""Agents that look after a run: supervisor, outer review, scanner. The state lists them while they work (R003-14)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.formats.orchestrator import schema, store, supervision, transitions
from holdfast.formats.orchestrator.run import REVIEWER
from holdfast.workflow import assignments, values

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records

_TASK = re.compile(r"(?<![\d.])(\d{1,6}\.\d{1,6})(?![\d.]*\d)")


def kind(agent: str) -> str:
    """Return the type under which the state lists an agent that looks after a run; empty for any other agent.

    Args:
        agent: `subagent_type`, perhaps with its plugin's name in front.
    """
    name = assignments.bare(agent).rpartition(":")[2].casefold()
    return name if name in schema.AGENT_TYPES[1:] else ""


def joined(project: Records, workflow: Workflow, text: str, agent: str) -> bool:
    """List an agent that looks after the run. The outer review of a run whose tasks are done begins with its agent.

    A checkpoint is written before that review. Raises StateError.
    """
    type_ = kind(agent)
    if not type_ or workflow.finished:
        return False

    def checkpoint(run: Run) -> None:
        if _reviewable(run):
            run.checkpoint = run.last_completed()

    def edit(run: Run) -> None:
        if type_ == REVIEWER and _reviewable(run):
            transitions.review(run)
        if type_ == REVIEWER:
            run.head["outer_ralph"] = True
        task = _task(run, text)
        if type_ == supervision.AGENT:
            supervision.launched(run, task)
        iteration = values.number((run.executor(task) or {}).get("iteration")) or 0
        entry = {"type": type_, "task": task, "started": run.stamp, "iteration": iteration, "status": "in_progress"}
        run.listed("active_agents").append(entry)

    if type_ == REVIEWER:
        store.change(project, checkpoint, why="outer review", run_id=workflow.id, silent=True)
    store.change(project, edit, why=f"{type_} launched", run_id=workflow.id, silent=True)
    return True


def left(project: Records, workflow: Workflow, text: str, agent: str) -> None:
    """List such an agent no longer: of several of its type that of its task, else the first. Raises StateError."""
    type_ = kind(agent)

    def edit(run: Run) -> None:
        agents = run.listed("active_agents")
        mine = [each for each in agents if each.get("type") == type_]
        named = set(_TASK.findall(text.partition("\n")[0]))
        gone = next((each for each in mine if schema.task_of(each) in named), mine[0] if mine else None)
        run.data["active_agents"] = [each for each in agents if each is not gone]
        if type_ == REVIEWER:
            run.head["outer_ralph"] = run.under_review

    store.change(project, edit, why=f"{type_} ended", run_id=workflow.id, silent=True)


def _task(run: Run, text: str) -> str:
    """Return the task that an agent's description names; else the one at work, or the one completed last."""
    known = run.statuses()
    named = next((each for each in _TASK.findall(text.partition("\n")[0]) if each in known), "")
    return named or run.at_work()


def _reviewable(run: Run) -> bool:
    return not run.terminal and not run.unfinished() and run.head.get("outer_ralph") is not True
