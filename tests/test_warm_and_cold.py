"""Every recorded event gets the same answer with and without the warm server, which loads nothing more for it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.server import servers
from holdfast.testkit import recorded
from tests import warmth
from tests.processes import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Ended
    from tests.warmth import Warm

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")

OPINIONS = """
    from holdfast import *
    @hookimpl(match="Bash", strict=True)
    def on_pre_tool_use(event):
        return deny(f"no {event.tool_name} here: \\u00fc")
    @hookimpl
    def on_post_tool_use(event):
        print("printed")
        return advise(f"after {event.tool_name}")
    @hookimpl
    def on_user_prompt_submit(event):
        return advise(event.prompt.upper())
    @hookimpl
    def on_permission_request(event):
        return allow()
    @hookimpl
    def on_stop(event):
        return block("not yet")
    @hookimpl
    def on_session_start(event):
        raise ValueError("on purpose")
    @hookimpl
    def on_task_completed(event):
        return block("by exit code")
    @hookimpl(timeout=40)
    def on_session_end(event):
        pass
    """
"""A handler of the user's with something to say of every kind: refusal, advice, exit code 2, a fault.

On a busy machine the second that a session's end has by default can be over before anything was said: it asks for more.
"""

WATCHED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from holdfast.server import loop as server
warm_up = server.warm_up
class Watch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        file = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, name.encode() + b"\\n")
        os.close(file)
def warm_and_watched():
    warm_up()
    sys.meta_path.insert(0, Watch)
server.warm_up = warm_and_watched
sys.exit(server.main("--serve", sys.argv[2]))
"""
"""A server that notes, in itself and in all that it forks, each module that is looked for once it is warm."""


@dataclass
class Both:
    """What came of every recorded payload.

    Attributes:
        warm: by payload, exit code, stdout and stderr from the server, with the folder taken out.
        cold: the same without it.
        answered: how many events the server has answered.
        loaded: what was looked for in the server and its children.
    """

    warm: dict[str, tuple[int, str, str]]
    cold: dict[str, tuple[int, str, str]]
    answered: int
    loaded: list[str]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Fire all of them, in two homes that were prepared alike: one has a server, in the other it is off."""
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
        top = Path(folder).resolve()
        warm, cold = (prepared(top / name) for name in ("w", "c"))
        log = top / "loaded"
        server = serve(warm, log)
        try:
            with ThreadPoolExecutor(2) as pool:
                said = pool.submit(fired, warm, {}), pool.submit(fired, cold, {"HOLDFAST_SERVER": "off"})
                results = [each.result() for each in said]
            status = servers.ask(warm.socket)
            assert status
        finally:
            server.kill()
            server.wait()
            warm.close()
            cold.close()
        yield Both(results[0], results[1], status["answered"], log.read_text().split() if log.exists() else [])


def prepared(folder: Path) -> Warm:
    """Make a home with all shipped handlers on and one of the user's, and a project with a workflow."""
    folder.mkdir()
    place = warmth.make(folder)
    on = json.dumps(sorted(path.stem for path in (SOURCE.parent / "handlers").glob("*.py")))
    place.write(
        place.home / ".config" / "holdfast" / "holdfast.toml", f"[handlers]\non = {on}\ntimeout = 40\ndeadline = 200\n"
    )
    (place.home / ".config" / "holdfast" / "handlers" / "says.py").unlink()
    place.user_handler("opinions", OPINIONS)
    command = [sys.executable, "-m", "holdfast", "start", "Alpha", "--phase", "One", "--phase", "Two"]
    subprocess.run(command, env=environ(place) | {"PYTHONPATH": str(SOURCE)}, cwd=place.root, check=True, timeout=500)
    return place


def environ(place: Warm, **changes: str) -> dict[str, str]:
    """Return a hook's environment in which time stands still."""
    return place.environ(HOLDFAST_NOW="2026-01-02T03:04:05Z", **changes)


def serve(place: Warm, log: Path) -> subprocess.Popen[bytes]:
    """Start the watched server of a place and wait until it answers."""
    package = place.root.parent / "patient"
    command = [sys.executable, "-c", WATCHED, str(package), str(place.entry), str(log)]
    process = subprocess.Popen(command, env=place.environ(CLAUDECODE=None, CLAUDE_PROJECT_DIR=None), cwd="/")
    place.until(lambda: bool(place.sockets) and servers.ask(place.socket) is not None)
    return process


def fired(place: Warm, changes: dict[str, str]) -> dict[str, tuple[int, str, str]]:
    """Send every recorded payload through a place's entrypoint, one after the other."""
    top, said = str(place.root.parent), {}
    for name in recorded.names():
        payload = place.payload(name)
        ended = place.fire(payload, payload["hook_event_name"], environ=environ(place, **changes))
        said[name] = plain(ended, top)
    return said


def plain(ended: Ended, top: str) -> tuple[int, str, str]:
    """Return what a process left, without the folder of its home and project and digests of texts that hold it."""
    out, err = (
        re.sub(r"\b[0-9a-f]{12,64}\b", "DIGEST", text.replace(top, "TOP")) for text in (ended.stdout, ended.stderr)
    )
    return ended.exit_code, out, err


@pytest.mark.slow
def test_the_server_answers_every_recorded_event(both: Both) -> None:
    """All of them were warm, else the comparison shows nothing; and the handlers had something to say."""
    assert both.answered == len(recorded.names())
    assert len(set(both.warm.values())) > 8
    assert {code for code, _, _ in both.warm.values()} == {0, 2}


@pytest.mark.parametrize("name", recorded.names())
def test_it_is_the_same_answer_as_without_it(both: Both, name: str) -> None:
    """Exit code, stdout and stderr."""
    assert both.warm[name] == both.cold[name]


def test_nothing_of_ours_is_loaded_for_an_event_any_more(both: Both) -> None:
    """Neither in the server nor in the child that answers nor in the handlers': what they need is there by then."""
    assert sorted({name for name in both.loaded if name.partition(".")[0] == "holdfast"}) == []


def test_no_package_of_others_is_either(both: Both) -> None:
    """Of the standard library too; only the server itself loads one more, to hear of changes, before it forks."""
    assert sorted(each for each in set(both.loaded) if each.strip("_").partition(".")[0] != "ctypes") == []
