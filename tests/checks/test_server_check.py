"""The server's check: a server that answers, one that hangs, none, and where none can run."""

from __future__ import annotations

import os
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING

import pytest

from holdfast.server import control
from tests import warmth
from tests.doctoring import healthy, mend, only
from tests.warmth import gone

if TYPE_CHECKING:
    from tests.warmth import Warm

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")


@pytest.fixture
def place(fresh: Warm, monkeypatch: pytest.MonkeyPatch) -> Warm:
    """The home that the doctor looks at, without a server."""
    warmth.move_in(fresh, monkeypatch)
    return fresh


@pytest.fixture
def hanging(place: Warm, monkeypatch: pytest.MonkeyPatch) -> Warm:
    """The same, with a server that doesn't answer, because its idle children are used up."""
    place.warm_up()
    os.kill(place.pid, signal.SIGSTOP)
    monkeypatch.setattr(control, "ask", partial(control.ask, patience=0.3))
    place.until(lambda: control.ask(place.socket) is None)
    return place


@pytest.mark.slow
def test_one_that_hangs_is_ended_by_the_doctor(hanging: Warm) -> None:
    """`holdfast doctor --fix` does the same and says so."""
    pid, place = hanging.pid, hanging.socket

    assert mend("server", hanging.root) == [f"the server at {place} was stopped"]
    hanging.until(lambda: gone(pid))
    healthy("server", hanging.root)


def test_what_cannot_be_ended_is_said(hanging: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fix that did not help does not say that it did."""
    monkeypatch.setattr(control, "stop", lambda place: False)
    fix = only("server", hanging.root, "problem").fix

    assert fix
    assert fix() == f"{hanging.socket} couldn't be stopped"


@pytest.mark.parametrize("how", ["variable", "configuration"])
def test_switched_off_is_said(place: Warm, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Somebody wanted it so: nothing is wrong, and it is why events are slow."""
    why = "HOLDFAST_SERVER=0"
    if how == "variable":
        monkeypatch.setenv("HOLDFAST_SERVER", "0")
    else:
        file = place.write(place.home / ".config" / "holdfast" / "holdfast.toml", "server = false\n")
        why = f"server = false in {file}"

    assert healthy("server", place.root) == f"the server is off ({why}), so every event starts cold"


def test_a_path_too_long_is_a_notice(place: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no socket can lie every event is cold, and nobody else says so."""
    monkeypatch.setenv("XDG_STATE_HOME", str(place.home / ("x" * 100)))

    found = only("server", place.root, "notice")

    assert "too long a path for a socket" in found.text
    assert found.remedy == "set XDG_STATE_HOME to a shorter folder"
    monkeypatch.setenv("XDG_STATE_HOME", str(place.home / "x"))
    healthy("server", place.root)
