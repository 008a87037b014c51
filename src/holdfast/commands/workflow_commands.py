"""What the commands that move a workflow share: finding it, giving it to the session, and printing it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import click

from holdfast import formats
from holdfast.commands import options
from holdfast.errors import HoldfastError, command_line
from holdfast.sessions import owners, progress, selection
from holdfast.workflow import registry, verbs, views
from holdfast.workflow.wording import missing, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Phase, Step, Workflow

PhaseName = Annotated[str | None, {"metavar": "[NAME]", "shell_complete": options.workflow_names}]


def find(project: Workspace, workflow_id: str | None) -> Workflow:
    """Return the workflow that a command is about, and give it to the session that runs the command (`take`).

    Raises:
        HoldfastError: there is none, or several fit.
    """
    settle(project)
    workflow = selection.select(project, workflow_id, options.conversation(project), whole=True)
    take(project, workflow)
    return workflow


def find_phase(
    project: Workspace, name: str | None, workflow_id: str | None, *, finished: bool = False
) -> tuple[Workflow, Phase | None]:
    """Return the workflow that a command is about, and the phase that `name` means in it; None if it is a workflow.

    The session gets the workflow (`take`).

    Args:
        project: the project.
        name: a phase's title, id or number, else a workflow; None for none.
        workflow_id: the workflow, if it isn't the current one.
        finished: whether a completed workflow counts where none is unfinished.

    Raises:
        HoldfastError: there is none, or several fit.
    """
    settle(project)
    workflow, phase = _meant(project, name, workflow_id, finished)
    take(project, workflow)
    return workflow, phase


def _meant(
    project: Workspace, name: str | None, workflow_id: str | None, finished: bool
) -> tuple[Workflow, Phase | None]:
    session = options.conversation(project)
    if workflow_id is not None or name is None:
        every = registry.all_found(project).workflows
        if workflow_id is None and finished and every and all(each.finished for each in every):
            return every[0], None
        workflow = selection.select(project, workflow_id, session, whole=True)
        return workflow, None if name is None else named_phase(workflow, name)
    every = registry.all_found(project).workflows
    own, free = selection.candidates(project, every, session)
    among: Sequence[Workflow] = own or free or [each for each in every if finished]
    found = [(each, phase) for each in among if (phase := verbs.find_phase(each, name))]
    if len(found) == 1 or (found and own):
        return found[0]
    if found:
        verb = click.get_current_context().info_name or "done"
        named = ", ".join(command_line(verb, "--workflow", each.id, name) for each, _ in found[:3])
        named += ", …" if len(found) > 3 else ""
        raise HoldfastError(f"several workflows have a phase {quoted(name)}; name one: {named}")
    try:
        return selection.select(project, name, session, whole=True), None
    except HoldfastError:
        if len(among) != 1 or selection.archived(project, name, whole=True):
            raise
        try:
            return among[0], named_phase(among[0], name)
        except HoldfastError as error:
            here = f"no workflow is named {quoted(name)}, only {quoted(among[0].title)}"
            raise HoldfastError(f"{here}; {error}") from None


def named_phase(workflow: Workflow, name: str) -> Phase:
    """Return the phase with a title, id or number.

    Raises HoldfastError that names those there are, the nearest first.
    """
    found = verbs.find_phase(workflow, name)
    if found is not None:
        return found
    titles = [each.title for each in workflow.phases]
    near = get_close_matches(name, titles, 1, 0.5)
    known = [quoted(each) for each in dict.fromkeys([*near, *titles])]
    meant = f"; did you mean {known[0]}?" if near else ""
    where = f"{quoted(workflow.title)} has"
    raise HoldfastError(missing(f"{workflow.unit} {quoted(name)}", known, where=where) + meant)


def put_away(workflow: Workflow) -> str:
    """Return how to see a workflow that just ended, if its file isn't where it was."""
    showing = command_line("status", workflow.id)
    return "" if workflow.path.exists() else f" Its file was put away: `{showing}` shows it."


def settle(project: Workspace) -> None:
    """Apply what this session's agents have reported, so that the answer is as new as what the hooks know."""
    session = options.conversation(project)
    if session:
        progress.settle(project, session)


def take(project: Workspace, workflow: Workflow) -> None:
    """Give a workflow to the session that runs this command. An earlier owner is told at its next prompt."""
    session = options.conversation(project)
    if session:
        owners.own(project, workflow, session)


def tell(workflow: Workflow, as_json: bool, news: str = "") -> None:
    """Print a workflow's progress and its next step."""
    step = verbs.step(workflow)
    if as_json:
        options.print_json(views.step(workflow, step))
        return
    lines = [news, views.table((workflow,)), *(f"warning: {each}" for each in workflow.warnings)]
    if step and not workflow.paused:
        lines += ["", f"Next: {step.text}.", *_how(workflow, step)]
    options.say("\n".join(lines).strip("\n"))


def _how(workflow: Workflow, step: Step) -> list[str]:
    """Return lines with the step's prompt, and how to launch its agent or that no agent moves this workflow."""
    if workflow.format not in formats.WITH_AGENTS:
        phase = verbs.due(workflow)
        done = verbs.completing(workflow, phase) if phase else "holdfast done"
        manual = [f"No agent moves this workflow: run `{done}` when that is done."] if step.agent else []
        return [*manual, *(["", "Prompt:", step.prompt] if step.prompt != step.title else [])]
    return ["", views.call(step), step.prompt] if step.agent or step.prompt != step.title else []
