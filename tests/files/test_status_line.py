"""The client's status line comes from the session's own file alone, and only what is safe to print is printed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from holdfast.files import status_file
from tests import processes
from tests.processes import INTERPRETER, SOURCE
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "0a1b2c3d-0000-4000-8000-000000000001"
LINE = "User auth · phase 2/5 Design"


@dataclass
class Stage:
    """A home with an entrypoint, and the folder of the status files.

    Attributes:
        command: what starts the entrypoint.
        environ: its environment.
        folder: where the files lie.
    """

    command: list[str]
    environ: dict[str, str]
    folder: Path

    def file(self, content: bytes | None = None, session: str = SESSION) -> Path:
        """Return a session's file, written with a content: by default `LINE`, never saved."""
        place = self.folder / session
        place.write_bytes(f"0\n{LINE}\n".encode() if content is None else content)
        place.chmod(0o600)
        return place

    def show(self, payload: bytes | None = None) -> str:
        """Return what is printed for what the client sends. It always ends with 0."""
        data = json.dumps({"session_id": SESSION, "cwd": "/x"}).encode() if payload is None else payload
        done = subprocess.run(
            [*self.command, status_file.ARGUMENT], input=data, env=self.environ, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A home with an entrypoint, whose package is this one."""
    state = tmp_path / "state"
    folder = state / "holdfast" / "status"
    folder.mkdir(parents=True, mode=0o700)
    command = [*INTERPRETER, str(processes.copy_of_entrypoint(tmp_path / "run", str(SOURCE)))]
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(state), "PATH": os.defpath, "LANG": "C"}
    return Stage(command, environ, folder)


def test_it_shows_the_line_of_the_session(stage: Stage) -> None:
    """And not that of another one, whatever the language is."""
    stage.file()
    stage.file(b"0\nAnother\n", "other")

    assert stage.show() == f"{LINE}\n"


@each_row(
    "ago_s, words",
    [
        (20, "just now"),
        (-500, "just now"),
        (90, "1 min ago"),
        (45 * 60, "45 min ago"),
        (3 * 3600 + 1800, "3 h ago"),
        (50 * 3600, "2 d ago"),
    ],
)
def test_it_tells_how_long_ago_the_workflow_was_saved(stage: Stage, ago_s: int, words: str) -> None:
    """The relay reckons, so the file need not change. A clock that was set back tells nothing."""
    now_s = int(time.time())
    stage.file(f"{now_s - ago_s}\n{LINE}\n".encode())

    shown = stage.show()

    assert status_file.age(ago_s) == words
    later_s = ago_s + int(time.time()) - now_s  # a machine may take its time
    assert shown in {f"{LINE} · saved {status_file.age(each)}\n" for each in range(ago_s, later_s + 1)}


def test_it_finds_the_session_in_what_the_client_sends(stage: Stage) -> None:
    """Whatever stands around it; no text of a person's is taken for it."""
    stage.file()
    stage.file(b"0\nAnother\n", "other")
    around = {"session_name": '"session_id":"other"', "agent": {"session_id": "other"}, "transcript_path": "x" * 70_000}

    assert stage.show(json.dumps({**around, "session_id": SESSION}, indent=2).encode()) == f"{LINE}\n"


@each_row(
    "payload",
    [
        b"",
        b'{"agent":{"session_id":"me"}}',
        b'[{"session_id":"me"}]',
        b'{"session_id":""}',
        b'{"session_id":7,"x":{"session_id":"me"}}',
        b'{"session_id":"../status/me"}',
        b'{"session_id":"me\\u0000"}',
        b'{"session_id":"' + b"m" * 65 + b'"}',
        b"\0\xff" * 500,
    ],
)
def test_what_names_no_session_shows_nothing(stage: Stage, payload: bytes) -> None:
    """No path leads out of the folder."""
    stage.file(session="me")
    stage.file(session="m" * 65)

    assert stage.show(payload) == ""


@each_row("content", [b"", b"0\n", b"holdfast status 1\n0\nof an earlier version\n", b"1\n\xff\n"])
def test_what_is_no_status_file_shows_nothing(stage: Stage, content: bytes) -> None:
    """Such as one of another version."""
    stage.file(content)

    assert stage.show() == ""


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "missing", "writable"])
def test_what_is_no_file_of_the_users_is_not_read(stage: Stage, kind: str) -> None:
    """Nor is it waited for."""
    place = stage.folder / SESSION
    if kind == "link":
        place.symlink_to(stage.file(session="other"))
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "writable":
        stage.file().chmod(0o622)

    assert stage.show() == ""


@pytest.mark.parametrize("state", ["", None])
def test_the_state_folder_is_found_as_by_everything_else(stage: Stage, tmp_path: Path, state: str | None) -> None:
    """Below the home without the variable."""
    stage.environ.pop("XDG_STATE_HOME")
    if state is not None:
        stage.environ["XDG_STATE_HOME"] = state
    folder = tmp_path / (".local/state" if os.uname().sysname != "Darwin" else "Library/Application Support")
    stage.folder = folder / "holdfast" / "status"
    stage.folder.mkdir(parents=True, mode=0o700)
    stage.file()

    assert stage.show() == f"{LINE}\n"


def test_a_terminal_is_not_waited_for(stage: Stage) -> None:
    """Somebody who types the command gets nothing at once."""
    stage.file()
    controller, terminal = os.openpty()
    try:
        done = subprocess.run(
            [*stage.command, status_file.ARGUMENT], stdin=terminal, env=stage.environ, capture_output=True, check=False
        )
    finally:
        os.close(controller)
        os.close(terminal)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
