"""Restores a session's workflow after a compaction; at other starts, says what work is unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import command_dir, deliver, environment, hookimpl, sessions, workflows

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostCompact, SessionEnd, SessionStart, UserPromptSubmit


@hookimpl(trylast=True)
def on_session_start(event: SessionStart, context: Context) -> list[Outcome]:
    """Let the model call the command line, and after a compaction restore its workflow (R001-16, R001-24).

    A crashed session that is resumed gets its workflow back, too. At any other start the model is told in a few lines
    of unfinished work that no live session owns (I001-12), and of agents whose work was cut off or whose results nobody
    has.
    The handler runs at every start, after phases were moved, and decides by the source (I001-18). After a subagent's
    own compaction, the subagent gets back what it was launched for, and no more.
    """
    compacted = event.source == "compact"
    told = [environment({"HOLDFAST_PROJECT_DIR": str(context.root)}, path=[command_dir()])]
    if event.in_subagent or (compacted and sessions.compacts_agent(event, context)):
        return told + (deliver(sessions.restore_agent(event, context)) if compacted else [])
    crashed = event.source == "resume" and sessions.crashed(event, context)
    known = sessions.join(event, context)
    told += deliver(sessions.untrusted_ledger(context))
    if compacted or (crashed and _has_workflow(event, context)):
        told += deliver(sessions.restore(event, context, known=known))
    else:
        told += deliver(sessions.announce_unfinished(event, context))
    return told + deliver(sessions.roster(event, context))


@hookimpl
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> list[Outcome]:
    """Record that the session is live, repeat guidance that never arrived, and tell what a terminal has for it.

    A prompt with the text that `holdfast claim` printed makes the session the owner of that workflow. A slash command
    such as `/dev features/login.md` brings back the unfinished workflow that it is about.
    """
    sessions.join(event, context)
    if event.from_person:
        sessions.received(event, context, event.prompt)
    news = sessions.pending_handovers(event, context)
    lost = sessions.lost(event, context)
    told = sessions.restore(event, context, lost=lost) if lost else []
    if not told and event.prompt.lstrip().startswith("/"):
        told = sessions.restore_for_command(event, context, event.prompt)
    told = told or sessions.renewed(event, context)
    return deliver([*told, *news, *sessions.take_evidence(event, context)])


@hookimpl
def on_post_compact(event: PostCompact, context: Context) -> None:
    """Count what the summary kept of the workflow."""
    if event.compact_summary:
        sessions.report_losses(event, context, event.compact_summary)


@hookimpl
def on_session_end(event: SessionEnd, context: Context) -> None:
    """Record that the session no longer claims anything."""
    sessions.leave(event, context)


def _has_workflow(event: SessionStart, context: Context) -> bool:
    return workflows.mine(event, context) is not None
