"""The record of a format: the constants in `formats/NAME/record.py`, or in the index for other packages' formats."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass
class Record:
    """The constants of a format's record. It imports nothing, so asking for it costs nothing else.

    Paths and patterns are relative to the project's root.
    """

    NAME: str = ""
    """The name for `--format` and `holdfast.toml`, and of the folder."""
    RANK: int = 0
    """Its place among the formats, from 0; a new one takes the next free number. The lower rank wins if nothing else
    decides."""
    MODULE: str = ""
    """The module that reads and writes its files (`workflow.format.Format`). Loads only if a PRESENCE path exists."""
    AGENTS: bool = False
    """Whether agents work on its units (`workflow.format.Format`), which then move as agents finish."""
    UNIT: str = "step"
    """The word for one step of a workflow: phase, task."""
    IN_ORDER: bool = True
    """Whether units follow one another. Then they are named by number (`phase 2/5`), otherwise by id."""
    FINAL: tuple[str, ...] = ("completed",)
    """The statuses of a workflow that are final: `completed`, and `failed` if that is for good.

    The adapter says whether a workflow is paused (`Workflow.paused`).
    """
    RETRIED: tuple[str, ...] = ("failed",)
    """The statuses of a unit that end an attempt, so that another may begin.

    If `blocked` isn't among them, a blocked unit holds up the workflow and goes on as the same attempt.
    """
    SPREAD: bool = False
    """Whether a workflow has its own folder, with its units in separate files."""
    SEVERAL: bool = False
    """Whether a project may have several unfinished workflows of this format."""
    PRESENCE: tuple[str, ...] = ()
    """Files or folders. Every project with such a workflow has at least one of them."""
    TOP: str = ""
    """The folder that holds its state."""
    STATES: tuple[str, ...] = ()
    """The state files. A pattern that ends in `/*.extra.json` names a folder for their extras (`workflow.places`)."""
    VIEWS: tuple[str, ...] = ()
    """Files that are generated from the state or belong to it: lists, plans, summaries."""
    LISTS: tuple[str, ...] = ()
    """The views that list open work. Holdfast never reads them back."""
    SOURCES: tuple[str, ...] = ()
    """People's own files that describe workflows.

    The format's `detector` takes these over at events and says what is in them (`workflow.format.Detector`).
    """
    SHARED: str = ""
    """The path that a team may commit, or empty. If that isn't TOP, `workflow.statefile` has git ignore TOP with the
    first file that it writes there."""
    REOPENING: str = "`holdfast reopen`"
    """What to do to open a completed workflow again; `{id}` stands for its id."""
    DEFINITIONS: str = ""
    """The kind of definition that its workflows follow, which is its folder's name in `.claude/`; empty without one.

    `holdfast formats trust` trusts a project's (`workflow.definitions`).
    """
    COMMANDS: str = ""
    """The line of help for `holdfast NAME`, the commands in its module `verbs`; empty without one."""
    FORMER: tuple[str, ...] = ()
    """What replaces its commands that are gone: `"wfs pause = `holdfast cancel` pauses a session"`."""


REQUIRED = ("NAME", "MODULE", "TOP", "PRESENCE", "STATES")
"""The constants that a record must have; each of the others has its usual value."""


def completed(constants: Mapping[str, Any]) -> Record:
    """Return a record of these constants. A missing one gets its usual value, or an empty one."""
    return Record(**{key: value for key, value in constants.items() if key in Record.__annotations__})


def misshapen(constants: Mapping[str, object]) -> Iterator[str]:
    """Yield why constants are no valid record: one is missing or has another type."""
    for key, kind in Record.__annotations__.items():
        value = constants.get(key)
        if key not in constants:
            if key in REQUIRED:
                yield f"its record has no {key}"
        elif type(value) is not type(getattr(Record, key)) or (
            isinstance(value, tuple) and not all(isinstance(each, str) for each in value)
        ):
            yield f"{key} in its record is no {kind}"


def packages(raw: bytes) -> dict[str, str]:
    """Return the packages that an index names, by their formats; none if it can't be read."""
    try:
        return {str(each["name"]): str(each["package"]) for each in json.loads(raw)["formats"]}
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}


def listed(raw: bytes) -> list[Record]:
    """Return the valid records in an index, in their order; none if the index can't be read."""
    try:
        entries = [each["record"].items() for each in json.loads(raw)["formats"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []
    found = [{key: tuple(each) if isinstance(each, list) else each for key, each in entry} for entry in entries]
    return [completed(each) for each in found if not any(misshapen(each))]
