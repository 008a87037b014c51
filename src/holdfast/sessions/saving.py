"""Save before a compaction: what other files newly describe, a version of each state file, and the announcement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import log
from holdfast.sessions import (
    agents,
    arbitration,
    compactions,
    contents,
    conversations,
    messages,
    owners,
    phases,
    summaries,
)
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import guidance, registry

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.hook import Context, Event


def save(event: Event, context: Context, trigger: str) -> str:
    """Save what a session works on, so that `restore` finds it after the compaction (R001-13, R001-14).

    Args:
        event: a `PreCompact`.
        context: its context.
        trigger: what caused the compaction: `manual` or `auto`.

    Returns:
        What the summariser should keep of the session's workflows, for `instruct_summary`; empty if it has none.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    if trigger == "manual":  # started by a person, so no foreground agent runs any more
        agents.abandon_calls(project, conversation)
    summaries.take_summary(project, conversation)  # drop the summary of an earlier compaction that was never used
    detected = _detect(context, conversation)
    found = registry.candidates(Workspace.of(project), conversation)
    gone = set(owners.keys_without_file(project, conversation)) - {each.key for each in found.workflows}
    _owe(context, conversation, messages.GONE, *sorted(gone))
    for problem in found.problems:
        context.log(f"not saved: {problem.path}: {problem.reason}", level="warning")
    phases.observe_all(project, found.workflows)  # notes what was moved by hand since, and what was completed
    for workflow in owners.may_move(project, conversation, found.workflows):
        if not workflow.finished and not workflow.recovered:
            contents.keep(project, workflow.path, workflow.raw, why=f"PreCompact {trigger}")
    mine = arbitration.settle(project, conversation, found.workflows, detected)
    # Announce the compaction even without a workflow: else, if it changes the session's id, the new id would claim
    # another session's compaction.
    had = [compactions.of(workflow) for workflow in mine]
    compactions.announce(project, conversation, trigger or "unknown", had, event.transcript_path)
    return guidance.summary(mine)


def take_over(project: Workspace, conversation: str) -> list[str]:
    """Save what `CLAUDE.local.md` describes, as `save` does, so that a start or a command sees it before a compaction.

    Args:
        project: the project.
        conversation: the one that starts or runs the command; empty for a person.

    Returns:
        The fresh plans in progress that no save took over, relative to the root.
    """
    found = list(registry.detected(lambda detector: detector.save(project, conversation, starting=True)))
    for each in found:
        if each.failed:
            log.write("warning", each.report)
    return [place for each in found for place in each.waiting]


def _detect(context: Context, conversation: str) -> list[Path]:
    """Save what people describe in files of their own (I001-6), and return the state files that have it now.

    If merging fails, the compaction is still announced.
    """
    project = Workspace.of(context.project)
    saved = []
    for found in registry.detected(lambda detector: detector.save(project, conversation)):
        saved += [found.path] if found.path else []
        if found.report:
            context.log(found.report, level="warning" if found.failed else "info")
        _owe(context, conversation, messages.UNSAVED, *([found.report] if found.failed else []))
        _owe(context, conversation, messages.GONE, *([found.removed] if found.removed else []))
        for topic, keys in (
            (messages.WAITING, found.waiting),
            (messages.UNREAD, [found.unread] if found.unread else []),
        ):
            for key in keys:
                messages.owe(project, conversation, topic, key)
    return saved


def _owe(context: Context, conversation: str, topic: str, *keys: str) -> None:
    """Make sure that the conversation is told once about each of some workflows."""
    for key in keys:
        if not messages.was_told(context.project, conversation, topic, key):
            messages.owe(context.project, conversation, topic, key)
