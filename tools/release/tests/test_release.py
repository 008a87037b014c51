"""`make release` names what keeps a tree, an sdist or a wheel from being released, and says what to do next."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.processes import ROOT
from tools.release import __main__ as program
from tools.release import contents, trial, version

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"LICENSE", "CHANGELOG.md", "src/holdfast/cli.py", "handlers/todos.py", "tests/test_cli.py", "docs/index.md"}
INFO = {f"holdfast-1.0.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
IN_WHEEL = {"holdfast/cli.py", "holdfast/_shipped/handlers/todos.py", "holdfast-1.0.dist-info/licenses/LICENSE", *INFO}
CHANGELOG = "# Changelog\n\n## [Unreleased]\n{}\n## [{}]{}\n\n- First.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout that can be released as 1.0."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.0"\n')
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin" / "plugin.json").write_text(json.dumps({"version": "1.0"}))
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG.format("", "1.0", " - 2026-02-03"))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    commit(tmp_path)
    return tmp_path


def commit(tree: Path) -> None:
    git = ["git", "-C", str(tree), "-c", "user.name=A", "-c", "user.email=a@example.invalid"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "All"], check=True)


def test_a_tree_that_is_ready(tree: Path) -> None:
    """Nothing has to change."""
    assert version.of(tree) == "1.0"
    assert list(version.problems(tree)) == []


@pytest.mark.parametrize(
    ("changes", "top", "date", "named"),
    [
        ("\n### Added\n\n- New.\n", "1.0", " - 2026-02-03", "has changes under [Unreleased]"),
        ("", "0.9", " - 2026-02-03", "is 0.9, but the version is 1.0"),
        ("", "1.0", "", "The entry 1.0 of CHANGELOG.md has no date"),
        ("", "1.0", " - soon", "The entry 1.0 of CHANGELOG.md has no date"),
    ],
)
def test_a_changelog_that_does_not_agree(tree: Path, changes: str, top: str, date: str, named: str) -> None:
    """With the version, or with itself."""
    (tree / "CHANGELOG.md").write_text(CHANGELOG.format(changes, top, date))
    commit(tree)
    (problem,) = version.problems(tree)
    assert named in problem


def test_a_changelog_without_entries(tree: Path) -> None:
    """It has nothing to say of the version."""
    (tree / "CHANGELOG.md").write_text("# Changelog\n")
    commit(tree)
    (problem,) = version.problems(tree)
    assert "is nothing, but the version is 1.0" in problem


def test_a_plugin_of_another_version_and_files_that_are_not_committed(tree: Path) -> None:
    """Both are named."""
    (tree / ".claude-plugin" / "plugin.json").write_text(json.dumps({"version": "0.9"}))
    (tree / "new.txt").write_text("")
    plugin, files = version.problems(tree)
    assert "plugin.json has version 0.9, but pyproject.toml has 1.0" in plugin
    assert files.startswith("Not as committed: .claude-plugin/plugin.json and 1 more.")


def sdist_of(folder: Path, names: set[str]) -> Path:
    with tarfile.open(folder / "holdfast-1.0.tar.gz", "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"holdfast-1.0/{name}"), io.BytesIO())
    return folder / "holdfast-1.0.tar.gz"


def wheel_of(folder: Path, names: set[str]) -> Path:
    with zipfile.ZipFile(folder / "holdfast-1.0-py3-none-any.whl", "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return folder / "holdfast-1.0-py3-none-any.whl"


def test_an_sdist_and_wheel_with_all_files_pass(tmp_path: Path) -> None:
    """An sdist has all files of the repository, a wheel the package and what comes with it."""
    assert list(contents.sdist_problems(sdist_of(tmp_path, {*FILES, "PKG-INFO"}), FILES)) == []
    assert list(contents.wheel_problems(wheel_of(tmp_path, IN_WHEEL), FILES)) == []


@pytest.mark.parametrize("gone", sorted(FILES))
def test_an_sdist_that_lacks_a_file(tmp_path: Path, gone: str) -> None:
    """License, changelog, tests and docs belong in it."""
    sdist = sdist_of(tmp_path, {*FILES, "PKG-INFO"} - {gone})
    assert list(contents.sdist_problems(sdist, FILES)) == [f"holdfast-1.0.tar.gz lacks {gone}."]


def test_an_sdist_that_has_too_much(tmp_path: Path) -> None:
    """Environments and fetched clients don't; the first few are named."""
    extra = {f".venv/lib/{number}.py" for number in range(6)} | {".clients/2.1.0/package/claude"}
    (problem,) = contents.sdist_problems(sdist_of(tmp_path, {*FILES, "PKG-INFO", *extra}), FILES)
    assert problem.startswith("holdfast-1.0.tar.gz has, but should not, .clients/2.1.0/package/claude, .venv/lib/0.py")
    assert problem.endswith(" and 2 more.")


def test_a_wheel_that_lacks_a_file_or_has_too_much(tmp_path: Path) -> None:
    """A test in it would land in site-packages."""
    wheel = wheel_of(tmp_path, IN_WHEEL - {"holdfast/cli.py"} | {"tests/test_cli.py"})
    lacks, has = contents.wheel_problems(wheel, FILES)
    assert lacks == "holdfast-1.0-py3-none-any.whl lacks holdfast/cli.py."
    assert has == "holdfast-1.0-py3-none-any.whl has, but should not, tests/test_cli.py."


@pytest.mark.slow
def test_the_sdist_of_this_tree_is_whole(tmp_path: Path) -> None:
    """Whatever is added to the repository comes with it: pyproject.toml names each folder."""
    if not (ROOT / ".git").exists():
        pytest.skip("what belongs in an sdist is what git has, and this is no checkout")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("holdfast-*.tar.gz")
    there = {file for file in contents.tracked(ROOT) if (ROOT / file).exists()}  # not what is being removed
    assert [each for each in contents.sdist_problems(sdist, there) if " lacks " in each] == []


PROGRAM = """#!/bin/sh
echo "$@" >> {log}
case "$1" in
--version) echo "holdfast, version {version}" ;;
install) {install} ;;
uninstall) {uninstall} ;;
doctor) {doctor} ;;
esac
"""
GOOD = {
    "version": "1.0",
    "install": "mkdir -p $HOME/.claude && touch $HOME/.claude/settings.json",
    "uninstall": "rm $HOME/.claude/settings.json",
    "doctor": "true",
}


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({}, ""),
        ({"version": "0.9"}, "prints 'holdfast, version 0.9', not 1.0"),
        ({"install": "true"}, "holdfast install registered nothing"),
        ({"doctor": "echo broken; exit 1"}, "doctor --fire ended with 1:\nbroken"),
        ({"uninstall": "true"}, "holdfast uninstall left the settings"),
    ],
)
def test_a_trial_uses_the_command_as_a_newcomer_does(tmp_path: Path, fault: dict[str, str], named: str) -> None:
    """Each command is run and its effect looked at."""
    holdfast = tmp_path / "holdfast"
    holdfast.write_text(PROGRAM.format(log=tmp_path / "log", **(GOOD | fault)))
    holdfast.chmod(0o755)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    if not named:
        trial.use(str(holdfast), "1.0", environ, tmp_path)
        assert (tmp_path / "log").read_text().splitlines() == [
            *("--version", "demo", "install", "doctor --fire", "uninstall")
        ]
        return
    with pytest.raises(trial.TrialError) as caught:
        trial.use(str(holdfast), "1.0", environ, tmp_path)
    assert named in str(caught.value)


@pytest.mark.parametrize("relay", ["native", "python"])
def test_a_trial_sees_the_relay_that_a_wheel_brings_run(tmp_path: Path, relay: str) -> None:
    """A wheel for a platform whose relay doesn't run there is no good."""
    holdfast = tmp_path / "holdfast"
    asked = f'[ "$1" != server ] || echo \'{{"relay": "{relay}"}}\'\n'
    holdfast.write_text(PROGRAM.format(log=tmp_path / "log", **GOOD) + asked)
    holdfast.chmod(0o755)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    if relay == "native":
        trial.use(str(holdfast), "1.0", environ, tmp_path, brings_relay=True)
    else:
        with pytest.raises(trial.TrialError, match="the relay that it brings doesn't run"):
            trial.use(str(holdfast), "1.0", environ, tmp_path, brings_relay=True)


def test_a_trial_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All programs are there, but not `cc`."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("cc", "python3"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{tmp_path}/none:{programs}")
    path = trial._without_compiler(tmp_path / "links")
    assert shutil.which("cc", path=path) is None
    assert shutil.which("python3", path=path) == str(tmp_path / "links" / "python3")


def test_it_ends_with_what_to_do_next() -> None:
    """Either what to change, or the commands that publish, which it doesn't run itself."""
    assert program.conclusion("1.0", ["A.", "B."]) == "Holdfast 1.0 is not ready to be released:\n- A.\n- B."
    ready = program.conclusion("1.0", [])
    assert "Nothing was uploaded" in ready
    assert "git tag -a 1.0 " in ready


@pytest.mark.parametrize("known", [True, False])
def test_a_project_without_a_public_address_is_told_to_name_it(monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    """Before it is published: nobody could find the source or the issues from a page of the index."""
    monkeypatch.setattr(version, "has_urls", lambda root: known)
    assert ("add [project.urls] to pyproject.toml" in program.conclusion("1.0", [])) is not known


def test_whether_it_has_one_is_read_from_its_metadata(tmp_path: Path) -> None:
    """A table with at least one address."""
    for urls, known in (("", False), ("[project.urls]\n", False), ('[project.urls]\nSource = "x"\n', True)):
        (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "1"\n{urls}', "utf-8")
        assert version.has_urls(tmp_path) is known
