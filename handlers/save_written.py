"""Saves what the model itself writes of a workflow, which then belongs to its session.

PreCompact may never fire ([ISS 50467], [ISS 13572]): what is saved here needs none. Nearly every edit is of another
file, so nothing is imported before the path is known to matter.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import advise, hookimpl
from holdfast.workflow import places

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostToolUse
    from holdfast.workflow.model import Workflow


@hookimpl(match="Write|Edit|MultiEdit")
def on_post_tool_use(event: PostToolUse, context: Context) -> list[Outcome]:
    """Keep a generation of a state file that was written, and merge what a memory file or plan says (I001-6).

    Of a list that is never read back, say which command moves what was ticked in it.
    """
    path = _path(event)
    if path is None or event.in_subagent or not places.kept(context.root, path):
        return []
    from holdfast.sessions.history import generations, history
    from holdfast.sessions.ownership import owners, sessions
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry, wording

    process = sessions.client_process(context.environ)
    sessions.seen(context.project, event.session_id, process, event.transcript_path)
    own = places.is_state(context.root, path) or places.is_list(context.root, path)
    saved = path if own else _merged(context, path)
    said = list[str]()
    for workflow in registry.candidates(Workspace.of(context.project), event.session_id, saved).workflows:
        now = _followed(context, workflow, saved, event.tool_name) if saved and not workflow.recovered else None
        if now is None:
            continue
        generations.keep(context.project, now.path, now.raw, why=event.tool_name)
        history.observe(context.project, now)
        owners.take(context.project, now, event.session_id)
        said += [each for each in now.warnings if each not in workflow.warnings]
    lead = "What was written is not all that counts in this session's workflow."
    return [advise(wording.fenced(lead, [f"{each}." for each in said]))] if said else []


def _followed(context: Context, workflow: Workflow, saved: Path, tool: str) -> Workflow | None:
    """Return a workflow as it is after a file of its own was written, or None; a file it cannot follow is logged."""
    from holdfast.errors import HoldfastError
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry

    try:
        return registry.get(workflow.format).written(Workspace.of(context.project), workflow, saved, why=tool)
    except HoldfastError as error:
        context.log(f"{workflow.place} does not follow {saved.name}: {error}", level="warning")
        return workflow


def _path(event: PostToolUse) -> Path | None:
    """Return the file a tool has written, links left as they are."""
    given = event.tool_input.get("file_path")
    return Path(os.path.normpath(Path(event.cwd, given))) if isinstance(given, str) and given else None


def _merged(context: Context, written: Path) -> Path | None:
    """Merge what the memory file or the active plan says into its state file, and return that file if there is one."""
    from holdfast.errors import HoldfastError
    from holdfast.formats.compaction import adapter as compaction
    from holdfast.formats.compaction.detection import detect
    from holdfast.sessions.workspace import Workspace

    extract = detect.detect(Workspace.of(context.project), written=written).extract
    if extract is None:
        return None
    try:
        saved = compaction.save(Workspace.of(context.project), extract)
    except HoldfastError as error:
        context.log(f"{extract.name!r} from {extract.source} was not saved: {error}", level="warning")
        return None
    context.log(f"saved {extract.name!r} from {extract.source}: {saved.action}")
    return saved.path
