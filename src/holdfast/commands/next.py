"""`holdfast next`: print the next step, and begin it."""

from __future__ import annotations

from holdfast.commands import options, workflow_commands
from holdfast.commands.verb import Json, Other, verb
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs


@verb("next")
def command(
    project: Workspace,
    name: workflow_commands.PhaseName = None,
    *,
    workflow_id: Other = None,
    as_json: Json = False,
) -> None:
    """Print the next step with its agent and what the last one handed over. Begin it if nothing is active.

    NAME is a workflow. Or it is a phase or task: then nothing begins, and its agent's instructions are printed.

    Run it as often as you like. Only `holdfast done` completes a phase.

    \b
    Examples:
      holdfast next
      holdfast next payments
      holdfast next "Design the API"
    """
    workflow, phase = workflow_commands.find_phase(project, name, workflow_id)
    if phase is None:
        workflow_commands.tell(verbs.begin(project, workflow), as_json)
        return
    brief = registry.brief(project, workflow, phase)
    before = verbs.numbered(workflow, phase.number - 1) if workflow.in_order else None
    lines = [f"{workflow.named(phase)}: {phase.title} ({phase.status})"] if brief is None else list(brief.lines)
    lines += [f"Handed over to it: {before.handover}"] if before and before.handover else []
    if as_json:
        options.print_json({"id": phase.id, "title": phase.title, "status": phase.status, "lines": lines})
    else:
        options.say("\n".join(lines))
