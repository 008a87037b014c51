"""Run the entrypoint as the client does: as a real process with a complete environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from holdfast.testkit import recorded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
ENTRYPOINT = ROOT / "hooks" / "dispatch.py"
SESSION = "11111111-1111-4111-8111-111111111111"
PATIENCE = 500.0  # seconds after which a process that does not end is a failure


@dataclass(frozen=True)
class Ended:
    """A process's exit code, its output, and the seconds it took as measured from outside."""

    exit_code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def reply(self) -> dict[str, Any]:
        """The JSON object on stdout; empty when nothing was said."""
        reply: dict[str, Any] = json.loads(self.stdout) if self.stdout else {}
        return reply

    @property
    def specific(self) -> dict[str, Any]:
        """`hookSpecificOutput`, empty when there is none."""
        specific: dict[str, Any] = self.reply.get("hookSpecificOutput", {})
        return specific

    @property
    def advice(self) -> str:
        """The text that reaches the model."""
        return str(self.specific.get("additionalContext", ""))


@dataclass(frozen=True)
class Place:
    """One test's own home and project, in which the entrypoint runs."""

    home: Path
    root: Path

    def write(self, path: str | Path, text: str | bytes) -> Path:
        """Write a file, by default below the project's root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        return target

    def user_handler(self, name: str, text: str | bytes) -> Path:
        """Write a handler into the user's folder."""
        return self.write(self.home / ".config" / "holdfast" / "handlers" / f"{name}.py", text)

    def project_handler(self, name: str, text: str | bytes) -> Path:
        """Write a handler into the project's folder; it is not trusted."""
        return self.write(f".claude/handlers/{name}.py", text)

    def configure(self, text: str) -> None:
        """Write the user's configuration; the shipped handlers stay off, so that only the test's own answer."""
        off = json.dumps(sorted(path.stem for path in (ROOT / "handlers").glob("*.py")))
        self.write(self.home / ".config" / "holdfast" / "holdfast.toml", f"[handlers]\noff = {off}\n{dedent(text)}")

    def environ(self, **changes: str | None) -> dict[str, str]:
        """Return an environment as the client gives a hook, with nothing of whoever runs the tests.

        Args:
            changes: variables to set, or with None to leave out.
        """
        values: dict[str, str | None] = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "CLAUDECODE": "1",
            "CLAUDE_PROJECT_DIR": str(self.root),
            "HOLDFAST_SERVER": "off",
            "HOLDFAST_RELAY": "python",
        }
        return {name: value for name, value in (values | changes).items() if value is not None}

    def log(self) -> str:
        """Return Holdfast's log; empty when nothing was logged."""
        path = self.home / ".local" / "state" / "holdfast" / "log" / "holdfast.log"
        return path.read_text("utf-8") if path.exists() else ""

    def payload(self, name: str, **changes: Any) -> dict[str, Any]:
        """Return a recorded payload as if it came from this project."""
        return recorded.load(name, **({"session_id": SESSION, "cwd": str(self.root)} | changes))

    def fire(
        self, payload: Mapping[str, Any] | bytes, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> Ended:
        """Send one payload through the entrypoint.

        Args:
            payload: a JSON object, or the very bytes that go to stdin.
            arguments: the command line after the entrypoint; usually the event's name, or nothing.
            environ: the environment, if not `environ()`.
        """
        command = [*INTERPRETER, str(ENTRYPOINT), *arguments]
        return run(command, encoded(payload), environ or self.environ(), self.root)


INTERPRETER = (sys.executable, "-IS")
FOREGROUND = (
    sys.executable,
    "-c",
    "import os, signal, sys; [signal.signal(number, signal.SIG_DFL) for number in (1, 2, 3, 15)]; "
    "os.execv(sys.argv[1], sys.argv[1:])",
)
"""A command that goes on as the one behind it, with signals as a terminal's have them: where a shell runs the tests in
the background, they ignore what Ctrl-C sends, and so does all they start."""


def make(folder: Path) -> Place:
    """Make an empty home and an empty project below a folder."""
    place = Place(folder / "home", folder / "project")
    (place.root / ".claude").mkdir(parents=True)
    (place.home / "run").mkdir(parents=True, mode=0o700)
    place.configure("")
    return place


def grant(place: Place, path: Path) -> None:
    """Trust one file of the project, in the place's own home."""
    script = (
        "import sys; from pathlib import Path; from holdfast.files import trust; root, path = map(Path, sys.argv[1:]); "
    )
    script += "trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})"
    command = [sys.executable, "-c", script, str(place.root), str(path)]
    subprocess.run(command, check=True, timeout=500, env=place.environ(PYTHONPATH=str(SOURCE)))


def encoded(payload: Mapping[str, Any] | bytes) -> bytes:
    """Return what the client writes to a hook's stdin."""
    return payload if isinstance(payload, bytes) else json.dumps(payload).encode() + b"\n"


def run(command: Sequence[str], data: bytes, environ: Mapping[str, str], cwd: Path) -> Ended:
    """Run a program to its end with some bytes on its stdin, which is then closed."""
    began = time.monotonic()
    done = subprocess.run(
        command, input=data, env=dict(environ), cwd=cwd, capture_output=True, timeout=PATIENCE, check=False
    )
    took = time.monotonic() - began
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace"), took)


def copy_of_entrypoint(target: Path, root: str) -> Path:
    """Write the entrypoint as `holdfast install` does: with the package root filled in and `refuse.sh` beside it."""
    text = ENTRYPOINT.read_text("utf-8")
    assert '\nROOT = ""\n' in text
    target.write_text(text.replace('\nROOT = ""\n', f"\nROOT = {root!r}\n"), "utf-8")
    shutil.copymode(ENTRYPOINT, target)
    shutil.copy(SOURCE / "holdfast" / "refuse.sh", target.parent)
    return target
