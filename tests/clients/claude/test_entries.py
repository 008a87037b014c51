"""Which words of a transcript's entries are a person's."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.clients.claude.entries import Prompt, typed
from tests.tables import each_row
from tests.trail.transcribed import CLIENTS, notification, written


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def requests(*values: dict[str, Any]) -> list[str]:
    """Return a person's words in entries."""
    return [each.request for each in typed(enumerate(values)) if isinstance(each, Prompt) and each.request]


def request_text(value: dict[str, Any]) -> str:
    return "".join(requests(value))


def queued(attachment: dict[str, Any]) -> str:
    return request_text({"type": "attachment", "attachment": {"type": "queued_command", **attachment}})


@pytest.mark.parametrize("client", CLIENTS)
def test_of_what_the_clients_wrote_exactly_the_prompts_are_requests(client: str) -> None:
    """No result, notification, summary, caveat, command, or command's output is taken for a person's words."""
    said = ["Build the parser, please.", "Always use tabs, never spaces.", "Go on after compaction.", "After resume."]
    assert (
        requests(*(each for each in written(client) if each["type"] == "user")) == said * 2
    )  # with TodoWrite, then with the Task tools


@each_row(
    "text",
    [
        "<command-name>/compact</command-name>\n<command-message>compact</command-message>",
        "<local-command-stdout>Compacted</local-command-stdout>",
        "<local-command-caveat>Caveat: …</local-command-caveat>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
        "<user-prompt-submit-hook>x</user-prompt-submit-hook>",
        "<ide_opened_file>The user opened a.py</ide_opened_file>",
        "<system-reminder>x</system-reminder>",
        '<teammate-message teammate_id="a">x</teammate-message>',
        '<channel source="x">hi</channel>',
        notification("a1", 'Agent "x" finished', "completed", "done"),
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "This session is being continued from a previous conversation that ran out of context.",
        "  \n ",
        "",
    ],
)
def test_the_clients_own_texts_are_no_requests(text: str) -> None:
    """Whatever their form: a plain text or a block."""
    assert request_text(user(text)) == ""
    assert request_text(user([{"type": "text", "text": text}])) == ""
    assert queued({"prompt": text}) == ""


@each_row(
    "more",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"isVirtual": True},
        {"toolUseResult": "x"},
        {"promptSource": "system"},
        {"origin": {"kind": "task-notification"}},
        {"origin": {"kind": "peer", "from": "x"}},
        {"origin": "unknown"},
    ],
)
def test_marks_and_origins_tell_whose_words_they_are(more: dict[str, Any]) -> None:
    """What is marked as the client's or comes from another agent is nobody's request here."""
    assert request_text(user("words")) == "words"
    assert request_text(user("words", **more)) == ""


def test_a_persons_words_are_found_among_what_the_client_adds() -> None:
    """Blocks beside the prompt, reminders in it, an origin that says so, tags a person wrote."""
    blocks = [{"type": "text", "text": "<ide_selection>x</ide_selection>"}, {"type": "text", "text": "Fix this."}]
    assert request_text(user([*blocks, {"type": "image", "source": {}}])) == "Fix this."
    assert request_text(user("Fix.\n<system-reminder>secret\n</system-reminder>")) == "Fix."
    assert request_text(user("Fix.", origin={"kind": "human"})) == "Fix."
    assert request_text(user("<div> is not closed")) == "<div> is not closed"
    assert queued({"prompt": [{"type": "text", "text": "And."}], "commandMode": "prompt"}) == "And."
    assert queued({"prompt": "x", "commandMode": "task-notification"}) == ""
    assert queued({"prompt": "x", "isMeta": True}) == ""


def test_a_slash_command_of_the_persons_own_is_kept_as_it_was_typed() -> None:
    """Not its expansion, which follows as a meta entry; local commands such as /compact are none."""
    text = "<command-message>fix is running…</command-message>\n<command-name>/fix</command-name>"
    assert request_text(user(text + "\n<command-args>issue 12</command-args>")) == "/fix issue 12"
    assert request_text(user(text)) == "/fix"
    assert request_text(user("The expansion of fix.", isMeta=True)) == ""


@each_row("character", [" ", "\n", "=", "<", "<a-", "<command-message>", "<system-reminder>"])
def test_long_texts_are_no_trouble(character: str) -> None:
    """Whatever fills a megabyte, nothing is looked at so often that it would take minutes (the suite's time limit)."""
    request_text(user(character * (1_000_000 // len(character))))
