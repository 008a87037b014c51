"""What the skills commands share: which workflow one is about, moving it, and printing what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holdfast.commands import options, workflow_commands
from holdfast.errors import HoldfastError
from holdfast.formats.skills import adapter, lookup, store, transitions, view
from holdfast.formats.skills import file as files
from holdfast.sessions import selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.formats.skills.machine import Machine
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

workflow_option = click.option(
    "--workflow", "wanted", metavar="KEY", help="The feature, task or id of another workflow than the current one."
)


def find(project: Workspace, wanted: str | None) -> Workflow:
    """Return the workflow that a command is about: the one that is named, else the session's own, else the only one.

    Raises HoldfastError if there is none, or if several fit.
    """
    workflow_commands.settle(project)
    if wanted is not None:
        store.tidy(project, lookup.named(project, wanted, finished=True))
        return lookup.one(project, wanted)
    every = adapter.find(project)
    store.tidy(project, every.workflows)
    found = [each for each in every.workflows if not each.finished]
    own, free = selection.candidates(project, found, options.conversation(project))
    if own or len(free) == 1:
        return (own or free)[0]
    if free:
        raise HoldfastError(f"several workflows are unfinished: {lookup.listing(free)}; name one with --workflow")
    taken = "; those there are belong to other live sessions" if found else ""
    begins = "`holdfast skills start SKILL --feature FILE` starts one"
    raise HoldfastError(f"no workflow of a skill is unfinished{taken}; {begins}{selection.unreadable(every)}")


def move(
    project: Workspace,
    wanted: str | None,
    edit: Callable[[dict[str, Any], Machine, str], None],
    *,
    why: str,
    error: str = "",
) -> tuple[Workflow, bool]:
    """Change the workflow that a command is about, and give it to the session that runs the command.

    Returns it as it is now, and whether it changed. Raises HoldfastError.
    """
    workflow = find(project, wanted)
    workflow_commands.take(project, workflow)
    return store.change(project, workflow, edit, why=why, error=error)


def row(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow for --json, as the document's files have it."""
    data = view.of(workflow).data
    return {
        "id": workflow.path.stem,
        "skill": workflow.kind,
        "path": workflow.place,
        "status": files.status(data),
        "current_phase": transitions.current(data),
        "current_step": data["state_machine"].get("current_step"),
        "current_task": view.current_task(data),
        "tasks": len(files.tasks(data)),
        "tasks_completed": view.completed_tasks(data),
    }


def tell(workflow: Workflow, as_json: bool, *news: str, changed: bool = True, notes: Sequence[str] = ()) -> None:
    """Print what came of a command: what is new, notes, and the next step."""
    if as_json:
        options.print_json(row(workflow) | {"changed": changed, "notes": [*notes, *workflow.warnings]})
        return
    said = news if changed else (f"{news[0]} Nothing changed.",)
    following = adapter.step(workflow)
    lines = [*said, *(f"warning: {each}" for each in (*notes, *workflow.warnings))]
    options.say("\n".join([*lines, *([f"Next: {following.text}."] if following else [])]))
