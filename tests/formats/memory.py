"""An in-memory implementation of `workflow.records.Records`: no ledger, no session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.project import Project
from holdfast.workflow.records import StepRun, Version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Outcome, Records


@dataclass(frozen=True)
class Memory(Project):
    """A project whose workflows are remembered as long as this is.

    Attributes:
        kept: the contents of files, the latest last, each with why it was kept.
        archived: the workflows whose files gave way, by key.
        errors: what failed or blocked a workflow's phases, by key.
        owners: which session owns a workflow, by key.
        live: the sessions that are live.
    """

    kept: dict[Path, list[tuple[bytes, str]]] = field(default_factory=dict)
    archived: dict[str, Workflow] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    _runs: dict[tuple[str, str], dict[str, StepRun]] = field(default_factory=dict)
    _taken: dict[Path, dict[str, Any]] = field(default_factory=dict)
    _buried: set[tuple[str, str]] = field(default_factory=set)

    problem = None

    def keep(self, path: Path, raw: bytes, *, why: str) -> bool:
        if self.holds(path, raw):
            return False
        self.kept.setdefault(path, []).append((raw, why))
        return True

    def latest(self, path: Path, most: int) -> bytes | None:
        raw = self.kept[path][-1][0] if path in self.kept else None
        return raw if raw is not None and len(raw) <= most else None

    def holds(self, path: Path, raw: bytes) -> bool:
        return path in self.kept and self.kept[path][-1][0] == raw

    def versions(self, path: Path) -> list[Version]:
        kept = list(enumerate(self.kept.get(path, []), 1))
        return [Version(number, "", why, "") for number, (_, why) in reversed(kept)]

    def content(self, path: Path, number: int) -> bytes | None:
        return self.kept[path][number - 1][0] if path in self.kept else None

    def observe(self, workflow: Workflow, *, error: str = "", at: str | None = None) -> None:
        self.errors.setdefault(workflow.key, []).extend([error] if error else [])

    def shelve(self, workflow: Workflow) -> None:
        self.archived.setdefault(workflow.key, workflow)

    def lately(self, session: str) -> list[str]:
        return [key for key, owner in self.owners.items() if owner == session]

    def owned(self, session: str) -> list[str]:
        return self.lately(session)

    def owner(self, workflow: Workflow) -> str | None:
        return self.owners.get(workflow.key)

    def fresh(self, workflow: Workflow) -> bool:
        return True

    def mentions(self, session: str) -> list[str]:
        return []

    def live_others(self, session: str) -> set[str]:
        return self.live - {session}

    def steps(self, workflow: str, unit: str) -> dict[str, StepRun]:
        return dict(self._runs.get((workflow, unit), {}))

    def record_step(self, workflow: str, unit: str, step: str, outcome: Outcome, output: str) -> None:
        runs = self._runs.setdefault((workflow, unit), {})
        before = runs[step].failures if step in runs else 0
        runs[step] = StepRun(step, outcome, output, before + 1 if outcome == "failed" else 0, "")

    def remember(self, path: Path, name: str, digest: str, content: Mapping[str, Any]) -> None:
        self._taken[path] = {"name": name, "digest": digest, "content": dict(content)}

    def remembered(self, path: Path) -> dict[str, Any] | None:
        return self._taken.get(path)

    def saved_to(self, name: str, digest: str) -> Path | None:
        found = (path for path, each in self._taken.items() if (each["name"], each["digest"]) == (name, digest))
        return next(found, None)

    def bury(self, name: str, digest: str) -> None:
        self._buried.add((name, digest))

    def is_buried(self, name: str, digest: str) -> bool:
        return (name, digest) in self._buried


if TYPE_CHECKING:

    def _fits(memory: Memory) -> Records:
        return memory
