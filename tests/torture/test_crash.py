"""Processes are killed, and disks fail, at a write, a rename or a removal: files are whole, and the work goes on."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.testkit import recorded
from tests.contract.traces import AGENTS, COMMAND, DAWN, PLAN, REPOSITORY, STEP, TITLE, Stage
from tests.torture import scratch
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Step = tuple[tuple[str, ...], str]
"""A program's command line, and what it reads from stdin."""
pytestmark = scratch.ON_LINUX

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

    def command(self, *words: str) -> Step:
        """Return what runs a command."""
        return (COMMAND, *words), ""

    def event(self, name: str, **changes: Any) -> Step:
        """Return what answers an event as it was recorded."""
        payload = recorded.load(name)
        payload = json.loads(json.dumps(payload).replace(payload["cwd"], str(self.root)))
        payload |= {"session_id": self.session, "transcript_path": str(self.transcript)} | changes
        program = str(REPOSITORY / "hooks" / "dispatch.py")
        return (program, payload["hook_event_name"]), json.dumps(payload) + "\n"

    def play(self, *steps: Step, minute: int) -> list[dict[str, Any]]:
        """Run programs one after the other, each a minute later; all must end well."""
        answers = []
        for number, step in enumerate(steps):
            self.now = DAWN + (minute + number) * STEP
            answers += self.run_at_once(step)
            assert (answers[-1]["code"], answers[-1]["err"]) == (0, ""), (step, answers[-1])
        return answers

    def strike(self, step: Step, minute: int, stop: int, **trouble: str) -> dict[str, Any]:
        """Run a program in which there is trouble at a change, and wait until no process of it is left."""
        self.count(stop)
        self.now = DAWN + minute * STEP
        self.trouble = {"TROUBLE_COUNT": str(self.counter), "TROUBLE_BELOW": f"{self.top}/"} | trouble
        (answer,) = self.run_at_once(step)
        self.trouble = None
        scratch.until(lambda: not members(answer["pid"]), "its processes end")
        return answer

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
        return {name: VARYING.sub("…", text) for name, text in self.files_seen.items()}


TEMPORARY = re.compile(r"^\..*\.\d+\.[0-9a-f]{12}\.tmp$")
PASSING = r"^~/\.local/|/transcript\.jsonl$|^transcript\.jsonl$"
VARYING = re.compile(
    r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?|(?<="mtime_ns": )\d+|\b[0-9a-f]{12,32}\b'
)


def members(group: int) -> list[int]:
    """Return the living processes of a group."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of = each.read_text().rpartition(")")[2].split()[:3]
            found += [int(each.parent.name)] if int(of) == group and state != "Z" else []
    return found


@pytest.fixture
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A home with Holdfast installed, and an empty project."""
    made = Desk(tmp_path.resolve())
    made.transcript.touch()
    described = made.home / ".config/holdfast/formats"
    described.mkdir()
    shutil.copy(REPOSITORY / "examples/formats/progress.toml", described)
    yield made
    made.close()


# --- a workflow's files -------------------------------------------------------------------------------------------


def start(desk: Desk, name: str) -> Step:
    """Return the command that starts a workflow of four phases."""
    phases = [f"{title} @{kind}" if FORMATS[name] else title for title, kind in AGENTS.items()]
    words = [word for phase in phases for word in ("--phase", phase)]
    return desk.command("start", TITLE, "--format", name, *words, "--remind", "No floats")


def returned(desk: Desk, number: int = 1, title: str = PLAN) -> Step:
    """Return an agent's end, which the transcript has too."""
    call, response = called(number, title), recorded.load("PostToolUse-Agent")["tool_response"]
    content = [{"type": "text", "text": words(number)}]
    response |= {"agentId": run(number, title)["agent_id"], "agentType": AGENTS[title], "content": content}
    block = {"tool_use_id": call["tool_use_id"], "type": "tool_result", "content": "x"}
    entry = {"type": "user", "isSidechain": False, "message": {"role": "user", "content": [block]}}
    with desk.transcript.open("a") as file:
        file.write(json.dumps(entry | {"toolUseResult": response}, separators=(",", ":")) + "\n")
    return desk.event("PostToolUse-Agent", **call, tool_response=response)


def stopped(desk: Desk, number: int = 1, title: str = PLAN) -> Step:
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


def launched(desk: Desk, number: int = 1, title: str = PLAN) -> list[Step]:
    """Return the events with which an agent begins."""
    return [
        desk.event("PreToolUse-Agent", **called(number, title)),
        desk.event("SubagentStart", **run(number, title)),
    ]


@dataclass
class Deed:
    """What is killed: a command or an event, what comes before it, and whether it is sent once more afterwards."""

    act: Callable[[Desk, str], Step]
    before: Callable[[Desk, str], list[Step]] = lambda desk, name: [start(desk, name)]
    again: bool = True
    after: Callable[[Desk], Step] | None = None

    def go_on(self, desk: Desk) -> dict[str, str]:
        """Do what comes next, and complete one thing more; return the files then."""
        desk.play(*([self.after(desk)] if self.after else []), desk.event("UserPromptSubmit"), minute=40)
        desk.strike(desk.command("update", TITLE, "--remind", "Go on"), 60, 0)
        return desk.lasting()


DEEDS = {
    "start": Deed(start, lambda desk, name: []),
    "next": Deed(lambda desk, name: desk.command("next")),
    "done": Deed(lambda desk, name: desk.command("done", PLAN)),
    "update": Deed(lambda desk, name: desk.command("update", "--remind", "Small commits")),
    "cancel": Deed(lambda desk, name: desk.command("cancel", TITLE, "--reason", "Bought")),
    "save": Deed(lambda desk, name: desk.event("PreCompact-auto"), again=False),
    "restore": Deed(
        lambda desk, name: desk.event("SessionStart-compact"),
        lambda desk, name: [start(desk, name), desk.event("PreCompact-auto")],
    ),
    "an agent's last event": Deed(
        lambda desk, name: stopped(desk),
        lambda desk, name: [start(desk, name), *launched(desk)],
        again=False,  # the client sends no event twice
        after=returned,
    ),
    "an agent's result": Deed(
        lambda desk, name: returned(desk),
        lambda desk, name: [start(desk, name), *launched(desk), stopped(desk)],
        again=False,
    ),
}
WAYS: dict[str, dict[str, str]] = {
    "all are killed": {"TROUBLE_ALL": "1"},
    "the disk is full": {"TROUBLE_ACT": str(errno.ENOSPC)},
    "one is killed": {},
    "nothing may be written": {"TROUBLE_ACT": str(errno.EACCES)},
    "the disk fails": {"TROUBLE_ACT": str(errno.EIO)},
}


def spread(count: int, most: int | None, first: int) -> list[int]:
    """Return numbers from 1 to a count: all, or about so many, beginning at different ones."""
    stride = 1 if most is None else max(count // most, 1)
    return list(range(1 + first % stride, count + 1, stride))


@pytest.mark.slow
@pytest.mark.parametrize("instants", [3, pytest.param(None, marks=pytest.mark.nightly)], ids=["some", "all"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_workflow_survives_a_kill_or_a_failing_disk_at_any_write(desk: Desk, name: str, instants: int | None) -> None:
    """Its files are old or new, the next event or the command once more goes on, and ends where it would have."""
    desk.play(desk.command("install"), desk.event("SessionStart-startup"), minute=0)
    desk.keep("fresh")
    found: list[str] = []
    for at, (title, deed) in enumerate(DEEDS.items()):
        if FORMATS[name] or "agent" not in title:
            found += [f"{title}: {each}" for each in tried(desk, name, deed, instants, at)]
    report(found)


def tried(desk: Desk, name: str, deed: Deed, instants: int | None, first: int) -> Iterator[str]:
    """Do a deed with trouble at its changes one after the other; yield what is wrong then."""
    desk.reset("fresh")
    desk.play(*deed.before(desk, name), minute=10)
    desk.keep("before")
    old = desk.lasting()
    once = deed.act(desk, name)
    desk.strike(once, 20, 0)
    count, new = desk.counted, desk.lasting()
    wanted = deed.go_on(desk)
    for number, stop in enumerate(spread(count, instants, first)):
        way = list(WAYS)[(number + first) % len(WAYS)]
        desk.reset("before")
        once = deed.act(desk, name)
        answer = desk.strike(once, 20, stop, **WAYS[way])
        where = f"{way} at {stop} of {count}"
        yield from (f"{where}: {each}" for each in broken(desk, old, new, wanted))
        if "TROUBLE_ACT" in WAYS[way] and bad_end(answer, event=once[0][0] != COMMAND):
            yield f"{where}: it ends badly: {answer}"
        left = desk.temporary()
        if left and way == "the disk is full":
            yield f"{where}: left behind: {left}"
        long_ago(*left)
        if deed.again:
            answer = desk.strike(once, 20, 0)
            if "Traceback" in answer["err"]:
                yield f"{where}: once more: {answer}"
        yield from (f"{where}: in the end {each}" for each in differences(wanted, deed.go_on(desk)))
        if desk.temporary():
            desk.strike(desk.command("doctor", "--fix"), 70, 0)
            yield from (f"{where}: for ever: {path}" for path in desk.temporary())


def bad_end(answer: dict[str, Any], *, event: bool) -> bool:
    """Return whether a program that couldn't write ended otherwise than well, or, a command, with a reason."""
    if event:
        return bool(answer["code"] or answer["err"])
    return answer["code"] not in (0, 1) or "Traceback" in answer["err"] or (answer["code"] and not answer["err"])


def broken(desk: Desk, *known: dict[str, str]) -> Iterator[str]:
    """Yield which files are neither whole JSON nor as they are without trouble, and what the ledger lacks."""
    for name, text in desk.lasting().items():
        if any(each.get(name) == text for each in known):
            continue
        try:
            json.loads(desk.files_seen[name])
        except ValueError:
            yield f"{name} is neither old nor new: {text[-300:]!r}"
    for file in (desk.home / ".local/state/holdfast/projects").glob("*.db"):
        with closing(sqlite3.connect(file)) as ledger:
            said = ledger.execute("PRAGMA integrity_check").fetchall()
            if said != [("ok",)]:
                yield f"the ledger: {said}"


def differences(wanted: dict[str, str], now: dict[str, str]) -> Iterator[str]:
    """Yield which files differ."""
    for name in sorted(wanted.keys() | now.keys()):
        if wanted.get(name) != now.get(name):
            yield f"{name} is {now.get(name)!r}\n      instead of {wanted.get(name)!r}"


def long_ago(*files: Path) -> None:
    """Make it hours ago that files were left."""
    then = time.time() - FAR_S
    for each in files:
        os.utime(each, (then, then), follow_symlinks=False)
