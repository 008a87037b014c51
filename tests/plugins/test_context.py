"""What a handler can use besides the event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import log
from holdfast.plugins.context import Context
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def test_the_context_gives_project_root_and_configuration(tmp_path: Path) -> None:
    """Root and configuration are the project's, not the payload's cwd."""
    project = Workspace.open(tmp_path)
    context = Context(project, {"CLAUDE_PROJECT_DIR": str(tmp_path)})

    assert context.root == tmp_path.resolve()
    assert context.config is project.config
    assert context.environ["CLAUDE_PROJECT_DIR"] == str(tmp_path)


def test_a_handler_writes_to_the_log_under_its_name(tmp_path: Path) -> None:
    """A line has the handler's file name, its level and the fields; secrets are masked."""
    context = Context(Workspace.open(tmp_path), {}, "guard.py")
    context.log("saw a thing", level="warning", tool="Bash", token="abc123")
    context.log("not worth a line", level="debug")

    (line,) = log.tail(10)
    assert " warning saw a thing handler=guard.py tool=Bash token=" in line
    assert "abc123" not in line
