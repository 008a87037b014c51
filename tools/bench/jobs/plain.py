"""The trivial job with only `json`, as you would write it without a framework."""

import json
import sys


def verdict(event: dict[str, dict[str, str]]) -> str:
    """Return the text to print for an event, empty for nothing."""
    given = event["tool_input"]
    if "printenv" not in given.get("command", "") + given.get("file_path", ""):
        return ""
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "this would print secrets"}
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}})


if __name__ == "__main__":
    sys.stdout.write(verdict(json.load(sys.stdin)))
