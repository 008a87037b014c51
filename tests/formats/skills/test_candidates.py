"""An event looks at the last changed of very many workflows, and at the wanted ones, without reading the rest."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from holdfast import paths
from holdfast.files import file_memo
from holdfast.formats.skills import adapter as skills
from holdfast.formats.skills import candidates, index, places
from holdfast.formats.skills import file as files
from tests.commandline import holdfast
from tests.formats.skills import documents

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace

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


def test_the_folder_is_listed_again_only_after_a_change_in_it(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the time of an event doesn't grow with the files."""
    before = found(project)
    with monkeypatch.context() as patch:
        patch.setattr(index, "names", lambda _: pytest.fail("the folder was listed"))
        assert found(project) == before

    documents.put(project, "dev-99999999", many[0].read_bytes())
    many[-1].unlink()

    assert "dev-99999999" in found(project)
    assert many[-1].stem not in found(project)


@pytest.mark.parametrize("indexed", [True, False])
def test_a_slash_command_reads_no_more_files_than_an_event_may(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    """A folder that a repository fills with ten thousands would otherwise cost the prompt its answer."""
    feature = documents.state("dev")["context"]["feature_file"]
    if indexed:
        rows = [{"id": each.stem, "skill": "dev", "feature": feature} for each in many]
        places.index(project).write_text(json.dumps({"active_workflows": rows}))
    reads = Mock(side_effect=files.load)
    monkeypatch.setattr(files, "load", reads)

    given = skills.asked(project, "dev", feature.rpartition("/")[0])

    assert len(given) == len({call.args[1] for call in reads.call_args_list}) == candidates.MOST


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
    monkeypatch.setattr(skills, "_MOST", 30)
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
