"""Of very many plans, state files or sessions an event looks at some; the right one is found nevertheless."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.workflow import search
from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

MANY = 400
OLD = 1_700_000_000


class Clock:
    """A monotonic clock that goes on by a step each time it is read."""

    def __init__(self) -> None:
        self.at, self.step = 1_000.0, 0.0

    def __call__(self) -> float:
        self.at += self.step
        return self.at


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of searches, which stands still; and what is found is kept."""
    paths.ensure_private(paths.state_dir())
    made = Clock()
    monkeypatch.setattr(search, "monotonic", made)
    return made


def put(path: Path, text: str, at: int = OLD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))
    return path


def state(root: Path, name: str, at: int = OLD, folder: str = "") -> Path:
    data = {"workflow": name, "workflow_type": "custom", "phase": {"current": 1, "total": 2, "name": "One"}}
    place = root / "untracked/workflow-state" / (folder or name) / f"state-{name}-20250101_000000.json"
    return put(place, json.dumps(data | {"created_at": "2025-01-01T00:00:00Z"}), at)


@pytest.mark.parametrize("format_", ["compaction", "wfs", "skills", "hybrid"])
def test_the_sessions_own_is_found_among_many(
    holdfast_project: Callable[..., HoldfastProject], clock: Clock, format_: str
) -> None:
    """Whatever its format: it is saved and restored, though the search was cut, which the user hears once."""
    project = holdfast_project({})
    kind = ("--type", "dev") if format_ == "skills" else ("--phase", "One")
    holdfast("start", "Mine", "--format", format_, *kind, root=project.root, session=project.session)
    for path in (*project.root.glob("untracked/*/*/*.json"), *project.root.glob(".workflow/*/*.json")):
        os.utime(path, (OLD - 10, OLD - 10))
    for number in range(MANY):
        state(project.root, f"old-{number}", OLD + number)
        data = {"session_id": f"WFS-old-{number}", "project": f"old-{number}", "status": "active"}
        put(project.root / ".workflow" / f"WFS-old-{number}/workflow-session.json", json.dumps(data), OLD + number)
        put(project.root / f".workflow/.active-WFS-old-{number}", "")
    clock.step = 0.05
    assert "read only the newest" in project.fire("SessionStart", "SessionStart-startup").reply["systemMessage"]
    assert '"Mine"' in project.fire("PreCompact", "PreCompact-auto").stdout
    restored = project.fire("SessionStart", "SessionStart-compact")
    assert "Workflow: Mine" in restored.context
    assert "read only the newest" not in str(restored.reply.get("systemMessage"))
