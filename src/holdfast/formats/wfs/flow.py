"""The flow control of a task in the `wfs` format: which steps come before the work, and what is to be changed.

Holdfast plans these steps and records what came of them. It never runs the commands in task files (R002-29): they come
from whoever wrote the file, and whoever works on the task decides about them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping

OnError = Literal["skip_optional", "fail", "retry_once", "manual_intervention"]
ON_ERROR: tuple[str, ...] = get_args(OnError)
"""What may be done when a step fails (R002-26); without a word it is `fail` (I002-6)."""


class Step(NamedTuple):
    """A step before the work (R002-25).

    Attributes:
        name: what it is called.
        action: what it is for.
        commands: what is to be done, in order; task files in the wild have several.
        output_to: the variable its output is; empty if it has none (I002-7).
        on_error: what is to be done when it fails.
    """

    name: str
    action: str
    commands: tuple[str, ...]
    output_to: str
    on_error: str


class Approach(NamedTuple):
    """How the work is to be done (R002-27).

    Attributes:
        description: what is to be done.
        points: where something is to be changed.
        flow: in which order what happens.
    """

    description: str
    points: tuple[str, ...]
    flow: tuple[str, ...]


def steps(task: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return a task's steps in their order; what cannot be understood as one is left out (`wfs_rules` names it)."""
    listed = values.members(task.get("flow_control")).get("pre_analysis")
    return (
        tuple(_step(each, number) for number, each in enumerate(listed, 1) if isinstance(each, dict))
        if isinstance(listed, list)
        else ()
    )


def approach(task: Mapping[str, Any]) -> Approach:
    """Return how a task's work is to be done; a text, or a list of steps as later versions have it, counts too."""
    given = values.members(task.get("flow_control")).get("implementation_approach")
    if isinstance(given, dict):
        return Approach(
            values.text(given.get("task_description")),
            values.texts(given.get("modification_points"), "", []),
            values.texts(given.get("logic_flow"), "", []),
        )
    if isinstance(given, list):
        return Approach("", values.texts(given, "", []), ())
    return Approach(values.text(given), (), ())


def target_files(task: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a task changes: `file:function:lines`, `file:function` or `file` (R002-28, I002-5)."""
    return values.texts(values.members(task.get("flow_control")).get("target_files"), "", [])


def _step(given: Mapping[str, Any], number: int) -> Step:
    commands = given.get("command") if given.get("command") not in (None, "") else given.get("commands")
    return Step(
        name=values.text(given.get("step")) or f"step_{number}",
        action=values.text(given.get("action")),
        commands=values.texts([commands] if isinstance(commands, str) else commands, "", []),
        output_to=values.text(given.get("output_to")),
        on_error=values.text(given.get("on_error")) or "fail",
    )
