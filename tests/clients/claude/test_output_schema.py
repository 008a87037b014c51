"""The output schema agrees with the tests' own contract of what the client accepts on stdout."""

from __future__ import annotations

import json
from typing import Any

from holdfast.clients.claude import output_schema
from holdfast.clients.claude.replies import PLAIN_EVENTS, merge, specific_keys
from holdfast.events import EVENTS
from holdfast.plugins.outcomes import advise, block, deny, instruct_summary, tell_user
from tests import client_output
from tests.tables import each_row


def specific(event: str, **fields: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})


def test_the_tables_are_those_of_the_contract() -> None:
    """They were written down apart from the code. Of some keys we make no use; `suppressOutput` means nothing."""
    unused = {("Notification", "additionalContext"), ("PostToolUse", "updatedMCPToolOutput")}
    unused.add(("WorktreeCreate", "worktreePath"))
    ours = {(event, key) for event in EVENTS for key in specific_keys(event)}
    assert ours | unused == {(event, key) for event, keys in client_output.SPECIFIC.items() for key in keys}
    assert client_output.TOP | {"suppressOutput": bool} == output_schema.TOP
    assert set(PLAIN_EVENTS) == client_output.PLAIN
    assert output_schema.LIMIT_UNITS == client_output.LIMIT


@each_row("event", EVENTS)
def test_silence_is_always_taken(event: str) -> None:
    """Nothing to say is nothing printed."""
    assert output_schema.fault(event, "") == ""


def test_what_we_merge_is_taken() -> None:
    """Of each kind of reply one."""
    said = {
        "SessionStart": advise("x" * 9_000),
        "PreToolUse": deny("no"),
        "PreCompact": instruct_summary("keep it"),
        "PostCompact": tell_user("done"),
        "Stop": block("go on"),
    }
    for event, outcome in said.items():
        assert output_schema.fault(event, merge(event, [outcome]).stdout) == ""
    assert output_schema.fault("PreCompact", merge("PreCompact", [block("not now")]).stdout) == ""


@each_row(
    "event, stdout, words",
    [
        ("Stop", "hello", "plain text, which goes nowhere: 'hello'"),
        ("SessionStart", "hello", "plain text"),
        ("Stop", '{"reason": "x"', "no valid JSON"),
        ("Stop", '{"reason": "x"}\n{"reason": "y"}', "no valid JSON"),
        ("Stop", '{"reason": null}', '"reason" of a wrong type'),
        ("Stop", '{"additionalContext": "x"}', '"additionalContext", which the client ignores'),
        ("PreCompact", '{"systemMessage": "x"}', "JSON, which the summariser would get"),
        ("PreCompact", "x" * 10_001, "of 10001 characters"),
        ("Stop", json.dumps({"systemMessage": "x" * 10_001}), "of 10001 characters"),
        ("Stop", specific("Stop", additionalContext="😀" * 5_001), "of 10002 characters"),
        ("Stop", specific("SessionStart", additionalContext="x"), "\"hookEventName\" 'SessionStart'"),
        ("Stop", specific("Stop", watchPaths=[]), '"hookSpecificOutput.watchPaths", which Stop does not know'),
        ("Stop", specific("Stop", additionalContext=None), '"hookSpecificOutput.additionalContext" as null'),
        ("SessionEnd", specific("SessionEnd", additionalContext="x"), "costs the whole output on SessionEnd"),
    ],
)
def test_what_the_client_does_not_take_is_named(event: str, stdout: str, words: str) -> None:
    """With the key, and what it costs."""
    assert words in output_schema.fault(event, stdout)
