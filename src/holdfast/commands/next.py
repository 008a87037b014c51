"""`holdfast next`: print the next step, and begin it."""

from __future__ import annotations

from holdfast.commands import options, workflow_commands
from holdfast.commands.verb import Json, Other, verb
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs, views
from holdfast.workflow.wording import quoted


@verb("next")
def command(
    project: Workspace,
    name: workflow_commands.PhaseName = None,
    *,
    workflow_id: Other = None,
    as_json: Json = False,
) -> None:
    """Print the next step with its agent and what the last one handed over. Begin it if nothing is active.

    NAME is a workflow, or a phase: then it prints what the phase's agent is told, and begins nothing.

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
    brief = registry.get(workflow.format).brief(project, workflow, phase)
    lines = list(brief.lines) if brief else []
    if as_json:
        options.print_json(views.row(workflow) | {"next": views.phase(phase) | {"brief": lines}})
        return
    before = verbs.numbered(workflow, phase.number - 1)
    handed = before.handover if before and workflow.in_order else ""
    agent = f", @{phase.agent}" if phase.agent else ""
    text = [f"{workflow.named(phase)} {quoted(phase.title)} is {phase.status}{agent}."]
    text += [f"Handed over to it: {handed}"] if handed else []
    options.say("\n".join([*text, *lines]))
