"""`holdfast done`: complete a phase and move on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.commands import workflow_commands
from holdfast.commands.verb import Deliverables, Json, Other, verb
from holdfast.errors import TransitionError
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import names, registry, verbs
from holdfast.workflow.wording import count, plural, quoted

if TYPE_CHECKING:
    from holdfast.workflow.model import Phase, Workflow

_NAMED = 5  # phases that the message names


@verb("done")
def command(
    project: Workspace,
    name: workflow_commands.PhaseName = None,
    *,
    workflow_id: Other = None,
    note: Annotated[str, {"metavar": "TEXT"}, "Tell the next phase what it needs to know."] = "",
    deliverables: Deliverables = (),
    again: Annotated[bool, "Complete the current phase even if the last one got the same note."] = False,
    everything: Annotated[bool, "--all", "End the workflow. Phases that never began stay as they are."] = False,
    as_json: Json = False,
) -> None:
    """Complete the current phase and begin the next one. The last phase completes the workflow.

    NAME is the current phase's title, or a workflow. With a title, a repeated command completes nothing twice.

    \b
    Examples:
      holdfast done "Design the API" --note "The API is in src/api.py"
      holdfast done --all payments
    """
    workflow, phase = workflow_commands.find_phase(project, name, workflow_id)
    if not everything:
        _insist_on_one(workflow, phase, name)
        phase = verbs.to_complete(workflow, phase, note="" if again else note)
    due = phase or verbs.due(workflow)
    after = verbs.done(project, workflow, phase=phase, note=note, deliverables=deliverables, everything=everything)
    workflow_commands.tell(after, as_json, _news(workflow, due, after))


def _insist_on_one(workflow: Workflow, phase: Phase | None, title: str | None) -> None:
    """Refuse a title of which one phase is completed already: the command may be a repeated one.

    Raises TransitionError.
    """
    if phase is None or title is None or names.key(title) != names.key(phase.title):
        return
    same = [each for each in workflow.phases if each.id != phase.id and each.title == phase.title]
    before = next((each for each in same if each.status == "completed"), None)
    if before is not None and phase.status != "completed":
        raise TransitionError(
            f"{workflow.named(before)} {quoted(before.title)} is completed already; "
            f"if {workflow.named(phase)} is done too: `{verbs.completing(workflow, phase)}`"
        )


def _news(before: Workflow, due: Phase | None, after: Workflow) -> str:
    if due is None or after.finished:  # without one that was due, the command has ended the workflow
        signal = registry.get(after.format).signal(after)
        return "\n".join(filter(None, [f"{_end(before, after)}{workflow_commands.put_away(after)}", signal]))
    if next((each.status for each in after.phases if each.id == due.id), "completed") == "active":
        return f"{before.unit.capitalize()} {quoted(before.phase)} was completed before; {quoted(due.title)} begins."
    return f"Completed {before.named(due)} {quoted(due.title)}."


def _end(before: Workflow, after: Workflow) -> str:
    """Return how a workflow ended, with the phases that it completed, and those that nobody did."""
    open_ = {each.id for each in before.phases if each.status != "completed"}
    if after.completed == after.total:
        last = [quoted(each.title) for each in after.phases if each.id in open_]
        completed = f"Completed {plural(len(last), after.unit)} {', '.join(last)}. " if last else ""
        return f"{completed}The workflow is complete."
    phases = (verbs.numbered(after, number) for number in range(1, after.total + 1))
    left = [each for each in phases if each is not None and each.status != "completed"]
    named = ", ".join(
        f"{each.number if after.in_order else each.id} {quoted(each.title)}" for each in left[:_NAMED]
    ) + (", …" if len(left) > _NAMED else "")
    stays = f" Not completed: {named}." if left else ""
    return f"Ended the workflow with {after.completed} of {count(after.total, after.unit)} completed.{stays}"
