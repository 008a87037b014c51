"""Every recorded event gets the same answer with and without the warm server, which loads nothing more for it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.server import control
from holdfast.testkit import recorded
from tests import warmth
from tests.processes import SOURCE

if TYPE_CHECKING:
    from tests.processes import Ended
    from tests.warmth import Warm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")]

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
from holdfast.server import prefork
load_all = prefork.load_all
class Watch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        file = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, name.encode() + b"\\n")
        os.close(file)
def load_and_watch():
    load_all()
    sys.meta_path.insert(0, Watch)
prefork.load_all = load_and_watch
sys.exit(prefork.main(sys.argv[2]))
"""
"""A server that notes, in itself and in all that it forks, each module that is looked for once it is warm."""


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
    package = place.root.parent / "own"
    command = [sys.executable, "-c", WATCHED, str(package), str(place.entry), str(log)]
    process = subprocess.Popen(command, env=place.environ(CLAUDECODE=None, CLAUDE_PROJECT_DIR=None), cwd="/")
    place.until(lambda: bool(place.sockets) and control.ask(place.socket) is not None)
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


def test_every_recorded_event_is_answered_as_without_the_server() -> None:
    """Exit code, stdout and stderr are the same, and nothing is loaded for an event any more.

    Neither in the server nor in the child that answers nor in the handlers': what they need is there by then. All of
    this is one test, because each part needs all events fired, one after the other, in two homes prepared alike.
    """
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
        top = Path(folder).resolve()
        warm, cold = (prepared(top / name) for name in ("w", "c"))
        log = top / "loaded"
        server = serve(warm, log)
        try:
            with ThreadPoolExecutor(2) as pool:
                both = pool.submit(fired, warm, {}), pool.submit(fired, cold, {"HOLDFAST_SERVER": "off"})
                by_server, without = (each.result() for each in both)
            status = control.ask(warm.socket)
        finally:
            server.kill()
            server.wait()
            warm.close()
            cold.close()
        loaded = set(log.read_text().split()) if log.exists() else set()

    assert {name: given for name, given in by_server.items() if given != without[name]} == {}
    assert sorted(loaded) == []
    # The comparison shows something: all of them were warm, and the handlers had something to say.
    assert status and status["answered"] == len(recorded.names())
    assert len(set(by_server.values())) > 8
    assert {code for code, _, _ in by_server.values()} == {0, 2}
    for name, (_, out, _) in by_server.items():
        assert_acceptable(name, out)


def assert_acceptable(name: str, out: str) -> None:
    """Assert that an event accepts a reply: nothing, its own JSON, or at a compaction words alone."""
    event = name.partition("-")[0]
    if out.startswith("{"):
        assert json.loads(out).get("hookSpecificOutput", {}).get("hookEventName", event) == event, name
        assert event != "PreCompact" and "null" not in out, name
    else:
        assert out == "" or event == "PreCompact", name
