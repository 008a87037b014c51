"""The loss report names what a summary had lost, and keeps nothing of it that must not be kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.config import Config
from holdfast.sessions.compaction import losses
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, workflow
from tests.noclient import NoClient

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
    losses.note(Workspace(project.root, closed, client=NoClient()), ME, whole, "")
    (found,) = losses.recent(project, 5)
    assert found.lost == {}
    assert found.counts["reminders"] == (0, 1)
