"""A run while a verb or an agent changes it: how its tasks move, and what follows from that."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from holdfast.files import document
from holdfast.formats.orchestrator import bounds, faults, moves, schema, snapshots
from holdfast.workflow import assignments, extras
from holdfast.workflow.store import FileDraft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.model import Phase, Status
    from holdfast.workflow.records import Records


class RunDraft(FileDraft):
    """A run during one change.

    Attributes:
        run: the state and its notes, for changing.
        snapshot: the name of the snapshot that is due; empty for none.
    """

    unit_word = "task"

    def __init__(self, project: Records, run: Run) -> None:
        self.project = project
        self.run = run.copy()
        super().__init__(self.run.data)
        self.snapshot = ""
        self._before = deepcopy(self.data)

    def content(self) -> dict[str, Any]:
        """Write the notes, and return the state with what follows from the edits."""
        run = self.run
        run.messages += bounds.warn(run)
        if run.unlisted() or not document.same(self.data, self._before):
            faults.settle(run)
        if run.checkpoint is not None:
            self.snapshot = snapshots.enter(self.project, run, run.checkpoint)
        extras.write_notes(self.project, schema.state_path(self.project.root), schema.run_id(run.data), run.notes)
        return run.data

    def units(self) -> Sequence[Phase]:
        """Return the tasks."""
        return self.run.tasks()

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Give a task a status, because of a person."""
        if status == "active":
            moves.begin(self.run, id)
        elif status == "completed":
            moves.finish(self.run, id, handover=note)
        elif status in ("failed", "blocked"):
            moves.fail(self.run, id, reason)
        elif self.run.task(id).status == "active":
            moves.remove_agent(self.run, id)
        elif self.run.task(id).status != "pending":
            self.refuse("a task that ended doesn't become pending again")

    def judge(self, id: str, status: Status, words: str) -> None:
        """Give a task a status, because of its agent. What it delivers and hands over is read from its words."""
        run, task = self.run, self.run.task(id)
        if run.terminal or (task.status == "completed" and status != "completed"):
            return
        if status == "active":
            moves.begin(run, id)
        elif status == "completed":
            if task.status in ("failed", "blocked"):
                moves.begin(run, id)
            if task.status != "completed":
                moves.finish(run, id)
            deliverables, handover = assignments.extract_result(words)
            moves.deliver(run, id, deliverables)
            if handover:
                run.note(id).setdefault("handover", handover)  # its agent may have written one itself (I000-8)
        else:
            moves.fail(run, id, words)

    def reopen(self, id: str) -> None:
        """Make a completed or failed task active again."""
        moves.reopen(self.run, id)

    def end(self, *, early: bool) -> None:
        """Complete the run."""
        moves.complete(self.run, early=early)

    def cancel(self, reason: str) -> None:
        """Give the run up."""
        moves.cancel(self.run, reason)

    def rename(self, id: str, title: str) -> None:
        """Refuse another title."""
        self.refuse("a task is named in its task document")

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write what a task hands over, and add deliverables."""
        moves.deliver(self.run, id, deliverables)
        if text is not None:
            self.run.note(id)["handover"] = text

    def following(self, completed: str = "") -> Phase | None:
        """Return the first pending task, if no other is at work or failed."""
        unfinished = self.run.unfinished()
        waiting = next((each for each in unfinished if each.status == "pending"), None)
        alone = all(each.status == "pending" for each in unfinished)
        return waiting if alone and not self.run.terminal else None
