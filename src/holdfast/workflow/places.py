"""Where workflows and what is said of them lie in a project, known without loading any format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

STATES = (
    ".claude/state/workflow.json",
    ".claude/state/workflow.extra.json",
    "untracked/workflow-state/*/state-*.json",
    ".workflow/WFS-*/workflow-session.json",
    ".workflow/WFS-*/workflow-session.extra.json",
    ".workflow/WFS-*/.task/IMPL-*.json",
)  # of the formats
SOURCES = ("CLAUDE.local.md", "CLAUDE/Plan/*/PLAN.md")  # what is detected (R001-21, R001-22)


def is_state(root: Path, path: Path) -> bool:
    """Tell whether a path in the project at `root` is one that a format keeps a workflow at."""
    return _among(root, path, STATES)


def kept(root: Path, path: Path) -> bool:
    """Tell whether a path in the project at `root` holds a workflow, or says something of one."""
    return _among(root, path, (*STATES, *SOURCES))


def _among(root: Path, path: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a path below a root fits one of the patterns, part by part."""
    if not path.is_relative_to(root):
        return False
    inner = path.relative_to(root)
    depth = len(inner.parts)
    return any(pattern.count("/") + 1 == depth and inner.match(pattern) for pattern in patterns)
