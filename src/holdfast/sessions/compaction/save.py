"""Save before a compaction: what other files newly describe, a version of each state file, and the announcement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import log
from holdfast.sessions import agents, compactions, contents, conversations, phases
from holdfast.sessions.compaction import compactions as summaries
from holdfast.sessions.compaction import hints
from holdfast.sessions.ownership import arbitration, owners
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
    project, session = context.project, event.session_id
    if trigger == "manual":  # started by a person, so no foreground agent runs any more
        agents.abandon_calls(project, session)
    summaries.take_summary(project, session)  # drop the summary of an earlier compaction that was never used
    detected = _detect(context, session)
    found = registry.candidates(Workspace.of(project), session)
    gone = set(owners.keys_without_file(project, session)) - {each.key for each in found.workflows}
    _owe(context, session, hints.GONE, *sorted(gone))
    for problem in found.problems:
        context.log(f"not saved: {problem.path}: {problem.reason}", level="warning")
    phases.observe_all(project, found.workflows)  # notes what was moved by hand since, and what was completed
    for workflow in owners.of_session(project, session, found.workflows):
        if not workflow.finished and not workflow.recovered:
            contents.keep(project, workflow.path, workflow.raw, why=f"PreCompact {trigger}")
    mine = arbitration.settle(project, session, found.workflows, detected)
    # Announce the compaction even without a workflow: else, if it changes the session's id, the new id would claim
    # another session's compaction.
    had = [compactions.of(workflow) for workflow in mine]
    conversation = conversations.of(project, session)
    compactions.announce(project, conversation, trigger or "unknown", had, event.transcript_path)
    return guidance.summary(mine)


def take_over(project: Workspace, session: str) -> list[str]:
    """Save what `CLAUDE.local.md` describes, as `save` does, so that a start or a command sees it before a compaction.

    Args:
        project: the project.
        session: the session that starts or runs the command; empty for a person.

    Returns:
        The fresh plans in progress that no save took over, relative to the root.
    """
    found = list(registry.detected(lambda detector: detector.save(project, session, starting=True)))
    for each in found:
        if each.failed:
            log.write("warning", each.report)
    return [place for each in found for place in each.waiting]


def _detect(context: Context, session: str) -> list[Path]:
    """Save what people describe in files of their own (I001-6), and return the state files that have it now.

    If merging fails, the compaction is still announced.
    """
    project = Workspace.of(context.project)
    saved = []
    for found in registry.detected(lambda detector: detector.save(project, session)):
        saved += [found.path] if found.path else []
        if found.report:
            context.log(found.report, level="warning" if found.failed else "info")
        _owe(context, session, hints.UNSAVED, *([found.report] if found.failed else []))
        _owe(context, session, hints.GONE, *([found.removed] if found.removed else []))
        for topic, keys in ((hints.WAITING, found.waiting), (hints.UNREAD, [found.unread] if found.unread else [])):
            for key in keys:
                hints.owe(project, session, topic, key)
    return saved


def _owe(context: Context, session: str, topic: str, *keys: str) -> None:
    """Make sure that the session is told once about each of some workflows."""
    for key in keys:
        if not hints.was_told(context.project, session, topic, key):
            hints.owe(context.project, session, topic, key)
