"""A file of a described format as a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import SchemaMismatch
from holdfast.formats.described import description as described
from holdfast.formats.described import fields
from holdfast.workflow import names, values
from holdfast.workflow.model import Phase, Status, Workflow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.formats.described.description import Description
    from holdfast.formats.described.fields import Member
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

KEPT = ("reading", "reminders", "context")
"""The values that a workflow may keep in addition to its units."""
_STOPPED = ("failed", "blocked")


class Unit(NamedTuple):
    """A unit of a file: its object there, and what it says."""

    data: dict[str, Any]
    phase: Phase


def check(rules: Description, path: Path, data: Mapping[str, Any]) -> None:
    """Raise SchemaMismatch unless a file is of a format: at least one of its units has a title or a known status."""
    for each in fields.members(data, rules.units.path):
        title, status = fields.get(each.data, rules.units.title), fields.get(each.data, rules.units.status)
        if isinstance(title, str) or (status is not None and described.meaning(rules, status)):
            return
    raise SchemaMismatch(path, f"isn't a file of {rules.name} (nothing at {rules.units.path}); it is left alone")


def units(rules: Description, data: Mapping[str, Any], warnings: list[str]) -> list[Unit]:
    """Return the units of a file, in its order; what can't be understood gives a warning."""
    found: list[Unit] = []
    known: set[str] = set()
    written = [_status(rules, each, warnings) for each in fields.members(data, rules.units.path)]
    statuses = _with_active(rules, written)
    for number, (each, status) in enumerate(zip(fields.members(data, rules.units.path), statuses, strict=True), 1):
        usual = f"{rules.units.word.replace(' ', '_')}_{number}"
        name = _said(each, rules.units.id).strip()
        if not name or names.holds_secret(name):
            name = usual
        if name in known:
            warnings.append(f'"{rules.units.id}" is "{name}" in two {rules.units.word}s')
            name = usual
        known.add(name)
        phase = Phase(
            id=name,
            number=number,
            title=_said(each, rules.units.title).strip() or f"{rules.units.word.capitalize()} {number}",
            status=status,
            agent=_said(each, rules.units.agent).strip(),
            handover=_note(fields.get(each.data, rules.units.note)),
        )
        found.append(Unit(each.data, phase))
    return found


def workflow(project: Records, rules: Description, file: StateFile) -> Workflow:
    """Return a state file as a workflow. Raises SchemaMismatch for a file of something else."""
    data, warnings = file.data, list[str]()
    check(rules, file.path, data)
    phases = tuple(each.phase for each in units(rules, data, warnings))
    where = rules.workflow
    cancelled = is_cancelled(rules, data)
    status: Status = "failed" if cancelled else _whole(rules, data, phases, warnings)
    context = fields.get(data, where.context)
    title = values.text(fields.get(data, where.title))
    return Workflow.of(
        file.document,
        root=project.root,
        recovered=bool(file.broken),
        format=rules.name,
        id=identity(rules, data, file.path),
        title=title.strip() or file.path.stem,
        status=status,
        phases=phases,
        current=current(phases),
        reading=values.entries(fields.get(data, where.reading), where.reading, warnings),
        reminders=values.texts(fields.get(data, where.reminders), where.reminders, warnings),
        context=values.mapping(context, where.context, warnings),
        created_at=values.text(fields.get(data, where.created)),
        warnings=warnings,
        abandoned=cancelled,
    )


def is_cancelled(rules: Description, data: Mapping[str, Any]) -> bool:
    """Return whether the workflow's own status is one of the format's words for cancelled."""
    return described.among(rules.statuses.cancelled, fields.get(data, rules.workflow.status))


def identity(rules: Description, data: Mapping[str, Any], path: Path) -> str:
    """Return the id of the workflow in a file: what its field says, else the file's name."""
    return values.text(fields.get(data, rules.workflow.id)).strip() or path.stem


def current(phases: Sequence[Phase]) -> Phase | None:
    """Return the unit that is worked on: one that is active, else one that went wrong, else the next after a done one.

    None before the first has begun, and at the end.
    """
    for wanted in (("active",), _STOPPED):
        if found := next((each for each in phases if each.status in wanted), None):
            return found
    begun = any(each.status == "completed" for each in phases)
    return next((each for each in phases if begun and each.status == "pending"), None)


def _status(rules: Description, member: Member, warnings: list[str]) -> Status:
    value = fields.get(member.data, rules.units.status)
    found = described.meaning(rules, value)
    if found is None:
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in member.keys).lstrip(".")
        warnings.append(f'"{place}.{rules.units.status}" is {values.text(value)!r}, for which there is no status')
    return found or "pending"


def _with_active(rules: Description, statuses: list[Status]) -> list[Status]:
    """Return the statuses; where no word says what is active, that is the first that is left."""
    if not rules.statuses.active and "active" not in statuses:
        first = next((number for number, each in enumerate(statuses) if each != "completed"), None)
        if first is not None and statuses[first] == "pending":
            return [*statuses[:first], "active", *statuses[first + 1 :]]
    return statuses


def _whole(rules: Description, data: Mapping[str, Any], phases: Sequence[Phase], warnings: list[str]) -> Status:
    value = fields.get(data, rules.workflow.status)
    found, open_ = described.meaning(rules, value), [each.id for each in phases if each.status != "completed"]
    if not open_:
        return "completed"
    if value is not None and found is None:
        warnings.append(f'"{rules.workflow.status}" is {values.text(value)!r}, for which there is no status')
    if value is not None and found == "completed":
        warnings.append(f'"{rules.workflow.status}" says completed, but {", ".join(open_[:5])} is not')
    now = current(phases)
    return now.status if now and now.status != "pending" else "active" if now else "pending"


def _said(member: Member, path: str) -> str:
    return values.text(fields.get(member.data, path))


def _note(value: Any) -> str:
    return "\n".join(map(values.text, value)) if isinstance(value, list) else values.text(value)
