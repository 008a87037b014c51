"""An event looks at the last changed of very many workflows, and at the wanted ones, without reading the rest."""

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
from holdfast.formats.skills import candidates, folder, index, library, places, retention
from holdfast.formats.skills import file as files
from holdfast.sessions.forget import erasure
from holdfast.sessions.forget.ledger_rows import Scope
from holdfast.sessions.ownership import owners
from holdfast.workflow import registry, sidecars
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


def test_the_folder_is_listed_again_only_after_a_change_in_it(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the time of an event doesn't grow with the files."""
    before = found(project)
    with monkeypatch.context() as patch:
        patch.setattr(folder, "inodes", lambda _: pytest.fail("the folder was listed"))
        assert found(project) == before

    documents.put(project, "dev-99999999", many[0].read_bytes())
    many[-1].unlink()

    assert "dev-99999999" in found(project)
    assert many[-1].stem not in found(project)


def test_a_move_of_holdfasts_own_lists_nothing_again(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it replaced counts as the last changed, and what another program did before it is seen all the same."""
    places.index(project).write_text('{"active_workflows": []}')
    listings = Mock(side_effect=folder.inodes)
    monkeypatch.setattr(folder, "inodes", listings)
    old = f"skills:{places.TOP}/active/{many[0].stem}.json#"
    found(project)
    (moved,) = (each for each in skills.candidates(project, [old]).workflows if each.path == many[0])
    for number in range(2):
        skills.update(project, moved, Changes(context={"number": number}))
        assert found(project) == sorted(each.stem for each in (many[0], *many[1 - candidates.MOST :]))
        assert skills.candidates(project, ()).left == MANY - candidates.MOST
    assert listings.call_count == 1

    documents.put(project, "dev-99999999", many[1].read_bytes())
    skills.update(project, moved, Changes(context={"number": 2}))
    assert "dev-99999999" in found(project)
    assert listings.call_count == 2


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


def test_what_a_session_owns_is_read_without_the_others(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each prompt its evidence is taken; how many others there are doesn't matter."""
    keys = [f"skills:{places.TOP}/active/{each.stem}.json#{each.stem}" for each in (many[3], many[0])]
    monkeypatch.setattr(folder, "inodes", lambda _: pytest.fail("the folder was listed"))
    assert [each.path for each in skills.with_keys(project, [*keys, "skills:gone.json#", "hybrid:x#"]).workflows] == [
        many[3],
        many[0],
    ]
    assert registry.taking_evidence(project, "session-1") == []
    (own,) = skills.with_keys(project, keys[:1]).workflows
    owners.own(project, own, "session-1")
    assert [each.path for _, each in registry.taking_evidence(project, "session-1")] == [many[3]]


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


def test_the_literal_key_of_a_slash_command_names_its_file(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many others there are, none is looked at."""
    own = places.state(project, "dev", "features/login.md")
    own.write_bytes(many[0].read_bytes())
    monkeypatch.setattr(folder, "inodes", lambda _: pytest.fail("the folder was listed"))
    assert [each.path for each in skills.asked(project, "dev", "features/login.md")] == [own]


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


def test_after_a_change_an_event_looks_at_what_changed_and_at_the_last(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at every file: each compaction writes one, and the next event would pay for ten thousand."""
    looks = looked(monkeypatch)
    found(project)
    assert looks.call_count == MANY

    looks.reset_mock()
    replace(many[3], MANY)
    now = found(project)

    assert now == sorted(each.stem for each in (many[3], *many[1 - candidates.MOST :]))
    assert looks.call_count <= 18 + 4 + 1
    assert skills.candidates(project, ()).left == MANY - candidates.MOST


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


def test_a_file_that_was_just_written_is_read_again(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next edit may leave the same stamp."""
    monkeypatch.setattr(file_memo, "settled", lambda *_: False)
    reads = Mock(side_effect=files.load)
    monkeypatch.setattr(files, "load", reads)
    for times in (1, 2):
        assert len(found(project)) == candidates.MOST
        assert reads.call_count == times * candidates.MOST


def test_what_is_wrong_with_a_file_is_told_at_each_reading(project: Workspace, many: list[Path]) -> None:
    """The last content is used, and each of an event's handlers hears that it is."""
    whole = many[-1].read_bytes()
    project.keep(many[-1], whole, why="seen")
    many[-1].write_bytes(whole[:300])
    for _ in range(2):
        assert of(project, many[-1]).raw == whole
        assert [each.path for each in skills.candidates(project, ()).problems] == [many[-1]]


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


def test_cleanup_frees_the_lock_and_writes_the_index_in_between(
    project: Workspace, many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for forty files, and whoever reads the index meanwhile finds no removed one for long."""
    index.rebuild(project, index.from_files(project, folder.names(project)))
    assert len(index.entries(project)) == MANY
    spied = Mock(wraps=index.delist)
    monkeypatch.setattr(index, "delist", spied)
    monkeypatch.setattr(retention, "_AT_ONCE", 15)
    holdfast("skills", "cleanup", root=project.root)
    assert [len(call.args[1]) for call in spied.call_args_list] == [15, 15, 10]
    assert index.entries(project) == []
    assert not any(each.exists() for each in many)


def test_a_workflow_that_nobody_finds_may_be_among_the_files_that_were_not_read(
    project: Workspace, many: list[Path], bounded: Mock
) -> None:
    """An id that only a file itself has is looked for in as many files as a command reads."""
    missing = holdfast("skills", "phase", "verification", "--workflow", "dev-none", root=project.root, code=1)
    assert "40 state files are too many; 30 were not read; `holdfast skills cleanup`" in missing.err
    assert len(read_by(bounded)) == 10


def test_forgetting_a_session_leaves_no_sidecar_of_a_file_that_commands_do_not_read(
    project: Workspace, many: list[Path], bounded: Mock
) -> None:
    """However many others were changed since."""
    raw = many[7].read_text("utf-8").replace('"Event Infrastructure"', '"Their own title"')
    many[7].write_text(raw)
    os.utime(many[7], (1_700_000_007, 1_700_000_007))
    (own,) = skills.candidates(project, [f"skills:{many[7].relative_to(project.root)}#"]).workflows[:1]
    assert own.title == "Their own title"
    owners.own(project, own, "session-1")
    written = sidecars.write_sidecar(project.root, own, "all of it")
    assert written is not None

    gone = erasure.forget(project, Scope(session="session-1"))

    assert written[0] in gone.files
    assert not written[0].exists()
