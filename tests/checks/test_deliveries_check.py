"""Compactions without guidance, and guidance without PreCompact: one is a notice, two in a row are a problem."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast import clock, paths
from holdfast.sessions import compactions, conversations
from holdfast.sessions.workspace import Workspace
from tests.doctoring import healthy, obey, only
from tests.handmade import ME, OTHER, workflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Past:
    """What happened in a project, an hour apart each, the last three hours ago."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project = Workspace.open(root)
        self.workflow = workflow(root)
        self._clock = monkeypatch
        self._now = clock.now() - timedelta(hours=48)

    def pass_time(self, **much: float) -> None:
        self._now += timedelta(**(much or {"hours": 1}))
        self._clock.setenv("HOLDFAST_NOW", clock.stamp(self._now))

    def compaction(self, session: str = ME, *, why: str = "auto", restored: bool = True, goes_on: bool = True) -> None:
        self.pass_time()
        conversations.note_event(self.project, session)
        if why == "none":
            compactions.note_unannounced(self.project, session, self.workflow)
        else:
            compactions.announce(self.project, session, why, [compactions.of(self.workflow)])
        if restored:
            compactions.claim(self.project, session, known=True)
        if goes_on:
            self.pass_time(minutes=30)
            conversations.note_event(self.project, session)


@pytest.fixture
def past(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Past]:
    """A project without a past."""
    made = Past(root, monkeypatch)
    made.pass_time()
    yield made
    made.project.close()


def test_guidance_that_did_not_follow(root: Path, past: Past) -> None:
    """Once it may have been a compaction that was broken off; twice in a row SessionStart does not reach us."""
    past.compaction()
    past.compaction(restored=False)
    found = only("deliveries", root, "notice")
    assert "nothing was restored after 1 of the last 2 compactions" in found.text
    assert f"in session {ME[:8]}" in found.text
    assert found.remedy == "holdfast doctor --fire"

    past.compaction(OTHER, restored=False)
    found = only("deliveries", root, "problem")
    assert "2 of the last 3" in found.text
    assert f"in session {OTHER[:8]}" in found.text

    past.compaction(OTHER, restored=False)
    past.compaction()
    found = only("deliveries", root, "notice")  # the newest was restored
    assert "2 of the last 5" in found.text


def test_a_compaction_that_may_still_run_is_not_judged(root: Path, past: Past) -> None:
    """Minutes after PreCompact, whatever other events come."""
    past.compaction(restored=False, goes_on=False)
    past.pass_time(minutes=2)
    conversations.note_event(past.project, ME)
    healthy("deliveries", root)
    past.pass_time(minutes=20)
    only("deliveries", root, "notice")


def test_a_precompact_that_never_fires(root: Path, past: Past) -> None:
    """What was restored was not saved before: once may be, twice in a row is a problem."""
    past.compaction()
    past.compaction(why="none")
    found = only("deliveries", root, "notice")
    assert "no PreCompact came before the last restore," in found.text
    past.compaction(why="none")
    assert "before the last 2 restores" in only("deliveries", root, "problem").text
    past.compaction()
    healthy("deliveries", root)


@pytest.mark.usefixtures("anybody")
def test_what_opens_the_ledger_is_the_remedy(root: Path, past: Past) -> None:
    """Also where the ledger cannot be reached, and `--fix` would mend nothing."""
    past.compaction()
    past.project.close()
    state = paths.state_dir()
    for folder in (past.project.ledger_file.parent, state.parent):
        folder.chmod(0o000)
        found = only("deliveries", root, "notice")
        assert "compactions can't be checked" in found.text
        assert found.remedy == f"chmod u+rwx {folder}"
        obey(found, root)
        healthy("deliveries", root)
