"""A handler file and payloads with which a new server rehearses answering events."""

from typing import Any

SOURCE = b"""from holdfast import advise, hookimpl
@hookimpl(match="Bash")
def on_pre_tool_use(event, context):
    return advise("rehearsed")
@hookimpl
def on_post_tool_use(event, context):
    return advise("rehearsed")
@hookimpl
def on_user_prompt_submit(event, context):
    return advise("rehearsed")
@hookimpl
def on_pre_compact(event, context):
    return None
"""
_COMMON = {"session_id": "rehearsed", "cwd": "/", "transcript_path": ""}
PAYLOADS: tuple[dict[str, Any], ...] = (
    _COMMON | {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}},
    _COMMON
    | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": ""}},
    _COMMON
    | {
        "hook_event_name": "PostToolUse",
        "tool_name": "Agent",
        "tool_input": {"description": "rehearsed", "prompt": "Go on.", "subagent_type": "rehearsed"},
        "tool_response": {
            "status": "completed",
            "agentId": "rehearsed",
            "content": [{"type": "text", "text": "Done."}],
        },
        "tool_use_id": "rehearsed",
    },
    _COMMON | {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."},
    _COMMON | {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""},
)
