"""Save what a session works on: before a compaction, at a start, and when the model wrote one of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import HoldfastError
from holdfast.sessions import (
    agents,
    arbitration,
    compactions,
    contents,
    conversations,
    messages,
    owners,
    phases,
)
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import guidance, places, registry, wording

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.hook import Call, Context, Event
    from holdfast.workflow.model import Workflow


def save(event: Event, context: Context, trigger: str) -> str:
    """Save what a session works on, so that `restore` finds it after the compaction (R001-13, R001-14).

    `event` is a `PreCompact`; `trigger` is what caused the compaction: `manual` or `auto`. Return what the summariser
    should keep of the session's workflows, for `instruct_summary`; empty if it has none.
    """
    project, conversation = Workspace.at(event, context)
    if trigger == "manual":  # started by a person, so no foreground agent runs any more
        agents.abandon_calls(project, conversation)
    detected = _detect(context, conversation)
    found = registry.candidates(project, conversation)
    gone = set(owners.keys_without_file(project, conversation)) - {each.key for each in found.workflows}
    messages.owe_once(project, conversation, messages.GONE, *sorted(gone))
    for problem in found.problems:
        context.log(f"not saved: {problem.path}: {problem.reason}", level="warning")
    for each in found.workflows:
        phases.observe(project, each)  # notes what was moved by hand since, and what was completed
    for workflow in owners.may_move(project, conversation, found.workflows):
        if not workflow.finished and not workflow.recovered:
            contents.keep(project, workflow.path, workflow.raw, why=f"PreCompact {trigger}")
    mine = arbitration.settle(project, conversation, found.workflows, detected)
    # Announce the compaction even without a workflow: else, if it changes the session's id, the new id would claim
    # another session's compaction.
    had = [compactions.of(workflow) for workflow in mine]
    compactions.announce(project, conversation, trigger or "unknown", had, event.transcript_path)
    return guidance.summary(mine)


def save_written(event: Call, context: Context, path: Path, why: str) -> list[wording.Message]:
    """Store a version of a written state file, or merge a memory file or plan; see `holdfast.workflows.save`.

    The workflow then belongs to the session that wrote it.
    """
    project = Workspace.of(context.project)
    own = places.is_state(context.root, path) or places.is_list(context.root, path)
    saved = path if own else _merged(event, context, path)
    warnings = list[str]()
    for workflow in registry.candidates(project, conversations.of(project, event.session_id), saved).workflows:
        now = _followed(context, workflow, saved, why) if saved and not workflow.recovered else None
        if now is None:
            continue
        contents.keep(project, now.path, now.raw, why=why)
        phases.observe(project, now)
        owners.take(project, now, conversations.of(project, event.session_id))
        warnings += [each for each in now.warnings if each not in workflow.warnings]
    lead = "Your edit alone doesn't change this workflow."
    return [wording.Message(wording.fenced(lead, [f"{each}." for each in warnings]))] if warnings else []


def take_over(project: Workspace, conversation: str) -> list[str]:
    """Save what `CLAUDE.local.md` describes, as `save` does, so that a start or a command sees it before a compaction.

    `conversation` is the one that starts or runs the command; empty for a person. Return the fresh plans in progress
    that no save took over, relative to the root.
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
        messages.owe_once(project, conversation, messages.UNSAVED, found.report if found.failed else "")
        messages.owe_once(project, conversation, messages.GONE, found.removed or "")
        for key in found.waiting:
            messages.owe(project, conversation, messages.WAITING, key)
        if found.unread:
            messages.owe(project, conversation, messages.UNREAD, found.unread)
    return saved


def _followed(context: Context, workflow: Workflow, saved: Path, why: str) -> Workflow | None:
    """Return a workflow as it is after one of its files was written; None if the file isn't its own. Logs errors."""
    try:
        return registry.get(workflow.format).written(Workspace.of(context.project), workflow, saved, why=why)
    except HoldfastError as error:
        context.log(f"{workflow.place} wasn't updated from {saved.name}: {error}", level="warning")
        return workflow


def _merged(event: Call, context: Context, written: Path) -> Path | None:
    """Merge a memory file or plan that was just written, and return the state file that it was merged into, if any."""
    saved = None
    project, session = Workspace.at(event, context)
    text = "\n".join(str(value) for name, value in event.tool_input.items() if name != "file_path")
    for found in registry.detected(lambda detector: detector.save(project, session, written=written, text=text)):
        if found.report:
            context.log(found.report, level="warning" if found.failed else "info")
        saved = saved or found.path
    return saved
