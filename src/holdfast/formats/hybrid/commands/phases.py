"""`holdfast hybrid …`: what only the hybrid format has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options, verbs
from holdfast.errors import HoldfastError
from holdfast.formats.hybrid import adapter
from holdfast.sessions.agents import todolists
from holdfast.workflow import todos as lists

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Status, Workflow


@click.group(name="hybrid")
def command() -> None:
    """Phases with agents, deliverables and a Markdown view (.claude/state/workflow.json)."""


@command.command()
@click.argument("phase")
@click.option("--status", type=click.Choice(["active", "completed", "failed"]), help="The phase's new status.")
@click.option("--deliverable", "deliverables", multiple=True, metavar="D", help="What the phase delivered.")
@click.option("--context", "handover", metavar="C", help="What the next phase needs to know.")
@click.option("--error", default="", metavar="TEXT", help="What went wrong in a phase that failed.")
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
    """Set a phase's status, deliverables and hand-over.

    PHASE is its id, such as phase_0, its number in the Markdown view, or its title.
    Completing a phase begins the following one; the last one completes the workflow.
    """
    project = options.open_project(project_dir)
    before = _only(project)
    found = _phase_id(before, phase)
    if status is None and not deliverables and handover is None and not error:
        raise HoldfastError("nothing to change was given; see holdfast hybrid phase --help")
    verbs.take(project, before)
    workflow, _ = adapter.move(
        project, found, status, deliverables=deliverables, handover=handover or "", error=error, by="person"
    )
    (changed,) = [each for each in workflow.phases if each.id == found]
    verbs.tell(workflow, as_json, f'Phase {changed.id} "{changed.title}" is {changed.status}.')


@command.command()
@click.argument("phase")
@options.json_option
@options.project_option
def reopen(phase: str, as_json: bool, project_dir: str | None) -> None:
    """Make a completed or failed PHASE active again; for people, no hook ever does this."""
    project = options.open_project(project_dir)
    before = _only(project)
    found = _phase_id(before, phase)
    verbs.take(project, before)
    workflow = adapter.reopen(project, found)
    waits = [each for each in before.phases if each.status == "active" and each.id != found]
    verbs.tell(workflow, as_json, " ".join(["Reopened.", *(f"Phase {each.id} waits again." for each in waits)]))


@command.command()
@options.json_option
@options.project_option
def todos(as_json: bool, project_dir: str | None) -> None:
    """Print the to-do list the workflow stands for."""
    project = options.open_project(project_dir)
    verbs.settle(project)
    workflow = _only(project)
    if as_json:
        options.print_json(lists.wanted(workflow))
    else:
        session = options.session()
        options.say(lists.request(workflow, todolists.task_ids(project, session) if session else {}))


def _only(project: Workspace) -> Workflow:
    workflows = adapter.find(project).workflows
    if not workflows:
        raise HoldfastError(f"{project.root} has no hybrid workflow; holdfast start TITLE --format hybrid makes one")
    return workflows[0]


def _phase_id(workflow: Workflow, wanted: str) -> str:
    """Return a phase's id, given its id, its number in the Markdown view (from 0), or its title."""
    for each in workflow.phases:
        if wanted in (each.id, each.title) or wanted == each.id.removeprefix("phase_"):
            return each.id
    known = ", ".join(f"{each.id} ({each.title})" for each in workflow.phases)
    raise HoldfastError(f"no phase is called {wanted!r}; there are: {known}")
