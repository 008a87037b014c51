"""`holdfast done`: complete the current phase and move on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options, verbs
from holdfast.workflow import registry

if TYPE_CHECKING:
    from holdfast.workflow.model import Step, Workflow


@click.command(name="done")
@options.workflow_argument
@click.option("--note", default="", metavar="TEXT", help="What the next phase needs to know.")
@click.option("--all", "everything", is_flag=True, help="Complete all phases that remain: the workflow is over.")
@options.json_option
@options.project_option
def command(workflow_id: str | None, note: str, everything: bool, as_json: bool, project_dir: str | None) -> None:
    """Complete the current phase and begin the following one; the last one completes the workflow."""
    project = options.open_project(project_dir)
    workflow = verbs.find(project, workflow_id)
    keeper = registry.get(workflow.format)
    due = keeper.step(workflow)
    after = keeper.done(project, workflow, note=note, everything=everything)
    verbs.tell(after, as_json, _news(workflow, due, after))


def _news(before: Workflow, due: Step | None, after: Workflow) -> str:
    if after.finished or due is None:
        gone = "" if after.path.exists() else f" Its file is removed; `holdfast show {after.id}` still shows it."
        left = sum(each.status != "completed" for each in after.phases) if not after.in_order else 0
        ended = (
            f"The workflow is ended with {left} {after.unit}s left as they are."
            if left
            else "The workflow is completed."
        )
        return f"{ended}{gone}"
    if (after.current, after.phase_status) == (due.number, "active"):  # it was completed before
        return f'{before.unit.capitalize()} "{before.phase}" was completed before; "{after.phase}" begins.'
    return f'Completed {before.unit} "{due.title}".'
