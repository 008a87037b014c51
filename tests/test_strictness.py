"""A strict guard is remembered, so that a broken one still refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast import log, paths, strictness
from holdfast.scan import Route

if TYPE_CHECKING:
    from pathlib import Path

GUARD = Route("PreToolUse", "on_pre_tool_use", "Bash", 2.0, strict=True, tryfirst=True, line=4)
OTHER = Route("Stop", "on_stop", line=9)


def memory() -> Path:
    """Return where the memory is kept."""
    return paths.state_dir() / "strict.json"


def test_what_was_strict_is_recalled_whole(tmp_path: Path) -> None:
    """A strict route comes back with its matcher and options; routes that were not strict are not kept."""
    strictness.remember(tmp_path / "guard.py", [OTHER, GUARD])

    assert strictness.recall(tmp_path / "guard.py") == (GUARD,)
    assert strictness.recall(tmp_path / "other.py") == ()


def test_nothing_is_known_at_first(tmp_path: Path) -> None:
    """Without a memory nothing is recalled, and nothing strict leaves no file behind."""
    assert strictness.recall(tmp_path / "guard.py") == ()
    strictness.remember(tmp_path / "guard.py", [OTHER])
    assert not memory().exists()


def test_a_file_that_is_no_longer_strict_is_forgotten(tmp_path: Path) -> None:
    """The memory follows the file, and the memory of other files stays."""
    strictness.remember(tmp_path / "guard.py", [GUARD])
    strictness.remember(tmp_path / "second.py", [GUARD])
    strictness.remember(tmp_path / "guard.py", [OTHER])

    assert strictness.recall(tmp_path / "guard.py") == ()
    assert strictness.recall(tmp_path / "second.py") == (GUARD,)


def test_an_unchanged_guard_writes_nothing(tmp_path: Path) -> None:
    """The memory is written only when it changes: it is looked at on every event."""
    strictness.remember(tmp_path / "guard.py", [GUARD])
    before = memory().stat()
    strictness.remember(tmp_path / "guard.py", [GUARD])

    assert memory().stat().st_ino == before.st_ino
    assert memory().stat().st_mtime_ns == before.st_mtime_ns


def test_the_memory_is_the_users_alone(tmp_path: Path) -> None:
    """The file is private (0600)."""
    strictness.remember(tmp_path / "guard.py", [GUARD])

    assert memory().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '"text"',
        '{"%s": 5}',
        '{"%s": [5]}',
        '{"%s": [{"unknown": 1}]}',
        '{"%s": [{}]}',
        "\udcff",
        "[" * 9_999,
    ],
)
def test_a_broken_memory_remembers_nothing_and_costs_nothing(tmp_path: Path, content: str) -> None:
    """Whatever stands in the memory's file, nothing is raised, and the next guard is remembered again."""
    guard = tmp_path / "guard.py"
    memory().parent.mkdir(parents=True)
    memory().write_bytes(content.replace("%s", str(guard)).encode("utf-8", "surrogateescape"))

    assert strictness.recall(guard) == ()
    strictness.remember(guard, [GUARD])
    assert strictness.recall(guard) == (GUARD,)


def test_a_memory_that_cannot_be_written_is_logged(tmp_path: Path) -> None:
    """Where nothing can be kept the guard still works: the failure is a line in the log."""
    paths.log_file().parent.mkdir(parents=True)
    memory().mkdir()
    strictness.remember(tmp_path / "guard.py", [GUARD])

    assert "could not be remembered" in log.tail(1)[0]
    assert str(tmp_path / "guard.py") in log.tail(1)[0]


def test_the_memory_is_readable_json(tmp_path: Path) -> None:
    """A person can see in the file which guards are known."""
    strictness.remember(tmp_path / "guard.py", [GUARD])

    assert json.loads(memory().read_text())[str(tmp_path / "guard.py")][0]["function"] == "on_pre_tool_use"


def test_a_damaged_memory_is_said_and_costs_no_event() -> None:
    """What cannot be read counts as nothing, and the log names the file."""
    paths.ensure_private(paths.state_dir())
    (paths.state_dir() / "strict.json").write_text("{")

    assert strictness.recall(paths.user_handlers() / "guard.py") == ()
    assert any("strict.json: cannot be read" in line for line in log.tail(5))
