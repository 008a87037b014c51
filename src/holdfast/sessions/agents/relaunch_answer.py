"""The answer to a call that launches agents again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.workflow.wording import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.sessions.hook import Call, Context


class Relaunch(NamedTuple):
    """The answer to a call that launches agents.

    Attributes:
        refusal: why the call must not run, with the result it would have brought or what to wait for; empty to let it.
        tool_input: the input with which it runs; None for the model's own.
        messages: what the model and the user are told.
    """

    refusal: str = ""
    tool_input: Mapping[str, Any] | None = None
    messages: tuple[Message, ...] = ()


PASSED = Relaunch()


def said(context: Context, event: Call, text: str, note: str = "") -> tuple[Message, ...]:
    """Return one line for the user, a text for the model if there is one, and write the line to the log."""
    context.log(text, session=event.session_id)
    told = (Message(f"Holdfast: {text}", to_user=True),)
    return (*told, Message(note, must_keep=True)) if note else told
