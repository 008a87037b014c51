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
from holdfast.workflow.model import Changes, Found, Judged, Problem, Start, Status, Step, Workflow

if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.model import Phase
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

__all__ = [
    "NAME",
    "RUNS",
    "begin",
    "brief",
    "candidates",
    "credit",
    "done",
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
    "ready",
    "restore",
    "start",
    "step",
    "undoing",
    "unlock",
    "update",
    "written",
]

NAME = view.NAME
foreign = others.foreign


def find(project: Records) -> Found:
    """Return the project's one run, or a problem if its file can't be read."""
    return _found(project)[0]


def candidates(project: Records, keys: Collection[str]) -> Found:
    """Return what `find` does, since there is at most one run.

    If somebody owns it, its pending tasks follow an edited task document.
    """
    found, run = _found(project)
    if run is None or run.terminal or found.workflows[0].recovered or not plan.stale(project, run):
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
    if not start.title.strip():
        raise TransitionError("a run needs a title or the path of a task document")
    if not start.phases:
        named = project.root / Path(start.title.replace("\0", "")).expanduser()
        if start.title.strip().endswith(".md") and named.is_file():
            return store.create(project, start, named.resolve())
        raise TransitionError(
            "a run needs tasks: give --phase for each, or the path of a task document, as in "
            "`holdfast orchestrator start TASK_DOC`"
        )
    if not all(name.strip() for name, _ in start.phases) or start.total not in (None, len(start.phases)):
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


def begin(project: Records, workflow: Workflow) -> Workflow:
    """Approve the plan if it isn't, and start the next pending task; do nothing while one is active or failed."""

    def edit(run: Run) -> None:
        tasks = run.tasks()
        waiting = next((each.id for each in tasks if each.status == "pending"), None)
        if waiting is not None and not run.terminal and all(each.status in ("pending", "completed") for each in tasks):
            transitions.begin(run, waiting)

    return store.change(project, edit, why="begin", run_id=workflow.id).workflow


def done(project: Records, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
    """Complete the task at work and start the next one; after the last, the run is completed without an outer review.

    With `everything`, the run ends and tasks that are left stay pending, so that nothing claims to be done that isn't.
    Nothing happens if somebody else completed the task meanwhile. Raises TransitionError.
    """

    def edit(run: Run) -> None:
        transitions.insist_open(run)
        seen = workflow.due[0] if workflow.due else None
        if everything:
            transitions.complete(run, anyway=True)
        elif seen is None:
            transitions.complete(run)
        elif run.task(seen).status != "completed":
            transitions.finish(run, seen, handover=note)
            left = run.unfinished()
            waiting = next((each.id for each in left if each.status == "pending"), None)
            if waiting is not None and all(each.status == "pending" for each in left):
                transitions.begin(run, waiting)
            elif not left:
                transitions.complete(run)

    return store.change(project, edit, why="done", run_id=workflow.id).workflow


def update(project: Records, workflow: Workflow, changes: Changes) -> Workflow:
    """Move the task at work or task number `changes.current`; keep reading, reminders and context beside the state.

    A broken state file is replaced by its last generation with the changes applied. Raises TransitionError.
    """
    if changes.total not in (None, workflow.total):
        raise TransitionError("a run has the tasks of its task document; add one there")
    if changes.deliverables:
        raise TransitionError("name the files of a task with `holdfast orchestrator task finish ID --file PATH`")
    if changes.error and changes.status not in ("failed", "blocked"):
        raise TransitionError("an error belongs to a task that failed; give --status failed with it")
    task = _meant(workflow, changes)

    def edit(run: Run) -> None:
        if task is not None:
            _apply(run, task.id, changes)

    path = schema.state_path(project.root)
    statefile.guard(project.root, path)
    with locked(path.parent):
        made = store.change(project, edit, why="update", run_id=workflow.id, error=changes.error, repair=True)
        extras.add(project, path, workflow.id, changes)
        return store.told(find(project).workflows[0], made.run.said)


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
        if run.terminal or task.status == "completed":
            return
        if status == "active":
            transitions.begin(run, phase_id, launched=True)
        elif status == "completed":
            if task.status in ("failed", "blocked"):
                transitions.begin(run, phase_id)
            transitions.finish(run, phase_id, handover=extract_result(words)[1])
        else:
            transitions.fail(run, phase_id, words)

    error = words if status == "failed" else ""
    made = store.change(project, edit, why=f"{phase_id} {status}", run_id=workflow.id, error=error)
    reviewing = made.changed and made.run.status == "reviewing"
    notes = ("All tasks are completed. Review the run, then end it with `holdfast orchestrator complete`",)
    return Judged(made.workflow, made.changed, "", (*made.run.said, *(notes if reviewing else ())))


def held(project: Records, workflow: Workflow) -> str:
    """Return which bounds are used up and how to extend them; empty if none is, or the state can't be read."""
    try:
        return bounds.over(store.current(project)[1])
    except HoldfastError:
        return ""


def ready(workflow: Workflow) -> tuple[Phase, ...]:
    """Return the pending tasks of the first open phase, which can be worked on in parallel."""
    due = set(workflow.due)
    return tuple(each for each in workflow.phases if each.id in due and each.status == "pending")


def undoing(phase_id: str) -> str:
    """Return the command with which a person goes back before a task's completion."""
    return "holdfast log restore"


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


def _meant(workflow: Workflow, changes: Changes) -> Phase | None:
    """Return the task that changes are about, None if they move none. Raises TransitionError if there is no such."""
    if not (changes.phase or changes.status or changes.handover is not None or changes.current is not None):
        return None
    numbers = (changes.current, workflow.current, *(each.number for each in workflow.phases if each.id in workflow.due))
    wanted = next((each for each in numbers if each is not None), None)
    found = next((each for each in workflow.phases if each.number == wanted), None)
    if found is None:
        raise TransitionError(f"there is no task number {wanted}; the run has {workflow.total} tasks")
    if changes.phase and changes.phase != found.title:
        raise TransitionError("a task is renamed in its task document")
    return found


def _apply(run: Run, id_: str, changes: Changes) -> None:
    status = changes.status or ("active" if changes.current is not None else None)
    if status == "active":
        transitions.begin(run, id_)
    elif status == "completed":
        transitions.finish(run, id_)
    elif status in ("failed", "blocked"):
        transitions.fail(run, id_, changes.error)
    elif status == "pending" and run.task(id_).status != "pending":
        raise TransitionError("a task that was started doesn't become pending again")
    if changes.handover is not None:
        run.note(id_)["handover"] = changes.handover


def _broken(file: StateFile) -> str:
    return file.broken if file.present is None else file.trouble
