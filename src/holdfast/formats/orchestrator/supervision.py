"""Agents that look after a run, and what they find: supervisor, outer review, scanner (R003-11 to R003-14)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.formats.orchestrator import moves, schema
from holdfast.formats.orchestrator.run import REVIEWER, SUPERVISOR
from holdfast.workflow import assignments, values

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run

_LAUNCHED = "check_launched"  # the note of a task whose check was counted when its agent was launched
_TASK = re.compile(r"(?<![\d.])(\d{1,6}\.\d{1,6})(?![\d.]*\d)")


class Conflict(NamedTuple):
    """A conflict that a check found: what it is about, how bad it is, what was done, and how it was resolved."""

    kind: str
    severity: str
    action: str
    resolution: str


def supervise(run: Run, check_type: str, task: str, conflict: Conflict | None = None) -> None:
    """Count a check; list its conflict as an intervention and count what was done about it (R003-11 to R003-13).

    The check of an agent was counted when the agent was launched.

    Args:
        run: the run.
        check_type: when the check took place.
        task: the task that was checked.
        conflict: what was found; None if all was well.

    Raises:
        TransitionError: the run is over.
    """
    moves.ensure_open(run)
    supervisor = run.part("supervisor")
    counted = [] if run.note(task).pop(_LAUNCHED, False) else ["checks_performed"]
    supervisor["last_check"] = run.stamp
    if conflict is not None:
        counted.append("conflicts_detected")
        counted += {"auto_fix": ["auto_fixes_applied"], "re_plan": ["re_plans_triggered"]}.get(conflict.action, [])
        intervention = {
            "timestamp": run.stamp,
            "check_type": check_type,
            "task": task,
            "conflict_type": conflict.kind,
            "severity": conflict.severity,
            "action": conflict.action,
            "resolution": conflict.resolution,
        }
        supervisor["interventions"] = [*values.objects(supervisor.get("interventions")), intervention]
    _count(supervisor, counted)


def overseer(agent: str) -> str:
    """Return the type under which the state lists an agent that looks after a run; empty for any other agent.

    Args:
        agent: `subagent_type`, perhaps with its plugin's name in front.
    """
    name = assignments.bare(agent).rpartition(":")[2].casefold()
    return name if name in schema.AGENT_TYPES[1:] else ""


def is_reviewable(run: Run) -> bool:
    """Return whether the outer review can begin: all tasks are done, and it doesn't run yet."""
    return not run.terminal and not run.unfinished() and run.head.get("outer_ralph") is not True


def join(run: Run, type_: str, text: str) -> None:
    """List an agent that looks after the run.

    A supervisor's check is counted; the outer review of a run whose tasks are done begins with its agent (I003-14).
    """
    if type_ == REVIEWER and is_reviewable(run):
        run.head["status"] = "reviewing"
    if type_ == REVIEWER:
        run.head["outer_ralph"] = True
    known = run.statuses()
    named = next((each for each in _TASK.findall(text.partition("\n")[0]) if each in known), "")
    task = named or run.at_work()
    if type_ == SUPERVISOR:
        run.part("supervisor")["last_check"] = run.stamp
        _count(run.part("supervisor"), ["checks_performed"])
        run.note(task)[_LAUNCHED] = True
    iteration = values.number((run.executor(task) or {}).get("iteration")) or 0
    entry = {"type": type_, "task": task, "started": run.stamp, "iteration": iteration, "status": "in_progress"}
    run.listed("active_agents").append(entry)


def leave(run: Run, type_: str) -> None:
    """List such an agent no longer: of several of its type the first."""
    gone = next((each for each in run.entries("active_agents") if each.get("type") == type_), None)
    run.remove_agents(lambda entry: entry is gone)


def _count(supervisor: dict[str, Any], names: list[str]) -> None:
    for name in names:
        supervisor[name] = (values.number(supervisor.get(name)) or 0) + 1
