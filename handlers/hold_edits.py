"""Has edits asked about while required reading of this session's own workflow is unread; off until `reading = "hold"`.

It holds in every session that owns an unfinished workflow, whether that was restored, started or taken there: the
reading is required for the work (R001-18), and the compaction is only what takes it away again. What cannot be read
holds nothing: a missing file, a folder, one outside the project, one whose Read failed.

The answer is always `ask`. Where a person sits before the client it is a question with a reason. Headless, in every
permission mode, the client turns it into a refusal and gives the reason to the model, which can read the files and try
again, so that nothing stalls (seen on 2.1.329 and 2.1.197 in default, acceptEdits, dontAsk and bypassPermissions).
"""

from holdfast import Context, Outcome, ask, hookimpl, sessions, workflows
from holdfast.events import PreToolUse

RUNS_WHEN = {"reading": ["hold"]}
NAMED = 10  # files that are named


@hookimpl(match="Edit|Write|MultiEdit|NotebookEdit")
def on_pre_tool_use(event: PreToolUse, context: Context) -> Outcome | None:
    """Ask, naming the unread files; never inside subagents, and not about an edit of the required files themselves."""
    workflow = None if event.in_subagent else workflows.mine(event, context)
    if workflow is None:
        return None
    place = event.tool_input.get("file_path") or event.tool_input.get("notebook_path")
    waiting = sessions.reading_that_holds(event, context, workflow, place if isinstance(place, str) else "")
    if not waiting:
        return None
    names = ", ".join(workflows.quoted(each.path, 200) for each in waiting[:NAMED])
    more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
    title = workflows.quoted(workflow.title)
    return ask(
        f"Required reading of the workflow {title} is not read, or not since the compaction: "
        f"{names}{more}. Once it is read whole with the Read tool, edits are no longer asked about."
    )
