"""`holdfast cancel`: give a workflow up."""

from __future__ import annotations

import click

from holdfast.commands import options
from holdfast.commands import verbs as shared
from holdfast.errors import command_line
from holdfast.workflow import verbs
from holdfast.workflow.wording import quoted


@click.command(name="cancel")
@options.workflow_argument
@click.option("--reason", default="", metavar="TEXT", help="Why. It is kept where the format has a place for it.")
@options.json_option
@options.project_option
def command(workflow_id: str | None, reason: str, as_json: bool, project_dir: str | None) -> None:
    """Give up the current workflow, or WORKFLOW. Nothing is completed, and it isn't restored any more.

    A wfs session is paused instead: its folder stays, and `holdfast wfs resume` continues it.

    \b
    Example:
      holdfast cancel payments --reason "We buy one instead"
    """
    project = options.open_project(project_dir)
    workflow = shared.find(project, workflow_id)
    after = verbs.cancel(project, workflow, reason)
    news = f"Cancelled {quoted(after.title)} at {after.progress_text}.{shared.kept(after)}"
    if after.paused:
        resume = command_line(after.format, "resume", after.id)
        news = f"Paused {quoted(after.title)} at {after.progress_text}. `{resume}` continues it."
    shared.tell(after, as_json, news)
