"""Writes each tool call and its result to a file, one JSON object per line, with secrets masked.

A call without a result was refused, or the session ended.

Known evasions: what a program does that was called; other sessions can change the file.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from holdfast import hookimpl, redact

if TYPE_CHECKING:
    from holdfast import Context
    from holdfast.events import PostToolUse, PostToolUseFailure, PreToolUse


class Options(BaseModel):
    """The `file`, and how many characters of each value of the input are written."""

    file: str = "~/.local/state/claude-audit.jsonl"
    characters: int = 2_000


@hookimpl(examples={"git status": None})
def on_pre_tool_use(event: PreToolUse, context: Context, options: Options) -> None:
    """Note a call with its input."""
    values = {name: value if isinstance(value, str) else json.dumps(value) for name, value in event.tool_input.items()}
    note(event, context, options, input={name: redact(text)[: options.characters] for name, text in values.items()})


@hookimpl(examples={"git status": None})
def on_post_tool_use(event: PostToolUse, context: Context, options: Options) -> None:
    """Note that a call succeeded."""
    note(event, context, options, milliseconds=event.duration_ms)


@hookimpl(examples={"git status": None})
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context, options: Options) -> None:
    """Note that a call failed."""
    note(event, context, options, error=redact(event.error)[: options.characters])


def note(
    event: PreToolUse | PostToolUse | PostToolUseFailure, context: Context, options: Options, **more: object
) -> None:
    """Append a line."""
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "event": event.hook_event_name,
        "project": str(context.root),
        "session": event.session_id,
        "agent": event.agent_id,
        "call": event.tool_use_id,
        "tool": event.tool_name,
        **more,
    }
    path = Path(options.file).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{json.dumps(line)}\n".encode())
    finally:
        os.close(file)
