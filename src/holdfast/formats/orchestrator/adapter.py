"""The `orchestrator` format: `.claude/agent-state.json` with the run of a task document (document 003)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files.lock import locked
from holdfast.formats.orchestrator import bounds, overseers, plan, schema, store, transitions, view
from holdfast.formats.orchestrator import foreign as others
from holdfast.formats.orchestrator.brief import brief
from holdfast.formats.orchestrator.locks import lock, unlock
from holdfast.formats.orchestrator.overseers import joined, left
from holdfast.formats.orchestrator.past import parsed, restore, written
from holdfast.formats.orchestrator.work import RUNS, credit, ran
from holdfast.workflow import assignments, extras, statefile
from holdfast.workflow.assignments import extract_result
from holdfast.workflow.draft import Draft
from holdfast.workflow.model import Found, Judged, Problem, Start, Status, Step, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.model import Changes, Phase
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

__all__ = [
    "NAME",
    "RUNS",
    "brief",
    "candidates",
    "change",
    "credit",
    "find",
    "foreign",
    "held",
    "joined",
    "judge",
    "left",
    "lock",
    "match_phase",
    "parsed",
    "ran",
    "restore",
    "start",
    "step",
    "unlock",
    "written",
]

NAME = view.NAME
foreign = others.foreign


def find(project: Records) -> Found:
    """Return the project's one run, or a problem if its file can't be read."""
    return _found(project)[0]


def candidates(project: Records, keys: Collection[str]) -> Found:
    """Return what `find` does, since there is at most one run.

    If somebody owns it, new tasks of an edited document, and tasks that are in no list, are written as pending.
    """
    found, run = _found(project)
    if run is None or run.terminal or found.workflows[0].recovered or not (plan.stale(project, run) or run.unlisted()):
        return found
    if project.owner(found.workflows[0]) is None:
        return found
    try:
        return Found(
            (store.change(project, lambda run: None, why="task document", silent=True).workflow,), found.problems
        )
    except StateError as error:
        log.write("warning", f"the tasks couldn't be updated from the task document: {error}")
        return found


def start(project: Records, start: Start) -> Workflow:
    """Begin a run: of the tasks that are given, for which a task document is written, or of the document TITLE.

    Raises TransitionError, SchemaMismatch, StateError.
    """
    if not start.phases:
        named = project.root / Path(start.title.replace("\0", "")).expanduser()
        if start.title.strip().endswith(".md") and named.is_file():
            return store.create(project, start, named.resolve())
        raise TransitionError(
            "a run needs tasks: give --phase for each, or the path of a task document, as in "
            "`holdfast orchestrator start TASK_DOC`"
        )
    if start.total not in (None, len(start.phases)):
        raise TransitionError("a run has exactly the tasks that you name; leave out --total")
    path = schema.state_path(project.root)
    statefile.guard(project.root, path)
    with locked(path.parent):
        try:
            store.must_be_free(project, replace=start.replace)  # or a document would be written for nothing
        except (SchemaMismatch, TransitionError):
            raise
        except StateError:
            pass  # a broken one is set aside
        return store.create(project, start, store.compose(project, start.title, start.phases))


def change(
    project: Records,
    workflow: Workflow,
    edit: Callable[[Draft], None],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> Workflow:
    """Run `edit` on the run's draft, then write its state and what is kept beside it.

    `repair` writes a broken file again from its last generation, even if nothing changes. Raises TransitionError,
    StateError.
    """
    made: list[_Draft] = []

    def apply(run: Run) -> None:
        made[:] = [_Draft(run)]
        edit(made[0])

    path = schema.state_path(project.root)
    statefile.guard(project.root, path)
    with locked(path.parent):
        changed = store.change(project, apply, why=why, run_id=workflow.id, error=error, repair=repair)
        if made[0].extra is None:
            return changed.workflow
        extras.add(project, path, workflow.id, made[0].extra)
        return store.told(find(project).workflows[0], changed.run.said)


class _Draft(Draft):
    """A run during one change."""

    unit_word = "task"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.extra: Changes | None = None

    def units(self) -> Sequence[Phase]:
        return self.run.tasks()

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        if status == "active":
            transitions.begin(self.run, id)
        elif status == "completed":
            transitions.finish(self.run, id, handover=note)
        elif status in ("failed", "blocked"):
            transitions.fail(self.run, id, reason)
        elif self.run.task(id).status != "pending":
            self.refuse("a task that was started doesn't become pending again")

    def reopen(self, id: str) -> None:
        transitions.reopen(self.run, id)

    def end(self, *, early: bool) -> None:
        transitions.complete(self.run, anyway=early)

    def cancel(self, reason: str) -> None:
        transitions.cancel(self.run, reason)

    def add(self, changes: Changes) -> None:
        self.extra = changes

    def rename(self, id: str, title: str) -> None:
        self.refuse("a task is renamed in its task document")

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        if deliverables:
            self.refuse("name the files of a task with `holdfast orchestrator task finish ID --file PATH`")
        self.run.note(id)["handover"] = text or ""

    def all_completed(self) -> bool:
        return not self.run.unfinished()

    def following(self, completed: str = "") -> Phase | None:
        left = self.run.unfinished()
        waiting = next((each for each in left if each.status == "pending"), None)
        return waiting if not self.run.terminal and all(each.status == "pending" for each in left) else None


def step(workflow: Workflow) -> Step | None:
    """Return the task to work on next, the outer review once all are completed, None when the run is over."""
    if workflow.finished:
        return None
    number = {each.id: each for each in workflow.phases}
    due = number[workflow.due[0]] if workflow.due else None
    if due is None:
        text = "review the whole run, then end it with `holdfast orchestrator complete`"
        return Step(0, workflow.total, "Outer review", "", "Outer review", text)
    verb = {"active": "go on with", "failed": "retry", "blocked": "retry"}.get(due.status, "start")
    if workflow.status == "pending":
        verb = f"approve the plan with `holdfast orchestrator approve`, then {verb}"
    by = f" (agent {due.agent})" if due.agent else ""
    before = next((each for each in workflow.phases if each.id in workflow.needs), None)
    prompt = f"{due.title}\n\nContext: {before.handover}" if before and before.handover else due.title
    return Step(due.number, workflow.total, due.title, due.agent, prompt, f'{verb} task {due.id} "{due.title}"{by}')


def match_phase(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the task an agent was launched for, None without evidence, and for an agent that looks after the run."""
    return None if overseers.kind(agent) else assignments.match_phase(workflow, text, agent)


def judge(project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
    """Move a task because of its agent. A hook never completes the run: the last task makes it `reviewing`.

    Raises StateError if the state can't be written.
    """

    def edit(run: Run) -> None:
        task = run.task(phase_id)
        if run.terminal or (task.status == "completed" and status != "completed"):
            return
        if status == "active":
            transitions.begin(run, phase_id)
        elif status == "completed":
            if task.status in ("failed", "blocked"):
                transitions.begin(run, phase_id)
            if task.status != "completed":
                transitions.finish(run, phase_id)
            transitions.deliver(run, phase_id, *extract_result(words))
        else:
            transitions.fail(run, phase_id, words)

    error = words if status == "failed" else ""
    made = store.change(project, edit, why=f"{phase_id} {status}", run_id=workflow.id, error=error)
    return Judged(made.workflow, made.changed, "", tuple(made.run.said))


def held(project: Records, workflow: Workflow) -> str:
    """Return which bounds are used up and how to extend them; empty if none is, or the state can't be read."""
    try:
        return bounds.over(store.current(project)[1])
    except HoldfastError:
        return ""


def _found(project: Records) -> tuple[Found, Run | None]:
    """Return what `find` does, with the run that was read for it."""
    try:
        file = store.load(project)
    except MissingError:
        return Found(), None
    except StateError as error:
        return Found(problems=(Problem(error.path, error.reason),)), None
    run = view.opened(project, file)
    workflow, problems = view.workflow(project, file, run)
    broken = (Problem(file.path, _broken(file)),) if file.broken else ()
    return Found((workflow,), broken + problems), run


def _broken(file: StateFile) -> str:
    return file.broken if file.present is None else file.trouble
