"""What the user excludes is in nothing that Holdfast captures."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast import capture, config, paths
from holdfast.config import Config
from holdfast.sessions import archive, contents, recordings
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.handmade import ME
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject


@each_row(
    "glob, path, allowed",
    [
        (".env", "/x/.env", False),
        (".env", "/x/.env/deeper", False),
        (".env", "/x/a.env", True),
        ("secrets", "secrets", False),
        ("secrets/", "/p/secrets/a/b", False),
        ("secrets/**", "/p/secrets/a/b", False),
        ("secrets", "/p/secretsauce", True),
        ("*.pem", "a/b.pem", False),
        ("*.pem", "a/b.pem.txt", True),
        ("/abs/x", "/abs/x/y", False),
        ("/abs/x", "/q/abs/x/y", True),
        ("a/*/c", "z/a/b/c", False),
        ("a/*/c", "z/a/b/d/c", True),
        ("a/**/c", "a/c", False),
        ("a/**/c", "a/b/d/c/e", False),
        ("?.txt", "b.txt", False),
        ("?.txt", "bb.txt", True),
        ("[ab].txt", "b.txt", False),
        ("[!ab].txt", "b.txt", True),
        ("[!ab].txt", "c.txt", False),
        ("a+(b).txt", "a+(b).txt", False),
        (".ENV", "x/.env", False),
        ("./secrets/x", "secrets/x", False),
        ("secrets/x", "secrets/../secrets/./x", False),
        ("secrets/x", "secrets/../x", True),
        ("[", "[", False),
        ("\\d", "5", True),
        ("~/keys", os.path.expanduser("~/keys/id"), False),  # noqa: PTH111
    ],
)
def test_globs_name_files_and_folders(glob: str, path: str, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a shell; what matches a folder matches all within."""
    if "keys" in path:
        monkeypatch.setenv("HOME", path.removesuffix("/keys/id"))
    assert capture.allowed(Config(exclude=[glob]), path) is allowed
    assert capture.allowed(Config(), path)


def test_a_link_to_what_is_kept_out_is_kept_out(tmp_path: Path) -> None:
    """By the name it has, and by what it leads to."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("x")
    (tmp_path / "plain").symlink_to(tmp_path / "secrets" / "key")
    assert not capture.allowed(Config(exclude=["secrets"]), tmp_path / "plain")
    assert capture.allowed(Config(exclude=["secret"]), tmp_path / "plain")


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    made = holdfast_project({})
    paths.ensure_private(paths.config_dir())
    paths.user_config().write_text(
        'exclude = ["secrets/**", ".env", "top secret", "untracked/workflow-state/hidden*"]\n'
        "exclude_patterns = ['ACME-\\d+']\n[handlers]\non = [\"record_events\"]\n",
        "utf-8",
    )
    return made


@pytest.mark.parametrize(
    "tool",
    [
        ("Read", {"file_path": "/p/secrets/key.txt"}, {"file": {"content": "hunter2"}}),
        ("Bash", {"command": "cat ./secrets/key.txt"}, {"stdout": "hunter2"}),
        ("Bash", {"command": "cat '.env'"}, {"stdout": "hunter2"}),
        ("Read", {"file_path": "/p/top secret/notes"}, {"file": {"content": "hunter2"}}),
        ("Grep", {"pattern": "x"}, {"content": "secrets/key.txt:3:hunter2"}),
        ("Grep", {"pattern": "x"}, {"content": ".env:3:hunter2"}),
        ("Bash", {"command": "ls", "list": [{"deep": ["see @secrets/key.txt."]}]}, {"stdout": "hunter2"}),
    ],
)
def test_a_recording_holds_nothing_of_an_excluded_file(
    project: HoldfastProject, tool: tuple[str, object, object]
) -> None:
    """Who, where and which tool is left; the next event is recorded whole."""
    name, given, response = tool
    project.fire("PostToolUse", "PostToolUse-Bash", tool_name=name, tool_input=given, tool_response=response)
    project.fire("PostToolUse", "PostToolUse-Bash", tool_input={"command": "echo"}, tool_response={"stdout": "plain"})
    there = Workspace.open(project.root)
    ((_, lines),) = recordings.read(there).items()
    assert "hunter2" not in lines[0] and capture.MASK in lines[0]
    assert f'"tool_name": "{name}"' in lines[0] and project.session in lines[0]
    assert '"stdout": "plain"' in lines[1]


def test_a_recording_holds_nothing_a_pattern_matches(project: HoldfastProject) -> None:
    """Only that is masked, in values and in keys; prose about secrets is prose."""
    given = {"command": "echo ACME-12 and secrets are fine", "ACME-13": 1}
    project.fire("PostToolUse", "PostToolUse-Bash", tool_input=given, tool_response={"stdout": "ACME-14é"})
    there = Workspace.open(project.root)
    ((_, (line,)),) = recordings.read(there).items()
    assert "ACME-" not in line
    assert f"echo {capture.MASK} and secrets are fine" in line


def test_no_generation_is_kept_of_an_excluded_state_file(project: HoldfastProject) -> None:
    """So it is in no archive either, and what is broken of it cannot be mended; a copy stays when it goes."""
    for title in ("Hidden one", "Open one"):
        holdfast("start", title, "--phase", "One", "--phase", "Two", root=project.root, session=ME)
        holdfast("done", title, root=project.root, session=ME)
    there = Workspace.open(project.root)
    kept = {each.title: len(contents.list_versions(there, each.path)) for each in registry.all_found(there).workflows}
    assert kept == {"Hidden one": 0, "Open one": 2}
    for title in ("Hidden one", "Open one"):
        holdfast("done", "--all", title, root=project.root, session=ME)
    assert [each.workflow.title for each in archive.entries(there)] == ["Open one"]
    there.close()
    assert [path.parent.name for path in project.root.glob("untracked/*/*/*.kept-*")] == ["hidden-one"]


def test_bad_patterns_are_named_and_the_others_count(tmp_path: Path) -> None:
    """One mistake must not let in all that was kept out."""
    paths.ensure_private(paths.config_dir())
    paths.user_config().write_text("exclude = [\"\", \"a\"]\nexclude_patterns = ['(', 'x*', 'ok']\n", "utf-8")
    loaded = config.load(None, trusted=False)
    assert (loaded.config.exclude, loaded.config.exclude_patterns) == (["a"], ["ok"])
    globs, patterns = loaded.problems
    assert "key 'exclude': string should match pattern '[^/ ]', got ''; the others count" in globs
    assert "key 'exclude_patterns': '(' isn't a regular expression: missing )" in patterns
    paths.user_config().write_text("exclude_patterns = ['x*']\n", "utf-8")
    (problem,) = config.load(None, trusted=False).problems
    assert "'x*' matches the empty text, so it would match everywhere; the default is used" in problem
