"""`holdfast skills …`: checks and repairs, refusals, and trust. The rest is in `requirements/test_document_004.py`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.skills import paths, record
from tests.commandline import holdfast
from tests.formats.skills import documents
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

FEATURE = "features/auth/user-login.md"
FILE = "# User login\n\n- [ ] Add User model\n- [ ] Add login method\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a feature file that has two boxes."""
    write(tmp_path, FEATURE, FILE)
    return tmp_path


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def skills(root: Path, *arguments: str, code: int = 0, session: str = "") -> Any:
    return holdfast("skills", *arguments, root=root, code=code, session=session)


def start(root: Path, session: str = "") -> Any:
    """Start /dev for the feature file, up to its tasks."""
    said = skills(root, "start", "dev", FEATURE, session=session)
    skills(root, "phase", "create_branch", session=session)
    return said


def state(root: Path, key: str = FEATURE, skill: str = "dev", folder: str = "active") -> dict[str, Any]:
    path = root / record.TOP / folder / f"{paths.stem(skill, key)}.json"
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def doctor(root: Path, *words: str) -> str:
    """Run `holdfast doctor`, which has more to say here: no hook is registered."""
    return str(holdfast("doctor", *words, root=root, code=1).out)


def test_what_is_wrong_is_named_and_mended(root: Path) -> None:
    """The index, a finished file among the active ones, and the boxes of the feature file, which nobody changes."""
    start(root)
    ticked = write(root, FEATURE, FILE.replace("- [ ]", "- [X]", 1)).read_text()
    assert "1/2 boxes ticked, the state has 0/2 tasks completed" in doctor(root)
    done = documents.state("dev")
    done["workflow"]["status"] = "completed"
    write(root, f"{record.TOP}/active/dev-00000000.json", json.dumps(done))
    said = doctor(root)
    assert "active/dev-00000000.json is completed" in said
    assert "not listed" not in said
    (root / record.TOP / "index.json").unlink()
    assert "index.json is missing" in doctor(root)

    assert "active/dev-00000000.json is gone; completed/ has it" in doctor(root, "--fix")

    said = doctor(root)
    assert "index.json" not in said and "active/dev-00000000" not in said
    assert (root / FEATURE).read_text() == ticked
    write(root, f"{record.TOP}/active/dev-11111111.json", "{")
    assert "dev-11111111" in doctor(root)


def test_a_broken_file_gets_its_last_content_back(root: Path) -> None:
    """What was broken stays beside it, and the index keeps its one entry."""
    start(root)
    (path,) = (root / record.TOP / "active").glob("*.json")
    raw = path.read_bytes()
    path.write_bytes(raw[:400])

    assert "its last content is put back" in doctor(root, "--fix")

    assert path.read_bytes() == raw
    assert [each.read_bytes() for each in path.parent.glob("*.corrupt-*")] == [raw[:400]]
    assert "not listed" not in doctor(root)


@each_row("key", ['Add "login"', "a\\b", "two\nlines", "Grüße 📂", "x" * 5000, "$(true)"])
def test_any_text_is_a_key(tmp_path: Path, key: str) -> None:
    """Quotes, backslashes and line breaks gave the original invalid JSON."""
    root = tmp_path
    skills(root, "start", "tdd", key)

    assert state(root, key, "tdd")["context"]["task_description"] == key
    assert skills(root, "start", "tdd", key, "--json").json["question"] == "Resume from RED phase? [Y/n]"


def test_what_is_given_wrongly_is_refused_with_what_to_do(root: Path) -> None:
    """And nothing is written."""
    given: tuple[tuple[tuple[str, ...], str], ...] = (
        (("start", "release", "x"), "there are dev, tdd"),
        (("start", "../x", "x"), "isn't a valid skill name"),
        (("start", "dev", " "), "say what it is about"),
        (("start", "tdd", "x", "--phase", "y"), "has its own phases, and no tasks"),
        (("task", "1", "--start"), "no workflow is unfinished"),
    )
    for arguments, said in given:
        assert said in skills(root, *arguments, code=1).err, arguments
    assert not (root / record.TOP / "active").exists()
    start(root)
    given = (
        (("task", "0", "--done"), "tasks are numbered 1 to 2"),
        (("task", "1", "--done", "--commit", "a b"), "isn't a commit id"),
        (("task", "1"), "--start, --done or --reopen"),
        (("checkpoint", "lint"), "--passed or --failed"),
        (("checkpoint", "nope", "--passed"), "there are lint, test"),
        (("checkpoint", "test", "--passed", "--set", "42"), "isn't K=V"),
        (("phase", "create_branch", "--step", "lint"), "has no step 'lint'; it has no steps"),
    )
    for arguments, said in given:
        assert said in skills(root, *arguments, code=1).err, arguments


def test_tasks_that_were_completed_early_complete_their_phase(root: Path) -> None:
    """Their phase is begun and completed on the way; one that is not can't be reopened."""
    start(root)
    assert "task 2 is pending, and only a completed one" in skills(root, "task", "2", "--reopen", code=1).err
    for number in "12":
        skills(root, "task", number, "--done")
    assert "no task is in progress; `holdfast skills task N --start`" in skills(root, "tdd", "red", code=1).err
    holdfast("done", root=root)
    holdfast("update", "--phase", "3", "--rename", "Add a model", root=root)
    for command in ("phase verification --step lint", "checkpoint lint --passed"):
        assert "Nothing changed" not in skills(root, *command.split()).out
        assert "Nothing changed" in skills(root, *command.split()).out

    data = state(root)
    assert data["tasks"][0]["description"] == "Add a model"
    assert data["state_machine"]["current_step"] == "lint"
    assert [each["status"] for each in data["state_machine"]["phases"]] == [
        *["completed"] * 3,
        "in_progress",
        "pending",
    ]
    about = [(each["event"], each.get("phase", "")) for each in data["history"]][-6:-2]
    assert about == [
        ("phase_completed", "create_branch"),
        ("phase_started", "task_execution"),
        ("phase_completed", "task_execution"),
        ("phase_started", "verification"),
    ]


def test_what_is_missing_is_said(root: Path) -> None:
    """A feature file, the answer to the question, a part of a task, and checkpoints."""
    assert "there is no features/none.md" in skills(root, "start", "dev", "features/none.md", code=1).err
    start(root)
    shown = skills(root, "start", "dev", FEATURE).out
    assert shown.endswith(f"`holdfast skills start dev {FEATURE} --yes` continues it.\n")
    refused = skills(root, "tdd", "commit", code=1).err
    assert "has no part 'commit'" in refused and "holdfast skills task N --done --commit SHA" in refused
    for name in skills(root, "pending").out.split():
        skills(root, "checkpoint", name, "--passed")
    assert skills(root, "pending").out == "No checkpoint is pending.\n"


def test_a_workflow_that_ends_early_prints_no_signal(root: Path) -> None:
    """DEV_COMPLETE is for one that is completed, and a failed checkpoint lets none end."""
    start(root)
    skills(root, "checkpoint", "pr_created", "--failed")
    refused = holdfast("done", "--all", root=root, code=1).err
    assert "checkpoint pr_created --passed --workflow dev-" in refused and "holdfast cancel dev-" in refused
    skills(root, "checkpoint", "pr_created", "--passed")
    assert "DEV_COMPLETE" not in holdfast("done", "--all", root=root).out


def test_a_command_answers_with_json(root: Path) -> None:
    """One JSON value, whatever came of it."""
    assert skills(root, "start", "dev", FEATURE, "--json").json["phase"] == "Load feature"
    assert skills(root, "phase", "create_branch", "--json").json["phase"] == "Create branch"
    assert skills(root, "pending", "--json").json[0] == "lint"
    assert "Found active workflow:" in skills(root, "start", "dev", FEATURE, "--json").json["shown"]
