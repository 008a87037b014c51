"""What formats and state files ask of whoever remembers a project's workflows; they know no ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.workflow.model import Workflow

Outcome = Literal["completed", "failed", "skipped"]


class StepRun(NamedTuple):
    """What came of a step.

    Attributes:
        step: its name.
        outcome: how it ended.
        output: what it put out; secrets are masked.
        failures: how often it has failed since it was taken the last time.
        at: when, last (UTC stamp).
    """

    step: str
    outcome: Outcome
    output: str
    failures: int
    at: str


class Records(Protocol):
    """A project with what is remembered of its workflows.

    What raises LedgerError raises it where the memory refuses. `keep`, `observe` and `shelve` log that instead, for no
    change of a workflow fails because of it.
    """

    @property
    def root(self) -> Path:
        """The project's root, absolute, links resolved."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    @property
    def problem(self) -> str | None:
        """Why nothing is remembered after this run; None if it is."""

    def contains(self, path: Path) -> bool:
        """Tell whether a path lies in this project. Raises ValueError for what no path can be."""

    # Earlier contents of files.

    def keep(self, path: Path, raw: bytes, *, why: str) -> str | None:
        """Keep a content of a file; return the generation's id, None if it is not kept or is the latest already."""

    def latest(self, path: Path, most: int) -> bytes | None:
        """Return the content that was kept last of a file, unless it has more bytes than `most`. Raises LedgerError."""

    def holds(self, path: Path, raw: bytes) -> bool:
        """Tell whether a content was kept last of a file and outlives this run."""

    def generations(self, path: Path) -> list[dict[str, Any]]:
        """Return what was kept of a file, the latest first, each with `id` and `why`. Raises LedgerError."""

    def content(self, generation: str) -> bytes | None:
        """Return what the generation with this id holds, None if there is none. Raises LedgerError."""

    # What becomes of workflows.

    def observe(self, workflow: Workflow, *, error: str = "", at: str | None = None) -> None:
        """Note what moved in a workflow; `error` is what fails or blocks its phase, `at` when it moved (UTC stamp)."""

    def shelve(self, workflow: Workflow) -> None:
        """Put a workflow whose file gives way into the archive as it is."""

    # Whose they are.

    def lately(self, session: str) -> list[str]:
        """Return the keys of a session's workflows, and of those that lately were anybody's or set free."""

    def owner(self, workflow: Workflow) -> str | None:
        """Return the session that owns a workflow, None if none does. Raises LedgerError."""

    def live_others(self, session: str) -> set[str]:
        """Return the other sessions that are live. Raises LedgerError."""

    # The steps of a unit.

    def steps(self, workflow: str, unit: str) -> dict[str, StepRun]:
        """Return what came of a unit's steps, by their names; `workflow` is a key. Raises LedgerError."""

    def record_step(self, workflow: str, unit: str, step: str, outcome: Outcome, output: str) -> None:
        """Record what came of a step; what was recorded before gives way. Raises LedgerError."""

    # What a file was made of, one small value each.

    def remember(self, path: Path, name: str, digest: str, content: Mapping[str, Any]) -> None:
        """Remember what was taken over into a file: whose name it has, its hash and JSON values. Raises LedgerError."""

    def remembered(self, path: Path) -> dict[str, Any] | None:
        """Return the name, digest and content that were remembered last of a file, or None. Raises LedgerError."""

    def saved_to(self, name: str, digest: str) -> Path | None:
        """Return the file for which this was remembered, also one that is gone, or None. Raises LedgerError."""

    def bury(self, name: str, digest: str) -> None:
        """Leave a tombstone: this is over, and never creates a file again. Raises LedgerError."""

    def is_buried(self, name: str, digest: str) -> bool:
        """Tell whether there is a tombstone for this. Raises LedgerError."""
