"""`holdfast update`: change a workflow's phase, reading, reminders or context."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from holdfast.commands import options, verbs
from holdfast.errors import HoldfastError
from holdfast.workflow import registry
from holdfast.workflow.model import Changes

if TYPE_CHECKING:
    from holdfast.workflow.model import Status, Workflow

STATUSES: dict[str, Status] = {
    "pending": "pending",
    "active": "active",
    "completed": "completed",
    "failed": "failed",
    "blocked": "blocked",
    "not_started": "pending",
    "in_progress": "active",
}
"""The words `--status` accepts: the neutral ones, and those of document 001 (R001-07)."""


@click.command(name="update")
@options.workflow_argument
@click.option("--phase", metavar="N|NAME", help="The phase that is current, by number or title, or its new title.")
@click.option("--total", type=click.IntRange(min=1), metavar="N", help="How many phases there are.")
@click.option("--status", type=click.Choice(tuple(STATUSES)), help="The current phase's status.")
@click.option("--deliverable", "deliverables", multiple=True, metavar="D", help="A deliverable of the current phase.")
@click.option("--context", "handover", metavar="TEXT", help="What the current phase leaves for the next.")
@click.option("--error", default="", metavar="TEXT", help="What made the current phase fail, or blocks it.")
@options.content_options
@options.json_option
@options.project_option
def command(
    workflow_id: str | None,
    phase: str | None,
    total: int | None,
    status: str | None,
    deliverables: tuple[str, ...],
    handover: str | None,
    error: str,
    reading: tuple[str, ...],
    reminders: tuple[str, ...],
    assignments: tuple[str, ...],
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Change a workflow; readings, reminders and context are added to what is there."""
    number = int(phase) if phase and phase.isdecimal() else None
    changes = Changes(
        current=number,
        total=total,
        phase=phase if number is None else None,
        status=STATUSES[status] if status else None,
        reading=options.as_reading(reading),
        reminders=reminders,
        context=options.as_context(assignments),
        deliverables=deliverables,
        handover=handover,
        error=error,
    )
    if changes == Changes():
        raise HoldfastError("nothing to change was given; see holdfast update --help")
    project = options.open_project(project_dir)
    workflow = verbs.find(project, workflow_id)
    changes = _meant(workflow, changes)
    after = registry.get(workflow.format).update(project, workflow, changes)
    verbs.tell(after, as_json, _news(workflow, after))
    options.tell_outside(project, changes.reading)


def _meant(workflow: Workflow, changes: Changes) -> Changes:
    """If `--phase` gives another phase's title, go to that phase; nobody wants two phases of one title."""
    others = [
        each.number for each in workflow.phases if each.title == changes.phase and each.number != workflow.current
    ]
    return replace(changes, current=others[0], phase=None) if others else changes


def _news(before: Workflow, after: Workflow) -> str:
    if before.recovered and not after.recovered:
        return (
            f"Updated. {after.place} was broken: it was rewritten from its last good content, and what it held lies "
            "beside it as *.corrupt-*."
        )
    if replace(after, updated_at=before.updated_at) == before:
        return "Nothing was changed: it says that already."
    return "Updated."
