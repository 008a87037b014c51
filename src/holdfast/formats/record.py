"""What a format says of itself in `formats/NAME/record.py`, or in the index if another package brings it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Record(Protocol):
    """The constants of a format's record. It imports nothing, so asking for it costs nothing else.

    Paths and patterns are relative to the project's root.
    """

    NAME: str
    """The name for `--format` and `holdfast.toml`, and of the folder."""
    RANK: int
    """Its place among the formats, from 0; a new one takes the next free number. The lower rank wins where nothing
    else decides."""
    ADAPTER: str
    """The module that reads and writes its files (`workflow.registry.Format`). It loads where a path of PRESENCE is."""
    AGENTS: bool
    """Whether agents work on its units (`workflow.registry.AgentFormat`), which then move as agents finish."""
    UNIT: str
    """The word for one step of a workflow: phase, task."""
    IN_ORDER: bool
    """Whether units follow one another. Then they go by number (`phase 2/5`), otherwise by id."""
    FINAL: tuple[str, ...]
    """The statuses of a workflow after which nothing follows: `completed`, and `failed` if that is for good. Whether a
    workflow is paused its adapter says (`Workflow.paused`)."""
    RETRIED: tuple[str, ...]
    """The statuses of a unit that end an attempt, so that another may begin. One that is blocked and isn't among them
    holds up the workflow, and goes on as the same attempt."""
    SPREAD: bool
    """Whether a workflow has a folder to itself, with its units in files of their own."""
    SEVERAL: bool
    """Whether a project may have several unfinished workflows of it."""
    PRESENCE: tuple[str, ...]
    """Files or folders, one of which every project with such a workflow has."""
    TOP: str
    """The folder that holds its state."""
    STATES: tuple[str, ...]
    """The state files."""
    VIEWS: tuple[str, ...]
    """Files that follow from the state: lists, plans, summaries."""
    LISTS: tuple[str, ...]
    """The views that list what is to be done. Holdfast never reads them back."""
    SOURCES: tuple[str, ...]
    """Files that people keep for themselves, from which it takes workflows over: its `detector` does so at events
    (`workflow.registry.Detector`), its `outlook` says what is in them."""
    SHARED: str
    """What a team may commit, or nothing. If that isn't TOP, `workflow.statefile` has git ignore TOP with the first
    file that it writes there."""
    VERBS: tuple[str, ...]
    """Lines of the guidance that name the commands that move a workflow; empty for the common ones."""
    REOPENING: str
    """How you reopen a completed workflow; `{id}` stands for its id."""
    COMMANDS: str
    """The line of help for `holdfast NAME`, the `command` of `formats/NAME/commands`; empty without one."""
    MODEL_VERBS: tuple[str, ...]
    """Its own commands that a model needs, without those meant for people."""
    CHECK: str
    """The name of its `holdfast doctor` check, the `look` of `formats/NAME/checks`; empty without one. As `states` it
    adds to the check that all formats share."""
    SAMPLE: bool
    """Whether its `sample` says how its workflows are begun and written, for the demo, the score and tests."""


REQUIRED = ("NAME", "ADAPTER", "TOP", "PRESENCE", "STATES")
"""What the record of another package must say. All else it may leave out, as one does that is older than a constant."""
_USUAL: dict[str, object] = {
    "UNIT": "step",
    "IN_ORDER": True,
    "FINAL": ("completed",),
    "RETRIED": ("failed",),
    "REOPENING": "an earlier content of its file does, which `holdfast log restore` puts back",
}
_EMPTY: dict[str, object] = {"str": "", "int": 0, "bool": False, "tuple[str, ...]": ()}
_KINDS = {kind: type(empty) for kind, empty in _EMPTY.items()}


def completed(constants: Mapping[str, object]) -> Record:
    """Return a record of these constants. What they leave out is what it usually is, or empty."""
    empty = {key: _EMPTY[kind] for key, kind in Record.__annotations__.items()}
    return cast("Record", SimpleNamespace(**{**empty, **_USUAL, **constants}))


def misshapen(constants: Mapping[str, object]) -> Iterator[str]:
    """Yield what makes constants no record: one that is missing, or of another kind."""
    for key, kind in Record.__annotations__.items():
        given, wanted = constants.get(key), _KINDS[kind]
        if key not in constants:
            if key in REQUIRED:
                yield f"its record has no {key}"
        elif type(given) is not wanted or (isinstance(given, tuple) and not all(isinstance(e, str) for e in given)):
            yield f"{key} in its record is no {kind}"


def listed(raw: bytes) -> list[Record]:
    """Return the records in an index, in their order, without what is no record; none of one that can't be read."""
    import json

    try:
        entries = [each["record"].items() for each in json.loads(raw)["formats"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []
    found = [{key: tuple(each) if isinstance(each, list) else each for key, each in entry} for entry in entries]
    return [completed(each) for each in found if not any(misshapen(each))]
