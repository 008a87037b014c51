"""The content of a `compaction` state file: its schema (R001-05), read leniently, and the workflow in it."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, StrictInt

from holdfast.clock import from_mtime, parse, stamp
from holdfast.errors import LedgerError
from holdfast.formats.compaction import record
from holdfast.formats.compaction.detection import memory_file, plan_file, plan_phases
from holdfast.formats.compaction.detection.extract import NEXT_STEP
from holdfast.workflow import lenient, names, statuses, text_file, values
from holdfast.workflow.model import UNKNOWN, Phase, Status, Workflow, changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

NAME = "compaction"
FOLDER = "untracked/workflow-state"
TYPES = ("planning", "qa-loop", "implementation", "custom")  # R001-06
# Holdfast's keys in the free `context` (R001-05). ENDED_EARLY says that the workflow is over although phases are left.
PHASES, NOTES, ENDED_EARLY = "phases", "phase_notes", "ended_early"
DERIVED = "derived_from"  # key in a state's context: the plan, relative to the root
PLACE, DIGEST = "source", "state"  # keys in the ledger: the source, and the hash of the state as a save made it
_MEMORY, _ = record.SOURCES

FIND = "find the current phase in the plan"  # the next step where the position is unknown
STATUS: dict[str, Status] = {
    "not_started": "pending",
    "in_progress": "active",
    "completed": "completed",
    "blocked": "blocked",
}
"""The status words of R001-07 and what they are called in every format."""
WORDS: dict[Status, str] = {status: word for word, status in STATUS.items()}
_COUNTS = {"planning": (6,), "qa-loop": (2, 3)}  # how many phases a type usually has (I001-22)
_OTHER_KEYS = ("workflow_type", "phase", "required_reading", "key_reminders", "created_at")


def _time(text: str) -> str:
    if parse(text) is None:
        raise ValueError("it isn't a time")
    return text


def _status_word(value: Any) -> Any:
    """Return the word of R001-07 for a status, ignoring signs around it and other spellings."""
    return memory_file.WORDS.get(statuses.pure(value) or "", value) if isinstance(value, str) else value


class _PhaseObject(BaseModel):
    """The phase object of a state file."""

    current: StrictInt = 1
    total: StrictInt = 1
    name: str = ""
    status: Annotated[Literal["not_started", "in_progress", "completed", "blocked"], BeforeValidator(_status_word)] = (
        "in_progress"
    )


class _State(BaseModel):
    """The other fields of a state file. Only lists and context may be missing."""

    workflow: str = ""
    workflow_type: Literal["", "planning", "qa-loop", "implementation", "custom"] = ""
    required_reading: list[str] = []
    key_reminders: list[str] | None = None
    context: dict[str, Any] | None = None
    created_at: Annotated[str, AfterValidator(_time)] = ""


_Model = TypeVar("_Model", bound=BaseModel)


def _read(model: type[_Model], data: Mapping[str, Any], prefix: str, warnings: list[str]) -> _Model:
    """Return a model of a file's data, with a warning for each value that doesn't fit or is missing or blank.

    `prefix` comes before a field's name in the warnings.
    """
    written = {name: data[name] for name in model.model_fields if values.text(data.get(name)).strip()}
    missing = [name for name, field in model.model_fields.items() if field.default is not None and name not in written]
    warnings += [values.deviation(f"{prefix}{name}", "is missing or empty") for name in missing]
    return lenient.read(model, written, warnings, prefix)


class Position(NamedTuple):
    """Where a workflow is: 1 <= current <= total (I001-17); `word` is a status word of R001-07.

    `counted` is False if the file gives no total or says that the position is unknown. `beyond` is True if it gives a
    phase after the last.
    """

    current: int
    total: int
    name: str
    word: str
    counted: bool = True
    beyond: bool = False

    @property
    def sure(self) -> bool:
        """Whether it is known which phase is the last."""
        return self.counted and not self.beyond


def is_ours(data: Mapping[str, Any]) -> bool:
    """Return whether a state has this format: a name and another key or, without a name, its phase and another key."""
    others = [key for key in _OTHER_KEYS if key in data]
    if data.get("workflow") is not None:
        return isinstance(data["workflow"], (str, int, float)) and bool(others)
    phase = data.get("phase")
    return isinstance(phase, dict) and "current" in phase and len(others) > 1


def read_position(data: Mapping[str, Any], warnings: list[str]) -> Position:
    """Return the position in a state file. Numbers out of bounds are corrected, with a warning.

    The phase is an object, or a text such as `2/5 - Build`, which may also be its "current".
    """
    written = data.get("phase")
    phase = dict(written) if isinstance(written, dict) else {"current": written}
    number, total = values.number(phase.get("current")), values.number(phase.get("total"))
    if number is None:
        number, of, name = plan_phases.position(values.text(phase.get("current")).strip())
        if total is None and of is not None:
            total = phase["total"] = of
        phase["name"] = phase.get("name") or name
    first = 1 if number is None else number
    last = max(first, 1) if total is None else total
    if not isinstance(written, dict):
        warnings.append(values.deviation("phase", f"is not an object; phase {first} of {last} is taken"))
        phase |= {"current": first, "total": last}
    read = _read(_PhaseObject, phase, "phase.", warnings)
    bounded = min(max(first, 1), max(last, 1)), max(last, 1)
    if bounded != (first, last):
        text = f"phase {first} of {last} is not possible; {bounded[0]}/{bounded[1]} is taken"
        warnings.append(values.Deviation(text, "phase.current"))
    name = read.name.strip()
    return Position(*bounded, name, read.status, total is not None and name != UNKNOWN, first > last)


def with_phase(data: Mapping[str, Any], now: Position, **changes: Any) -> dict[str, Any]:
    """Return a state's phase object with some values changed: `current`, `total`, `name`, `status`. None is no change.

    An unchanged value stays as it was written, whatever it is. A missing one is filled in.
    """
    phase = data.get("phase")
    written = dict(phase) if isinstance(phase, dict) else {}
    read = {"current": now.current, "total": now.total, "name": now.name, "status": now.word}
    if not now.counted:
        del read["total"]  # a guess is not written
    missing = {key: value for key, value in read.items() if key not in written}
    return {**written, **missing, **{key: value for key, value in changes.items() if value is not None}}


def view(project: Records, file: StateFile) -> Workflow:
    """Return a state file as a workflow, with a warning or remark for everything that isn't as R001-05 asks.

    The warnings are about the position, which the guidance may have wrong. The document's own examples get none
    (R001-10).
    """
    warnings, remarks = list[str](), list[str]()
    state = _read(_State, file.data, "", remarks)
    where = read_position(file.data, warnings)
    title = state.workflow.strip() or file.path.parent.name
    if where.total not in _COUNTS.get(state.workflow_type, (where.total,)):
        usual = " or ".join(map(str, _COUNTS[state.workflow_type]))
        text = f"a {state.workflow_type} workflow usually has {usual} phases, not {where.total}"
        remarks.append(values.Deviation(text, "phase.total"))
    context = dict(read_context(file.data))
    steps = context.pop(NEXT_STEP) if isinstance(context.get(NEXT_STEP), dict) else {}
    titles, notes = _titles(context), _notes(context)
    status, ended = "completed" if context.get(ENDED_EARLY) is True else _status(where), ""
    if status != "completed":
        basis = source_of(project, file)
        ended = source_ended(project.root, basis, title, file.document.mtime)
        status = "completed" if ended and basis.derived else status
    shown_elsewhere = {*([PHASES] if titles else []), *([NOTES] if notes else [])}
    return Workflow(
        format=NAME,
        id=file.path.stem,
        title=title,
        kind=values.text(file.data.get("workflow_type")).strip(),
        status=status,
        phases=_phases(where, titles, notes),
        current=where.current,
        total=where.total,
        phase=where.name,
        phase_status=STATUS[where.word],
        reading=values.entries(file.data.get("required_reading"), "required_reading", []),
        reminders=values.texts(file.data.get("key_reminders"), "key_reminders", []),
        context={key: value for key, value in context.items() if key not in shown_elsewhere},
        created_at=state.created_at,
        updated_at=changed(file.data, file.document.mtime),
        path=file.path,
        raw=file.document.raw,
        root=project.root,
        origin="plan" if context.get(DERIVED) else "agent",
        next_step=FIND if where.name == UNKNOWN else values.text(steps.get(str(where.current))),
        plan_at=_plan_at(project, context),
        warnings=tuple(warnings),
        recovered=bool(file.broken),
        ended=ended,
        remarks=tuple(remarks),
    )


def fresh(name: str, kind: str, where: Position, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a new state file in the schema's key order; an unknown type becomes custom (I001-8).

    `content` has "reading", "reminders" and "context". `created_at` is set only here (R001-09).
    """
    return {
        "workflow": name,
        "workflow_type": kind if kind in TYPES else "custom",
        "phase": with_phase({}, where),
        "required_reading": [values.at(entry) for entry in dict.fromkeys(content["reading"])],
        "context": dict(content["context"]),
        "key_reminders": list(dict.fromkeys(content["reminders"])),
        "created_at": stamp(),
    }


def read_context(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state's context; one that isn't an object is a value in it."""
    return values.mapping(data.get("context"), "context", [])


def titled(data: dict[str, Any], number: int, title: str) -> dict[str, Any]:
    """Return the state with a phase's title added to the list in its context.

    A list that isn't Holdfast's, or a title that is there already, stays as it is.
    """
    context = read_context(data)
    listed = context.get(PHASES, [])
    if not title or title == f"Phase {number}" or (listed and not _titles(context)) or not isinstance(listed, list):
        return data
    titles = [*listed, *[""] * (number - len(listed))]
    old = titles[number - 1]
    titles[number - 1] = {**old, "title": title} if isinstance(old, dict) else title
    return data if titles == listed else {**data, "context": {**context, PHASES: titles}}


def read_phases(data: Mapping[str, Any]) -> list[Phase]:
    """Return every phase of a state, those included of which only the number is known."""
    where, context = read_position(data, []), read_context(data)
    known = {each.number: each for each in _phases(where, _titles(context), _notes(context))}
    return [known.get(number) or _unnamed(where, number) for number in range(1, where.total + 1)]


def _plan_at(project: Records, context: Mapping[str, Any]) -> str:
    """Return when the plan that a workflow was derived from last changed (UTC stamp); empty without one."""
    with suppress(OSError, ValueError):
        if place := values.text(context.get(DERIVED, "")):
            return stamp(from_mtime((project.root / place).stat().st_mtime))
    return ""


def _status(where: Position) -> Status:
    if where.word == "completed":
        return "completed" if where.current == where.total and where.sure else "active"
    return "active" if where.word == "not_started" and where.current > 1 else STATUS[where.word]


def _titles(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (title, agent) of each phase listed in the context; empty if the list isn't Holdfast's."""
    listed = context.get(PHASES)
    if not isinstance(listed, list) or not all(isinstance(item, (str, dict)) for item in listed):
        return []
    items = [{"title": item} if isinstance(item, str) else item for item in listed]
    return [(values.text(item.get("title")), values.text(item.get("agent"))) for item in items]


def _notes(context: Mapping[str, Any]) -> dict[int, str]:
    """Return each finished phase's hand-over by its number; empty if the object isn't Holdfast's."""
    notes = values.members(context.get(NOTES))
    if not all(key.isdecimal() and isinstance(note, str) for key, note in notes.items()):
        return {}
    return {int(key): note for key, note in notes.items()}


def _unnamed(where: Position, number: int) -> Phase:
    return Phase(f"phase_{number}", number, f"Phase {number}", "completed" if number < where.current else "pending")


def _phases(where: Position, titles: Sequence[tuple[str, str]], notes: Mapping[int, str]) -> tuple[Phase, ...]:
    known = dict(enumerate(titles, start=1))
    phases = []
    for number in sorted({*known, *notes, where.current}):
        title, agent = known.get(number, ("", ""))
        unnamed = _unnamed(where, number)
        phase = unnamed._replace(title=title or unnamed.title, agent=agent, handover=notes.get(number, ""))
        if number == where.current:
            phase = phase._replace(title=where.name or phase.title, status=STATUS[where.word])
        phases.append(phase)
    return tuple(phase for phase in phases if phase.number <= where.total)


class Source(NamedTuple):
    """The file that a save made a state from.

    Attributes:
        place: its path relative to the root; empty if an agent made the state.
        derived: whether the state is still as the save made it, so that its source decides about it (I001-9).
        seen: whether this project's ledger saw the source. Elsewhere it may never have existed.
    """

    place: str
    derived: bool
    seen: bool


def source_of(project: Records, file: StateFile) -> Source:
    """Return the file that a save made a state from."""
    last = None
    with suppress(LedgerError):
        last = project.remembered(file.path)
    if mark := values.text(values.mapping(file.data.get("context"), "context", []).get(DERIVED, "")):
        return Source(mark, derived=True, seen=last is not None)
    made = last["content"].get(DIGEST) if last else ""
    return Source(last["content"][PLACE] if last and made else "", made == digest(file.document.raw), seen=True)


def digest(raw: bytes) -> str:
    """Return the hash of a state file's content."""
    return hashlib.sha256(raw).hexdigest()


def source_ended(root: Path, source: Source, title: str, since: float) -> str:
    """Say why a workflow's source no longer describes it as unfinished; empty while it does.

    A source that didn't change after the state is not read: the later of the two counts (I001-6).

    Args:
        root: the project's root.
        source: the source.
        title: the workflow's title.
        since: when the state file was last changed, in seconds since 1970.
    """
    if not any(fnmatchcase(source.place, pattern) for pattern in record.SOURCES):
        return ""
    path, place = root / source.place, source.place
    try:
        written = text_file.read(path, root) if path.stat().st_mtime >= since else None
    except (FileNotFoundError, NotADirectoryError):
        return f"{place} is gone" if source.seen else ""
    except (OSError, ValueError):
        return ""
    if written is None or not written.whole:
        return ""
    if place == _MEMORY:
        return "" if _is_named(written.text, title) else f"{place} no longer names it as unfinished"
    ending = plan_file.ending(written.text)
    return f"in {place} {ending}" if ending else ""


def _is_named(text: str, title: str) -> bool:
    """Return whether a memory file names a workflow and doesn't call it dropped."""
    named = (block for block in memory_file.blocks(text) if names.key(block.name) == names.key(title))
    return any(not block.ending for block in named)
