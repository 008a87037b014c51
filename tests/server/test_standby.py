"""Starting a server in the background: when it is tried, and what the server inherits."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import paths, relay
from holdfast.server import servers, standby

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def started(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The commands that would have been run; a server could listen, and is not switched off."""
    monkeypatch.setenv("XDG_STATE_HOME", str(short_folder))
    monkeypatch.delenv("HOLDFAST_SERVER")
    commands: list[list[str]] = []
    monkeypatch.setattr(standby, "run", commands.append)
    yield commands


def mark() -> Path:
    """Return the file that says when `/run` was last tried."""
    return standby.mark(Path(os.fsdecode(relay.address("/run", dict(os.environb)))))


def test_one_is_started_with_this_interpreter_and_marked(started: list[list[str]]) -> None:
    """Alone and without site, as the entrypoint is; the folder is ours alone even if it was not before."""
    servers.folder().mkdir(parents=True, mode=0o755)

    assert standby.start("/run")
    assert started == [[sys.executable, "-IS", "/run", "--serve"]]
    assert mark().exists()
    assert servers.folder().stat().st_mode & 0o777 == 0o700


def test_another_is_tried_only_after_a_while(started: list[list[str]]) -> None:
    """One that cannot start costs an event now and then, not each; a mark from the future does not count."""
    assert standby.start("/run")
    assert not standby.start("/run")
    assert standby.start("/other"), "each entrypoint has its own"
    os.utime(mark(), (time.time() - 10,) * 2)
    assert not standby.start("/run"), "a server that fails takes a part of a second, and so do many events"
    for moment in (time.time() - standby.RETRY_S - 1, time.time() + 1000):
        os.utime(mark(), (moment, moment))
        assert standby.start("/run")
        assert not standby.start("/run")
    assert len(started) == 4


@pytest.mark.parametrize("how", ["variable", "configuration", "path", "nowhere"])
def test_where_there_is_to_be_none_nothing_is_done(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, short_folder: Path, how: str
) -> None:
    """Not even a mark is left."""
    if how == "variable":
        monkeypatch.setenv("HOLDFAST_SERVER", "off")
    elif how == "configuration":
        paths.user_config().parent.mkdir(parents=True)
        paths.user_config().write_text("server = false\n")
    elif how == "path":
        monkeypatch.setenv("XDG_STATE_HOME", str(short_folder / ("x" * 100)))
    else:
        (short_folder / "holdfast").write_text("no folder")

    assert not standby.start("/run")
    assert started == []
    assert not servers.folder().exists()


@pytest.mark.parametrize("error", [BlockingIOError(11, "Resource temporarily unavailable"), ValueError("null byte")])
def test_a_failure_is_a_line_in_the_log_and_nothing_else(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Whatever it is: the event has been answered by then."""

    def fail(command: list[str]) -> None:
        raise error

    monkeypatch.setattr(standby, "run", fail)

    assert not standby.start("/run")
    assert f"the server didn't start: {type(error).__name__}" in paths.log_file().read_text()
    assert not started
