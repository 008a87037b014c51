"""The protocol through which formats and state files store what they must remember; they know no ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.workflow.model import Workflow

Outcome = Literal["completed", "failed", "skipped"]


class StepRun(NamedTuple):
    """The result of a step.

    Attributes:
        step: its name.
        outcome: how it ended.
        output: its output, secrets masked.
        failures: how often it has failed in a row.
        at: when it was last recorded (UTC stamp).
    """

    step: str
    outcome: Outcome
    output: str
    failures: int
    at: str


class Version(NamedTuple):
    """A version of a file, without its content.

    Attributes:
        number: counts the file's versions from 1.
        digest: the content's SHA-256.
        why: what stored it.
        at: when (UTC stamp).
    """

    number: int
    digest: str
    why: str
    at: str


class Records(Protocol):
    """A project with what is stored of its workflows.

    Methods that raise LedgerError do so if the store fails. `keep`, `observe` and `shelve` log the failure instead, so
    that no change of a workflow fails because of it.
    """

    @property
    def root(self) -> Path:
        """The project's root, absolute, links resolved."""

    @property
    def branch(self) -> str | None:
        """The branch that is checked out, or None outside git and on a detached head."""

    @property
    def head(self) -> str:
        """The sha of the commit that is checked out; empty if there is none, or it can't be read."""

    @property
    def in_git(self) -> bool:
        """Whether the project is in a git repository."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    @property
    def problem(self) -> str | None:
        """Why nothing is stored beyond this run; None if all is well."""

    def contains(self, path: Path) -> bool:
        """Return whether a path is in this project. Raises ValueError for an impossible path."""

    # Earlier contents of files.

    def keep(self, path: Path, raw: bytes, *, why: str) -> bool:
        """Store a content of a file as a version unless it is the latest already; return whether it was stored."""

    def latest(self, path: Path, most: int) -> bytes | None:
        """Return a file's last stored content; None without one, or above `most` bytes. Raises LedgerError."""

    def holds(self, path: Path, raw: bytes) -> bool:
        """Return whether a content is a file's last stored one and outlives this run. Raises LedgerError."""

    def versions(self, path: Path) -> list[Version]:
        """Return a file's versions, the latest first. Raises LedgerError."""

    def content(self, path: Path, number: int) -> bytes | None:
        """Return the content of a version, None if there is none. Raises LedgerError."""

    # How workflows move and end.

    def observe(self, workflow: Workflow, *, error: str = "", at: str | None = None) -> None:
        """Store what moved in a workflow; `error` is what fails or blocks its phase, `at` when it moved (UTC stamp)."""

    def shelve(self, workflow: Workflow) -> None:
        """Put a workflow whose file is about to be replaced into the archive as it is."""

    # Who owns them.

    def lately(self, session: str) -> list[str]:
        """Return the keys of a session's workflows, and of those that lately got an owner or were released."""

    def owned(self, session: str) -> list[str]:
        """Return the keys of the workflows that a session owns. Raises LedgerError."""

    def owner(self, workflow: Workflow) -> str | None:
        """Return the session that owns a workflow, None if none does. Raises LedgerError."""

    def fresh(self, workflow: Workflow) -> bool:
        """Return whether a workflow changed recently enough to be restored unasked. Raises LedgerError."""

    def mentions(self, session: str) -> Sequence[str]:
        """Return the texts of a session's work: files it edited and read, its requests, its agents' prompts.

        Raises LedgerError.
        """

    def live_others(self, session: str) -> set[str]:
        """Return the other sessions that are live. Raises LedgerError."""

    # The steps of a unit.

    def steps(self, workflow: str, unit: str) -> dict[str, StepRun]:
        """Return the results of a unit's steps, by step name; `workflow` is a key. Raises LedgerError."""

    def record_step(self, workflow: str, unit: str, step: str, outcome: Outcome, output: str) -> None:
        """Record the result of a step, in place of an earlier one. Raises LedgerError."""

    # What was taken over into a file, one small value each.

    def remember(self, path: Path, name: str, digest: str, content: Mapping[str, Any]) -> None:
        """Store what was taken over into a file: its name, its hash and JSON values. Raises LedgerError."""

    def remembered(self, path: Path) -> dict[str, Any] | None:
        """Return the name, digest and content that were stored last for a file, or None. Raises LedgerError."""

    def saved_to(self, name: str, digest: str) -> Path | None:
        """Return the file that this was stored for, even if it is gone, or None. Raises LedgerError."""

    def bury(self, name: str, digest: str) -> None:
        """Leave a tombstone: this is done with and never creates a file again. Raises LedgerError."""

    def is_buried(self, name: str, digest: str) -> bool:
        """Return whether there is a tombstone for this. Raises LedgerError."""
