"""What formats ask for around agents: results of commands, launches that are held, locks on files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.sessions import conversations
from holdfast.sessions.agents import agent_status, progress
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from holdfast.workflow.adapter import CreditsWork, HoldsLaunches, LocksFiles, able

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Call, Context, Event
    from holdfast.workflow.model import Workflow


def note_runs(event: Event, context: Context) -> None:
    """Read from the transcript what the main conversation ran, for formats that keep the results.

    Args:
        event: a `Stop`, `PreCompact` or `UserPromptSubmit`.
        context: its context.
    """
    if event.in_subagent or not _has_files(context.project):
        return
    workflow = _own(event, context, CreditsWork)
    if workflow is None or workflow.finished:
        return
    keeper = registry.of_agents(workflow.format)
    if not able(keeper, CreditsWork):
        return
    found = context.project.transcripts.runs(event.transcript_path, keeper.RUNS)
    try:
        if found:
            keeper.ran(Workspace.of(context.project), workflow, found)
    except HoldfastError as error:  # the next event finds the same runs
        context.log(f"what the session ran was not noted: {error}", level="warning")


def held_launch(event: Call, context: Context) -> str:
    """Return why an agent's launch is held, with what to do about it; empty if it isn't.

    Args:
        event: the `PreToolUse` of the Agent tool.
        context: its context.
    """
    if context.config.hold == "off" or not _has_files(context.project):
        return ""
    workflow = _own(event, context, HoldsLaunches)
    if workflow is None:
        return ""
    keeper = registry.of_agents(workflow.format)
    return keeper.held(Workspace.of(context.project), workflow) if able(keeper, HoldsLaunches) else ""


def lock_file(event: Call, context: Context) -> str:
    """Lock the file that a tool is about to edit, for the agent that edits it.

    Args:
        event: the `PreToolUse` of an editing tool.
        context: its context.

    Returns:
        Who has locked the file; empty if nobody else has.
    """
    given = event.tool_input.get("file_path") or event.tool_input.get("notebook_path")
    if not (isinstance(given, str) and given and _has_files(context.project)):
        return ""
    workflow = _own(event, context, LocksFiles)
    if workflow is None:
        return ""
    keeper = registry.of_agents(workflow.format)
    path = Path(os.path.realpath(Path(event.cwd, given))) if "\0" not in given else None
    if path is None or not able(keeper, LocksFiles) or not path.is_relative_to(context.root):
        return ""
    alive = agent_status.alive(context.project)
    place = path.relative_to(context.root).as_posix()
    return keeper.lock(Workspace.of(context.project), workflow, place, event.agent_id or "", alive)


def unlock_files(event: Event, context: Context) -> None:
    """Free the files that an agent has locked: it has ended.

    Args:
        event: its `SubagentStop`.
        context: its context.
    """
    if not (event.agent_id and _has_files(context.project)):
        return
    workflow = _own(event, context, LocksFiles)
    if workflow is None:
        return
    keeper = registry.of_agents(workflow.format)
    if able(keeper, LocksFiles):
        keeper.unlock(Workspace.of(context.project), workflow, event.agent_id)


def _has_files(project: OpenProject) -> bool:
    """Return whether a format whose units agents work on has files. Where none has, nothing more is loaded."""
    places = {place for record in RECORDS.values() if record.AGENTS for place in record.PRESENCE}
    return any((project.root / each).exists() for each in places)


def _own(event: Event, context: Context, ability: type) -> Workflow | None:
    """Return the workflow whose units the session's agents work on; None if no format here has an ability.

    Where no format has that optional ability of the registry, no workflow is read.
    """
    project = Workspace.of(context.project)
    if not registry.any_able(project, ability):
        return None
    return progress.session_workflow(project, conversations.of(project, event.session_id))
