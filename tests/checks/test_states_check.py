"""The check names state files that can't be read, are old or contradict each other, and repairs them without loss."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock, formats
from holdfast.checks import states
from holdfast.sessions import conversations, owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import findings, registry
from tests.commandline import holdfast
from tests.doctoring import examine, healthy, mend, mended_under_lock, obey, only
from tests.handmade import ME

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def hybrid(root: Path) -> Path:
    """A hybrid workflow's state file."""
    holdfast("start", "Calculator", "--format", "hybrid", "--phase", "Write @a", "--phase", "Test @b", root=root)
    return root / ".claude" / "state" / "workflow.json"


@pytest.fixture
def kept(root: Path) -> Path:
    """A compaction workflow's state file."""
    holdfast("start", "User auth", "--phase", "Design", "--phase", "Build", root=root)
    (file,) = root.glob("untracked/workflow-state/*/state-*.json")
    return file


def age(path: Path, days: float = 0, seconds: float = 10) -> None:
    moment = (clock.now() - timedelta(days=days, seconds=seconds)).timestamp()
    os.utime(path, (moment, moment))


def corrupt(path: Path, text: str = '{"cut": "of') -> None:
    path.write_text(text)
    age(path)  # or it may be one that is being saved


def title(root: Path) -> list[str]:
    project = Workspace.open(root)
    try:
        found = registry.all_found(project)
        assert found.problems == ()
        return [each.title for each in found.workflows]
    finally:
        project.close()


def test_no_workflow_and_sound_ones(root: Path) -> None:
    """Both formats, as the command line writes them."""
    assert "0 workflows" in healthy("states", root)
    holdfast("start", "User auth", "--phase", "Design", root=root)
    holdfast("start", "Calculator", "--format", "hybrid", "--phase", "Write @a", "--remind", "Small", root=root)
    assert "2 workflows, with consistent files" in healthy("states", root)


@pytest.mark.parametrize("which", ["hybrid", "kept"])
def test_a_broken_file_gets_its_last_good_content(root: Path, which: str, request: pytest.FixtureRequest) -> None:
    """And what it held stays beside it."""
    file: Path = request.getfixturevalue(which)
    good = file.read_text()
    corrupt(file)

    found = only("states", root, "problem")

    assert found.text.startswith(f"{file}: is not JSON")
    assert found.remedy == "holdfast doctor --fix"
    obey(found, root)
    assert json.loads(file.read_text()) == json.loads(good)
    (aside,) = file.parent.glob("*.corrupt-*")
    assert aside.read_text() == '{"cut": "of'

    left = only("states", root, "notice")
    assert left.text == f"{aside} was set aside earlier; nothing reads it"
    assert left.remedy.startswith(f"look at {aside}, ")
    aside.unlink()
    healthy("states", root)


@pytest.mark.parametrize("place", [".claude/state/workflow.json", "untracked/workflow-state/x/state-x-1.json"])
def test_a_broken_file_that_nothing_is_known_of_is_set_aside(root: Path, place: str) -> None:
    """Renamed, never deleted."""
    file = root / place
    file.parent.mkdir(parents=True)
    corrupt(file)

    found = only("states", root, "problem")

    obey(found, root)
    assert not file.exists()
    assert [path.read_text() for path in file.parent.glob(f"{file.name}.corrupt-*")] == ['{"cut": "of']


def test_a_broken_file_waits_for_the_ledger(root: Path, kept: Path) -> None:
    """With the ledger damaged too, what the file held before may be known later: it stays."""
    corrupt(kept)
    project = Workspace.open(root)
    for file in project.ledger_file.parent.iterdir():
        file.unlink()
    project.ledger_file.write_bytes(b"junk" * 2000)
    found = [each for each in examine("states", root) if each.level == "problem"]
    assert [each.fix is not None for each in found] == [True]
    (mended,) = run_fixes(root)
    assert mended.startswith("couldn't be repaired: ")
    assert kept.exists()


def run_fixes(root: Path) -> list[str]:
    from holdfast import checks

    project = Workspace.open(root)
    try:
        return [said for _, said, _ in checks.mend(checks.run(project, ("states",)))]
    finally:
        project.close()


@pytest.mark.parametrize("which", ["hybrid", "kept"])
def test_mending_holds_the_lock_that_every_writer_holds(
    root: Path, which: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compaction format has one for all its folders."""
    file: Path = request.getfixturevalue(which)
    corrupt(file)
    held = mended_under_lock(monkeypatch, states, file)

    assert len(mend("states", root)) == 1

    assert held == [(root / "untracked" / "workflow-state" if which == "kept" else file.parent, False, True)]


def test_each_deviation_has_its_file_and_field(root: Path, kept: Path) -> None:
    """Also in a compaction state and a run that somebody keeps by hand; of a value that is wrong whole, once."""
    change(kept, required_reading=5, phase={"current": 1, "total": "x", "name": "Design", "status": "active"})
    (root / "auth.md").write_text("# Auth\n\n### Phase 1: Base\n\n#### Task 1.1: Model\n")
    holdfast("start", "auth.md", "--format", "orchestrator", root=root)
    run = root / ".claude" / "agent-state.json"
    change(run, learnings=[{"lesson": "Look first"}])

    found = holdfast("doctor", "states", "--json", root=root).json["findings"]

    assert {each["code"] for each in found} == {"schema"}
    fields = {(each["path"], each["field"]) for each in found}
    assert {(str(kept), "required_reading"), (str(kept), "phase.total"), (str(run), "learnings[0].type")} <= fields
    assert (str(kept), "required_reading[0]") not in fields
    assert None not in {field for _, field in fields}


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values, indent=2))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"status": "nearly"}, '"status" is "nearly"'),
        ({"current_phase": "phase_9"}, '"current_phase" is "phase_9", which isn\'t a phase'),
    ],
)
def test_what_does_not_validate_is_a_problem(root: Path, hybrid: Path, values: dict[str, Any], words: str) -> None:
    """With the file and the field, also in the remedy; corrected, it is fine."""
    good = hybrid.read_text()
    change(hybrid, **values)
    mend("states", root)  # the view

    found = only("states", root, "problem")

    assert found.text.startswith(f"{hybrid}: {words}")
    assert found.remedy == f"correct {hybrid}"
    assert (found.code, found.path, found.field) == ("schema", hybrid, words.split('"')[1])
    hybrid.write_text(good)
    mend("states", root)
    healthy("states", root)


def test_an_unfinished_workflow_nobody_works_on(root: Path, monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    """After as many days as it is restored unasked, unless a live session owns it; one command completes it."""
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(days=6)))
    healthy("states", root)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(days=6)))
    project = Workspace.open(root)
    conversations.note_event(project, ME)
    owners.own(project, registry.all_found(project).workflows[0], ME)
    healthy("states", root)
    conversations.end(project, ME)
    project.close()

    found = only("states", root, "notice")

    assert f'{kept}: "User auth" is unfinished (1/2)' in found.text
    assert found.remedy == f"holdfast done --all {kept.stem}"
    obey(found, root)
    healthy("states", root)
    assert title(root) == []


def test_a_finished_workflow_whose_file_is_left(root: Path, kept: Path) -> None:
    """As when somebody completed it by hand."""
    state = json.loads(kept.read_text())
    change(kept, phase=state["phase"] | {"current": 2, "status": "completed"})

    found = only("states", root, "notice")

    assert '"User auth" is finished, but its file is still there' in found.text
    obey(found, root)
    healthy("states", root)
    assert not kept.exists()


def spoil(view: Path) -> None:
    view.write_text(view.read_text() + "junk\n")


@pytest.mark.parametrize("damage", [os.unlink, spoil])
def test_a_view_out_of_step_is_drawn_again(root: Path, hybrid: Path, damage: Any) -> None:
    """It is made from the state and never read back."""
    view = root / ".claude" / "workflow_state_system.md"
    good = view.read_text()
    damage(view)

    found = only("states", root, "notice")

    assert str(view) in found.text
    obey(found, root)
    assert view.read_text() == good
    healthy("states", root)


def test_somebody_elses_view_stays(root: Path, hybrid: Path) -> None:
    """It is in the way, and moved only by hand."""
    view = root / ".claude" / "workflow_state_system.md"
    view.write_text("# Mine\n")
    found = only("states", root, "notice")
    assert "is somebody else's" in found.text
    assert found.fix is None
    assert found.remedy == "if nobody needs it, rename it to get a view"
    view.rename(root / ".claude" / "mine.md")
    mend("states", root)
    healthy("states", root)


@pytest.mark.parametrize("format_", formats.NAMES)
def test_leftovers_of_every_format_are_told(root: Path, format_: str) -> None:
    """What was set aside, and temporary files of writers that were killed, in every folder that a format writes to."""
    holdfast("start", "User auth", "--format", format_, "--phase", "Design", root=root)
    written = [each for each in root.rglob("*") if each.is_file() and each.parent.name != "holdfast"]
    folders = {each.parent for each in written}
    assert folders
    wanted = set()
    for folder in folders:
        for name in (".any.json.4194305.0123456789ab.tmp", "any.json.corrupt-20260101_000000"):
            (folder / name).write_text("{}")
            age(folder / name, days=1)
            wanted.add(folder / name)
        (folder / ".own.tmp").write_text("somebody's own")
    told = [found for found in examine("states", root) if found.level != "ok"]
    assert {found.level for found in told} == {"notice"}
    assert {found.text.partition(" ")[0] for found in told} == {str(each) for each in wanted}
    for found in told:
        if "set aside" in found.text:  # "{}" is no state, so it may be another program's
            assert found.remedy == f"look at {found.text.partition(' ')[0]}, and remove it if nobody needs it"
            next(each for each in wanted if str(each) in found.text).unlink()
        else:
            obey(found, root)
    healthy("states", root)


def test_another_programs_file_is_neither_moved_nor_removed(root: Path, hybrid: Path) -> None:
    """Where a state was, too."""
    hybrid.write_text('{"other": 1}')
    age(hybrid)
    foreign, held = (each for each in examine("states", root) if each.level == "notice")
    assert foreign.remedy == "if it is another tool's, leave it there, and start workflows with `--format compaction`"
    assert held.text == f'{hybrid} held "Calculator", which is unfinished and in no file any more'
    assert (held.code, held.path) == ("replaced", hybrid)

    obey(held, root)
    assert list(hybrid.parent.glob("*.corrupt-*"))
    assert "rm" not in only("states", root, "notice").remedy.split()


@pytest.mark.parametrize(
    ("values", "words", "field"),
    [
        ({"phases": {}}, '"phases" must be a list', "phases"),
        ({"id": 7, "phases": {}}, '"phases" must be a list', "phases"),
        ({"phases": None}, '"phases" must be a list', "phases"),
        ({"task": ["x"]}, '"task" must be a text', "task"),
        ({"phases": [{"order": 1}]}, '"phases[0]" and the others have no "title"', "phases[0]"),
    ],
)
def test_a_workflow_that_is_none_any_more_is_a_problem(
    root: Path, hybrid: Path, values: dict[str, Any], words: str, field: str
) -> None:
    """The field is named, and nothing is moved or overwritten unasked."""
    good = hybrid.read_text()
    change(hybrid, **values)

    (found,) = (each for each in examine("states", root) if each.level == "problem")

    assert found.text.startswith(f"{hybrid}: isn't a hybrid workflow ({words})")
    assert "no workflow of the hybrid format can be kept here" in found.text
    assert found.remedy == f'correct "{field}" in {hybrid}'
    assert found.fix is None
    hybrid.write_text(good)
    healthy("states", root)


@pytest.mark.usefixtures("anybody")
@pytest.mark.parametrize("which", ["hybrid", "kept"])
@pytest.mark.parametrize("known", [True, False])
def test_a_state_file_that_is_closed_to_us_is_opened(
    root: Path, which: str, known: bool, request: pytest.FixtureRequest
) -> None:
    """By the command and by --fix; it may be sound, and is neither overwritten nor set aside."""
    file: Path = request.getfixturevalue(which)
    good = file.read_text()
    if not known:
        project = Workspace.open(root)
        for each in project.ledger_file.parent.iterdir():
            each.unlink()
    file.chmod(0o000)

    found = only("states", root, "problem")

    assert (found.text, found.remedy) == (f"{file}: cannot be read: Permission denied", f"chmod u+rw {file}")
    obey(found, root)
    healthy("states", root)
    file.chmod(0o000)
    assert mend("states", root) == [f"made {file} readable and writable for you"]
    assert file.read_text() == good
    healthy("states", root)


def test_what_is_set_aside_replaces_nothing(tmp_path: Path) -> None:
    """Somebody may have set the file's predecessor aside."""
    path = tmp_path / "a file"
    said = []
    for _ in range(3):
        path.write_text("x")
        said.append(findings.aside(path))
        subprocess.run(shlex.split(said[-1]), check=True)

    assert [each.rpartition("file.")[2].strip("'") for each in said] == ["aside", "aside-2", "aside-3"]
    assert len(list(tmp_path.iterdir())) == 3
    assert findings.aside(path) == f"look at {path}"
