"""The next step of a `wfs` session, in the words that the model is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import command_line
from holdfast.formats.wfs import places
from holdfast.workflow.model import Step
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.formats.wfs.board import Board
    from holdfast.workflow.model import Phase, Workflow

_SUMMARY_LIMIT_CHARS = 600  # characters of a summary in a prompt


def step(workflow: Workflow) -> Step | None:
    """Return the active or next task with the prompt for its agent, None if the session is finished."""
    if workflow.finished:
        return None
    shown = workflow.context.get("looks_finished", {})
    active = [each for each in workflow.phases if each.status == "active"]
    rest = [each for ids_ in (shown, workflow.due[:1]) for each in workflow.phases if each.id in ids_]
    task = next(iter((*active, *rest)), None)
    if task is None:
        left = [each for each in workflow.phases if each.status != "completed"]
        text = _waiting(workflow, left)
        return Step(left[0].number if left else 0, workflow.total, text, "", text, text)
    if task.id in shown:
        complete = command_line("wfs", "task", "complete", task.id, "--session", workflow.id)
        text = (
            f"check task {task.id} {quoted(task.title)}: {shown[task.id]}, but its file says {task.status}. If it is "
            f"done, run `{complete}`; otherwise {'go on with' if task.status == 'active' else 'start'} it"
        )
        return Step(task.number, workflow.total, text, "", text, text)
    verb = "go on with" if task.status == "active" else "start"
    agent = f" (agent {task.agent})" if task.agent else ""
    text = f'{verb} task {task.id} "{task.title}"{agent} in session {workflow.id}'
    return Step(task.number, workflow.total, task.title, task.agent, _prompt(workflow, task.id, task.title), text)


def _handed(workflow: Workflow, task: Phase) -> str:
    """Return a task's hand-over; for a long one its beginning, and the path of the whole summary."""
    if len(task.handover) <= _SUMMARY_LIMIT_CHARS:
        return f"Context: {task.handover} ({task.id})"
    path = f"{workflow.place.rpartition('/')[0]}/{places.SUMMARIES}/{task.id}-summary.md"
    return f"Context: {task.handover[:_SUMMARY_LIMIT_CHARS].rstrip()}… ({task.id}, whole in {path})"


def nothing_due(board: Board) -> str:
    """Say why no task can be begun."""
    if not board.tasks:
        return "it has no tasks; `holdfast wfs task add TITLE` adds one"
    if board.finished:
        return "all its tasks are completed; `holdfast wfs complete` ends it"
    if board.looks_finished:
        done = "; ".join(f"{id_}: {why}" for id_, why in board.looks_finished.items())
        return f"check what looks finished ({done}); `holdfast wfs task complete ID` completes a task"
    blocked = [each.id for each in board.leaves if each.status == "blocked"]
    waiting = [f"{each.id} for {', '.join(board.waits_for(each))}" for each in board.leaves if each.status == "pending"]
    said = [f"blocked: {', '.join(blocked)}"] if blocked else []
    said += [f"unreadable: {', '.join(problem.path.name for problem in board.problems)}"] if board.problems else []
    said += [f"waiting: {'; '.join(waiting[:5])}{'; …' if len(waiting) > 5 else ''}"] if waiting else []
    return f"no task can be begun ({'; '.join(said)}); `holdfast wfs task start ID` begins a blocked one again"


def _waiting(workflow: Workflow, left: Sequence[Phase]) -> str:
    if not workflow.phases:
        return f"plan its tasks; `holdfast wfs task add TITLE --session {workflow.id}` adds one"
    if not left and len(workflow.phases) == workflow.total:
        return f"all its tasks are completed; `{command_line('wfs', 'complete', workflow.id)}` ends it"
    if not left:
        return f"a task's file can't be read; `holdfast wfs check {workflow.id}` names it"
    return (
        "no task can be begun, because those that are left are blocked, or wait for a blocked one or each other; "
        f"`holdfast wfs task list --session {workflow.id}` shows them"
    )


def _prompt(workflow: Workflow, id_: str, title: str) -> str:
    """Return the prompt for a task's agent; it names the command that prints everything."""
    lines = [f"{id_}: {title}"]
    for name, heading in (("requirements", "Requirements"), ("focus_paths", "Focus on"), ("acceptance", "Acceptance")):
        listed = workflow.context.get(name)
        if isinstance(listed, list) and listed:
            lines += ["", f"{heading}:", *(f"- {each}" for each in listed)]
    told = [each for each in workflow.phases if each.id in workflow.needs and each.handover]
    lines += ["", *(_handed(workflow, each) for each in told)] if told else []
    return "\n".join([*lines, "", f"Full task: holdfast wfs task show {id_} --for-agent --session {workflow.id}"])
