"""`holdfast done`: complete the current phase and move on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options, verbs
from holdfast.errors import command_line
from holdfast.workflow import registry
from holdfast.workflow.wording import count, quoted

if TYPE_CHECKING:
    from holdfast.workflow.model import Step, Workflow

_NAMED = 5  # phases that the message names


@click.command(name="done")
@options.workflow_argument
@click.option("--note", default="", metavar="TEXT", help="Tell the next phase what it needs to know.")
@click.option("--all", "everything", is_flag=True, help="End the workflow. Phases that never began stay as they are.")
@options.json_option
@options.project_option
def command(workflow_id: str | None, note: str, everything: bool, as_json: bool, project_dir: str | None) -> None:
    """Complete the current phase and begin the next one. The last phase completes the workflow.

    \b
    Example:
      holdfast done --note "The API is in src/api.py"
    """
    project = options.open_project(project_dir)
    workflow = verbs.find(project, workflow_id)
    keeper = registry.get(workflow.format)
    due = keeper.step(workflow)
    after = keeper.done(project, workflow, note=note, everything=everything)
    verbs.tell(after, as_json, _news(workflow, due, after))


def _news(before: Workflow, due: Step | None, after: Workflow) -> str:
    unit = before.unit
    if after.finished:
        gone = (
            "" if after.path.exists() else f" Its file is removed; `{command_line('show', after.id)}` still shows it."
        )
        return f"{_end(after, due)}{gone}"
    if due is None or (after.current, after.phase_status) == (due.number, "active"):  # it was completed before
        return f'{unit.capitalize()} "{before.phase}" was completed before; "{after.phase}" begins.'
    return f'Completed {unit} "{due.title}".'


def _end(after: Workflow, due: Step | None) -> str:
    """Return how a workflow ended, with the phases that nobody completed."""
    if after.completed == after.total:
        last = f'Completed {after.unit} "{due.title}". ' if due else ""
        return f"{last}The workflow is complete."
    left = [each for each in after.phases if each.status != "completed"]
    named = ", ".join(
        f"{each.number if after.in_order else each.id} {quoted(each.title)}" for each in left[:_NAMED]
    ) + (", …" if len(left) > _NAMED else "")
    stays = f" Not completed: {named}." if left else ""
    return f"Ended the workflow with {after.completed} of {count(after.total, after.unit)} completed.{stays}"
