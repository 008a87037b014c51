"""Follow what the model itself writes to a workflow's files. The workflow then belongs to its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.sessions import contents, conversations, owners, phases
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import places, registry, wording

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.hook import Call, Context
    from holdfast.workflow.model import Workflow


def save(event: Call, context: Context, path: Path, why: str) -> list[wording.Message]:
    """Store a version of a written state file, or merge a memory file or plan; see `holdfast.workflows.save`."""
    project = Workspace.of(context.project)
    own = places.is_state(context.root, path) or places.is_list(context.root, path)
    saved = path if own else _merged(event, context, path)
    said = list[str]()
    for workflow in registry.candidates(project, conversations.of(project, event.session_id), saved).workflows:
        now = _followed(context, workflow, saved, why) if saved and not workflow.recovered else None
        if now is None:
            continue
        contents.keep(project, now.path, now.raw, why=why)
        phases.observe(project, now)
        owners.take(project, now, conversations.of(project, event.session_id))
        said += [each for each in now.warnings if each not in workflow.warnings]
    lead = "Your edit alone doesn't change this workflow."
    return [wording.Message(wording.fenced(lead, [f"{each}." for each in said]))] if said else []


def _followed(context: Context, workflow: Workflow, saved: Path, why: str) -> Workflow | None:
    """Return a workflow as it is after one of its files was written; None if the file isn't its own. Logs errors."""
    try:
        return registry.get(workflow.format).written(Workspace.of(context.project), workflow, saved, why=why)
    except HoldfastError as error:
        context.log(f"{workflow.place} wasn't updated from {saved.name}: {error}", level="warning")
        return workflow


def _merged(event: Call, context: Context, written: Path) -> Path | None:
    """Merge a memory file or plan that was just written, and return the state file that it was merged into, if any."""
    saved = None
    project = Workspace.of(context.project)
    session = conversations.of(project, event.session_id)
    text = "\n".join(str(value) for name, value in event.tool_input.items() if name != "file_path")
    for found in registry.detected(lambda detector: detector.save(project, session, written=written, text=text)):
        if found.report:
            context.log(found.report, level="warning" if found.failed else "info")
        saved = saved or found.path
    return saved
