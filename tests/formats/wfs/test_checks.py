"""`holdfast doctor wfs` names inconsistencies in `.workflow/` and repairs those it can."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast
from tests.doctoring import examine, healthy, mend, obey, only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def session(root: Path) -> Path:
    """The folder of a session with two tasks."""
    holdfast("start", "User Auth", "--format", "wfs", root=root)
    for title in ("Implement one", "Implement two"):
        holdfast("wfs", "task", "add", title, "--focus", "src", root=root)
    return root / ".workflow" / "WFS-user-auth"


@pytest.fixture
def root(root: Path) -> Path:
    """A project with the folder that its tasks are about."""
    (root / "src").mkdir()
    return root


def test_none_and_a_sound_one(root: Path, request: pytest.FixtureRequest) -> None:
    """No folder is no fault."""
    assert healthy("wfs", root) == "0 workflows, with consistent files"
    request.getfixturevalue("session")
    assert healthy("wfs", root) == "1 workflow, with consistent files"
    assert "1 workflow," in healthy("states", root)


def test_what_a_repair_can_do_is_done(root: Path, session: Path) -> None:
    """An orphaned marker, one that is missing, a list that lags behind."""
    marker, listed = root / ".workflow/.active-WFS-user-auth", session / "TODO_LIST.md"
    rows: dict[str, Callable[[], object]] = {
        ".active-WFS-gone marks a session that is not there": marker.with_name(".active-WFS-gone").touch,
        "its status is active, but no marker names it": marker.unlink,
        "TODO_LIST.md: IMPL-1 is missing from it": lambda: listed.write_text(
            "".join(each for each in listed.read_text().splitlines(keepends=True) if "IMPL-1" not in each)
        ),
    }
    for named, spoil in rows.items():
        marker.touch()
        healthy("wfs", root)
        spoil()
        found = only("wfs", root, "notice")
        assert named in found.text
        obey(found, root)
        healthy("wfs", root)
        holdfast("claim", "WFS-user-auth", root=root)


@pytest.mark.parametrize("broken", ['{"cut', "[1]"])
def test_a_task_that_cannot_be_read_gets_its_last_content(broken: str, root: Path, session: Path) -> None:
    """Also over JSON of another kind, which is kept. One that nobody has kept is for a person to mend."""
    known, unknown = session / ".task/IMPL-1.json", session / ".task/IMPL-3.json"
    good = known.read_text()
    known.write_text(broken)
    unknown.write_text('{"cut')
    problems = {each.text for each in examine("wfs", root) if each.level == "problem"}
    assert len(problems) == 2
    assert any(".task/IMPL-1.json" in text and "the last content Holdfast kept is used" in text for text in problems)
    assert any(".task/IMPL-3.json" in text for text in problems)
    assert len(mend("wfs", root)) >= 1
    assert json.loads(known.read_text()) == json.loads(good)
    assert [each.read_text() for each in known.parent.glob("IMPL-1.json.*")] == [broken]
    left = [each for each in examine("wfs", root) if each.level == "problem"]
    assert [".task/IMPL-3.json" in each.text for each in left] == [True]


def test_each_broken_rule_is_a_finding_with_its_file_and_field(root: Path, session: Path) -> None:
    """Nobody has to read the sentence."""
    path = session / ".task/IMPL-1.json"
    data = json.loads(path.read_text())
    data["context"]["focus_paths"] = ["src/**", "docs/*.md"]
    path.write_text(json.dumps(data))
    assert [(each.code, each.path, each.field) for each in examine("wfs", root)] == [
        ("rule-6", path, "context.focus_paths[0]"),
        ("rule-6", path, "context.focus_paths[1]"),
    ]


def test_what_only_a_person_can_decide(root: Path, session: Path) -> None:
    """A session whose tasks are all done, and a folder that is none."""
    for number in (1, 2):
        holdfast("wfs", "task", "complete", f"IMPL-{number}", root=root)
    found = only("wfs", root, "notice")
    assert "all 2 tasks are completed, but the session is active" in found.text
    obey(found, root)
    healthy("wfs", root)
    (root / ".workflow").rename(root / "old")
    (root / ".workflow").write_text("")
    assert "isn't a folder" in only("wfs", root, "problem").text


def test_a_completed_session_is_left_in_peace(root: Path, session: Path) -> None:
    """Nothing is written in it any more, so nobody is told of a list that lags behind."""
    for number in (1, 2):
        holdfast("wfs", "task", "complete", f"IMPL-{number}", root=root)
    holdfast("done", "--all", root=root)
    (session / "TODO_LIST.md").unlink()

    healthy("wfs", root)
