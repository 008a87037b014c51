"""Saves what the model itself writes of a workflow, which then belongs to its session.

PreCompact may never fire ([ISS 50467], [ISS 13572]): what is saved here needs none. Nearly every edit is of another
file, so nothing is imported before the path is known to matter.
"""

import os
from pathlib import Path

from holdfast import Context, hookimpl
from holdfast.events import PostToolUse
from holdfast.workflow import places


@hookimpl(match="Write|Edit|MultiEdit")
def on_post_tool_use(event: PostToolUse, context: Context) -> None:
    """Keep a generation of a state file that was written, and merge what a memory file or plan says (I001-6)."""
    path = _path(event)
    if path is None or event.in_subagent or not places.kept(context.root, path):
        return
    from holdfast.survival import generations, history, owners, sessions
    from holdfast.workflow import formats

    process = sessions.client_process(context.environ)
    sessions.seen(context.project, event.session_id, process, event.transcript_path)
    saved = path if places.is_state(context.root, path) else _merged(context)
    for workflow in formats.near(context.project, event.session_id, saved).workflows:
        if workflow.path == saved and not workflow.recovered:
            generations.keep(context.project, workflow.path, workflow.raw, why=event.tool_name)
            history.observe(context.project, workflow)
            owners.take(context.project, workflow, event.session_id)


def _path(event: PostToolUse) -> Path | None:
    """Return the file a tool has written, links left as they are."""
    given = event.tool_input.get("file_path")
    return Path(os.path.normpath(Path(event.cwd, given))) if isinstance(given, str) and given else None


def _merged(context: Context) -> Path | None:
    """Merge what the memory file or the active plan says into its state file, and return that file if there is one."""
    from holdfast.errors import HoldfastError
    from holdfast.workflow import detect
    from holdfast.workflow.formats import compaction

    extract = detect.detect(context.project).extract
    if extract is None:
        return None
    try:
        saved = compaction.save(context.project, extract)
    except HoldfastError as error:
        context.log(f"{extract.name!r} from {extract.source} was not saved: {error}", level="warning")
        return None
    context.log(f"saved {extract.name!r} from {extract.source}: {saved.action}")
    return saved.path
