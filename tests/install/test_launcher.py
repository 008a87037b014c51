"""The programs that an install writes start the right interpreter and find the package."""

import os
import stat
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from holdfast import paths
from holdfast.errors import ConfigError, StateError
from holdfast.install import launcher, register
from tests.tables import each_row

SCRIPT = '#!/usr/bin/env python3\n"""Doc."""\nimport sys\n\nROOT = ""\n\nprint(sys.flags.no_site, sys.argv[1:], ROOT)\n'


def run(program: Path | str, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.defpath, "HOME": str(home or Path.home())}
    return subprocess.run([program, *arguments], env=env, input="{}", capture_output=True, text=True, cwd="/")


def placed(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_programs_are_written_executable_and_only_once() -> None:
    """Launcher, fallback and command lie at their fixed places; unchanged ones are not rewritten."""
    fallback = paths.launcher().with_name("refuse.sh")
    command, beside = paths.command_dir() / "holdfast", [paths.relay_conf(), paths.launcher()]
    assert launcher.write() == [paths.entrypoint(), command, fallback, *beside]
    for path in launcher.programs():
        assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert launcher.write() == []
    assert [path.name for path in paths.command_dir().iterdir()] == ["holdfast"]


def test_the_launcher_is_the_entrypoint_with_its_start_filled_in() -> None:
    """Only what starts it and the root differ from hooks/dispatch.py."""
    launcher.write()
    source = (paths.shipped("hooks") / "dispatch.py").read_text().split("\n")
    written = paths.launcher().read_text().split("\n")
    assert [line for line in source if line not in written] == [source[0], 'ROOT = ""']
    assert [line for line in written if line not in source] == [
        "#!/bin/sh",
        "''':'",
        f'[ -x {sys.executable} ] || {{ sh "${{0%/*}}/refuse.sh" "$1"; exit 0; }}',
        f'exec {sys.executable} -IS "$0" "$@"',
        "'''",
        f"ROOT = {str(paths.package_root())!r}",
    ]


def test_a_damaged_program_is_written_again() -> None:
    """A changed text or a lost execute bit is repaired."""
    launcher.write()
    paths.launcher().chmod(0o644)
    (paths.command_dir() / "holdfast").write_text("gone")
    assert len(launcher.write()) == 2
    assert os.access(paths.launcher(), os.X_OK)


def test_a_program_starts_with_the_named_interpreter(tmp_path: Path) -> None:
    """The flags are in effect, the arguments arrive and the root is the package's."""
    done = run(placed(tmp_path, launcher.program(SCRIPT, "-IS", "exit 0", sys.executable)), "Stop")
    assert done.stdout == f"1 ['Stop'] {paths.package_root()}\n"


@each_row("name", ["with space", "with 'quote' and $HOME", "l" * 130, "mit ümlaut"])
def test_an_interpreter_the_kernel_cannot_take_is_started_by_the_shell(tmp_path: Path, name: str) -> None:
    """Blanks, quotes and long paths work too, with the same arguments and exit code."""
    interpreter = tmp_path / name / "python"
    interpreter.parent.mkdir()
    interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o755)
    text = launcher.program(SCRIPT + "sys.exit(7)\n", "-IS", "exit 0", str(interpreter))
    done = run(placed(tmp_path, text), "a b", "*")
    assert (done.stdout, done.returncode) == (f"1 ['a b', '*'] {paths.package_root()}\n", 7)


@each_row("name", ["", "python3", "/a\\b/python", "/a\nb/python", "/a\udcff/python"])
def test_an_interpreter_no_program_can_name_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than a launcher that cannot start, the install stops and says why."""
    monkeypatch.setattr(sys, "executable", name)
    with pytest.raises(ConfigError, match="cannot start a program"):
        launcher.write()
    assert not paths.launcher().exists()


def test_a_link_in_the_launchers_place_is_not_written_through(tmp_path: Path) -> None:
    """Somebody's own file behind a link stays what it is."""
    other = placed(tmp_path, "mine")
    paths.launcher().parent.mkdir(parents=True)
    paths.launcher().symlink_to(other)
    with pytest.raises(StateError, match="symbolic link"):
        launcher.write()
    assert other.read_text() == "mine"


def test_removing_leaves_nothing_of_ours_and_everything_of_others() -> None:
    """The programs and their folders go, a foreign file and its folder stay, twice is fine."""
    launcher.write()
    (paths.command_dir() / "mine").touch()
    assert launcher.remove() == [*launcher.programs(), paths.entrypoint(), paths.relay_conf()]
    assert [path.name for path in paths.launcher().parent.rglob("*")] == ["bin", "mine"]
    (paths.command_dir() / "mine").unlink()
    assert launcher.remove() == []
    assert not paths.launcher().parent.exists()


def test_the_command_works_without_the_environment_on_path() -> None:
    """The command in our own folder runs the command line from anywhere, with nothing but its path."""
    launcher.write()
    done = run(paths.command_dir() / "holdfast", "install", "--print")
    assert (done.returncode, done.stdout[:1], done.stderr) == (0, "{", "")


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """An interpreter without any package."""
    venv.create(tmp_path / "bare", with_pip=False)
    return str(tmp_path / "bare/bin/python")


def test_the_command_says_when_its_package_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare_python: str
) -> None:
    """A command whose package was removed names the remedy instead of printing a traceback."""
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path / "gone")
    monkeypatch.setattr(sys, "executable", bare_python)
    launcher.write()
    done = run(paths.command_dir() / "holdfast", "--version")
    assert done.returncode == 1
    assert "&& holdfast install" in done.stderr.replace("~/holdfast-venv/bin/", "")
    assert "Traceback" not in done.stderr


def test_a_moved_home_needs_no_new_settings(tmp_path: Path) -> None:
    """The registered command finds the launcher of whatever home it runs in."""
    moved = tmp_path / "moved"
    path = placed(moved / ".local/share/holdfast", launcher.program(SCRIPT, "-IS", "exit 0", sys.executable))
    path.rename(path.with_name("run"))
    done = run("/bin/sh", "-c", register.command("Stop"), home=moved)
    assert done.stdout.startswith("1 ['Stop']")


def test_what_to_install_again_is_where_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the installer noted it beside the package; a checkout is its own source."""
    assert launcher.requirement() == str(paths.plugin_root())
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path)
    monkeypatch.setattr(paths, "plugin_root", lambda: tmp_path.parent)
    noted = tmp_path / "holdfast-0.1.0.dist-info" / "direct_url.json"
    noted.parent.mkdir()
    wrong = []
    for text, source in (
        ('{"url": "file:///my%20code/holdfast", "dir_info": {}}', "/my code/holdfast"),
        ('{"url": "https://x.org/h.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}', "git+https://x.org/h.git"),
        ('{"url": "https://x.org/holdfast.whl", "archive_info": {}}', "https://x.org/holdfast.whl"),
        ("[]", "holdfast"),
        ("{", "holdfast"),
    ):
        noted.write_text(text)
        found = launcher.requirement()
        wrong += [] if found == source else [(text, found)]
    assert not wrong
