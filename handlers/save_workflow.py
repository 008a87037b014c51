"""Saves workflows before a compaction: detects, merges, keeps a generation, leaves a seal, tells the summariser."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import hookimpl, instruct_summary
from holdfast.errors import HoldfastError
from holdfast.formats.compaction.detection import detect
from holdfast.sessions.agents import lifecycle
from holdfast.sessions.compaction import compactions, snapshots, summaries
from holdfast.sessions.history import generations, history
from holdfast.sessions.ownership import judging, owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PreCompact
    from holdfast.formats.compaction.detection.extract import Extract


@hookimpl
def on_pre_compact(event: PreCompact, context: Context) -> Outcome | None:
    """Save what this session has; never blocks a compaction (R001-14)."""
    if event.in_subagent:
        return None  # a subagent's own compaction never saves the main workflow
    if event.trigger == "manual":  # a person's; whatever ran before was interrupted, or it would run in the background
        lifecycle.abandon_open(context.project, event.session_id)
    elif compactions.is_an_agents(context.project, event.session_id, context.environ):
        return None
    process = sessions.client_process(context.environ)
    sessions.seen(context.project, event.session_id, process, event.transcript_path)
    summaries.take(context.project, event.session_id)  # of an earlier compaction, which nothing came of
    _save_detected(context, event.session_id)
    for key in owners.missing(context.project, event.session_id):
        _miss(context, event.session_id, key)
    found = registry.candidates(Workspace.of(context.project), event.session_id)
    for problem in found.problems:
        context.log(f"not saved: {problem.path}: {problem.reason}", level="warning")
    for workflow in found.workflows:
        history.observe(context.project, workflow)  # what was moved by hand since, and what was completed
    for workflow in owners.of_session(context.project, event.session_id, found.workflows):
        if not workflow.finished and not workflow.recovered:
            generations.keep(context.project, workflow.path, workflow.raw, why=f"PreCompact {event.trigger}")
    mine = judging.settle(context.project, event.session_id, found.workflows)
    # Also without a workflow: else a session id that changes now would claim the seal of somebody else's compaction.
    had = [snapshots.of(workflow) for workflow in mine]
    snapshots.leave(context.project, event.session_id, event.trigger or "unknown", had, event.transcript_path)
    from holdfast.workflow import guidance

    summary = guidance.summary(mine)
    return instruct_summary(summary) if summary else None


def _save_detected(context: Context, session: str) -> None:
    """Merge what CLAUDE.local.md or an active plan says into the state file (R001-13, I001-6)."""
    detected = detect.detect(Workspace.of(context.project))
    if detected.stale is not None:
        _leave(context, session, detected.stale)
    extract = detected.extract
    if extract is None:
        return
    from holdfast.formats.compaction import adapter as compaction

    try:
        saved = compaction.save(Workspace.of(context.project), extract)
    except HoldfastError as error:  # what cannot be merged costs no seal
        context.log(f"{extract.name!r} from {extract.source} was not saved: {error}", level="warning")
    else:
        context.log(f"saved {extract.name!r} from {extract.source}: {saved.action}")
        if saved.workflow is not None and extract.unread:
            from holdfast.sessions.compaction import hints

            hints.owe(context.project, session, hints.UNREAD, saved.workflow.key)
        if saved.action == "buried" and saved.path is not None:
            place = saved.path.relative_to(context.root).as_posix()
            _miss(context, session, f"{compaction.NAME}:{place}#{saved.path.stem}")


def _miss(context: Context, session: str, workflow: str) -> None:
    """Let the session hear once that a workflow's state file was removed."""
    from holdfast.sessions.compaction import hints

    if not hints.told(context.project, session, hints.GONE, workflow):
        hints.owe(context.project, session, hints.GONE, workflow)


def _leave(context: Context, session: str, plan: Extract) -> None:
    """Leave an old plan that would make a new state file to whoever takes it up; the session hears of it."""
    from holdfast.formats.compaction import adapter as compaction
    from holdfast.sessions.compaction import hints

    with suppress(HoldfastError):
        if compaction.intend(Workspace.of(context.project), plan).action == "created":
            hints.owe(context.project, session, hints.STALE, plan.source.relative_to(context.root).as_posix())
