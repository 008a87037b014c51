"""The flow control of a `wfs` task: the steps before the work, and what the work changes.

Holdfast plans these steps and records their results. It never runs the commands in task files (R002-29): they come from
whoever wrote the file, and whoever works on the task decides about them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping

OnError = Literal["skip_optional", "fail", "retry_once", "manual_intervention"]
ON_ERROR: tuple[str, ...] = get_args(OnError)
"""What may happen when a step fails (R002-26); `fail` by default (I002-6)."""


class Step(NamedTuple):
    """A step before the work (R002-25).

    Attributes:
        name: its name.
        action: its purpose.
        commands: its commands, in order; real task files may have several.
        output_to: the variable that gets its output; empty for none (I002-7).
        on_error: what happens when it fails.
    """

    name: str
    action: str
    commands: tuple[str, ...]
    output_to: str
    on_error: str


class Approach(NamedTuple):
    """How to do the work (R002-27).

    Attributes:
        description: what to do.
        points: where to change something.
        flow: what happens, in order.
    """

    description: str
    points: tuple[str, ...]
    flow: tuple[str, ...]


def steps(task: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return a task's steps in their order; invalid ones are left out (`rules` reports them)."""
    listed = values.members(task.get("flow_control")).get("pre_analysis")
    return (
        tuple(_step(each, number) for number, each in enumerate(listed, 1) if isinstance(each, dict))
        if isinstance(listed, list)
        else ()
    )


def approach(task: Mapping[str, Any]) -> Approach:
    """Return a task's approach, which may also be a text, or a list of steps as in later versions."""
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
    """Return a task's target files: `file:function:lines`, `file:function` or `file` (R002-28, I002-5)."""
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
