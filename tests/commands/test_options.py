"""Options mean the same on every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.commands import options
from holdfast.files import trust
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from tests.commandline import Said, holdfast
from tests.handmade import ME
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_project_is_named_or_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--project`, HOLDFAST_PROJECT_DIR, CLAUDE_PROJECT_DIR, then upward from here."""
    folders = {name: tmp_path / name for name in ("option", "ours", "theirs", "here")}
    for folder in folders.values():
        (folder / ".claude").mkdir(parents=True)
    (folders["here"] / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(folders["here"] / "deep" / "down")
    assert options.open_project(None).root == folders["here"]

    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folders["theirs"]))
    assert options.open_project(None).root == folders["theirs"]
    monkeypatch.setenv("HOLDFAST_PROJECT_DIR", str(folders["ours"]))
    assert options.open_project(None).root == folders["ours"]
    assert options.open_project(str(folders["option"])).root == folders["option"]
    assert options.open_project("../../../option").root == folders["option"]


def doctor() -> Said:
    return holdfast("doctor", code=1)  # nothing is installed


def test_a_folder_in_which_a_session_was_seen_is_its_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session started in a package of a repository works there (CLAUDE_PROJECT_DIR), so a command typed there does.

    Before any was seen the repository is meant, and `start` says which sessions that leaves out.
    """
    root, package = tmp_path / "repo", tmp_path / "repo" / "packages" / "one"
    (root / ".git").mkdir(parents=True)
    (package / "src").mkdir(parents=True)
    monkeypatch.chdir(package)
    assert options.open_project(None).root == root
    said = holdfast("start", "Everywhere")
    own = f"Note: this is about the project {root}. A session that you start in {package} is a project of its own"
    assert own in said.err
    assert "--project ." in said.err
    assert own in doctor().err

    seen = Workspace.open(package)
    conversations.note_event(seen, ME)
    seen.close()
    assert options.open_project(None).root == package
    assert holdfast("start", "Here").err == ""
    assert doctor().err == ""
    monkeypatch.chdir(package / "src")
    assert options.open_project(None).root == package
    monkeypatch.chdir(root / "packages")
    assert options.open_project(None).root == root
    monkeypatch.setenv("HOLDFAST_PROJECT_DIR", str(root))
    monkeypatch.chdir(package)
    assert options.open_project(None).root == root
    assert holdfast("start", "Named").err == ""


@each_row("name", ["--project", "HOLDFAST_PROJECT_DIR", "CLAUDE_PROJECT_DIR"])
def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """State must not land somewhere else unnoticed; what named it is said."""
    missing = str(tmp_path / "nope")
    if name != "--project":
        monkeypatch.setenv(name, missing)

    said = holdfast("start", "T", *(["--project", missing] if name == "--project" else []), code=1)

    assert f"{name} names {missing}, which is not a folder" in said.err


def test_the_projects_configuration_counts_as_far_as_it_is_trusted(tmp_path: Path) -> None:
    """On the command line as on the hook path."""
    (tmp_path / ".claude").mkdir()
    path = tmp_path / ".claude" / "holdfast.toml"
    path.write_text('todos = "off"\n')
    assert options.open_project(str(tmp_path)).config.todos == "tell"

    trust.grant(tmp_path, {".claude/holdfast.toml": trust.digest(path.read_bytes())})
    assert options.open_project(str(tmp_path)).config.todos == "off"


@each_row("line", ["server --json --stop", "restore --show --diff"])
def test_options_that_exclude_each_other_are_refused(line: str) -> None:
    """Nothing is done."""
    assert "can't be used together; choose one" in holdfast(*line.split(), code=2).err
