"""Make a home with Holdfast installed and projects with a workflow, and tell warm answers from cold ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from holdfast.install import register
from holdfast.process.run_program import CompletedProgram, run_program
from holdfast.server import control
from holdfast.testkit.client import Client, encoded
from holdfast.testkit.place import Place as Throwaway
from tools.bench import race

SESSION = "0d3f0d5e-0000-4000-8000-00000000bec4"
JOBS = Path(__file__).parent / "jobs"
COLD = {"HOLDFAST_SERVER": "off"}
WAIT = 30.0  # seconds until a server must answer, after a first event that was answered cold
_TRIES = 5
_WHERE = """\
import os
from holdfast import deny, hookimpl
@hookimpl(match="Where")
def on_pre_tool_use(event):
    return deny(f"session {os.getsid(0)}.")
"""


@dataclass
class Home(Throwaway):
    """A home in which some tree is installed.

    Attributes:
        python: the interpreter of the tree's virtual environment.
    """

    python: Path = Path(sys.executable)

    def holdfast(self, *arguments: str, root: Path | None = None, **variables: str) -> CompletedProgram:
        """Run the tree's command line; see the base class."""
        where = root or self.root
        command = [str(self.python), "-m", "holdfast", *arguments]
        return run_program(command, b"", self.environ(where) | variables, where, self.limit_s)


@dataclass
class Place(Client):
    """A project of a user who has installed Holdfast, with the trivial job as a handler; a server may answer."""

    @property
    def launcher(self) -> Path:
        """The entrypoint that the registered command runs."""
        return self.place.launcher

    @property
    def entry(self) -> Path:
        """The entrypoint in Python, by which the server is known: what the native relay starts, or the launcher."""
        return self.place.entrypoint if self.native else self.launcher

    @property
    def native(self) -> bool:
        """Whether the launcher is the native relay."""
        return self.place.entrypoint.exists()

    @property
    def handlers(self) -> Path:
        """The folder of the user's own handlers."""
        return self.home / ".config" / "holdfast" / "handlers"


def at(top: Path, python: Path = Path(sys.executable)) -> Place:
    """Return the place in a folder, for its first project and the tree of an interpreter."""
    return Place(Home(top, python=python, variables={"HOLDFAST_RELAY": "native"}), top / "project", SESSION, process="")


def made(place: Place) -> Place:
    """Give a place's project a workflow of two phases, and return it."""
    (place.root / ".claude").mkdir(parents=True)
    phases = ("look around @general-purpose", "Write it")
    run(place, "start", "Bench", "--format", "hybrid", *(word for each in phases for word in ("--phase", each)))
    return place


def make(top: Path, python: Path = Path(sys.executable)) -> Place:
    """Install the tree of an interpreter into an empty home, and give a project a workflow."""
    place = at(top, python)
    place.handlers.mkdir(parents=True)
    shutil.copy(JOBS / "holdfast_handler.py", place.handlers / "refuse_secrets.py")
    place.root.mkdir()
    run(place, "install", "--scope", "user")
    return made(place)


def run(place: Client, *arguments: str, **environ: str) -> None:
    """Run the command line in a place's project, as its session, cold by default. Raises RuntimeError if it fails."""
    variables = {"CLAUDE_CODE_SESSION_ID": place.session, **COLD, **environ}
    done = place.place.holdfast(*arguments, root=place.root, **variables)
    if done.exit_code:
        raise RuntimeError(f"holdfast {' '.join(arguments)}: {done.stderr or done.stdout}")


def command(event: str) -> tuple[str, ...]:
    """Return the registered command as the client starts it."""
    return ("/bin/sh", "-c", register.command(event))


def is_warm(place: Place, environ: dict[str, str] | None = None) -> bool:
    """Fire one event and tell whether a server answered it.

    A server runs in its own process session; a handler that is installed only for this event reports its session.
    """
    file = place.handlers / "tell_where.py"
    file.write_text(_WHERE)
    try:
        payload = encoded(place.payload("PreToolUse-Bash", tool_name="Where", tool_input={}))
        _, _, answer = race.once(command("PreToolUse"), payload, environ or place.environ)
    finally:
        file.unlink()
    if b"session " not in answer:
        raise race.WrongAnswerError(f"an event was answered with {answer[:400]!r}")
    return f"session {os.getsid(0)}.".encode() not in answer


def still_warm(place: Place) -> None:
    """Make sure that the server still answers; several tries, because one event may go cold on a busy machine.

    Raises:
        WrongAnswerError: it doesn't, so some "warm" figures may be cold ones.
    """
    if not any(is_warm(place) for _ in range(_TRIES)):
        raise race.WrongAnswerError("the server did not last until the end, so not all that is called warm was")


def endings(place: Place) -> list[str]:
    """Return the log lines of a place's servers that ended early."""
    file = place.home / ".local/state/holdfast/log/holdfast.log"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [line for line in lines if "the server ends" in line]


def sockets(place: Client) -> list[Path]:
    """Return the sockets of a place's servers."""
    return [path for path in (place.home / ".local/state/holdfast/server").glob("*") if path.is_socket()]


def answered(place: Client) -> int:
    """Return how many events the servers of a place have answered so far."""
    said = [control.ask(socket) for socket in sockets(place)]
    return sum(int(each["answered"]) for each in said if each)


def start_server(place: Client) -> None:
    """Have the installed launcher start a server, and wait until it answers. Raises RuntimeError if it doesn't."""
    launcher = place.place.home / ".local" / "share" / "holdfast" / "run"
    command = ["/bin/sh", "-c", '"$0" --serve </dev/null >/dev/null 2>&1 &', str(launcher)]
    environ = {**place.environ, "HOLDFAST_SERVER": ""}
    subprocess.run(command, env=environ, cwd="/", start_new_session=True, check=True)
    until = time.monotonic() + WAIT
    while not any(map(control.ask, sockets(place))):
        if time.monotonic() > until:
            raise RuntimeError("no server answers")
        time.sleep(0.05)


def warm_up(place: Place, environ: dict[str, str] | None = None) -> bool:
    """Fire events until the server answers. Return whether it does."""
    until = time.monotonic() + WAIT
    while not is_warm(place, environ):
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True
