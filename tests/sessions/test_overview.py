"""What there is to see of a workflow: its file's word, and what the ledger knows of saves and restores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.sessions import compactions, contents, conversations, owners, phases
from holdfast.sessions.overview import Save, as_json, gather
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import todos, views
from holdfast.workflow.model import Found, Phase
from tests.handmade import ME, OTHER, workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.sessions.overview import Overview
    from holdfast.workflow.model import Workflow

PHASES = (Phase("phase_1", 1, "Draft", "completed"), Phase("phase_2", 2, "Build", "active"))


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Give a function that sets the clock to a time of one day and returns the stamp."""

    def go(time: str) -> str:
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}Z")
        return f"2026-03-01T{time}.000000Z"

    go("10:00:00")
    return go


@pytest.fixture
def project(tmp_path: Path, at: Callable[[str], str]) -> Iterator[Workspace]:
    """An empty project at ten o'clock."""
    project = Workspace.open(tmp_path)
    yield project
    project.close()


@pytest.fixture
def release(project: Workspace) -> Workflow:
    """A workflow in its second phase."""
    return workflow(project.root, phases=PHASES)


def seen(project: Workspace, workflow: Workflow) -> Overview:
    """Return what there is to see of a workflow that is where it should be."""
    return gather(project, workflow, Found((workflow,)))


def compact(project: Workspace, *workflows: Workflow, session: str = ME, why: str = "auto") -> None:
    """Announce a compaction."""
    compactions.announce(project, session, why, [compactions.of(each) for each in workflows])


@pytest.mark.parametrize(("sealed", "kept", "newer"), [("10:00:00", "10:01:00", "kept"), ("10:01:00", "10:00:00", "")])
def test_last_save_is_the_newer_of_snapshot_and_write(
    project: Workspace, at: Any, release: Workflow, sealed: str, kept: str, newer: str
) -> None:
    """Every write keeps a generation, and so is a save."""
    stamps = {"": at(sealed), "kept": at(kept)}
    at(sealed)
    compact(project, release)
    at(kept)
    contents.keep(project, release.path, release.raw, why="done 1")

    expected = Save(stamps["kept"], reason="done 1") if newer else Save(stamps[""], "auto", ME)
    assert seen(project, release).last_save == expected


def test_sessions_have_the_ids_that_they_have_now(project: Workspace, release: Workflow) -> None:
    """A compaction may change the id of the session that saved, got and owns a workflow."""
    conversations.note_event(project, ME)
    owners.own(project, release, ME)
    compact(project, release)
    compactions.claim(project, ME, known=True)
    conversations.adopt(project, ME, OTHER)
    found = seen(project, release)
    assert found.last_save and found.last_restore and found.owner
    assert {found.last_save.session, found.last_restore.session, found.owner.id} == {OTHER}


def test_looking_writes_nothing(project: Workspace, release: Workflow) -> None:
    """Neither in the project nor in the ledger."""

    def held() -> dict[str, Any]:
        names = [row["name"] for row in project.ledger.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: project.ledger.rows(f"SELECT * FROM {name} ORDER BY 1") for name in names}
        return {name: found for name, found in rows.items() if found}

    conversations.note_event(project, ME)
    owners.own(project, release, ME)
    compact(project, release)
    before = held()

    seen(project, release)

    assert held() == before
    assert list(project.root.iterdir()) == []


def test_show_json_has_every_key(project: Workspace, at: Any, release: Workflow) -> None:
    """Every key there was before the ledger was asked, and what it knows."""
    (project.root / "there.md").write_text("x")
    reading = replace(release, reading=("@there.md", "@gone.md"))
    phases.observe(project, reading, at=at("10:01:00"))
    owners.own(project, reading, ME)
    compact(project, reading)
    compactions.claim(project, ME, known=True)
    at("10:01:30")
    stamp = "2026-03-01T10:01:00.000000Z"

    said = as_json(seen(project, reading))

    whole = views.whole(reading)
    shown = said.pop("phases")
    assert {name: said[name] for name in whole if name != "phases"} == {
        name: value for name, value in whole.items() if name != "phases"
    }
    ran = {"attempts": 1, "started_at": stamp, "ended_at": None, "seconds": 30.0, "error": ""}
    assert [phase.pop("history") for phase in shown][1] == ran
    assert shown == whole["phases"]
    assert {name: value for name, value in said.items() if name not in whole} == {
        "percent": 20,
        "history": {"started_at": stamp, "ended_at": None, "seconds": 30.0},
        "todos": todos.todo_list(reading),
        "last_save": {"at": stamp, "trigger": "auto", "session": ME, "reason": "", "current": True},
        "last_restore": {"at": stamp, "session": ME, "saved_at": stamp},
        "owner": ME,
        "missing_reading": ["@gone.md"],
        "outside_reading": [],
    }
