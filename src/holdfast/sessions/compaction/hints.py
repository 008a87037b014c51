"""What a session is told once: hints it was given, and news that it is still to hear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.workflow import wording

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Found, Problem
    from holdfast.workflow.wording import Message

GIVEN = "given"
"""The news that a workflow was given to the session from a terminal."""
GONE = "gone"
"""That the state file of a workflow was removed."""
STALE = "stale plan"
"""A plan in progress that is too old to be saved: its place instead of a workflow's key."""
KEPT = 1_000  # hints per project; the oldest go
UNREAD = "unread"
"""That the file that names a workflow was not read to its end."""
_UNREADABLE = "unread file"  # that a state file could not be read


def greet(event: Event, context: Context) -> list[Message]:
    """Name the user one unfinished workflow that is not another live session's; the model hears nothing (I001-12).

    Args:
        event: a `SessionStart`.
        context: its context.
    """
    from holdfast.sessions.ownership import owners, sessions
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import guidance, registry

    project = context.project
    others = sessions.live_others(project, event.session_id)
    lacking = project.ledger.problem
    told = [wording.Message(f"Holdfast: {lacking}.", to_user=True)] if lacking else []
    found = registry.candidates(Workspace.of(project), event.session_id)
    told += unreadable(event, context, found)
    waiting = [
        each
        for each in owners.ranked(found.workflows)
        if each.resumable and owners.owner(project, each) not in others and owners.fresh(project, each)
    ]
    if not waiting:
        return told
    more = f", and {len(waiting) - 1} more (`holdfast list`)" if len(waiting) > 1 else ""
    more += f"; {found.left} other state files were not looked at (`holdfast list`)" if found.left else ""
    line = f"Holdfast: unfinished here is {guidance.line(waiting[0])}{more}. `holdfast show` shows it."
    return [*told, wording.Message(line, to_user=True)]


def news(event: Event, context: Context) -> list[Message]:
    """Return what the model is told of workflows that a person gave to its session from a terminal, once for each.

    Args:
        event: any event of the main conversation that accepts advice.
        context: its context.
    """
    project, session = context.project, event.session_id
    keys = owed(project, session, GIVEN)
    if not keys or event.in_subagent:
        return []
    from holdfast.sessions.ownership import owners
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import guidance, registry

    found = [
        each
        for each in registry.candidates(Workspace.of(project), session).workflows
        if each.key in keys and not each.finished
    ]
    mine = [each for each in found if owners.owner(project, each) == session]

    def told() -> None:
        for key in keys:
            tell(project, session, GIVEN, key)

    if not mine:
        told()
        return []
    listed = wording.fenced("What the user gave to this session from a terminal.", [guidance.line(e) for e in mine])
    ways = "`holdfast show` shows it, `holdfast next` says what to do. Ask the user if you should begin."
    return [wording.Message(f"{listed}\n{ways}", on_delivered=told)]


def former_ledger(context: Context) -> list[Message]:
    """Return what the user is told of the ledger that the project had while its `project.id` needed no trust."""
    if context.project.untrusted_ledger is None:
        return []
    from holdfast.sessions.ownership import former_ledger as former

    notice = former.notice(context.project)
    return [wording.Message(f"Holdfast: {notice}", to_user=True)] if notice else []


def unreadable(event: Event, context: Context, found: Found) -> list[Message]:
    """Return what the user is told, once in a session for each, of state files that could not be read (I001-11)."""
    project, session = context.project, event.session_id
    new = [each for each in found.problems if not told(project, session, _UNREADABLE, str(each.path))]
    if not new:
        return []
    for each in new:
        tell(project, session, _UNREADABLE, str(each.path))
    said = problem(project, new[0])
    if len(new) > 1:
        said = f"{said}. {len(new) - 1} more could not be read either; `holdfast doctor` names them"
    elif wording.DOCTOR not in said:
        said = f"{said}; {wording.DOCTOR}"
    return [wording.Message(f"Holdfast: {said}.", to_user=True)]


def problem(project: OpenProject, each: Problem) -> str:
    """Return a file that could not be read, with the reason, in words."""
    shown = each.path.relative_to(project.root) if each.path.is_relative_to(project.root) else each.path
    return f"{shown} could not be read: {each.reason}"


def vanished(event: Event, context: Context) -> list[Message]:
    """Return what the user is told, once for each, of workflows that are ignored because their state file was removed.

    Not the model: removing the file is how the document has it complete a workflow (R001-19).
    """
    keys = take(context.project, event.session_id, GONE)
    if not keys:
        return []
    from holdfast.sessions.history import removed_state

    lines = [removed_state.line(context.project, key) for key in keys]
    return [wording.Message(f"Holdfast: {line}", to_user=True) for line in lines if line]


def told(project: OpenProject, session: str, topic: str, workflow: str = "") -> bool:
    """Tell whether a session was given a hint.

    Args:
        project: where.
        session: the session.
        topic: a short name of the hint.
        workflow: the key of the workflow it is about, if it is about one.
    """
    found = project.ledger.one(
        "SELECT 1 FROM hints WHERE project = ? AND session = ? AND topic = ? AND workflow = ? AND told_at IS NOT NULL",
        *(project.key, session, topic, workflow),
    )
    return found is not None


def tell(project: OpenProject, session: str, topic: str, workflow: str = "") -> None:
    """Note that a session was given a hint; see `told`."""
    _note(project, session, topic, workflow, clock.stamp())


def owe(project: OpenProject, session: str, topic: str, workflow: str = "") -> None:
    """Note that a session is still to be told something, also if it was told that before; see `told`."""
    _note(project, session, topic, workflow, None)


def owed(project: OpenProject, session: str, topic: str) -> list[str]:
    """Return the keys of the workflows about which a session is still to be told something, in their order."""
    rows = project.ledger.rows(
        "SELECT workflow FROM hints WHERE project = ? AND session = ? AND topic = ? AND told_at IS NULL"
        " ORDER BY noted_at, workflow",
        *(project.key, session, topic),
    )
    return [str(row["workflow"]) for row in rows]


def take(project: OpenProject, session: str, topic: str) -> list[str]:
    """Return what `owed` does, and note that the session is told."""
    keys = owed(project, session, topic)
    for key in keys:
        tell(project, session, topic, key)
    return keys


def _note(project: OpenProject, session: str, topic: str, workflow: str, told_at: str | None) -> None:
    project.ledger.run(
        "INSERT INTO hints (project, session, topic, workflow, worktree, host, client, noted_at, told_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session, topic, workflow)"
        " DO UPDATE SET noted_at = excluded.noted_at, told_at = excluded.told_at",
        *(project.key, session, topic, workflow, project.worktree, project.host, project.client),
        *(clock.stamp(), told_at),
    )
    project.ledger.prune(project.key, "hints", "noted_at", KEPT, key="project, session, topic, workflow")
