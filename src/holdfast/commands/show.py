"""`holdfast show`: show one workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from holdfast import clock
from holdfast.commands import options, terminal, workflow_page
from holdfast.commands.verb import Json, Name, verb
from holdfast.errors import HoldfastError
from holdfast.sessions import archive, overview, phases, saving, selection
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry

if TYPE_CHECKING:
    from holdfast.workflow.model import Workflow


@verb("show")
def command(project: Workspace, workflow_id: Name = None, *, as_json: Json = False) -> None:
    """Show the current workflow, or WORKFLOW: phases, agents, to-do list, saves and restores.

    WORKFLOW may be completed and in the archive. If no workflow is in progress, the last completed one is shown.

    \b
    Examples:
      holdfast show
      holdfast show payments
    """
    workflow = find(project, workflow_id)
    seen = overview.gather(project, workflow, registry.all_found(project))
    if as_json:
        options.print_json(overview.as_json(seen))
    else:
        console = terminal.console()
        if workflow_id is None and workflow.finished:
            end = {"completed": "is completed", "cancelled": "was cancelled"}.get(workflow.word, "failed")
            terminal.put_wrapped(console, Text(f"No workflow is in progress here. The last one {end}:\n"))
        terminal.put_wrapped(console, *workflow_page.page(seen, clock.now()))


def find(project: Workspace, wanted: str | None) -> Workflow:
    """Return the workflow to show: the one named, from the archive too, or the one that was completed last."""
    saving.take_over(project, options.conversation(project) or "")  # a plan in CLAUDE.local.md is a workflow, too
    if wanted is None and all(each.finished for each in registry.all_found(project).workflows):
        return _last(project)
    try:
        workflow = selection.select(project, wanted, options.conversation(project))
    except HoldfastError:
        archived = selection.archived(project, wanted) if wanted is not None else None
        if archived is None:
            raise
        return archived.workflow
    phases.observe(project, workflow)  # it may have been changed by hand
    return workflow


def _last(project: Workspace) -> Workflow:
    """Return the workflow that was completed last. Raises HoldfastError if there is none."""
    found = registry.all_found(project)
    for each in found.workflows:
        phases.observe(project, each)  # it may have been completed by hand
    workflow = archive.last(project, found.workflows)
    if workflow is None:
        troubles = [f"{each.path} can't be read: {each.reason}" for each in found.problems]
        troubles += [project.ledger.problem] if project.ledger.problem else []
        known = ", and none was completed here" if not troubles else "".join(f"; {each}" for each in troubles)
        raise HoldfastError(f"there is no workflow in this project{known}; `holdfast start TITLE` starts one")
    return workflow
