"""The shell completes the names of workflows, sessions and templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from holdfast import cli
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path


def completed(*words: str) -> list[str]:
    """Return what the last word is completed to."""
    found = ShellComplete(cli.holdfast, {}, "holdfast", "_HOLDFAST_COMPLETE")
    return [each.value for each in found.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which two workflows are unfinished and one is completed."""
    monkeypatch.setenv("HOLDFAST_PROJECT_DIR", str(tmp_path))
    for title in ("Payments", "User auth", "Old one"):
        holdfast("start", title, "--phase", "Draft", root=tmp_path)
    holdfast("done", "old one", root=tmp_path)
    return tmp_path


@pytest.mark.parametrize("verb", ["next", "done", "update", "claim"])
def test_unfinished_ones_complete_where_one_moves_them(root: Path, verb: str) -> None:
    """By what can be typed for them, whatever the case of what was typed."""
    assert sorted(completed(verb, "")) == ["payments", "user-auth"]
    assert completed(verb, "PAY") == ["payments"]
    assert completed(verb, "x") == []


def test_archived_ones_complete_where_one_looks_at_them(root: Path) -> None:
    """And where one forgets them."""
    for words in (
        ("status",),
        ("forget", "--workflow"),
        ("log", "--workflow"),
        ("restore", "1", "--workflow"),
    ):
        assert sorted(completed(*words, "")) == ["old-one", "payments", "user-auth"]
    holdfast("status", completed("status", "o")[0], root=root)


def test_templates_complete(root: Path) -> None:
    """By their names."""
    assert root.is_dir()
    assert "implementation" in completed("start", "Tool", "--template", "i")


def test_what_cannot_be_read_completes_to_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word on the command line that is being typed."""
    monkeypatch.setenv("HOLDFAST_PROJECT_DIR", str(root / "gone"))

    assert completed("next", "") == completed("start", "T", "--template", "") == []
