"""Document 001, where a state file lies and what it is called (R001-01 to -04, -26, I001-4, -5, -7)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast
from tests.requirements import document_001 as document
from tests.requirements.document_001 import FOLDER, Desk, by_command, by_memory_file, state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

NOW = "2025-12-09T14:30:52.123456Z"
WRITERS = pytest.mark.parametrize("write", document.WRITERS)


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


def location() -> re.Pattern[str]:
    """Return the document's location template as a pattern."""
    template = re.escape(document.words("location.txt").strip().removeprefix("./"))
    name, moment = re.escape("{workflow-name}"), re.escape("{start-time}")
    first = template.replace(name, "(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)", 1)
    return re.compile(first.replace(name, "(?P=name)").replace(moment, r"(?P<time>\d{8}_\d{6})"))


def place(desk: Desk, path: Path) -> str:
    return path.relative_to(desk.root).as_posix()


def test_the_place_is_relative_to_the_projects_root(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R001-01: whatever folder the command or the client works in, the files of this project lie in this project."""
    (desk.root / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(desk.root / "deep" / "down")
    holdfast("start", "By command", "--phase", "One")
    desk.put("CLAUDE.local.md", "Workflow: By memory\nPhase: 1/2 - One\n")
    desk.precompact(cwd=str(tmp_path))

    assert [path.parent.name for path in desk.files] == ["by-command", "by-memory"]
    assert list(tmp_path.rglob("state-*.json")) == desk.files


@WRITERS
@pytest.mark.parametrize("now", [NOW, "2025-12-09T23:30:52+09:00", "2025-12-09T09:30:52-05:00"])
def test_the_start_time_in_the_name_is_date_and_time_in_utc(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, write: Callable[..., None], now: str
) -> None:
    """R001-02: {start-time} is YYYYMMDD_HHMMSS, 20251209_143052 in the document's example."""
    monkeypatch.setenv("HOLDFAST_NOW", now)
    write(desk, "Anything")

    assert desk.file.name == "state-anything-20251209_143052.json"


@WRITERS
@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("Feature Implementation", "feature-implementation"),
        ("QA Loop", "qa-loop"),
        ("Release_2.0  (final!)", "release-2-0-final"),
        ("  UPPER   and\tlower ", "upper-and-lower"),
        ("../../etc/passwd", "etc-passwd"),
        ("/absolute/path", "absolute-path"),
        ("a/../../b", "a-b"),
        ("C:\\temp\\x", "c-temp-x"),
        ("Résumé café", "resume-cafe"),
        (f"{'a' * 49} {'b' * 40}", "a" * 49),
        ("Feature Implementation (User Auth)", "feature-implementation-user-auth"),
    ],
)
def test_a_name_is_made_safe_for_a_path(desk: Desk, write: Callable[..., None], name: str, folder: str) -> None:
    """R001-01, R001-03, I001-4, I001-5: the whole name in lower case with hyphens, cut at 50, inside the folder."""
    write(desk, name)

    found = location().fullmatch(place(desk, desk.file))
    assert found, desk.file
    assert found["name"] == folder
    assert desk.state["workflow"].strip() == name.strip(), "the name itself stays as it was given"
    assert desk.file.resolve().is_relative_to(desk.root.resolve() / FOLDER)


@pytest.mark.parametrize("name", [".", "..", "../..", "/", "~", "*", "$HOME/x", "-", "\\", "CON", "a\nb"])
def test_no_name_leads_out_of_the_folder(desk: Desk, name: str) -> None:
    """R001-03: whatever a workflow is called, its file is one level below the folder of state files."""
    by_name = desk.run("start", "--phase", "One", "--", name)

    assert by_name.code == 0
    assert location().fullmatch(place(desk, desk.file))
    assert [path for path in desk.root.rglob("state-*") if path != desk.file] == []


@WRITERS
def test_a_name_without_a_single_safe_character_gets_a_stable_folder_of_its_own(
    desk: Desk, write: Callable[..., None]
) -> None:
    """I001-5: a name in another script has a folder that is never "", the same every time and not its neighbour's."""
    write(desk, "データ移行")
    (first,) = desk.files
    write(desk, "計画を立てる")
    second = next(path for path in desk.files if path != first)

    assert location().fullmatch(place(desk, first))
    assert location().fullmatch(place(desk, second))
    assert first.parent != second.parent
    first.unlink()
    by_command(desk, "データ移行")
    assert {path.parent for path in desk.files} == {first.parent, second.parent}


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_a_workflow_without_a_name_is_refused(desk: Desk, name: str) -> None:
    """R001-03, I001-5: never a directory without a name."""
    said = desk.run("start", name, "--phase", "One", code=1)

    assert "needs a title" in said.err
    assert not (desk.root / FOLDER).exists()


def test_each_workflow_has_a_directory_of_its_own_and_several_are_normal(desk: Desk) -> None:
    """R001-04: one directory per workflow, several at once, from the memory file, the command line and by hand."""
    by_memory_file(desk, "Page Orchestration")
    by_command(desk, "QA Loop")
    desk.keep(state("Database Migration"), "migration")

    assert [path.parent.name for path in desk.files] == ["migration", "page-orchestration", "qa-loop"]
    listed = desk.run("status", "--json")
    assert {row["title"] for row in listed.json["workflows"]} == {"Page Orchestration", "QA Loop", "Database Migration"}
    assert listed.err == ""


@pytest.mark.parametrize(
    ("title", "now", "example"),
    [
        ("Feature Implementation", "2025-12-09T14:30:52Z", "feature-implementation"),
        ("QA Loop", "2025-12-09T15:00:00Z", "qa-loop"),
        ("Plan 001", "2025-12-09T16:00:00Z", "plan-001"),
    ],
)
def test_the_paths_of_the_documents_examples_come_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, title: str, now: str, example: str
) -> None:
    """R001-26: feature-implementation, qa-loop and plan-001, started at the times of the document's tree."""
    monkeypatch.setenv("HOLDFAST_NOW", now)
    by_command(desk, title)

    tree = document.words("directory-structure.txt")
    assert f"{desk.file.parent.name}/" == f"{example}/"
    assert f"── {desk.file.parent.name}/\n" in tree
    assert f"└── {desk.file.name}\n" in tree
    if example == "feature-implementation":
        assert f"./{place(desk, desk.file)}" == document.words("file-name-example.txt").strip()


def test_the_newest_readable_file_of_a_workflow_counts_and_the_others_are_warned_of(desk: Desk) -> None:
    """I001-7: several files match the workflow's name: the newest that is not corrupt is read and updated."""
    older = desk.keep(state("QA Loop", phase={"current": 1}), "qa-loop", age=300)
    newer = desk.put(f"{FOLDER}/qa/state-qa-20251209_150000.json", json.dumps(state("qa  loop")), age=200)
    broken = desk.put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_160000.json", '{"workflow": "QA Loop", ', age=100)
    before = (older.read_bytes(), broken.read_bytes())

    shown = desk.show()
    assert (shown["path"], shown["current"]) == (str(newer), 2)
    assert [warning for warning in shown["warnings"] if place(desk, older) in warning]
    assert [problem["path"] for problem in desk.explain()["problems"]] == [str(broken)]

    desk.put("CLAUDE.local.md", "# Workflow State\nWorkflow: QA Loop\nPhase: 3/3 - Verify\n")
    desk.precompact()
    assert desk.read(newer)["phase"]["current"] == 3
    assert (older.read_bytes(), broken.read_bytes()) == before
    assert len(desk.files) == 3


def test_a_directory_an_agent_chose_is_found_by_the_workflow_field_and_then_by_its_name(desk: Desk) -> None:
    """I001-4: the document's own `Feature Implementation (User Auth)` lies in `feature-implementation`."""
    example = document.example("required-fields")
    path = desk.keep(example, "feature-implementation", age=100)
    for name, phase in (("Feature Implementation (User Auth)", 3), ("Feature Implementation", 4)):
        desk.put("CLAUDE.local.md", f"# Workflow State\nWorkflow: {name}\nPhase: {phase}/5 - Go on\n", age=10 - phase)
        desk.precompact()
        assert desk.files == [path]
        assert desk.read(path)["phase"]["current"] == phase
        assert desk.read(path)["workflow"] == example["workflow"]


def test_the_field_outranks_the_directory(desk: Desk) -> None:
    """I001-4: a file that names the workflow is its own, whatever lies newer in a directory of that name."""
    named = desk.keep(state("QA Loop"), "somewhere", age=300)
    misplaced = desk.keep(state("Something else"), "qa-loop", age=100)
    before = misplaced.read_bytes()
    desk.put("CLAUDE.local.md", "# Workflow State\nWorkflow: QA Loop\nPhase: 3/3 - Verify\n")
    desk.precompact()

    assert desk.read(named)["phase"]["current"] == 3
    assert misplaced.read_bytes() == before
