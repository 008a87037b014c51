"""The workflow records of a project (`workflow.records.Records`), stored in its ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from holdfast import formats
from holdfast.project import OpenProject
from holdfast.sessions import archive, contents, conversations, imports, owners, phases, reads, step_runs

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.records import Records


class Workspace(OpenProject):
    """An open project with everything that formats need."""

    @classmethod
    def open(cls, root: Path, *, trusted: bool = False, tell: bool = True, **fields: Any) -> Self:
        """Return the project at `root` (`Project.open`), with the formats that are described for it."""
        return super().open(root, trusted=trusted, tell=tell, **fields)._described()

    @classmethod
    def of(cls, project: OpenProject) -> Workspace:
        """Make an open project a workspace, which it stays, and return it."""
        if not isinstance(project, cls):
            object.__setattr__(project, "__class__", cls)
        return cast("Workspace", project)._described()

    @classmethod
    def at(cls, event: Event, context: Context) -> tuple[Workspace, str]:
        """Return the project that an event is of, and the id of its conversation."""
        project = cls.of(context.project)
        return project, conversations.of(project, event.session_id)

    def _described(self) -> Self:
        """Make the formats known that TOML files describe for this project."""
        if formats.may_be_described(self.root):
            from holdfast.formats.described import catalog

            catalog.use(self.root)
        return self

    @property
    def problem(self) -> str | None:
        """Why nothing is remembered after this run; None if all is well."""
        return self.ledger.problem

    keep = contents.keep
    latest = contents.latest
    holds = contents.holds
    content = contents.content
    versions = contents.list_versions
    lately = owners.lately
    owned = owners.owned
    owner = owners.owner
    fresh = owners.fresh
    live_others = conversations.live_others
    mentions = reads.mentions
    observe = phases.observe
    shelve = archive.shelve
    steps = step_runs.of
    record_step = step_runs.record
    remember = imports.remember
    remembered = imports.last
    saved_to = imports.saved_to
    bury = imports.bury
    is_buried = imports.is_buried


if TYPE_CHECKING:

    def _fits(workspace: Workspace) -> Records:
        return workspace
