"""Asks before edits while required reading of the session's workflow is unread; off until `reading = "hold"`.

It does so in every session that owns an unfinished workflow, whether restored, started or claimed: the work requires
the reading (R001-18), and a compaction only takes it away again. Edits don't wait for what can't be read: a missing
file, a folder, a file outside the project, or one whose Read failed.

The answer is always `ask`. A person sees a question with a reason. A headless client refuses the edit, in every
permission mode, and gives the reason to the model, which can read the files and try again, so nothing stalls (observed
with 2.1.329 and 2.1.197 in default, acceptEdits, dontAsk and bypassPermissions).
"""

from holdfast import Context, Outcome, ask, hookimpl, sessions, workflows
from holdfast.events import PreToolUse

RUNS_WHEN = {"reading": ["hold"]}
NAMED = 10  # unread files that the question names


@hookimpl(match="Edit|Write|MultiEdit|NotebookEdit")
def on_pre_tool_use(event: PreToolUse, context: Context) -> Outcome | None:
    """Ask, and name the unread files; never in subagents, and not about edits of the required files themselves."""
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
        f"The workflow {title} requires files that weren't read, or not since the compaction: {names}{more}. "
        "Read them whole with the Read tool; then edits go ahead."
    )
