"""What a session is told once: hints that it was given, and news that it still has to hear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock, formats, paths
from holdfast.files import trust
from holdfast.sessions import removed_state
from holdfast.sessions.ownership import owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, guidance, manyfiles, registry, wording
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Found, Problem
    from holdfast.workflow.wording import Message

GIVEN = "given"
"""Topic: a workflow was given to the session from a terminal."""
OFFERED = "offered"
"""Topic: the session was told that a workflow, or the plan at a path, is unfinished, or that another session has it."""
PRINTED = "printed"
"""Topic: the guidance of a workflow was printed in a terminal. Its mark stands in place of a session."""
GONE = "gone"
"""Topic: the state file of a workflow was removed."""
WAITING = "stale plan"
"""Topic: a plan in progress wasn't saved. Its path stands in place of a workflow's key."""
KEPT = 1_000  # hints per project; the oldest go
UNSAVED = "unsaved"
"""Topic: what other files describe could not be saved. The report stands in place of a workflow's key."""
UNREAD = "unread"
"""Topic: the file that names a workflow was not read to its end."""
_NAMED = 5  # definitions that are named at a session's start
_UNREADABLE = "unread file"  # topic: a state file could not be read
_LEFT_ALONE = "left alone"  # topic: files that a format leaves alone
_OMITTED = "omitted"  # topic: a search for workflows left state files out


def withheld(event: Event, context: Context, found: Found) -> list[Message]:
    """Tell the user at a start about an unusable ledger, files that can't be read and untrusted definitions."""
    lacking = context.project.ledger.problem
    told = [wording.Message(f"Holdfast: {lacking}.", to_user=True)] if lacking else []
    told += [*unreadable(event, context, found), *omitted(event, context, found)]
    return [*told, *left_alone(event, context), *untrusted(context)]


def news(event: Event, context: Context) -> list[Message]:
    """Tell the model about workflows that a person gave to its session from a terminal, once for each.

    Args:
        event: any event of the main conversation that accepts advice.
        context: its context.
    """
    project, session = context.project, event.session_id
    keys = pending_keys(project, session, GIVEN)
    if not keys or event.in_subagent:
        return []
    found = [
        each
        for each in registry.candidates(Workspace.of(project), session).workflows
        if each.key in keys and not each.finished
    ]
    holders = owners.holders(project, found)
    mine = [each for each in found if holders[each.key] == session]
    if not mine:
        for key in keys:
            tell(project, session, GIVEN, key)
        return []
    listed = wording.fenced("The user gave you this from a terminal.", [guidance.line(each) for each in mine])
    ways = "Read it with `holdfast show`. Ask the user whether to begin; `holdfast next` then says what to do."
    return [once(project, session, GIVEN, keys, wording.Message(f"{listed}\n{ways}"))]


def untrusted_ledger(context: Context) -> list[Message]:
    """Tell the user about a ledger that the project would use if its `holdfast.toml` were trusted as it is now."""
    project = context.project
    if project.untrusted_ledger is None:
        return []
    place = paths.project_config(project.root)
    text = (
        f"project.id in {place} doesn't count until you trust that file, so Holdfast doesn't use "
        f"{project.untrusted_ledger}. To use it, read the file, then run: {trust.config_command(project.root)}"
    )
    return [wording.Message(f"Holdfast: {text}", to_user=True)]


def untrusted(context: Context) -> list[Message]:
    """Tell the user about the project's definitions that are not used, because nobody trusts them as they are.

    The project's handlers that are not trusted are named by `install.upkeep`.
    """
    root = context.project.root
    found = definitions.untrusted(root, formats.trusting())
    lines = [
        f"{quoted(path.relative_to(root).as_posix())} is not trusted as it is now, so it is not used. "
        f"Read it, then run in a terminal: {wording.one_line(command)}"
        for path, command in found[:_NAMED]
    ]
    if len(found) > _NAMED:
        lines.append(f"The next start names {len(found) - _NAMED} more, once these are trusted.")
    return [wording.Message("Holdfast: " + "\n".join(lines), to_user=True)] if lines else []


def unreadable(event: Event, context: Context, found: Found) -> list[Message]:
    """Tell the user about state files that could not be read, once in a session for each (I001-11)."""
    project, session = context.project, event.session_id
    new = [each for each in found.problems if not was_told(project, session, _UNREADABLE, str(each.path))]
    if not new:
        return []
    said = problem(project, new[0])
    if len(new) > 1:
        others = wording.count(len(new) - 1, "other file")
        said = f"{said}. {others} could not be read; `holdfast doctor` names all"
    else:
        said = wording.with_remedy(said)
    message = wording.Message(f"Holdfast: {said}.", to_user=True)
    return [once(project, session, _UNREADABLE, [str(each.path) for each in new], message)]


def omitted(event: Event, context: Context, found: Found) -> list[Message]:
    """Tell the user, once in a session, how many state files an event left out, and why."""
    project, session = context.project, event.session_id
    if not found.left or was_told(project, session, _OMITTED):
        return []
    text = f"Holdfast read only the newest state files here and left out {wording.count(found.left, 'older one')}"
    if found.cut:
        left = wording.count(found.left, "other state file")
        text = f"Holdfast: the search for workflows ended after {manyfiles.SEARCH_TIMEOUT_S:g} s, with {left} left out"
    text = f"{text}. This session's own workflow is always read. `holdfast list` shows all."
    return [once(project, session, _OMITTED, [""], wording.Message(text, to_user=True))]


def left_alone(event: Event, context: Context) -> list[Message]:
    """Tell the user, once in a session, about other programs' files that Holdfast works on after a command."""
    project, session = context.project, event.session_id
    if was_told(project, session, _LEFT_ALONE):
        return []
    found = registry.convertible(Workspace.of(project))
    lines = [f"{each.path} {each.meaning}. To work on one, run: {each.remedy}" for each in found]
    message = wording.Message("Holdfast: " + "\n".join(lines), to_user=True)
    return [once(project, session, _LEFT_ALONE, [""], message)] if lines else []


def problem(project: OpenProject, each: Problem) -> str:
    """Return a sentence about a file that could not be read, with the reason."""
    shown = each.path.relative_to(project.root) if each.path.is_relative_to(project.root) else each.path
    return f"{shown} could not be read: {each.reason}"


def vanished(event: Event, context: Context) -> list[Message]:
    """Tell the user, once for each, about workflows that are ignored because their state file was removed.

    The model isn't told: removing the file is the way in which the requirements have it complete a workflow (R001-19).
    """
    project, session = context.project, event.session_id
    keys = pending_keys(project, session, GONE)
    if not keys:
        return []
    return [
        once(project, session, GONE, [key], wording.Message(f"Holdfast: {line}", to_user=True))
        for key in keys
        if (line := removed_state.line(project, key))
    ]


def was_told(project: OpenProject, session: str, topic: str, workflow: str = "") -> bool:
    """Return whether a session was given a hint.

    Args:
        project: the project.
        session: the session.
        topic: the hint's short name.
        workflow: the key of the workflow that it is about; empty for none.
    """
    found = project.ledger.one(
        "SELECT 1 FROM hints WHERE project = ? AND session = ? AND topic = ? AND workflow = ? AND told_at IS NOT NULL",
        *(project.key, session, topic, workflow),
    )
    return found is not None


def tell(project: OpenProject, session: str, topic: str, workflow: str = "") -> None:
    """Note that a session was given a hint; see `was_told`."""
    _note(project, session, topic, workflow, clock.stamp())


def owe(project: OpenProject, session: str, topic: str, workflow: str = "") -> None:
    """Note that a session still has to be told something, even if it was told before; see `was_told`."""
    _note(project, session, topic, workflow, None)


def pending_keys(project: OpenProject, session: str, topic: str) -> list[str]:
    """Return the keys of the workflows that a session still has to be told about, in the order they were noted."""
    # Sorted here: asked for an order by time, SQLite would go through the hints of all the project's sessions.
    rows = project.ledger.rows(
        "SELECT workflow, noted_at FROM hints WHERE project = ? AND session = ? AND topic = ? AND told_at IS NULL",
        *(project.key, session, topic),
    )
    return [str(row["workflow"]) for row in sorted(rows, key=lambda row: (row["noted_at"], row["workflow"]))]


def unread_files(project: OpenProject, session: str) -> list[str]:
    """Return the paths of the state files of which a session was told that they could not be read."""
    rows = project.ledger.rows(
        "SELECT workflow FROM hints WHERE project = ? AND session = ? AND topic = ?",
        *(project.key, session, _UNREADABLE),
    )
    return [str(row["workflow"]) for row in rows]


def once(
    project: OpenProject, session: str, topic: str, workflows: Sequence[str], message: wording.Message
) -> wording.Message:
    """Return a hint that counts as given (`tell`) once it is delivered, for each of the workflows by their keys."""

    def delivered() -> None:
        if message.on_delivered:
            message.on_delivered()
        for key in workflows:
            tell(project, session, topic, key)

    return message._replace(on_delivered=delivered)


def _note(project: OpenProject, session: str, topic: str, workflow: str, told_at: str | None) -> None:
    project.ledger.run(
        "INSERT INTO hints (project, session, topic, workflow, worktree, host, client, noted_at, told_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session, topic, workflow)"
        " DO UPDATE SET noted_at = excluded.noted_at, told_at = excluded.told_at",
        *(project.key, session, topic, workflow, project.worktree, project.host, project.client.NAME),
        *(clock.stamp(), told_at),
    )
    project.ledger.prune(project.key, "hints", "noted_at", KEPT, key="project, session, topic, workflow")
