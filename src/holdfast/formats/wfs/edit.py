"""Changing what a task file of the `wfs` format says: values are added, changed by name, or taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.formats.wfs import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.finding import Finding


class _Field(NamedTuple):
    """A field that can be changed: where it lies, what it holds, and by which key its entries are told apart."""

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
"""What can be changed, by the names of the command's options."""
REMOVABLE = tuple(name for name in FIELDS if name not in ("title", "type", "agent"))
"""What of that can be taken away: a task has to have the others."""
_KINDS: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}


class Edit(NamedTuple):
    """A change of a task.

    Attributes:
        given: what is added, by the names of `FIELDS`: a text replaces what is there, the entries of a list are added,
            an object's members and entries with the key of one that is there change that.
        removed: what is taken away first: a field's name with an entry of it (its text, path, or name), or with None
            for all of them.
    """

    given: Mapping[str, Any]
    removed: Sequence[tuple[str, str | None]] = ()


def apply(data: dict[str, Any], edit: Edit) -> list[str]:
    """Change a task's object in place; return what was changed, a line each. Raises HoldfastError."""
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
    """Refuse a change by which a task breaks a rule that it did not break; return what is remarked of it instead.

    Args:
        name: the name of the task's file without `.json`.
        before: what it holds; empty for a new one.
        after: what it is to hold.
        board: the session's tasks.
        exists: tells whether a path, relative to the project, is there.

    Raises:
        HoldfastError: with each rule, its field, its value and what to do.
    """
    known = {_same(each) for each in rules.check_one(name, before, board, exists)} if before else set()
    new = [each for each in rules.check_one(name, after, board, exists) if _same(each) not in known]
    if broken := [each.text for each in new if each.rule]:
        raise HoldfastError("nothing was changed: " + "\n".join(broken))
    return [each.text for each in new]


def _same(found: Finding) -> tuple[int, str, str, str]:
    """Return what a finding is known by though the entry it is about has moved in its list."""
    return found.rule, found.field.partition("[")[0], repr(found.value), found.problem


def _remove(data: dict[str, Any], name: str, entry: str | None) -> Iterator[str]:
    field = FIELDS[name]
    holder, key, now = _reach(data, field)
    if entry is None or isinstance(now, str):
        if now:
            holder[key] = type(field.empty)()
            yield f"{name}: all taken away"
        return
    kept = (
        {each: value for each, value in now.items() if each != entry}
        if isinstance(now, dict)
        else [each for each in now if _name(each, field) != entry]
    )
    if len(kept) == len(now):
        known = ", ".join(repr(_name(each, field)) for each in now) or "nothing"
        raise HoldfastError(f"{field.path} has no {entry!r}; it has {known}")
    holder[key] = kept
    yield f"{name}: {entry!r} taken away"


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
    """Return the object a field lies in, made where it is missing, its key there, and what it holds."""
    *above, key = field.path.split(".")
    holder, walked = data, list[str]()
    for part in above:
        walked.append(part)
        inner = holder.get(part)
        if inner is None:
            inner = holder[part] = {}
        if not isinstance(inner, dict):
            raise HoldfastError(f"{'.'.join(walked)} is not an object, so it is changed in the file itself")
        holder = inner
    now = holder.get(key)
    if now is None:
        now = type(field.empty)()
    if not isinstance(now, type(field.empty)):
        kind = _KINDS[type(field.empty)]
        raise HoldfastError(f"{field.path} is not {kind}, so it is changed in the file itself")
    return holder, key, now
