"""`holdfast next`: print the next step and begin it, or print what a phase's agent is told."""

from __future__ import annotations

from holdfast.commands import options, workflow_commands
from holdfast.commands.verb import Json, verb
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs


@verb("next")
def command(project: Workspace, name: workflow_commands.PhaseName = None, *, as_json: Json = False) -> None:
    """Print the next step with its agent and what the last one handed over. Begin it if nothing is active.

    NAME is a workflow. Or it is a phase or task: then nothing begins, and its agent's instructions are printed.

    Run it as often as you like. Only `holdfast done` completes a phase.

    \b
    Examples:
      holdfast next
      holdfast next payments
      holdfast next "Design the API"
    """
    workflow, phase = workflow_commands.find_phase(project, name, None)
    if phase is None:
        workflow_commands.tell(verbs.begin(project, workflow), as_json)
        return
    brief = registry.get(workflow.format).brief(project, workflow, phase)
    lines = [f"{workflow.named(phase)}: {phase.title} ({phase.status})"] if brief is None else list(brief.lines)
    if as_json:
        options.print_json({"id": phase.id, "title": phase.title, "status": phase.status, "lines": lines})
    else:
        options.say("\n".join(lines))
