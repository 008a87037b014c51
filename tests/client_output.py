"""What Claude Code accepts on a hook's stdout, written down independently of the code that writes it."""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = re.compile(r"<(workflow-data-[0-9a-f]{12})>\n.*?\n</\1>", re.DOTALL)

# Client fact §1.6: the keys of hookSpecificOutput, by event; every other event refuses hookSpecificOutput.
_ADVICE_ONLY = frozenset({"additionalContext"})
SPECIFIC: dict[str, frozenset[str]] = {
    "PreToolUse": frozenset({"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}),
    "PreSkillShellCommand": frozenset({"permissionDecision", "permissionDecisionReason"}),  # updatedInput refuses it
    "UserPromptSubmit": frozenset({"additionalContext", "sessionTitle", "suppressOriginalPrompt"}),
    "UserPromptExpansion": frozenset({"additionalContext", "suppressOriginalPrompt"}),
    "SessionStart": frozenset(
        {"additionalContext", "initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"}
    ),
    "Setup": _ADVICE_ONLY,
    "SubagentStart": _ADVICE_ONLY,
    "PostToolUseFailure": _ADVICE_ONLY,
    "PostToolBatch": _ADVICE_ONLY,
    "Stop": _ADVICE_ONLY,
    "SubagentStop": _ADVICE_ONLY,
    "Notification": _ADVICE_ONLY,
    "PostModelSwitch": _ADVICE_ONLY,
    "PreModelSwitch": frozenset({"permissionDecision", "permissionDecisionReason"}),
    "PostToolUse": frozenset({"additionalContext", "classifierContext", "updatedToolOutput", "updatedMCPToolOutput"}),
    "PermissionDenied": frozenset({"retry"}),
    "PermissionRequest": frozenset({"decision"}),
    "Elicitation": frozenset({"action", "content"}),
    "ElicitationResult": frozenset({"action", "content"}),
    "CwdChanged": frozenset({"watchPaths"}),
    "FileChanged": frozenset({"watchPaths"}),
    "WorktreeCreate": frozenset({"worktreePath"}),
    "MessageDisplay": frozenset({"displayContent"}),
}
TOP = {
    "continue": bool,
    "stopReason": str,
    "decision": str,
    "reason": str,
    "systemMessage": str,
    "terminalSequence": str,
    "hookSpecificOutput": dict,
}
# Client fact §1.3: where exit-0 stdout that is no JSON means something we want to say.
PLAIN = frozenset({"PreCompact", "PostCompact", "WorktreeCreate"})
# Client fact §1.4 and §1.6: where `decision: block` does something.
BLOCKABLE = frozenset(
    {
        "UserPromptSubmit",
        "UserPromptExpansion",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
        "SubagentStop",
        "TaskCreated",
        "PreCompact",
        "ConfigChange",
    }
)
EXIT_CODE = frozenset({"TeammateIdle", "TaskCompleted"})
LIMIT = 10_000  # UTF-16 units of one string, client fact §1.9
_TEXTS = ("stopReason", "reason", "systemMessage")
_SPECIFIC_TEXTS = ("additionalContext", "permissionDecisionReason", "initialUserMessage", "classifierContext")
_SPACE = "\t\n\v\f\r \u00a0\ufeff\u2028\u2029"  # what JavaScript's trim() takes away


def units(text: str) -> int:
    """Count as the client does: UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def assert_acceptable(event: str, stdout: str) -> dict[str, Any]:
    """Assert that the client would take a stdout for what it is meant to be, and return its JSON object, if any."""
    if not stdout.strip(_SPACE).startswith("{"):
        assert stdout == "" or (event in PLAIN and stdout.strip()), f"{event}: plain text goes nowhere: {stdout!r}"
        assert units(stdout) <= LIMIT
        return {}
    body = json.loads(stdout, parse_constant=_refuse)
    assert isinstance(body, dict)
    assert body, "an empty object is not nothing"
    for key, value in body.items():
        assert isinstance(value, TOP[key]), f"{event}: {key} is {value!r}"
    if "decision" in body:
        assert body["decision"] == "block"
        assert event in BLOCKABLE, f"{event} cannot be blocked with JSON"
    assert event != "PreCompact" or body.get("decision") == "block", "PreCompact takes JSON only as a block"
    assert all(units(body.get(key, "")) <= LIMIT for key in _TEXTS)
    if "hookSpecificOutput" in body:
        _assert_specific(event, body["hookSpecificOutput"])
    return body


def _assert_specific(event: str, specific: dict[str, Any]) -> None:
    assert specific.get("hookEventName") == event
    keys = set(specific) - {"hookEventName"}
    assert keys, f"{event}: hookSpecificOutput says nothing"
    assert keys <= SPECIFIC.get(event, frozenset()), f"{event} does not know {keys}"
    for key in keys - {"updatedInput", "updatedToolOutput", "content"}:
        assert specific[key] is not None, f"{key} is null"
    for key in _SPECIFIC_TEXTS:
        assert isinstance(specific.get(key, ""), str)
        assert units(specific.get(key, "")) <= (2_000 if key == "classifierContext" else LIMIT)
    if event == "PermissionRequest":
        _assert_permission(specific["decision"])


def _assert_permission(decision: dict[str, Any]) -> None:
    known = {"allow": {"updatedInput", "updatedPermissions"}, "deny": {"message", "interrupt"}}
    assert set(decision) - {"behavior"} <= known[decision["behavior"]]
    assert None not in decision.values()


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def unfenced(text: str) -> str:
    """Return what Claude is told as ours: the text without what stands in fences."""
    return _FENCE.sub("", text)
