"""Views of a workflow on the command line, as JSON values and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import command_line
from holdfast.workflow import names, registry
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from holdfast.workflow.model import Phase, Step, Workflow
    from holdfast.workflow.records import Records

MARKS = {"completed": "[x]", "active": "[>]", "failed": "[!]", "blocked": "[-]", "pending": "[ ]"}


def row(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow's row for `holdfast status --json`, with the same keys for every format."""
    return {
        "format": workflow.format,
        "id": workflow.id,
        "title": workflow.title,
        "status": "cancelled" if workflow.abandoned else workflow.status,
        "paused": workflow.paused,
        "current": workflow.current,
        "total": workflow.total,
        "phase": workflow.phase,
        "path": str(workflow.path),
        "updated_at": workflow.updated_at,
        "ended": workflow.ended,
    }


def whole(workflow: Workflow) -> dict[str, Any]:
    """Return everything the neutral view knows of a workflow, for `holdfast status --json`."""
    return row(workflow) | {
        "type": workflow.kind,
        "phase_status": workflow.phase_status,
        "phases": [_phase(phase) for phase in workflow.phases],
        "required_reading": list(workflow.reading),
        "key_reminders": list(workflow.reminders),
        "context": dict(workflow.context),
        "created_at": workflow.created_at,
        "origin": workflow.origin,
        "recovered": workflow.recovered,
        "warnings": [*workflow.warnings, *workflow.remarks],
    }


def step(workflow: Workflow, following: Step | None) -> dict[str, Any]:
    """Return a workflow with its next step, for `--json` of the verbs that move it."""
    if following is None:
        return row(workflow) | {"next": None}
    named = ("number", "title", "agent", "prompt", "text")
    return row(workflow) | {"next": {name: getattr(following, name) for name in named}}


def call(following: Step) -> str:
    """Return the line on how to launch a step's agent, in the client's own names (I000-16); the prompt follows it."""
    if not following.agent:
        return "Prompt:"
    agent, title = one_line(following.agent), one_line(following.title)
    return f'Agent call: subagent_type "{agent}", description "{title}", prompt:'


def table(workflows: tuple[Workflow, ...]) -> str:
    """Return workflows as lines: status, position, title, format and id."""
    return "\n".join(map(line, workflows))


def line(workflow: Workflow, more: str = "") -> str:
    """Return a workflow's status, position, title, format and id, and `more` about it, on one line."""
    phase = f" - {one_line(workflow.current_name)}" if workflow.phase else ""
    name = f"({workflow.format} {workflow.id}{more})"
    return f"{workflow.word:<9} {workflow.position:>5}  {one_line(workflow.title)}{phase}  {name}"


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "id": phase.id,
        "number": phase.number,
        "title": phase.title,
        "status": phase.status,
        "agent": phase.agent,
        "deliverables": list(phase.deliverables),
        "context_for_next": phase.handover,
    }


def ways(project: Records, workflow: Workflow) -> str:
    """Say how to make room for another workflow where an unfinished one is."""
    finish = "" if workflow.status == "failed" else f"end it with `{ending(project, workflow)}`, or "
    return f"{finish}add --replace to archive it unfinished"


def occupied(project: Records, workflow: Workflow) -> str:
    """Say that a file already holds an unfinished workflow, and how to make room for another."""
    where = f"{workflow.place} ({workflow.status}, {workflow.unit} {workflow.position})"
    return f"{quoted(workflow.title)} ({workflow.id}) already exists in {where}; {ways(project, workflow)}"


def ending(project: Records, workflow: Workflow) -> str:
    """Return the command that ends a workflow, with its shortest name."""

    return command_line("done", "--all", shortest(project, workflow))


def shortest(project: Records, workflow: Workflow) -> str:
    """Return the shortest of what you can type for a workflow in its project."""
    return min(names.short(workflow, registry.all_found(project).workflows), workflow.id, key=len)
