"""A handlers' child forked before its event finds by itself what to call, and waits for the payload."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import engine, log, paths
from holdfast.dispatch import isolation
from holdfast.ledger import connection
from holdfast.ledger.database import Ledger
from holdfast.plugins import loader
from holdfast.process.child import write
from holdfast.process.spare import Spare
from holdfast.project import OpenProject
from holdfast.server import handlers_child
from holdfast.server.handlers_child import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.dispatch.isolation import Isolated
    from holdfast.plugins.loader import Call

SAYS = """from holdfast import *
import os
@hookimpl(match="Bash")
def on_pre_tool_use(event, context):
    return advise(f"{os.getcwd()} {context.environ['MINE']} {event.tool_name}")
@hookimpl
def on_stop(event):
    return block("stop")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project, and a home with a handler."""
    folder = paths.user_handlers()
    folder.mkdir(parents=True)
    (folder / "says.py").write_text(SAYS)
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def spare() -> Iterator[Spare]:
    """The child, which has been told nothing."""
    forked = Spare.fork(handlers_child.handle)
    yield forked
    forked.close()


def place(root: Path) -> Place:
    """Return where a hook of the project's runs."""
    given = {b"CLAUDE_PROJECT_DIR": bytes(root), b"MINE": b"of this call"}
    return Place(dict(os.environb) | given, bytes(root), 0o022, os.getpid())


def payload(event: str, **changes: Any) -> dict[str, Any]:
    """Return a payload."""
    return {"hook_event_name": event, "session_id": "s", "cwd": "/", "transcript_path": ""} | changes


def bash() -> dict[str, Any]:
    """Return a call of Bash."""
    return payload("PreToolUse", tool_name="Bash", tool_input={"command": "true"}, tool_use_id="t")


def texts(spare: Spare) -> list[str]:
    """Return what the user's handler said, until the child is done."""
    said = []
    while message := spare.child.receive(time.monotonic() + 20, bytearray()):
        if message.get("answer", "").startswith("user/"):
            said += [each["text"] for each in message["outcomes"]]
        if message.get("last"):
            return said
    return said


def test_it_calls_what_the_event_wants_in_its_callers_place(spare: Spare, root: Path) -> None:
    """With the folder and the environment of who asks."""
    spare.tell(place(root), time.monotonic())
    spare.tell(bash())
    assert texts(spare) == [f"{root} of this call Bash"]


def test_the_ledger_is_connected_to_before_the_event(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is one; to connect takes longer than what an event asks it."""
    monkeypatch.setattr(connection, "_held", {})
    monkeypatch.setattr(connection, "_connected", set())
    file = OpenProject.open(root).ledger_file
    for where in (str(root), str(root / "gone"), "relative", "/" + "x" * 5_000, "\0"):
        handlers_child.hold_ledger(where)
    assert not connection._held
    assert not file.exists()

    Ledger.open(file).close()
    monkeypatch.setattr(connection, "_connected", set())
    handlers_child.hold_ledger(str(root))

    assert list(connection._held) == [str(file)]
    assert log._root == ""
    connection._held[str(file)][0].close()


def test_an_event_that_nobody_wants_is_its_end(spare: Spare, root: Path) -> None:
    """Nothing is called."""
    spare.tell(place(root), time.monotonic())
    spare.tell(bash() | {"tool_name": "Read"})
    assert texts(spare) == []


def test_without_a_payload_nothing_is_called(spare: Spare, root: Path) -> None:
    """Whoever asked did not say go, or died."""
    (paths.user_handlers() / "says.py").write_text(f"{SAYS}open({str(root / 'ran')!r}, 'w')\n")
    spare.tell(place(root), time.monotonic())
    spare.close()
    assert not (root / "ran").exists()


def test_a_place_that_cannot_be_entered_is_its_end(spare: Spare, root: Path) -> None:
    """It ends, and does not answer somewhere else."""
    gone = place(root)
    root.joinpath(".claude").rmdir()
    root.rmdir()
    spare.tell(gone, time.monotonic())
    assert spare.child.receive(time.monotonic() + 20, bytearray()) is None


def test_what_it_calls_has_the_time_that_is_configured_from_the_events_coming_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from the moment at which its payload is there: the client counts from the beginning, too."""
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text("[handlers]\ntimeout = 7.5\ndeadline = 100.0\n")

    def work(isolated: Isolated, plan: list[Call], report: int, captured: int, heard: int) -> None:
        write(report, {"timeout": isolated.timeout, "deadline": isolated.deadline})

    monkeypatch.setattr(isolation, "work", work)
    forked = Spare.fork(handlers_child.handle)
    forked.tell(place(root), 1e9)
    forked.tell(bash())
    said = forked.child.receive(time.monotonic() + 20, bytearray())
    forked.close()
    assert said and said["timeout"] == 7.5
    assert 1e9 < said["deadline"] <= 1e9 + 100


def test_what_is_wanted_is_said_by_the_payload(root: Path) -> None:
    """Of all handlers that it looked at, those of the event and of the tool."""
    project, seen = handlers_child.look({"CLAUDE_PROJECT_DIR": str(root)})
    assert project.root == root
    for event, value in (("PreToolUse", "Bash"), ("PreToolUse", "Read"), ("Stop", None), ("Nonsense", None)):
        assert seen.files(event, value) == loader.find(engine.CLIENT, project, event, value)
    assert "says" in {file.name for file in seen.files("PreToolUse", "Bash")}


def test_no_hook_of_claude_codes_is_an_error() -> None:
    """Without a project's folder there is nothing to look at."""
    with pytest.raises(KeyError):
        handlers_child.look({})
