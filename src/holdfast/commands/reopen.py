"""`holdfast reopen`: make a completed phase active again."""

from __future__ import annotations

import click

from holdfast.commands import options
from holdfast.commands import verbs as shared
from holdfast.errors import HoldfastError
from holdfast.workflow import verbs
from holdfast.workflow.wording import quoted


@click.command(name="reopen")
@shared.phase_argument
@shared.workflow_option
@options.json_option
@options.project_option
def command(name: str | None, workflow_id: str | None, as_json: bool, project_dir: str | None) -> None:
    """Make a completed or failed phase active again: the last one, or the one with this title, id or number.

    Hooks never do this. It also opens a completed workflow again whose file is still there.

    \b
    Example:
      holdfast reopen "Design the API"
    """
    project = options.open_project(project_dir)
    workflow, phase = shared.find_phase(project, name, workflow_id, finished=True)
    over = [each for each in workflow.phases if each.status in ("completed", "failed")]
    if phase is None and not over:
        raise HoldfastError(f"no {workflow.unit} of {quoted(workflow.title)} is completed; name the one to begin")
    if phase is None and not workflow.in_order and not workflow.finished:
        raise HoldfastError(f"name the {workflow.unit} to reopen; `holdfast show` lists them")
    phase = phase or over[-1]
    after = verbs.reopen(project, workflow, phase)
    shared.tell(after, as_json, f"Reopened {after.named(phase)} {quoted(phase.title)}.")
