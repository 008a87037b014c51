"""Samples of each format: how its workflows are begun, and how people write them by hand."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from holdfast import formats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.formats.described.description import Description

FORMATS = tuple(name for name in formats.OURS if Path(__file__).with_name(f"{name}.py").is_file())
"""The formats that have a sample: the module of their name in this folder."""
_NEEDED = frozenset(("title", "reading", "reminders", "context"))  # by a sample of a format without code


class Unit(Protocol):
    """One step of a planned workflow."""

    title: str
    agent: str
    handover: str
    deliverable: str


class Planned(Protocol):
    """A workflow to write to files: its name, its steps and what else it holds."""

    title: str
    current: int
    """The number of the current step, from 1."""
    reading: list[str]
    reminders: list[str]
    decisions: list[str]
    request: str
    context: dict[str, str]

    @property
    def phases(self) -> Sequence[Unit]:
        """All of its steps."""

    @property
    def variables(self) -> Mapping[str, str | list[str]]:
        """All values of its context: `context`, decisions and the request."""


class Sample(Protocol):
    """A module of this folder. It may also have the functions below."""

    KIND: str
    """A type that `holdfast start` takes for it."""
    BEGINS: bool
    """Whether `holdfast start` begins its first step; else `holdfast next` does."""
    DELIVERS: bool
    """Whether a step stores deliverables besides its hand-over."""


@runtime_checkable
class WritesState(Protocol):
    """A sample that knows how people write the state file by hand."""

    def state(self, planned: Planned, *, finished: bool = False) -> tuple[str, str]:
        """Return the file's path and text; with `finished`, all steps are done."""


@runtime_checkable
class Described(Protocol):
    """A sample of a format without code."""

    @property
    def described_in(self) -> str:
        """The file that describes it."""


@runtime_checkable
class WritesSource(Protocol):
    """A sample of a format that takes workflows over from people's own files."""

    def source(self, planned: Planned) -> tuple[str, str]:
        """Return such a file's path and text, which name only the current step."""


def of(name: str) -> Sample:
    """Return the sample of a format, also of one without code that the open project has."""
    if name not in formats.DESCRIBED:
        return cast("Sample", import_module(f"{__name__}.{name}"))
    from tools.survival.samples import described  # not above: it imports this module

    return described.Sample(_rules(name))


def described_formats() -> list[str]:
    """Return the formats without code that the open project has and that can be played."""
    return [name for name in formats.DESCRIBED if set(_rules(name).workflow) >= _NEEDED and "note" in _rules(name).unit]


def _rules(name: str) -> Description:
    return cast("Description", formats.DESCRIBED[name].rules)
