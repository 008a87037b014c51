"""The formats a workflow can be kept in: one folder each, known to all others by its record alone."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from holdfast.formats.record import Record
    from holdfast.formats.sample import Sample


def _records() -> dict[str, Record]:
    folders = [name for name in os.listdir(__path__[0]) if "." not in name and not name.startswith("_")]  # noqa: PTH208
    found: list[Record] = [import_module(f"{__name__}.{name}.record") for name in folders]
    return {each.NAME: each for each in sorted(found, key=lambda record: record.RANK)}


RECORDS = _records()
"""Every format's record by its name, in the order of their ranks."""
NAMES = tuple(RECORDS)
WITH_AGENTS = tuple(name for name, record in RECORDS.items() if record.AGENTS)
"""The formats whose units agents work on."""
STATES_CHECK = "states"
"""The check that all formats have in common, as a record's CHECK."""


def module(name: str, part: str) -> str:
    """Return the name of a module in a format's folder, such as its `commands`."""
    return f"{__name__}.{name}.{part}"


def samples() -> dict[str, Sample]:
    """Load the samples of the formats that have one, and return them by format."""
    return {name: cast("Sample", import_module(module(name, "sample"))) for name in NAMES if RECORDS[name].SAMPLE}
