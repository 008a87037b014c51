"""An event looks at the last changed of very many workflows; commands say how many they left out."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from holdfast import paths
from holdfast.files import file_memo
from holdfast.formats.skills import adapter as skills
from holdfast.formats.skills import candidates, folder, library, places
from holdfast.sessions import owners
from holdfast.sessions.forget import erasure
from holdfast.sessions.forget.ledger_rows import Scope
from holdfast.workflow import holdfast_folder, verbs
from holdfast.workflow.model import Changes
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


def found(project: Workspace, *keys: str) -> list[str]:
    return sorted(each.path.stem for each in skills.candidates(project, keys).workflows)


def test_the_last_changed_are_looked_at_and_the_others_counted(project: Workspace, many: list[Path]) -> None:
    """And one that is wanted, however old it is."""
    last = sorted(each.stem for each in many[-candidates.MOST :])
    wanted = f"skills:{places.TOP}/active/{many[0].stem}.json#"

    assert found(project) == last
    assert found(project, wanted) == sorted([many[0].stem, *last])
    assert skills.candidates(project, ()).left == MANY - candidates.MOST


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
    assert said in holdfast("status", root=project.root).err
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


def test_what_holdfast_moves_counts_as_the_last_changed(project: Workspace, many: list[Path]) -> None:
    """What another program did before is seen all the same."""
    found(project)
    old = f"skills:{places.TOP}/active/{many[0].stem}.json#"
    (moved,) = (each for each in skills.candidates(project, [old]).workflows if each.path == many[0])
    verbs.update(project, moved, Changes(context={"number": 1}))
    assert found(project) == sorted(each.stem for each in (many[0], *many[1 - candidates.MOST :]))
    documents.put(project, "dev-99999999", many[1].read_bytes())
    verbs.update(project, moved, Changes(context={"number": 2}))
    assert "dev-99999999" in found(project)


def test_forgetting_a_session_leaves_no_sidecar_of_a_file_that_commands_do_not_read(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many others were changed since."""
    monkeypatch.setattr(folder, "MOST", 10)
    (own,) = skills.candidates(project, [f"skills:{many[7].relative_to(project.root)}#"]).workflows[:1]
    assert own.path == many[7]
    owners.own(project, own, "session-1")
    written = holdfast_folder.write_sidecar(project.root, own, "all of it")
    assert written is not None

    assert written[0] in erasure.forget(project, Scope(sessions=("session-1",))).files
    assert not written[0].exists()


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
