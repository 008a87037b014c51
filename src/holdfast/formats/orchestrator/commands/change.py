"""What the commands of a run share: finding it, giving it to the session, changing it and printing what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.commands import options, workflow_commands
from holdfast.formats.orchestrator import schema, store, view

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.formats.orchestrator.run import Run
    from holdfast.formats.orchestrator.store import Changed
    from holdfast.sessions.workspace import Workspace


def opened(project_dir: str | None) -> Workspace:
    """Open the project, apply what its agents reported, and give its run to the session that runs the command.

    Raises MissingError without a run, and StateError if the state can't be read.
    """
    project = options.open_project(project_dir)
    workflow_commands.settle(project)
    file, _ = store.current(project)
    workflow_commands.take(project, view.workflow(project, file)[0])
    return project


def known(run: Run, *ids: str) -> None:
    """Raise HoldfastError for an id that no task of the run has; a typing error would be recorded otherwise."""
    agents = {schema.task_of(each) for each in schema.objects(run.data.get("active_agents"))}
    for each in ids:
        if each and each not in agents:
            run.task(each)


def change(
    project: Workspace, edit: Callable[[Run], object], why: str, as_json: bool, news: str, *, error: str = ""
) -> Changed:
    """Change the run and print what it is now, with its next step."""
    made = store.change(project, edit, why=f"orchestrator {why}", error=error)
    workflow_commands.tell(made.workflow, as_json, news)
    return made
