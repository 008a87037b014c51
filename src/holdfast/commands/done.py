"""`holdfast done`: complete the current phase and move on."""

from __future__ import annotations

import click

from holdfast.commands import moving, options
from holdfast.workflow import formats


@click.command(name="done")
@options.workflow_argument
@click.option("--note", default="", metavar="TEXT", help="What the next phase needs to know.")
@click.option("--all", "everything", is_flag=True, help="Complete all phases that remain: the workflow is over.")
@options.json_option
@options.project_option
def command(workflow_id: str | None, note: str, everything: bool, as_json: bool, project_dir: str | None) -> None:
    """Complete the current phase and begin the following one; the last one completes the workflow."""
    project = options.open_project(project_dir)
    workflow = moving.find(project, workflow_id)
    keeper = formats.get(workflow.format)
    due = keeper.step(workflow)
    after = keeper.done(project, workflow, note=note, everything=everything)
    news = "The workflow is completed." if after.finished or due is None else f'Completed phase "{due.title}".'
    moving.tell(after, as_json, news)
