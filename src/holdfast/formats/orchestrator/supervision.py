"""What the supervisor found: a check is counted, a conflict is listed, and both move in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import schema, transitions
from holdfast.workflow import values

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run


AGENT = schema.AGENT_TYPES[1]
"""The agent type of the supervisor."""
_LAUNCHED = "check_launched"  # the note of a task whose check was counted when its agent was launched


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
        check_type: `pre_task`, `post_task` or `on_demand`.
        task: the task that was checked.
        conflict: what was found; None if all was well.

    Raises:
        HoldfastError: a word isn't one of the schema's, or the resolution is empty.
        TransitionError: the run is over.
    """
    transitions.insist_open(run)
    insist_valid(check_type, conflict)
    supervisor = run.part("supervisor")
    counted = [] if run.note(task).pop(_LAUNCHED, False) else ["checks_performed"]
    supervisor["last_check"] = run.stamp
    if conflict is not None:
        counted.append("conflicts_detected")
        counted += {"auto_fix": ["auto_fixes_applied"], "re_plan": ["re_plans_triggered"]}.get(conflict.action, [])
        listed = supervisor.get("interventions")
        supervisor["interventions"] = [
            *(listed if isinstance(listed, list) else []),
            {
                "timestamp": run.stamp,
                "check_type": check_type,
                "task": task,
                "conflict_type": conflict.kind,
                "severity": conflict.severity,
                "action": conflict.action,
                "resolution": conflict.resolution,
            },
        ]
    _count(supervisor, counted)


def launched(run: Run, task: str) -> None:
    """Count the check of a supervisor's agent; if its result is recorded, `supervise` doesn't count it again."""
    supervisor = run.part("supervisor")
    supervisor["last_check"] = run.stamp
    _count(supervisor, ["checks_performed"])
    run.note(task)[_LAUNCHED] = True


def _count(supervisor: dict[str, Any], names: list[str]) -> None:
    for name in names:
        supervisor[name] = (values.number(supervisor.get(name)) or 0) + 1


def insist_valid(check_type: str, conflict: Conflict | None) -> None:
    """Raise HoldfastError if a word isn't one of the schema's, or if the resolution is empty."""
    _known("a check", check_type, schema.CHECK_TYPES)
    if conflict is not None:
        _known("a conflict", conflict.kind, schema.CONFLICT_TYPES)
        _known("a severity", conflict.severity, schema.SEVERITIES)
        _known("an action", conflict.action, schema.ACTIONS)
        if not conflict.resolution.strip():
            raise HoldfastError("a conflict needs a resolution: say what was done about it")


def _known(what: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        raise HoldfastError(f"{what} is one of {', '.join(words)}, not {word!r}")
