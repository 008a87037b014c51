"""How a state reads as a workflow: tasks are its units, and what a compaction must not lose is its context."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.formats.orchestrator import amounts, check, plan, schema
from holdfast.formats.orchestrator.run import EXECUTOR, Run
from holdfast.workflow import extras, values
from holdfast.workflow.model import Status, Workflow, changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.model import Phase, Problem
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

NAME = "orchestrator"
TESTS = "tests_passing"
"""The success criterion that a test run of a task answers, as in the document's example."""
LEARNINGS = 5  # learnings that the context repeats
MINUTE_S = 60
_FAR = 2  # how near a learning of another phase is to a task; its own are 0
_STATUSES: dict[str, Status] = {
    "planning": "pending",
    "executing": "active",
    "reviewing": "active",
    "completed": "completed",
    "failed": "failed",
}


def opened(project: Records, file: StateFile) -> Run:
    """Return a state file with its notes as a run.

    For a state without notes, or with a task in no list, its document is read, and what it says isn't written.
    """
    run = Run(file.data, extras.notes(project, schema.state_path(project.root), schema.run_id(file.data)))
    if not run.notes or run.unlisted():
        run.notes = deepcopy(run.notes)  # which an event shares
        with suppress(StateError):
            doc, mtime = plan.load(project, run)
            if doc.tasks:
                plan.note(run, doc, mtime)
    return run


def workflow(project: Records, file: StateFile, run: Run | None = None) -> tuple[Workflow, tuple[Problem, ...]]:
    """Return a state file as a workflow, with what lies beside it and the problems of that.

    Args:
        project: the project.
        file: the state file.
        run: its run, if the caller has opened it.
    """
    return extras.merged(project, _workflow(project, file, run or opened(project, file)))


def _workflow(project: Records, file: StateFile, run: Run) -> Workflow:
    """Return a state as a workflow. An event reads the same state several times; it is looked through once."""
    known = _last[-1] if _last else None
    if known and known[:3] == (file.path, file.document.raw, run.notes) and known[3].recovered == bool(file.broken):
        return replace(known[3], updated_at=changed(file.data, file.document.mtime))
    found = _read(project, file, run)
    _last[:] = [(file.path, file.document.raw, run.notes, found)]
    return found


_last: list[tuple[Path, bytes, dict[str, Any], Workflow]] = []
"""The last state, its notes, and what they read as."""


def _read(project: Records, file: StateFile, run: Run) -> Workflow:
    tasks = tuple(run.tasks())
    current = _current(run, tasks)
    due = due_tasks(run, tasks)
    return Workflow.of(
        file.document,
        root=project.root,
        recovered=bool(file.broken),
        format=NAME,
        id=schema.run_id(file.data),
        title=title(run),
        status=_STATUSES.get(run.status, "pending"),
        phases=tasks,
        current=None if current is None else tasks[current],
        context={} if run.terminal else context(run, project.root),
        created_at=values.text(run.head.get("start_time")),
        warnings=check.types(file.data),
        due=due,
        needs=_before(tasks, due),
    )


def title(run: Run) -> str:
    """Return what a run is called: the document's title as it was read last, else the document's name."""
    doc = values.text(run.head.get("task_doc"))
    return values.text(run.notes.get("title")) or PurePath(doc.replace("\0", "")).stem or "Untitled"


def due_tasks(run: Run, tasks: Sequence[Phase]) -> tuple[str, ...]:
    """Return the ids to work on: active tasks, then failed ones, then the pending ones of the first open phase.

    Args:
        run: the run.
        tasks: its tasks, in the order of their ids.
    """
    if run.terminal:
        return ()
    left = [each for each in tasks if each.status != "completed"]
    begun = [*run.active(), *(each.id for each in left if each.status in ("failed", "blocked"))]
    first = takewhile(lambda each: schema.key(each.id)[0] == schema.key(left[0].id)[0], left)
    return (*begun, *(each.id for each in first if each.status == "pending"))


def context(run: Run, root: Path) -> dict[str, Any]:
    """Return what has to survive a compaction, a short text for each question; what says nothing yet is left out."""
    head, position = run.head, run.position()
    number, task, iteration = position["current_phase"], position["current_task"], str(position["ralph_iteration"])
    phases = values.text(head.get("total_phases"))
    phase = ""
    if phases != "1":
        called = run.phase_name(number + 1)
        phase = f" of phase {number + 1}/{phases}" + ("" if called == title(run) else f" {called}")
    tried = "" if iteration == "0" else f"iteration {iteration}, "
    found: dict[str, Any] = {"run": f"{run.status}, {tried}task {task}{phase}"}
    if head.get("outer_ralph") is True:
        found["outer_review"] = "running"
    found["document"] = values.text(head.get("task_doc")).removeprefix(f"{root}/")
    if work := [f"{id_}: {said}" for id_ in run.active() if (said := done_so_far(run, id_))]:
        found["work_so_far"] = work
    statuses = run.statuses()
    agents = [
        _agent(each, iteration)
        for each in schema.objects(run.data.get("active_agents"))
        if each.get("type") != EXECUTOR or statuses.get(schema.task_of(each)) != "completed"
    ]
    if agents and agents != [f"{EXECUTOR} {run.at_work()}"]:  # that its task is in progress says the same
        found["agents"] = agents if len(agents) > 1 else agents[0]
    bounds = values.members(run.data.get("safety_bounds"))
    found["bounds"] = _bounds(bounds)
    if warned := values.texts(bounds.get("warnings"), "", []):
        found["bounds_warnings"] = list(warned) if len(warned) > 1 else warned[0]
    if learned := lessons(run):
        found["learnings"] = learned
    interventions = schema.objects(values.members(run.data.get("supervisor")).get("interventions"))
    if interventions:
        found["last_intervention"] = _intervention(interventions[-1])
    if news := values.text(run.notes.get("news")):
        found["task_document_changed"] = news
    return found


def lessons(run: Run, task: str = "") -> list[str]:
    """Return the learnings that bear on a task: its own first, then its phase's.

    Args:
        run: the run.
        task: the task; by default those that agents work on, and then the latest of other phases fill up the list.
    """
    entries = schema.objects(run.data.get("learnings"))
    agents = schema.objects(run.data.get("active_agents"))
    at = {task} if task else {schema.task_of(each) for each in agents}
    phases = {schema.phase_of(each) for each in at}

    def nearness(entry: Mapping[str, Any]) -> int:
        mine = schema.task_of(entry)
        return 0 if mine in at else 1 if schema.phase_of(mine) in phases else _FAR

    latest_first = entries[-200:][::-1]
    return [
        f"{values.text(each.get('task'))} {values.text(each.get('type'))}: {values.text(each.get('lesson'))}"
        for each in sorted(latest_first, key=nearness)[:LEARNINGS]
        if not task or nearness(each) < _FAR
    ]


def done_so_far(run: Run, task: str) -> str:
    """Return what is known of a task's commits and tests, for people; empty for nothing."""
    noted = run.noted(task)
    commits = values.texts(noted.get("commits"), "", [])
    said = [f"commits {', '.join(each[:12] for each in commits[-3:])}"] if commits else []
    passed = values.members(noted.get("criteria")).get(TESTS)
    said += ["tests pass" if passed else "tests fail"] if isinstance(passed, bool) else []
    return "; ".join(said)


def _bounds(bounds: Mapping[str, Any]) -> str:
    """Return the bounds, each with what was used of it, unless that is no cost or less than a minute."""
    cost, time = values.text(bounds.get("cost_so_far")), values.text(bounds.get("elapsed_time"))
    spent = f"{cost} of " if amounts.money(cost) != 0 else ""
    took = f"{time} of " if (amounts.seconds(time) or 0) >= MINUTE_S else ""
    most = values.text(bounds.get("max_iterations_per_task"))
    money, hours = values.text(bounds.get("max_cost")), values.text(bounds.get("max_time"))
    return f"{spent}{money}, {took}{hours}, {most} iterations/task"


def _agent(entry: Mapping[str, Any], iteration: str) -> str:
    """Return an agent's type and task, its status unless it works, and its iteration unless that is the run's."""
    status, own = values.text(entry.get("status")), values.text(entry.get("iteration"))
    said = [status] * (status != schema.AGENT_STATUSES[0]) + [f"iteration {own}"] * (own != iteration)
    return ", ".join([f"{values.text(entry.get('type'))} {values.text(entry.get('task'))}", *said])


def _intervention(entry: Mapping[str, Any]) -> str:
    names = ("task", "check_type", "conflict_type", "severity", "action")
    return f"{' '.join(values.text(entry.get(name)) for name in names)}: {values.text(entry.get('resolution'))}"


def _current(run: Run, tasks: Sequence[Phase]) -> int | None:
    """Return the index of the current task; None for none."""
    current = "" if run.terminal else run.current()
    return next((index for index, each in enumerate(tasks) if each.id == current), None)


def _before(tasks: Sequence[Phase], due: tuple[str, ...]) -> tuple[str, ...]:
    """Return the id of the task before the first that is due: its hand-over is what that one builds on."""
    ids = [each.id for each in tasks]
    at = ids.index(due[0]) if due else 0
    return (ids[at - 1],) if at else ()
