"""An uninstall stops the removed launcher's servers and no others."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes, versions
from holdfast.install import install, uninstall
from holdfast.server import control
from tests import warmth
from tests.warmth import gone

if TYPE_CHECKING:
    from holdfast.clients.claude.scopes import Target
    from tests.warmth import Warm

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")


@pytest.fixture
def place(fresh: Warm, monkeypatch: pytest.MonkeyPatch) -> Warm:
    """A home where Holdfast is installed for the user, and no server runs yet."""
    monkeypatch.setattr(versions, "version", lambda: None)
    warmth.move_in(fresh, monkeypatch)
    install.install(scopes.target("user", fresh.root))
    return warmth.installed(fresh)


@pytest.fixture
def target(place: Warm) -> Target:
    """The user's settings, the only ones that name the launcher."""
    return scopes.target("user", place.root)


def left(place: Warm) -> set[str]:
    """Return what servers listen with; the mark of a start goes as soon as an event has been answered."""
    return {each.name for each in place.folder.iterdir() if each.suffix != ".tried"}


def of_a_plugin(place: Warm) -> Warm:
    """Return the same home with a server of another entrypoint, as a plugin's is."""
    other = warmth.native(replace(place, entry=place.root.parent / "run"))
    other.fire(other.call(), "PreToolUse")
    other.until(lambda: str(other.entry) in {each.entry for each in control.running_servers()})
    return other


@pytest.mark.parametrize("state", ["runs", "was killed", pytest.param("hangs", marks=pytest.mark.slow)])
def test_the_last_uninstall_ends_the_server_and_leaves_nothing_of_it(
    place: Warm, target: Target, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """No process, no socket, no lock, no mark, no folder; and it says so of one that answers."""
    place.warm_up()
    pid, at = place.pid, place.socket
    if state == "was killed":
        os.kill(pid, signal.SIGKILL)
        place.until(lambda: gone(pid))
        assert len(list(place.folder.iterdir())) >= 2
    elif state == "hangs":
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr(control, "ask", partial(control.ask, patience=0.3))
    lines = uninstall.uninstall(target)

    ended = [line for line in lines if line.startswith("Ended")]
    assert state == "hangs" or ended == ([f"Ended: {at}"] if state == "runs" else [])
    place.until(lambda: gone(pid))
    assert not place.folder.exists()
    assert place.folder.parent.exists()


def test_as_long_as_other_settings_name_the_launcher_its_server_stays(place: Warm, target: Target) -> None:
    """They still use it."""
    install.install(scopes.target("local", place.root))
    warmth.installed(replace(place, entry=place.root.parent / "run"))
    place.warm_up()
    pid = place.pid

    assert uninstall.uninstall(target)[-1].startswith("The launcher stays, because other settings still name it.")
    assert place.fire(place.call(), "PreToolUse").advice == "warm"
    assert place.pid == pid


@pytest.mark.slow
def test_the_server_of_another_entrypoint_goes_on(place: Warm, target: Target) -> None:
    """A plugin's sessions are answered by the same server as before, which keeps all that it listens with."""
    other = of_a_plugin(place)
    kept = left(place)
    place.fire(place.call(), "PreToolUse")
    place.until(lambda: len([each for each in control.running_servers() if each.answers]) == 2)
    own = next(each for each in control.running_servers() if each.entry == str(place.entry))

    lines = uninstall.uninstall(target)

    assert [line for line in lines if line.startswith("Ended")] == [f"Ended: {own.address}"]
    place.until(lambda: gone(own.pid))
    assert [each.entry for each in control.running_servers()] == [str(other.entry)]
    assert other.fire(other.call(), "PreToolUse").advice == "warm"
    assert left(place) == kept
    assert not paths.launcher().exists()


def test_a_launcher_named_through_a_link_is_the_same(place: Warm, target: Target) -> None:
    """A home that is reached by another name has the same launcher."""
    link = place.home.with_name("link")
    link.symlink_to(place.home)
    linked = warmth.native(replace(place, entry=link / place.entry.relative_to(place.home)))
    linked.warm_up()
    pid = linked.pid

    uninstall.uninstall(target)

    place.until(lambda: gone(pid))
    assert not place.folder.exists()


def test_a_server_that_was_just_starting_does_not_stay(place: Warm) -> None:
    """The launcher went while its server was loading: nobody will ask that server, so it ends at once."""
    preload = place.root.parent / "own" / "holdfast" / "server" / "preload.py"
    goes = f"import os; os.unlink({str(place.entry)!r})"
    warmth.rewrite(preload, f"{preload.read_text()}\n_all = load_all\ndef load_all():\n    _all()\n    {goes}\n")
    command = [str(place.entry), "--serve"]

    done = subprocess.run(command, env=place.environ(), timeout=500, check=False)

    assert not place.entry.exists()
    assert done.returncode == 1
    assert not place.folder.exists()
