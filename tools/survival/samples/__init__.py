"""What a format provides for the demo, the score and tests: how its workflows are begun and written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    """The module `sample` in a format's folder. It may also have the functions below."""

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
