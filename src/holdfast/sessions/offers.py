"""Tell a session about unfinished work that no live session owns. It becomes the owner when it acts on it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import HoldfastError, command_line
from holdfast.files import trust
from holdfast.sessions import contents, conversations, messages, owners, saving, session_guidance
from holdfast.sessions.arbitration import Verdict
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import guidance, names, registry, verbs, wording
from holdfast.workflow.wording import Message, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Workflow

LIMIT_CHARS = 600  # characters of an offer
STEP_LIMIT_CHARS = 100  # characters of the next step
_FIRST = "What the user asks comes first."
_WORDS = {  # by whether they are plans and whether they are several: before and after them
    (False, False): (
        "Unfinished workflow in this project.",
        f"{_FIRST} `{{status}}` prints all of it, and `{{next}}` continues it in this session.",
    ),
    (False, True): (
        "Unfinished workflows in this project.",
        f"{_FIRST} `holdfast status NAME` prints one, and `holdfast next NAME` continues it in this session.",
    ),
    (True, False): ("Plan in progress in this project.", f"{_FIRST} {wording.TAKE_UP.format('it')}"),
    (True, True): ("Plans in progress in this project.", f"{_FIRST} {wording.TAKE_UP.format('one')}"),
}
_LOST = "Another session continues this workflow now."
_BACK = "Leave it alone unless the user asks. `holdfast claim NAME --anyway` takes it back."
_COMMAND = re.compile(r"\s*/(?:[\w.-]{1,64}:)?([\w.-]{1,64})[ \t]+([^\n]{1,4000})")
_REQUESTED = "asked"  # topic: a session got a workflow that its prompt named
LISTED = 10  # workflows that are listed
_MARK = re.compile(wording.OPEN.replace(wording.UNMARKED, "([0-9a-f]{12})"))


def announce_unfinished(event: Event, context: Context) -> list[Message]:
    """Tell the user and, if somebody attends the session, the model about unfinished workflows (I001-12).

    They are those that no other live session owns and that this machine's ledger knows or that are fresh. Messages
    about withheld files come first (`messages.withheld`).

    `event` is a `SessionStart`.
    """
    project, conversation = Workspace.at(event, context)
    plans = saving.take_over(project, conversation)
    found = registry.candidates(project, conversation)
    notices = messages.withheld(project, conversation, found)
    waiting = _waiting(project, conversation, found.workflows)
    if waiting:
        more = f", and {len(waiting) - 1} more (`holdfast status`)" if len(waiting) > 1 else ""
        status = _about("status", waiting[0], found.workflows)
        line = f"Holdfast: unfinished workflow {guidance.line(waiting[0])}{more}. `{status}` shows it."
        notices.append(Message(line, to_user=True))
    elif not plans and (outer := enclosing(project)):
        notices.append(Message(f"Holdfast: {outer}", to_user=True))
    if not project.client.attended(context.environ):
        return notices
    names = [each.key for each in waiting] or plans
    if getattr(event, "source", "") != "clear":  # after /clear the model has forgotten the offer
        names = [each for each in names if not messages.was_told(project, conversation, messages.OFFERED, each)]
    if names:
        offer = _offer(waiting or names, found.workflows)
        notices.append(messages.once(project, conversation, messages.OFFERED, names, offer))
    return notices


def enclosing(project: Workspace) -> str:
    """Say which unfinished workflow of the repository's root a session here doesn't get; empty if there is none.

    A session's project is the folder that the client was started in (client fact), such as a monorepo's package.
    """
    if project.enclosing is None:
        return ""
    root = project.enclosing
    outer = Workspace.open(
        root, trusted=trust.config_trusted(root), tell=False, client=project.client, patience=project.patience
    )
    try:
        waiting = _waiting(outer, "none of that project", registry.candidates(outer, "").workflows)
    finally:
        outer.close()
    if not waiting:
        return ""
    more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
    where = paths.shown(str(root))
    return f"{where} has the unfinished workflow {guidance.line(waiting[0])}{more}. To continue it, start claude there."


def renewed(event: Event, context: Context) -> list[Message]:
    """Tell the model at a prompt which of its workflows another session took over, and which lost their owner.

    `event` is a `UserPromptSubmit`.
    """
    project, conversation = Workspace.at(event, context)
    changed = owners.changes_since(project, conversation, messages.OFFERED)
    if not changed:
        return []
    among = registry.with_keys(project, changed).workflows
    found = [each for each in among if each.key in changed]
    holders = owners.holders(project, found)
    others = [each for each in found if holders[each.key] != conversation]
    lost = [guidance.line(each) for each in others if holders[each.key] and changed[each.key]]
    notices = [Message(f"{wording.fenced(_LOST, lost)}\n{_BACK}")] if lost else []
    if project.client.attended(context.environ) and (waiting := _waiting(project, conversation, others)):
        notices.append(_offer(waiting, among))
    return [messages.once(project, conversation, messages.OFFERED, list(changed), each) for each in notices]


def received(event: Event, context: Context, prompt: str) -> None:
    """Make a session the owner of the workflow whose printed guidance its prompt contains, whichever session owned it.

    `event` is a `UserPromptSubmit`.
    """
    marks = dict.fromkeys(_MARK.findall(prompt))
    keys = messages.printed(context.project, marks) if marks else []
    conversation = conversations.of(context.project, event.session_id) if keys else ""
    for each in registry.with_keys(Workspace.of(context.project), keys).workflows if keys else ():
        if each.key in keys and not each.finished:
            owners.own(context.project, each, conversation)


def restore_for_command(event: Event, context: Context, prompt: str) -> list[Message]:
    """Give a session the unfinished workflow that a slash command such as `/dev features/login.md` is about, once.

    Several are listed. One that another live session owns is only named, with the command that moves it here. `event`
    is a `UserPromptSubmit`, `prompt` its text.
    """
    match = _COMMAND.match(prompt)
    if match is None:
        return []
    project, conversation = Workspace.at(event, context)
    found = registry.asked(project, match[1], match[2].strip().strip("\"'"))
    if len(found) > 1:
        lines = [f"{quoted(each.title)} ({each.id}): {each.progress_text}" for each in found[:LISTED]]
        lines += [f"+{len(found) - LISTED} more"] if len(found) > LISTED else []
        return [Message(wording.fenced("Several unfinished workflows fit. Ask the user which one is meant.", lines))]
    if not found or messages.was_told(project, conversation, _REQUESTED, found[0].key):
        return []
    return _restored_here(event, context, conversation, found[0])


def _waiting(project: Workspace, conversation: str, workflows: Sequence[Workflow]) -> list[Workflow]:
    """Return the unfinished workflows to tell a conversation of: its own or, if it has none, those of no live one."""
    unfinished = [each for each in owners.by_rank(workflows) if each.resumable]
    holders = owners.holders(project, unfinished)
    if own := [each for each in unfinished if holders[each.key] == conversation]:
        return own
    others = conversations.live_others(project, conversation)
    free = [each for each in unfinished if holders[each.key] not in others]
    known = contents.seen_at(project, {each.path: each.raw for each in free})
    fresh = {each.key for each in owners.fresh_ones(project, free)}
    return [each for each in free if holders[each.key] or each.path in known or each.key in fresh]


def _offer(work: Sequence[Workflow | str], among: Sequence[Workflow]) -> Message:
    """Return the message about workflows, which are named as `among` the project's, or the paths of plans."""
    first, several = work[0], len(work) > 1
    lines = [each if isinstance(each, str) else guidance.line(each) for each in work]
    lead, ways = _WORDS[isinstance(first, str), several]
    if not several and not isinstance(first, str):
        ways = ways.format_map({verb: _about(verb, first, among) for verb in ("status", "next")})
        with suppress(HoldfastError):  # another package's format failed
            if step := verbs.step(first):
                room = LIMIT_CHARS - len(f"{wording.fenced(lead, [*lines, 'Next step: …'])}\n{ways}")
                lines.append(f"Next step: {wording.one_line(step.text, min(STEP_LIMIT_CHARS, room))}")
    text = f"{wording.fenced(lead, lines)}\n{ways}"
    for shown in range(len(lines) - 1, 0, -1):
        if len(text) <= LIMIT_CHARS:
            break
        more = f"+{len(lines) - shown} more{'' if isinstance(first, str) else ' (`holdfast status`)'}"
        text = f"{wording.fenced(lead, [*lines[:shown], more])}\n{ways}"
    return Message(text)


def _about(verb: str, workflow: Workflow, among: Sequence[Workflow]) -> str:
    """Return a command about one workflow, which holds while there are others."""
    return command_line(verb, min(names.short(workflow, among), workflow.id, key=len))


def _restored_here(event: Event, context: Context, conversation: str, workflow: Workflow) -> list[Message]:
    project = context.project
    owner = owners.owner(project, workflow)
    if owner and owner in conversations.live_others(project, conversation):
        move = command_line("claim", workflow.id, "--session", event.session_id[:8], "--anyway")
        holder = conversations.session_id(project, owner)[:8]
        whose = f"{quoted(workflow.title)} belongs to session {holder}, which is live"
        return [Message(f"Holdfast: {whose}; `{move}` moves it here.", to_user=True)]
    guidance = session_guidance.restore(event, context, workflow, Verdict(workflow), (), compacted=False)
    return [messages.once(project, conversation, _REQUESTED, [workflow.key], guidance)]
