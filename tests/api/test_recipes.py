"""The recipes for handlers: each file passes its examples, and does what its text says."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast
from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeAlias

    from holdfast.testing import HoldfastProject

    Made: TypeAlias = Callable[[str], HoldfastProject]

PAGE = (ROOT / "docs/guides/handler-recipes.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^`(\w+\.\w+)`.*?^```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
BUG = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[-1]


@pytest.fixture
def made(holdfast_project: Callable[..., HoldfastProject]) -> Made:
    """Return a function that makes a project with one recipe in its folder, trusted."""

    def make(name: str) -> HoldfastProject:
        project = holdfast_project({f".claude/handlers/{name}": RECIPES[name]})
        (project.root / ".claude/handlers" / name).chmod(0o755)
        project.trust()
        return project

    return make


def program(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program before all others on PATH."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


def test_all_pass_their_examples(tmp_path: Path) -> None:
    """`check` finds no fault in them, and `test` no example that comes out otherwise."""
    for name, text in RECIPES.items() | {("bug.py", BUG)}:
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    count = len(RECIPES) + 1
    assert count == 10
    assert holdfast("handlers", "check", str(tmp_path)).out == f"No faults in {count} handlers.\n"
    assert f"passed, of {count} handlers." in holdfast("handlers", "test", str(tmp_path)).out


def test_the_configuration_that_the_pages_show_is_accepted(holdfast_project: Callable[..., HoldfastProject]) -> None:
    pages = ("handler-recipes", "writing-handlers", "rules-and-scripts", "first-handler")
    text = "".join((ROOT / f"docs/guides/{page}.md").read_text("utf-8") for page in pages)
    blocks = re.findall(r"^```toml\n((?:requires|\[options).*?)^```$", text, re.MULTILINE | re.DOTALL)
    project = holdfast_project({"holdfast.toml": blocks[0]})
    assert len(blocks) == 5
    for block in blocks:
        project.write({f"{os.environ['XDG_CONFIG_HOME']}/holdfast/holdfast.toml": block})
        assert holdfast("doctor", "configuration", root=project.root).code == 0


def test_claude_is_told_of_changed_files_at_a_prompt(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    project = made("git_status.py")
    program(project.root, "git", 'test "$*" = "status --short" && echo " M app.py"', monkeypatch)
    assert " M app.py" in project.fire("UserPromptSubmit", cwd=str(project.root)).context


def test_every_tenth_edit_is_counted(made: Made) -> None:
    project = made("count_edits.py")
    told = [
        project.fire("PostToolUse", "PostToolUse-Write", session_id="s").reply.get("systemMessage", "")
        for _ in range(20)
    ]
    assert [number for number, text in enumerate(told, 1) if text] == [10, 20]
    assert told[9].startswith("10 edits so far")


def test_edited_files_are_read_again_after_a_compaction(made: Made) -> None:
    project = made("edited_files.py")
    for path in ("a.py", "b.py", "a.py"):
        project.fire("PostToolUse", "PostToolUse-Write", tool_input={"file_path": path, "content": ""})
    assert "- @a.py\n- @b.py" in project.compact()[1].context
    assert "@a.py" not in project.compact()[1].context


def test_claude_goes_on_while_the_tests_fail(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most for a minute."""
    project = made("tests_pass.py")
    program(project.root, "make", "echo 2 failed; exit 1", monkeypatch)

    def stopped(*, again: bool = True) -> bool:
        """Return whether Claude has to go on when it stops, again since the prompt or for the first time."""
        return "2 failed" in project.fire("Stop", cwd=str(project.root), stop_hook_active=again).stdout

    assert [stopped(again=False), *(stopped() for _ in range(5))] == [True] * 5 + [False]
    assert stopped(again=False)
    project.advance(61)
    assert not stopped()


def test_a_changed_command_is_decided_about(made: Made) -> None:
    project = made("pnpm.py")
    fired = project.fire("PreToolUse", tool_name="Bash", tool_input={"command": "npm publish"})
    said = json.loads(fired.stdout)["hookSpecificOutput"]
    assert (said["updatedInput"]["command"], said["permissionDecision"]) == ("pnpm publish", "ask")
