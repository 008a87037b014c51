"""`holdfast cancel`: give a workflow up."""

from __future__ import annotations

from typing import Annotated

from holdfast.commands import workflow_commands
from holdfast.commands.verb import Json, Name, verb
from holdfast.errors import command_line
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import verbs
from holdfast.workflow.wording import quoted


@verb("cancel")
def command(
    project: Workspace,
    workflow_id: Name = None,
    *,
    reason: Annotated[str, {"metavar": "TEXT"}, "Why. It is kept where the format has a place for it."] = "",
    as_json: Json = False,
) -> None:
    """Give up the current workflow, or WORKFLOW. Nothing is completed, and it isn't restored any more.

    A wfs session is paused instead: its folder stays, and `holdfast claim` continues it.

    \b
    Example:
      holdfast cancel payments --reason "We buy one instead"
    """
    workflow = workflow_commands.find(project, workflow_id)
    after = verbs.cancel(project, workflow, reason)
    news = f"Cancelled {quoted(after.title)} at {after.progress_text}.{workflow_commands.put_away(after)}"
    if after.paused:
        resume = command_line("claim", after.id)
        news = f"Paused {quoted(after.title)} at {after.progress_text}. `{resume}` continues it."
    workflow_commands.tell(after, as_json, news)
