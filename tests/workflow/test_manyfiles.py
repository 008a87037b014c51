"""Of very many plans, state files or sessions an event looks at some; the right one is found nevertheless."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.config import Config
from holdfast.files import cache
from holdfast.formats.compaction import candidates, save
from holdfast.formats.compaction.detection import extract, plans
from holdfast.formats.wfs import adapter as wfs
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import manyfiles, prose, registry, statefile
from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject

MOST = 64
MANY = 400
OLD = 1_700_000_000
ME = "11111111-1111-4111-8111-111111111111"


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few are very many; and what is found is kept."""
    paths.ensure_private(paths.state_dir())
    monkeypatch.setattr(manyfiles, "MOST", MOST)
    monkeypatch.setattr(manyfiles, "HOT", 8)
    monkeypatch.setattr(candidates, "SEARCHED", 32)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path / "project", Config())
    made.root.mkdir()
    yield made
    made.close()


def put(path: Path, text: str, at: int = OLD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))
    return path


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """Have a function note what it is given."""
    made, function = list[Any](), getattr(module, name)

    def counting(*given: Any, **more: Any) -> Any:
        made.append(given)
        return function(*given, **more)

    monkeypatch.setattr(module, name, counting)
    return made


def names(found: dict[str, int]) -> set[str]:
    return set(found)


def test_few_are_all_looked_at(tmp_path: Path) -> None:
    """And nothing is written down."""
    found, left = manyfiles.newest(tmp_path, {"a": 1, "b": 2}, {"a": 5, "b": 6}.__getitem__)
    assert (found, left) == ({"a": 5, "b": 6}, 0)
    assert not cache.folder().exists()


def test_of_many_all_have_their_turn(tmp_path: Path) -> None:
    """No event looks at more than it may, and some events later every entry was looked at."""
    entries = {f"plan-{number}": 0 for number in range(MANY)}
    seen: set[str] = set()
    for _ in range(3 * MANY // MOST):
        found, left = manyfiles.newest(tmp_path, entries, lambda name: 1)
        assert len(found) <= MOST
        assert left == MANY - len(found)
        seen |= names(found)
    assert seen == set(entries)


def test_those_that_matter_come_first(tmp_path: Path) -> None:
    """The wanted one, the highest number, the one made last and, from then on, whatever was seen to be changed last."""
    entries = {f"{number:04}-plan": number % 7 for number in range(MANY)}
    entries["0001-plan"] = 99
    found, _ = manyfiles.newest(tmp_path, entries, lambda name: 1, ["0123-plan"])
    assert {f"{MANY - 1:04}-plan", "0001-plan", "0123-plan"} <= names(found)
    late = next(name for name in found if name not in ("0001-plan", f"{MANY - 1:04}-plan"))
    for _ in range(2 * MANY // MOST):
        found, _ = manyfiles.newest(tmp_path, entries, lambda name: 9 if name == late else 1)
        assert late in found


@pytest.mark.parametrize("kept", [b"", b"x", None])
def test_what_is_kept_may_be_broken(tmp_path: Path, kept: bytes | None) -> None:
    """Then turns begin anew."""
    if kept is not None:
        cache.write(manyfiles._file(tmp_path, "turn"), kept)
        cache.write(manyfiles._file(tmp_path, "left"), kept)
    assert len(manyfiles.newest(tmp_path, dict.fromkeys(map(str, range(MANY)), 0), lambda name: 1)[0]) == MOST
    assert manyfiles.omitted_count(tmp_path) == 0


def plan(root: Path, name: str, status: str, at: int = OLD) -> Path:
    return put(
        root / plans.FOLDER / name / plans.FILE, f"# Plan: {name}\n\n**Status**: {status}\n\n## Phase 1: One\n", at
    )


def test_of_many_plans_some_are_looked_at(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event; the one in progress that was made last is found at once, and how many were left out is known."""
    for number in range(MANY):
        plan(project.root, f"{number:04}-old", "Complete")
    plan(project.root, f"{MANY}-new", "🔄 In Progress", OLD + 10)
    looked = counted(monkeypatch, os, "stat")
    found = plans.active(project.root)
    assert found is not None
    assert found.name == f"{MANY}-new"
    assert sum(str(given[0]).endswith(plans.FILE) for given in looked) <= MOST + 1  # reading one looks once more
    assert manyfiles.omitted_count(paths.plans_dir(project.root)) == MANY + 1 - MOST


def test_a_plan_anywhere_is_found_once_it_had_its_turn(project: Workspace) -> None:
    """And at once where it was just written; from then on it stays found."""
    for number in range(MANY):
        plan(project.root, f"x{number:04}", "Complete", OLD + number)
    path = plan(project.root, "a", "🔄 In Progress", OLD + MANY)
    found = plans.active(project.root, path)
    assert found is not None
    assert found.name == "a"
    for _ in range(2 * MANY // MOST):
        assert plans.active(project.root) == found


def test_the_text_that_is_read_of_plans_is_bounded(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last changed are read first; the others another time, for what was read is remembered."""
    monkeypatch.setattr(plans, "READ_BYTES", 1_000)
    monkeypatch.setattr(plans, "FEW", 2)
    monkeypatch.setattr(plans, "settled", lambda *_: True)  # as two seconds later
    for number in range(20):
        plan(project.root, f"{number:02}", f"Complete {'x' * 200}", OLD + number)
    plan(project.root, "old", "🔄 In Progress", OLD - 1)
    read = counted(monkeypatch, prose, "read")
    sizes, found = list[int](), None
    while found is None and len(sizes) < 20:
        before = len(read)
        found = plans.active(project.root)
        sizes.append(len(read) - before)
        assert manyfiles.omitted_count(paths.plans_dir(project.root)) == (0 if found else 21 - len(read))
    assert found is not None
    assert max(sizes) <= 5
    assert len(read) == 21


def state(root: Path, name: str, at: int = OLD, folder: str = "") -> Path:
    data = {"workflow": name, "workflow_type": "custom", "phase": {"current": 1, "total": 2, "name": "One"}}
    place = root / "untracked/workflow-state" / (folder or name) / f"state-{name}-20250101_000000.json"
    return put(place, json.dumps(data | {"created_at": "2025-01-01T00:00:00Z"}), at)


@pytest.mark.parametrize("folder", ["", "all"], ids=["a folder each", "one folder"])
def test_a_save_searches_some_of_many_state_files(
    project: Workspace, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory file names a workflow that none of them is of: PreCompact has no time to read them all."""
    for number in range(MANY):
        state(project.root, f"old-{number}", OLD + number, folder)
    read = counted(monkeypatch, statefile, "read")
    told = extract.Extract(name="Release", current=1, total=2, phase="One", source=project.root / "CLAUDE.local.md")
    assert save.save(project, told).action == "created"
    assert len(read) <= 4 * candidates.SEARCHED
    read.clear()
    assert save.save(project, told).action == "unchanged"
    assert len(read) <= 4 * candidates.SEARCHED


@pytest.mark.parametrize("format_", ["compaction", "wfs"])
def test_the_sessions_own_is_found_among_many(
    project: Workspace, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it was changed first; and the last changed of the others, as far as they were looked at."""
    holdfast("start", "Mine", "--format", format_, "--phase", "One", root=project.root, session=ME)
    for path in (*project.root.glob("untracked/*/*/*.json"), *project.root.glob(".workflow/*/*.json")):
        os.utime(path, (OLD - 10, OLD - 10))
    for number in range(MANY):
        if format_ == "compaction":
            state(project.root, f"old-{number}", OLD + number)
        else:
            data = {"session_id": f"WFS-old-{number}", "project": f"old-{number}", "status": "paused"}
            put(project.root / ".workflow" / f"WFS-old-{number}/workflow-session.json", json.dumps(data), OLD + number)
    looked = counted(monkeypatch, *((candidates, "_listed") if format_ == "compaction" else (wfs, "_changed")))
    found = registry.candidates(project, ME)
    assert "Mine" in {each.title for each in found.workflows}
    assert len(looked) <= 2 * MOST
    assert len(found.workflows) < MOST
    assert found.left == MANY + 1 - len(found.workflows)


def test_what_was_left_out_is_said(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """After the compaction whose save left it out, beside the guidance or without any."""
    project = holdfast_project({})
    project.fire("PreCompact", "PreCompact-auto")
    manyfiles.note_omitted(paths.plans_dir(project.root), 7)
    said = "7 older plans in CLAUDE/Plan were not looked at: move those that are finished into a folder of it"
    assert said in json.dumps(project.fire("SessionStart", "SessionStart-compact").reply)
    holdfast("start", "Mine", "--phase", "One", root=project.root, session=project.session)
    assert said in str(project.fire("SessionStart", "SessionStart-compact").context)
    manyfiles.note_omitted(paths.plans_dir(project.root), 0)
    assert said not in str(project.fire("SessionStart", "SessionStart-compact").context)
