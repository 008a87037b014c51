"""A scratch home in which Holdfast is installed as a user installs it, and where things go wrong on purpose."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.processes import ROOT, Ended, Place
from tests.waiting import until
from tests.warmth import gone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ON_LINUX = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="asks /proc")
NO_ROOT = shlex.split("setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all")
"""Starts a program that obeys file permissions, though root starts it."""


@dataclass(frozen=True)
class Scratch(Place):
    """A home and a project with an interpreter of their own that has Holdfast.

    Attributes:
        python: that interpreter.
        tree: the folder that has `src/holdfast`.
    """

    python: Path = Path(sys.executable)
    tree: Path = ROOT

    @property
    def launcher(self) -> Path:
        """The installed program."""
        return self.home / ".local/share/holdfast/run"

    def start_server(self) -> None:
        """Have the launcher start a server as an event does, and wait until it answers."""
        command = ["/bin/sh", "-c", '"$0" --serve </dev/null >/dev/null 2>&1 &', str(self.launcher)]
        subprocess.run(command, env=self.environ(), cwd="/", start_new_session=True, check=True)
        until(lambda: '"answers": true' in self.holdfast("server", "--json").stdout, "a server answers")

    @property
    def strict(self) -> Path:
        """The memory of strict handlers."""
        return self.home / ".local/state/holdfast/strict"

    def environ(self, **changes: str | None) -> dict[str, str]:
        """Return a hook's environment, in which the server may run."""
        tools = f"{self.home}/tools:{os.environ.get('PATH', os.defpath)}"
        return super().environ(**({"HOLDFAST_SERVER": None, "HOLDFAST_RELAY": None, "PATH": tools} | changes))

    def holdfast(self, *words: str, code: int | None = 0, session: str | None = None, **changes: str | None) -> Ended:
        """Run a command as a person does in a terminal, or with a session as the model does."""
        changes = {"CLAUDE_PROJECT_DIR": None, "CLAUDECODE": None, "CLAUDE_CODE_SESSION_ID": session} | changes
        command = [str(self.python), "-m", "holdfast", *words]
        ended = processes.run(command, b"", self.environ(**changes), self.root)
        assert code is None or ended.exit_code == code, (words, ended)
        assert "Traceback" not in ended.stderr, (words, ended.stderr)
        return ended

    def registered(self, event: str) -> list[str]:
        """Return the command that the settings name for an event, as the client runs it."""
        for name in ("settings.json", "settings.local.json"):
            with suppress(OSError, ValueError):
                groups = json.loads((self.home / ".claude" / name).read_text())["hooks"].get(event, [])
                return ["/bin/sh", "-c", groups[0]["hooks"][0]["command"]]
        raise AssertionError(event)

    def fire(
        self, payload: Mapping[str, Any] | bytes, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> Ended:
        """Answer an event through its registered command."""
        (event,) = arguments or (dict(payload)["hook_event_name"],)  # type: ignore[arg-type]
        data = processes.encoded(payload)
        return processes.run(self.registered(event), data, environ or self.environ(), self.root)

    def begin(
        self,
        payload: Mapping[str, Any],
        environ: Mapping[str, str] | None = None,
        before: tuple[str, ...] = (),
        stdout: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start an event's registered command in a process group of its own, and write the payload."""
        pipe = subprocess.PIPE
        command = [*before, *self.registered(payload["hook_event_name"])]
        options: dict[str, Any] = {"stdin": pipe, "stdout": stdout, "stderr": pipe, "cwd": self.root}
        process = subprocess.Popen(command, env=environ or self.environ(), start_new_session=True, **options)
        assert process.stdin
        with suppress(BrokenPipeError):
            process.stdin.write(processes.encoded(payload))
            process.stdin.flush()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdin = None
        return process

    def call(self, command: str = "", tool: str = "Bash", **changes: Any) -> dict[str, Any]:
        """Return a tool call that is about to be made."""
        return self.payload("PreToolUse-Bash", tool_name=tool, tool_input={"command": command}, **changes)

    def trust(self) -> None:
        """Trust what the project brings."""
        self.holdfast("handlers", "trust", "--yes")

    def processes(self) -> list[int]:
        """Return the processes of this home that haven't ended."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"HOME={self.home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return [pid for pid in found if not gone(pid)]

    def close(self) -> None:
        """Kill every process of this home and remove it."""
        while left := self.processes():
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        shutil.rmtree(self.home.parent, ignore_errors=True)


def make(*, native: bool = True, copy: bool = False, config: str = "") -> Scratch:
    """Make a scratch home with a virtual environment; the shipped handlers are off.

    Args:
        native: whether an install may compile the native relay.
        copy: whether it gets a copy of the package that may be spoiled.
        config: more of the user's configuration.
    """
    folder = Path(tempfile.mkdtemp(prefix="hf-")).resolve()  # short, so that a socket's path fits
    place = processes.make(folder)
    tree = folder / "tree" if copy else ROOT
    for name in ("src", "handlers", "hooks", "skills") if copy else ():
        shutil.copytree(ROOT / name, tree / name, symlinks=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True, timeout=500)
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    (site / "a.pth").write_text(f"{tree / 'src'}\n")
    (site / "b.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    made = Scratch(place.home, place.root, folder / "venv/bin/python", tree)
    made.write(made.home / "tools/claude", "#!/bin/sh\necho '2.1.400 (Claude Code)'\n").chmod(0o755)
    made.configure(config)
    if not native:
        made.write(made.home / "tools/cc", "#!/bin/sh\nexit 1\n").chmod(0o755)
    return made


def install(place: Scratch, *, native: bool) -> Scratch:
    """Install Holdfast in a scratch home, with the native relay if it can be compiled here."""
    place.holdfast("install", HOLDFAST_RELAY=None if native else "python")
    return place


@contextmanager
def changed(path: Path, text: str | bytes | None = None, link: str = "") -> Iterator[None]:
    """Hide a file or folder within the block, or have another text or a link in its place."""
    aside = path.with_name(f"{path.name}.aside")
    if there := os.path.lexists(path):
        path.rename(aside)
    if link:
        path.symlink_to(link)
    elif text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o755)
    try:
        yield
    finally:
        remove(path)
        if there:
            aside.rename(path)


def remove(path: Path) -> None:
    """Remove whatever lies there."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


@cache
def preload() -> Path:
    """Compile `trouble.c` for LD_PRELOAD; skip without a compiler."""
    if not (compiler := shutil.which("cc")):
        pytest.skip("no C compiler")
    folder = Path(tempfile.mkdtemp(prefix="hf-preload-"))
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    words = [compiler, "-O1", "-fPIC", "-shared", "-Wall", "-Werror", "-o", str(folder / "trouble.so")]
    subprocess.run([*words, str(Path(__file__).with_name("trouble.c")), "-ldl"], check=True, timeout=500)
    return folder / "trouble.so"


def reason(ended: Ended) -> str:
    """Return why an event was refused; empty if it wasn't."""
    specific = ended.specific
    if ended.reply.get("decision") == "block":
        return str(ended.reply["reason"])
    if specific.get("permissionDecision") == "deny":
        return str(specific["permissionDecisionReason"])
    decision = specific.get("decision", {})
    return str(decision["message"]) if decision.get("behavior") == "deny" else ""


def lifting(text: str) -> list[str]:
    """Return the commands that a refusal names to end it."""
    named = re.findall(r"\(in a terminal: (.*?)\)[.,; ]|To do without it: (.*?)\. |without Holdfast: (.*)$", text)
    return ["".join(each) for each in named]


def report(failures: list[str]) -> None:
    """Fail with all failures, one a line."""
    assert not failures, "\n".join(["", *failures])
