"""The formats a workflow can be kept in, a folder each; anybody may know its record without loading the rest."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast


class Record(Protocol):
    """What `formats/NAME/record.py` says of a format: constants, for which nothing is imported.

    Paths and patterns are relative to a project's root.
    """

    NAME: str
    """As `--format` and `holdfast.toml` have it, and the folder's name."""
    RANK: int
    """Its place among the formats, from 0: where nothing else decides, the lower one comes first."""
    ADAPTER: str
    """The module that does the work (`workflow.model.Format`), loaded when something lies at a path of PRESENCE."""
    AGENTS: bool
    """Whether agents work on its units, so that these move as agents end (`workflow.model.AgentFormat`)."""
    UNIT: str
    """The word for what a workflow consists of: phase, task."""
    IN_ORDER: bool
    """Whether its units are worked on one after the other: then they are called by number (`phase 2/5`), and one that
    is blocked holds up the workflow. Else they are called by id and counted, and one that is blocked is left."""
    SPREAD: bool
    """Whether a workflow has a folder for itself, with its units in files of their own."""
    PRESENCE: tuple[str, ...]
    """The files and folders without which a project has no workflow of this format."""
    TOP: str
    """The folder that holds its state."""
    STATES: tuple[str, ...]
    """The files that hold state."""
    VIEWS: tuple[str, ...]
    """The files that repeat the state or go with it: lists, plans, summaries."""
    LISTS: tuple[str, ...]
    """Those of them that list what is to be done, and are never read back."""
    SHARED: str
    """What of all this git sees, for a team to commit or to ignore as it likes. A TOP that holds nothing of it is this
    machine's, and is kept out of git from the start."""
    VERBS: tuple[str, ...]
    """The lines of the guidance that say by which commands its state is moved on; none for the common ones."""
    REOPENING: str
    """How a person opens what is completed again; `{id}` stands for the workflow's."""
    COMMANDS: str
    """The line of help for the group of commands `holdfast NAME`, which `formats/NAME/commands` has as `command`; empty
    where there is none."""
    MODEL_VERBS: tuple[str, ...]
    """What of these a model needs to keep a workflow; what is for people is not among them."""
    CHECK: tuple[str, str]
    """What `holdfast doctor` calls the check that `formats/NAME/checks` has as `look`, and what that looks at; empty
    words where there is none."""


def _records() -> dict[str, Record]:
    folders = (path.parent.name for path in Path(__file__).parent.glob("*/record.py"))
    found = (cast("Record", import_module(f"{__name__}.{name}.record")) for name in folders)
    return {each.NAME: each for each in sorted(found, key=lambda record: record.RANK)}


RECORDS: dict[str, Record] = _records()
"""Every format there is, by its name, in the order of their ranks."""
NAMES = tuple(RECORDS)
WITH_AGENTS = tuple(name for name, record in RECORDS.items() if record.AGENTS)
"""The formats whose units are worked on by agents."""
