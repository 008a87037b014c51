"""Edit the content of a `wfs` task file: add, change and remove values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.formats.wfs import rules
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.finding import Finding


class _Field(NamedTuple):
    """An editable field: its path in the file, its empty value, and the key that identifies its entries."""

    path: str
    empty: Any
    by: str = ""


FIELDS = {
    "title": _Field("title", ""),
    "type": _Field("meta.type", ""),
    "agent": _Field("meta.agent", ""),
    "require": _Field("context.requirements", []),
    "focus": _Field("context.focus_paths", []),
    "accept": _Field("context.acceptance", []),
    "after": _Field("context.depends_on", []),
    "artifact": _Field("context.artifacts", [], "path"),
    "context": _Field("context.shared_context", {}),
    "step": _Field("flow_control.pre_analysis", [], "step"),
    "approach": _Field("flow_control.implementation_approach.task_description", ""),
    "point": _Field("flow_control.implementation_approach.modification_points", []),
    "logic": _Field("flow_control.implementation_approach.logic_flow", []),
    "target-file": _Field("flow_control.target_files", []),
}
"""The editable fields, by the names of the command's options."""
REMOVABLE = tuple(name for name in FIELDS if name not in ("title", "type", "agent"))
"""The fields whose values can be removed; a task must have the others."""
_KINDS: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}


class Edit(NamedTuple):
    """A change of a task.

    Attributes:
        given: new values by the names of `FIELDS`. A text replaces the present one, and entries of a list are added. An
            object's members, and entries with a known key, change the present ones.
        removed: what is removed first: a field's name with one of its entries (by text, path, or name), or with None
            for all.
    """

    given: Mapping[str, Any]
    removed: Sequence[tuple[str, str | None]] = ()


def apply(data: dict[str, Any], edit: Edit) -> list[str]:
    """Change a task's object in place; return a line for each change. Raises HoldfastError."""
    said = list[str]()
    for name, entry in edit.removed:
        said += _remove(data, name, entry)
    for name in FIELDS:
        if name in edit.given:
            said += _give(data, name, edit.given[name])
    return said


def refuse(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any], board: Board, exists: Callable[[str], bool]
) -> list[str]:
    """Refuse a change that makes a task break a rule it did not break before; otherwise return new remarks.

    Args:
        name: the name of the task's file without `.json`.
        before: its present content; empty for a new task.
        after: its new content.
        board: the session's tasks.
        exists: returns whether a path, relative to the project, exists.

    Raises:
        HoldfastError: with each rule, its field, its value and what to do.
    """
    known = {_same(each) for each in rules.check_one(name, before, board, exists)} if before else set()
    new = [each for each in rules.check_one(name, after, board, exists) if _same(each) not in known]
    if broken := [each.text for each in new if each.rule]:
        raise HoldfastError("nothing changed: " + "\n".join(broken))
    return [each.text for each in new]


def _same(found: Finding) -> tuple[int, str, str, str]:
    """Return what identifies a finding even if its entry has moved within a list."""
    return found.rule, found.field.partition("[")[0], repr(found.value), found.problem


def _remove(data: dict[str, Any], name: str, entry: str | None) -> Iterator[str]:
    field = FIELDS[name]
    holder, key, now = _reach(data, field)
    if entry is None or isinstance(now, str):
        if now:
            holder[key] = type(field.empty)()
            yield f"{name}: all removed"
        return
    kept = (
        {each: value for each, value in now.items() if each != entry}
        if isinstance(now, dict)
        else [each for each in now if _name(each, field) != entry]
    )
    if len(kept) == len(now):
        raise HoldfastError(
            missing(repr(entry), [repr(_name(each, field)) for each in now], "it is empty", where=f"{field.path} has")
        )
    holder[key] = kept
    yield f"{name}: {entry!r} removed"


def _give(data: dict[str, Any], name: str, value: Any) -> Iterator[str]:
    field = FIELDS[name]
    holder, key, now = _reach(data, field)
    if isinstance(field.empty, str):
        if now != value:
            holder[key] = value
            yield f"{name}: {value!r}"
    elif isinstance(field.empty, dict):
        changed = {each: one for each, one in value.items() if each not in now or now[each] != one}
        holder[key] = {**now, **changed}
        yield from (f"{name}: {each} is {one!r}" for each, one in changed.items())
    else:
        holder[key] = made = list(now)
        for each in value:
            yield from _put(made, name, each, field)


def _put(made: list[Any], name: str, entry: Any, field: _Field) -> Iterator[str]:
    at = next((at for at, each in enumerate(made) if _name(each, field) == _name(entry, field)), None)
    if at is None:
        made.append(entry)
        yield f"{name}: {_name(entry, field)!r} added"
    elif isinstance(entry, dict) and {**made[at], **entry} != made[at]:
        made[at] = {**made[at], **entry}
        yield f"{name}: {_name(entry, field)!r} changed"


def _name(entry: Any, field: _Field) -> Any:
    return entry.get(field.by) if field.by and isinstance(entry, dict) else entry


def _reach(data: dict[str, Any], field: _Field) -> tuple[dict[str, Any], str, Any]:
    """Return the object that contains a field (created if missing), the field's key in it, and its value."""
    *above, key = field.path.split(".")
    holder, walked = data, list[str]()
    for part in above:
        walked.append(part)
        inner = holder.get(part)
        if inner is None:
            inner = holder[part] = {}
        if not isinstance(inner, dict):
            raise HoldfastError(f"{'.'.join(walked)} is not an object; change it in the file itself")
        holder = inner
    now = holder.get(key)
    if now is None:
        now = type(field.empty)()
    if not isinstance(now, type(field.empty)):
        kind = _KINDS[type(field.empty)]
        raise HoldfastError(f"{field.path} is not {kind}; change it in the file itself")
    return holder, key, now
