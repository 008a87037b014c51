"""The state file of the `compaction` format: its path, its content, and how it reads as a workflow."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast.clock import file_stamp, from_mtime, now, parse, stamp
from holdfast.errors import LedgerError, MissingError, SchemaMismatch, StateError
from holdfast.files import document
from holdfast.formats.compaction import source
from holdfast.formats.compaction.detection.extract import NEXT_STEP
from holdfast.formats.compaction.spot import NEUTRAL, Spot, spot
from holdfast.workflow import names, statefile, values
from holdfast.workflow import restore as restoring
from holdfast.workflow.model import UNKNOWN, Phase, Problem, Restored, Status, Workflow, changed
from holdfast.workflow.statefile import StateFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.records import Records

NAME = "compaction"
FOLDER = "untracked/workflow-state"
TYPES = ("planning", "qa-loop", "implementation", "custom")  # R001-06
# Holdfast's keys in the free `context` (R001-05). ENDED_EARLY says that the workflow is over although phases are left.
PHASES, NOTES, DERIVED, ENDED_EARLY = "phases", "phase_notes", source.MARK, "ended_early"

FIND = "find the current phase in the plan"  # the next step where the position is unknown
_COUNTS = {"planning": (6,), "qa-loop": (2, 3)}  # how many phases a type usually has (I001-22)
_STAMP = re.compile(r"\d{8}_\d{6}")
_OTHER_KEYS = ("workflow_type", "phase", "required_reading", "key_reminders", "created_at")


@dataclass(frozen=True, slots=True)
class Entry:
    """One state file with the workflow in it."""

    file: StateFile
    workflow: Workflow


def folder(project: Records) -> Path:
    """Return the folder of all state files of this format; it need not exist."""
    return project.root / FOLDER


def scan(project: Records, only: Iterable[Path] | None = None) -> tuple[list[Entry], list[Problem]]:
    """Return every valid state file, the last changed first, and a problem for each other file (I001-11).

    `only` limits this to some paths. Of files changed at the same moment, as after a checkout, the one with the later
    time in its name comes first.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path in folder(project).glob("*/state-*.json") if only is None else only:
        if names.is_copy(path.name):
            continue
        try:
            entry = load(project, path)
        except MissingError:
            continue
        except StateError as error:
            problems.append(Problem(path, error.reason))
            continue
        entries.append(entry)
        if entry.file.broken:
            problems.append(entry.file.problem)
    entries.sort(key=lambda entry: entry.workflow.path)
    entries.sort(key=lambda entry: (entry.file.document.mtime, _named_at(entry)), reverse=True)
    return entries, sorted(problems, key=lambda problem: problem.path)


def load(project: Records, path: Path) -> Entry:
    """Return one state file.

    Raises MissingError, StateError if it is broken, SchemaMismatch if it is something else.
    """
    return entry(project, statefile.read(project, path))


def entry(project: Records, file: StateFile) -> Entry:
    """Return a state file that was read, with its workflow. Raises SchemaMismatch if it is something else."""
    if not _is_ours(file.data):
        raise SchemaMismatch(file.path, 'isn\'t a workflow state ("workflow" as text, with "phase"); it is left alone')
    return Entry(file, view(project, file))


def rewrite(
    project: Records,
    path: Path,
    edit: Callable[[dict[str, Any], Workflow], dict[str, Any]],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> Entry:
    """Change a state file (`statefile.rewrite`), note what moved, and return the file as it is now.

    `edit` gets a copy of the content, which it may change at its top level, and the workflow in it; it returns the new
    content. `error` is what blocks the current phase, for the ledger. Hold the folder's lock. Raises SchemaMismatch,
    MissingError, StateError.
    """

    def apply(file: StateFile) -> dict[str, Any]:
        before = entry(project, file)
        data = edit(dict(file.data), before.workflow)
        project.observe(before.workflow)  # what was moved by hand before keeps its own time
        return data

    file, changed = statefile.rewrite(project, path, apply, why=why, repair=repair)
    workflow = view(project, file)
    project.observe(workflow, error=error, at=stamp() if changed else None)
    return Entry(file, workflow)


def write(project: Records, path: Path, data: dict[str, Any], before: StateFile | None, *, why: str) -> Entry:
    """Write `data` to a state file (`statefile.write`), note what moved, and return the file as it is now.

    Hold the folder's lock. Raises ChangedError if the file is not as it was read, StateError.
    """
    if before is not None:
        project.observe(view(project, before))  # what was moved by hand before keeps its own time
    file = statefile.write(project, path, data, before, why=why)
    workflow = view(project, file)
    project.observe(workflow, at=stamp())
    return Entry(file, workflow)


def parsed(project: Records, path: Path, raw: bytes) -> Workflow:
    """Return the workflow in a content of a state file. Raises SchemaMismatch, or StateError if it is broken."""
    return entry(project, StateFile(document.parse(path, raw, now().timestamp()), present=raw)).workflow


def restore(project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
    """Restore an earlier content of a state file, also of one that was completed and removed (`workflow.restore`)."""
    return restoring.restore(
        project,
        parsed(project, path, raw),
        why=why,
        replace=replace,
        read=lambda file: entry(project, file).workflow,
        same=lambda one, other: names.key(one.title) == names.key(other.title),
        folder=folder(project),
    )


def view(project: Records, file: StateFile) -> Workflow:
    """Return a state file as a workflow, with a warning or remark for everything that isn't as R001-05 asks.

    The warnings are about the position, which the guidance may have wrong. The document's own examples get none
    (R001-10).
    """
    data, path, warnings, remarks = file.data, file.path, list[str](), list[str]()
    title = _title(file, remarks)
    context = dict(values.mapping(data.get("context"), "context", remarks))
    steps = context.pop(NEXT_STEP) if isinstance(context.get(NEXT_STEP), dict) else {}
    titles, notes = _titles(context.get(PHASES)), _notes(context.get(NOTES))
    where = spot(data, warnings)
    origin: Any = "plan" if context.get(DERIVED) else "agent"
    status, ended = "completed" if context.get(ENDED_EARLY) is True else _status(where), ""
    if status != "completed":
        made = source.of(project, file)
        ended = source.ended(project.root, made, title, file.document.mtime)
        status = "completed" if ended and made.derived else status
    return Workflow(
        format=NAME,
        id=path.stem,
        title=title,
        kind=_kind(data, where.total, remarks),
        status=status,
        phases=_phases(where, titles, notes),
        current=where.current,
        total=where.total,
        phase=where.name,
        phase_status=NEUTRAL[where.word],
        reading=_reading(data, remarks),
        reminders=values.texts(data.get("key_reminders"), "key_reminders", remarks),
        context={key: value for key, value in context.items() if not _shown_as_phase(key, titles, notes)},
        created_at=_created(data, remarks),
        updated_at=changed(data, file.document.mtime),
        path=path,
        raw=file.document.raw,
        root=project.root,
        origin=origin,
        next_step=FIND if where.name == UNKNOWN else values.text(steps.get(str(where.current))),
        plan_at=_plan_at(project, context),
        warnings=tuple(warnings),
        recovered=bool(file.broken),
        ended=ended,
        remarks=tuple(remarks),
    )


def fresh(name: str, kind: str, where: Spot, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a new state file in the schema's key order; an unknown type becomes custom (I001-8).

    `content` has "reading", "reminders" and "context". `created_at` is set only here (R001-09).
    """
    return {
        "workflow": name,
        "workflow_type": kind if kind in TYPES else "custom",
        "phase": {"current": where.current, "total": where.total, "name": where.name, "status": where.word},
        "required_reading": [values.at(entry) for entry in dict.fromkeys(content["reading"])],
        "context": dict(content["context"]),
        "key_reminders": list(dict.fromkeys(content["reminders"])),
        "created_at": stamp(),
    }


def new_path(project: Records, name: str) -> Path:
    """Return the path for a new state file of this workflow: R001-01 with the present second, or the next free one.

    It is in a folder of the workflow's own (R001-04), as in the document's examples (R001-26).
    """
    short, moment = names.slug(name), now()
    while _was_used(project, path := folder(project) / short / f"state-{short}-{file_stamp(moment)}.json"):
        moment += timedelta(seconds=1)
    return path


def _was_used(project: Records, path: Path) -> bool:
    """Return whether a path has, or had, a state file: the id of a finished workflow is its file's name."""
    with suppress(LedgerError):
        return path.exists() or bool(project.versions(path))
    return False


def titled(data: dict[str, Any], number: int, title: str) -> dict[str, Any]:
    """Return the state with a phase's title added to the list in its context.

    A list that isn't Holdfast's, or a title that is there already, stays as it is.
    """
    context = dict(values.mapping(data.get("context"), "context", []))
    listed = context.get(PHASES, [])
    if not title or title == f"Phase {number}" or (listed and not _titles(listed)) or not isinstance(listed, list):
        return data
    kept = [*listed, *[""] * (number - len(listed))]
    old = kept[number - 1]
    kept[number - 1] = {**old, "title": title} if isinstance(old, dict) else title
    return data if kept == listed else {**data, "context": {**context, PHASES: kept}}


def title_of(workflow: Workflow, number: int) -> str:
    """Return the title of a phase by its number, `Phase N` if it has none."""
    return next((phase.title for phase in workflow.phases if phase.number == number), "") or f"Phase {number}"


def read_phases(data: Mapping[str, Any]) -> list[Phase]:
    """Return every phase of a state, those included of which only the number is known."""
    where, context = spot(data, []), values.mapping(data.get("context"), "context", [])
    known = {each.number: each for each in _phases(where, _titles(context.get(PHASES)), _notes(context.get(NOTES)))}
    return [known.get(number) or _unnamed(where, number) for number in range(1, where.total + 1)]


def _plan_at(project: Records, context: Mapping[str, Any]) -> str:
    """Return when the plan that a workflow was derived from last changed (UTC stamp); empty without one."""
    with suppress(OSError, ValueError):
        if place := values.text(context.get(DERIVED, "")):
            return stamp(from_mtime((project.root / place).stat().st_mtime))
    return ""


def _named_at(entry: Entry) -> str:
    """Return the time in a state file's name (R001-01), empty for none."""
    return "".join(_STAMP.findall(entry.workflow.path.name)[-1:])


def _is_ours(data: Mapping[str, Any]) -> bool:
    """Return whether a state has this format: a name and another key or, without a name, its phase and another key."""
    others = [key for key in _OTHER_KEYS if key in data]
    if data.get("workflow") is not None:
        return isinstance(data["workflow"], (str, int, float)) and bool(others)
    phase = data.get("phase")
    return isinstance(phase, dict) and "current" in phase and len(others) > 1


def _title(file: StateFile, warnings: list[str]) -> str:
    given = file.data.get("workflow")
    title = values.text(given).strip()
    if not title:
        warnings.append('"workflow" is missing or empty; the folder gives the name')
    elif not isinstance(given, str):
        warnings.append('"workflow" is not a text')
    return title or file.path.parent.name


def _reading(data: Mapping[str, Any], warnings: list[str]) -> tuple[str, ...]:
    given = data.get("required_reading")
    if given is None:
        warnings.append('"required_reading" is missing')
    return values.entries(given, "required_reading", warnings)


def _kind(data: Mapping[str, Any], total: int, warnings: list[str]) -> str:
    kind = values.text(data.get("workflow_type")).strip()
    if kind not in TYPES:
        warnings.append(f'"workflow_type" is "{kind}", not one of {", ".join(TYPES)}')
    elif total not in _COUNTS.get(kind, (total,)):
        warnings.append(f"a {kind} workflow usually has {' or '.join(map(str, _COUNTS[kind]))} phases, not {total}")
    return kind


def _created(data: Mapping[str, Any], warnings: list[str]) -> str:
    created = values.text(data.get("created_at"))
    if parse(created) is None:
        warnings.append(f'"created_at" is "{created}", not a time')
    return created


def _status(where: Spot) -> Status:
    if where.word == "completed":
        return "completed" if where.current == where.total and where.sure else "active"
    return "active" if where.word == "not_started" and where.current > 1 else NEUTRAL[where.word]


def _titles(listed: Any) -> list[tuple[str, str]]:
    """Return (title, agent) of each phase listed in the context; empty if the list isn't Holdfast's."""
    if not isinstance(listed, list):
        return []
    found = []
    for item in listed:
        if isinstance(item, dict):
            found.append((values.text(item.get("title")), values.text(item.get("agent"))))
        elif isinstance(item, str):
            found.append((item, ""))
        else:
            return []
    return found


def _notes(kept: Any) -> dict[int, str]:
    """Return each finished phase's hand-over by its number; empty if the object isn't Holdfast's."""
    if not isinstance(kept, dict) or not all(key.isdecimal() and isinstance(note, str) for key, note in kept.items()):
        return {}
    return {int(key): note for key, note in kept.items()}


def _shown_as_phase(key: str, titles: Sequence[Any], notes: Mapping[int, str]) -> bool:
    return (key == PHASES and bool(titles)) or (key == NOTES and bool(notes))


def _unnamed(where: Spot, number: int) -> Phase:
    return Phase(f"phase_{number}", number, f"Phase {number}", "completed" if number < where.current else "pending")


def _phases(where: Spot, titles: Sequence[tuple[str, str]], notes: Mapping[int, str]) -> tuple[Phase, ...]:
    known = dict(enumerate(titles, start=1))
    found = []
    for number in sorted({*known, *notes, where.current}):
        title, agent = known.get(number, ("", ""))
        unnamed = _unnamed(where, number)
        phase = unnamed._replace(title=title or unnamed.title, agent=agent, handover=notes.get(number, ""))
        if number == where.current:
            phase = phase._replace(title=where.name or phase.title, status=NEUTRAL[where.word])
        found.append(phase)
    return tuple(phase for phase in found if phase.number <= where.total)
