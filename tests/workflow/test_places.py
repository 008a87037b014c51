"""Where things lie is known without loading a format, and is what the formats say."""

from __future__ import annotations

from pathlib import Path

from holdfast.workflow import places
from tests.tables import each_row

ROOT = Path("/home/user/project")


@each_row(
    "path, state, kept",
    [
        (".claude/state/workflow.json", True, True),
        (".claude/state/workflow.extra.json", True, True),
        ("untracked/workflow-state/release/state-release-20260101_000000.json", True, True),
        ("untracked/workflow-state/release/notes.json", False, False),
        ("untracked/workflow-state/state-release.json", False, False),
        ("untracked/workflow-state/a/b/state-release.json", False, False),
        ("deep/untracked/workflow-state/release/state-release.json", False, False),
        ("deep/.claude/state/workflow.json", False, False),
        ("CLAUDE.local.md", False, True),
        ("deep/CLAUDE.local.md", False, False),
        ("CLAUDE/Plan/7/PLAN.md", False, True),
        ("CLAUDE/Plan/PLAN.md", False, False),
        ("src/app.py", False, False),
        ("", False, False),
        ("../project2/CLAUDE.local.md", False, False),
    ],
)
def test_a_path_is_known(path: str, state: bool, kept: bool) -> None:
    """Part by part, and only below the root."""
    whole = Path("/home/user/project2/CLAUDE.local.md") if path.startswith("..") else ROOT / path
    assert places.is_state(ROOT, whole) is state
    assert places.is_workflow_file(ROOT, whole) is kept
