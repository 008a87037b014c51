"""Workflows, for handlers: find them, ask who owns them, advance them and save what the model wrote of them.

A workflow is read from its files whenever you ask, whatever its format. The functions take the handler's `event` and
`context`; nothing is loaded before you use it.

Example::

    from holdfast import deny, hookimpl, workflows

    @hookimpl(match="Bash")
    def on_pre_tool_use(event, context):
        workflow = workflows.mine(event, context)
        if workflow and workflow.phase == "Write tests" and "git commit" in event.tool_input["command"]:
            return deny(f"Finish {workflow.progress_text} first.")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.sessions.hook import Call, Context, Event
    from holdfast.workflow.model import Found as Found
    from holdfast.workflow.model import Phase as Phase
    from holdfast.workflow.model import Step as Step
    from holdfast.workflow.model import Workflow as Workflow
    from holdfast.workflow.wording import Message

__all__ = [
    *("Found", "Phase", "Step", "Workflow"),
    *("advance", "fenced", "find", "mine", "next_step", "one_line", "own", "owner", "quoted", "save", "written"),
]


def find(event: Event, context: Context) -> Found:
    """Return the workflows that an event can be about: the session's own, and those that changed last.

    Args:
        event: any event.
        context: its context.

    Returns:
        The workflows, finished ones too, newest change first, and the files that couldn't be read.
    """
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry

    return registry.candidates(Workspace.of(context.project), event.session_id)


def mine(event: Event, context: Context) -> Workflow | None:
    """Return the unfinished workflow that the event's session owns (the newest of several), or None.

    A session owns a workflow that it started, wrote, claimed or got back after a compaction. A paused workflow doesn't
    count.

    Args:
        event: any event; a subagent's event belongs to its parent's session.
        context: its context.
    """
    from holdfast.sessions.reading import required_files
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry

    project, session = Workspace.of(context.project), event.session_id
    return required_files.session_workflow(project, session, registry.owned(project, session))


def owner(context: Context, workflow: Workflow) -> str | None:
    """Return the id of the session that owns a workflow, or None. Raises LedgerError if the ledger can't be read."""
    from holdfast.sessions.ownership import owners

    return owners.owner(context.project, workflow)


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
    from holdfast.sessions.ownership import owners

    owners.take(context.project, workflow, event.session_id)
    return owners.owner(context.project, workflow) == event.session_id


def next_step(workflow: Workflow) -> Step | None:
    """Return the next step of a workflow (phase, agent, prompt), or None if everything is done."""
    from holdfast.workflow import verbs

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
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import verbs

    return verbs.done(Workspace.of(context.project), workflow, note=note)


def written(event: Call, context: Context) -> Path | None:
    """Return the file that a tool wrote if it can hold or describe a workflow, else None. Loads no format.

    Args:
        event: the `PostToolUse` of a tool with a `file_path`.
        context: its context.
    """
    import os
    from pathlib import Path

    from holdfast.workflow import places

    given = event.tool_input.get("file_path")
    path = Path(os.path.normpath(Path(event.cwd, given))) if isinstance(given, str) and given else None
    return path if path and places.is_workflow_file(context.root, path) else None


def save(event: Call, context: Context, path: Path) -> list[Message]:
    """Save what the model wrote of a workflow; the workflow then belongs to the event's session (I001-6).

    A state file gets a generation. What a memory file or plan describes is merged into the workflow's state file.

    Args:
        event: the `PostToolUse`.
        context: its context.
        path: the file, as `written` returned it.

    Returns:
        Messages for the model: what it wrote that doesn't count, and the command that moves the workflow.
    """
    from holdfast.sessions.history import edits

    return edits.save(event, context, path, event.tool_name)


def fenced(lead: str, lines: Iterable[str]) -> str:
    """Return your sentence with lines from files below it, fenced as data, not instructions."""
    from holdfast.workflow import wording

    return wording.fenced(lead, lines)


def one_line(text: str) -> str:
    """Return text from a file, cleaned, on one line, and shortened if it is long."""
    from holdfast.workflow import wording

    return wording.one_line(text)


def quoted(text: str, limit: int = 80) -> str:
    """Return text from a file on one line in double quotes, cleaned and cut to `limit` characters."""
    from holdfast.workflow import wording

    return wording.quoted(text, limit)


def __getattr__(name: str) -> Any:
    """Load a type of the model. Raises AttributeError for any other name."""
    if name not in ("Found", "Phase", "Step", "Workflow"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from holdfast.workflow import model

    return getattr(model, name)
