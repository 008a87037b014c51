"""`holdfast skills …`: checks and repairs, refusals, and trust. The rest is in `requirements/test_document_004.py`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.skills import places
from holdfast.workflow import definitions
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
    said = skills(root, "start", "dev", "--feature", FEATURE, session=session)
    skills(root, "phase", "create_branch", session=session)
    return said


def state(root: Path, key: str = FEATURE, skill: str = "dev", folder: str = "active") -> dict[str, Any]:
    path = root / places.TOP / folder / f"{places.stem(skill, key)}.json"
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def test_what_is_wrong_is_named_and_mended(root: Path) -> None:
    """The index, a finished file among the active ones, and the boxes of the feature file, which nobody changes."""
    start(root)
    ticked = write(root, FEATURE, FILE.replace("- [ ]", "- [X]", 1)).read_text()
    assert "1/2 boxes ticked, the state has 0/2 tasks completed" in skills(root, "check").out
    done = documents.state("dev")
    done["workflow"]["status"] = "completed"
    write(root, f"{places.TOP}/active/dev-00000000.json", json.dumps(done))
    said = skills(root, "check").out
    assert "dev-00000000 is completed, but lies in active/" in said
    assert "not listed" not in said
    (root / places.TOP / "index.json").unlink()
    assert "index.json is missing" in skills(root, "check").out

    said = skills(root, "repair").out

    assert "dev-00000000 is moved to completed/" in said
    assert "repaired" not in skills(root, "repair").out
    assert (root / FEATURE).read_text() == ticked
    write(root, f"{places.TOP}/active/dev-11111111.json", "{")
    assert [each["serious"] for each in skills(root, "check", "--json", code=1).json].count(True) == 1
    (root / places.TOP / "active" / "dev-22222222.json").mkdir()
    assert "or move it away" in skills(root, "check", code=1).out
    assert "dev-11111111" in holdfast("doctor", root=root, code=1).out


@pytest.mark.parametrize(("words", "code"), [(("skills", "repair"), 0), (("doctor", "--fix"), 1)])
def test_a_broken_file_gets_its_last_content_back(root: Path, words: tuple[str, ...], code: int) -> None:
    """As its readers are told; what was broken stays beside it, and the index keeps its one entry."""
    start(root)
    (path,) = (root / places.TOP / "active").glob("*.json")
    raw = path.read_bytes()
    path.write_bytes(raw[:400])
    said = skills(root, "check", code=1).out
    assert "its last good content is used → holdfast skills repair" in said

    assert "last good content" in holdfast(*words, root=root, code=code).out  # no hook is registered here

    assert path.read_bytes() == raw
    assert [each.read_bytes() for each in path.parent.glob("*.corrupt-*")] == [raw[:400]]
    assert "not listed" not in skills(root, "check").out


@each_row("key", ['Add "login"', "a\\b", "two\nlines", "Grüße 📂", "x" * 5000, "$(true)"])
def test_any_text_is_a_key(tmp_path: Path, key: str) -> None:
    """Quotes, backslashes and line breaks gave the original invalid JSON."""
    root = tmp_path
    skills(root, "start", "tdd", "--task", key)

    assert state(root, key, "tdd")["context"]["task_description"] == key
    assert skills(root, "resume", key, "--json").json["current_phase"] == "red"


def test_what_is_given_wrongly_is_refused_with_what_to_do(root: Path) -> None:
    """And nothing is written."""
    given: tuple[tuple[tuple[str, ...], str], ...] = (
        (("start", "release", "--task", "x"), "there are dev, tdd"),
        (("start", "../x", "--task", "x"), "isn't a valid skill name"),
        (("start", "dev"), "--feature FILE or --task TEXT"),
        (("start", "dev", "--feature", " "), "--feature FILE or --task TEXT"),
        (("start", "tdd", "--task", "x", "--item", "y"), "has no phase for tasks"),
        (("start", "dev", "--task", "x", "--phase", "y"), "has its own phases"),
        (("task", "1", "--start"), "`holdfast skills start SKILL --feature FILE` starts one"),
    )
    for arguments, said in given:
        ended = holdfast("skills", *arguments, root=root, code=2 if "--feature FILE or" in said else 1)
        assert said in ended.err, arguments
    assert not (root / places.TOP / "active").exists()
    start(root)
    given = (
        (("task", "0", "--done"), "tasks are numbered 1 to 2"),
        (("task", "1", "--done", "--commit", "a b"), "isn't a commit id"),
        (("task", "1"), "--start, --done or --reopen"),
        (("complete",), "`holdfast skills complete --all` completes what is open, too"),
        (("checkpoint", "test", "--passed", "--count", "-1"), "-1 is not in the range x>=0"),
        (("checkpoint", "lint"), "--passed or --failed"),
        (("checkpoint", "nope", "--passed"), "there are lint, test"),
        (("step", "lint"), "has no step 'lint'; it has no steps"),
        (("phase", "create_branch", "--set", "x=1"), "has no field 'x'"),
        (("pr",), "--number N, --url URL"),
        (("block", " "), "REASON is empty"),
    )
    for arguments, said in given:
        usage = said in (
            "isn't a commit id",
            "--start, --done or --reopen",
            "--passed or --failed",
            "-1 is not in the range x>=0",
            "--number N, --url URL",
        )
        assert said in holdfast("skills", *arguments, root=root, code=2 if usage else 1).err, arguments


def test_a_projects_machine_is_trusted_by_a_person(root: Path) -> None:
    """It is shown first; without a terminal, --yes says that it was read."""
    text = '[[phases]]\nname = "tag"\n'
    write(root, ".claude/machines/release.toml", text)
    assert "is not trusted" in skills(root, "start", "release", "--task", "2.0", code=1).err
    assert "not used: it is not trusted" in skills(root, "machines").out
    assert "--yes" in skills(root, "trust", "release", code=1).err

    assert text in skills(root, "trust", "release", "--yes").out

    skills(root, "start", "release", "--task", "2.0")
    assert [each["used"] for each in skills(root, "machines", "--json").json] == [True] * 3
    assert "has no machine '../x'" in skills(root, "trust", "../x", "--yes", code=1).err
    assert definitions.is_trusted(root, root / ".claude" / "machines" / "release.toml")
    write(root, ".claude/machines/release.toml", text + '[[phases]]\nname = "announce"\n')
    assert "is not trusted" in skills(root, "start", "release", "--task", "3.0", code=1).err


def test_a_machines_file_name_forges_no_row(root: Path) -> None:
    """A line break in it is a space."""
    write(root, ".claude/machines/x\ndev        red → green.toml", "")

    assert [line.split()[0] for line in skills(root, "machines").out.splitlines()] == ["x", "dev", "tdd", "Your"]
