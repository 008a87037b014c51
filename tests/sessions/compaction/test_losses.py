"""The loss report names what a summary had lost, and keeps nothing of it that must not be kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.config import Config
from holdfast.sessions.compaction import losses
from holdfast.sessions.workspace import Workspace
from tests import earlier
from tests.commandline import holdfast
from tests.handmade import ME, workflow

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-ant-api03-abcdefghijklmnop"


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with a ledger of its own."""
    (tmp_path / "project").mkdir()
    return Workspace.open(tmp_path / "project")


def test_what_was_lost_is_named_by_kind(project: Workspace) -> None:
    """What the summary has is not; a context value comes with its name."""
    made = workflow(
        project.root,
        reading=("@docs/plan.md",),
        reminders=("Never use tabs", "Ask first"),
        context={"database": "SQLite", "language": "Python"},
    )
    losses.note(project, ME, made, "We work on Release in Python: never use tabs. Ask\nfirst.")
    (found,) = losses.recent(project, 5)
    assert found.lost == {
        "workflow": ("Build",),
        "reading": ("docs/plan.md",),
        "reminders": ("Never use tabs",),
        "context": ("database: SQLite",),
    }
    assert {kind: total - kept for kind, (kept, total) in found.counts.items() if kept < total} == {
        kind: len(listed) for kind, listed in found.lost.items()
    }


def test_what_is_kept_is_bounded(project: Workspace) -> None:
    """So many of a kind, each of one short line."""
    made = workflow(project.root, reminders=tuple(f"{number} is\nlong \x1b[31m" + "x" * 10_000 for number in range(14)))
    losses.note(project, ME, made, "Release Build")
    (found,) = losses.recent(project, 5)
    assert found.counts["reminders"] == (0, 14)
    assert len(found.lost["reminders"]) == losses.LISTED == 10
    assert {len(each) for each in found.lost["reminders"]} == {losses.LIMIT_CHARS} == {80}
    assert all("\n" not in each and "\x1b" not in each for each in found.lost["reminders"])
    assert losses.more(found.counts["reminders"], found.lost["reminders"]) == "; and 4 more"
    assert losses.more((1, 3), ["a", "b"]) == ""


def test_no_secret_is_kept(project: Workspace) -> None:
    """Also none that the cut would make look harmless, nor the value of a secret name."""
    made = workflow(
        project.root,
        reminders=(f"{'the key is'.ljust(72)} {SECRET}", f"Use {SECRET}"),
        context={"db": {"note": "x" * 300, "password": "correct horse"}},
    )
    losses.note(project, ME, made, "nothing of it")
    (found,) = losses.recent(project, 5)
    kept = json.dumps(found.lost)
    assert "sk-ant" not in kept and "horse" not in kept
    assert "Use [redacted]" in found.lost["reminders"]
    assert "db.password: [redacted]" in found.lost["context"]
    assert "sk-ant" not in str(project.ledger.rows("SELECT * FROM losses"))


def test_what_is_excluded_is_not_kept(project: Workspace) -> None:
    """Patterns mask, an excluded file is not named, and of an excluded state file nothing is kept but counts."""
    made = workflow(project.root, reading=("@private/a.md", "@b.md"), reminders=("Call Mallory\nSmith now",))
    closed = Config(exclude=["private"], exclude_patterns=[r"Mallory\sSmith"])
    assert losses.lost(closed, made, "Release Build") == {
        "reading": ["[excluded]", "b.md"],
        "reminders": ["Call [excluded] now"],
    }
    whole = replace(made, path=project.root / "private" / "state.json")
    losses.note(Workspace(project.root, closed), ME, whole, "")
    (found,) = losses.recent(project, 5)
    assert found.lost == {}
    assert found.counts["reminders"] == (0, 1)


def test_rows_of_an_earlier_version_still_read(project: Workspace) -> None:
    """They have counts alone, and new ones stand beside them."""
    row = ("1", project.key, project.worktree, "h", "c", ME, "k", "Old", '{"workflow": [1, 2]}', "2026-01-01T00:00:00Z")
    with earlier.ledger(project) as ledger:
        ledger.execute("ALTER TABLE losses DROP COLUMN lost")
        ledger.execute(f"INSERT INTO losses VALUES ({', '.join('?' * len(row))})", row)
    assert '"lost": {}' in holdfast("log", "--json", root=project.root).out
    assert [each.lost for each in losses.recent(project, 5)] == [{}]
    losses.note(project, ME, workflow(project.root), "Release")
    assert [each.lost for each in losses.recent(project, 5)] == [{"workflow": ("Build",)}, {}]


def test_people_and_programs_are_told(project: Workspace) -> None:
    """By `holdfast status` and `holdfast log`."""
    reminders = tuple(f"Reminder {number}" for number in range(12))
    losses.note(project, ME, workflow(project.root, reminders=reminders), "Release")
    listed = list(reminders[:10])

    said = holdfast("status", root=project.root).out
    assert "\n    lost workflow: Build\n" in said
    assert f"\n    lost reminders: {'; '.join(listed)}; and 2 more\n" in said
    (row,) = holdfast("status", "--json", root=project.root).json["losses"]
    assert row["lost"] == {"workflow": ["Build"], "reminders": listed}
    (happened,) = [each for each in holdfast("log", "--json", root=project.root).json if each["kind"] == "loss"]
    assert happened["data"]["lost"] == row["lost"]
