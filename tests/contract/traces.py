"""Golden traces: one day of work in each format, and what Holdfast answers and writes at each step.

Everything goes through `hooks/dispatch.py`, the command line and files, so the traces hold whatever moves inside.

    .venv/bin/python -m tests.contract.traces            compare with the stored traces
    .venv/bin/python -m tests.contract.traces --write    store them again; look at the diff

How to read a trace:

    # 09:04 …       a part of the day, and when it begins; each step takes a minute
    $ holdfast …    a command of the model's
    > PreCompact-…  an event, by the name of its recorded payload, with some of its fields
    exit 1          the exit code, unless it is 0
    ! …             a line of stderr
        …           stdout; of a JSON reply, each value by its path
      new: PATH     a file that is there now, or (changed, moved, removed) is no longer as it was;
                    its mode, unless it is 0644; of a new file, all lines; of others, those that differ
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.testkit import recorded
from holdfast.testkit.agent import Agent
from tests import brought

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("holdfast"))
FOLDER = Path(__file__).parent / "traces"
WRITE = ".venv/bin/python -m tests.contract.traces --write"
DAWN = datetime(2026, 3, 2, 9, tzinfo=UTC)
STEP = timedelta(minutes=1)
MORNING, NOON = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
TITLE = "Ship it"
PLAN, BUILD, TEST, WRITE_UP = "Plan it", "Build it", "Test it", "Write it up"
AGENTS = {PLAN: "planner", BUILD: "builder", TEST: "tester", WRITE_UP: "writer"}
SUMMARY = f"We work on {TITLE}. {PLAN} and {BUILD} are done, {WRITE_UP} comes next. Read docs/money.md. No floats."
WIDTH = 180
PATIENT = """from holdfast import hookimpl

@hookimpl(timeout=45)
def on_session_end(event):
    pass
"""
"""It gives all handlers of SessionEnd more than the 1.5 seconds that the client waits, for a busy machine."""


@dataclass(frozen=True)
class Sample:
    """How a format's day differs from the others'.

    Attributes:
        file: the file in which somebody completes the third unit by hand, as a pattern.
        old: what stands there before, as a regular expression.
        new: what stands there then, with groups of `old`.
        agents: whether agents move its units. Otherwise the model runs `holdfast done`.
        unblock: the command that lets a failed unit be started again, if a retry alone doesn't.
    """

    file: str
    old: str
    new: str
    agents: bool = True
    unblock: tuple[str, ...] = ()


SAMPLES = {
    "hybrid": Sample(".claude/state/workflow.json", r'("Test it",[^}]*"status": )"\w+"', r'\1"completed"'),
    "compaction": Sample(
        "untracked/workflow-state/*/state-*.json",
        r'"current": 3,(.*?)"Test it"',
        r'"current": 4,\1"Write it up"',
        agents=False,
    ),
    "wfs": Sample(".workflow/*/.task/IMPL-3.json", r'("status": )"\w+"', r'\1"completed"'),
    "orchestrator": Sample(
        ".claude/agent-state.json",
        r'\n  \],\n  "pending_tasks": \[\n    {\n      "phase": 0,(.*?"Test it")\n    },',
        r',\n    {\1\n    }\n  ],\n  "pending_tasks": [',
    ),
    "skills": Sample(
        ".claude/workflow-state/active/*.json",
        r'("Test it",\s+"status": )"\w+"',
        r'\1"completed"',
        unblock=("update", "--status", "active"),
    ),
    "progress": Sample("docs/progress.json", r'("Test it",\s+"status": )"\w+"', r'\1"done"'),
    "checkbox": Sample("checklists/*.md", r"\[ \] Test it", "[x] Test it", agents=False),
}


EVENTS = "events"
DAYS = (*SAMPLES, EVENTS)
VIEWS = (
    *(["status", "--json"], ["status"], ["status", "--why"], ["agents"]),
    *(["log", "--json", "--limit", "3"], ["formats", "list"], ["update"], ["nonsense"]),
)
"""Commands that change nothing."""


@dataclass(frozen=True)
class Program:
    """A program's command line, what it reads from stdin, and what is special in its environment."""

    argv: Sequence[str]
    stdin: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Stage:
    """A home and a project of one day, and what is written down of it."""

    top: Path
    now: datetime = DAWN
    session: str = MORNING
    lines: list[str] = field(default_factory=list)
    before: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    launches: int = 0

    def __post_init__(self) -> None:
        self.home, self.root, self.site = self.top / "home", self.top / "project", self.top / "site"
        for folder in (self.home / "run", self.root / ".claude", self.root / "docs", self.site):
            folder.mkdir(parents=True, mode=0o700)
        (self.root / ".claude" / "agents").mkdir()
        for kind in AGENTS.values():
            (self.root / ".claude" / "agents" / f"{kind}.md").write_text(f"---\nname: {kind}\n---\n", "utf-8")
        own = self.home / ".config" / "holdfast"
        (own / "handlers").mkdir(parents=True)
        (own / "holdfast.toml").write_text("[handlers]\ntimeout = 200\ndeadline = 250\n", "utf-8")
        (own / "handlers" / "patient.py").write_text(PATIENT, "utf-8")
        (self.root / "docs" / "money.md").write_text("Amounts are integer cents.\n", "utf-8")
        command = [sys.executable, "-s", str(Path(__file__).with_name("forks.py"))]
        self.runner = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environ(), text=True, encoding="utf-8"
        )

    def environ(self) -> dict[str, str]:
        """Return the environment of hooks and commands at this moment."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "PYTHONPATH": str(self.site),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "TZ": "IST-5:30",
            "COLUMNS": str(WIDTH),
            "CLAUDECODE": "1",
            "CLAUDE_PID": str(os.getpid()),
            "CLAUDE_CODE_SESSION_ID": self.session,
            "CLAUDE_PROJECT_DIR": str(self.root),
            "HOLDFAST_SERVER": "off",
            "HOLDFAST_RELAY": "python",
            "HOLDFAST_NOW": self.now.isoformat(),
        }

    def run(self, *argv: str, stdin: str = "") -> dict[str, Any]:
        """Run a program, a minute after the last one."""
        self.now += STEP
        (answer,) = self.run_at_once(Program(argv, stdin))
        return answer

    def run_at_once(self, *programs: Program) -> list[dict[str, Any]]:
        """Run programs in one moment."""
        environ, cwd = self.environ(), str(self.root)
        requests = [
            {"argv": each.argv, "environ": {**environ, **each.environ}, "cwd": cwd, "stdin": each.stdin}
            for each in programs
        ]
        assert self.runner.stdin
        assert self.runner.stdout
        self.runner.stdin.write(json.dumps(requests) + "\n")
        self.runner.stdin.flush()
        answers: list[dict[str, Any]] = json.loads(self.runner.stdout.readline())
        return answers

    def close(self) -> None:
        """End the process that runs programs."""
        assert self.runner.stdin
        assert self.runner.stdout
        self.runner.stdin.close()
        self.runner.wait()
        self.runner.stdout.close()

    def tell(self, words: str) -> None:
        """Begin a part of the day."""
        self.lines += ["", f"# {self.now:%H:%M} {words}"]

    def holdfast(self, *words: str) -> str:
        """Run a command as the model does, and return its output."""
        shown = " ".join(f'"{each}"' if re.search(r"[^\w./:=-]", each) else each for each in words)
        return self._note(f"$ holdfast {shown}", self.run(COMMAND, *words))

    def fire(self, name: str, **changes: Any) -> str:
        """Send a recorded event to the entrypoint, and return its output."""
        payload = recorded.load(name)
        payload = json.loads(json.dumps(payload).replace(payload["cwd"], str(self.root)))
        payload |= {"session_id": self.session, "transcript_path": "", **changes}
        if "agent_transcript_path" in payload:
            payload["agent_transcript_path"] = f"{self.home}/.claude/projects/{payload['agent_id']}.jsonl"
        entrypoint = str(REPOSITORY / "hooks" / "dispatch.py")
        answer = self.run(entrypoint, payload["hook_event_name"], stdin=json.dumps(payload) + "\n")
        return self._note(f"> {name} {_readable_fields(changes)}".rstrip(), answer)

    def agent(self, description: str) -> Agent[str]:
        """Return a call of the Agent tool."""
        self.launches += 1
        asked = {"description": description, "prompt": f"{description}.", "subagent_type": AGENTS[description]}
        return Agent(self.fire, self.fire, asked, f"a{self.launches:016x}", f"toolu_{self.launches}")

    def finished(self, description: str, words: str) -> None:
        """Let an agent do its work and report."""
        agent = self.agent(description)
        agent.about_to()
        agent.started()
        agent.stopped(words)
        agent.returned(words)

    def edit(self, sample: Sample) -> None:
        """Complete the third unit as a person does in an editor."""
        self.now += STEP
        (path,) = self.root.glob(sample.file)
        before = path.read_text("utf-8")
        text, count = re.subn(sample.old, sample.new, before, count=1, flags=re.DOTALL)
        assert count, f"{path} has nothing to edit:\n{before}"
        path.write_text(text, "utf-8")
        self.lines += self._changes()

    def quietly(self, *words: str) -> str:
        """Run a command that is no part of the trace, and return its output."""
        out = str(self.run(COMMAND, *words)["out"])
        list(self._changes())
        return out

    def _note(self, title: str, answer: Mapping[str, Any]) -> str:
        self.lines += ["", title]
        self.lines += [f"exit {answer['code']}"] if answer["code"] else []
        self.lines += [f"! {line}" for line in answer["err"].splitlines()]
        out = str(answer["out"])
        earlier = self.outputs.setdefault(out, f"{self.now:%H:%M}")
        again = earlier != f"{self.now:%H:%M}" and out.count("\n") + out.count("\\n") > 3
        shown = [f"(the same as at {earlier})"] if again else _readable_output(out)
        self.lines += [f"    {line}".rstrip() for line in shown]
        self.lines += self._changes()
        return out

    def _changes(self) -> Iterator[str]:
        """Yield what changed in the files since the last step."""
        before, self.before = self.before, self.files()
        for path in (each for each in self.before if self.before[each] != before.get(each)):
            os.utime(self._place(path), (self.now.timestamp(), self.now.timestamp()))
        gone = {path: before[path] for path in before if path not in self.before}
        told = self.seen | before
        for path, text in self.before.items():
            if text == before.get(path):
                continue
            if path in before:
                yield f"  changed: {path}{self._mode(path)}"
                yield from _diff(before[path], text)
            elif origin := _alike(text, gone):
                yield f"  moved: {origin} -> {path}{self._mode(path)}"
                yield from _diff(gone.pop(origin), text)
            elif model := _alike(text, {each: told[each] for each in told if _kind(each) == _kind(path)}):
                yield f"  new: {path}{self._mode(path)}, like {model}"
                yield from _diff(told[model], text)
            else:
                yield f"  new: {path}{self._mode(path)}"
                yield from (f"    | {line}".rstrip() for line in text.splitlines())
            told[path] = text
        yield from (f"  removed: {path}" for path in gone)
        self.seen |= told

    def _place(self, path: str) -> Path:
        return self.home / path[2:] if path.startswith("~/") else self.root / path

    def _mode(self, path: str) -> str:
        mode = self._place(path).stat().st_mode & 0o7777
        return "" if mode == 0o644 else f" ({mode:04o})"

    def files(self) -> dict[str, str]:
        """Return the text of each file that people see: the project's, and Holdfast's own but its database."""
        found = {}
        for top, name in ((self.root, ""), (self.home, "~/")):
            for path in sorted(top.rglob("*")):
                place = name + path.relative_to(top).as_posix()
                if path.is_file() and not re.search(_UNSEEN, place):
                    found[place] = path.read_bytes().decode("utf-8", "backslashreplace")
        return found


_VARYING = {
    "(?<=workflow-data-)[0-9a-f]{12}": "…",
    r"(?<=/projects/)[0-9a-f]{16}(?=-\d+\.db)": "…",
    r'(?<="mtime_ns": )\d+': "…",
    r"(?<=id: )[0-9a-f]{32}$|(?<=digest: )[0-9a-f]{12}$|(?<=mark: )[0-9a-f]{12}$": "…",
}
"""What depends on the project's path, on content or on real time, and says nothing to a reader."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UNSEEN = r"\.lock$|\.db(-wal|-shm)?$|^~/\.local/state/holdfast/cache/|^~/\.local/share/|^~/run/|^~/\.claude/"


def _kind(path: str) -> tuple[str, str]:
    return path.rpartition("/")[0], path.rpartition(".")[2]


def _alike(text: str, others: Mapping[str, str]) -> str:
    """Return which other file is nearly the same; empty if none is."""
    ratios = {path: difflib.SequenceMatcher(None, text, other).quick_ratio() for path, other in others.items()}
    best = max(ratios, key=lambda path: ratios[path], default="")
    return best if best and ratios[best] > 0.8 else ""


def _diff(old: str, new: str) -> Iterator[str]:
    """Yield what differs, after the line before it; of lines that differ in a time only, the keys and the times."""
    before, after = old.splitlines(), new.splitlines()
    masked = [_TIME.sub("", line) for line in before], [_TIME.sub("", line) for line in after]
    times = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, masked[0], masked[1], autojunk=False).get_opcodes():
        if tag == "equal":
            times += [b.strip(" ,") for a, b in zip(before[i1:i2], after[j1:j2], strict=True) if a != b]
            continue
        yield from (f"     {line}".rstrip() for line in after[max(j1 - 1, 0) : j1])
        yield from (f"    -{line}".rstrip() for line in before[i1:i2])
        yield from (f"    +{line}".rstrip() for line in after[j1:j2])
    if times:
        yield f"    times: {', '.join(times)}"


def _readable_fields(changes: Mapping[str, Any]) -> str:
    asked = changes.get("tool_input", {})
    shown = {name: asked[name] for name in ("subagent_type", "description") if name in asked}
    shown |= {name: value for name, value in changes.items() if isinstance(value, str) and name != "tool_use_id"}
    if "tool_response" in changes:
        shown["content"] = changes["tool_response"]["content"][0]["text"]
    return " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in shown.items())


def _readable_output(text: str) -> Iterator[str]:
    if text.startswith(("{", "[")):
        for path, value in _leaves(json.loads(text)):
            lines = value.split("\n") if isinstance(value, str) else [json.dumps(value)]
            yield from [f"{path}: {lines[0]}"] if len(lines) == 1 else [f"{path}:", *(f"  {line}" for line in lines)]
    else:
        yield from text.splitlines()


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _leaves(each, f"{path}.{key}" if path else str(key))
    if not items:
        yield path, value


def play(stage: Stage, name: str) -> None:
    """Play the day of a format."""
    sample = SAMPLES[name]
    phases = [f"{title} @{kind}" if sample.agents else title for title, kind in AGENTS.items()]
    start = ("start", TITLE, "--format", name, *(word for phase in phases for word in ("--phase", phase)))
    stage.quietly("install")

    stage.tell("A session starts a workflow.")
    stage.fire("SessionStart-startup")
    stage.holdfast(*start, "--read", "docs/money.md", "--remind", "No floats")
    stage.holdfast("next")

    stage.tell("An agent finishes the first unit.")
    stage.finished(PLAN, "The plan is in docs/plan.md.")
    if not sample.agents:
        stage.holdfast("done", PLAN, "--note", "The plan is in docs/plan.md.")

    stage.tell("An agent fails.")
    agent = stage.agent(BUILD)
    agent.about_to()
    agent.started()
    agent.died()
    agent.failed()
    stage.holdfast("status")

    stage.tell("Another one does the same work.")
    if sample.unblock:
        stage.holdfast(*sample.unblock)
    stage.finished(BUILD, "Built in src/pay.py.")
    if not sample.agents:
        stage.holdfast("done", BUILD)

    stage.tell("A person completes the third unit in an editor.")
    stage.edit(sample)
    stage.fire("UserPromptSubmit")
    stage.holdfast("status")

    stage.tell("The conversation is compacted.")
    stage.fire("PreCompact-auto")
    stage.fire("SessionStart-compact")
    stage.fire("PostCompact-auto", compact_summary=SUMMARY)

    stage.tell("An earlier version of the state file is restored.")
    versions = re.findall(r"version (\d+) saved:\s+(?!\S*\.extra\.json|\S*/\.task/)", stage.quietly("log"))
    stage.holdfast("restore", versions[1])

    stage.tell("The conversation is cleared.")
    stage.fire("SessionEnd-clear")
    stage.session = NOON
    stage.fire("SessionStart-clear")

    stage.tell("The model updates the workflow, and completes what is left.")
    stage.holdfast("update", "--note", "Half of the tests pass", "--remind", "Small commits")
    while "The workflow is complete" not in (said := stage.holdfast("done")) and said:
        pass

    stage.tell("It is opened again, or started again, and given up.")
    if not stage.holdfast("reopen"):
        stage.holdfast(*start)
    stage.holdfast("cancel", "--reason", "We buy one instead")
    stage.fire("SessionEnd-other")
    stage.holdfast("status")
    stage.holdfast("log", "--limit", "30")


def play_events(stage: Stage) -> None:
    """Send each recorded payload to a project with a workflow, then look at it with commands that change nothing."""
    phases = [word for title, kind in AGENTS.items() for word in ("--phase", f"{title} @{kind}")]
    stage.quietly("install")
    stage.tell("A workflow has begun.")
    stage.holdfast("start", TITLE, "--format", "hybrid", *phases, "--remind", "No floats")
    stage.quietly("next")

    stage.tell("The client sends each event that was recorded, the ends of sessions last.")
    silent = []
    for name in sorted(recorded.names(), key=lambda name: name.startswith("SessionEnd")):
        before = len(stage.lines)
        stage.fire(name)
        if len(stage.lines) == before + 2:
            silent.append(name)
            del stage.lines[before:]
    stage.lines += ["", "Nothing is answered or written:", *(f"> {name}" for name in silent)]

    stage.tell("The project is looked at.")
    for words in VIEWS:
        stage.holdfast(*words)


def trace(name: str, folder: Path) -> str:
    """Play a day below a folder that is empty, and return the trace."""
    stage = Stage(folder.resolve())
    try:
        if name == "progress":
            described = stage.home / ".config" / "holdfast" / "formats"
            described.mkdir()
            shutil.copy(REPOSITORY / "examples" / "formats" / f"{name}.toml", described)
        if name == "checkbox":
            brought.lay(stage.site)
        play_events(stage) if name == EVENTS else play(stage, name)
    finally:
        stage.close()
    text = "\n".join(stage.lines).lstrip("\n") + "\n"
    places = {str(stage.root): "<project>", str(stage.home): "<home>", str(REPOSITORY): "<repository>"}
    for path, shown in places.items():
        text = text.replace(path, shown)
    for pattern, shown in _VARYING.items():
        text = re.sub(pattern, shown, text, flags=re.MULTILINE)
    return text


def difference(name: str, folder: Path) -> str:
    """Play the day of a format, and return how the trace differs from the stored one; empty if it doesn't."""
    stored, played = FOLDER / f"{name}.txt", trace(name, folder)
    before = stored.read_text("utf-8") if stored.exists() else ""
    lines = difflib.unified_diff(before.splitlines(), played.splitlines(), f"stored/{name}", f"now/{name}", lineterm="")
    return "\n".join(lines)


def main() -> int:
    """Compare or write; return 1 if a trace differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.traces", description="Compare the golden traces.")
    parser.add_argument("--write", action="store_true", help="store what is played now")
    parser.add_argument("formats", nargs="*", default=DAYS, metavar="DAY", help="by default all")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        places = [Path(folder, name) for name in asked.formats]
        if asked.write:
            for name, text in zip(asked.formats, pool.map(trace, asked.formats, places), strict=True):
                (FOLDER / f"{name}.txt").write_text(text, "utf-8")
            return 0
        differences = [each for each in pool.map(difference, asked.formats, places) if each]
    print("\n".join(differences) or "nothing differs")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
