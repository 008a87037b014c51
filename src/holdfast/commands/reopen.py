"""`holdfast reopen`: make a completed phase active again."""

from __future__ import annotations

from holdfast.commands import workflow_commands
from holdfast.commands.verb import Json, Other, verb
from holdfast.errors import HoldfastError
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import verbs
from holdfast.workflow.wording import quoted


@verb("reopen")
def command(
    project: Workspace,
    name: workflow_commands.PhaseName = None,
    *,
    workflow_id: Other = None,
    as_json: Json = False,
) -> None:
    """Make a completed or failed phase active again: the last one, or the one with this title, id or number.

    Hooks never do this. It also opens a completed workflow again whose file is still there.

    \b
    Example:
      holdfast reopen "Design the API"
    """
    workflow, phase = workflow_commands.find_phase(project, name, workflow_id, finished=True)
    over = [each for each in workflow.phases if each.status in ("completed", "failed")]
    if phase is None and not over:
        raise HoldfastError(f"no {workflow.unit} of {quoted(workflow.title)} is completed; name the one to begin")
    if phase is None and not workflow.in_order and not workflow.finished:
        raise HoldfastError(f"name the {workflow.unit} to reopen; `holdfast status` lists them")
    phase = phase or over[-1]
    if phase.status == "active" and not workflow.finished:
        news = f"Nothing changed: {workflow.named(phase)} {quoted(phase.title)} is active already."
        workflow_commands.tell(workflow, as_json, news)
        return
    after = verbs.reopen(project, workflow, phase)
    workflow_commands.tell(after, as_json, f"Reopened {after.named(phase)} {quoted(phase.title)}.")
