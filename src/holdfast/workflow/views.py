"""A workflow as programs and people read it on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from holdfast.workflow.model import Phase, Step, Workflow

MARKS = {"completed": "[x]", "active": "[>]", "failed": "[!]", "blocked": "[-]", "pending": "[ ]"}


def row(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow's line of `holdfast list --json`: the same keys for every format."""
    return {
        "format": workflow.format,
        "id": workflow.id,
        "title": workflow.title,
        "status": workflow.status,
        "current": workflow.current,
        "total": workflow.total,
        "phase": workflow.phase,
        "path": str(workflow.path),
        "updated_at": workflow.updated_at,
    }


def whole(workflow: Workflow) -> dict[str, Any]:
    """Return everything the neutral view knows of a workflow, for `holdfast show --json`."""
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
        "warnings": list(workflow.warnings),
    }


def step(workflow: Workflow, following: Step | None) -> dict[str, Any]:
    """Return a workflow with its next step, for `--json` of the verbs that move it."""
    if following is None:
        return row(workflow) | {"next": None}
    named = ("number", "title", "agent", "prompt", "text")
    return row(workflow) | {"next": {name: getattr(following, name) for name in named}}


def text(workflow: Workflow) -> str:
    """Return a workflow as a page of plain text."""
    lines = [
        f"{workflow.title}",
        f"{workflow.format}{f' ({workflow.kind})' if workflow.kind else ''}, {workflow.status}: "
        f"phase {workflow.position}{f' {workflow.phase}' if workflow.phase else ''}",
        f"{workflow.place}, last changed {workflow.updated_at}",
    ]
    lines += _section("Phases", [line for phase in workflow.phases for line in _lines(phase)])
    lines += _section("Required reading", workflow.reading)
    lines += _section("Reminders", workflow.reminders)
    lines += _section("Context", [f"{name} = {value}" for name, value in workflow.context.items()])
    lines += _section("Warnings", workflow.warnings)
    return "\n".join(lines)


def table(workflows: tuple[Workflow, ...]) -> str:
    """Return workflows as lines: status, position, title, format and id."""
    return "\n".join(
        f"{workflow.status:<9} {workflow.position:>5}  {one_line(workflow.title)}"
        f"{f' · {one_line(workflow.phase)}' if workflow.phase else ''}  ({workflow.format} {workflow.id})"
        for workflow in workflows
    )


def _section(heading: str, lines: list[str] | tuple[str, ...]) -> list[str]:
    return ["", heading, *(f"  {line}" for line in lines)] if lines else []


def _lines(phase: Phase) -> list[str]:
    line = f"{MARKS[phase.status]} {phase.number}. {phase.title}"
    if phase.agent:
        line += f"  @{phase.agent}"
    if phase.deliverables:
        line += f"  → {', '.join(phase.deliverables)}"
    if phase.status == "failed":
        line += "  (failed)"
    return [line, *(f"       handed over: {part}" for part in phase.handover.splitlines())]


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
