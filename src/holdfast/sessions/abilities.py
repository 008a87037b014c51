"""What formats can do at events beyond moving phases: take evidence of work, hold launches, lock files.

Each function takes an event and its context.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.sessions import agents, messages, progress
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, wording
from holdfast.workflow.wording import Message

if TYPE_CHECKING:
    from holdfast.sessions.hook import Call, Context, Event
    from holdfast.workflow.format import Format
    from holdfast.workflow.model import Workflow

_EVIDENCE = "evidence"  # topic: a sentence; its digest follows


def take_evidence(event: Event, context: Context) -> list[Message]:
    """Record what the session's transcript shows of its workflows: commits, test results, edited files.

    Only formats that take evidence look at it, and nothing is read for others. A subagent's work is none of it. Return
    the message for the model, which waits for an event whose messages are delivered.
    """
    if event.in_subagent:
        return []
    project, conversation = Workspace.at(event, context)
    found = registry.taking_evidence(project, conversation)
    if not found:
        return []
    work = project.transcripts.work(event.transcript_path)
    notices: list[Message] = []
    for workflow in found:
        try:
            sentences = registry.get(workflow.format).record_evidence(project, workflow, work)
        except HoldfastError as error:
            context.log(f"{workflow.place}: its evidence wasn't taken: {error}", level="warning")
            continue
        for each in sentences:
            topic = f"{_EVIDENCE} {hashlib.sha256(each.encode('utf-8', 'replace')).hexdigest()[:12]}"
            if not messages.was_told(project, conversation, topic, workflow.key):
                message = Message(f"Holdfast: {wording.clean(each)}")
                notices.append(messages.once(project, conversation, topic, [workflow.key], message))
    return notices


def held_launch(event: Call, context: Context) -> str:
    """Return why an agent's launch (a `PreToolUse`) is held, with what to do about it; empty if it isn't."""
    if context.config.hold == "off":
        return ""
    workflow, adapter = _own(event, context, "holds_launches")
    return adapter.hold(Workspace.of(context.project), workflow) if workflow and adapter else ""


def lock_file(event: Call, context: Context) -> str:
    """Lock the file that a tool is about to edit (a `PreToolUse`), for the agent that edits it.

    Return who has locked the file; empty if nobody else has.
    """
    file = event.tool_input.get("file_path") or event.tool_input.get("notebook_path")
    if not (isinstance(file, str) and file) or "\0" in file:
        return ""
    workflow, adapter = _own(event, context, "locks_files")
    path = Path(os.path.realpath(Path(event.cwd, file)))
    if workflow is None or adapter is None or not path.is_relative_to(context.root):
        return ""
    alive = {each.run for each in agents.list_open(context.project) if each.run and each.status == "running"}
    place = path.relative_to(context.root).as_posix()
    return adapter.lock(Workspace.of(context.project), workflow, place, event.agent_id or "", alive)


def unlock_files(event: Event, context: Context) -> None:
    """Free the files that an agent has locked, at its `SubagentStop`."""
    workflow, adapter = _own(event, context, "locks_files") if event.agent_id else (None, None)
    if workflow and adapter and event.agent_id:
        adapter.unlock(Workspace.of(context.project), workflow, event.agent_id)


def _own(event: Event, context: Context, ability: str) -> tuple[Workflow, Format] | tuple[None, None]:
    """Return the workflow whose units the session's agents work on, and its adapter, if that has an ability.

    Where no format with files here has it, no workflow is read.
    """
    project, conversation = Workspace.at(event, context)
    if not registry.any_with(project, ability):
        return None, None
    workflow = progress.session_workflow(project, conversation)
    adapter = registry.get(workflow.format) if workflow else None
    return (workflow, adapter) if workflow and adapter and getattr(adapter, ability) else (None, None)
