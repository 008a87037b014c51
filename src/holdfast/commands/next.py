"""`holdfast next`: print the next step, and begin it."""

from __future__ import annotations

from holdfast.commands import workflow_commands
from holdfast.commands.verb import Json, Name, verb
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import verbs


@verb("next")
def command(project: Workspace, workflow_id: Name = None, *, as_json: Json = False) -> None:
    """Print the next step with its agent and what the last one handed over. Begin it if nothing is active.

    Run it as often as you like. Only `holdfast done` completes a phase.

    \b
    Examples:
      holdfast next
      holdfast next payments
    """
    workflow = workflow_commands.find(project, workflow_id)
    workflow_commands.tell(verbs.begin(project, workflow), as_json)
