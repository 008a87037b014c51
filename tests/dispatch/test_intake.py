"""The input on stdin is read as one JSON object, or an error says what it is."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest

from holdfast.clients.claude import claude
from holdfast.dispatch import intake
from holdfast.dispatch.intake import IntakeError, read
from tests.tables import each_row

CLAUDE = {"CLAUDE_PROJECT_DIR": "/p", "CLAUDECODE": "1"}
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


def read_bytes(data: bytes) -> dict[str, Any]:
    """Read bytes as if they came through the client's pipe."""
    ours, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return read(ours)
    finally:
        writer.join()
        os.close(ours)


def test_the_ways_to_write_json() -> None:
    """A BOM, white space, CRLF, escapes and pretty printing are all one JSON object."""
    text = json.dumps(EVENT, indent=2).replace("\n", "\r\n")

    assert read_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\n ") == EVENT
    assert read_bytes(b'{"a": "\\ud83d\\ude00 \\u0000", "b": "\xc3\xa4"}') == {"a": "😀 \0", "b": "ä"}
    assert read_bytes(b'{"a": "\\ud83d"}') == {"a": "\ud83d"}


@each_row(
    "data, words",
    [
        (b" \n\t\r\n", "stdin is empty"),
        (b"hello", "stdin is not JSON (Expecting value: line 1 column 1 (char 0)), 5 bytes: 'hello'"),
        (b'{"a": 1}\n{"a": 2}', "stdin is not JSON (Extra data"),
        (b"[1, 2]", "stdin is JSON but no object: '[1, 2]'"),
        (b'{"a": "\xff"}', "stdin is not UTF-8 at byte 7 of 10"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "stdin is not JSON"),
        (b'{"a": ' + b"[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_no_event_is_named(data: bytes, words: str) -> None:
    """The error says what came, with the place and the first bytes."""
    with pytest.raises(IntakeError) as caught:
        read_bytes(data)
    assert words in str(caught.value)


@each_row("before", ["x\n", "x" * 60, "x" * 70])
def test_the_excerpt_holds_no_secret(before: str) -> None:
    """Neither behind the escape of a line break, nor cut in half."""
    token = "ghp" + "_" + "a1B2c3D4e5F6" * 3
    with pytest.raises(IntakeError) as caught:
        read_bytes(f"{before} {token} and more".encode())
    assert "ghp" not in str(caught.value)


def test_the_largest_that_is_read_and_the_smallest_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large is read to its end: the client is never left blocked on a full pipe."""
    monkeypatch.setattr(intake, "LIMIT_BYTES", 1_000)
    padding = 1_000 - len(b'{"a": ""}')
    assert len(read_bytes(b'{"a": "' + b"x" * padding + b'"}')["a"]) == padding

    with pytest.raises(IntakeError, match="stdin holds 1001 bytes, more than 1000"):
        read_bytes(b'{"a": "' + b"x" * (padding + 1) + b'"}')
    with pytest.raises(IntakeError, match="stdin holds 5000000 bytes"):
        read_bytes(b"x" * 5_000_000)


CURSOR = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Shell",
    "tool_input": {"command": "ls"},
    "cursor_version": "2.1",
    "workspace_roots": ["/p"],
}
COPILOT = {"timestamp": 1, "cwd": "/p", "sessionId": "s", "toolName": "bash", "toolArgs": '{"command":"ls"}'}
COPILOT_COMPATIBLE = {"hookEventName": "PreToolUse", "sessionId": "s", "tool_name": "bash", "tool_input": {}}
CODEX = {"session_id": "s", "turn_id": "t", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}


@each_row(
    "payload, environ, words",
    [
        (CURSOR, CLAUDE, "cursor_version"),
        (COPILOT, CLAUDE, "sessionId"),
        (COPILOT_COMPATIBLE, CLAUDE, "sessionId"),
        (CODEX, {"CLAUDE_PROJECT_DIR": "/p"}, "neither CLAUDECODE nor AI_AGENT"),
        (EVENT, {"CLAUDE_PROJECT_DIR": "/p", "AI_AGENT": "other_1-2-3_agent"}, "CLAUDECODE"),
        (EVENT, {"CLAUDECODE": "1"}, "CLAUDE_PROJECT_DIR"),
        (EVENT, {"CLAUDE_PROJECT_DIR": "", "CLAUDECODE": "1"}, "CLAUDE_PROJECT_DIR"),
    ],
)
def test_another_clients_event_is_told_apart(payload: dict[str, Any], environ: dict[str, str], words: str) -> None:
    """Cursor, Copilot and Codex run the same settings; what is not Claude Code's is named as such."""
    assert words in claude.foreign(payload, environ)


@each_row("key", ["conversation_id", "generation_id", "sessionId", "hookEventName"])
def test_one_more_key_makes_no_other_client(key: str) -> None:
    """An event of Claude Code's with a key that other clients use, too, is still Claude Code's: a guard judges it."""
    assert claude.foreign({**EVENT, key: "x"}, CLAUDE) == ""


@each_row("session", [None, 5, ["s"], {}])
def test_a_malformed_session_makes_no_other_client(session: object) -> None:
    """A field of the wrong type is a fault to be refused, not a reason to stay silent."""
    assert claude.foreign({**EVENT, "session_id": session}, CLAUDE) == ""
    assert claude.foreign({"hook_event_name": "PreToolUse"}, CLAUDE) == ""
