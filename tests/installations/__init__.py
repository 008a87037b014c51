"""Recorded installations of earlier versions of Holdfast, as text, which tests write to disk and use.

`python -m tests.installations NAME` records one that this tree makes. A recording is never edited: it stands for
what is on users' machines.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tests import processes
from tests.processes import ROOT, SESSION, SOURCE, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.json")))
"""What was recorded."""

NOW = "2026-11-23T02:00:00Z"
"""When it was recorded, and when it is used again: it is the same session that goes on."""
_MADE_ANEW = ("cache", "server", "log")  # below the state folder: what only makes the next event faster, and the log


def record(place: Place) -> str:
    """Return all that lies in a home and a project as text, without the paths of this machine.

    Ledgers are in it as SQL, with the two numbers that say whose and of which version they are.
    """
    found = {}
    for file in _files(place):
        path = str(file.relative_to(place.home.parent))
        text = _dumped(file) if file.suffix == ".db" else file.read_text("utf-8")
        for value, name in _names(place):
            text = text.replace(value, name)
        found[path] = {"mode": f"{file.stat().st_mode & 0o7777:04o}", "text": text.splitlines(keepends=True)}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def put_down(name: str, folder: Path) -> Place:
    """Make a recorded installation's home and project in a folder; it starts this interpreter and this tree."""
    place = Place(folder / "home", folder / "project")
    (place.home / "run").mkdir(parents=True, mode=0o700)
    for path, recorded in json.loads((FOLDER / f"{name}.json").read_bytes()).items():
        text = "".join(recorded["text"])
        for value, token in _names(place):
            text = text.replace(token, value)
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if file.suffix == ".db":
            with closing(sqlite3.connect(file)) as ledger:
                ledger.executescript(text)
        else:
            file.write_text(text, "utf-8")
        file.chmod(int(recorded["mode"], 8))
    return place


def holdfast(place: Place, *words: str, code: int | None = 0) -> processes.Ended:
    """Run the command line as the model's Bash tool does; it ends with `code`, which None leaves open."""
    environ = place.environ(HOLDFAST_NOW=NOW, CLAUDE_CODE_SESSION_ID=SESSION, PYTHONPATH=str(processes.SOURCE))
    ended = processes.run([sys.executable, "-m", "holdfast", *words], b"", environ, place.root)
    assert code in (None, ended.exit_code), ended.stderr
    return ended


def fire(place: Place, name: str, **changes: object) -> processes.Ended:
    """Send a recorded payload through the command that settings.json names for its event."""
    payload = place.payload(name, **{"transcript_path": ""} | changes)
    settings = json.loads((place.home / ".claude" / "settings.json").read_bytes())
    command = settings["hooks"][payload["hook_event_name"]][0]["hooks"][0]["command"]
    environ = place.environ(HOLDFAST_NOW=NOW)
    return processes.run(["/bin/sh", "-c", command], processes.encoded(payload), environ, place.root)


def launched(place: Place, name: str, phase: str, kind: str) -> processes.Ended:
    """Send one of an agent's two events, for a phase."""
    asked = {"description": phase, "subagent_type": kind, "prompt": phase}
    return fire(place, name, tool_use_id=f"toolu_{kind}", tool_input=asked)


def _files(place: Place) -> Iterator[Path]:
    state = place.home / ".local" / "state" / "holdfast"
    for folder in (place.home, place.root):
        for file in sorted(folder.rglob("*")):
            passing = any(file.is_relative_to(state / name) for name in _MADE_ANEW)
            if file.is_file() and not passing and file.suffix not in (".pyc", ".db-wal", ".db-shm", ".lock"):
                yield file


def _dumped(file: Path) -> str:
    with closing(sqlite3.connect(file)) as ledger:
        numbers = {name: ledger.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")}
        said = [f"PRAGMA {name} = {number};\n" for name, number in numbers.items()]
        return "".join([*said, *(f"{line}\n" for line in ledger.iterdump())])


def _names(place: Place) -> list[tuple[str, str]]:
    """Return what stands for what is this machine's own; of two paths the longer one is first."""
    return [
        (str(place.home), "{HOME}"),
        (str(place.root), "{PROJECT}"),
        (sys.executable, "{PYTHON}"),
        (str(SOURCE), "{PACKAGES}"),
        (str(ROOT), "{TREE}"),
        (f"'{os.uname().nodename}'", "'{HOST}'"),  # in a ledger's rows
    ]
