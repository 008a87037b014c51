"""The `hybrid` format: `.claude/state/workflow.json` with a Markdown view of it (document 000)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast import log
from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.files import access
from holdfast.files.lock import locked
from holdfast.formats.hybrid import markdown_view, moves, record, schema
from holdfast.workflow import assignments, extras, values
from holdfast.workflow.findings import Finding, notice
from holdfast.workflow.model import Changes, Foreign, Found, Judged, Phase, Start, Status, Workflow
from holdfast.workflow.store import FileDraft, FileFormat
from holdfast.workflow.wording import missing, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_OTHERS = {
    ".claude/state/active_task_graph.json": "an orchestrator's order of tasks",
    ".claude/state/delegated_sessions.txt": "an orchestrator's list of sessions",
}


class HybridFormat(FileFormat):
    """One workflow for each project. The file alone holds the state, for every session (R000-36).

    Without the file there is no workflow, and hooks have nothing to do (R000-27). Each change is a single read and
    write under the lock (R000-21).
    """

    name = record.NAME
    deviations = "problem"  # the schema is fixed
    has_extras = True
    missing = "is not there; `holdfast start TITLE --format hybrid --phase TITLE` makes one"

    def files(self, project: Records) -> list[Path]:
        """Return the one state file (R000-01)."""
        return [project.root / schema.FILE]

    def check(self, file: StateFile) -> None:
        """Raise SchemaMismatch if a file that was read isn't of this format (I000-20)."""
        schema.check(file.path, file.data)

    def wrong_field(self, data: dict[str, Any]) -> str:
        """Return the field to correct in a content that has several of the schema's keys."""
        fault = schema.mismatch(data)
        return fault[0] if fault and len({"id", "task", "phases"} & data.keys()) > 1 else ""

    def workflow(self, project: Records, file: StateFile) -> Workflow:
        """Return the workflow in a file of this format, without its extras."""
        return schema.workflow(project.root, file)

    def draft(self, data: dict[str, Any]) -> HybridDraft:
        """Return a draft of a file's content."""
        return HybridDraft(data)

    def start(self, project: Records, start: Start) -> Workflow:
        """Create the workflow with its phases (R000-33). A finished one is replaced and stays in the archive (I000-17).

        A phase without an agent gets general-purpose, because the document requires one (R000-09). If others have an
        agent, a warning says so.
        """
        if not start.phases:
            raise TransitionError('the hybrid format needs a phase: --phase "TITLE"')
        phases = tuple((title, agent or record.DEFAULT_AGENT) for title, agent in start.phases)
        workflow = super().start(project, replace(start, phases=phases))
        without = [quoted(title) for title, agent in start.phases if not agent]
        if not without or len(without) == len(phases):
            return workflow
        warning = f"each hybrid phase needs an agent, so {', '.join(without)} got {record.DEFAULT_AGENT}"
        return replace(workflow, warnings=(*workflow.warnings, warning))

    def fresh(self, project: Records, path: Path, start: Start, last: Workflow | None) -> dict[str, Any]:
        """Return the content of a new file. Its id is `wf_` with the present date and time in UTC (R000-03)."""
        return schema.fresh(self.new_id("wf_", last), start.title, start.phases)

    def identity(self, data: dict[str, Any], path: Path) -> str:
        """Return the id of the workflow in a content."""
        return values.text(data["id"])

    def after_write(self, project: Records, file: StateFile) -> list[str]:
        """Write the Markdown view (R000-24), at the end too (I000-10)."""
        try:
            markdown_view.write(project, file.data)
        except StateError as error:
            log.write("warning", f"the workflow's view wasn't written: {error}")
        return []

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return the result of `find`. If somebody owns the workflow, its files follow changes made by hand."""
        found = self.find(project)
        owned = (self.follow(project, each) if project.owner(each) else each for each in found.workflows)
        return Found(tuple(owned), found.problems)

    def with_keys(self, project: Records, keys: Collection[str]) -> Found:
        """Return the result of `candidates`: there is at most one workflow."""
        return self.candidates(project, keys)

    def written(self, project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
        """Return a workflow after `follow` if the written file is its state file, else None."""
        return self.follow(project, workflow) if path == workflow.path else None

    def follow(self, project: Records, workflow: Workflow) -> Workflow:
        """Return a workflow after its files are in step with what somebody changed by hand, for example with jq.

        If its last phase was completed by hand, the file says that the workflow is completed (R000-06, R000-13). The
        view is written if it shows something else or is missing (R000-24). What can't be written is only logged.
        """
        try:
            data = self.load(project, workflow.path).data
            settled = dict(data)
            moves.settle(settled)
            if not workflow.recovered and (settled != data or not markdown_view.is_current(project, data)):
                return self.change(project, workflow, lambda draft: moves.settle(draft.data), why="changed by hand")
        except StateError as error:
            log.write("warning", f"the workflow's files weren't updated: {error}")
        return workflow

    def judge(self, project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
        """Move a phase because of its agent. The deliverables of a finished one are read from its words (I000-14).

        The result is extracted first, then the state is written, then the view (R000-28). Raises StateError if state or
        view can't be written; another call writes what is missing.
        """
        with locked(self.folder(project)):
            judged = super().judge(project, workflow, phase_id, status, words)
            markdown_view.write(project, self.load(project, workflow.path).data)
        return judged

    def noted(self, workflow: Workflow, changes: Changes, note: str) -> Changes:
        """Return changes with a note on the current phase: its hand-over once it is completed, else a context value.

        An unfinished phase has no hand-over (R000-12).
        """
        if changes.status == "completed" or (changes.status is None and workflow.phase_status == "completed"):
            return changes.with_handover(workflow, note)
        return changes.with_note(workflow, note)

    def foreign(self, project: Records) -> Iterator[Foreign]:
        """Yield the files of other programs, which are never changed (I000-20, R000-37)."""
        yield from self.blocking(project)
        view = project.root / markdown_view.FILE
        if why := markdown_view.stranger(project):
            text = f"{why}; it is left alone, so a hybrid workflow has no view here"
            yield Foreign(view, text, in_the_way=True, remedy="if nobody needs it, rename it to get a view")
        for place, what in _OTHERS.items():
            if access.is_there(project.root / place):
                yield Foreign(project.root / place, f"is {what}; Holdfast neither reads nor writes it")

    def findings(self, project: Records) -> Iterator[Finding]:
        """Yield an outdated view, and a file next to the state file that belongs to another workflow."""
        path = project.root / schema.FILE
        try:
            file = self.load(project, path)
            self.check(file)
            if not file.broken and not markdown_view.is_current(project, file.data):
                view = project.root / markdown_view.FILE
                text = f"{view}, the workflow's view, doesn't show its state"
                yield notice(text, "holdfast doctor --fix", partial(self._redraw, project), path=view, code="view")
        except StateError:
            pass  # missing, broken or another program's: reported elsewhere
        yield from self.stray_extras(project, path)

    def _redraw(self, project: Records) -> str:
        with locked(self.folder(project)):
            markdown_view.write(project, self.load(project, project.root / schema.FILE).data)
        return f"updated {project.root / markdown_view.FILE} from the workflow's state"


class HybridDraft(FileDraft):
    """The JSON of the state file during one change."""

    advances = True  # R000-35
    keeps_deliverables = True

    def units(self) -> tuple[Phase, ...]:
        """Return the phases."""
        return schema.read_phases(self.data)

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Give a phase a status, because of a person."""
        moves.move(self.data, self.index(id), status, handover=note)
        self.notes = {}

    def judge(self, id: str, status: Status, words: str) -> None:
        """Give a phase a status, because of its agent."""
        before = self.unit(id)
        deliverables, handover = assignments.extract_result(words) if status == "completed" else ((), "")
        moves.move(self.data, self.index(id), status, deliverables=deliverables, handover=handover, by="hook")
        self.notes = {}
        self.advance(before)

    def advance(self, before: Phase) -> None:
        """Begin the next phase if one was completed (R000-35), which was different `before`."""
        if before.status != "completed" and self.unit(before.id).status == "completed":
            self.begin_following(before.id)

    def reopen(self, id: str) -> None:
        """Make a completed or failed phase active again."""
        moves.reopen(self.data, self.index(id))
        self.notes = {}

    def end(self, *, early: bool) -> None:
        """Complete the workflow."""
        moves.finish(self.data)

    def cancel(self, reason: str) -> None:
        """Give the workflow up: it fails, and a note says why."""
        moves.cancel(self.data)
        self.notes = {extras.CANCELLED: reason}

    def unit(self, id: str) -> Phase:
        """Return the phase with this id, or with this index as text (I000-2)."""
        return self.units()[self.index(id)]

    def rename(self, id: str, title: str) -> None:
        """Give a phase another title."""
        moves.opened(self.data, self.index(id))["title"] = title

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write what a phase hands over, and add deliverables."""
        moves.move(self.data, self.index(id), None, handover=text or "", deliverables=deliverables)

    def nothing_due(self) -> str:
        """Say why no phase can be completed."""
        return f"{schema.FILE} lists no phases; `holdfast done --all` ends the workflow"

    def index(self, id: str) -> int:
        """Return the index of the phase with this id (I000-2). Raises HoldfastError that names the known ids."""
        index = schema.position(self.data, id)
        if index is None:
            raise HoldfastError(missing(f"phase {id!r}", [each.id for each in self.units()]))
        return index


FORMAT = HybridFormat()
