"""Compactions without guidance, and guidance without PreCompact: one is a notice, two in a row are a problem."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.sessions import compactions
from holdfast.sessions.workspace import Workspace
from tests.doctoring import healthy, only
from tests.handmade import ME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def past(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set how the last compactions ended, the newest first; a `-` before an ending means that none was announced."""
    project = Workspace.open(root)
    assert project.ledger.problem is None
    project.close()

    def report(ending: str) -> Any:
        row, at = SimpleNamespace(conversation=ME), "2026-01-01T00:00:00Z"
        announced = None if ending.startswith("-") else at
        return SimpleNamespace(row=row, at=at, announced_at=announced, workflows="w", ending=ending.removeprefix("-"))

    def end(*endings: str) -> None:
        monkeypatch.setattr(compactions, "recent", lambda project: list(map(report, endings)))

    return end


def test_guidance_that_did_not_follow(root: Path, past: Callable[..., None]) -> None:
    """Once it may be an accident; twice in a row SessionStart does not reach us."""
    past("lost", "confirmed")
    found = only("deliveries", root, "notice")
    assert "nothing was restored after 1 of the last 2 compactions" in found.text
    assert f"in session {ME[:8]}" in found.text
    assert found.remedy == "holdfast doctor --fire"
    past("lost", "lost", "given")
    assert "2 of the last 3" in only("deliveries", root, "problem").text
    past("open", "given", "lost", "lost", "given")
    assert "2 of the last 4" in only("deliveries", root, "notice").text


def test_a_precompact_that_never_fires(root: Path, past: Callable[..., None]) -> None:
    """What was restored was not saved before: once may be, twice in a row is a problem."""
    past("-given", "given")
    assert "no PreCompact came before the one at " in only("deliveries", root, "notice").text
    past("-given", "-given")
    only("deliveries", root, "problem")
    past("given", "-given", "-given")
    assert healthy("deliveries", root) == "the workflow was sent after each of the last 3 compactions"


@pytest.mark.usefixtures("anybody")
def test_ledger_that_cannot_be_read_is_the_ledger_checks(root: Path) -> None:
    """Also where its folder can't be reached."""
    project = Workspace.open(root)
    compactions.recent(project)
    project.close()
    state = paths.state_dir()
    for folder in (project.ledger_file.parent, state.parent):
        folder.chmod(0o000)
        found = only("deliveries", root, "notice")
        assert "compactions can't be checked" in found.text and found.remedy == "holdfast doctor ledger"
        folder.chmod(0o700)
        healthy("deliveries", root)
