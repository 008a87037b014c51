"""Make the home and project of one point of a growth curve, filled to the size of the point."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.config import Config
from holdfast.install import register
from holdfast.memory import log
from holdfast.memory.rows import TABLES
from holdfast.sessions.workspace import Workspace
from holdfast.testkit.client import Client, encoded
from holdfast.testkit.place import Place as Throwaway
from tools.bench.place import SESSION, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

REST_S = 0.06
"""Time before each event, in which a server makes its next worker ready."""
COMMAND = "holdfast "
"""The prefix of names that are commands instead of events."""
_IN_SESSION = 50  # agents of each session
_IN_SCRIPT = 20  # agents of each script's run
_TRUSTED_TIMES = 3  # of many files, each command parses as many as it can in a second
_GONE = 999_999_999  # no process has this number
KEPT = {each.TABLE: each.RETENTION[1] for each in TABLES if each.RETENTION} | {"events": log.LIMIT}
"""How many rows Holdfast keeps of a project in the tables whose oldest rows it drops."""
OLD = 40 * 86_400  # seconds; a workflow changed so long ago has no owner any more


@dataclass
class Place(Client):
    """The home and project of one point, and the payloads of its events.

    Attributes:
        transcript: the path of the session's transcript.
        response: the size of tool responses in bytes; 0 leaves the recorded ones.
        data: the payloads made so far, by name.
        tasks: ids of tasks. If there are any, each event of an agent is about the next one, so that each does the same
            work.
        fired: how many events were run.
    """

    transcript: str = ""
    response: int = 0
    data: dict[str, bytes] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    fired: int = 0

    @property
    def transcript_path(self) -> str:
        """The path of the session's transcript."""
        return self.transcript

    def stdin(self, name: str) -> bytes:
        """Return an event's payload as the client writes it; empty for a command."""
        if name.startswith(COMMAND):
            return b""
        if self.tasks and name.endswith("-Agent"):
            return self._of_task(name, self.tasks.pop(0))
        if name not in self.data:
            told = self.payload(name)
            if self.response and name == "PostToolUse-Read":
                told["tool_response"] = {"type": "text", "file": {"content": "x" * self.response, "filePath": "/x"}}
            elif self.response and "tool_response" in told:
                told["tool_response"]["content"] = [{"type": "text", "text": "word " * (self.response // 5)}]
            self.data[name] = encoded(told)
        return self.data[name]

    def _of_task(self, name: str, task: str) -> bytes:
        asked = {"description": task, "prompt": f"Do {task} as it says", "subagent_type": "developer"}
        told = self.payload(name, tool_use_id=f"toolu_{task}", tool_input=asked)
        if "tool_response" in told:
            told["tool_response"]["agentId"] = f"agent-{task}"
        return encoded(told)

    def time(self, event: str, server: bool = False) -> float:
        """Run an event's registered command, or a command, and return the seconds it took.

        Where an agent has a task, its launch comes before its end and isn't counted in.

        Args:
            event: the recorded payload's name, or a command beginning with `COMMAND`.
            server: whether the warm server may answer.
        """
        if self.tasks and event == "PostToolUse-Agent":
            task = self.tasks.pop(0)
            self._run("PreToolUse-Agent", self._of_task("PreToolUse-Agent", task), server)
            time.sleep(REST_S)
            return self._run(event, self._of_task(event, task), server)
        return self._run(event, self.stdin(event), server)

    def _run(self, event: str, data: bytes, server: bool) -> float:
        self.fired += 1
        environ = self.environ
        if server:
            del environ["HOLDFAST_SERVER"]
        command = ["/bin/sh", "-c", register.command(event.split("-")[0])]
        if event.startswith(COMMAND):
            command = [sys.executable, "-m", *event.split()]
            environ["PYTHONPATH"] = str(paths.package_root())
        started = time.perf_counter()
        subprocess.run(command, input=data, env=environ, capture_output=True, check=True, cwd=self.root)
        return time.perf_counter() - started


def make(name: str, size: int, top: Path, events: Sequence[str]) -> Place:
    """Install Holdfast into an empty home, give the project a workflow of this session, and fill it to a size.

    Args:
        name: what grows: a range of `tools/bench/growth.py`.
        size: its size.
        top: the folder for home and project.
        events: the events to measure; a ledger is filled in the tables that these events use.
    """
    home = Throwaway(
        top, variables={"HOLDFAST_RELAY": "native", "HOLDFAST_SERVER": "off"}
    )  # only that one asks a server
    place = Place(home, top / "project", SESSION, process="")
    (place.root / ".claude").mkdir(parents=True)
    place.home.mkdir()
    handler = place.home / ".config/holdfast/handlers/h00000.py"
    if name in ("handlers", "project_handlers"):
        where = handler.parent if name == "handlers" else place.root / ".claude/handlers"
        where.mkdir(parents=True)
        for number in range(size):
            (where / f"h{number:05}.py").write_text(_handler(number))
    start = ["start", "Bench", "--format", "hybrid", "--phase", "look around @general-purpose", "--phase", "Write it"]
    if name == "tasks":
        start = ["start", "Bench", "--format", "wfs"]
    elif name in (*RUN, "skills"):
        form = "skills" if name == "skills" else "orchestrator"
        start = ["start", "Bench", "--format", form, "--phase", "look around", "--phase", "Write it"]
    commands = [["install", "--scope", "project"], start]
    if name == "project_handlers":
        commands = [["handlers", "trust", "--yes"]] * _TRUSTED_TIMES + commands
    for arguments in commands:
        run(place, *arguments)
    place.transcript = _transcript(top / "transcript.jsonl", size if name == "transcript" else 1 << 14)
    if name in ("workflows", "finished"):
        _workflows(place.root, size, "completed" if name == "finished" else "in_progress")
    elif name == "plans":
        _plans(place.root, size)
    elif name == "ledger":
        _fill(place, size, events)
    elif name == "response":
        place.response = size
    elif name == "tasks":
        place.tasks = _tasks(place.root, size)
    elif name in RUN:
        place.tasks = _run(place.root, *{**RUN, name: size}.values())
    elif name == "skills":
        _skills(place.root, size)
    elif name == "agents":
        _agents(place, size, events)
    return place


def _handler(number: int) -> str:
    """Return the text of a handler file; the first one wants Bash, every other one its own tool."""
    tool = "Bash" if number == 0 else f"Tool{number}"
    text = "from holdfast import advise, hookimpl\n\n\n@hookimpl(match={!r})\ndef on_pre_tool_use(event):\n"
    filler = "".join(
        f"def helper_{each}(value):\n    return [value + {each}, 'text', value * 2]\n\n\n" for each in range(9)
    )
    return text.format(tool) + "    return advise('seen')\n\n\n" + filler


def _transcript(path: Path, size: int) -> str:
    """Write a transcript of `size` bytes: entries at both ends and, if it is long, a hole in the file between them."""
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
    """Write old state files without an owner, in the format that has one file per workflow."""
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
    """Write plans, none of which is in progress."""
    for number in range(count):
        folder = project / "CLAUDE/Plan" / f"{number:05}-old"
        folder.mkdir(parents=True)
        (folder / "PLAN.md").write_text(
            f"# Plan {number}: old\n\n**Status**: Complete\n\n## Tasks\n\n- [x] one\n- [x] two\n\n" + "Words. " * 200
        )


def _tasks(project: Path, count: int) -> list[str]:
    """Write task files, ten in each container and each depending on the one before it; return the tasks' ids."""
    folder = next((project / ".workflow").glob("WFS-*/.task"))
    made = []
    for number in range(count):
        main, sub = number // 10 + 1, number % 10 + 1
        above = f"IMPL-{main}"
        if sub == 1:
            _task(folder, above, "container", "", [])
        _task(folder, f"{above}.{sub}", "pending", above, [f"{above}.{sub - 1}"] if sub > 1 else [])
        made.append(f"{above}.{sub}")
    return made


def _task(folder: Path, id_: str, status: str, parent: str, depends_on: list[str]) -> None:
    context = {
        "requirements": ["It does what the page says", "It says so where it cannot"],
        "focus_paths": [".claude"],
        "acceptance": ["All tests pass"],
        "parent": parent,
        "depends_on": depends_on,
        "inherited": {"from": parent, "context": ["JSON Web Tokens"]},
        "shared_context": {"auth_strategy": "JWT"},
    }
    told = {
        "id": id_,
        "title": f"Task {id_} of the bench",
        "status": status,
        "meta": {"type": "feature", "agent": "@developer"},
        "context": context,
        "flow_control": {"pre_analysis": [], "implementation_approach": {}, "target_files": ["src/one.py:one:1-9"]},
    }
    (folder / f"{id_}.json").write_text(json.dumps(told, indent=2))


RUN = {"run": 100, "learnings": 100, "checkpoints": 20, "run_agents": 2}
"""How many tasks, learnings, checkpoints and agents an orchestrator's run has where another of them grows."""


def _run(project: Path, tasks: int, learned: int, checkpoints: int, agents: int) -> list[str]:
    """Give an orchestrator's run its tasks, learnings, checkpoints and agents.

    Returns:
        The ids of the tasks that no agent works on yet.
    """
    from holdfast.formats.orchestrator.learnings import STATE_LIMIT

    file = project / ".claude/agent-state.json"
    file.with_name("holdfast.toml").write_text("checkpoints = 1000\n")  # or most of them would go at the next one
    told, at = json.loads(file.read_text()), "2026-01-01T00:00:00Z"
    names = [f"{number // 50 + 1}.{number % 50 + 1}" for number in range(tasks)]
    busy, rest = names[:agents], names[agents:]
    learnings = [_learning(number, names[number % tasks], at) for number in range(learned)]
    told["orchestrator"] |= {"status": "executing", "total_phases": tasks // 50 + 1, "current_task": f"0/{tasks}"}
    told["active_agents"] = [
        {"type": "task-executor", "task": name, "started": at, "iteration": 1, "status": "in_progress"} for name in busy
    ]
    told["pending_tasks"] = [
        {"phase": int(name.split(".")[0]) - 1, "task": name, "name": f"Task {name} of the bench"} for name in rest
    ]
    told["learnings"] = learnings[-STATE_LIMIT:]
    told["checkpoints"] = [
        {"timestamp": at, "phase": 0, "task": names[0], "git_sha": "", "state_snapshot": f"checkpoint-{number:03}.json"}
        for number in range(1, checkpoints + 1)
    ]
    file.write_text(json.dumps(told, indent=2) + "\n")
    lines = "".join(json.dumps(each) + "\n" for each in learnings)
    file.with_name("learnings.jsonl").write_text(lines)
    for each in told["checkpoints"]:
        file.with_name(each["state_snapshot"]).write_text("{}\n")
    return rest


def _learning(number: int, task: str, at: str) -> dict[str, Any]:
    said = {"lesson": f"Lesson {number}: it is as the page says", "pattern": "Read the page first", "context": "docs"}
    return {"timestamp": at, "task": task, "iteration": 1, "type": "pattern", **said}


def _skills(project: Path, count: int) -> None:
    """Write old state files of skills without an owner, all of them unfinished and listed."""
    folder = project / ".claude/workflow-state/active"
    index = folder.with_name("index.json")
    listed = json.loads(index.read_text())
    for number in range(count - 1):
        name = f"dev-old-{number:05}"
        told = {
            "_schema": {"version": "1.0", "skill": "other"},
            "workflow": {
                "id": name,
                "status": "in_progress",
                "created_at": "2025-01-01T00:00:00Z",
                "updated_at": "2025-01-01T00:00:00Z",
                "branch": None,
            },
            "context": {"task_description": f"Old {number}"},
            "state_machine": {
                "current_phase": "Build",
                "phases": [{"name": each, "status": "in_progress"} for each in ("Build", "Check")],
            },
            "history": [{"at": "2025-01-01T00:00:00Z", "event": "workflow_started"}],
        }
        file = folder / f"{name}.json"
        file.write_text(json.dumps(told, indent=2) + "\n")
        moment = time.time() - OLD - number
        os.utime(file, (moment, moment))
        row = {"id": name, "skill": "other", "feature": f"Old {number}"}
        at = {"started_at": "2025-01-01T00:00:00Z", "last_activity": "2025-01-01T00:00:00Z"}
        listed["active_workflows"].append(row | at)
    index.write_text(json.dumps(listed, indent=2) + "\n")


def _fill(place: Place, count: int, events: Sequence[str]) -> None:
    """Fill every table that the events use: `count` rows in the table that grows with each event, a tenth in others.

    No table gets more than Holdfast keeps, so that no event finds rows to drop that no user has.
    """
    with _ledger(place, events) as (project, ledger):
        for (table,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            rows = count if table in ("costs", "contents") else max(count // 10, 10)
            more = {"kind": "generation"} if table == "events" else {}
            _insert(project, ledger, table, min(rows, KEPT.get(table, rows)), **more)


def _agents(place: Place, count: int, events: Sequence[str]) -> None:
    """Give the project so many agents of the last year, in sessions of fifty, and as many that scripts have run.

    Every tenth was launched as the one that the events are about. The last script was cut off, and each has a journal.
    Whatever the size, the newest of all is an hour old, so that there is as much to tell of.
    """
    with _ledger(place, events) as (project, ledger):
        (same,) = ledger.execute("SELECT fingerprint FROM agents WHERE fingerprint <> '' LIMIT 1").fetchone()
        _insert(project, ledger, "conversations", max(count // _IN_SESSION, 1))
        rows = ledger.execute("SELECT rowid FROM conversations WHERE id <> ?", (SESSION,)).fetchall()
        ids = [(_session(number), row) for number, (row,) in enumerate(rows)]
        ledger.executemany("UPDATE conversations SET id = ? WHERE rowid = ?", ids)
        _insert(project, ledger, "agents", count)
        ledger.execute("UPDATE agents SET fingerprint = ? WHERE rowid % 10 = 0", (same,))
        ledger.execute("UPDATE agents SET epoch = conversation || '/0'")
        ledger.execute("UPDATE agents SET id = 'a' || id, run = 'a' || run, call = 'a' || call")
        _insert(
            project, ledger, "agents", count, kind="script agent", parent="wf_00000000-bc1", call="", fingerprint=""
        )
        ledger.execute("UPDATE agents SET id = 's' || id, run = 's' || run WHERE kind = 'script agent'")
        scripts = max(count // _IN_SCRIPT, 1)
        _insert(project, ledger, "agents", scripts, kind="script", process=_GONE)
        for number, (row,) in enumerate(ledger.execute("SELECT id FROM agents WHERE kind = 'script'").fetchall()):
            folder = _journal(place, f"wf_{number:08x}-bc1")
            ledger.execute(
                "UPDATE agents SET name = ?, run = ?, transcript = ?, fingerprint = ? WHERE id = ?",
                (f"script {number}", folder.name, str(folder), f"script{number} args", row),
            )
            if number == scripts - 1:
                ledger.execute("UPDATE agents SET used_at = '', state = 'launched', open = 1 WHERE id = ?", (row,))


def _journal(place: Place, run: str) -> Path:
    """Write the journal of a script's run."""
    folder = place.home / ".claude/projects/-project/earlier/subagents/workflows" / run
    folder.mkdir(parents=True)
    lines = []
    for number in range(_IN_SCRIPT):
        about = {"key": f"v2:{number:064x}", "agentId": f"a{number:016x}"}
        lines += [{"type": "started", **about}, {"type": "result", **about, "result": "It is as it should be. " * 20}]
    (folder / "journal.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    return folder


@contextmanager
def _ledger(place: Place, events: Sequence[str]) -> Iterator[tuple[Workspace, sqlite3.Connection]]:
    """Open a project's ledger in which each event has left what it leaves."""
    for event in events:
        place.time(event)
    os.environ.update(place.environ)
    project = Workspace(place.root, Config(), client=claude)
    with closing(sqlite3.connect(project.ledger_file)) as ledger, ledger:
        ledger.execute("PRAGMA synchronous = OFF")
        yield project, ledger


def _insert(project: Workspace, ledger: sqlite3.Connection, table: str, count: int, **known: object) -> None:
    """Insert plausible rows into a table, with what is known of each."""
    columns = [tuple(row) for row in ledger.execute(f"PRAGMA table_info({table})")]
    sample = ledger.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
    marks = ", ".join("?" * len(columns))
    rows = (_row(project, columns, sample, number, count, known) for number in range(count))
    ledger.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)


def _row(
    project: Workspace,
    columns: list[tuple[Any, ...]],
    sample: Any,
    number: int,
    count: int,
    own: Mapping[str, object],
) -> list[Any]:
    """Return a plausible row of a table, of the last year and another session; one in a hundred is of our session."""
    ago = (count - 1 - number) * 300 * 86_400 / count + 3_600
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))
    session = SESSION if number % 100 == 99 else _session(number // _IN_SESSION)
    known: dict[str, Any] = {
        "project": project.key,
        "worktree": project.worktree,
        "host": project.host,
        "client": project.client.NAME,
        "session": session,
        "conversation": session,
        "kind": "agent",
        "parent": "",
        "named": 1,
        "answered": "",
        "source": "",
        "task": "",
        "discarded": 0,
        "reminded": 0,
        "open": 0,
        "state": "completed",
        "verdict": "completed",
        "process": None,
        "workflow": f"w{number}",
        "ended_at": at,
        "used_at": at,
        "restored_at": at,
        "restored_in": session,
        "workflows": "[]",
        "phases": "[]",
        "path": f"docs/{number}.md",
        "said": "{}",
        "data": '{"path": "x", "number": 1, "reason": "done"}',
        "fields": "{}",
        "what": "kept",
        "completed_at": None,
        "transcript": "",
        "output": "",
        "outcome": "completed",
        "finished": 1,
        "resumed": 0,
        "size": 0,
        "characters": 100,
        "number": 1,
        **own,
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


def _session(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"
