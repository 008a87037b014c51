"""`holdfast report` writes one private page to the given path, and `forget` removes it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from holdfast import paths
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

PLACE = ".claude/holdfast/report.html"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a workflow and two sessions."""
    made = holdfast_project({})
    there = Workspace.open(made.root)
    for session in (ME, OTHER):
        conversations.note_event(there, session)
    there.close()
    holdfast("start", "Calculator", "--phase", "Build it", root=made.root, session=ME)
    return made


def test_it_is_written_into_our_folder_and_said_where(project: HoldfastProject) -> None:
    """0600, ignored by git; made again it replaces itself."""
    for _ in range(2):
        said = holdfast("report", root=project.root)
        assert (said.code, said.out, said.err) == (0, f"Wrote {project.root / PLACE}.\n", "")
    page = project.root / PLACE
    assert "Calculator" in page.read_text("utf-8")
    assert page.stat().st_mode & 0o777 == 0o600
    assert (page.parent / ".gitignore").read_text("utf-8") == "*\n"
    page.chmod(0o644)
    page.write_text(page.read_text("utf-8") + "older", "utf-8")
    holdfast("report", root=project.root)
    assert page.stat().st_mode & 0o777 == 0o600
    assert not page.read_text("utf-8").endswith("older")


@pytest.mark.parametrize("text", ["mine", "<!doctype html>\n<title>Our test run</title>", ""])
def test_a_page_of_somebody_else_is_not_overwritten(project: HoldfastProject, text: str) -> None:
    """Unless FILE names it; what to do is said."""
    page = project.root / PLACE
    page.parent.mkdir(exist_ok=True)
    page.write_text(text, "utf-8")

    said = holdfast("report", root=project.root, code=1).err

    assert f"{page} isn't a report of Holdfast; name another file, or move it away" in said
    assert page.read_text("utf-8") == text
    holdfast("report", str(page), root=project.root)
    assert "Calculator" in page.read_text("utf-8")


def test_only_what_is_asked_for_is_in_it(project: HoldfastProject) -> None:
    """One session, named by the beginning of its id; a span of time."""
    one = holdfast("report", "--session", "2222", "-", root=project.root).out
    assert (ME[:8] in one, OTHER[:8] in one, "Calculator" in one) == (False, True, False)
    none = holdfast("report", "--since", "2999-01-01", "-", root=project.root).out
    assert "Claude Code compacts a session when" in none
    assert 'id="sessions"' not in none


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (("--session", "999"), "no session of this project begins with '999'", 1),
        (("--since", "whenever"), "'whenever' is not a time", 2),
        (("/dev/null/report.html",), "/dev/null/report.html: cannot be written: ", 1),
    ],
)
def test_a_mistake_is_named(project: HoldfastProject, arguments: tuple[str, ...], words: str, code: int) -> None:
    """And nothing is written."""
    said = holdfast("report", *arguments, root=project.root, code=code)
    assert words in said.err
    assert not (project.root / PLACE).exists()


def test_without_a_browser_you_are_told_to_open_it(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the page is there."""
    for code, words in ((0, ""), (1, "No browser could be started. Open the file in one.\n")):
        monkeypatch.setattr(click, "launch", {str(project.root / PLACE): code}.__getitem__)
        assert holdfast("report", "--open", root=project.root).err == words


@pytest.mark.parametrize("place", [None, "elsewhere"])
def test_a_project_without_a_folder_of_the_clients_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str | None
) -> None:
    """The page lies in the state folder, is private, says how to start, is replaced, and `forget` finds it."""
    root = tmp_path / "empty"
    root.mkdir()
    monkeypatch.chdir(root if place is None else tmp_path)
    for _ in range(2):
        first, second = holdfast("report", "--project", str(root)).out.splitlines()
    page = Path(first.removeprefix("Wrote ").removesuffix(".")).expanduser()
    assert second == "Nothing has happened in this project yet. The page says how to start."
    assert list(root.iterdir()) == []
    assert page.is_relative_to(paths.state_dir())
    assert page.stat().st_mode & 0o777 == 0o600
    assert "Start a workflow" in page.read_text("utf-8")
    holdfast("forget", "--everything", "--yes", "--project", str(root))
    assert not page.exists()


def test_no_link_is_followed(project: HoldfastProject, tmp_path: Path) -> None:
    """What it leads to stays as it is."""
    other = tmp_path / "other.html"
    other.write_text("mine", "utf-8")
    (project.root / PLACE).parent.mkdir(parents=True, exist_ok=True)
    (project.root / PLACE).symlink_to(other)
    said = holdfast("report", root=project.root, code=1)
    assert PLACE in said.err
    assert other.read_text("utf-8") == "mine"


@pytest.mark.parametrize("scope", [("--session", OTHER), ("--everything",), ("--workflow", "*")])
def test_forgetting_anything_takes_the_report_away(project: HoldfastProject, scope: tuple[str, ...]) -> None:
    """For it tells of everything; its words stand in no file then."""
    holdfast("report", root=project.root)
    only = holdfast("status", "--json", root=project.root).json["workflows"][0]["id"]
    scope = tuple(only if each == "*" else each for each in scope)
    planned = holdfast("forget", *scope, "--dry-run", root=project.root)
    assert planned.out.count(f"file: {project.root / PLACE}") == 1, planned.err
    assert (project.root / PLACE).exists()
    assert holdfast("forget", *scope, "--yes", root=project.root).code == 0
    assert not (project.root / PLACE).exists()
    found = subprocess.run(["grep", "-rl", "<!doctype", str(project.root)], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_forgetting_takes_no_page_that_a_link_leads_to(project: HoldfastProject, tmp_path: Path) -> None:
    """Nor a folder that is called like one."""
    page = tmp_path / "elsewhere" / "mine.html"
    page.parent.mkdir()
    page.write_text("mine", "utf-8")
    place = (project.root / PLACE).parent
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(page.parent)
    holdfast("forget", "--everything", "--yes", root=project.root)
    assert page.read_text("utf-8") == "mine"
    place.unlink()
    (place / "odd.html").mkdir(parents=True)
    holdfast("report", root=project.root)
    holdfast("forget", "--everything", "--yes", root=project.root)
    assert [each.name for each in place.iterdir()] == ["odd.html"]
