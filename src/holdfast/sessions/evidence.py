"""Take from a session's transcript what it shows of the session's workflows, and tell its model once."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.clients.client import Work
from holdfast.errors import HoldfastError
from holdfast.sessions import conversations, messages
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, wording
from holdfast.workflow.wording import Message

if TYPE_CHECKING:
    from holdfast.sessions.hook import Context, Event

_TOLD = "evidence"  # the hint that a sentence was told; the sentence's digest follows


def take_evidence(event: Event, context: Context) -> list[Message]:
    """Record what the session's transcript shows of its workflows: commits, test results, edited files.

    Only formats that take evidence look at it, and nothing is read for others. A subagent's work is none of it. Return
    what the model was not told yet; it waits for an event whose messages are delivered.
    """
    if event.in_subagent:
        return []
    project = Workspace.of(context.project)
    session = conversations.of(project, event.session_id)
    found = registry.taking_evidence(project, session)
    if not found:
        return []
    work = [*project.transcripts.work(event.transcript_path or ""), *_now(event)]
    told: list[Message] = []
    for workflow in found:
        try:
            said = registry.get(workflow.format).record_evidence(project, workflow, work)
        except HoldfastError as error:
            context.log(f"{workflow.place}: its evidence wasn't taken: {error}", level="warning")
            continue
        told += _new(project, session, workflow.key, said)
    return told


def _now(event: Event) -> list[Work]:
    """Return the command that an event itself is about: the client writes it into the transcript only afterwards."""
    command = getattr(event, "tool_input", {}).get("command")
    if not isinstance(command, str):
        return []
    if error := getattr(event, "error", ""):
        return [Work(clock.stamp(), command=command, output=error, failed=True)]
    said = getattr(event, "tool_response", None)
    parts = [said.get(name) for name in ("stdout", "stderr")] if isinstance(said, dict) else [said]
    output = "\n".join(each for each in parts if isinstance(each, str))
    return [Work(clock.stamp(), command=command, output=output)]


def _new(project: Workspace, session: str, workflow: str, said: list[str]) -> list[Message]:
    """Return the sentences that a session was not told yet; each counts as told once it was delivered."""
    made: list[Message] = []
    for each in said:
        topic = f"{_TOLD} {hashlib.sha256(each.encode('utf-8', 'replace')).hexdigest()[:12]}"
        if not messages.was_told(project, session, topic, workflow):
            delivered = partial(messages.tell, project, session, topic, workflow)
            made.append(Message(f"Holdfast: {wording.clean(each)}", on_delivered=delivered))
    return made
