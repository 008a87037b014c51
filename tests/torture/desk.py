"""A home and a project whose programs run as forks, at once, or with trouble at a change of a file."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.testkit import recorded
from tests.contract.traces import AGENTS, COMMAND, DAWN, PLAN, REPOSITORY, STEP, TITLE, Program, Stage
from tests.torture import scratch
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

FORMATS = {  # name → whether agents move its phases
    "hybrid": True, "compaction": False, "wfs": True, "orchestrator": True, "skills": True, "progress": True
}  # fmt: skip
FAR_S = 2 * 3600  # seconds after which a file that nobody finished is swept


@dataclass
class Desk(Stage):
    """A home and a project whose processes can be killed, or have their writes fail, at a change of a file."""

    trouble: dict[str, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.counter = self.top / "counter"
        self.transcript = self.root / "transcript.jsonl"
        self.count(0)

    def environ(self) -> dict[str, str]:
        """Return the environment, with the library that makes trouble."""
        return super().environ() | {"LD_PRELOAD": str(scratch.preload())} | (self.trouble or {})

    def count(self, stop: int) -> None:
        """Begin to count changes; make trouble at number `stop`, never at 0."""
        self.counter.write_bytes((0).to_bytes(8, "little") + stop.to_bytes(8, "little"))

    @property
    def counted(self) -> int:
        """The number of changes of files since."""
        return int.from_bytes(self.counter.read_bytes()[:8], "little")

    def command(self, *words: str, session: str = "") -> Program:
        """Return what runs a command."""
        return Program((COMMAND, *words), environ={"CLAUDE_CODE_SESSION_ID": session or self.session})

    def event(self, name: str, **changes: Any) -> Program:
        """Return what answers an event as it was recorded."""
        payload = recorded.load(name)
        payload = json.loads(json.dumps(payload).replace(payload["cwd"], str(self.root)))
        payload |= {"session_id": self.session, "transcript_path": str(self.transcript)} | changes
        program = str(REPOSITORY / "hooks" / "dispatch.py")
        return Program((program, payload["hook_event_name"]), json.dumps(payload) + "\n")

    def play(self, *steps: Program, minute: int) -> list[dict[str, Any]]:
        """Run programs one after the other, each a minute later; all must end well."""
        answers = []
        for number, step in enumerate(steps):
            self.now = self.moment(minute + number)
            answers += self.run_at_once(step)
            assert (answers[-1]["code"], answers[-1]["err"]) == (0, ""), (step, answers[-1])
        return answers

    def strike(self, step: Program, minute: int, stop: int, **trouble: str) -> dict[str, Any]:
        """Run a program in which there is trouble at a change, and wait until no process of it is left."""
        self.count(stop)
        self.now = self.moment(minute)
        self.trouble = {"TROUBLE_COUNT": str(self.counter), "TROUBLE_BELOW": f"{self.top}/"} | trouble
        (answer,) = self.run_at_once(step)
        self.trouble = None
        until(lambda: not members(answer["pid"]), "its processes end")
        return answer

    def note(self, entry: dict[str, Any]) -> None:
        """Add an entry to the transcript, as the client writes it."""
        with self.transcript.open("a") as file:
            file.write(json.dumps({"type": "user", "isSidechain": False} | entry, separators=(",", ":")) + "\n")

    def keep(self, name: str) -> None:
        """Keep home and project as they are now."""
        shutil.rmtree(self.top / name, ignore_errors=True)
        for folder in (self.home, self.root):
            shutil.copytree(folder, self.top / name / folder.name, symlinks=True)

    def reset(self, name: str) -> None:
        """Have home and project as they were kept."""
        for folder in (self.home, self.root):
            shutil.rmtree(folder)
            shutil.copytree(self.top / name / folder.name, folder, symlinks=True)

    def temporary(self) -> list[Path]:
        """Return the files that a killed process left unfinished."""
        return [path for top in (self.home, self.root) for path in top.rglob("*") if TEMPORARY.search(path.name)]

    def lasting(self) -> dict[str, str]:
        """Return the project's files and the settings, without what is written down of times and processes."""
        self.files_seen = {
            name: text
            for name, text in super().files().items()
            if not re.search(PASSING, name) and not TEMPORARY.search(name.rpartition("/")[2])
        } | {f"~/.claude/{path.name}": path.read_text() for path in (self.home / ".claude").glob("settings*.json")}
        return {name: self.varied(text) for name, text in self.files_seen.items()}

    def with_settings(self) -> Path:
        """Keep a home `with` Holdfast and one `without`, where you have settings of your own; return their file."""
        settings = self.home / ".claude/settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(SETTINGS)
        self.keep("without")
        self.play(self.command(*INSTALL), minute=0)
        self.keep("with")
        return settings

    def installed(self) -> dict[str, str]:
        """Return the settings, the configuration, and which files are installed."""
        found = {path: text for path, text in self.lasting().items() if path.startswith("~")}
        folders = (self.home / ".local/share", self.home / ".claude")
        files = (each for folder in folders for each in folder.rglob("*") if not TEMPORARY.search(each.name))
        return found | {str(each.relative_to(self.home)): "" for each in files}

    def varied(self, text: str) -> str:
        """Return a text without times and ids; a number gives way to 0, so that JSON stays JSON.

        A failure that is caught up from the transcript lacks the client's first word.
        """
        text = text.replace(str(self.top), "/top").replace('"Error: API Error', '"API Error')
        return VARYING.sub(lambda found: "0" if found[0].isdigit() else "", text)

    def moment(self, minute: int) -> datetime:
        """Return a minute of the day."""
        return DAWN + minute * STEP


SETTINGS = """{
  "model": "opus",
     "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
}
"""
INSTALL, UNINSTALL = ("install",), ("uninstall", "--yes")
TEMPORARY = re.compile(r"^\..*\.\d+\.[0-9a-f]{12}\.tmp$")
PASSING = r"^~/\.local/|^transcript\.jsonl$|/\.gitignore$"  # a disk that was full once may leave no .gitignore
# Times, ids, durations; and each time that an event is sent, a skill notes a compaction.
VARYING = re.compile(
    r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?|(?<="mtime_ns": )\d+|\b[0-9a-f]{12,32}\b'
    r'|\b(\d+h )?\d+m \d+s\b|\{\s*"at": "[^"]*",\s*"event": "context_compacted",\s*"note": "[^"]*"\s*\},?\s*'
)


def members(group: int) -> list[int]:
    """Return the living processes of a group."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of = each.read_text().rpartition(")")[2].split()[:3]
            found += [int(each.parent.name)] if int(of) == group and state != "Z" else []
    return found


def start(desk: Desk, name: str) -> Program:
    """Return the command that starts a workflow of four phases."""
    phases = [f"{title} @{kind}" if FORMATS[name] else title for title, kind in AGENTS.items()]
    words = [word for phase in phases for word in ("--phase", phase)]
    return desk.command("start", TITLE, "--format", name, *words, "--remind", "No floats")


def returned(desk: Desk, number: int = 1, title: str = PLAN) -> Program:
    """Return an agent's end, which the transcript has too."""
    call, response = called(number, title), recorded.load("PostToolUse-Agent")["tool_response"]
    content = [{"type": "text", "text": words(number)}]
    response |= {"agentId": run(number, title)["agent_id"], "agentType": AGENTS[title], "content": content}
    block = {"tool_use_id": call["tool_use_id"], "type": "tool_result", "content": "x"}
    desk.note({"message": {"role": "user", "content": [block]}, "toolUseResult": response})
    return desk.event("PostToolUse-Agent", **call, tool_response=response)


def stopped(desk: Desk, number: int = 1, title: str = PLAN) -> Program:
    """Return an agent's own last event."""
    return desk.event("SubagentStop", **run(number, title), last_assistant_message=words(number))


def words(number: int) -> str:
    """Return what an agent says at its end."""
    return f"DELIVERABLES: made-{number}.md\nCONTEXT_FOR_NEXT: told-{number}"


def called(number: int, title: str) -> dict[str, Any]:
    """Return what names a call of an agent."""
    asked = {"description": title, "prompt": f"{title}.", "subagent_type": AGENTS[title], "run_in_background": False}
    return {"tool_input": asked, "tool_use_id": f"toolu_{number:024d}"}


def run(number: int, title: str) -> dict[str, Any]:
    """Return what names an agent's run."""
    return {"agent_id": f"a{number:016x}", "agent_type": AGENTS[title]}


def launched(desk: Desk, number: int = 1, title: str = PLAN) -> list[Program]:
    """Return the events with which an agent begins."""
    return [
        desk.event("PreToolUse-Agent", **called(number, title)),
        desk.event("SubagentStart", **run(number, title)),
    ]


def differences(wanted: dict[str, str], now: dict[str, str]) -> Iterator[str]:
    """Yield how files differ from what was wanted."""
    for name in sorted(wanted.keys() | now.keys()):
        if wanted.get(name) != now.get(name):
            before, after = (each.get(name, "(nothing)").splitlines() for each in (wanted, now))
            yield "\n      ".join([name, *difflib.unified_diff(before, after, "wanted", "now", lineterm="", n=1)])


def long_ago(*files: Path) -> None:
    """Make it hours ago that files were left."""
    then = time.time() - FAR_S
    for each in files:
        os.utime(each, (then, then), follow_symlinks=False)
