"""`make release` names what keeps a tree, an sdist or a wheel from being released, and says what to do next."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.processes import ROOT
from tests.tables import each_row
from tools.release import __main__ as program
from tools.release import contents, trial, version

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"LICENSE", "CHANGELOG.md", "src/holdfast/cli.py", "handlers/todos.py", "tests/test_cli.py", "docs/index.md"}
INFO = {f"holdfast-1.0.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
IN_WHEEL = {"holdfast/cli.py", "holdfast/_shipped/handlers/todos.py", "holdfast-1.0.dist-info/licenses/LICENSE", *INFO}
CHANGELOG = "# Changelog\n\n## [Unreleased]\n{}\n## [{}]{}\n\n- First.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n"


def tree(tmp_path: Path) -> None:
    """Make a checkout that can be released as 1.0."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.0"\n')
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin" / "plugin.json").write_text(json.dumps({"version": "1.0"}))
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG.format("", "1.0", " - 2026-02-03"))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    commit(tmp_path)


def commit(tree: Path) -> None:
    git = ["git", "-C", str(tree), "-c", "user.name=A", "-c", "user.email=a@example.invalid"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "All"], check=True)


@each_row(
    "file, text, named",
    [
        ("", "", ""),
        (
            "CHANGELOG.md",
            CHANGELOG.format("\n### Added\n\n- New.\n", "1.0", " - 2026-02-03"),
            "changes under [Unrel",
        ),
        ("CHANGELOG.md", CHANGELOG.format("", "0.9", " - 2026-02-03"), "is 0.9, but the version is 1.0"),
        ("CHANGELOG.md", CHANGELOG.format("", "1.0", " - soon"), "The entry 1.0 of CHANGELOG.md has no date"),
        ("CHANGELOG.md", "# Changelog\n", "is nothing, but the version is 1.0"),
        (".claude-plugin/plugin.json", '{"version": "0.9"}', "plugin.json has version 0.9, but pyproject.toml has 1.0"),
    ],
)
def test_three_files_name_the_version(tmp_path: Path, file: str, text: str, named: str) -> None:
    """The changelog, with a date, and the plugin agree with pyproject.toml; else that is named."""
    tree(tmp_path)
    if file:
        (tmp_path / file).write_text(text)
        commit(tmp_path)
    problems = "".join(version.problems(tmp_path))
    assert named in problems
    assert bool(problems) == bool(named)


def test_files_that_are_not_committed_are_named(tmp_path: Path) -> None:
    """The first of them, and how many more."""
    tree(tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(f"{CHANGELOG.format('', '1.0', ' - 2026-02-03')}\n")
    (tmp_path / "new.txt").write_text("")
    assert list(version.problems(tmp_path)) == [
        "Not as committed: CHANGELOG.md and 1 more. Commit every change, or take it back."
    ]


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


def test_an_archive_has_the_files_of_the_repository_and_nothing_else(tmp_path: Path) -> None:
    """An sdist has all of them, a wheel the package and what comes with it; the first few at fault are named."""
    assert list(contents.sdist_problems(sdist_of(tmp_path, {*FILES, "PKG-INFO"}), FILES)) == []
    assert list(contents.wheel_problems(wheel_of(tmp_path, IN_WHEEL), FILES)) == []

    extra = {f".venv/lib/{number}.py" for number in range(6)} | {".clients/2.1.0/package/claude"}
    sdist = sdist_of(tmp_path, {*FILES, "PKG-INFO", *extra} - {"LICENSE"})
    lacks, has = contents.sdist_problems(sdist, FILES)
    assert lacks == "holdfast-1.0.tar.gz lacks LICENSE."
    assert has.startswith("holdfast-1.0.tar.gz has, but should not, .clients/2.1.0/package/claude, .venv/lib/0.py")
    assert has.endswith(" and 2 more.")

    wheel = wheel_of(tmp_path, IN_WHEEL - {"holdfast/cli.py"} | {"tests/test_cli.py"})
    assert list(contents.wheel_problems(wheel, FILES)) == [
        "holdfast-1.0-py3-none-any.whl lacks holdfast/cli.py.",
        "holdfast-1.0-py3-none-any.whl has, but should not, tests/test_cli.py.",
    ]


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
server) echo '{{"relay": "{relay}"}}' ;;
esac
"""
GOOD = {
    "version": "1.0",
    "install": "mkdir -p $HOME/.claude && touch $HOME/.claude/settings.json",
    "uninstall": "rm $HOME/.claude/settings.json",
    "doctor": "true",
    "relay": "native",
}


@each_row(
    "fault, named",
    [
        ({}, ""),
        ({"version": "0.9"}, "prints 'holdfast, version 0.9', not 1.0"),
        ({"install": "true"}, "holdfast install registered nothing"),
        ({"doctor": "echo broken; exit 1"}, "doctor --fire ended with 1:\nbroken"),
        ({"uninstall": "true"}, "holdfast uninstall left the settings"),
        ({"relay": "python"}, "the relay that it brings doesn't run"),
    ],
)
def test_a_trial_uses_the_command_as_a_newcomer_does(tmp_path: Path, fault: dict[str, str], named: str) -> None:
    """Each command is run and its effect looked at; the relay of a wheel for a platform has to run."""
    holdfast = tmp_path / "holdfast"
    holdfast.write_text(PROGRAM.format(log=tmp_path / "log", **(GOOD | fault)))
    holdfast.chmod(0o755)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    with pytest.raises(trial.TrialError, match=re.escape(named)) if named else nullcontext():
        trial.use(str(holdfast), "1.0", environ, tmp_path, brings_relay=True)
    commands = ["--version", "demo", "install", "doctor --fire", "server --json", "uninstall"]
    done = (tmp_path / "log").read_text().splitlines()
    assert done == commands[: len(done)]
    assert named or done == commands


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


@each_row("urls, known", [("", False), ("[project.urls]\n", False), ('[project.urls]\nSource = "x"\n', True)])
def test_it_ends_with_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, urls: str, known: bool) -> None:
    """What to change, or the commands that publish, which it never runs itself; an address comes first."""
    (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "1"\n{urls}', "utf-8")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    assert program.conclusion("1.0", ["A.", "B."]) == "Holdfast 1.0 is not ready to be released:\n- A.\n- B."
    ready = program.conclusion("1.0", [])
    assert "Nothing was uploaded" in ready
    assert "git tag -a 1.0 " in ready
    assert ("add [project.urls] to pyproject.toml" in ready) is not known
