"""A place whose events a warm server answers, and what tests need to know about that server."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.install import launcher
from holdfast.server import control
from tests import processes, relays, waiting
from tests.processes import ENTRYPOINT, INTERPRETER, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pytest

    from tests.processes import Ended

SAYS = """
    import sys
    from holdfast import *
    @hookimpl
    def on_pre_tool_use(event):
        return advise("warm" if sys.argv[1:] == ["--serve"] else "cold")
    """
"""A handler that says how its event is answered: in the server's child the command line is the server's."""
LONG = 500.0  # seconds that something which takes moments may take on a busy machine


@dataclass(frozen=True)
class Warm(Place):
    """A place where the server isn't switched off.

    Attributes:
        entry: the entrypoint that is run there.
        relay: the relay that starts it if no server answers.
    """

    entry: Path = ENTRYPOINT
    relay: Path | None = None

    @property
    def command(self) -> list[str]:
        """What starts the relay."""
        return [str(self.relay)] if self.relay else [*INTERPRETER, str(self.entry)]

    def environ(self, **changes: str | None) -> dict[str, str]:
        """Return a hook's environment without what switches the server off."""
        return super().environ(**({"HOLDFAST_SERVER": None} | changes))

    def fire(
        self, payload: Mapping[str, Any] | bytes, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> Ended:
        """Send one payload through this place's entrypoint."""
        command = [*self.command, *arguments]
        return processes.run(command, processes.encoded(payload), environ or self.environ(), self.root)

    def begin(self, *arguments: str, environ: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start the entrypoint and leave it waiting for its payload."""
        return subprocess.Popen(
            [*self.command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ or self.environ(),
            cwd=self.root,
        )

    def call(self) -> dict[str, Any]:
        """Return a tool call that is about to be made."""
        return self.payload("PreToolUse-Bash")

    def advice(self) -> str:
        """Return how the next event is answered."""
        ended = self.fire(self.call(), "PreToolUse")
        assert (ended.exit_code, ended.stderr) == (0, "")
        return ended.advice

    @property
    def folder(self) -> Path:
        """Where servers of this home listen."""
        return self.home / ".local" / "state" / "holdfast" / "server"

    @property
    def sockets(self) -> list[Path]:
        """Where a server listens that runs."""
        places = [lock.with_suffix("") for lock in self.folder.glob("*.lock")]
        return [place for place in places if control.holder(place)]

    @property
    def socket(self) -> Path:
        """Where the one server listens."""
        (place,) = self.sockets
        return place

    @property
    def pid(self) -> int:
        """The one server's process id."""
        return control.holder(self.socket)

    def warm_up(self) -> None:
        """Have an event start a server, and wait until that answers."""
        for mark in self.folder.glob("*.tried"):
            mark.unlink()
        self.fire(self.call(), "PreToolUse")
        self.until(lambda: bool(self.sockets) and control.ask(self.socket) is not None)

    @staticmethod
    def until(true: Callable[[], bool]) -> None:
        """Wait for something that is about to become true."""
        waiting.until(true)

    def close(self) -> None:
        """End every server that was started here."""
        end(self.home)


def end(home: Path) -> None:
    """Kill every process of a home: its servers, their waiting workers, and a server that is just starting."""

    def ended() -> bool:
        for pid in (left := processes_of(home)):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return not left

    waiting.until(ended)


def processes_of(home: Path) -> list[int]:
    """Return the processes of a home that have not ended."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"HOME={home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return [pid for pid in found if not gone(pid)]


@contextmanager
def murderer(home: Path, pause: float = 0.4) -> Iterator[list[int]]:
    """Kill the server of a home again and again, as soon as another one has been started.

    Args:
        home: whose.
        pause: seconds between two looks.

    Yields:
        The process ids of those that were killed.
    """
    folder, over, killed = home / ".local" / "state" / "holdfast" / "server", threading.Event(), list[int]()

    def run() -> None:
        while not over.wait(pause):
            for lock in folder.glob("*.lock"):
                pid = control.holder(lock.with_suffix(""))
                with suppress(OSError):
                    if pid > 0:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
            for mark in folder.glob("*.tried"):
                mark.unlink(missing_ok=True)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@contextmanager
def once(true: Callable[[], bool], act: Callable[[], None]) -> Iterator[None]:
    """Do something as soon as something has become true while the block runs."""

    def run() -> None:
        Warm.until(true)
        act()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def make(folder: Path, entry: Path | None = None) -> Warm:
    """Make an empty home and project, and a handler that says how events are answered.

    Args:
        folder: where; with a short path, so that a socket can lie below it.
        entry: the entrypoint; by default one with a package of its own, whose modules a test may change.
    """
    made = processes.make(folder)
    place = Warm(made.home, made.root, entry or _own_package(folder))
    place.configure("timeout = 60.0\ndeadline = 300.0\n")
    place.user_handler("says", SAYS)
    return native(place)


def native(place: Warm, **limits: float) -> Warm:
    """Return a place whose events go through a relay that waits as long as it may take."""
    folder = place.entry.parent / "native"
    folder.mkdir(exist_ok=True)
    conf = ["holdfast relay 1", INTERPRETER[0], str(place.entry), str(place.entry.with_name("refuse.sh")), ""]
    (folder / "run.conf").write_text("\n".join(conf))
    shutil.copy(relays.limited(**limits), folder / "new")
    (folder / "new").replace(folder / "run")  # the one in place may be running
    return replace(place, relay=folder / "run")


def move_in(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process the home of a place and no project, like a person's terminal."""
    for name, value in place.environ().items():
        if name.startswith(("HOME", "XDG_")):
            monkeypatch.setenv(name, value)
    monkeypatch.delenv("HOLDFAST_SERVER", raising=False)


def installed(place: Warm) -> Warm:
    """Return a place this process has moved into, with the launcher that an install writes without a relay."""
    launcher.write()
    entry = paths.launcher()
    text, own = entry.read_text(), f"\nROOT = {str(paths.package_root())!a}\n"
    assert own in text
    entry.write_text(text.replace(own, f"\nROOT = {str(place.entry.parent / 'own')!a}\n"))
    return native(replace(place, entry=entry))


def _own_package(folder: Path) -> Path:
    """Return an entrypoint with a package of its own, which links to the checkout's."""
    package = folder / "own" / "holdfast"
    package.mkdir(parents=True)
    for each in (processes.SOURCE / "holdfast").iterdir():
        if each.name != "__pycache__":
            (package / each.name).symlink_to(each)
    return processes.copy_of_entrypoint(folder / "run", str(package.parent))


def change(module: Path, name: str, value: str) -> None:
    """Change a constant in an entrypoint's copy of a module, whose file may be the checkout's own."""
    text, times = re.subn(f"(?m)^{name} = .*$", f"{name} = {value}", module.read_text())
    assert times == 1
    rewrite(module, text)


def rewrite(module: Path, text: str) -> None:
    """Replace a module's text in an entrypoint's own package, whose folder is then no longer the checkout's."""
    if module.parent.is_symlink():
        folder = module.parent.resolve()
        module.parent.unlink()
        module.parent.mkdir()
        for each in folder.iterdir():
            if each.name != "__pycache__":
                (module.parent / each.name).symlink_to(each)
    module.unlink()
    module.write_text(text)


def gone(pid: int) -> bool:
    """Return whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
