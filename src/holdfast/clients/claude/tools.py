"""Names of Claude Code's tools."""

from __future__ import annotations

EDITORS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
"""The tools that edit files."""
SHELLS = ("Bash", "PowerShell", "Monitor")
"""The tools that run a command in a shell, which handlers match as `shell`. Settings name these, not `shell`."""
