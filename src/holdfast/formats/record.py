"""What a format says of itself in `formats/NAME/record.py`."""

from __future__ import annotations

from typing import Protocol


class Record(Protocol):
    """The constants of a format's record. It imports nothing, so asking for it costs nothing else.

    Paths and patterns are relative to the project's root.
    """

    NAME: str
    """The name for `--format` and `holdfast.toml`, and of the folder."""
    RANK: int
    """Its place among the formats, from 0. The lower rank wins where nothing else decides."""
    ADAPTER: str
    """The module that reads and writes its files (`workflow.registry.Format`). It loads where a path of PRESENCE is."""
    DETECTOR: str
    """The module that saves what people describe in files of their own (`workflow.registry.Detector`), if any."""
    AGENTS: bool
    """Whether agents work on its units (`workflow.registry.AgentFormat`), which then move as agents finish."""
    UNIT: str
    """The word for one step of a workflow: phase, task."""
    IN_ORDER: bool
    """Whether units follow one another. Then they go by number (`phase 2/5`), and a blocked one holds up the workflow.
    Otherwise they go by id, and a blocked one is left while others go on."""
    SPREAD: bool
    """Whether a workflow has a folder to itself, with its units in files of their own."""
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
    SHARED: str
    """What a team may commit, or nothing. If TOP isn't part of it, git ignores TOP from the start."""
    VERBS: tuple[str, ...]
    """Lines of the guidance that name the commands that move a workflow; empty for the common ones."""
    REOPENING: str
    """How you reopen a completed workflow; `{id}` stands for its id."""
    COMMANDS: str
    """The line of help for `holdfast NAME`, the `command` of `formats/NAME/commands`; empty without one."""
    MODEL_VERBS: tuple[str, ...]
    """Its own commands that a model needs, without those meant for people."""
    CHECK: str
    """The name of its `holdfast doctor` check, the `look` of `formats/NAME/checks`; empty without one."""
