"""A home and project in which one tree's Holdfast runs, and the tape of its answers and the files it wrote."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.behaviour.normal import Normal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

ROOT = Path(__file__).resolve().parents[2]
SESSION = "11111111-1111-4111-8111-111111111111"
_PATIENCE_S = 1_800  # a row of the score takes minutes
_STEP = timedelta(seconds=10)
_UNREADABLE = (".pyc", ".db", ".db-wal", ".db-shm", ".lock")  # their names are compared, not what they hold
_PASSING = ("/cache/", "/__pycache__/", "/server/", "/home/run/")  # what only makes the next event faster


class Stage:
    """Where one scenario is played.

    Args:
        tree: the checkout whose Holdfast it is.
        folder: an empty one, which holds home and project.
        now: what the time is there at first; each step takes ten seconds, so that none is equal to another.
        warm: whether events may be answered by a server.
    """

    def __init__(self, tree: Path, folder: Path, now: datetime, *, warm: bool = False) -> None:
        self.tree, self.folder, self.now, self.warm = tree, folder, now, warm
        self.home, self.root = folder / "home", folder / "project"
        self.tape: list[tuple[str, str]] = []
        places = {str(self.root): "<project>", str(self.home): "<home>", str(tree): "<tree>", sys.prefix: "<python>"}
        self._normal = Normal(places | {str(folder): "<folder>", sys.base_prefix: "<base>"})
        self._before: dict[str, str] = {}

    def make(self, files: Mapping[str, str]) -> None:
        """Make home and project, with files of the project's own."""
        (self.home / "run").mkdir(parents=True, mode=0o700)
        (self.root / ".claude").mkdir(parents=True)
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")

    def keep(self) -> Path:
        """Keep a copy of home and project as they are; return where."""
        place = self.folder / "kept"
        for name in ("home", "project"):
            shutil.copytree(self.folder / name, place / name, symlinks=True)
        return place

    def put_back(self, kept: Path) -> None:
        """Make home and project what `keep` kept; what they hold counts as known."""
        for name in ("home", "project"):
            shutil.rmtree(self.folder / name)
            shutil.copytree(kept / name, self.folder / name, symlinks=True)
        self._before = self._files()

    def payload(self, name: str, **changes: Any) -> dict[str, Any]:
        """Return a recorded payload as if this project's session sent it."""
        payload = payloads()[name]
        sent = json.loads(json.dumps(payload).replace(str(payload.get("cwd", "\0")), str(self.root)))
        return {**sent, "session_id": SESSION, "cwd": str(self.root), "transcript_path": "", **changes}

    def fire(self, name: str, **changes: Any) -> None:
        """Send a recorded payload through the entrypoint, and note what came of it."""
        payload = self.payload(name, **changes)
        command = [sys.executable, "-IS", str(self.tree / "hooks" / "dispatch.py"), payload["hook_event_name"]]
        self._run(name, command, json.dumps(payload) + "\n")

    def command(self, *words: str) -> None:
        """Run the command line, and note what came of it."""
        self._run(" ".join(words), [sys.executable, "-m", "holdfast", *words], "")

    def shell(self, title: str, script: str, payload: Mapping[str, Any]) -> None:
        """Run a registered command as the client does, and note what came of it."""
        self._run(title, ["/bin/sh", "-c", script], json.dumps(payload) + "\n")

    def run(self, words: Sequence[str], **variables: str) -> None:
        """Run a program of the tree's, and note what it printed and its exit code."""
        self._run(" ".join(words), [sys.executable, *words], "", **variables)

    def write(self, path: str, text: str) -> None:
        """Write a file of the project's, as somebody by hand."""
        (self.root / path).write_text(text, "utf-8")
        self._before = self._files()

    def close(self) -> None:
        """End the servers of this home."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"HOME={self.home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)

    def _run(self, title: str, command: Sequence[str], data: str, **variables: str) -> None:
        self.now += _STEP
        environ = self._environ() | variables
        done = subprocess.run(
            list(command),
            input=data.encode(),
            env=environ,
            cwd=self.root,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        said = f"exit code {done.returncode}\n{_printed('stdout', done.stdout)}{_printed('stderr', done.stderr)}"
        self.tape.append((self._normal(title), self._normal(said + "".join(self._changes()))))

    def _environ(self) -> dict[str, str]:
        home = self.home
        values = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": SESSION,
            "CLAUDE_PROJECT_DIR": str(self.root),
            "CLAUDE_ENV_FILE": str(home / "env.sh"),
            "PYTHONPATH": str(self.tree / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOLDFAST_NOW": self.now.isoformat(),
        }
        return values if self.warm else values | {"HOLDFAST_SERVER": "off"}

    def _changes(self) -> Iterator[str]:
        """Yield each file that is new, changed or gone since the last step."""
        now = self._files()
        for path in sorted(now.keys() | self._before.keys()):
            if path not in now:
                yield f"--- gone: {path}\n"
            elif now[path] != self._before.get(path):
                yield f"--- wrote: {path}\n{now[path]}\n"
        self._before = now

    def _files(self) -> dict[str, str]:
        """Return what all files hold, by path; with a server, only the project's: the home's are written later."""
        found = {}
        for folder in (self.root,) if self.warm else (self.root, self.home):
            for place in sorted(folder.rglob("*")):
                path = str(place.relative_to(self.folder))
                if any(part in f"/{path}" for part in _PASSING):
                    continue
                with suppress(OSError):
                    if place.is_symlink():
                        found[path] = f"-> {place.readlink()}"
                    elif place.is_file():
                        mode = f"{place.stat().st_mode & 0o7777:04o}"
                        found[path] = mode if place.suffix in _UNREADABLE else f"{mode}\n{_text(place)}"
        return found


def payloads() -> dict[str, dict[str, Any]]:
    """Return this tree's recorded payloads by name, wherever in it they lie; the other tree gets the same."""
    (folder,) = {file.parent for file in (ROOT / "src").rglob("SessionStart-startup.json")}
    found = {file.stem: json.loads(file.read_bytes()) for file in sorted(folder.glob("*.json"))}
    return {name: payload for name, payload in found.items() if "hook_event_name" in payload}


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "backslashreplace")


def _printed(name: str, text: bytes) -> str:
    shown = text.decode("utf-8", "backslashreplace").replace("><", ">\n<")  # a page in lines, like the rest
    with suppress(ValueError):
        shown = json.dumps(json.loads(shown), indent=1, ensure_ascii=False, sort_keys=False)
    return f"--- {name}\n{shown.rstrip()}\n" if shown.strip() else ""
