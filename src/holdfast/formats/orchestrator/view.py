"""How a state reads as a workflow: tasks are its units, and what a compaction must not lose is its context."""

from __future__ import annotations

from contextlib import suppress
from itertools import takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.formats.orchestrator import amounts, schema, task_document
from holdfast.formats.orchestrator.run import EXECUTOR, Run
from holdfast.workflow import extras, values
from holdfast.workflow.model import Status, Workflow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.model import Phase
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

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


def open_run(project: Records, file: StateFile) -> Run:
    """Return a state file with its notes as a run.

    A state that nobody started here has no notes; its document is read, and what it says isn't written.
    """
    run = Run(file.data, extras.notes(project, schema.state_path(project.root), schema.run_id(file.data)))
    if not run.notes:
        with suppress(StateError):
            task_document.note(run, task_document.parse(task_document.of_run(project, run)))
    return run


def workflow(project: Records, file: StateFile) -> Workflow:
    """Return the workflow in a state file, without its extras."""
    run = open_run(project, file)
    tasks = tuple(run.tasks())
    current = "" if run.terminal else run.current()
    due = due_tasks(run, tasks)
    return Workflow.of(
        file.document,
        root=project.root,
        recovered=bool(file.broken),
        format="orchestrator",
        id=schema.run_id(file.data),
        title=title(run),
        status=_STATUSES.get(run.status, "pending"),
        phases=tasks,
        skipped=tuple(run.skipped_tasks()),
        current=next((each for each in tasks if each.id == current), None),
        context={} if run.terminal else context(run, project.root),
        created_at=values.text(run.head.get("start_time")),
        warnings=[values.deviation(*each) for each in schema.deviations(file.data)],
        due=due,
        needs=_before(tasks, due),
    )


def title(run: Run) -> str:
    """Return a run's title: the document's title as last read, else the document's name."""
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
    unfinished = [each for each in tasks if each.status != "completed"]
    begun = [*run.active(), *(each.id for each in unfinished if each.status in ("failed", "blocked"))]
    first = takewhile(lambda each: schema.key(each.id)[0] == schema.key(unfinished[0].id)[0], unfinished)
    return (*begun, *(each.id for each in first if each.status == "pending"))


def context(run: Run, root: Path) -> dict[str, Any]:
    """Return the facts that must survive a compaction, a short text for each question that has an answer."""
    head, position = run.head, run.position()
    number, task, iteration = position["current_phase"], position["current_task"], str(position["ralph_iteration"])
    phases = values.text(head.get("total_phases"))
    phase = ""
    if phases != "1":
        name = run.phase_name(number + 1)
        phase = f" of phase {number + 1}/{phases}" + ("" if name == title(run) else f" {name}")
    tried = "" if iteration == "0" else f"iteration {iteration}, "
    answers: dict[str, Any] = {"run": f"{run.status}, {tried}task {task}{phase}"}
    if head.get("outer_ralph") is True:
        answers["outer_review"] = "running"
    answers["document"] = values.text(head.get("task_doc")).removeprefix(f"{root}/")
    statuses = run.statuses()
    agents = [
        _agent(each, iteration)
        for each in run.entries("active_agents")
        if each.get("type") != EXECUTOR or statuses.get(schema.task_of(each)) != "completed"
    ]
    if agents and agents != [f"{EXECUTOR} {run.at_work()}"]:  # that its task is in progress says the same
        answers["agents"] = agents if len(agents) > 1 else agents[0]
    bounds = values.members(run.data.get("safety_bounds"))
    answers["bounds"] = _bounds(bounds)
    if warned := values.texts(bounds.get("warnings"), "", []):
        answers["bounds_warnings"] = list(warned) if len(warned) > 1 else warned[0]
    if learned := lessons(run):
        answers["learnings"] = learned
    interventions = values.objects(values.members(run.data.get("supervisor")).get("interventions"))
    if interventions:
        answers["last_intervention"] = _intervention(interventions[-1])
    return answers


def lessons(run: Run, task: str = "") -> list[str]:
    """Return the learnings that bear on a task: its own first, then its phase's.

    Args:
        run: the run.
        task: the task; by default those that agents work on, and then the latest of other phases fill up the list.
    """
    entries = run.entries("learnings")
    agents = run.entries("active_agents")
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
    unusual = [status] * (status != "in_progress") + [f"iteration {own}"] * (own != iteration)
    return ", ".join([f"{values.text(entry.get('type'))} {values.text(entry.get('task'))}", *unusual])


def _intervention(entry: Mapping[str, Any]) -> str:
    names = ("task", "check_type", "conflict_type", "severity", "action")
    return f"{' '.join(values.text(entry.get(name)) for name in names)}: {values.text(entry.get('resolution'))}"


def _before(tasks: Sequence[Phase], due: tuple[str, ...]) -> tuple[str, ...]:
    """Return the id of the task before the first that is due: its hand-over is what that one builds on."""
    ids = [each.id for each in tasks]
    at = ids.index(due[0]) if due else 0
    return (ids[at - 1],) if at else ()
