"""The state file of the `hybrid` format: its schema, and how it reads as a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from holdfast.errors import SchemaMismatch
from holdfast.workflow import lenient, markdown, statuses, values
from holdfast.workflow.model import Phase, Status, Workflow
from holdfast.workflow.statuses import MEANT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from holdfast.workflow.statefile import StateFile

NAME = "hybrid"
FILE = ".claude/state/workflow.json"  # R000-01
STATUSES: tuple[Status, ...] = ("pending", "active", "completed", "failed")  # of workflow and phase (R000-05, R000-10)

_PHASE_KEYS = ("id", "title", "agent", "status", "deliverables", "context_for_next")  # R000-07
_TELLING = ("title", "deliverables", "context_for_next")  # keys that phases of other tools don't have


def read_status(value: Any) -> Status | None:
    """Return the status that a value written by hand means, ignoring signs around it, or None."""
    word = markdown.name(values.text(value))
    meant = word if word in STATUSES else MEANT.get(statuses.pure(word) or "")
    return next((each for each in STATUSES if each == meant), None)


_StatusWord = Annotated[
    Literal["pending", "active", "completed", "failed"], BeforeValidator(lambda value: read_status(value) or value)
]


class PhaseEntry(BaseModel):
    """A phase in the file (R000-07)."""

    model_config = ConfigDict(extra="allow")

    id: lenient.Text = ""
    title: lenient.Text = ""
    agent: lenient.Text = ""
    status: _StatusWord = "pending"
    deliverables: lenient.Texts = []
    context_for_next: lenient.Text = ""


class State(BaseModel):
    """The file (R000-02); people may add the keys of other formats, which are understood too."""

    model_config = ConfigDict(extra="allow")

    id: lenient.Name
    task: lenient.Name
    status: _StatusWord | None = None
    current_phase: Any = None
    phases: list[PhaseEntry]
    workflow_type: lenient.Text = ""
    required_reading: Any = None
    key_reminders: Any = None
    context: Any = None


def check(path: Path, data: Mapping[str, Any]) -> None:
    """Raise SchemaMismatch unless a file has this schema (I000-20, lesson 2)."""
    if fault := mismatch(data):
        raise SchemaMismatch(path, f"isn't a hybrid workflow ({fault[1]}); it is left alone")


def mismatch(data: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the field for which a file isn't of this format, and what is wrong with it; None if it is."""
    for field, types, wanted in (
        ("id", (str, int, float), "a text"),
        ("task", (str, int, float), "a text"),
        ("phases", (list,), "a list"),
    ):
        if not isinstance(data.get(field), types):
            return field, f'"{field}" must be {wanted}'
    if data["phases"] and not any(_is_phase(each, titles="current_phase" in data) for each in data["phases"]):
        return "phases[0]", '"phases[0]" and the others have no "title"'
    return None


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
    entry = phase if isinstance(phase, dict) else {"title": values.text(phase)}
    keys = {"id": f"phase_{number}", "title": "", "agent": "", "status": "pending"}
    whole = {**keys, "deliverables": [], "context_for_next": "", **entry}
    return whole if values.text(whole["id"]).strip() else {**whole, "id": keys["id"]}


def position(data: Mapping[str, Any], phase: Any) -> int | None:
    """Return the index of the phase with this id, or None. A number that is no id counts as the index (I000-2).

    If several phases have the id, the first that isn't completed is meant, because phases run in order.
    """
    phases, wanted = data["phases"], values.text(phase)
    same = [number for number, each in enumerate(phases) if values.text(complete(each, number)["id"]) == wanted]
    if same:
        left = (number for number in same if read_status(complete(phases[number], number)["status"]) != "completed")
        return next(left, same[0])
    index = values.number(phase)
    return index if index is not None and 0 <= index < len(phases) else None


def workflow(root: Path, file: StateFile) -> Workflow:
    """Return the state file as a workflow, with a warning for everything that doesn't follow the schema."""
    data, warnings = file.data, list[str]()
    state, phases = _read(data, warnings)
    _warn_of_same_ids(phases, warnings)
    current = _current(data, phases, warnings)
    return Workflow.of(
        file.document,
        root=root,
        recovered=bool(file.broken),
        format=NAME,
        id=state.id,
        title=state.task,
        kind=state.workflow_type,
        status=_status(state.status, values.text(data.get("status")), phases, warnings),
        phases=phases,
        current=None if current is None else phases[current],
        reading=values.entries(state.required_reading, "required_reading", warnings),
        reminders=values.texts(state.key_reminders, "key_reminders", warnings),
        context=values.mapping(state.context, "context", warnings),
        warnings=warnings,
    )


def read_phases(data: Mapping[str, Any]) -> tuple[Phase, ...]:
    """Return the phases in a state."""
    return _read(data, [])[1]


def _read(data: Mapping[str, Any], warnings: list[str]) -> tuple[State, tuple[Phase, ...]]:
    wrong = [number for number, each in enumerate(data["phases"]) if not isinstance(each, dict)]
    warnings += [values.deviation(f"phases[{number}]", "is not an object") for number in wrong]
    whole = {**data, "phases": [complete(each, number) for number, each in enumerate(data["phases"])]}
    state = lenient.read(State, whole, warnings)
    phases = (
        Phase(
            id=each.id or f"phase_{number}",
            number=number + 1,
            title=each.title or f"Phase {number}",
            status=each.status,
            agent=each.agent,
            deliverables=tuple(item for item in each.deliverables if item.strip()),
            handover=each.context_for_next,
        )
        for number, each in enumerate(state.phases)
    )
    return state, tuple(phases)


def _is_phase(entry: Any, *, titles: bool) -> bool:
    """Return whether a phase can be of this format: it may be incomplete, but not another tool's.

    A mere title counts only with `titles`, because many tools have lists of titles.
    """
    if isinstance(entry, dict):
        return any(key in entry for key in _TELLING) or (bool(entry) and set(entry) <= set(_PHASE_KEYS))
    return titles and isinstance(entry, str)


def _warn_of_same_ids(phases: tuple[Phase, ...], warnings: list[str]) -> None:
    known: set[str] = set()
    for phase in phases:
        if phase.id in known:
            field = f"phases[{phase.number - 1}].id"
            warnings.append(values.deviation(field, f'is "{phase.id}", which another phase has'))
        known.add(phase.id)


def _current(data: Mapping[str, Any], phases: tuple[Phase, ...], warnings: list[str]) -> int | None:
    """Return the current phase's index; if the file names none, that of the active phase."""
    named = data.get("current_phase")
    index = None if named in (None, "") else position(data, named)
    if index is None and named not in (None, ""):
        warnings.append(values.deviation("current_phase", f'is "{values.text(named)}", which isn\'t a phase'))
    return index if index is not None else next((p.number - 1 for p in phases if p.status == "active"), None)


def _status(found: Status | None, written: str, phases: tuple[Phase, ...], warnings: list[str]) -> Status:
    running = [phase.id for phase in phases if phase.status == "active"]
    begun = [phase.id for phase in phases if phase.status in ("active", "failed")]
    if len(running) > 1:
        text = f"{', '.join(running)} are active at once; only one phase can be"
        warnings.append(values.Deviation(text, "phases"))
    if found == "completed" and begun:  # it may have been ended before its last phases began
        are = "is" if len(begun) == 1 else "are"
        warnings.append(values.deviation("status", f'is "completed", but {", ".join(begun)} {are} not'))
    if phases and found != "completed" and all(phase.status == "completed" for phase in phases):
        warnings.append(values.deviation("status", f'is "{written}", but all phases are completed'))
        return "completed"
    if found is not None:
        return found
    if not written:
        warnings.append(values.deviation("status", f'is "", not one of {", ".join(STATUSES)}'))
    statuses = {phase.status for phase in phases}
    return "failed" if "failed" in statuses else "active" if statuses & {"active", "completed"} else "pending"
