"""Sample events, which an idle child of the server answers with the shipped handlers before a real one comes."""

from typing import Any

_COMMON = {"session_id": "sample", "cwd": "/", "transcript_path": ""}
PAYLOADS: tuple[dict[str, Any], ...] = (
    _COMMON | {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}},
    _COMMON
    | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": ""}},
    _COMMON
    | {
        "hook_event_name": "PostToolUse",
        "tool_name": "Agent",
        "tool_input": {"description": "sample", "prompt": "Go on.", "subagent_type": "sample"},
        "tool_response": {
            "status": "completed",
            "agentId": "sample",
            "content": [{"type": "text", "text": "Done."}],
        },
        "tool_use_id": "sample",
    },
    _COMMON | {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."},
    _COMMON | {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""},
)
