"""A strict handler is remembered, so that a broken one still refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast import log, paths
from holdfast.clients.claude import claude
from holdfast.plugins import strict_memory
from holdfast.plugins.scan import Route
from tests.processes import ROOT
from tests.tables import each_row

GUARD = Route("PreToolUse", "on_pre_tool_use", "Bash", 2.0, strict=True, tryfirst=True, line=4)
KNOWN = Route("PreToolUse", "on_pre_tool_use", "Bash", strict=True)


def user(name: str) -> Path:
    """Return a file in the user's handlers folder."""
    return paths.user_handlers() / name


def test_the_memory_is_the_users_alone(tmp_path: Path) -> None:
    """The file is private (0600)."""
    strict_memory.remember(tmp_path / "guard.py", [GUARD])

    assert strict_memory.memory_file().stat().st_mode & 0o777 == 0o600


@each_row("name", ["a\tb", "a\nb", "100%", "%09", "ä ö", "a\udcffb", "a\x1bb", "a\x7fb\x0f", "#c"])
def test_any_path_and_matcher_come_back(tmp_path: Path, name: str) -> None:
    """What would break a line is written as `%XX`."""
    file = tmp_path / name / ".claude" / "handlers" / "guard.py"
    strict_memory.remember(file, [Route("PreToolUse", "on_pre_tool_use", f"^{name}$", strict=True)])

    assert strict_memory.recall(file)[0].match == f"^{name}$"
    assert len(strict_memory.memory_file().read_bytes().splitlines()) == 2


BROKEN = ["{", "[]", "no line of ours", "a\tb\tc", "\udcff", "[" * 9_999]


@each_row("content", BROKEN)
def test_a_broken_memory_remembers_nothing_and_is_set_aside(tmp_path: Path, content: str) -> None:
    """Whatever stands in the memory's file, nothing is raised and nothing is lost, and the next guard is remembered."""
    guard = tmp_path / "guard.py"
    paths.ensure_private(paths.state_dir())
    strict_memory.memory_file().write_bytes(content.encode("utf-8", "surrogateescape"))

    assert strict_memory.recall(guard) == ()
    assert any("strict: can't be read" in line for line in log.tail(5))
    strict_memory.remember(guard, [GUARD])
    assert strict_memory.recall(guard) == (KNOWN,)
    (aside,) = strict_memory.memory_file().parent.glob("strict.corrupt-*")
    assert aside.read_bytes() == content.encode("utf-8", "surrogateescape")


def test_single_lines_that_are_broken_cost_only_themselves(tmp_path: Path) -> None:
    """A line cut off by a full disk is left out; the others count."""
    strict_memory.remember(tmp_path / "guard.py", [GUARD])
    with strict_memory.memory_file().open("a") as file:
        file.write("PreToolUse\tBash\t*")

    assert strict_memory.recall(tmp_path / "guard.py") == (KNOWN,)


# --- who guards ---------------------------------------------------------------------------------------------------


@pytest.fixture
def guards(tmp_path: Path) -> Path:
    """A user's guard of Bash, a project's guard of prompts, one by a regular expression; returns the project's root."""
    root = tmp_path / "project"
    root.mkdir()
    strict_memory.remember(user("shell.py"), [Route("PreToolUse", "on_pre_tool_use", "Bash|Agent", strict=True)])
    strict_memory.remember(
        user("mcp.py"), [Route("PermissionRequest", "on_permission_request", "mcp__.*", strict=True)]
    )
    file = root / ".claude" / "handlers" / "words.py"
    strict_memory.remember(file, [Route("UserPromptSubmit", "on_user_prompt_submit", strict=True)])
    return root


@pytest.mark.parametrize(
    ("event", "value", "names"),
    [
        ("PreToolUse", "Bash", ["user/shell.py: on_pre_tool_use"]),
        ("PreToolUse", "Task", ["user/shell.py: on_pre_tool_use"]),
        ("PreToolUse", None, ["user/shell.py: on_pre_tool_use"]),
        ("PreToolUse", "Read", []),
        ("PostToolUse", "Bash", []),
        ("PermissionRequest", "mcp__demo__echo", ["user/mcp.py: on_permission_request"]),
        ("PermissionRequest", "Bash", []),
        ("UserPromptSubmit", None, ["project/words.py: on_user_prompt_submit"]),
    ],
)
def test_a_guard_is_known_by_event_and_matcher(guards: Path, event: str, value: str | None, names: list[str]) -> None:
    """A value that cannot be read is selected by every matcher."""
    assert strict_memory.guarding(claude, event, value, str(guards)) == names


def test_a_matcher_that_this_version_cannot_read_selects_every_value() -> None:
    """An earlier version, or another Python, could read it: nobody knows what the guard would have judged."""
    strict_memory.remember(user("odd.py"), [Route("PreToolUse", "on_pre_tool_use", "Bash(", strict=True)])

    assert strict_memory.guarding(claude, "PreToolUse", "Read", "/") == ["user/odd.py: on_pre_tool_use"]


def test_a_projects_guard_guards_that_project_alone(guards: Path, tmp_path: Path) -> None:
    """Whichever way its root is written."""
    (tmp_path / "link").symlink_to(guards)

    assert strict_memory.guarding(claude, "UserPromptSubmit", None, str(tmp_path / "link"))
    assert strict_memory.guarding(claude, "UserPromptSubmit", None, f"{guards}/")
    assert not strict_memory.guarding(claude, "UserPromptSubmit", None, str(tmp_path))
    assert not strict_memory.guarding(
        claude, "UserPromptSubmit", None, str(guards) + "/." * 4_096
    )  # longer than any path


def test_a_guard_of_a_project_at_the_top_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose project is `/`; to the shell as well."""
    strict_memory.remember(Path("/.claude/handlers/top.py"), [GUARD])

    assert strict_memory.guarding(claude, "PreToolUse", "Bash", "/") == ["project/top.py: on_pre_tool_use"]
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/")
    script = ROOT / "src" / "holdfast" / "refuse.sh"
    said = subprocess.run(["sh", script, "PreToolUse"], capture_output=True, text=True, check=True).stdout
    assert "the strict handler top.py" in said


def test_a_memory_that_cannot_be_read_may_hold_a_guard(guards: Path) -> None:
    """A condition that cannot be evaluated counts as true, and the log says why."""
    strict_memory.memory_file().write_text("rubbish")

    assert strict_memory.guarding(claude, "PreToolUse", "Read", str(guards)) == ["a handler"]
    assert "so any handler may be strict" in log.tail(1)[0]
