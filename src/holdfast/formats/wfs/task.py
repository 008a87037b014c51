"""The task files of the `wfs` format: what a new one holds, and what changes in one (R002-19)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.formats.wfs import choice
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class New:
    """What a new task is made of.

    Attributes:
        title: what is to be done.
        kind: its type; derived from the title where none is given.
        agent: who works on it; derived from type and title where none is given.
        requirements: what it has to do.
        focus_paths: where in the project it is done.
        acceptance: by what it is known to be done.
        depends_on: the ids of the tasks that come before it.
    """

    title: str
    kind: str = ""
    agent: str = ""
    requirements: tuple[str, ...] = ()
    focus_paths: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = field(default=())


def fresh(id_: str, new: New, above: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a new task with exactly the schema's keys (R002-19, R002-22).

    Args:
        id_: its id.
        new: what it is made of.
        above: the task it is a subtask of, whose context it inherits (R002-31).
    """
    kind = new.kind or choice.type_of(new.title)
    return {
        "id": id_,
        "title": new.title,
        "status": "pending",
        "meta": {"type": kind, "agent": new.agent or choice.agent_of(kind, new.title)},
        "context": {
            "requirements": list(new.requirements),
            "focus_paths": list(new.focus_paths) or _listed(above, "focus_paths"),
            "acceptance": list(new.acceptance),
            "parent": values.text(above.get("id")) if above else None,
            "depends_on": list(new.depends_on),
            "inherited": {"from": values.text(above.get("id")) if above else None, "context": _handed_down(above)},
            "shared_context": dict(_context(above, "shared_context")) if above else {},
        },
        "flow_control": {
            "pre_analysis": [],
            "implementation_approach": {"task_description": "", "modification_points": [], "logic_flow": []},
            "target_files": [],
        },
    }


def container(id_: str, title: str) -> dict[str, Any]:
    """Return a container that stands for a task whose file is missing (I002-22)."""
    return fresh(id_, New(title)) | {"status": "container"}


def _handed_down(above: Mapping[str, Any] | None) -> list[str]:
    """Return what a task's context comes to for its subtasks: what it inherited itself, and its requirements."""
    if above is None:
        return []
    inherited = _context(above, "inherited").get("context")
    handed = [*values.texts(inherited, "", []), *_listed(above, "requirements")]
    return list(dict.fromkeys(handed))


def _listed(task: Mapping[str, Any] | None, name: str) -> list[str]:
    return list(values.texts(values.members(task and task.get("context")).get(name), "", []))


def _context(task: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    return values.members(values.members(task and task.get("context")).get(name))
