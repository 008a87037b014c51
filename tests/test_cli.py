"""Only the command that is called is loaded, and an error is a sentence with an exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import cli
from holdfast.formats import RECORDS
from tests import processes
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path


def test_an_error_the_user_can_mend_is_a_sentence(tmp_path: Path) -> None:
    """Exit 1, one sentence on stderr that names what to do, nothing on stdout."""
    said = holdfast("next", root=tmp_path, code=1)

    assert said.out == ""
    assert said.err == "holdfast: no workflow is unfinished; `holdfast start TITLE` starts one\n"


@each_row("name", ["uninstall", "status", "doctor", "install"])
def test_in_a_deleted_folder_a_command_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The system's error doesn't even name the folder."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert "the folder that you are in was deleted; change to another" in holdfast(name, code=1).err
    assert "Keep a workflow:" in holdfast("--help").out


@each_row("arguments", [["nonsense"], ["status", "--nonsense"], ["start"], ["update", "--status", "odd"], ["--no"]])
def test_a_wrong_call_is_a_usage_error(tmp_path: Path, arguments: list[str]) -> None:
    """Exit 2, and how it is called."""
    said = holdfast(*arguments, root=tmp_path, code=2)

    assert said.out == ""
    assert "Usage: " in said.err


def test_a_folder_that_cannot_be_written_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the system says is passed on, without a traceback."""

    def refuse(**options: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    monkeypatch.setattr(cli, "holdfast", refuse)

    assert holdfast("status", root=tmp_path, code=1).err == "holdfast: /somewhere: permission denied\n"


def test_an_error_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A bug is a traceback and no sentence that blames the user."""

    def fail(**options: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(cli, "holdfast", fail)

    with pytest.raises(KeyError):
        holdfast("status", root=tmp_path)


@each_row("arguments", [["--help"], ["--version"], ["handlers", "list"], ["status", "-h"], ["report", "-"], ["status"]])
def test_a_reader_that_goes_away_is_nobodys_error(tmp_path: Path, arguments: list[str]) -> None:
    """`holdfast … | head -1` ends without a word, as a program does that SIGPIPE ends; however much it has to say."""
    place = processes.make(tmp_path)
    holdfast("start", "Book", root=place.root)
    reading, writing = os.pipe()
    os.close(reading)

    command = [sys.executable, "-m", "holdfast", *arguments]
    done = subprocess.run(
        command, env=place.environ(), cwd=place.root, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")


def test_the_version_is_the_distributions() -> None:
    """`holdfast --version`."""
    from importlib.metadata import version

    assert holdfast("--version").out.split()[-1] == version("holdfast")


@each_row(
    "arguments",
    [[], ["--nonsense"], ["PreToolUse", "extra", "--more"], ["--nonsense", "--help"], ["-x", "-h"], [""], ["\udcff"]],
)
def test_dispatch_ends_with_0_whatever_its_options(tmp_path: Path, arguments: list[str]) -> None:
    """A usage error must not refuse a tool call: exit 2 would."""
    place = processes.make(tmp_path)
    command = [sys.executable, "-m", "holdfast", "dispatch", *arguments]

    for data in (b"", json.dumps(place.payload("PreToolUse-Bash")).encode()):
        ended = processes.run(command, data, place.environ(), place.root)
        assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")


def test_dispatch_answers_as_the_entrypoint_does(tmp_path: Path) -> None:
    """The payload on stdin, the reply on stdout."""
    place = processes.make(tmp_path)
    place.user_handler("guard", "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): return deny('no')\n")
    command = [sys.executable, "-m", "holdfast", "dispatch", "PreToolUse"]

    data = json.dumps(place.payload("PreToolUse-Bash")).encode()
    ended = processes.run(command, data, place.environ(), place.root)

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.specific["permissionDecision"] == "deny"


@pytest.mark.parametrize(("given", "said"), [({}, True), ({"CLAUDE_PROJECT_DIR": "/"}, False)])
def test_on_a_terminal_dispatch_says_what_it_lacks(tmp_path: Path, given: dict[str, str], said: bool) -> None:
    """Who tries it by hand would otherwise see nothing; a hook has no terminal, and stays silent."""
    environ = processes.make(tmp_path).environ()
    environ.pop("CLAUDE_PROJECT_DIR", None)
    shown, terminal = os.openpty()
    command = [sys.executable, "-m", "holdfast", "dispatch", "Stop"]
    streams: dict[str, Any] = {"input": b"{}", "stdout": subprocess.PIPE, "stderr": terminal}
    done = subprocess.run(command, env=environ | given, cwd=tmp_path, check=True, **streams)
    os.write(terminal, b"the end")
    text = ""
    while not text.endswith("the end"):
        text += os.read(shown, 1000).decode()
    os.close(terminal)
    os.close(shown)

    assert done.stdout == b""
    assert ("CLAUDE_PROJECT_DIR=$PWD holdfast dispatch Stop" in text) is said


def test_without_a_home_each_command_says_what_to_set(tmp_path: Path) -> None:
    """As in a container whose user has no passwd entry."""
    environ = processes.make(tmp_path).environ(HOME=None, XDG_STATE_HOME=None, XDG_CONFIG_HOME=None)
    nobody = "import pwd\ndef fail(uid): raise KeyError(uid)\npwd.getpwuid = fail\n"
    for words in (["status"], ["doctor"], ["install"], ["handlers", "list"]):
        command = [sys.executable, "-c", f"{nobody}from holdfast.cli import main\nmain({words})"]
        ended = processes.run(command, b"", environ, tmp_path)
        said = f"holdfast: HOME isn't set, and user {os.getuid()} has no passwd entry; set HOME to your home folder"
        assert (ended.exit_code, ended.stdout, ended.stderr.partition(",")[0]) == (1, "", said.partition(",")[0]), words
        assert ended.stderr.startswith(said)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_dispatch_explains_itself(flag: str) -> None:
    """Asked for help alone, it says what it is."""
    assert "read the payload from stdin" in holdfast("dispatch", flag).out


@each_row("former", sorted(cli._FORMER))
def test_a_former_command_names_what_replaces_it(former: str) -> None:
    """Wrong usage, with a command that exists."""
    error = holdfast(*former.split(), "more", code=2).err
    new = error.split("`")[3].split()[1:]

    assert f"Error: `holdfast {former}` is gone: " in error
    assert new[-1] in holdfast(new[0], "--help").out


@each_row("name", sorted(RECORDS))
def test_a_former_command_of_a_format_leads_to_one_that_exists(name: str) -> None:
    """Each is one of the format's group, and each `holdfast …` in its sentence has a help page."""
    for line in RECORDS[name].FORMER:
        former, _, sentence = line.partition(" = ")
        assert former.split()[0] == name, line
        assert f"`holdfast {former}` is gone: " in holdfast(*former.split(), "more", code=2).err
        for named in re.findall("`holdfast ([^`]+)`", sentence):
            words = named.split()
            assert words[0] in holdfast(*words[: 2 if words[0] in RECORDS else 1], "--help").out, line
