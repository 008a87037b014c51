"""The state file of the `hybrid` format: its schema, and how it reads as a workflow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.errors import SchemaMismatch
from holdfast.workflow import statefile, values
from holdfast.workflow.extras import CONTEXT, READING, REMINDERS, TYPE
from holdfast.workflow.model import Phase, Status, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

NAME = "hybrid"
FILE = ".claude/state/workflow.json"
STATUSES: tuple[Status, ...] = ("pending", "active", "completed", "failed")  # of workflow and phase (R000-05, R000-10)

# The state file that this process read last, because an event asks for it several times.
_viewed: list[tuple[StateFile, Workflow]] = []

_PHASE_KEYS = ("id", "title", "agent", "status", "deliverables", "context_for_next")  # R000-07
_TELLING = ("title", "deliverables", "context_for_next")  # keys that phases of other tools don't have

_SPELLINGS: dict[str, Status] = {
    "not_started": "pending",
    "todo": "pending",
    "in_progress": "active",
    "running": "active",
    "done": "completed",
    "complete": "completed",
    "finished": "completed",
    "error": "failed",
}


def path(project: Records) -> Path:
    """Return the path of the state file (R000-01); it need not exist."""
    return project.root / FILE


def load(project: Records) -> StateFile:
    """Return the state file.

    Raises MissingError, StateError if it is broken, SchemaMismatch if it has another schema.
    """
    file = statefile.read(project, path(project))
    check(file)
    return file


def check(file: StateFile) -> None:
    """Raise SchemaMismatch unless a file that was read has this schema (I000-20, lesson 2)."""
    data = file.data
    named = all(isinstance(data.get(key), (str, int, float)) for key in ("id", "task"))
    if not named or not isinstance(data.get("phases"), list):
        raise SchemaMismatch(file.path, 'isn\'t a hybrid workflow ("id", "task" and a list "phases"); it is left alone')
    if data["phases"] and not any(_is_phase(each, titles="current_phase" in data) for each in data["phases"]):
        raise SchemaMismatch(
            file.path, 'isn\'t a hybrid workflow (no phase has a "title" or only known keys); it is left alone'
        )


def fresh(id_: str, task: str, phases: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the content of a new state file: exactly the schema's keys (R000-02, R000-07), nothing begun (R000-17).

    The task stays verbatim (R000-04). Where the document's example says `a|b|c`, this is the first of them (I000-5).
    """
    listed = [complete({"title": title, "agent": agent}, number) for number, (title, agent) in enumerate(phases)]
    return {"id": id_, "task": task, "status": "pending", "current_phase": None, "phases": listed}


def complete(phase: Any, number: int) -> dict[str, Any]:
    """Return a phase as an object with all of the schema's keys. Keys that it has stay, other tools' included.

    Without an id it gets `phase_N`, N its position from 0 (R000-08).
    """
    given = phase if isinstance(phase, dict) else {"title": values.text(phase)}
    keys = {"id": f"phase_{number}", "title": "", "agent": "", "status": "pending"}
    whole = {**keys, "deliverables": [], "context_for_next": "", **given}
    return whole if values.text(whole["id"]).strip() else {**whole, "id": keys["id"]}


def status(value: Any) -> Status | None:
    """Return the status that a value written by hand means, ignoring signs around it, or None."""
    word = re.sub(r"[\s_-]+", "_", re.sub(r"^\W+|\W+$", "", values.text(value).lower()))
    return next((known for known in STATUSES if known == word), _SPELLINGS.get(word))


def position(data: Mapping[str, Any], phase: Any) -> int | None:
    """Return the index of the phase with this id, or None. A number that is no id counts as the index (I000-2).

    If several phases have the id, the first that isn't completed is meant, because phases run in order.
    """
    phases, wanted = data["phases"], values.text(phase)
    same = [number for number, each in enumerate(phases) if values.text(complete(each, number)["id"]) == wanted]
    if same:
        left = (number for number in same if status(complete(phases[number], number)["status"]) != "completed")
        return next(left, same[0])
    index = values.number(phase)
    return index if index is not None and 0 <= index < len(phases) else None


def view(project: Records, file: StateFile) -> Workflow:
    """Return the state file as a workflow, with a warning for everything that doesn't follow the schema."""
    if not any(seen.data is file.data and seen == file and known.root == project.root for seen, known in _viewed):
        _viewed[:] = [(file, _view(project, file))]
    return _viewed[0][1]


def _view(project: Records, file: StateFile) -> Workflow:
    data, warnings = file.data, list[str]()
    phases = read_phases(data, warnings)
    _warn_of_same_ids(phases, warnings)
    current = _current(data, phases, warnings)
    return Workflow.of(
        file.document,
        root=project.root,
        recovered=bool(file.broken),
        format=NAME,
        id=values.text(data["id"]),
        title=values.text(data["task"]),
        kind=values.text(data.get(TYPE)),
        status=_status(data, phases, warnings),
        phases=phases,
        current=None if current is None else phases[current],
        reading=values.entries(data.get(READING), READING, warnings),
        reminders=values.texts(data.get(REMINDERS), REMINDERS, warnings),
        context=values.mapping(data.get(CONTEXT), CONTEXT, warnings),
        warnings=warnings,
    )


def read_phases(data: Mapping[str, Any], warnings: list[str]) -> tuple[Phase, ...]:
    """Return the phases in a state, adding a warning for each value that doesn't follow the schema."""
    return tuple(_phase(each, number, warnings) for number, each in enumerate(data["phases"]))


def _is_phase(given: Any, *, titles: bool) -> bool:
    """Return whether a phase can be of this format: it may be incomplete, but not another tool's.

    A mere title counts only with `titles`, because many tools have lists of titles.
    """
    if isinstance(given, dict):
        return any(key in given for key in _TELLING) or (bool(given) and set(given) <= set(_PHASE_KEYS))
    return titles and isinstance(given, str)


def _phase(given: Any, number: int, warnings: list[str]) -> Phase:
    phase, name = complete(given, number), f"phases[{number}]"
    if not isinstance(given, dict):
        warnings.append(f'"{name}" is not an object')
    texts = ("id", "title", "agent", "context_for_next")
    warnings += [f'"{name}.{key}" is not a text' for key in texts if not isinstance(phase[key], str | None)]
    found = status(phase["status"])
    if found is None:
        warnings.append(f'"{name}.status" is "{values.text(phase["status"])}", not one of {", ".join(STATUSES)}')
    return Phase(
        id=values.text(phase["id"]),
        number=number + 1,
        title=values.text(phase["title"]) or f"Phase {number}",
        status=found or "pending",
        agent=values.text(phase["agent"]),
        deliverables=values.texts(phase["deliverables"], f"{name}.deliverables", warnings),
        handover=values.text(phase["context_for_next"]),
    )


def _warn_of_same_ids(phases: tuple[Phase, ...], warnings: list[str]) -> None:
    known: set[str] = set()
    for phase in phases:
        if phase.id in known:
            warnings.append(f'"phases[{phase.number - 1}].id" is "{phase.id}", which another phase has')
        known.add(phase.id)


def _current(data: Mapping[str, Any], phases: tuple[Phase, ...], warnings: list[str]) -> int | None:
    """Return the current phase's index; if the file names none, that of the active phase."""
    named = data.get("current_phase")
    index = None if named in (None, "") else position(data, named)
    if index is None and named not in (None, ""):
        warnings.append(f'"current_phase" is "{values.text(named)}", which isn\'t a phase')
    return index if index is not None else next((p.number - 1 for p in phases if p.status == "active"), None)


def _status(data: Mapping[str, Any], phases: tuple[Phase, ...], warnings: list[str]) -> Status:
    found = status(data.get("status"))
    running = [phase.id for phase in phases if phase.status == "active"]
    begun = [phase.id for phase in phases if phase.status in ("active", "failed")]
    if len(running) > 1:
        warnings.append(f"{', '.join(running)} are active at once; only one phase can be")
    if found == "completed" and begun:  # it may have been ended before its last phases began
        warnings.append(f'"status" is "completed", but {", ".join(begun)} {"is" if len(begun) == 1 else "are"} not')
    if phases and found != "completed" and all(phase.status == "completed" for phase in phases):
        warnings.append(f'"status" is "{values.text(data.get("status"))}", but all phases are completed')
        return "completed"
    if found is None:
        statuses = {phase.status for phase in phases}
        found = "failed" if "failed" in statuses else "active" if statuses & {"active", "completed"} else "pending"
        said = values.text(data.get("status"))
        warnings.append(f'"status" is "{said}", not one of {", ".join(STATUSES)}; {found} is taken')
    return found
