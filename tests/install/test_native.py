"""An install puts the native relay in the launcher's place where there is one, and the Python relay elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast import paths
from holdfast.install import launcher, native, register
from tests import relays

NAMES = ["bin", "refuse.sh", "run", "run.conf", "run.py"]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing asks for no relay, and this checkout brings none."""
    monkeypatch.delenv(native.SWITCH)
    monkeypatch.setattr(native, "shipped", lambda: Path("/nowhere"))


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that brings a relay for this platform."""
    program = relays.compiled()
    monkeypatch.setattr(native, "shipped", lambda: program)
    return program


def there() -> list[str]:
    """Return what lies in the launcher's folder."""
    return sorted(each.name for each in paths.launcher().parent.iterdir())


def fire(event: str = "Stop") -> subprocess.CompletedProcess[str]:
    """Run the registered command with an empty stdin."""
    environ = {"PATH": os.defpath, "HOME": str(Path.home()), "HOLDFAST_SERVER": "off", "CLAUDE_PROJECT_DIR": "/"}
    command = ["/bin/sh", "-c", register.command(event)]
    return subprocess.run(command, input="", env=environ, capture_output=True, text=True, check=False)


def test_the_packages_relay_is_put_in_the_launchers_place(shipped: Path) -> None:
    """With what it starts beside it, and once."""
    changed = launcher.write()
    assert changed[-1] == paths.launcher()  # when all that it needs is there
    assert there() == NAMES
    assert paths.launcher().read_bytes() == shipped.read_bytes()
    assert native.running() == ("native", "of this version")
    assert launcher.write() == []
    done = fire()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = Path.home() / ".local/state/holdfast/log/holdfast.log"
    assert "stdin is empty" in log.read_text()


def test_it_is_compiled_where_the_package_brings_none() -> None:
    """By `cc`, without a word; a second install takes what is there."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    launcher.write()
    assert native.running() == ("native", native.CURRENT)
    assert launcher.write() == []


def test_without_either_it_is_the_python_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the reason is told."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    launcher.write()
    assert there() == NAMES
    assert native.running() == (
        "none", "this package brings none for this platform, and there is no C compiler"
    )  # fmt: skip
    assert paths.launcher().read_bytes() == paths.entrypoint().read_bytes()


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho holdfast relay other\n"])
def test_a_compiler_that_makes_none_that_runs_is_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """What was made is tried before it is put in place."""
    compiler = tmp_path / "cc"
    made = tmp_path / "made"
    made.write_text(program)
    compiler.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp {made} "$2"\n')
    compiler.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(compiler))
    assert native.find() == b""
    launcher.write()
    assert not native.is_native(paths.launcher())


def test_one_that_does_not_run_here_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel for another processor, say."""
    foreign = tmp_path / "relay"
    foreign.write_bytes(b"\x7fELF of another machine")
    monkeypatch.setattr(native, "shipped", lambda: foreign)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert native.find() == b""


def test_an_upgrade_replaces_it(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor tells that it is of another version by what it says of itself."""
    launcher.write()
    with monkeypatch.context() as changed:
        changed.setattr(native, "digest", lambda: "other")
        assert native.running() == ("native", "of another version; `holdfast install` replaces it")
    monkeypatch.setattr(native, "find", lambda: shipped.read_bytes() + b"newer")
    assert launcher.write() == [paths.launcher()]
    assert paths.launcher().read_bytes().endswith(b"newer")


def test_the_variable_brings_the_python_relay_back(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the native one is left."""
    launcher.write()
    monkeypatch.setenv(native.SWITCH, "python")
    assert launcher.write() == [paths.launcher()]
    assert there() == NAMES
    assert fire().returncode == 0


def test_it_is_removed_whole(shipped: Path) -> None:
    """With its companions and its folder."""
    launcher.write()
    assert len(launcher.remove()) == 5
    assert not paths.launcher().parent.exists()
    done = fire("PreToolUse")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
