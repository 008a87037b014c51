"""`holdfast update`: change a workflow's phase, reading, reminders or context."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import click

from holdfast.commands import options, workflow_commands
from holdfast.commands.verb import Assignments, Deliverables, Json, Name, Reading, Reminders, verb
from holdfast.errors import HoldfastError, command_line
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs
from holdfast.workflow.model import Changes
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from holdfast.workflow.model import Status, Workflow

STATUSES: dict[str, Status] = {
    "pending": "pending",
    "active": "active",
    "completed": "completed",
    "failed": "failed",
    "blocked": "blocked",
    "not_started": "pending",
    "in_progress": "active",
}
"""The words `--status` accepts: the neutral ones, and those of document 001 (R001-07)."""


@verb("update")
def command(
    project: Workspace,
    workflow_id: Name = None,
    *,
    phase: Annotated[str | None, {"metavar": "N|NAME"}, "Go to the phase with this number, id or title."] = None,
    rename: Annotated[
        str | None, {"metavar": "TITLE"}, "Give the current phase, or that of --phase, another title."
    ] = None,
    total: Annotated[int | None, click.IntRange(min=1), {"metavar": "N"}, "How many phases there are."] = None,
    status: Annotated[
        str | None,
        click.Choice(tuple(STATUSES), case_sensitive=False),
        {"metavar": "STATUS"},
        "The phase's status: pending, active, completed, failed or blocked.",
    ] = None,
    deliverables: Deliverables = (),
    handover: Annotated[str | None, "--context", {"metavar": "TEXT"}, "What the phase hands over to the next."] = None,
    note: Annotated[str, {"metavar": "TEXT"}, "A note on the phase. See above for where it goes."] = "",
    error: Annotated[str, {"metavar": "TEXT"}, "Why the phase failed, or what blocks it."] = "",
    reading: Reading = (),
    reminders: Reminders = (),
    assignments: Assignments = (),
    as_json: Json = False,
) -> None:
    """Change a workflow and its current phase.

    Files to read, reminders, context values and deliverables are added to what is there.

    \b
    Examples:
      holdfast update --note "Half of the tests pass" --remind "Small commits"
      holdfast update --phase 2

    A note is stored as what the phase hands over to the next one. A format that stores that for completed phases only,
    or not at all, keeps the note in the context.
    """
    changes = Changes(
        current=int(phase) if phase and phase.isdecimal() else None,
        total=total,
        phase=rename,
        status=STATUSES[status] if status else None,
        reading=options.as_reading(reading),
        reminders=reminders,
        context=options.as_context(assignments),
        deliverables=deliverables,
        handover=handover,
        error=error,
    )
    if changes == Changes() and not note.strip() and phase is None:
        raise HoldfastError("nothing to change; `holdfast update --help` lists what you can change")
    workflow = workflow_commands.find(project, workflow_id)
    if phase is not None and changes.current is None:
        changes = replace(changes, current=workflow_commands.named_phase(workflow, phase).number)
    if note.strip():
        changes = registry.get(workflow.format).noted(workflow, changes, note.strip())
    after = verbs.update(project, workflow, changes)
    workflow_commands.tell(after, as_json, _news(workflow, after, workflow_id))
    options.tell_reading(project, changes.reading)


def _news(before: Workflow, after: Workflow, named: str | None) -> str:
    if before.recovered and not after.recovered:
        return (
            f"Updated. {after.place} was broken, so it was written again from its last good content. The broken file "
            "is beside it as *.corrupt-*."
        )
    if replace(after, updated_at=before.updated_at) == before:
        return "Nothing changed: the workflow says that already."
    for new in after.phases:
        old = verbs.numbered(before, new.number)
        if old is not None and old.title != new.title:
            renamed = f"Renamed {after.named(new)} {quoted(old.title)} to {quoted(new.title)}."
            undo = command_line(
                "update", "--phase", str(new.number), "--rename", old.title, *([named] if named else [])
            )
            return f"{renamed} To undo this: {undo}" if one_line(old.title) == old.title else renamed
    return "Updated."
