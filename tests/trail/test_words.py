"""Which words of a transcript are kept: a person's, decisions, why a command failed."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.trail import words
from tests.trail.transcribed import CLIENTS, notification, written


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


@pytest.mark.parametrize("client", CLIENTS)
def test_of_what_the_clients_wrote_exactly_the_prompts_are_requests(client: str) -> None:
    """No result, notification, summary, caveat, command, or command's output is taken for a person's words."""
    asked = [text for entry in written(client) if entry["type"] == "user" if (text := words.asked(entry))]
    said = ["Build the parser, please.", "Always use tabs, never spaces.", "Go on after compaction.", "After resume."]
    assert asked == said * 2  # with TodoWrite, then with the Task tools


@pytest.mark.parametrize(
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
    assert words.asked(user(text)) == ""
    assert words.asked(user([{"type": "text", "text": text}])) == ""
    assert words.queued({"prompt": text}) == ""


@pytest.mark.parametrize(
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
    assert words.asked(user("words")) == "words"
    assert words.asked(user("words", **more)) == ""


def test_a_persons_words_are_found_among_what_the_client_adds() -> None:
    """Blocks beside the prompt, reminders in it, an origin that says so, tags a person wrote."""
    blocks = [{"type": "text", "text": "<ide_selection>x</ide_selection>"}, {"type": "text", "text": "Fix this."}]
    assert words.asked(user([*blocks, {"type": "image", "source": {}}])) == "Fix this."
    assert words.asked(user("Fix.\n<system-reminder>secret\n</system-reminder>")) == "Fix."
    assert words.asked(user("Fix.", origin={"kind": "human"})) == "Fix."
    assert words.asked(user("<div> is not closed")) == "<div> is not closed"
    assert words.queued({"prompt": [{"type": "text", "text": "And."}], "commandMode": "prompt"}) == "And."
    assert words.queued({"prompt": "x", "commandMode": "task-notification"}) == ""
    assert words.queued({"prompt": "x", "isMeta": True}) == ""


def test_a_slash_command_of_the_persons_own_is_kept_as_it_was_typed() -> None:
    """Not its expansion, which follows as a meta entry; local commands such as /compact are none."""
    text = "<command-message>fix is running…</command-message>\n<command-name>/fix</command-name>"
    assert words.asked(user(text + "\n<command-args>issue 12</command-args>")) == "/fix issue 12"
    assert words.asked(user(text)) == "/fix"
    assert words.asked(user("The expansion of fix.", isMeta=True)) == ""


@pytest.mark.parametrize(
    "request_",
    ["Always use tabs.", "Please never push.", "Don't ask me again.", "from now on, German", "Only use the stdlib"],
)
def test_rules_are_recognised(request_: str) -> None:
    """In any sentence of a request, and only that sentence is given."""
    assert words.rule(request_) == request_
    assert words.rule(f"Build it. {request_[0].upper()}{request_[1:]} Thanks!").startswith(
        request_[0].upper() + request_[1:]
    )
    assert words.rule("Build the parser, please. It is small.") == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "I chose SQLite because it is small.",
        "Decision: no recursion.",
        "We've decided to keep both.",
        "We will use a lock file instead of a socket.",
        "I'll go with option B.",
        "I’ll stick to one file.",
        "We opted for JSON.",
    ],
)
def test_decisions_are_recognised(sentence: str) -> None:
    """Out of a longer text, without the marks of a list."""
    assert words.decisions(f"Looking around. {sentence} Then the tests.") == [sentence]
    assert words.decisions(f"So:\n- **{sentence}**\n2. other things") == [sentence]


def test_what_is_no_decision_is_left_out() -> None:
    """Talk, questions and plain reports."""
    text = "Let me look at the file. I will read it now. Should we do it? It uses SQLite. Done."
    assert words.decisions(text) == []


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "Exit code 1\nE   assert 1 == 2\nFAILED tests/a.py::test_b - assert 1 == 2\n1 failed, 2 passed in 0.1s",
            "FAILED tests/a.py::test_b - assert 1 == 2",
        ),
        ("Exit code 1\n--- FAIL: TestX (0.00s)\nFAIL\nexit status 1", "--- FAIL: TestX (0.00s)"),
        (
            "Exit code 101\ntest parses ... FAILED\ntest result: FAILED. 1 passed; 1 failed",
            "test parses ... FAILED",
        ),
        ("Exit code 1\n  ✕ adds numbers (3 ms)\n\nTests: 1 failed, 1 total", "✕ adds numbers (3 ms)"),
        (
            "Exit code 1\nTraceback (most recent call last):\n  File x\nValueError: no such thing\nbye",
            "ValueError: no such thing",
        ),
        ("Exit code 2\nsrc/a.c:3:1: error: expected ';'\nmake: done", "src/a.c:3:1: error: expected ';'"),
        ("Exit code 127\nbash: foo: command not found\n", "bash: foo: command not found"),
        ("Exit code 1\n\x1b[31mFAILED\x1b[0m tests/a.py::test_b\nrest", "FAILED tests/a.py::test_b"),
        ("Error: Exit code 3\nfirst\nlast words\n\n", "last words"),
    ],
)
def test_the_telling_line_names_the_test_or_the_error(output: str, line: str) -> None:
    """As the common runners and compilers write them."""
    assert words.telling(output)[-1] == line


def test_a_failure_without_output_tells_nothing() -> None:
    """The client's own first line is none."""
    assert words.telling("Exit code 1") == ()
    assert words.telling("") == ()


@pytest.mark.parametrize(
    ("command", "output", "failed"),
    [
        ("pytest -q | tail -3", "=== 1 failed, 2 passed in 0.10s ===", True),
        ("pytest -q | tail -3", "1 failed in 0.10s", True),
        ("go test ./... 2>&1 | tail", "FAIL\texample.com/x\t0.1s", True),
        ("npm test || true; echo", "Tests:       1 failed, 3 passed, 4 total", True),
        ("pytest -q | tail -3", "=== 3 passed in 0.10s ===", False),
        ("pytest -q", "=== 1 failed in 0.10s ===", False),
        ("cat log | grep failed", "=== 1 failed in 0.10s ===", False),
        ("git log | head", "1 failed in 0.10s", False),
    ],
)
def test_a_pipe_does_not_hide_failed_tests(command: str, output: str, failed: bool) -> None:
    """`pytest | tail` exits with the code of `tail`; what only quotes a log is no run."""
    assert words.tests_failed(command, output) is failed


@pytest.mark.parametrize("character", [" ", "\n", "=", ".", "a", "1", "<", "\x1b", "we ", "decision ", "error ", "- "])
def test_long_texts_are_no_trouble(character: str) -> None:
    """Whatever fills a megabyte, nothing is looked at so often that it would take minutes (the suite's time limit)."""
    text = character * (1_000_000 // len(character))
    words.asked(user(text))
    words.rule(text)
    words.decisions(text)
    words.telling(text[:30_000])
    assert not words.tests_failed("x | y", text)
