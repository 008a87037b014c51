"""A `wfs` session during one change by the verbs for all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import command_line
from holdfast.formats.wfs import moves, session, tree, view
from holdfast.workflow.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.model import Changes, Phase, Status, Workflow
    from holdfast.workflow.records import Records


class WfsDraft(Draft):
    """A session whose tasks are moved. Each move is written at once.

    Attributes:
        session: the session.
        notes: notes for the user.
        extra: reading, reminders and context to keep beside the state; None for none.
    """

    unit_word = "task"

    def __init__(self, project: Records, wanted: Session) -> None:
        self.project, self.session = project, wanted
        self.notes: list[str] = []
        self.extra: Changes | None = None

    def workflow(self) -> Workflow:
        """Return the session as it is now."""
        return view.workflow(self.project, session.get(self.project, self.session.name))

    def units(self) -> Sequence[Phase]:
        """Return the leaf tasks."""
        return self.workflow().phases

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Begin, complete or block a task."""
        self._ensure_active()
        if status == "pending":
            way = "add --status blocked instead"
            if self.unit(id).status == "blocked":
                way = f"{id} is blocked; `{command_line('update', '--phase', id, '--status', 'active')}` continues it"
            self.refuse(f"a task can't become pending again; {way}")
        if status == "completed":
            self.notes += moves.complete(self.project, self.session, id, note).notes
        elif status == "active":
            self.notes += moves.begin(self.project, self.session, id).notes
        else:
            self.notes += moves.block(self.project, self.session, id).notes

    def reopen(self, id: str) -> None:
        """Make a completed or blocked task active again, and its session."""
        if self.session.standing != "active":
            self.session = session.activate(self.project, self.session.name)
        self.notes += moves.begin(self.project, self.session, id, anyway=True, reopen=True).notes

    def end(self, *, early: bool) -> None:
        """Complete the session. Tasks that are left stay as they are."""
        session.complete(self.project, self.session.name)

    def cancel(self, reason: str) -> None:
        """Pause the session: its folder stays, and `holdfast claim` continues it."""
        session.pause(self.project, self.session.name)

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context beside the state."""
        self.extra = changes

    def rename(self, id: str, title: str) -> None:
        """Give a task another title."""
        self.notes += moves.annotate(self.project, self.session, id, title=title).notes

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write a task's summary."""
        if deliverables:
            self.refuse("a task keeps no deliverables; --context writes its summary")
        self.notes += moves.annotate(self.project, self.session, id, summary=text or "").notes

    def resize(self, total: int) -> None:
        """Refuse to change how many tasks there are."""
        if total != len(self.units()):
            self.refuse("a session lists each task; `holdfast wfs task add TITLE` adds one")

    def following(self, completed: str = "") -> Phase | None:
        """Return the task that is due, unless one is active."""
        self._ensure_active()
        now = self.workflow()
        if any(each.status == "active" for each in now.phases):
            return None
        return next((each for each in now.phases if each.id in now.due[:1]), None)

    def all_completed(self) -> bool:
        """Return whether all tasks are completed."""
        return tree.read(self.project, self.session.folder).finished

    def nothing_due(self) -> str:
        """Say why no task can be completed."""
        return view.nothing_due(self.workflow())

    def _ensure_active(self) -> None:
        """Refuse to move a paused session, so that nobody goes on with it by accident."""
        if self.session.standing == "paused":
            name = self.session.name
            self.refuse(f"{name} is paused; `{command_line('claim', name)}` continues it")
