"""The entrypoint, as the client runs it: real processes in a clean environment."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import client_output, processes
from tests.processes import ENTRYPOINT, INTERPRETER, ROOT, SOURCE

if TYPE_CHECKING:
    from tests.processes import Place

SPEAKS = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event):\n    return advise('it works')\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project with one handler that speaks."""
    made = processes.make(tmp_path)
    made.user_handler("speaks", SPEAKS)
    return made


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has no package at all, as after a half-done upgrade."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return str(folder / "bin" / "python")


def call(place: Place) -> bytes:
    """Return a tool call that is about to be made."""
    return json.dumps(place.payload("PreToolUse-Bash")).encode() + b"\n"


def fake_package(folder: Path) -> None:
    """Write a package whose engine only says where it lies and what it was asked."""
    (folder / "holdfast").mkdir(parents=True)
    (folder / "holdfast" / "__init__.py").touch()
    for name in ("relay.py", "refuse.sh"):
        shutil.copy(SOURCE / "holdfast" / name, folder / "holdfast")
    text = "def main(argument, entry):\n    print(__file__, argument, flush=True)\n    return 0\n"
    (folder / "holdfast" / "engine.py").write_text(text)


# --- how it is started --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("PreToolUse",), ("Nonsense", "and", "more")])
def test_the_event_argument_is_optional(place: Place, arguments: tuple[str, ...]) -> None:
    """With, without and with a wrong argument the payload decides."""
    assert place.fire(call(place), *arguments).advice == "it works"


@pytest.mark.parametrize("flags", [("-IS",), ("-I",), ("-S",), ()])
def test_any_flags_will_do(place: Place, flags: tuple[str, ...]) -> None:
    """Isolated or not, with or without site: the entrypoint finds its package and the environment's."""
    ended = processes.run([sys.executable, *flags, str(ENTRYPOINT)], call(place), place.environ(), place.root)

    assert (ended.exit_code, ended.advice, ended.stderr) == (0, "it works", "")


def test_the_packages_beside_it_win(place: Place, tmp_path: Path) -> None:
    """With ROOT filled in, that Holdfast runs and not one that the interpreter has installed."""
    fake_package(tmp_path / "other")
    copy = processes.copy_of_entrypoint(tmp_path / "run", str(tmp_path / "other"))

    ended = processes.run([*INTERPRETER, str(copy), "Stop"], b"", place.environ(), place.root)

    assert ended.stdout == f"{tmp_path}/other/holdfast/engine.py Stop\n"


def test_a_link_to_it_finds_the_same_package(place: Place, tmp_path: Path) -> None:
    """Started through a link from anywhere, the entrypoint's real place counts: the checkout's `src`."""
    checkout, link = tmp_path / "checkout", tmp_path / "elsewhere" / "dispatch.py"
    fake_package(checkout / "src")
    fake_package(tmp_path / "src")
    (checkout / "hooks").mkdir()
    (checkout / "hooks" / "dispatch.py").write_bytes(ENTRYPOINT.read_bytes())
    link.parent.mkdir()
    link.symlink_to(checkout / "hooks" / "dispatch.py")

    ended = processes.run([*INTERPRETER, str(link), "Stop"], b"", place.environ(), place.root)

    assert ended.stdout == f"{checkout}/src/holdfast/engine.py Stop\n"


@pytest.mark.parametrize("flags", [("-IS",), ()])
def test_nothing_is_imported_from_where_it_is_started(place: Place, tmp_path: Path, flags: tuple[str, ...]) -> None:
    """Modules planted in the current folder, named like the standard library's and ours, are never run."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in ("json", "os", "site", "pydantic", "pluggy", "holdfast", "platformdirs", "sitecustomize", "signal"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")

    ended = processes.run([sys.executable, *flags, str(ENTRYPOINT)], call(place), place.environ(), folder)

    assert ended.advice == "it works"
    assert not (tmp_path / "ran").exists()


def test_a_hostile_pythonpath_is_ignored(place: Place, tmp_path: Path) -> None:
    """As the registered command starts it (-I), PYTHONPATH and PYTHONSTARTUP mean nothing."""
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    environ = place.environ(PYTHONPATH=str(tmp_path), PYTHONHOME=None, PYTHONINSPECT="1")

    assert place.fire(call(place), environ=environ).advice == "it works"
    assert not (tmp_path / "ran").exists()


# --- what may be missing ------------------------------------------------------------------------------------------


def unread(
    command: list[str], data: bytes, environ: dict[str, str], cwd: Path
) -> tuple[subprocess.CompletedProcess[bytes], bytes]:
    """Run a command with bytes waiting on its stdin, and return what it left unread there."""
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    done = subprocess.run(command, stdin=read, env=environ, cwd=cwd, capture_output=True, timeout=500, check=False)
    left = os.read(read, len(data) + 1)
    os.close(read)
    return done, left


@pytest.mark.parametrize("root", ["gone", "empty", "broken", "old"])
def test_a_missing_or_broken_package_is_exit_0_and_stdin_untouched(
    place: Place, tmp_path: Path, bare_python: str, root: str
) -> None:
    """With the package gone, half there or failing at import: exit 0, silence, a log line, and stdin still unread."""
    if root != "gone":
        (tmp_path / root).mkdir()
    if root in ("broken", "old"):
        (tmp_path / root / "holdfast").mkdir()
        (tmp_path / root / "holdfast" / "__init__.py").touch()
        for name in ("relay.py", "refuse.sh"):
            shutil.copy(SOURCE / "holdfast" / name, tmp_path / root / "holdfast")
        text = "raise SystemExit(2)" if root == "broken" else "nothing_called_main = 1"
        (tmp_path / root / "holdfast" / "engine.py").write_text(text)
    copy = processes.copy_of_entrypoint(tmp_path / "run", str(tmp_path / root))

    done, left = unread([bare_python, "-IS", str(copy), "PreToolUse"], call(place), place.environ(), place.root)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert left == call(place)
    assert f"error PreToolUse could not be dispatched: Holdfast does not load with {bare_python}" in place.log()
    assert len(place.log().splitlines()) == 1


def test_the_log_is_where_holdfast_itself_keeps_it(place: Place, tmp_path: Path, bare_python: str) -> None:
    """The entrypoint's own log lines land in the file `holdfast doctor` reads, private like it, also without XDG."""
    copy = processes.copy_of_entrypoint(tmp_path / "run", str(tmp_path / "gone"))
    environ = place.environ(XDG_STATE_HOME=None)
    where = "from holdfast import paths; print(paths.log_file(), end='')"
    asked = subprocess.run([sys.executable, "-c", where], env=environ, capture_output=True, timeout=500, check=True)
    log = Path(asked.stdout.decode())

    processes.run([bare_python, "-IS", str(copy)], b"", environ, place.root)

    assert log.is_relative_to(place.home)
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700


NOWHERE = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


@pytest.mark.parametrize("speaks", [True, False])
def test_a_home_that_cannot_be_written_costs_nothing(place: Place, tmp_path: Path, speaks: bool) -> None:
    """With a home where nothing can be read or written the shipped handlers' reply comes all the same, or silence."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    environ = place.environ(**{name: str(blocked / "x") for name in NOWHERE})
    payload = place.payload("SessionStart-startup" if speaks else "PreToolUse-Bash")

    ended = place.fire(payload, environ=environ)

    assert (ended.exit_code, ended.stderr) == (0, "")
    client_output.assert_acceptable(payload["hook_event_name"], ended.stdout)


def test_a_read_only_home_still_has_its_handlers(place: Place) -> None:
    """A home that may only be read: its handlers answer, and nothing is logged or remembered."""
    place.user_handler("fails", SPEAKS.replace("return", "raise ValueError"))
    place.user_handler("guard", SPEAKS.replace("@hookimpl", "@hookimpl(strict=True)"))
    state = place.home / ".local"
    state.write_text("no folder: nothing can be written below, not even by root")

    ended = place.fire(call(place))

    assert (ended.exit_code, ended.advice) == (0, "it works\n\nit works")


def test_an_environment_of_nothing_is_exit_0_and_silence(place: Place) -> None:
    """Without any variable of the client this is no hook of Claude Code's."""
    environ = {name: value for name, value in place.environ().items() if name.startswith(("XDG", "HOME"))}

    ended = place.fire(call(place), environ=environ)

    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")


def test_a_project_that_is_gone_is_exit_0(place: Place, tmp_path: Path) -> None:
    """CLAUDE_PROJECT_DIR may name a folder that was removed, or a file; the user's handlers answer all the same."""
    (tmp_path / "file").touch()
    for name in ("removed", "file"):
        ended = place.fire(call(place), environ=place.environ(CLAUDE_PROJECT_DIR=str(tmp_path / name)))
        assert (ended.exit_code, ended.advice) == (0, "it works")


# --- its text -----------------------------------------------------------------------------------------------------


def test_it_parses_on_any_python_3() -> None:
    """The text has nothing newer than Python 3.4 in it, so that even an old `python3` ends with exit 0."""
    ast.parse(ENTRYPOINT.read_bytes(), feature_version=(3, 4))
    assert ENTRYPOINT.read_bytes().isascii()


def test_it_has_no_f_strings_and_no_annotations() -> None:
    """What the parser's version check lets through is not there either."""
    nodes = list(ast.walk(ast.parse(ENTRYPOINT.read_bytes())))

    assert not [node for node in nodes if isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    assert not [one.name for one in functions if one.returns or any(argument.annotation for argument in one.args.args)]


def test_the_first_imports_are_sys_alone() -> None:
    """At the top of the file stands `import sys` and no other import."""
    tree = ast.parse(ENTRYPOINT.read_bytes())
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]

    assert [ast.unparse(node) for node in imports] == ["import sys"]


def test_an_installed_package_finds_itself(tmp_path: Path, place: Place) -> None:
    """As the wheel lays it out, `_shipped/hooks/dispatch.py` finds the package two folders up."""
    site = tmp_path / "site"
    fake_package(site)
    shipped = site / "holdfast" / "_shipped" / "hooks" / "dispatch.py"
    shipped.parent.mkdir(parents=True)
    shipped.write_bytes(ENTRYPOINT.read_bytes())

    ended = processes.run([*INTERPRETER, str(shipped)], b"", place.environ(), ROOT)

    assert ended.stdout == f"{site}/holdfast/engine.py None\n"
