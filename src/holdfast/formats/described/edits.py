"""Changes of a file of a described format, on its JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import TransitionError
from holdfast.formats.described import fields, view
from holdfast.formats.described.description import meaning
from holdfast.workflow import values
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.formats.described.description import Description
    from holdfast.formats.described.view import Unit
    from holdfast.workflow.model import Start, Status

_KEPT_BESIDE = {"reading": "required reading", "reminders": "reminders", "context": "context"}


def fresh(rules: Description, start: Start, id_: str) -> dict[str, Any]:
    """Return the content of a new file with an id: what is described and nothing else."""
    entries: list[dict[str, Any]] = []
    for number, (title, agent) in enumerate(start.phases, 1):
        entry: dict[str, Any] = {}
        if field := rules.unit.get("id", ""):
            fields.put(entry, field, f"{rules.word.replace(' ', '_')}_{number}")
        fields.put(entry, rules.unit["title"], title)
        fields.put(entry, rules.unit["status"], rules.statuses["pending"][0])
        if agent:
            fields.put(entry, rules.unit["agent"], agent)
        entries.append(entry)
    data: dict[str, Any] = {}
    known = {"id": id_, "title": start.title, "created": clock.stamp()}
    for name, value in known.items():
        if rules.workflow.get(name):
            fields.put(data, rules.workflow[name], value)
    group = rules.unit.get("group", "")
    built = fields.build(rules.units, entries, titled=(group, start.title) if group else None)
    for key, value in built.items():
        inner = isinstance(data.get(key), dict) and isinstance(value, dict)
        data[key] = {**data[key], **value} if inner else value
    add(rules, data, reading=start.reading, reminders=start.reminders, context=start.context)
    settle(rules, data)
    return data


def unit(rules: Description, data: Mapping[str, Any], id_: str) -> Unit:
    """Return the unit with this id. Raises TransitionError if there is none by now."""
    found = next((each for each in view.units(rules, data, []) if each.phase.id == id_), None)
    if found is None:
        raise TransitionError(f"there is no {rules.word} {id_!r} in the file now")
    return found


def set_status(rules: Description, data: dict[str, Any], id_: str, status: Status) -> None:
    """Give a unit a status, in the first of its words.

    One that has the status keeps its own word. Where no word says what is active, the unit is only no longer stopped.

    Raises:
        TransitionError: the file has no word for the status.
    """
    found = unit(rules, data, id_)
    if found.phase.status == status:
        return
    words = rules.statuses[status]
    if not words and status == "active":
        first = view.current([each.phase for each in view.units(rules, data, [])])
        if found.phase.status == "pending" and (first is None or first.id != id_):
            raise TransitionError(f"the first {rules.word} that is left is the active one; {rules.name} has no word")
        words = rules.statuses["pending"]
    if not words:
        known = ", ".join(each for each, said in rules.statuses.items() if said)
        raise TransitionError(f"{rules.name} has no word for {status}; it has words for {known}")
    _put(rules, fields.at(data, found.member.keys), rules.unit["status"], words[0])


def settle(rules: Description, data: dict[str, Any]) -> None:
    """Let the workflow's own status, if the file has one, follow from those of its units."""
    path = rules.workflow.get("status", "")
    if not path or view.is_cancelled(rules, data):
        return
    phases = [each.phase for each in view.units(rules, data, [])]
    wanted: Status = "pending"
    if all(each.status == "completed" for each in phases):
        wanted = "completed"
    elif any(each.status != "pending" for each in phases):
        now = view.current(phases)
        wanted = "active" if now is None or now.status == "pending" else now.status
    words = rules.statuses[wanted] or rules.statuses["pending"]
    if fields.get(data, path) is None or meaning(rules, fields.get(data, path)) != meaning(rules, words[0]):
        _put(rules, data, path, words[0])


def note(rules: Description, data: dict[str, Any], id_: str, text: str, *, instead: bool = False) -> None:
    """Add a note to a unit's field: to a list as a member, to a text as a line.

    Raises TransitionError if the format has no field for notes.
    """
    if not text.strip():
        return
    path = rules.unit.get("note", "")
    if not path:
        raise TransitionError(f"{rules.name} keeps no notes; units.note in {rules.source} would name a field for them")
    entry = fields.at(data, unit(rules, data, id_).member.keys)
    before = fields.get(entry, path)
    if isinstance(before, list):
        _put(rules, entry, path, [*before, text.strip()] if text.strip() not in before else before)
    else:
        had = "" if instead else values.text(before).strip()
        _put(rules, entry, path, "\n".join(filter(None, (had, text.strip()))))


def title(rules: Description, data: dict[str, Any], id_: str, text: str) -> None:
    """Give a unit another title."""
    _put(rules, fields.at(data, unit(rules, data, id_).member.keys), rules.unit["title"], text)


def add(
    rules: Description,
    data: dict[str, Any],
    *,
    reading: Sequence[str] = (),
    reminders: Sequence[str] = (),
    context: Mapping[str, Any] | None = None,
) -> None:
    """Add what a workflow keeps beside its units. Raises TransitionError if the format has no field for it."""
    for name, new in (("reading", reading), ("reminders", reminders)):
        if new:
            path = _place(rules, name)
            entries = tuple(map(values.at, new)) if name == "reading" else tuple(new)
            _put(rules, data, path, values.added(fields.get(data, path), entries))
    if context:
        path = _place(rules, "context")
        before = fields.get(data, path)
        if before is not None and not isinstance(before, dict):
            raise TransitionError(f"{quoted(path)} in the file isn't an object, so nothing can be added to it")
        _put(rules, data, path, {**(before or {}), **context})


def cancel(rules: Description, data: dict[str, Any]) -> None:
    """Write the workflow's own word for being cancelled, if the format has one; else nothing changes."""
    if rules.cancelled and rules.workflow.get("status"):
        _put(rules, data, rules.workflow["status"], rules.cancelled[0])


def _place(rules: Description, name: str) -> str:
    path = rules.workflow.get(name, "")
    if not path:
        said = f"{rules.name} keeps no {_KEPT_BESIDE[name]}"
        raise TransitionError(f"{said}; workflow.{name} in {rules.source} would name a field")
    return path


def _put(rules: Description, data: dict[str, Any], path: str, value: Any) -> None:
    try:
        fields.put(data, path, value)
    except ValueError as error:
        raise TransitionError(f"{rules.name}: {error}") from error
