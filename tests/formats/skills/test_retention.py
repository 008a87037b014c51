"""What is old goes with all that belongs to it, and a cleanup that is killed is finished by the next."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.formats.skills import adapter as skills
from holdfast.formats.skills import file as files
from holdfast.formats.skills import index, inspection, places, retention
from holdfast.sessions.history import archive
from holdfast.workflow import places as kept_at
from holdfast.workflow import statefile, verbs
from holdfast.workflow.model import Changes, Start
from tests.formats.skills import documents

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


def started(project: Workspace, key: str = "Log in") -> Workflow:
    return skills.start(project, Start(key, kind="dev", phases=(("Add model", ""),)))


def later(monkeypatch: pytest.MonkeyPatch, **age: float) -> None:
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(**age)))


def clean(project: Workspace) -> list[str]:
    return [each.place for each in retention.remove(project, retention.due(project).old)]


def test_what_is_kept_beside_a_run_goes_with_it(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run of the same key begins without its reminders."""
    made = verbs.update(project, started(project), Changes(reminders=("Small commits",)))
    later(monkeypatch, days=8)

    assert clean(project) == [f"active/{made.path.name}"]

    assert not kept_at.extras(project.root, made.path).exists()
    assert started(project).reminders == ()


@pytest.mark.parametrize(("status", "word"), [("completed", "completed_at"), ("abandoned", "abandoned_at")])
def test_a_finished_run_counts_from_its_end(project: Workspace, status: str, word: str) -> None:
    """I004-4: whatever touched the file after it."""
    ended, touched = (files.stamp(clock.now() - timedelta(hours=age)) for age in (25, 1))
    data = documents.state("dev")
    data["workflow"] |= {"status": status, word: ended, "updated_at": touched}
    path = places.completed(project) / "dev-a1b2c3d4.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(data))

    assert clean(project) == ["completed/dev-a1b2c3d4.json"]


def test_a_kill_between_the_list_and_the_file_heals(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is written first: until the next cleanup, the run is there and found, and `check` names it."""
    made = started(project)
    later(monkeypatch, days=8)
    with monkeypatch.context() as patch:
        patch.setattr(statefile, "discard", _die)
        with pytest.raises(KeyboardInterrupt):
            clean(project)

    assert index.entries(project) == []
    assert [each.key for each in skills.find(project).workflows] == [made.key]
    assert f"{made.path.stem} is not listed" in [each.text for each in inspection.findings(project)]

    assert clean(project) == [f"active/{made.path.name}"]
    assert inspection.findings(project) == []
    assert [each.workflow.key for each in archive.entries(project)] == [made.key]


def test_links_and_folders_are_no_runs(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their name is."""
    made = started(project)
    (made.path.parent / "dev-00000000.json").symlink_to(made.path)
    (made.path.parent / "dev-00000001.json").mkdir()
    later(monkeypatch, days=8)

    assert clean(project) == [f"active/{made.path.name}"]
    assert sorted(each.name for each in made.path.parent.iterdir()) == ["dev-00000000.json", "dev-00000001.json"]


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
