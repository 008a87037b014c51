"""Has edits asked about while required reading of this session's own workflow is unread; off until `reading = "hold"`.

It holds in every session that owns an unfinished workflow, whether that was restored, started or taken there: the
reading is required for the work (R001-18), and the compaction is only what takes it away again. What cannot be read
holds nothing: a missing file, a folder, one outside the project, one whose Read failed.

The answer is always `ask`. Where a person sits before the client it is a question with a reason. Headless, in every
permission mode, the client turns it into a refusal and gives the reason to the model, which can read the files and try
again, so that nothing stalls (seen on 2.1.329 and 2.1.197 in default, acceptEdits, dontAsk and bypassPermissions).
"""

from holdfast import Context, Outcome, ask, hookimpl
from holdfast.events import PreToolUse
from holdfast.sessions.reading import readfiles, reading
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, wording

RUNS_WHEN = {"reading": ["hold"]}
NAMED = 10  # files that are named


@hookimpl(match="Edit|Write|MultiEdit|NotebookEdit")
def on_pre_tool_use(event: PreToolUse, context: Context) -> Outcome | None:
    """Ask, naming the unread files; never inside subagents, and not about an edit of the required files themselves."""
    workflow = None
    if not event.in_subagent:
        found = registry.candidates(Workspace.of(context.project), event.session_id)
        workflow = reading.mine(context.project, event.session_id, found.workflows)
    if workflow is None:
        return None
    states = reading.states(context.project, event.session_id, workflow).values()
    waiting = [each for each in states if each.holds]
    place = event.tool_input.get("file_path") or event.tool_input.get("notebook_path")
    edited = readfiles.name(context.project, place) if isinstance(place, str) else None
    if not waiting or edited in {each.path for each in states}:
        return None
    names = ", ".join(wording.quoted(each.path, wording.LONGEST) for each in waiting[:NAMED])
    more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
    return ask(
        f"Required reading of the workflow {wording.quoted(workflow.title)} is not read, or not since the compaction: "
        f"{names}{more}. Once it is read whole with the Read tool, edits are no longer asked about."
    )
