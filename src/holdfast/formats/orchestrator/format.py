"""The `orchestrator` format: `.claude/agent-state.json` with the run of a task document (document 003)."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import BrokenError, HoldfastError, MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files import access, document
from holdfast.files.lock import locked
from holdfast.formats.orchestrator import (
    bounds,
    faults,
    learnings,
    locks,
    moves,
    record,
    schema,
    snapshots,
    supervision,
    task_document,
    view,
)
from holdfast.formats.orchestrator.run import REVIEWER, stamp
from holdfast.workflow import assignments, extras, statefile, verbs
from holdfast.workflow.findings import Finding, aside, notice
from holdfast.workflow.model import Brief, Foreign, Step
from holdfast.workflow.store import FileDraft, FileFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.model import Phase, Start, Status, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile


class OrchestratorFormat(FileFormat):
    """One run for each project: the state file, and a file next to it for values without a key in its schema (R003-01).

    Each change is one read and one write under a lock, whatever happened (R003-23, R003-24, I003-7).
    """

    name = record.NAME
    has_extras = True
    locks_files = True
    holds_launches = True
    missing = "there is no run; `holdfast start TASK_DOC --format orchestrator` starts one"

    def files(self, project: Records) -> list[Path]:
        """Return the one state file (R003-01)."""
        return [schema.state_path(project.root)]

    def check(self, file: StateFile) -> None:
        """Raise SchemaMismatch if a file that was read isn't of this format (I003-20)."""
        schema.check(file)

    def wrong_field(self, data: dict[str, Any]) -> str:
        """Return the first field to correct in a run that can't be read because of its values."""
        fields = schema.deviations(data) if schema.kind(data) == "drifted" else []
        return fields[0][0] if fields else ""

    def workflow(self, project: Records, file: StateFile) -> Workflow:
        """Return the workflow in a file of this format, without its extras."""
        return view.workflow(project, file)

    def draft_of(self, project: Records, file: StateFile) -> RunDraft:
        """Return a draft of a file's content and of the notes next to it."""
        return RunDraft(project, view.open_run(project, file))

    def identity(self, data: dict[str, Any], path: Path) -> str:
        """Return the id of the run in a content."""
        return schema.run_id(data)

    def load(self, project: Records, path: Path) -> StateFile:
        """Return the state file; for a broken one its last version, else its newest snapshot (R003-28)."""
        try:
            return super().load(project, path)
        except MissingError as error:
            raise MissingError(path, self.missing) from error
        except BrokenError as error:
            snapshot = self._last_snapshot(project)
            if snapshot is None:
                raise
            content = snapshot.document
            return statefile.StateFile(document.Document(path, content.data, content.raw, content.mtime), error.reason)

    def current(self, project: Records) -> Run:
        """Return the run, for reading. Raises MissingError, which says how to begin one, and StateError."""
        file = self.load(project, schema.state_path(project.root))
        self.check(file)
        return view.open_run(project, file)

    # Start.

    def start(self, project: Records, start: Start) -> Workflow:
        """Begin a run of the document TITLE, or of the phases, for which a task document is written."""
        path = schema.state_path(project.root)
        with locked(self.folder(project)):
            workflow = super().start(project, start)
            run = view.open_run(project, self.load(project, path))
            extras.write_notes(project, path, workflow.id, run.notes)
        doc = task_document.path(project, run)
        read = task_document.parse(task_document.content(doc))
        return workflow.with_warnings(*(f"{doc.name}: {each}" for each in read.faults))

    def fresh(self, project: Records, path: Path, start: Start, last: Workflow | None) -> dict[str, Any]:
        """Return the content of a new file: the tasks of its document are pending (R003-22)."""
        if start.phases:
            if start.title.endswith(".md") and not (project.root / start.title).is_file():
                raise TransitionError(f"there is no {start.title}; give the run a title that isn't a file's name")
            doc = task_document.write(project, start.title, start.phases)
        else:
            doc = task_document.find(project, start.title)
        text = task_document.content(doc)
        read = task_document.parse(text)
        if not read.tasks:
            raise TransitionError(f"{doc} names no task; give it a heading such as `#### Task 1.1: Name`, with four #")
        project.keep(doc, text.encode("utf-8", "replace"), why="start of a run")
        started = stamp(clock.second_after(last.created_at if last else ""))
        data = schema.fresh(str(doc), started, max(len(read.phases), 1), len(read.in_phase(1)), read.bounds)
        tasks = sorted(read.tasks, key=lambda each: schema.key(each.id))
        data["pending_tasks"] = [schema.pending(each.id, each.name) for each in tasks]
        if last is not None:
            snapshots.put_away(project, last)
        return data

    # Change.

    def move(self, project: Records, edit: Callable[[Run], object], *, why: str) -> tuple[Workflow, Run]:
        """Edit the project's run, and return it as it is now. Raises MissingError if there is none."""
        workflow = self.view(project, self.load(project, schema.state_path(project.root)))
        after, _, draft = self.edit(project, workflow, lambda draft: edit(draft.run), why=why)
        return after, draft.run

    def edit(
        self,
        project: Records,
        workflow: Workflow,
        edit: Callable[[Any], object],
        *,
        why: str,
        error: str = "",
        repair: bool = False,
    ) -> tuple[Workflow, bool, Any]:
        """Change a run as every format does. A broken state without a version is restored from its newest snapshot."""
        with locked(self.folder(project)):
            restored = self.recover(project)
            after, changed, draft = super().edit(project, workflow, edit, why=why, error=error, repair=repair)
        return after.with_warnings(*restored), changed, draft

    def close(self, project: Records, draft: Any, workflow: Workflow) -> Workflow:
        """Write what follows from a change: learnings into their log, and a checkpoint that is due.

        The state is written, so a failure here is only reported: nothing has to be repeated.
        """
        try:
            learnings.log(project, draft.run)
            if draft.snapshot:
                draft.run.messages += snapshots.write(project, draft.run, draft.snapshot, workflow.raw)
        except StateError as error:
            draft.run.messages.append(f"the change was made, but {error}")
        return workflow.with_warnings(*draft.run.messages)

    def recover(self, project: Records) -> list[str]:
        """Restore a broken state without a version from its newest snapshot, and say so (R003-28)."""
        path = schema.state_path(project.root)
        try:
            statefile.present(project, path)
        except BrokenError as error:
            snapshot = self._last_snapshot(project)
            if snapshot is not None:
                broken, name = statefile.set_aside(project, path), snapshot.document.path.name
                statefile.restore(project, path, snapshot.document.raw, None, why=name)
                return [f"the state {error.reason}, so {name} was restored; what it held is kept as {broken.name}"]
        return []

    def _last_snapshot(self, project: Records) -> snapshots.Snapshot | None:
        """Return the newest snapshot of the run whose state is broken. Its notes say which run that is."""
        return next(snapshots.newest(project, [], extras.owner(project, schema.state_path(project.root))), None)

    # Words.

    def step(self, workflow: Workflow) -> Step | None:
        """Return the task to work on next, the outer review once all are completed, None when the run is over."""
        if workflow.finished:
            return None
        if not workflow.due:
            text = "review the whole run, then end it with `holdfast done --all`"
            return Step(0, workflow.total, "Outer review", "", "Outer review", text)
        step = verbs.plain_step(workflow)
        if step and workflow.status == "pending":
            return step._replace(text=f"approve the plan with `holdfast orchestrator approve`, then {step.text}")
        return step

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
        """Return the document's section on a task, its success criteria, and the learnings that bear on it."""
        run = self.current(project)
        lines = [f"Task {phase.id}: {phase.title}", f"It is task {run.place(phase.id)} of its phase."]
        section = task_document.Section("", ())
        try:
            section = task_document.section(task_document.of_run(project, run), phase.id)
        except StateError as error:
            lines.append(f"The task document can't be read: {str(error).removeprefix(f'{project.root}/')}.")
        if section.criteria:
            lines += ["Success criteria:", *(f"- {each}" for each in section.criteria)]
        if lessons := view.lessons(run, phase.id):
            lines += ["Learnings:", *(f"- {each}" for each in lessons)]
        if section.text:
            lines += ["The task document says:", *section.text.split("\n")]
        return Brief(tuple(lines), f"holdfast next {phase.id}")

    # Agents.

    def match_phase(self, workflow: Workflow, text: str, agent: str) -> Phase | None:
        """Return the task an agent was launched for; None for an agent that looks after the run."""
        return None if supervision.overseer(agent) else assignments.match_phase(workflow, text, agent)

    def register_overseer(self, project: Records, workflow: Workflow, text: str, agent: str) -> bool:
        """List an agent that looks after the run. A checkpoint is written before the outer review (R003-33)."""
        type_ = supervision.overseer(agent)
        if not type_ or workflow.finished:
            return False
        if type_ == REVIEWER:
            self.change(project, workflow, _checkpoint_review, why="outer review")
        self.change(project, workflow, lambda draft: supervision.join(draft.run, type_, text), why=f"{type_} launched")
        return True

    def unregister_overseer(self, project: Records, workflow: Workflow, text: str, agent: str) -> None:
        """List such an agent no longer: it has ended."""
        type_ = supervision.overseer(agent)
        self.change(project, workflow, lambda draft: supervision.leave(draft.run, type_), why=f"{type_} ended")

    def hold(self, project: Records, workflow: Workflow) -> str:
        """Return which bounds are used up and how to extend them; empty if none is, or the state can't be read."""
        try:
            return bounds.exceeded(self.current(project))
        except HoldfastError:
            return ""

    def lock(self, project: Records, workflow: Workflow, place: str, owner: str, alive: Collection[str]) -> str:
        """Lock a file for an agent (R003-27)."""
        return locks.lock(project, place, owner, alive)

    def unlock(self, project: Records, workflow: Workflow, owner: str) -> None:
        """Free all files that an agent has locked."""
        locks.unlock(project, owner)

    # Doctor.

    def foreign(self, project: Records) -> Iterator[Foreign]:
        """Yield the files that Holdfast leaves alone (I003-15, I003-20, R003-26)."""
        yield from self.blocking(project)
        try:
            locks.read(project)
        except SchemaMismatch as error:
            yield Foreign(error.path, error.reason)
        except StateError:
            pass  # a link: nothing is locked, and nothing written
        latest = schema.state_path(project.root).with_name(snapshots.LATEST)
        try:
            statefile.guard(project.root, latest)
            if access.is_there(latest) and not snapshots.is_ours(project):
                text = "is another program's checkpoint; it is left alone, and nothing is restored from it"
                yield Foreign(latest, text)
        except StateError:
            return

    def findings(self, project: Records) -> Iterator[Finding]:
        """Yield the problems of the run, and of the files next to it."""
        for each in self.foreign(project):
            if not each.in_the_way:
                yield notice(f"{each.path}: {each.meaning}", aside(each.path), path=each.path, code="foreign")
        path = schema.state_path(project.root)
        yield from self.stray_extras(project, path)
        try:
            data = self.load(project, path).data
        except StateError:
            return  # missing, or reported elsewhere
        if schema.kind(data) == "drifted":
            for field, wrong in schema.deviations(data):
                remedy = f'correct "{field}" in {path}'
                yield notice(f"{path}: {field} {wrong}", remedy, path=path, field=field, code="schema")
        if schema.kind(data) != "ours":
            return
        run = self.current(project)
        yield from faults.contradictions(run, path, partial(self._mend, project))
        yield from faults.disagreements(project, run, path)
        try:
            learnings.read(project)
        except StateError as error:
            remedy = access.unlinking(error.path) or access.remedy(error.path) or aside(error.path)
            yield notice(str(error), remedy, path=error.path, code="log")

    def _mend(self, project: Records, mend: Callable[[Run], object]) -> str:
        """Correct the run, and say what was changed."""
        before = document.load(schema.state_path(project.root), within=project.root)
        workflow, run = self.move(project, mend, why="doctor")
        return faults.corrected(before.data, run.data) if workflow.raw != before.raw else ""


def _checkpoint_review(draft: RunDraft) -> None:
    if supervision.is_reviewable(draft.run):
        draft.run.checkpoint = draft.run.last_completed()


class RunDraft(FileDraft):
    """A run during one change.

    Attributes:
        run: the state and its notes, for changing.
        snapshot: the name of the snapshot that is due; empty for none.
    """

    unit_word = "task"
    keeps_deliverables = True

    def __init__(self, project: Records, run: Run) -> None:
        self.project = project
        self.run = run.copy()
        super().__init__(self.run.data)
        self.messages = self.run.messages
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
        """Give a task a status, because of its agent. What it delivers and hands over is read from its words.

        A hook never completes the run: the last task makes it `reviewing`.
        """
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


FORMAT = OrchestratorFormat()
