"""What is old goes with all that belongs to it, and nothing else goes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.formats.skills import upkeep
from holdfast.formats.skills.format import FORMAT as skills
from holdfast.workflow import places as kept_at
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes, Start

if TYPE_CHECKING:
    import pytest

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


def started(project: Workspace, key: str = "Log in") -> Workflow:
    return skills.start(project, Start(key, kind="dev", phases=(("Add model", ""),)))


def later(monkeypatch: pytest.MonkeyPatch, **age: float) -> None:
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(**age)))


def clean(project: Workspace) -> list[str]:
    old = upkeep.old_ones(skills, project)
    upkeep.remove(skills, project, old)
    return [each.path.name for each in old]


def test_what_is_kept_beside_a_run_goes_with_it(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run of the same key begins without its reminders."""
    made = verbs.update(project, started(project), Changes(reminders=("Small commits",)))
    later(monkeypatch, days=8)

    assert clean(project) == [made.path.name]

    assert not kept_at.extras(project.root, made.path).exists()
    assert started(project).reminders == ()


def test_links_and_folders_are_no_runs(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their name is."""
    made = started(project)
    (made.path.parent / "dev-00000000.json").symlink_to(made.path)
    (made.path.parent / "dev-00000001.json").mkdir()
    later(monkeypatch, days=8)

    assert clean(project) == [made.path.name]
    assert sorted(each.name for each in made.path.parent.iterdir()) == ["dev-00000000.json", "dev-00000001.json"]
