"""Which words of a session are kept: rules, decisions, why a command failed."""

from __future__ import annotations

from holdfast.trail import words
from tests.tables import each_row


@each_row(
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


@each_row(
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
    assert words.decided([f"Looking around. {sentence} Then the tests."]) == (sentence,)
    assert words.decided([f"So:\n- **{sentence}**\n2. other things"]) == (sentence,)


def test_what_is_no_decision_is_left_out() -> None:
    """Talk, questions and plain reports."""
    text = "Let me look at the file. I will read it now. Should we do it? It uses SQLite. Done."
    assert words.decided([text]) == ()


@each_row(
    "output, line",
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
    assert words.error_lines(output)[-1] == line


def test_a_failure_without_output_tells_nothing() -> None:
    """The client's own first line is none."""
    assert words.error_lines("Exit code 1") == ()
    assert words.error_lines("") == ()


@each_row(
    "command, output, failed",
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


@each_row("character", [" ", "\n", "=", ".", "a", "1", "<", "\x1b", "we ", "decision ", "error ", "- "])
def test_long_texts_are_judged_in_bounded_time(character: str) -> None:
    """Whatever fills a megabyte, nothing is looked at so often that it would take minutes (the suite's time limit)."""
    text = character * (1_000_000 // len(character))
    words.rule(text)
    words.decided([text])
    words.error_lines(text[:30_000])
    assert not words.tests_failed("x | y", text)
