"""Events that nobody wants: the server's loop answers them, and only while nothing has changed."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files.file_memo import SETTLED_NS
from holdfast.server import held, servers, silence
from holdfast.server.silence import Silence
from tests import warmth
from tests.processes import grant
from tests.tables import each_row

if TYPE_CHECKING:
    from tests.warmth import Warm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")]

BASH = warmth.SAYS.replace("@hookimpl", '@hookimpl(match="Bash")')
EVERYTHING = warmth.SAYS.replace('"warm"', '"new"')


def glob(place: Warm) -> dict[str, Any]:
    """Return a call that no handler wants."""
    return place.payload("PreToolUse-Bash", tool_name="Glob", tool_input={"pattern": "*"})


def workers(place: Warm) -> set[int]:
    """Return the processes that the server has forked."""
    found = set[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((process / "stat").read_text().rpartition(")")[2].split()[1]) == place.pid:
                found.add(int(process.name))
    return found


def answered_by_the_loop(place: Warm) -> bool:
    """Fire an event that nobody wants, and tell whether no worker was spent on it."""
    place.until(lambda: len(workers(place)) == 2)
    before = workers(place)
    ended = place.fire(glob(place), "PreToolUse")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    return workers(place) == before


def settle(place: Warm, file: Path) -> None:
    """Wait until a file is so old that what is known of it may be kept."""
    place.until(lambda: time.time_ns() > file.stat().st_ctime_ns + SETTLED_NS)


@pytest.fixture
def quiet(warm: Warm) -> Warm:
    """A place whose server knows that nobody wants Glob."""
    settle(warm, warm.user_handler("says", BASH))
    warm.until(lambda: answered_by_the_loop(warm))
    return warm


def test_what_nobody_wants_costs_no_worker_and_the_rest_is_answered(quiet: Warm) -> None:
    """Also in turns, and the server counts both."""
    before = servers.ask(quiet.socket)
    for _ in range(2):
        assert quiet.advice() == "warm"
        quiet.until(lambda: answered_by_the_loop(quiet))
    after = servers.ask(quiet.socket)
    assert before
    assert after
    assert int(after["answered"]) - int(before["answered"]) >= 4


def test_a_handler_that_wants_it_now_is_called_at_once(quiet: Warm) -> None:
    """Whether it was edited in place, or is new."""
    quiet.user_handler("another", EVERYTHING)
    assert quiet.fire(glob(quiet), "PreToolUse").advice == "new"
    (quiet.home / ".config/holdfast/handlers/another.py").unlink()
    file = quiet.home / ".config/holdfast/handlers/says.py"
    file.write_text(file.read_text().replace('match="Bash"', 'match="Glob"'))
    assert quiet.fire(glob(quiet), "PreToolUse").advice == "warm"


def test_a_project_handler_counts_once_it_is_trusted(quiet: Warm) -> None:
    """An untrusted one stays silent, in the loop too; trust is in no folder of the project."""
    text = "from holdfast import *\n@hookimpl(match='Glob')\ndef on_pre_tool_use(event):\n    return advise('own')\n"
    file = quiet.project_handler("own", text)
    settle(quiet, file)
    quiet.until(lambda: answered_by_the_loop(quiet))
    grant(quiet, file)
    assert quiet.fire(glob(quiet), "PreToolUse").advice == "own"


def test_a_large_input_is_answered_whole(quiet: Warm) -> None:
    """More than the loop parses: a worker gets the beginning from the loop, and reads the rest."""
    call = quiet.payload("PreToolUse-Bash", tool_input={"command": "true " + "#" * 3 * held.INPUT_LIMIT_BYTES})
    ended = quiet.fire(call, "PreToolUse")
    assert (ended.exit_code, ended.advice) == (0, "warm")


# --- what is known --------------------------------------------------------------------------------------------------


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Silence:
    """What is known of a project's calls of tools: a handler wants Bash."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    seen = {str(tmp_path / "file"): silence._look(str(tmp_path / "file")), str(tmp_path / "none"): None}
    return Silence(str(tmp_path), "PreToolUse", silence._identity(str(tmp_path)) or (0, 0), seen, ("Bash|Read",))


PAYLOAD = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Glob"}


@each_row(
    "payload, covered",
    [
        (PAYLOAD, True),
        (PAYLOAD | {"tool_name": "Read"}, False),
        (PAYLOAD | {"tool_name": 3}, False),
        (PAYLOAD | {"hook_event_name": "PostToolUse"}, False),
        (PAYLOAD | {"cursor_version": "1"}, False),
        ([PAYLOAD], False),
    ],
)
def test_only_what_surely_nobody_wants_is_covered(known: Silence, payload: object, covered: bool) -> None:
    """Another event, another client's and what isn't told is for a worker."""
    environ = {"CLAUDE_PROJECT_DIR": known.root, "CLAUDECODE": "1"}
    assert known.covers(payload, environ) is covered
    assert silence.parsed(known.message()) == known


def test_it_holds_until_something_changes(known: Silence, tmp_path: Path) -> None:
    """A file that changed in place, one that is new, and another root at the same path."""
    assert known.holds()
    (tmp_path / "none").touch()
    assert not known.holds()
    (tmp_path / "none").unlink()
    (tmp_path / "file").write_text("changed")
    assert not known.holds()
    assert not known._replace(seen={}, identity=(0, 0)).holds()
