"""An event looks at the last changed of very many workflows; commands say how many they left out."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from holdfast import paths
from holdfast.files import file_memo
from holdfast.files.lock import locked
from holdfast.formats.skills import adapter as skills
from holdfast.formats.skills import candidates, folder, index, library, places
from holdfast.formats.skills import file as files
from tests.commandline import holdfast
from tests.formats.skills import documents

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

MANY = 40


@pytest.fixture
def many(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Forty workflows, each changed a second after the one before, in a folder that nobody touches any more."""
    made = []
    paths.ensure_private(paths.state_dir())
    for number in range(MANY):
        data = documents.state("dev")
        data["workflow"]["id"] = f"dev-{number:08}"
        made.append(documents.put(project, f"dev-{number:08}", json.dumps(data).encode()))
        os.utime(made[-1], (1_700_000_000 + number, 1_700_000_000 + number))
    monkeypatch.setattr(file_memo, "settled", lambda *_: True)
    return made


def skills_seen(project: Workspace) -> list[str]:
    """Return what an event finds, and forget what it kept."""
    kept = {path: path.read_bytes() for path in (paths.state_dir() / "cache").glob("*.skills")}
    seen = found(project)
    for path, raw in kept.items():
        path.write_bytes(raw)
    return seen


def found(project: Workspace, *keys: str) -> list[str]:
    return sorted(each.path.stem for each in skills.candidates(project, keys).workflows)


def test_the_last_changed_are_looked_at_and_the_others_counted(project: Workspace, many: list[Path]) -> None:
    """And one that is wanted, however old it is."""
    last = sorted(each.stem for each in many[-candidates.MOST :])
    wanted = f"skills:{places.TOP}/active/{many[0].stem}.json#"

    assert found(project) == last
    assert found(project, wanted) == sorted([many[0].stem, *last])
    assert skills.candidates(project, ()).left == MANY - candidates.MOST


def test_what_another_program_does_during_a_move_is_seen_later(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing tells its change of the folder from Holdfast's own, so the folder is listed again after a while.

    However many moves there are until then; a clock that was set back counts as a while.
    """
    found(project)
    now = [1_000.0]
    monkeypatch.setattr(candidates, "time", SimpleNamespace(time=lambda: now[0]))
    with candidates.replacing(project, many[-1]):
        replace(many[-1], MANY)
        documents.put(project, "dev-99999999", many[1].read_bytes())
    now[0] += candidates._TRUSTED_S - 1
    with candidates.replacing(project, many[-1]):
        replace(many[-1], MANY)
    assert "dev-99999999" not in found(project)
    for at in (999.0, 1_000 + candidates._TRUSTED_S):
        now[0] = at
        assert "dev-99999999" in skills_seen(project)


def test_a_folder_behind_a_link_is_a_problem_and_not_followed(
    project: Workspace, many: list[Path], tmp_path: Path
) -> None:
    """Also when it was known before."""
    found(project)
    places.active(project).rename(tmp_path / "elsewhere")
    places.active(project).symlink_to(tmp_path / "elsewhere")

    given = skills.candidates(project, ())

    assert given.workflows == ()
    assert [each.path for each in given.problems] == [places.active(project)]


def test_a_command_reads_the_last_changed_of_very_many_and_says_so(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number and by bytes; `list` and `status` say how many they left out."""
    assert skills.find(project).problems == ()
    monkeypatch.setattr(folder, "MOST", 30)
    seen = skills.find(project)
    assert sorted(each.path for each in seen.workflows) == sorted(many[-30:])
    assert seen.left == 10
    assert seen.problems[0].path == places.active(project)
    said = "40 state files are too many; 10 were not read. `holdfast skills cleanup` removes old ones"
    assert seen.problems[0].reason == said
    assert said in holdfast("list", root=project.root).err
    assert "10 were not read" in holdfast("status", root=project.root).out
    monkeypatch.setattr(skills, "_BUDGET_BYTES", sum(each.stat().st_size for each in many[-4:]))
    assert len(skills.find(project).workflows) == 5  # the first is read whatever its size


def looked(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Let a folder of more than four files count as a large one, and return what counts the files looked at."""
    monkeypatch.setattr(candidates, "_LOOKED", 4)
    monkeypatch.setattr(candidates, "_LAST", 18)
    looks = Mock(side_effect=folder.changed)
    monkeypatch.setattr(folder, "changed", looks)
    return looks


def replace(path: Path, second: int) -> None:
    """Save a file as an editor does, at a second after the first workflow's."""
    beside = path.with_name("beside")
    beside.write_bytes(path.read_bytes())
    os.utime(beside, (1_700_000_000 + second, 1_700_000_000 + second))
    beside.replace(path)


def test_the_last_changed_are_right_however_many_of_them_are_removed_or_brought_back(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one, until others have to take their places, and with an old file that is saved again without a change."""
    looked(monkeypatch)
    left = list(many)
    found(project)
    while len(left) > candidates.MOST:
        left.pop(-1).unlink()
        replace(left[0], 0)
        assert found(project) == sorted(each.stem for each in left[-candidates.MOST :]), len(left)


def test_what_was_read_counts_for_the_machine_and_the_branch_of_now(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workflow shows its skill's labels, and warns of another branch."""
    assert of(project, many[-1]).phases[0].title == "Load feature"
    machine = paths.config_dir() / "machines/dev.toml"
    machine.parent.mkdir(parents=True, exist_ok=True)
    shipped = (library.SHIPPED / "dev.toml").read_text("utf-8")
    machine.write_text(shipped.replace('"Load feature"', '"Look at it"'))
    assert of(project, many[-1]).phases[0].title == "Look at it"

    monkeypatch.setattr(type(project), "branch", "another")
    assert "'another'" in of(project, many[-1]).warnings[0]


def of(project: Workspace, path: Path) -> Workflow:
    """Return the workflow of a file as an event sees it."""
    (found,) = (each for each in skills.candidates(project, ()).workflows if each.path == path)
    return found


@pytest.fixture
def bounded(project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Let a command read ten of the forty files, and return what counts the readings."""
    monkeypatch.setattr(folder, "MOST", 10)
    for each in many[:2]:
        each.write_text("{")
        os.utime(each, (1_700_000_000, 1_700_000_000))
    with locked(places.top(project)):
        index.rebuild(project, [])
    reads = Mock(side_effect=files.load)
    monkeypatch.setattr(files, "load", reads)
    return reads


def read_by(reads: Mock) -> set[Path]:
    """Return the state files that were read since the last question."""
    found = {call.args[1] for call in reads.call_args_list}
    reads.reset_mock()
    return found


def test_check_repair_and_doctor_read_no_more_files_than_other_commands(
    project: Workspace, many: list[Path], bounded: Mock
) -> None:
    """They say how many they left out, and never take an unread file for a missing one."""
    places.index(project).write_text(json.dumps({"active_workflows": [{"id": many[5].stem}, {"id": "dev-of-its-own"}]}))
    said = "40 state files are too many; 30 were not read"
    checked = holdfast("skills", "check", root=project.root)
    assert f"{said} → holdfast skills cleanup" in checked.out
    assert "no state file" not in checked.out
    assert checked.code == 0
    assert said in holdfast("doctor", "-v", root=project.root, code=1).out
    assert read_by(bounded) == set(many[-10:])

    repaired = holdfast("skills", "repair", root=project.root)
    assert said in repaired.err
    listed = [each.id for each in index.entries(project)]
    assert listed[:2] == [many[5].stem, "dev-of-its-own"]
    assert sorted(listed[2:]) == [each.stem for each in many[-10:]]
    assert read_by(bounded) == set(many[-10:])


def test_cleanup_reads_the_oldest_files_and_says_what_is_left(
    project: Workspace, many: list[Path], bounded: Mock
) -> None:
    """So one run after another removes them all. `start` removes some, and reads no more either."""
    dry = holdfast("skills", "cleanup", "--dry-run", root=project.root)
    assert dry.out.count("would be removed") == 8  # two are broken
    assert "30 state files were not read; run `holdfast skills cleanup` again" in dry.err
    assert read_by(bounded) == set(many[:10])
    assert json.loads(holdfast("skills", "cleanup", "--json", root=project.root).out)["not_read"] == 30
    assert [each for each in many if not each.exists()] == many[2:10]

    bounded.reset_mock()
    started = holdfast("skills", "start", "tdd", "--task", "Count", root=project.root)
    assert "22 state files were not read" in started.out
    assert len(read_by(bounded)) <= 20 + 2
