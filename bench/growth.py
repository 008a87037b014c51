"""Whether the time of one event grows with what is there: workflows, handlers, transcripts, ledgers, tool responses.

Each range is measured side by side: all its points take turns, round after round, so that noise meets them alike, and
what counts is the ratio of each point to the smallest of its range. Two ways of measuring:

- `cold`: the registered command as a whole process, without the server (with `--server` as it is installed);
- `fork`: the engine in a process forked from one that has everything loaded, as a warm server has it.

    python bench/growth.py [--range NAME …] [--rounds N] [--quick] [--json] [--server] [--only cold|fork]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast import paths, recorded, registration
from holdfast.config import Config
from holdfast.project import Project

SESSION = "0d3f0d5e-0000-4000-8000-00000000bec4"
OLD = 40 * 86_400  # seconds; what was changed so long ago is nobody's any more
MEMORY = ("PreCompact-auto", "SessionStart-compact", "UserPromptSubmit", "PostToolUse-Agent")
SIZES = {
    "workflows": (1, 100, 10_000),
    "finished": (1, 100, 10_000),
    "plans": (1, 100, 10_000),
    "handlers": (10, 100, 1_000),
    "project_handlers": (10, 100, 1_000),
    "transcript": (1 << 10, 1 << 20, 1 << 24, 1 << 30),
    "ledger": (10, 1_000, 100_000, 1_000_000),
    "response": (1 << 10, 200 << 10),
}
QUICK = {
    "workflows": (1, 100),
    "finished": (1, 100),
    "plans": (1, 100),
    "handlers": (10, 100),
    "project_handlers": (10, 100),
    "transcript": (1 << 10, 1 << 24),
    "ledger": (10, 10_000),
    "response": (1 << 10, 200 << 10),
}
EVENTS = {
    "workflows": MEMORY,
    "finished": MEMORY,
    "plans": MEMORY,
    "handlers": ("PreToolUse-Bash", "Stop"),
    "project_handlers": ("PreToolUse-Bash", "Stop"),
    "transcript": (*MEMORY, "Stop", "PreToolUse-Bash"),
    "ledger": (*MEMORY, "Stop", "PreToolUse-Agent", "SessionStart-startup", "SessionEnd-other", "SubagentStart"),
    "response": ("PostToolUse-Agent", "PostToolUse-Read"),
}


@dataclass
class Place:
    """A home and a project of one point, with what the events of it carry."""

    home: Path
    project: Path
    transcript: str = ""
    response: int = 0
    payloads: dict[str, bytes] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a hook."""
        values = {"HOME": str(self.home), "PATH": os.defpath, "LANG": "C.UTF-8", "CLAUDECODE": "1"}
        values |= {"CLAUDE_PROJECT_DIR": str(self.project), "HOLDFAST_SERVER": "off"}
        return values

    def payload(self, name: str) -> bytes:
        """Return what an event sends."""
        if name not in self.payloads:
            told = recorded.load(
                name, session_id=SESSION, cwd=str(self.project), transcript_path=self.transcript or None
            )
            if self.response and name == "PostToolUse-Read":
                told["tool_response"] = {"type": "text", "file": {"content": "x" * self.response, "filePath": "/x"}}
            elif self.response and "tool_response" in told:
                told["tool_response"]["content"] = [{"type": "text", "text": "word " * (self.response // 5)}]
            self.payloads[name] = json.dumps(told).encode() + b"\n"
        return self.payloads[name]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--range", action="append", choices=sorted(SIZES), dest="ranges")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--server", action="store_true", help="leave the server on in the cold way")
    parser.add_argument("--only", choices=("cold", "fork"))
    options = parser.parse_args()
    rows = []
    for name in options.ranges or SIZES:
        sizes = (QUICK if options.quick else SIZES)[name]
        with tempfile.TemporaryDirectory(prefix="holdfast-growth-") as folder:
            places = {size: make(name, size, Path(folder).resolve() / str(size)) for size in sizes}
            time.sleep(2.5)  # what was just written is looked at anew each time
            for event in EVENTS[name]:
                rows += _measured(name, event, places, options)
    if options.json:
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {platform.python_version()}"
        print(json.dumps({"machine": machine, "rounds": options.rounds, "points": rows}, indent=2))


def _measured(name: str, event: str, places: dict[int, Place], options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for way, once in (("cold", _cold), ("fork", _forked)):
        if options.only in (None, way):
            rows += _race(name, event, way, once, places, options)
    return rows


def _race(
    name: str, event: str, way: str, once: Any, places: dict[int, Place], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Let all points of a range take turns; the first rounds only warm the caches."""
    times: dict[int, list[float]] = {size: [] for size in places}
    for number in range(options.rounds + 2):
        for size, place in places.items():
            took = once(place, event, options.server)
            if number > 1:
                times[size].append(took * 1000)
            if took > 5 and len(times[size]) > 1:
                break
    medians = {size: statistics.median(each) for size, each in times.items() if each}
    first, least = next(iter(medians.values())), {size: min(each) for size, each in times.items() if each}
    if not options.json:
        told = "".join(
            f"{size:>11,}: {each:>8.2f} ms ×{each / first:<4.2f} (least {least[size]:.1f})"
            for size, each in medians.items()
        )
        print(f"{name:<17}{way:<5} {event:<21}{told}", flush=True)
    return [
        {
            "range": name,
            "event": event,
            "way": way,
            "size": size,
            "ms": round(each, 3),
            "ratio": round(each / first, 3),
            "least_ms": round(least[size], 3),
        }
        for size, each in medians.items()
    ]


def _cold(place: Place, event: str, server: bool) -> float:
    """Run the registered command and return the seconds it took."""
    environ = place.environ
    if server:
        del environ["HOLDFAST_SERVER"]
    command = ["/bin/sh", "-c", registration.command(event.split("-")[0])]
    data = place.payload(event)
    started = time.perf_counter()
    subprocess.run(command, input=data, env=environ, capture_output=True, check=True, cwd=place.project)
    return time.perf_counter() - started


def _forked(place: Place, event: str, server: bool) -> float:
    """Run the engine in a forked process and return the seconds from before the fork to its end."""
    _preload(place)
    data = place.payload(event)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data)
        stdin.seek(0)
        started = time.perf_counter()
        pid = os.fork()
        if not pid:
            try:
                os.dup2(stdin.fileno(), 0)
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.chdir(place.project)
                from holdfast import engine

                engine.main(event.split("-")[0])
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        return time.perf_counter() - started


def _preload(place: Place) -> None:
    """Have everything loaded that an event may need, and let the environment be a hook's."""
    from importlib import import_module

    from holdfast import events, loader

    if not _loaded:
        names = {*events.EVENTS.values(), "holdfast.engine", "holdfast.isolation", "holdfast.merging", "sqlite3"}
        for folder in ("survival", "workflow", "workflow/formats", "state"):
            root = paths.package_root() / "holdfast" / folder
            names |= {f"holdfast.{folder.replace('/', '.')}.{each.stem}" for each in root.glob("[a-z]*.py")}
        for name in sorted(names):
            import_module(name)
        import tomllib  # noqa: F401

        _loaded.append(True)
        import gc

        gc.freeze()
    os.environ.clear()
    os.environ.update(place.environ)
    loader.preload()


_loaded: list[bool] = []


def make(name: str, size: int, top: Path) -> Place:
    """Install Holdfast into an empty home, give the project a workflow of this session, and fill it up."""
    place = Place(top / "home", top / "project")
    (place.project / ".claude").mkdir(parents=True)
    place.home.mkdir()
    handler = place.home / ".config/holdfast/handlers/h00000.py"
    if name in ("handlers", "project_handlers"):
        where = handler.parent if name == "handlers" else place.project / ".claude/handlers"
        where.mkdir(parents=True)
        for number in range(size):
            (where / f"h{number:05}.py").write_text(_handler(number))
    extra = {"PYTHONPATH": str(paths.package_root()), "CLAUDE_CODE_SESSION_ID": SESSION}
    start = ["start", "Bench", "--format", "hybrid", "--phase", "look around @general-purpose", "--phase", "Write it"]
    commands = [["install", "--scope", "project"], start]
    if name == "project_handlers":
        commands.insert(0, ["handlers", "trust", "--yes"])
    for arguments in commands:
        command = [sys.executable, "-m", "holdfast", *arguments]
        subprocess.run(command, env=place.environ | extra, cwd=place.project, check=True, capture_output=True)
    place.transcript = _transcript(top / "transcript.jsonl", size if name == "transcript" else 1 << 14)
    if name in ("workflows", "finished"):
        _workflows(place.project, size, "completed" if name == "finished" else "in_progress")
    elif name == "plans":
        _plans(place.project, size)
    elif name == "ledger":
        _fill(place, size)
    elif name == "response":
        place.response = size
    return place


def _handler(number: int) -> str:
    """Return a handler file; the first one wants Bash, every other a tool of its own."""
    tool = "Bash" if number == 0 else f"Tool{number}"
    text = "from holdfast import advise, hookimpl\n\n\n@hookimpl(match={!r})\ndef on_pre_tool_use(event):\n"
    filler = "".join(
        f"def helper_{each}(value):\n    return [value + {each}, 'text', value * 2]\n\n\n" for each in range(9)
    )
    return text.format(tool) + "    return advise('seen')\n\n\n" + filler


def _transcript(path: Path, size: int) -> str:
    """Write a transcript of a size: entries at both ends, and where it is long a hole between them."""
    entries = []
    for number in range(4_000):
        said = {"role": "assistant", "content": [{"type": "text", "text": f"step {number} " + "word " * 180}]}
        entry = {"type": "assistant", "uuid": f"u{number}", "sessionId": SESSION, "message": said}
        entries.append(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
    end = b"".join(entries)[-min(size, 1 << 22) :]
    with path.open("wb") as file:
        file.write(entries[0])
        file.seek(max(size - len(end), 0))
        file.write(end)
    os.utime(path, (time.time() - 60, time.time() - 60))
    return str(path)


def _workflows(project: Path, count: int, status: str) -> None:
    """Write state files of the format that has one for each workflow, changed long ago and nobody's."""
    for number in range(count - 1):
        folder = project / "untracked/workflow-state" / f"old-{number}"
        folder.mkdir(parents=True)
        file = folder / f"state-old-{number}-20250101_000000.json"
        current = 4 if status == "completed" else 2
        told = {
            "workflow": f"Old {number}",
            "workflow_type": "custom",
            "phase": {"current": current, "total": 4, "name": "Build", "status": status},
            "required_reading": ["@docs/one.md", "@docs/two.md"],
            "context": {"why": "an earlier piece of work that nobody took away " * 4},
            "key_reminders": ["Run the tests", "Commit often"],
            "created_at": "2025-01-01T00:00:00Z",
        }
        file.write_text(json.dumps(told, indent=2))
        moment = time.time() - OLD - number
        os.utime(file, (moment, moment))


def _plans(project: Path, count: int) -> None:
    """Write plans of which none is in progress."""
    for number in range(count):
        folder = project / "CLAUDE/Plan" / f"{number:05}-old"
        folder.mkdir(parents=True)
        (folder / "PLAN.md").write_text(
            f"# Plan {number}: old\n\n**Status**: Complete\n\n## Tasks\n\n- [x] one\n- [x] two\n\n" + "Words. " * 200
        )


def _fill(place: Place, count: int) -> None:
    """Fill every table that events have made: `count` rows in what grows with each event, a tenth in all others."""
    for event in EVENTS["ledger"]:
        _cold(place, event, False)
    os.environ.update(place.environ)
    project = Project(place.project, Config())
    with sqlite3.connect(project.ledger_file) as ledger:
        ledger.execute("PRAGMA synchronous = OFF")
        for (table,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [tuple(row) for row in ledger.execute(f"PRAGMA table_info({table})")]
            sample = ledger.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
            marks = ", ".join("?" * len(columns))
            many = count if table == "costs" else max(count // 10, 10)
            rows = (_row(project, columns, sample, number, many) for number in range(many))
            ledger.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
    ledger.close()


def _row(project: Project, columns: list[tuple[Any, ...]], sample: Any, number: int, count: int) -> list[Any]:
    """Return a plausible row of a table: another session's, at some time of the last year, one in a hundred ours."""
    ago = (count - number) * 300 * 86_400 / count + 3_600
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))
    session = SESSION if number % 100 == 99 else f"{number // 50:08x}-0000-4000-8000-000000000000"
    known: dict[str, Any] = {
        "project": project.key,
        "worktree": project.worktree,
        "host": project.host,
        "client": project.client,
        "session": session,
        "state": "completed",
        "verdict": "completed",
        "process": None,
        "workflow": f"w{number}",
        "ended_at": at,
        "consumed_at": at,
        "claimed_at": at,
        "claimed_by": session,
        "workflows": "[]",
        "phases": "[]",
        "path": f"docs/{number}.md",
        "said": "{}",
        "counts": "{}",
        "lost": "{}",
        "transcript": "",
        "output": "",
        "outcome": "completed",
        "finished": 1,
        "resumed": 0,
        "resumed_at": None,
        "reminded_at": None,
        "heir": session,
        "size": 0,
        "units": 100,
        "number": 1,
    }
    row = []
    for index, (_, name, kind, *_rest) in enumerate(columns):
        if name in known:
            row.append(known[name])
        elif name == "at" or name.endswith(("_at", "_seen")) or name == "since":
            row.append(at)
        elif kind == "INTEGER":
            row.append(sample[index] if sample else 0)
        elif kind == "BLOB":
            row.append(b"{}" * 300)
        else:
            row.append(f"{name}{number:07}")
    return row


if __name__ == "__main__":
    main()
