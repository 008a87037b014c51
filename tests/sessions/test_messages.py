"""What a conversation is told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions import messages
from holdfast.workflow.wording import Message
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace


def test_something_counts_as_told_once_its_reply_was_written(project: Workspace) -> None:
    """Until then it is due again, in this conversation alone."""
    for key in ("first", "second"):
        messages.owe(project, ME, messages.GIVEN, key)
    assert messages.pending_keys(project, ME, messages.GIVEN) == ["first", "second"]
    assert not messages.was_told(project, ME, messages.GIVEN, "first")

    written = list[str]()
    message = Message("Look.", on_delivered=lambda: written.append("earlier"))
    once = messages.once(project, ME, messages.GIVEN, ["first"], message)
    assert messages.pending_keys(project, ME, messages.GIVEN) == ["first", "second"]
    assert once.on_delivered
    once.on_delivered()
    assert messages.pending_keys(project, ME, messages.GIVEN) == ["second"]
    assert messages.was_told(project, ME, messages.GIVEN, "first")
    assert not messages.was_told(project, OTHER, messages.GIVEN, "first")
    assert written == ["earlier"]

    messages.owe(project, ME, messages.GIVEN, "first")
    assert not messages.was_told(project, ME, messages.GIVEN, "first")


def test_printed_guidance_names_its_workflow_by_its_mark(project: Workspace) -> None:
    """Whichever session's prompt contains it."""
    messages.note_printed(project, "0123456789ab", "compaction:a#1")

    assert messages.printed(project, ["ffffffffffff", "0123456789ab"]) == ["compaction:a#1"]
