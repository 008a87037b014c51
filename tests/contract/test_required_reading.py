"""What counts as read: with `reading = "hold"`, the user is asked about edits until the required files are read."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

TEXT = "one\ntwo\nthree\n"
LINES = len(TEXT.split("\n"))  # the client counts an empty one after the last line break


def read(project: HoldfastProject, first: int = 1, count: int = LINES, **changes: Any) -> None:
    """Have lines of the file read, as the client tells it."""
    path = str(project.root / "docs/a.md")
    lines = TEXT.split("\n")[first - 1 :][:count]
    file = {"filePath": path, "content": "\n".join(lines), "numLines": len(lines), "startLine": first}
    given = {"file_path": path, "offset": first, "limit": count}
    response = {"type": "text", "file": file | {"totalLines": LINES}}
    project.fire("PostToolUse", "PostToolUse-Read", tool_input=given, tool_response=response, **changes)


def attempted(project: HoldfastProject, *, error: bool) -> None:
    """Have the client write a Read into its transcript, which no event tells if it isn't permitted."""
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": str(project.root / "docs/a.md")}}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": error, "content": "not permitted"}
    entries = [{"type": "assistant", "message": {"content": [use]}}, {"type": "user", "message": {"content": [result]}}]
    path = project.root / "session.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in entries))
    project.fire("UserPromptSubmit", transcript_path=str(path))


def compacted(project: HoldfastProject) -> None:
    """Let the model forget what it has read."""
    project.fire("SessionStart", "SessionStart-compact")


READS: dict[str, tuple[list[Callable[[HoldfastProject], object]], bool]] = {
    "nothing": ([], True),
    "the whole file": ([read], False),
    "adjoining parts": ([partial(read, first=1, count=2), partial(read, first=3, count=1)], False),
    "its parts, backwards": ([partial(read, first=each, count=1) for each in (3, 2, 1)], False),
    "parts with a gap": ([partial(read, first=1, count=1), partial(read, first=3)], True),
    "parts before and after a compaction": (
        [partial(read, first=1, count=2), compacted, partial(read, first=3, count=1)],
        True,
    ),
    "by a subagent": ([partial(read, agent_id="a1", agent_type="builder")], True),
    "not permitted": ([partial(attempted, error=True)], False),
    "with another text": ([partial(attempted, error=False)], True),
}


@each_row("name", READS, ids=str)
def test_edits_are_held_until_the_file_is_read(
    holdfast_project: Callable[..., HoldfastProject], tmp_path: Path, name: str
) -> None:
    """Whole, by the main conversation; a file that can't be read holds nothing, or a session would stand still."""
    project = type(holdfast_project())(tmp_path)
    project.write({"docs/a.md": TEXT, ".claude/x": ""})
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast/holdfast.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('reading = "hold"\n')
    holdfast("start", "Book", "--phase", "Write", "--read", "docs/a.md", root=project.root, session=project.session)
    reads, held = READS[name]
    for each in reads:
        each(project)

    edit = {"file_path": str(project.root / "x.py"), "old_string": "a", "new_string": "b"}
    fired = project.fire("PreToolUse", "PreToolUse-Edit", tool_input=edit)

    assert ("docs/a.md" in fired.specific.get("permissionDecisionReason", "")) is held, fired
