"""Writes each tool call and its result to a file, one JSON object per line, with secrets masked.

A call without a result was refused or interrupted. The file grows; rotate it as you do with other logs.

Known evasions: what a called program does isn't seen, and a command can change the file.

Cost: about 8 ms before a call and 2 ms after it.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from holdfast import Context, hookimpl, redact
from holdfast.events import PostToolUse, PostToolUseFailure, PreToolUse

Call = PreToolUse | PostToolUse | PostToolUseFailure
FIELDS = ("hook_event_name", "session_id", "agent_id", "tool_name", "tool_use_id")


class Options(BaseModel):
    """The `file`, and how many `characters` of each value are written."""

    file: str = "~/.local/state/claude-audit.jsonl"
    characters: int = 2_000


@hookimpl(examples={"git status": None})
def on_pre_tool_use(event: PreToolUse, context: Context, options: Options) -> None:
    """Note a call with its input."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in event.tool_input.items()}
    shown = {name: redact(text)[: options.characters] for name, text in texts.items()}
    note(event, context, options, tool_input=shown, cwd=event.cwd)


@hookimpl(examples={"git status": None})
def on_post_tool_use(event: PostToolUse, context: Context, options: Options) -> None:
    """Note that a call succeeded."""
    note(event, context, options, duration_ms=event.duration_ms)


@hookimpl(examples={"git status": None})
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context, options: Options) -> None:
    """Note that a call failed."""
    note(event, context, options, error=redact(event.error)[: options.characters])


def note(event: Call, context: Context, options: Options, **more: object) -> None:
    """Append a line."""
    line = {"at": datetime.now(UTC).isoformat(), "project": str(context.root)}
    line |= {name: getattr(event, name) for name in FIELDS} | more
    path = Path(options.file).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{json.dumps(line)}\n".encode())  # at once, so that sessions don't mix their lines
    os.close(file)
