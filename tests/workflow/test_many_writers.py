"""Two hundred processes updating one workflow, many at once."""

from __future__ import annotations

import json
import os
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from holdfast import formats
from holdfast.files import lock
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from holdfast.workflow.model import Changes, Start

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 200
AT_ONCE = 20


@pytest.mark.slow
@pytest.mark.parametrize("name", formats.NAMES)
def test_two_hundred_processes_lose_nothing_and_never_tear(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every update of every process is in the file in the end, and whoever reads meanwhile reads a whole file."""
    # The clock by which a process gives up waiting for its turn stands still: a busy machine may take minutes.
    monkeypatch.setattr(lock, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=time.sleep))
    project = Workspace.open(tmp_path)
    keeper = registry.get(name)
    workflow = keeper.start(project, Start(title="Shared", phases=(("Only", "general-purpose"), ("Then", ""))))
    born = json.loads(workflow.path.read_bytes())
    project.close()
    for number in range(WRITERS + AT_ONCE):
        if number >= AT_ONCE:
            assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        if number < WRITERS:
            _fork(tmp_path, name, number)
        for _ in range(5):
            assert json.loads(workflow.path.read_bytes()), "a reader saw a torn file"
    data = json.loads(workflow.path.read_bytes())
    project = Workspace.open(tmp_path)
    (now,) = keeper.find(project).workflows
    project.close()
    assert sorted(now.reminders) == sorted(f"reminder {number}" for number in range(WRITERS))
    assert now.warnings == ()
    assert {key: data[key] for key in ("phase", "phases", "created_at", "id") if key in born} == {
        key: born[key] for key in ("phase", "phases", "created_at", "id") if key in born
    }
    assert not list(tmp_path.rglob("*.tmp"))


def _fork(root: Path, name: str, number: int) -> None:
    """Start a process that updates the workflow once, with a project and a ledger connection of its own."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            project = Workspace.open(root)
            keeper = registry.get(name)
            (workflow,) = keeper.find(project).workflows
            keeper.update(project, workflow, Changes(reminders=(f"reminder {number}",)))
            code = 0
        finally:
            os._exit(code)
