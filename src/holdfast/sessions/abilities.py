"""What formats can do around agents beyond moving phases: keep results of commands, hold launches, lock files.

Each function takes an event and its context.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.sessions import agents, conversations, progress
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry

if TYPE_CHECKING:
    from holdfast.sessions.hook import Call, Context, Event
    from holdfast.workflow.format import Format
    from holdfast.workflow.model import Workflow


def note_runs(event: Event, context: Context) -> None:
    """Read from the transcript what the main conversation ran, for formats that keep the results."""
    workflow, adapter = (None, None) if event.in_subagent else _own(event, context, "credits_work")
    if workflow is None or adapter is None or workflow.finished:
        return
    runs = context.project.transcripts.runs(event.transcript_path, adapter.RUNS)
    try:
        if runs:
            adapter.ran(Workspace.of(context.project), workflow, runs)
    except HoldfastError as error:  # the next event finds the same runs
        context.log(f"what the session ran was not noted: {error}", level="warning")


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
    project = context.project
    places = {place for record in RECORDS.values() if record.AGENTS for place in record.PRESENCE}
    if not any((project.root / each).exists() for each in places):
        return None, None
    if not registry.any_with(Workspace.of(project), ability):
        return None, None
    workflow = progress.session_workflow(project, conversations.of(project, event.session_id))
    adapter = registry.get(workflow.format) if workflow else None
    return (workflow, adapter) if workflow and adapter and getattr(adapter, ability) else (None, None)
