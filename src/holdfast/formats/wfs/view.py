"""The neutral view of a `wfs` session: its leaf tasks are the phases. And its next step, in words for the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import command_line
from holdfast.formats.wfs import context as contexts
from holdfast.formats.wfs import paths, record, schema, tree
from holdfast.workflow import assignments, extras
from holdfast.workflow.model import Phase, Step, Workflow, changed
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.formats.wfs.session import Session, Standing
    from holdfast.formats.wfs.tree import Task, Tree
    from holdfast.workflow.model import Status
    from holdfast.workflow.records import Records

_READY = 10  # ready tasks that are named
_SUMMARIES = 8  # finished tasks whose summaries are included
_SUMMARY_LIMIT_CHARS = 600  # characters of a summary in a prompt
_STATUSES: dict[Standing, Status] = {"active": "active", "paused": "pending", "completed": "completed"}


def workflow(project: Records, session: Session, tasks: Tree | None = None) -> Workflow:
    """Return a session as a workflow, with these tasks, or with its present ones."""
    if tasks is None:
        tasks = tree.read(project, session.folder)
    due = next(iter((*tasks.active, *tasks.executable)), None)
    begun = any(each.status != "pending" for each in tasks.leaves)
    current = due if begun and session.standing != "completed" else None  # none is current before the first is begun
    is_over = session.standing == "completed"
    phases = _phases(session, tasks, due)
    names = {each.name for each in tasks.tasks}
    plain = Workflow(
        format=record.NAME,
        id=session.name,
        title=session.topic,
        kind=session.kind,
        status=_STATUSES[session.standing],
        phases=phases,
        current=next((each.number for each in phases if current and each.id == current.id), None),
        total=len(phases) + sum(problem.path.stem not in names for problem in tasks.problems),
        phase=current.title if current else "",
        phase_status=current.status if current else "",
        reading=_reading(project, session, tasks, due),
        context={} if is_over else _context(session, tasks, due),
        updated_at=changed(session.file.data, max(session.file.document.mtime, tasks.changed)),
        path=session.file.path,
        raw=session.file.document.raw,
        root=project.root,
        warnings=tuple(_warnings(session, tasks)),
        recovered=bool(session.file.broken),
        paused=session.standing == "paused",
        due=() if is_over else tuple(each.id for each in (*tasks.active, *tasks.executable)),
        needs=() if is_over or due is None else tuple(each.id for each in tasks.required(due)),
    )
    merged = extras.merged(project, plain)[0]
    return replace(merged, context={**merged.context, **plain.context})


def key(session: Session) -> str:
    """Return the key of a session's workflow (`Workflow.key`)."""
    return f"{record.NAME}:{paths.TOP}/{session.name}/{paths.SESSION}#{session.name}"


def contradictions(session: Session, tasks: Tree) -> list[tuple[str, str]]:
    """Return the contradictions between a session's status and its tasks, each with a remedy."""
    number = len(tasks.leaves)
    left = number - [each.status for each in tasks.leaves].count("completed")
    if session.standing == "completed" and left:
        text = f"the session is {session.raw_status}, but {left} of {number} tasks are not completed"
        return [(text, command_line("reopen", "--workflow", session.name))]
    if session.standing != "completed" and tasks.finished:
        text = f"all {number} tasks are completed, but the session is {session.raw_status or 'not'}"
        return [(text, command_line("done", "--all", session.name))]
    return []


def _phases(session: Session, tasks: Tree, due: Task | None) -> tuple[Phase, ...]:
    """Return the leaves as phases, some with what their summaries deliver and hand over.

    Those summaries matter now that the task that is due depends on, and those of the last completed tasks.
    """
    completed = [each for each in tasks.leaves if each.status == "completed"]
    required = [each for each in (tasks.required(due) if due else ()) if each.status == "completed"]
    wanted = list(dict.fromkeys(each.name for each in (*required, *completed[-_SUMMARIES:])))[:_SUMMARIES]
    phases = []
    for number, each in enumerate(tasks.leaves, 1):
        summary = contexts.summary(session, each.id) if each.name in wanted else ""
        deliverables, handover = assignments.extract_result(summary, short=False)
        place = f"{paths.TOP}/{session.name}/{paths.TASKS}/{each.name}.json"
        agent = each.agent.removeprefix("@")
        phases.append(Phase(each.id, number, each.title, each.status, agent, deliverables, handover, place))
    return tuple(phases)


def _reading(project: Records, session: Session, tasks: Tree, due: Task | None) -> tuple[str, ...]:
    """Return the required reading: the plan, if it is written, and the task's artifacts, the most important first.

    Its parent's artifacts come after its own (R002-31).
    """
    plan = session.folder / paths.PLAN
    reading = [paths.shown(project, plan)] if _is_written(plan) else []
    for task in filter(None, (due, tasks.parent(due) if due else None)):
        ranked = sorted(task.context.artifacts, key=lambda each: _rank(each.priority))
        reading += [each.path for each in ranked if each.path.strip()]
    return tuple(f"@{path}" for path in dict.fromkeys(reading))


def _is_written(plan: Path) -> bool:
    try:
        return plan.stat().st_size > len(paths.PLAN_TEXT)
    except OSError:
        return False


def _rank(priority: str) -> int:
    known = schema.PRIORITIES
    return known.index(priority) if priority in known else len(known)


def _context(session: Session, tasks: Tree, due: Task | None) -> Mapping[str, Any]:
    """Return the context of the task that is due, the session's phase first."""
    context: dict[str, Any] = {"session_phase": session.phase, "looks_finished": tasks.looks_finished}
    if due is not None:
        own, active = due.context, [each.id for each in tasks.active]
        context |= {
            "task": due.id,
            "requirements": own.requirements,
            "focus_paths": own.focus_paths,
            "acceptance": own.acceptance,
            "shared_context": own.shared_context,
            "inherited": own.inherited.get("context"),
            "depends_on": [each.id for each in tasks.required(due)] if due.depends_on else [],
            "waits_for": tasks.waits_for(due),
            "active_tasks": active if len(active) > 1 else [],
            "ready_beside_it": [each.id for each in tasks.executable if each.id != due.id][:_READY],
        }
    return {name: value for name, value in context.items() if value}


def _warnings(session: Session, tasks: Tree) -> list[str]:
    mismatch = [session.marker_mismatch] if session.marker_mismatch else []
    contradicted = [f"{text}: `{command}`" for text, command in contradictions(session, tasks)]
    broken = [f"{problem.path.name} cannot be read: {problem.reason}" for problem in tasks.problems]
    return [*mismatch, *contradicted, *broken]


def step(workflow: Workflow) -> Step | None:
    """Return the active or next task with the prompt for its agent, None if the session is finished."""
    if workflow.finished:
        return None
    evidence = workflow.context.get("looks_finished", {})
    active = [each for each in workflow.phases if each.status == "active"]
    rest = [each for ids_ in (evidence, workflow.due[:1]) for each in workflow.phases if each.id in ids_]
    task = next(iter((*active, *rest)), None)
    if task is None:
        number = next((each.number for each in workflow.phases if each.status != "completed"), 0)
        text = nothing_due(workflow)
        return Step(number, workflow.total, text, "", text, text)
    if task.id in evidence:
        complete = command_line("wfs", "task", "complete", task.id, "--session", workflow.id)
        text = (
            f"check task {task.id} {quoted(task.title)}: {evidence[task.id]}, but its file says {task.status}. If it "
            f"is done, run `{complete}`; otherwise {'go on with' if task.status == 'active' else 'start'} it"
        )
        return Step(task.number, workflow.total, text, "", text, text)
    verb = "go on with" if task.status == "active" else "start"
    agent = f" (agent {task.agent})" if task.agent else ""
    text = f'{verb} task {task.id} "{task.title}"{agent} in session {workflow.id}'
    return Step(task.number, workflow.total, task.title, task.agent, _prompt(workflow, task), text)


def showing(session: str, id_: str) -> str:
    """Return the command that prints a whole task as its agent gets it."""
    return command_line("wfs", "task", "show", id_, "--session", session)


def nothing_due(workflow: Workflow) -> str:
    """Say why no task can be begun, and what to do."""
    left = [each for each in workflow.phases if each.status != "completed"]
    if not workflow.phases:
        return f"plan its tasks; `holdfast wfs task add TITLE --session {workflow.id}` adds one"
    if not left and len(workflow.phases) == workflow.total:
        return f"all its tasks are completed; `{command_line('done', '--all', workflow.id)}` ends it"
    if not left:
        return "a task's file can't be read; `holdfast doctor` names it"
    return (
        "no task can be begun, because those that are left are blocked, or wait for a blocked one or each other; "
        f"`holdfast wfs task show --session {workflow.id}` lists them"
    )


def _prompt(workflow: Workflow, task: Phase) -> str:
    """Return the prompt for a task's agent; it names the command that prints everything."""
    lines = [f"{task.id}: {task.title}"]
    for name, heading in (("requirements", "Requirements"), ("focus_paths", "Focus on"), ("acceptance", "Acceptance")):
        entries = workflow.context.get(name)
        if isinstance(entries, list) and entries:
            lines += ["", f"{heading}:", *(f"- {each}" for each in entries)]
    before = [each for each in workflow.phases if each.id in workflow.needs and each.handover]
    lines += ["", *(_handover(workflow, each) for each in before)] if before else []
    return "\n".join([*lines, "", f"Full task: {showing(workflow.id, task.id)}"])


def _handover(workflow: Workflow, task: Phase) -> str:
    """Return a task's hand-over; for a long one its beginning, and the path of the whole summary."""
    if len(task.handover) <= _SUMMARY_LIMIT_CHARS:
        return f"Context: {task.handover} ({task.id})"
    path = f"{workflow.place.rpartition('/')[0]}/{paths.SUMMARIES}/{task.id}-summary.md"
    return f"Context: {task.handover[:_SUMMARY_LIMIT_CHARS].rstrip()}… ({task.id}, whole in {path})"
