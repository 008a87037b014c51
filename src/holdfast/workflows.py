"""Workflows, for handlers: find them, ask who owns them, advance them and save what the model wrote of them.

A workflow is read from its files whenever you ask, whatever its format. The functions take the handler's `event` and
`context`.

Example::

    from holdfast import deny, hookimpl, workflows

    @hookimpl(match="Bash")
    def on_pre_tool_use(event, context):
        workflow = workflows.mine(event, context)
        if workflow and workflow.phase == "Write tests" and "git commit" in event.tool_input["command"]:
            return deny(f"Finish {workflow.progress_text} first.")
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.sessions import conversations, owners, required, saving
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import places, registry, verbs, wording
from holdfast.workflow.model import Found, Phase, Step, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.sessions.hook import Call, Context, Event
    from holdfast.workflow.wording import Message

__all__ = [
    "Found",
    "Phase",
    "Step",
    "Workflow",
    "advance",
    "fenced",
    "find",
    "mine",
    "next_step",
    "one_line",
    "own",
    "owner",
    "quoted",
    "save",
    "written",
]


def find(event: Event, context: Context) -> Found:
    """Return the workflows that an event can be about: the session's own, and those that changed last.

    Args:
        event: any event.
        context: its context.

    Returns:
        The workflows, finished ones too, newest change first, and the files that couldn't be read.
    """
    project = Workspace.of(context.project)
    return registry.candidates(project, conversations.of(project, event.session_id))


def mine(event: Event, context: Context) -> Workflow | None:
    """Return the unfinished workflow that the event's session owns (the newest of several), or None.

    A session owns a workflow that it started, wrote, claimed or got back after a compaction. A paused workflow doesn't
    count.

    Args:
        event: any event; a subagent's event belongs to its parent's session.
        context: its context.
    """
    return required.own_workflow(*Workspace.at(event, context))


def owner(context: Context, workflow: Workflow) -> str | None:
    """Return the id of the session that owns a workflow, or None. Raises LedgerError if the ledger can't be read."""
    owner = owners.owner(context.project, workflow)
    return conversations.session_id(context.project, owner) if owner else None


def own(event: Event, context: Context, workflow: Workflow) -> bool:
    """Give a workflow to the event's session, unless it belongs to another session that is live.

    Args:
        event: any event of the session that works on it.
        context: its context.
        workflow: the workflow.

    Returns:
        Whether the session owns it now.

    Raises:
        LedgerError: the ledger can't be written.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    owners.take(project, workflow, conversation)
    return owners.owner(project, workflow) == conversation


def next_step(workflow: Workflow) -> Step | None:
    """Return the next step of a workflow (phase, agent, prompt), or None if everything is done."""
    return verbs.step(workflow)


def advance(context: Context, workflow: Workflow, *, note: str = "") -> Workflow:
    """Complete a workflow's current phase and begin the next; the last one completes the workflow.

    Only do so on evidence that the phase is done: a workflow that moves too early misleads the next session.

    Args:
        context: the handler's context.
        workflow: as `find` or `mine` returned it.
        note: the phase's result, handed to the next phase.

    Returns:
        The workflow after the change.

    Raises:
        HoldfastError: its file can't be read or written, or the format refuses the change.
    """
    return verbs.done(Workspace.of(context.project), workflow, note=note)


def written(event: Call, context: Context) -> Path | None:
    """Return the file that a tool wrote if it can hold or describe a workflow, else None. Loads no format.

    Args:
        event: the `PostToolUse` of a tool with a `file_path`.
        context: its context.
    """
    name = event.tool_input.get("file_path")
    path = Path(os.path.normpath(Path(event.cwd, name))) if isinstance(name, str) and name else None
    return path if path and places.is_workflow_file(context.root, path) else None


def save(event: Call, context: Context, path: Path) -> list[Message]:
    """Save what the model wrote of a workflow; the workflow then belongs to the event's session (I001-6).

    A state file's content is kept. What a memory file or plan describes is merged into the workflow's state file.

    Args:
        event: the `PostToolUse`.
        context: its context.
        path: the file, as `written` returned it.

    Returns:
        Messages for the model: what it wrote that doesn't count, and the command that moves the workflow.
    """
    return saving.save_written(event, context, path, event.tool_name)


def fenced(lead: str, lines: Iterable[str]) -> str:
    """Return your sentence with lines from files below it, fenced as data, not instructions."""
    return wording.fenced(lead, lines)


def one_line(text: str) -> str:
    """Return text from a file, cleaned, on one line, and shortened if it is long."""
    return wording.one_line(text)


def quoted(text: str, limit: int = 80) -> str:
    """Return text from a file on one line in double quotes, cleaned and cut to `limit` characters."""
    return wording.quoted(text, limit)
