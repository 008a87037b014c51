"""`holdfast show`: show one workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import clock
from holdfast.commands import options, page, sheet
from holdfast.errors import HoldfastError
from holdfast.survival import history, overview, selection
from holdfast.workflow import formats

if TYPE_CHECKING:
    from holdfast.project import Project
    from holdfast.workflow.model import Workflow


@click.command(name="show")
@options.workflow_argument
@options.json_option
@options.project_option
def command(workflow_id: str | None, as_json: bool, project_dir: str | None) -> None:
    """Show one workflow, of the archive too: phases, agents, to-do list, last save and restore, reading, context."""
    project = options.open_project(project_dir)
    workflow = _find(project, workflow_id)
    seen = overview.gather(project, workflow, formats.all_found(project))
    if as_json:
        options.print_json(overview.as_json(seen))
    else:
        console = sheet.console()
        sheet.put(console, page.whole(seen, clock.now(), console.width))


def _find(project: Project, wanted: str | None) -> Workflow:
    """Return the workflow that is meant; a name that nothing here has may be one of the archive's."""
    try:
        workflow = selection.select(project, wanted, options.session())
    except HoldfastError:
        archived = selection.archived(project, wanted) if wanted is not None else None
        if archived is None:
            raise
        return archived.workflow
    history.observe(project, workflow)  # somebody may have moved it by hand
    return workflow
