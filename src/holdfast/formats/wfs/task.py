"""The content of new `wfs` task files (R002-19)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.formats.wfs import choice
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class New:
    """The values of a new task.

    Attributes:
        title: what to do.
        kind: its type; empty derives it from the title.
        agent: who works on it; empty derives it from type and title.
        requirements: what it must do.
        focus_paths: where in the project it is done.
        acceptance: how to tell that it is done.
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
        new: its values.
        above: the parent task's JSON object, whose context it inherits (R002-31); None for none.
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
    """Return a container in place of a parent whose file is missing (I002-22)."""
    return fresh(id_, New(title)) | {"status": "container"}


def _handed_down(above: Mapping[str, Any] | None) -> list[str]:
    """Return what subtasks inherit of a task's context: what it inherited itself, and its requirements."""
    if above is None:
        return []
    inherited = _context(above, "inherited").get("context")
    handed = [*values.texts(inherited, "", []), *_listed(above, "requirements")]
    return list(dict.fromkeys(handed))


def _listed(task: Mapping[str, Any] | None, name: str) -> list[str]:
    return list(values.texts(values.members(task and task.get("context")).get(name), "", []))


def _context(task: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    return values.members(values.members(task and task.get("context")).get(name))
