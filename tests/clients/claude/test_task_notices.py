"""The notice of a task's end that the client gave the model is read from its transcript, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.clients.claude.transcripts import Transcripts
from tests.tables import each_row

TRANSCRIPTS = Path(__file__).parents[2] / "sessions" / "transcripts"
BLOCK = (
    "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<result>Done.</result>\n"
    "</task-notification>"
)
ORIGIN = {"kind": "task-notification"}


@each_row(
    "name, tasks",
    [
        ("midturn-2.1.197", ["a5362340bfa46d1ef"]),
        ("midturn-2.1.329", ["ad216a306b79ac727"]),
        ("worked-2.1.197-todo", ["aeb4637b16c21986f"]),
        ("worked-2.1.329-todo", ["a6953d048d8e6482c", "btq6vf0ga"]),
    ],
)
def test_recorded_transcripts(name: str, tasks: list[str]) -> None:
    """Once each: what was queued before it was given is not given twice."""
    found = [notice for notice, _ in Transcripts().notices(str(TRANSCRIPTS / f"{name}.jsonl"))]

    assert [note.task_id for note in found] == tasks
    assert found[0].status == "completed"
    assert found[0].result in ("BG REPORT", "AGENT REPORT")


@each_row(
    "entry",
    [
        {"type": "queue-operation", "operation": "enqueue", "content": BLOCK},
        {"type": "user", "message": {"role": "user", "content": BLOCK}},  # a person pasted it
        {"type": "user", "message": {"role": "user", "content": BLOCK}, "origin": {"kind": "human"}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": BLOCK}]}, "origin": ORIGIN},
        {"type": "user", "message": {"role": "user", "content": f"He wrote: {BLOCK}"}, "origin": ORIGIN},
        {"type": "assistant", "message": {"role": "assistant", "content": BLOCK}, "origin": ORIGIN},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": BLOCK, "commandMode": "prompt"}},
        {"type": "attachment", "attachment": {"type": "file", "prompt": BLOCK, "commandMode": "task-notification"}},
        {"type": "attachment", "attachment": {"type": "queued_command", "commandMode": "task-notification"}},
        {"type": "user", "message": "x", "origin": "y"},
        {},
    ],
)
def test_what_is_no_notice(tmp_path: Path, entry: dict[str, Any]) -> None:
    """Quoted, pasted, only queued, or broken."""
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(entry) + "\n")
    assert list(Transcripts().notices(str(path))) == []
