"""What an agent is told of its task: the document's section, success criteria, and learnings that bear on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import plan, store, taskdoc, view
from holdfast.workflow.model import Brief

if TYPE_CHECKING:
    from holdfast.workflow.model import Phase, Workflow
    from holdfast.workflow.records import Records


def brief(project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
    """Return what to tell an agent about a task; None if the state can't be read."""
    try:
        _, run = store.current(project)
    except HoldfastError:
        return None
    lines = [f"Task {phase.id}: {phase.title}", f"It is task {run.place(phase.id)} of its phase."]
    try:
        said = taskdoc.section(plan.content(project, run)[0], phase.id)
    except (HoldfastError, ValueError) as error:
        said = taskdoc.Section("", ())
        lines.append(f"The task document can't be read: {str(error).removeprefix(f'{project.root}/')}.")
    lines += ["Success criteria:", *(f"- {each}" for each in said.criteria)] if said.criteria else []
    learned = view.lessons(run, phase.id)
    lines += ["Learnings:", *(f"- {each}" for each in learned)] if learned else []
    lines += ["The task document says:", *said.text.split("\n")] if said.text else []
    return Brief(tuple(lines), f"holdfast orchestrator task show {phase.id}")
