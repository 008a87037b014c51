"""Make a home in which Holdfast is installed, with a project and a workflow; warm it up, and measure its server."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path

from holdfast.install import register
from holdfast.testkit.client import Client
from holdfast.testkit.place import Place as Throwaway
from tests import warmth
from tools.bench import race

SESSION = "0d3f0d5e-0000-4000-8000-00000000bec4"
JOBS = Path(__file__).parent / "jobs"
COLD = {"HOLDFAST_SERVER": "off"}
_WARM_UP_TIMEOUT_S = 180.0
_TRIES = 5
_SETTLING_S = 2.0  # in which processes of the last event may end
_WHERE = """\
import sys
from holdfast import deny, hookimpl
@hookimpl(match="Where")
def on_pre_tool_use(event):
    return deny("warm." if sys.argv[1:] == ["--serve"] else "cold.")
"""


class Place(Client):
    """A project of a user who has installed Holdfast, with the trivial job as a handler; a server may answer."""

    @property
    def handlers(self) -> Path:
        """The folder of the user's own handlers."""
        return self.home / ".config" / "holdfast" / "handlers"

    @property
    def transcript_path(self) -> str:
        """The path of the session's transcript; empty before one is written there."""
        file = self.home / "transcript.jsonl"
        return str(file) if file.exists() else ""


def make(top: Path) -> Place:
    """Install Holdfast into an empty home, and give a project a workflow of two phases."""
    home = Throwaway(top, variables={"HOLDFAST_RELAY": "native"})
    place = Place(home, top / "project", SESSION, process="")
    place.handlers.mkdir(parents=True)
    shutil.copy(JOBS / "holdfast_handler.py", place.handlers / "refuse_secrets.py")
    place.root.mkdir()
    run(place, "install", "--scope", "user")
    start(place)
    return place


def start(place: Place, format_name: str = "hybrid") -> None:
    """Give a place's project a workflow of two phases."""
    (place.root / ".claude").mkdir(parents=True, exist_ok=True)
    agent = " @general-purpose" if format_name == "hybrid" else ""
    run(place, "start", "Bench", "--format", format_name, "--phase", f"look around{agent}", "--phase", "Write it")


def run(place: Place, *arguments: str) -> None:
    """Run the command line in a place's project, as its session. Raises RuntimeError if it fails."""
    done = place.place.holdfast(*arguments, root=place.root, CLAUDE_CODE_SESSION_ID=place.session, **COLD)
    if done.exit_code:
        raise RuntimeError(f"holdfast {' '.join(arguments)}: {done.stderr or done.stdout}")


def command(event: str) -> tuple[str, ...]:
    """Return the registered command as the client starts it."""
    return ("/bin/sh", "-c", register.command(event))


def is_warm(place: Place) -> bool:
    """Fire one event and tell whether a server answered it, by a handler that is there only for this event."""
    file = place.handlers / "tell_where.py"
    file.write_text(_WHERE)
    try:
        payload = place.payload("PreToolUse-Bash", tool_name="Where", tool_input={})
        answer = place.run(register.command("PreToolUse"), payload).stdout
    finally:
        file.unlink()
    if "warm." not in answer and "cold." not in answer:
        raise race.WrongAnswerError(f"an event was answered with {answer[:400]!r}")
    return "warm." in answer


def warm_up(place: Place) -> None:
    """Fire events until the server answers.

    Raises:
        TimeoutError: it never does.
    """
    until = time.monotonic() + _WARM_UP_TIMEOUT_S
    while not is_warm(place):
        if time.monotonic() > until:
            raise TimeoutError("no server answers; is there a C compiler for the native relay?")
        time.sleep(0.2)


def still_warm(place: Place) -> None:
    """Make sure that the server still answers; several tries, because one event may go cold on a busy machine.

    Raises:
        WrongAnswerError: it doesn't, so some "warm" figures may be cold ones.
    """
    if not any(is_warm(place) for _ in range(_TRIES)):
        raise race.WrongAnswerError("the server did not last until the end, so not all that is called warm was")


def memory_mb(place: Place) -> float:
    """Return the memory of a place's idle server and its children in MB, shared memory counted once (Linux: PSS)."""
    time.sleep(_SETTLING_S)
    total_kb = 0
    for pid in warmth.processes_of(place.home):
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
            total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb / 1024
