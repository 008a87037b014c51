"""Saves workflows before a compaction: detects, merges, keeps a generation, leaves a seal, tells the summariser."""

from holdfast import Context, Outcome, hookimpl, instruct_summary
from holdfast.events import PreCompact
from holdfast.survival import agents, generations, owners, seals, sessions
from holdfast.workflow import detect, formats, guidance
from holdfast.workflow.formats import compaction
from holdfast.workflow.model import Workflow


@hookimpl
def on_pre_compact(event: PreCompact, context: Context) -> Outcome | None:
    """Save what this session has; never blocks a compaction (R001-14)."""
    if event.in_subagent or agents.in_foreground(context.project, event.session_id):
        return None  # a subagent's own compaction never saves the main workflow
    sessions.seen(context.project, event.session_id, context.environ.get("CLAUDE_PID"))
    _save_detected(context)
    found = formats.all_found(context.project)
    for problem in found.problems:
        context.log(f"not saved: {problem.path}: {problem.reason}", level="warning")
    mine = owners.of_session(context.project, event.session_id, found.workflows)
    unfinished = [workflow for workflow in mine if not workflow.finished]
    _seal(event, context, unfinished)
    summary = guidance.summary(unfinished)
    return instruct_summary(summary) if summary else None


def _save_detected(context: Context) -> None:
    """Merge what CLAUDE.local.md or an active plan says into the state file (R001-13, I001-6)."""
    extract = detect.detect(context.project).extract
    if extract is None:
        return
    saved = compaction.save(context.project, extract)
    context.log(f"saved {extract.name!r} from {extract.source}: {saved.action}")


def _seal(event: PreCompact, context: Context, workflows: list[Workflow]) -> None:
    for workflow in workflows:
        if not workflow.recovered:
            generations.keep(context.project, workflow.path, workflow.raw, why=f"PreCompact {event.trigger}")
        if owners.owner(context.project, workflow) != event.session_id:
            owners.own(context.project, workflow, event.session_id)
    if workflows:
        seals.leave(context.project, event.session_id, event.trigger or "unknown", [seals.of(w) for w in workflows])
