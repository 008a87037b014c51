"""The workflow records of a project (`workflow.records.Records`), stored in its ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from holdfast import formats
from holdfast.project import OpenProject
from holdfast.sessions import conversations, owners, reads
from holdfast.sessions.history import archive, extracts, history, stepruns
from holdfast.sessions.history import generations as earlier

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Outcome, Records, StepRun


class Workspace(OpenProject):
    """An open project with everything that formats need."""

    @classmethod
    def open(cls, root: Path, *, trusted: bool = False, tell: bool = True, **fields: Any) -> Self:
        """Return the project at `root` (`Project.open`), with the formats that are described for it."""
        return super().open(root, trusted=trusted, tell=tell, **fields)._described()

    @classmethod
    def of(cls, project: OpenProject) -> Workspace:
        """Return an open project as a workspace. Both share one ledger, whichever opens it."""
        if isinstance(project, cls):
            return project
        made = cls.__new__(cls)
        made.__dict__ = project.__dict__
        return made._described()

    def _described(self) -> Self:
        """Make the formats known that TOML files describe for this project."""
        if formats.may_be_described(self.root):
            from holdfast.formats.described import catalog

            catalog.use_if_any(self.root)
        return self

    @property
    def problem(self) -> str | None:
        """Why nothing is remembered after this run; None if all is well."""
        return self.ledger.problem

    keep = earlier.keep
    latest = earlier.latest
    holds = earlier.holds
    content = earlier.content
    generations = earlier.all
    lately = owners.lately
    owned = owners.owned
    owner = owners.owner
    fresh = owners.fresh
    live_others = conversations.live_others

    def mentions(self, session: str) -> list[str]:
        """Return what a session named in its work (`reads.mentions`)."""
        return reads.mentions(self, session)

    def observe(self, workflow: Workflow, *, error: str = "", at: str | None = None) -> None:
        """Note what moved in a workflow (`history.observe`)."""
        history.observe(self, workflow, error=error, at=at)

    def shelve(self, workflow: Workflow) -> None:
        """Put a workflow whose file is about to be replaced into the archive (`archive.shelve`)."""
        archive.shelve(self, workflow)

    def steps(self, workflow: str, unit: str) -> dict[str, StepRun]:
        """Return the results of a unit's steps (`stepruns.of`)."""
        return stepruns.of(self, workflow, unit)

    def record_step(self, workflow: str, unit: str, step: str, outcome: Outcome, output: str) -> None:
        """Record the result of a step (`stepruns.record`)."""
        stepruns.record(self, workflow, unit, step, outcome, output)

    def remember(self, path: Path, name: str, digest: str, content: Mapping[str, Any]) -> None:
        """Store what was taken over into a file (`extracts.remember`)."""
        extracts.remember(self, path, name, digest, content)

    def remembered(self, path: Path) -> dict[str, Any] | None:
        """Return what was last taken over into a file (`extracts.last`)."""
        return extracts.last(self, path)

    def saved_to(self, name: str, digest: str) -> Path | None:
        """Return the file that an extract was taken over into (`extracts.saved_to`)."""
        return extracts.saved_to(self, name, digest)

    def bury(self, name: str, digest: str) -> None:
        """Leave a tombstone (`extracts.bury`)."""
        extracts.bury(self, name, digest)

    def is_buried(self, name: str, digest: str) -> bool:
        """Return whether there is a tombstone (`extracts.is_buried`)."""
        return extracts.is_buried(self, name, digest)


if TYPE_CHECKING:

    def _fits(workspace: Workspace) -> Records:
        return workspace
