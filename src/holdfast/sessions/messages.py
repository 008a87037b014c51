"""Messages that a conversation gets once, and those that are still due.

A message counts as told when the reply that contains it was written (`once`). A row that is `due` isn't told yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock, paths
from holdfast.errors import HoldfastError, command_line
from holdfast.files import trust
from holdfast.memory.rows import Told
from holdfast.sessions import archive, contents, imports, owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, guidance, registry, wording
from holdfast.workflow.model import place_of
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from holdfast.memory.store import Table
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Found, Problem
    from holdfast.workflow.wording import Message

GIVEN = "given"
"""Topic: a person claimed a workflow for the session in a terminal."""
OFFERED = "offered"
"""Topic: a workflow, or the plan at a path, is unfinished, or another session has it."""
GONE = "gone"
"""Topic: the state file of a workflow was removed."""
WAITING = "stale plan"
"""Topic: a plan in progress wasn't saved. Its path is the key."""
UNSAVED = "unsaved"
"""Topic: a workflow that other files describe could not be saved. The report is the key."""
TODO_LIST = "to-do list"
"""Topic: the model knows a to-do list of a workflow. The list's digest is the value."""
UNREAD = "unread"
"""Topic: the file that names a workflow was not read to its end."""
_NAMED = 5  # definitions that are named at a session's start
_PRINTED = "printed"  # topic: guidance was printed in a terminal. Its mark is the key, the workflow's key the value
_UNREADABLE = "unread file"  # topic: a state file could not be read
_LEFT_ALONE = "left alone"  # topic: files that a format leaves alone
_OMITTED = "omitted"  # topic: a search for workflows left state files out


def withheld(project: Workspace, conversation: str, found: Found) -> list[Message]:
    """Tell the user at a start about an unusable ledger, files that can't be read and untrusted definitions."""
    lacking = project.ledger.problem
    notices = [_to_user(f"{lacking}.")] if lacking else []
    notices += [*unreadable(project, conversation, found), *omitted(project, conversation, found)]
    return [*notices, *left_alone(project, conversation), *untrusted(project.root)]


def pending_handovers(event: Event, context: Context) -> list[Message]:
    """Tell the model, once for each, about workflows that a person claimed for its session in a terminal.

    `event` is any event of the main conversation that accepts advice.
    """
    project, conversation = Workspace.at(event, context)
    keys = pending_keys(project, conversation, GIVEN)
    if not keys or event.in_subagent:
        return []
    found = [
        each for each in registry.candidates(project, conversation).workflows if each.key in keys and not each.finished
    ]
    holders = owners.holders(project, found)
    mine = [each for each in found if holders[each.key] == conversation]
    if not mine:
        for key in keys:
            tell(project, conversation, GIVEN, key)
        return []
    listed = wording.fenced("The user gave you this from a terminal.", [guidance.line(each) for each in mine])
    ways = "Read it with `holdfast status`. Ask the user whether to begin; `holdfast next` then says what to do."
    return [once(project, conversation, GIVEN, keys, wording.Message(f"{listed}\n{ways}"))]


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
    return [_to_user(text)]


def untrusted(root: Path) -> list[Message]:
    """Tell the user about the project's definitions that are not used, because nobody trusts them as they are.

    The project's handlers that are not trusted are named by `install.upkeep`.
    """
    found = definitions.untrusted(root)
    lines = [
        f"{quoted(path.relative_to(root).as_posix())} is not trusted as it is now, so it is not used. "
        f"Read it, then run in a terminal: {one_line(command)}"
        for path, command in found[:_NAMED]
    ]
    if len(found) > _NAMED:
        lines.append(f"The next start names {len(found) - _NAMED} more, once these are trusted.")
    return [_to_user("\n".join(lines))] if lines else []


def unreadable(project: OpenProject, conversation: str, found: Found) -> list[Message]:
    """Tell the user about state files that could not be read, once in a session for each (I001-11).

    Another program's file is named once in a project.
    """
    readers = {each: "" if each.foreign else conversation for each in found.problems}
    new = [each for each, to in readers.items() if not was_told(project, to, _UNREADABLE, str(each.path))]
    if not new:
        return []
    sentence = problem(project, new[0])
    if len(new) > 1:
        others = wording.count(len(new) - 1, "other file")
        sentence = f"{sentence}. {others} could not be read; `holdfast doctor` names all"
    else:
        sentence = wording.with_remedy(sentence)
    message = _to_user(f"{sentence}.")
    for each in new:
        message = once(project, readers[each], _UNREADABLE, [str(each.path)], message)
    return [message]


def omitted(project: OpenProject, conversation: str, found: Found) -> list[Message]:
    """Tell the user, once in a session, how many state files an event left out, and why."""
    if not found.left or was_told(project, conversation, _OMITTED):
        return []
    text = f"Holdfast read only the newest state files here and left out {wording.count(found.left, 'older one')}"
    text = f"{text}. This session's own workflow is always read. `holdfast status` shows all."
    return [once(project, conversation, _OMITTED, [""], wording.Message(text, to_user=True))]


def left_alone(project: Workspace, conversation: str) -> list[Message]:
    """Tell the user, once in a session, about other programs' files that Holdfast works on after a command."""
    if was_told(project, conversation, _LEFT_ALONE):
        return []
    found = registry.convertible(project)
    lines = [f"{each.path} {each.meaning}. To work on one, run: {each.remedy}" for each in found]
    return [once(project, conversation, _LEFT_ALONE, [""], _to_user("\n".join(lines)))] if lines else []


def problem(project: OpenProject, each: Problem) -> str:
    """Return a sentence about a file that could not be read, with the reason."""
    return f"{project.place(each.path)} {'' if each.foreign else 'could not be read: '}{each.reason}"


def vanished(project: Workspace, conversation: str) -> list[Message]:
    """Tell the user, once for each, about workflows that are ignored because their state file was removed.

    The model doesn't get this, because the requirements have it complete a workflow by removing the file (R001-19).
    """
    keys = pending_keys(project, conversation, GONE)
    return [
        once(project, conversation, GONE, [key], _to_user(line)) for key in keys if (line := _removed(project, key))
    ]


def _removed(project: Workspace, key: str) -> str:
    """Say that the workflow with this key is ignored, and how to bring it back; else return "".

    It returns "" if the file exists again, if the workflow was replaced or completed, or if it has no version.
    """
    path = project.root / place_of(key)
    try:
        raw = contents.latest(project, path)
        if path.exists() or raw is None or archive.holds(project, key):
            return ""
        workflow = registry.get(key.partition(":")[0]).parsed(project, path, raw)
        named = imports.last(project, path) is not None
    except HoldfastError:
        return ""
    if workflow.finished:
        return ""
    ignored = " What names it elsewhere is ignored until it changes." if named else ""
    return (
        f"{quoted(workflow.title)} ({workflow.progress_text}) is not restored, because its state file was removed."
        f"{ignored} To bring it back: {way_back(project, path)}"
    )


def way_back(project: Workspace, path: Path) -> str:
    """Return the command that restores the latest version of a state file, in backticks; empty if there is none."""
    versions = contents.list_versions(project, path)
    if not versions:
        return ""
    return f"`{command_line('restore', str(versions[0].number), '--workflow', one_line(project.place(path)))}`"


def was_told(project: OpenProject, conversation: str, topic: str, key: str = "") -> bool:
    """Return whether a conversation got a message of a topic.

    `key` is the key of the workflow that it is about, or whatever else identifies the message; it may be empty.
    """
    row = _table(project).one(conversation=conversation, topic=topic, key=key)
    return row is not None and not row.due


def tell(project: OpenProject, conversation: str, topic: str, key: str = "", value: str = "") -> None:
    """Record that a conversation got a message (`was_told`)."""
    _table(project).put(Told(conversation, topic, key, value, due=False, at=clock.stamp()))


def owe(project: OpenProject, conversation: str, topic: str, key: str = "") -> None:
    """Record that a conversation must get a message, even if it got it before (`was_told`)."""
    _table(project).put(Told(conversation, topic, key, "", due=True, at=clock.stamp()))


def owe_once(project: OpenProject, conversation: str, topic: str, *keys: str) -> None:
    """Record that a conversation must get a message under each key, unless it got it before; empty keys are ignored."""
    for key in keys:
        if key and not was_told(project, conversation, topic, key):
            owe(project, conversation, topic, key)


def pending_keys(project: OpenProject, conversation: str, topic: str) -> list[str]:
    """Return the keys of a conversation's due messages of a topic, in the order in which they were recorded."""
    rows = _table(project).where(conversation=conversation, topic=topic, due=True)
    # Sorted here: with an ORDER BY, SQLite would read the rows of all conversations.
    return [row.key for row in sorted(rows, key=lambda row: (row.at, row.key))]


def unread_files(project: OpenProject, conversation: str) -> list[str]:
    """Return the paths of the unreadable state files that a conversation or the project got a message about."""
    rows = _table(project).where(topic=_UNREADABLE)
    return [row.key for row in rows if row.conversation in (conversation, "")]


def once(
    project: OpenProject, conversation: str, topic: str, keys: Sequence[str], message: wording.Message
) -> wording.Message:
    """Return a message that, when delivered, counts as told (`tell`) under each of the keys."""

    def delivered() -> None:
        if message.on_delivered:
            message.on_delivered()
        for key in keys:
            tell(project, conversation, topic, key)

    return message._replace(on_delivered=delivered)


def note_printed(project: OpenProject, mark: str, workflow: str) -> None:
    """Record that the guidance of the workflow with this key was printed in a terminal; `mark` is its digest."""
    tell(project, "", _PRINTED, mark, workflow)


def printed(project: OpenProject, marks: Iterable[str]) -> list[str]:
    """Return the keys of the workflows whose guidance was printed under these marks."""
    return [row.value for row in _table(project).by("key", marks, conversation="", topic=_PRINTED).values()]


def last_value(project: OpenProject, conversation: str, topic: str, key: str) -> str | None:
    """Return the value of the last such message to a conversation; None without one."""
    row = _table(project).one(conversation=conversation, topic=topic, key=key)
    return row.value if row else None


def _to_user(text: str) -> Message:
    return wording.Message(f"Holdfast: {text}", to_user=True)


def _table(project: OpenProject) -> Table[Told]:
    return project.ledger.table(Told)
