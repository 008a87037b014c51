"""`holdfast hybrid …`: what only the hybrid format has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from holdfast.commands import options, workflow_commands
from holdfast.errors import HoldfastError
from holdfast.formats.hybrid import moves
from holdfast.formats.hybrid.format import FORMAT, HybridDraft
from holdfast.sessions import phase_report
from holdfast.workflow import todos as lists
from holdfast.workflow import views
from holdfast.workflow.wording import missing, one_line, quoted

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Phase, Status, Workflow

_MARKED = {"completed": "completed", "in_progress": "active", "pending": "pending"}


@click.group(name="hybrid")
def command() -> None:
    """Manage phases with agents and deliverables (.claude/state/workflow.json).

    \b
    Example:
      holdfast hybrid phase 2 --status completed --deliverable src/login.py
    """


@command.command()
@click.argument("phase")
@click.option("--status", type=click.Choice(["active", "completed", "failed"]), help="A new status for the phase.")
@click.option("--deliverable", "deliverables", multiple=True, metavar="D", help="What the phase delivered. Repeat it.")
@click.option("--context", "handover", metavar="TEXT", help="Tell the next phase what it needs to know.")
@click.option("--error", default="", metavar="TEXT", help="Why the phase failed.")
@options.json_option
@options.project_option
def phase(
    phase: str,
    status: Status | None,
    deliverables: tuple[str, ...],
    handover: str | None,
    error: str,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Set the status, deliverables and hand-over of PHASE.

    PHASE is a number from 1 on, a title, or an id. The ids count from 0, because the format demands it: phase_0 is
    phase 1. So does the Markdown view, where it is called Phase 0.

    Completing a phase begins the next one. The last phase completes the workflow.

    \b
    Examples:
      holdfast hybrid phase 2 --status completed --deliverable src/login.py
      holdfast hybrid phase "Write tests" --status failed --error "No database"
    """
    project = options.open_project(project_dir)
    before = _only(project)
    found = _phase_id(before, phase)
    if status is None and not deliverables and handover is None and not error:
        raise HoldfastError("nothing to change; `holdfast hybrid phase --help` lists what you can change")
    workflow_commands.take(project, before)

    def edit(draft: HybridDraft) -> None:
        index = draft.index(found)
        moves.move(draft.data, index, status, deliverables=deliverables, handover=handover or "")
        moves.check_error(draft.data, index, error)

    workflow = FORMAT.change(project, before, edit, why=f"{found} {status or 'noted'}", error=error)
    (changed,) = [each for each in workflow.phases if each.id == found]
    workflow_commands.tell(workflow, as_json, f"{_named(workflow, changed)} is {changed.status}.")


@command.command()
@click.argument("phase")
@options.json_option
@options.project_option
def reopen(phase: str, as_json: bool, project_dir: str | None) -> None:
    """Make a completed or failed PHASE active again.

    This is for people. No hook does it. In a workflow that was ended early, it begins a phase that was left.

    \b
    Example:
      holdfast hybrid reopen 1
    """
    project = options.open_project(project_dir)
    before = _only(project)
    found = _phase_id(before, phase)
    workflow_commands.take(project, before)
    workflow = FORMAT.change(project, before, lambda draft: draft.reopen(found), why=f"{found} reopened")
    waits = [each for each in before.phases if each.status == "active" and each.id != found]
    (changed,) = [each for each in workflow.phases if each.id == found]
    news = [f"{_named(workflow, changed)} is active again."]
    news += [f"{_named(workflow, each)} is pending again." for each in waits]
    workflow_commands.tell(workflow, as_json, " ".join(news))


@command.command()
@options.json_option
@options.project_option
def todos(as_json: bool, project_dir: str | None) -> None:
    """Print the workflow's to-do list.

    \b
    Example:
      holdfast hybrid todos
    """
    project = options.open_project(project_dir)
    workflow_commands.settle(project)
    workflow = _only(project)
    if as_json:
        options.print_json(lists.todo_list(workflow))
    elif sys.stdout.isatty() and not options.conversation(project):
        for each in lists.todo_list(workflow):
            options.say(f"{views.MARKS[_MARKED[each['status']]]} {one_line(each['content'])}")
    else:
        session = options.conversation(project)
        # Not `options.say`, which would break the tags around the data.
        click.echo(lists.request(workflow, phase_report.task_ids(project, session) if session else {}))


def _only(project: Workspace) -> Workflow:
    workflows = FORMAT.find(project).workflows
    if not workflows:
        raise HoldfastError(
            "there is no workflow in the hybrid format here; `holdfast start TITLE --format hybrid --phase TITLE` "
            "starts one"
        )
    return workflows[0]


def _phase_id(workflow: Workflow, wanted: str) -> str:
    """Return a phase's id, given its id or title in any case, or its number from 1."""
    folded = wanted.strip().casefold()
    names = ([each.id, str(each.number), each.title] for each in workflow.phases)
    for column in zip(*names, strict=True):
        same = [each.id for each, name in zip(workflow.phases, column, strict=True) if name.casefold() == folded]
        if same:
            return same[0]
    known = [f"{each.number} {quoted(each.title)}" for each in workflow.phases]
    count = " because phases count from 1" if folded == "0" else ""
    raise HoldfastError(missing(f"phase {quoted(wanted)}{count}", known))


def _named(workflow: Workflow, phase: Phase) -> str:
    return f"Phase {phase.number}/{workflow.total} {quoted(phase.title)}"
