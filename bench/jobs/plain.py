"""The trivial job as a program of its own, with nothing but `json`: what a person writes without any framework."""

import json
import sys

event = json.load(sys.stdin)
given = event["tool_input"]
if "printenv" in given.get("command", "") + given.get("file_path", ""):
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "this would print secrets"}
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}))
