"""What the client accepts on a hook's stdout, by event."""

from __future__ import annotations

import json
from typing import Any

from holdfast.clients.claude.replies import PLAIN_EVENTS, specific_keys
from holdfast.dispatch.budget import units

TOP: dict[str, type] = {
    "continue": bool,
    "stopReason": str,
    "suppressOutput": bool,
    "decision": str,
    "reason": str,
    "systemMessage": str,
    "terminalSequence": str,
    "hookSpecificOutput": dict,
}
"""The top-level keys and their types; for a value of another type the client drops all output (client fact §1.5)."""

LIMIT_UNITS = 10_000
"""UTF-16 units of one string; a longer one is replaced by a preview (client fact §1.9)."""


def fault(event: str, stdout: str) -> str:
    """Return the first thing in a hook's stdout that the client wouldn't accept; empty if it accepts all of it."""
    if not stdout:
        return ""
    if not stdout.lstrip("\ufeff \t\r\n").startswith("{"):
        return (
            _long("the text", stdout) if event in PLAIN_EVENTS else f"plain text, which goes nowhere: {_brief(stdout)}"
        )
    try:
        body = json.loads(stdout.lstrip("\ufeff"))
    except ValueError as error:
        return f"no valid JSON ({error}): {_brief(stdout)}"
    if event == "PreCompact" and body.get("decision") != "block":
        return "JSON, which the summariser would get as an instruction"
    return next((said for key, value in body.items() if (said := _top(key, value))), "") or _specific(
        event, body.get("hookSpecificOutput")
    )


def _top(key: str, value: Any) -> str:
    if key not in TOP:
        return f'"{key}", which the client ignores'
    if not isinstance(value, TOP[key]):
        return f'"{key}" of a wrong type, which costs the whole output'
    return _long(f'"{key}"', value)


def _specific(event: str, specific: Any) -> str:
    if specific is None:
        return ""
    known = specific_keys(event)
    if not known:
        return f'"hookSpecificOutput", which costs the whole output on {event}'
    if specific.get("hookEventName") != event:
        return f'"hookEventName" {specific.get("hookEventName")!r}, which costs the whole output on {event}'
    for key, value in specific.items():
        if key != "hookEventName" and key not in known:
            return f'"hookSpecificOutput.{key}", which {event} does not know'
        if value is None:
            return f'"hookSpecificOutput.{key}" as null, which costs the whole output'
        if said := _long(f'"hookSpecificOutput.{key}"', value):
            return said
    return ""


def _long(what: str, value: Any) -> str:
    size = units(value) if isinstance(value, str) else 0
    return f"{what} of {size} characters, of which the model sees a preview" if size > LIMIT_UNITS else ""


def _brief(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
