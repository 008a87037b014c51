"""What a session gets when a prompt is a slash command that an unfinished workflow is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.errors import command_line
from holdfast.sessions import conversations, messages, owners, session_guidance
from holdfast.sessions.arbitration import Verdict
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, wording
from holdfast.workflow.wording import Message, quoted

if TYPE_CHECKING:
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Workflow

_COMMAND = re.compile(r"\s*/(?:[\w.-]{1,64}:)?([\w.-]{1,64})[ \t]+([^\n]{1,4000})")
_ASKED = "asked"  # the hint that a workflow was given to a session that asked for it
LISTED = 10  # workflows that are listed


def restore_for_command(event: Event, context: Context, prompt: str) -> list[Message]:
    """Give a session the unfinished workflow that a slash command such as `/dev features/login.md` is about, once.

    Several are listed. One that another live session owns is only named, with the command that moves it here.

    Args:
        event: a `UserPromptSubmit`.
        context: its context.
        prompt: the prompt.
    """
    match = _COMMAND.match(prompt)
    if match is None:
        return []
    project = Workspace.of(context.project)
    conversation = conversations.of(project, event.session_id)
    found = registry.asked(project, match[1], match[2].strip().strip("\"'"))
    if len(found) > 1:
        lines = [f"{quoted(each.title)} ({each.id}): {each.progress_text}" for each in found[:LISTED]]
        lines += [f"+{len(found) - LISTED} more"] if len(found) > LISTED else []
        return [Message(wording.fenced("Several unfinished workflows fit. Ask the user which one is meant.", lines))]
    if not found or messages.was_told(project, conversation, _ASKED, found[0].key):
        return []
    return _restored(event, context, conversation, found[0])


def _restored(event: Event, context: Context, conversation: str, workflow: Workflow) -> list[Message]:
    project = context.project
    owner = owners.owner(project, workflow)
    if owner and owner in conversations.live_others(project, conversation):
        move = command_line("claim", workflow.id, "--session", event.session_id[:8], "--anyway")
        holder = conversations.session_id(project, owner)[:8]
        whose = f"{quoted(workflow.title)} belongs to session {holder}, which is live"
        return [Message(f"Holdfast: {whose}; `{move}` moves it here.", to_user=True)]
    guidance = session_guidance.restore(event, context, workflow, Verdict(workflow), (), compacted=False)
    return [messages.once(project, conversation, _ASKED, [workflow.key], guidance)]
