"""State files as people, models and other tools really write them: read, reported, updated, and nothing lost."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.sessions.explain import explain
from holdfast.sessions.workspace import Workspace
from holdfast.testing import HoldfastProject
from holdfast.workflow import guidance, registry
from tests.commandline import holdfast
from tests.formats.known import KNOWN
from tests.signals import Agent
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.workflow.model import Workflow

COMPACTION = "untracked/workflow-state/kept/state-kept-20251209_143052.json"
HYBRID = ".claude/state/workflow.json"
VIEW = ".claude/workflow_state_system.md"


@dataclass(frozen=True)
class Kept:
    """A state file kept by hand and what can be read in it; without a position, it is in its second phase of all.

    `warned` are the names that its warnings must say, all of them and no others; `said` is what must be shown.
    """

    name: str
    text: str
    title: str = "Kept"
    position: str = ""
    phase: str = "Build"
    warned: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def state(**changes: Any) -> str:
    """Return a whole compaction state with some keys changed; what is changed to `...` is left out."""
    data = {
        "workflow": "Kept",
        "workflow_type": "custom",
        "phase": {"current": 2, "total": 5, "name": "Build", "status": "in_progress"},
        "required_reading": ["@docs/rules.md"],
        "context": {"plan_number": 1},
        "key_reminders": ["Run the tests"],
        "created_at": "2025-12-09T14:30:52Z",
    }
    return json.dumps({key: each for key, each in (data | changes).items() if each is not ...}, indent=2)


def phase(**changes: Any) -> dict[str, Any]:
    """Return a compaction phase with some values changed, or left out."""
    data = {"current": 2, "total": 5, "name": "Build", "status": "in_progress"} | changes
    return {key: each for key, each in data.items() if each is not ...}


BY_PERSON = """{
    "created_at" : "2025-12-09T14:30:52.123456Z",
    "owner": {"name": "Zoë", "since": 2019, "": [1, [2, {"deep": {"deeper": null}}]]},
    "workflow": "Feature Implementation (User Auth)",   "workflow_type": "implementation",
    "cost": 1.50, "exact": 0.12345678901234567890, "large": 123456789012345678901234567890, "half": 5e-1,
    "phase": {"at": "noon", "current": 2, "total": 5, "name": "Build", "status": "in_progress", "tries": [1,2]},

    "required_reading": [
        "@CLAUDE/PlanWorkflow.md",
            "@CLAUDE/Plan/001-user-auth/PLAN.md"
    ],
    "context": { "plan_number": 1, "feature_name": "user-auth", "nested": {"a": [true, false, null]} },
    "key_reminders": ["Use existing auth patterns",  "Run tests"],
    "🙂": "✅ \\u00e9 \\/ \\" \\ud83d\\ude00"
}
"""

COMPACTIONS = [
    Kept("by a person", BY_PERSON, title="Feature Implementation (User Auth)", said=("user-auth", "Run tests")),
    Kept("bytes of windows", "\ufeff" + state().replace("\n", "\r\n").replace("  ", "\t")),
    Kept("one line", json.dumps(json.loads(state()))),
    Kept("packed", json.dumps(json.loads(state()), separators=(",", ":"))),
    Kept(
        "barely filled",
        '{"workflow": "Kept", "phase": {"current": 2, "total": 5}}',
        phase="",
        warned=("workflow_type", "phase.name", "phase.status", "required_reading", "created_at"),
    ),
    Kept("name missing", state(workflow=...), title="kept", warned=("workflow",)),
    Kept("name null", state(workflow=None), title="kept", warned=("workflow",)),
    Kept("name empty", state(workflow="  "), title="kept", warned=("workflow",)),
    Kept("name a number", state(workflow=42), title="42", warned=("workflow",)),
    Kept("name of several lines", state(workflow="Kept\nby\thand"), title="Kept\nby\thand"),
    Kept("numbers as texts", state(phase=phase(current="2", total=" 5 ")), warned=("phase.current", "phase.total")),
    Kept("numbers with a point", state(phase=phase(current=2.0)), warned=("phase.current",)),
    Kept("number between two", state(phase=phase(current=2.5)), warned=("phase.current",)),
    Kept("number as in the memory file", state(phase=phase(current="2/5", total=...)), warned=("phase.current",)),
    Kept(
        "number and name in one",
        state(phase={"current": "2/5 - Build", "status": "blocked"}),
        warned=("phase.current",),
        said=("blocked",),
    ),
    Kept("phase a text", state(phase="2/5 - Build"), warned=("phase", "phase.status")),
    Kept("phase a number", state(phase=2), position="2/2", phase="", warned=("phase", "phase.name", "phase.status")),
    Kept(
        "phase a list",
        state(phase=["Design", "Build"]),
        position="1/1",
        phase='["Design", "Build"]',
        warned=("phase", "phase.status"),
    ),
    Kept("phase null", state(phase=None), position="1/1", phase="", warned=("phase", "phase.name", "phase.status")),
    Kept("phase missing", state(phase=...), position="1/1", phase="", warned=("phase", "phase.name", "phase.status")),
    Kept("phase beyond the total", state(phase=phase(current=12, total=10)), position="10/10", warned=("phase",)),
    Kept("phase zero", state(phase=phase(current=0)), position="1/5", warned=("phase",)),
    Kept("phase negative", state(phase=phase(current=-3)), position="1/5", warned=("phase",)),
    Kept("total missing", state(phase=phase(total=...)), position="2/2", warned=("phase.total",)),
    Kept("total a list", state(phase=phase(total=["a", "b"])), position="2/2", warned=("phase.total",)),
    Kept("total zero", state(phase=phase(total=0)), position="1/1", warned=("phase",)),
    Kept("number a truth value", state(phase=phase(current=True)), position="1/5", warned=("phase.current",)),
    Kept("number a name", state(phase=phase(current="Build", name=...)), position="1/5", warned=("phase.current",)),
    Kept("type unknown", state(workflow_type="eslint-skill"), warned=("workflow_type",), said=("eslint-skill",)),
    Kept("type of another count", state(workflow_type="planning"), warned=("planning",)),
    Kept("type a list", state(workflow_type=["custom"]), warned=("workflow_type",)),
    Kept("status in words", state(phase=phase(status="In Progress"))),
    Kept("status with a sign", state(phase=phase(status="🔄 In Progress"))),
    Kept(
        "status of one's own",
        state(phase=phase(status="awaiting review")),
        warned=("phase.status",),
        said=("awaiting review",),
    ),
    Kept("status an object", state(phase=phase(status={"now": "blocked"})), warned=("phase.status",)),
    Kept("reading without at", state(required_reading=["docs/rules.md"]), said=("@docs/rules.md",)),
    Kept(
        "reading a text",
        state(required_reading="docs/rules.md\n@docs/more.md"),
        warned=("required_reading",),
        said=("@docs/rules.md", "@docs/more.md"),
    ),
    Kept(
        "reading of objects",
        state(required_reading=[{"path": "docs/rules.md", "why": "style"}, 7]),
        warned=("required_reading",),
        said=("@docs/rules.md",),
    ),
    Kept(
        "reading an object",
        state(required_reading={"docs/rules.md": "style"}),
        warned=("required_reading",),
        said=("@docs/rules.md",),
    ),
    Kept("reading missing", state(required_reading=...), warned=("required_reading",)),
    Kept("reading null", state(required_reading=None), warned=("required_reading",)),
    Kept("reminders a text", state(key_reminders="Run the tests"), warned=("key_reminders",), said=("Run the tests",)),
    Kept(
        "reminders of all kinds",
        state(key_reminders=["Run", 3, ["x"], None, {"k": "v"}]),
        warned=("key_reminders",),
        said=("Run", '["x"]', '{"k": "v"}'),
    ),
    Kept(
        "reminders an object",
        state(key_reminders={"tests": "before each commit"}),
        warned=("key_reminders",),
        said=("tests: before each commit",),
    ),
    Kept("context a list", state(context=["page=7"]), warned=("context",), said=("page=7",)),
    Kept("context a text", state(context="page 7"), warned=("context",), said=("page 7",)),
    Kept("context null", state(context=None)),
    Kept(
        "our own context keys for something else",
        state(context={"phases": {"a": 1}, "phase_notes": ["n"]}),
        said=('"a": 1', '"n"'),
    ),
    Kept("created a local time", state(created_at="2025-12-09 14:30")),
    Kept("created a number", state(created_at=1765290652), warned=("created_at",)),
    Kept("created in words", state(created_at="yesterday"), warned=("created_at",)),
    Kept("created missing", state(created_at=...), warned=("created_at",)),
]


def work(**changes: Any) -> str:
    """Return a whole hybrid state with some keys changed; what is changed to `...` is left out."""
    data: dict[str, Any] = {
        "id": "wf_20251209_143052",
        "task": "Kept",
        "status": "active",
        "current_phase": "phase_1",
        "phases": [step(0, status="completed", deliverables=["made.md"], context_for_next="told"), step(1), step(2)],
    }
    return json.dumps({key: each for key, each in (data | changes).items() if each is not ...}, indent=2)


def step(number: int, **changes: Any) -> dict[str, Any]:
    """Return a hybrid phase with some values changed, or left out."""
    data: dict[str, Any] = {
        "id": f"phase_{number}",
        "title": ("Design", "Build", "Test")[number],
        "agent": "general-purpose",
        "status": ("completed", "active", "pending")[number],
        "deliverables": [],
        "context_for_next": "",
    }
    return {key: each for key, each in (data | changes).items() if each is not ...}


def steps(**changes: Any) -> list[dict[str, Any]]:
    """Return three hybrid phases, the second of which is changed."""
    return [step(0), step(1, **changes), step(2)]


BY_MODEL = """{
  "$schema": "https://example.org/none.json",
  "id": "wf_20251209_143052", "task": "Create \\"calculator.py\\" — with tests",
  "started_at": "2025-12-09T14:30:52Z",   "cost": 1.50, "exact": 0.12345678901234567890,
  "status": "active",
  "current_phase": "phase_1",
  "phases": [
    {"id": "phase_0", "title": "Design", "agent": "architect", "status": "completed",
     "deliverables": ["design.md"], "context_for_next": "Use a stack", "duration_ms": 1200.0, "log": [{"at": 1}, null]},
    {"id": "phase_1", "title": "Build", "agent": "coder", "status": "active",
     "deliverables": [], "context_for_next": "", "retries": {"count": 2}},
    { "id": "phase_2", "title": "Test", "agent": "tester", "status": "pending", "deliverables": [] }
  ],
  "required_reading": ["docs/rules.md"], "key_reminders": ["Run the tests"],
  "context": {"page": 7},
  "notes": {"": [], "🙂": {"deep": [[[1]]]}}
}
"""

HYBRIDS = [
    Kept(
        "by a model",
        BY_MODEL,
        title='Create "calculator.py" — with tests',
        said=("@docs/rules.md", "Run the tests", "Use a stack", "design.md"),
    ),
    Kept("bytes of windows", "\ufeff" + work().replace("\n", "\r\n").replace("  ", "\t")),
    Kept("one line", json.dumps(json.loads(work()))),
    Kept(
        "mere titles",
        work(phases=["Design", "Build", "Test"], current_phase=None, status="pending"),
        position="0/3",
        phase="",
        warned=("phases[0]", "phases[1]", "phases[2]"),
    ),
    Kept("titles and phases mixed", work(phases=["Design", step(1), "Test"]), warned=("phases[0]", "phases[2]")),
    Kept(
        "only what is known",
        work(phases=[{"title": "Design", "status": "done"}, {"title": "Build", "status": "active"}, {"title": "Test"}]),
    ),
    Kept("ids missing", work(phases=[step(0, id=...), step(1, id=...), step(2, id=...)])),
    Kept("ids null", work(phases=[step(0, id=None), step(1, id=None), step(2, id="")])),
    Kept(
        "ids from one",
        work(phases=[step(0, id=1), step(1, id=2), step(2, id=3)], current_phase=2),
        warned=("phases[0].id", "phases[1].id", "phases[2].id"),
    ),
    Kept(
        "ids of one's own",
        work(phases=[step(0, id="design"), step(1, id="build"), step(2, id="test")], current_phase="build"),
    ),
    Kept("an id twice", work(phases=[step(0, id="phase_1"), step(1), step(2)]), warned=("phases[1].id",)),
    Kept("current a number", work(current_phase=1)),
    Kept("current beyond", work(current_phase="phase_9"), warned=("current_phase",)),
    Kept("current missing", work(current_phase=...)),
    Kept("current a list", work(current_phase=["phase_1"]), warned=("current_phase",)),
    Kept("status missing", work(status=...), warned=("status",), said=("active",)),
    Kept("status of one's own", work(status="a mess"), warned=("status",), said=("active",)),
    Kept("status in words", work(status="In Progress", phases=steps(status="🔄 in-progress"))),
    Kept(
        "phase status of one's own",
        work(phases=[step(0), step(1), step(2, status="skipped")]),
        warned=("phases[2].status",),
        said=("skipped",),
    ),
    Kept("phase status null", work(phases=[step(0), step(1), step(2, status=None)]), warned=("phases[2].status",)),
    Kept(
        "deliverables a text",
        work(phases=steps(deliverables="half.md")),
        warned=("phases[1].deliverables",),
        said=("half.md",),
    ),
    Kept(
        "deliverables an object",
        work(phases=steps(deliverables={"half.md": True, "size": 3})),
        warned=("phases[1].deliverables",),
        said=("half.md", "size: 3"),
    ),
    Kept("deliverables null", work(phases=steps(deliverables=None))),
    Kept(
        "deliverables of objects",
        work(phases=steps(deliverables=[{"file": "half.md"}])),
        warned=("phases[1].deliverables",),
        said=("half.md",),
    ),
    Kept(
        "hand-over an object",
        work(phases=[step(0, context_for_next={"use": "a stack"}), step(1), step(2)]),
        warned=("phases[0].context_for_next",),
        said=("a stack",),
    ),
    Kept("hand-over null", work(phases=steps(context_for_next=None))),
    Kept("title a number", work(phases=steps(title=7)), phase="7", warned=("phases[1].title",)),
    Kept("title missing", work(phases=steps(title=...)), phase="Phase 1"),
    Kept("agent a list", work(phases=steps(agent=["coder", "tester"])), warned=("phases[1].agent",)),
    Kept("agent null", work(phases=steps(agent=None))),
    Kept("task of several lines", work(task="Kept\nby\thand"), title="Kept\nby\thand"),
    Kept("task a number", work(task=7), title="7"),
    Kept(
        "reading and more by hand",
        work(
            required_reading="docs/rules.md", key_reminders={"tests": "first"}, context=["x"], workflow_type="release"
        ),
        warned=("required_reading", "key_reminders", "context"),
        said=("@docs/rules.md", "tests: first"),
    ),
]

CASES = [(COMPACTION, kept) for kept in COMPACTIONS] + [(HYBRID, kept) for kept in HYBRIDS]


class Desk:
    """A project in which somebody keeps a state file by hand."""

    def __init__(self, root: Path) -> None:
        """Make a project without a workflow."""
        self.project = HoldfastProject(root)
        self.project.write({"docs/rules.md": "Be kind.\n", ".claude/.keep": ""})
        self.root = root

    def put(self, place: str, content: str | bytes, *, age: float = 60.0) -> Path:
        """Write a file, `age` seconds ago."""
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        moment = path.stat().st_mtime - age
        os.utime(path, (moment, moment))
        return path

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command as a person does and return what it said, whether it went well or not."""
        said = holdfast(*arguments, root=self.root, code=code)
        return said.err if code else said.out

    def found(self) -> Workflow:
        """Return the one workflow that is there."""
        (workflow,) = self.all()
        return workflow

    def all(self) -> tuple[Workflow, ...]:
        """Return all workflows that are there, the newest first."""
        opened = Workspace.open(self.root)
        found = registry.all_found(opened).workflows
        opened.close()
        return found

    def compaction(self) -> str:
        """Let a compaction happen and return what the model gets back."""
        self.project.fire("PreCompact")
        fired = self.project.fire("SessionStart", "SessionStart-compact")
        assert fired.faults == []
        return fired.context

    def agent(self, description: str, report: str) -> None:
        """Let an agent be launched for something, work and return."""
        call = Agent(self.project, description, "general-purpose")
        for fired in (call.about_to(), call.started(), call.stopped(report), call.returned(report)):
            assert fired.faults == []


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A project without a workflow."""
    return Desk(tmp_path)


def loads(path: Path) -> Any:
    """Return what a JSON file says, with or without a byte order mark."""
    return json.loads(path.read_text("utf-8-sig"))


def lost(before: Any, after: Any, name: str = "") -> Iterator[str]:
    """Yield the names of values that are not there any more; one that is empty has nothing to lose."""
    if before in (None, "", [], {}):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f"{name}.{key}"
            else:
                yield from lost(value, after[key], f"{name}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        for number, value in enumerate(before):
            yield from lost(value, after[number] if number < len(after) else ..., f"{name}[{number}]")
    elif json.dumps(before) != json.dumps(after, default=str) and json.dumps(before) not in json.dumps(after):
        yield name


def unnamed(kept: Kept, warnings: list[str]) -> list[str]:
    """Return the warnings that no name accounts for, and the names that no warning says."""
    named = [name for name in kept.warned if not any(name in warning for warning in warnings)]
    return [*named, *(each for each in warnings if not any(name in each for name in kept.warned))]


@each_row("place, kept", CASES)
def test_what_can_be_read_is_read_and_what_cannot_is_said(tmp_path: Path, place: str, kept: Kept) -> None:
    """By every way of looking; and looking never changes a byte (I000-20, I001-8, I001-17, lesson 1)."""
    desk = Desk(tmp_path)
    path = desk.put(place, kept.text)
    before = path.read_bytes(), path.stat().st_mtime_ns
    shown = json.loads(desk.run("status", "--json"))["current"]
    opened = Workspace.open(desk.root)
    explained = explain(opened)
    opened.close()
    advice = desk.compaction()

    assert (shown["title"], shown["phase"]) == (kept.title, kept.phase)
    position = kept.position or ("2/3" if place == HYBRID else "2/5")
    assert desk.found().position == position
    assert unnamed(kept, shown["warnings"]) == []
    (listed,) = explained["state_files"]
    assert listed["warnings"] == shown["warnings"]
    assert explained["problems"] == []
    page = desk.run("status") + json.dumps(shown, ensure_ascii=False) + json.dumps(shown["context"])
    assert [said for said in kept.said if said not in page and json.dumps(said)[1:-1] not in page] == []
    assert " ".join(kept.title.split()) in desk.run("status").replace("\\n", " ").replace("\\t", " ") + advice
    assert position in advice or position.startswith("0/")
    assert guidance.line(desk.found())
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert not list(desk.root.rglob("*.corrupt-*"))


@each_row("place, kept", CASES)
def test_an_update_keeps_every_key_and_value_their_order_and_the_indentation(
    tmp_path: Path, place: str, kept: Kept
) -> None:
    """Lesson 2: all that was not asked to change is there afterwards, whatever its type is."""
    desk = Desk(tmp_path)
    path = desk.put(place, kept.text)
    before, bytes_before = loads(path), path.read_bytes()

    said = desk.run("update", "--read", "docs/rules.md", "--remind", "Mind the gap", "--set", "probe=[1]")

    assert said.startswith("Updated.")
    now = desk.found()
    assert "@docs/rules.md" in now.reading
    assert "Mind the gap" in now.reminders
    assert now.context["probe"] == [1]
    assert list(lost(before, loads(path))) == []
    if place == HYBRID:
        assert path.read_bytes() == bytes_before, "what it is given lies in a file of its own"
    else:
        assert list(loads(path))[: len(before)] == list(before)
        assert indentation(path.read_bytes().decode()) == indentation(kept.text)
    assert (path.read_bytes()[:3] == b"\xef\xbb\xbf") == kept.text.startswith("\ufeff")
    assert (b"\r\n" in path.read_bytes()) == ("\r\n" in kept.text)
    assert desk.run("update", "--read", "docs/rules.md", "--remind", "Mind the gap", "--set", "probe=[1]").startswith(
        "Nothing changed"
    )


def indentation(text: str) -> str:
    """Return the white space before a state file's first key."""
    return text.removeprefix("\ufeff").removeprefix("{").partition('"')[0]


MOVED = {"status", "current_phase", "current", "name", "phase"}


@each_row("place, kept", CASES)
def test_a_step_forward_keeps_every_key_and_value(tmp_path: Path, place: str, kept: Kept) -> None:
    """`next`, a note, `update --phase` and `done` change the phase and nothing else, in files of any kind."""
    desk = Desk(tmp_path)
    path = desk.put(place, kept.text)
    before = loads(path)
    desk.run(*(("next",) if place == HYBRID else ("update", "--total", "20")))
    first = desk.found().current or 0
    desk.run("done", "--note", "told on")

    after = loads(path)
    gone = [name for name in lost(before, after) if name.rpartition(".")[2] not in MOVED]
    assert [name for name in gone if name != ".phase.total"] == []
    assert "told on" in json.dumps(after)
    now = desk.found()
    assert (now.current, now.phase_status) == (first + 1, "active")
    assert not list(path.parent.glob("*.corrupt-*"))


@each_row("place, kept", CASES)
def test_the_hooks_of_a_session_keep_every_key_and_value(tmp_path: Path, place: str, kept: Kept) -> None:
    """A compaction with a newer memory file, and an agent that returns, change only what they must."""
    desk = Desk(tmp_path)
    path = desk.put(place, kept.text)
    before = loads(path)
    title = desk.found().title
    if place == HYBRID:
        running = next(each for each in desk.found().phases if each.status != "completed")
        desk.agent(running.title, "DELIVERABLES: fresh.md\nCONTEXT_FOR_NEXT: told on")
    else:
        (desk.root / "CLAUDE.local.md").write_text(
            f"# Workflow State\n\nWorkflow: {' '.join(title.split())}\nPhase: 3/5 - Verify\n\n@docs/new.md\n"
        )
    advice = desk.compaction()

    after = loads(path)
    gone = [name for name in lost(before, after) if name.rpartition(".")[2] not in MOVED]
    assert [name for name in gone if name != ".phase.total"] == []
    if place == HYBRID:
        assert ("fresh.md" in json.dumps(after)) == (not running.deliverables), "a hook fills only what is empty"
        assert "told on" in json.dumps(after)
        assert (desk.root / VIEW).is_file()
    else:
        assert (desk.found().current, desk.found().phase) == (3, "Verify")
        assert "@docs/new.md" in after["required_reading"]
    assert " ".join(title.split())[:20] in advice.replace("\\n", " ").replace("\\t", " ")
    assert not list(desk.root.rglob("*.corrupt-*"))


def test_a_person_finds_their_file_as_they_wrote_it(desk: Desk) -> None:
    """Keys, their order, indentation and letters: nothing but what was asked for differs."""
    path = desk.put(COMPACTION, BY_PERSON)

    desk.run("update", "--status", "blocked", "--remind", "Mind the gap", "--read", "b.md", "--set", "page=7")

    data = json.loads(BY_PERSON)
    data["phase"]["status"] = "blocked"
    data["key_reminders"].append("Mind the gap")
    data["required_reading"].append("@b.md")
    data["context"]["page"] = 7
    assert path.read_text() == json.dumps(data, indent=4, separators=(",", " : "), ensure_ascii=False) + "\n"


def test_a_model_finds_its_file_as_it_wrote_it(desk: Desk) -> None:
    """The same for the hybrid format, over two phases."""
    path = desk.put(HYBRID, BY_MODEL)

    desk.run("update", "--phase", "2", "--deliverable", "a.py", "--status", "completed", "--context", "Mind the gap")

    data = json.loads(BY_MODEL) | {"current_phase": "phase_2"}
    data["phases"][1] |= {"status": "completed", "deliverables": ["a.py"], "context_for_next": "Mind the gap"}
    data["phases"][2] |= {"status": "active", "context_for_next": ""}
    assert path.read_text() == json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def test_a_total_that_is_not_known_is_never_taken_for_the_last_phase(desk: Desk) -> None:
    """Completing removes the file, so it is not done on a guess: the user is asked, and the phase can go on growing."""
    for odd in (phase(total=...), phase(total="many"), phase(current=12, total=10), "2 - Build"):
        path = desk.put(COMPACTION, state(phase=odd))
        for _ in range(2):
            assert "--total N" in desk.run("done", "--note", "x", code=1)
        assert loads(path) == json.loads(state(phase=odd))
        assert not desk.found().finished
    path = desk.put(COMPACTION, state(phase=phase(total=..., status="completed")))
    assert not desk.found().finished, "the second phase is completed, the workflow perhaps not"
    assert "Phase" in desk.compaction()

    desk.run("update", "--phase", "7")
    assert loads(path)["phase"]["current"] == 7
    assert "total" not in loads(path)["phase"], "a guess is not written"
    desk.run("update", "--total", "7")
    desk.run("done")
    assert not path.exists()


UNREADABLE = {
    "empty": b"",
    "half": b'{"workflow": "Kept", "phase": {',
    "merge conflict": b'<<<<<<< HEAD\n{"workflow": "Kept"}\n=======\n{}\n>>>>>>> other\n',
    "comment": b'{\n  // mine\n  "workflow": "Kept", "phase": {}\n}',
    "comma": b'{"workflow": "Kept", "phase": {"current": 1,}}',
    "single quotes": b"{'workflow': 'Kept', 'phase': {}}",
    "a key twice": b'{"workflow": "Kept", "phase": {"current": 1}, "phase": {"current": 2}}',
    "no number": b'{"workflow": "Kept", "phase": {"current": NaN}}',
    "utf-16": '{"workflow": "Kept", "phase": {}}'.encode("utf-16"),
    "latin-1": '{"workflow": "Käpt", "phase": {}}'.encode("latin-1"),
    "zeros": bytes(64),
    "markdown": b"```json\n{}\n```\n",
    "too deep": b'{"workflow": "Kept", "phase": ' + b"[" * 100_000,
    "an array": b'[{"workflow": "Kept", "phase": {}}]',
    "a text": b'"Kept"',
    "null": b"null",
}


@each_row("place", [COMPACTION, HYBRID])
@each_row("content", UNREADABLE.values())
def test_what_cannot_be_read_is_left_and_named(tmp_path: Path, place: str, content: bytes) -> None:
    """By every way of looking, hooks included; and a workflow beside it goes on (I001-11)."""
    desk = Desk(tmp_path)
    path = desk.put(place, content)
    other = desk.put("untracked/workflow-state/other/state-other-1.json", state(workflow="Other"), age=600)
    before = path.read_bytes(), path.stat().st_mtime_ns

    explained = json.loads(desk.run("status", "--why", "--json"))
    assert [Path(each["path"]).name for each in explained["problems"]] == [path.name]
    assert Path(place).name in desk.run("status", "--why")
    assert "Other" in desk.run("status")
    advice = desk.compaction()
    assert "Other" in advice
    assert re.search(rf"{Path(place).name} (could not be read: |holds a JSON )", advice)
    desk.run("done", "Other")
    desk.agent("Build", "It is done.")

    assert loads(other)["phase"]["current"] == 3
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [each for each in path.parent.iterdir() if "corrupt" in each.name] == []


@pytest.mark.parametrize(("place", "text"), [(COMPACTION, state()), (HYBRID, work())], ids=["compaction", "hybrid"])
def test_an_update_of_a_broken_file_says_what_became_of_it(desk: Desk, place: str, text: str) -> None:
    """A file seen before and broken since is written anew from its last good content, also where that says it already.

    Never is "Updated." said of a file that is as broken as before.
    """
    path = desk.put(place, text)
    changes = ("--phase", "Build") if place == COMPACTION else ("--status", "active")
    assert desk.run("update", *changes).startswith("Nothing changed: the workflow says that already.")
    desk.run("update", "--remind", "kept so that the ledger has seen it")
    desk.run("update", *(("--context", "seen") if place == COMPACTION else ("--deliverable", "seen")))
    seen = loads(path)
    desk.put(place, path.read_text()[:-5])
    assert "is not JSON" in desk.run("status", "--why")
    assert "the last content Holdfast kept is used" in desk.run("status", "--why")

    said = desk.run("update", *changes)

    assert said.startswith("Updated. ")
    assert "was broken" in said
    assert "corrupt" in said
    assert loads(path) == seen
    (aside,) = path.parent.glob("*.corrupt-*")
    assert aside.read_text() == json.dumps(seen, indent=2)[:-5] or seen != json.loads(text)
    assert json.loads(desk.run("status", "--why", "--json"))["problems"] == []
    assert desk.run("update", *changes).startswith("Nothing changed")


def test_a_hook_with_nothing_to_change_leaves_a_broken_file_alone(desk: Desk) -> None:
    """Somebody may be in the middle of mending it."""
    path = desk.put(HYBRID, work())
    desk.run("update", "--phase", "2", "--deliverable", "seen by the ledger")
    desk.put(HYBRID, path.read_text()[:-5])
    before = path.read_bytes()

    desk.agent("Build", "It is done.")
    desk.compaction()

    assert path.read_bytes() == before
    assert list(path.parent.glob("*.corrupt-*")) == []


def test_a_state_that_contradicts_itself_is_warned_of(desk: Desk) -> None:
    """R000-13, R000-15: what the file says is read, and what cannot be is said."""
    for status, statuses, said in (
        ("completed", ("active", "failed"), '"status" is "completed", but phase_0, phase_1 are not'),
        ("completed", ("active", "pending"), '"status" is "completed", but phase_0 is not'),
        ("active", ("active", "active"), "phase_0, phase_1 are active at once"),
        ("active", ("completed", "completed"), "but all phases are completed"),
    ):
        phases = [{"id": f"phase_{n}", "title": f"T{n}", "status": each} for n, each in enumerate(statuses)]
        state = {"id": "wf_1", "task": "T", "status": status, "current_phase": "phase_0", "phases": phases}
        desk.put(HYBRID, json.dumps(state))
        (warning,) = [line for line in desk.run("status", "--why").splitlines() if said in line]
        assert "warning: " in warning


FOREIGN: dict[str, Any] = {
    "a list of steps": [{"step": 1}],
    "a workflow inside": {"workflow": {"id": "x", "task": "y", "phases": [{"title": "A"}]}},
    "steps": {"id": "x", "task": "y", "steps": [{"title": "A"}]},
    "a sprint plan": {
        "sprint": "feat/theme",
        "designedBy": "Lead Planner",
        "requirement": "Add a theme",
        "decisions": {"a": {"decision": "tokens"}},
        "phases": [{"name": "P1", "tasks": ["T1", "T2"]}],
    },
    "feature chains": {"project": "Sheet", "featureChains": [{"feature": "data", "chain": ["ui"]}], "revisions": []},
    "a task graph": {
        "current_phase": "execute",
        "phase_artifacts": {"specify": ".claude/specs/spec.md"},
        "tasks": [{"id": "T1", "description": "Rename", "agent": "coder", "wave": 1, "depends_on": []}],
    },
    "waves": {
        "id": "wf_20251209_143052",
        "task": "Build",
        "status": "active",
        "phases": [{"phase_id": "p0", "wave": 0, "agent": "coder", "status": "active"}],
        "waves": [{"id": 0, "phases": ["p0"]}],
    },
    "phases with tasks": {
        "id": "x",
        "task": "y",
        "phases": [{"id": "phase_0", "name": "Specify", "status": "done", "tasks": [{"id": 1}]}],
    },
    "phases by name": {"id": "x", "task": "y", "phases": {"specify": {"status": "done"}, "build": {}}},
    "phases of numbers": {"id": "x", "task": "y", "phases": [1, 2, 3]},
    "phases of lists": {"id": "x", "task": "y", "phases": [["A", "B"]]},
    "a task that is an object": {"id": "x", "task": {"title": "y"}, "phases": [{"title": "A"}]},
    "without an id": {"task": "y", "phases": [{"title": "A"}]},
    "build server": {"name": "CI", "on": "push", "jobs": {"test": {"steps": []}}},
    "nodes": {"id": "x", "nodes": [{"id": "1", "type": "trigger"}], "edges": []},
    "empty": {},
}


@each_row("content", FOREIGN.values())
def test_a_foreign_file_at_our_path_is_never_touched(tmp_path: Path, content: Any) -> None:
    """Lesson 2, I000-20: other tools use this very path; no command, no hook and no start writes there."""
    desk = Desk(tmp_path)
    path = desk.put(HYBRID, json.dumps(content, indent=3))
    before = path.read_bytes(), path.stat().st_mtime_ns

    refused = desk.run("start", "Mine", "--format", "hybrid", "--phase", "A", code=1)
    assert f"{HYBRID}: " in refused
    assert "left alone" in refused or "array" in refused
    assert "no workflow is unfinished" in desk.run("update", "--phase", "phase_0", "--status", "completed", code=1)
    for command in ("next", "done", "update --remind x"):
        assert desk.run(*command.split(), code=1)
    explained = json.loads(desk.run("status", "--why", "--json"))
    assert [each["path"] for each in explained["problems"]] == [str(path)]
    for description in ("A", "Specify", "phase_0", "p0"):
        desk.agent(description, "DELIVERABLES: a.md")
    assert "Mine" not in desk.compaction()
    desk.run("start", "Mine", "--format", "compaction", "--phase", "A")
    assert "Mine" in desk.compaction()

    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert not (desk.root / VIEW).exists()


FOREIGN_COMPACTIONS: dict[str, Any] = {
    "a list": [{"workflow": "Kept"}],
    "a workflow that is an object": {"workflow": {"name": "Kept", "steps": []}, "phase": {"current": 1}},
    "a workflow that is a list": {"workflow": ["a"], "phase": {"current": 1}},
    "nothing but a name": {"workflow": "Kept", "steps": ["a"]},
    "a machine's state": {"state": "RUNNING", "transitions": []},
    "a mere phase": {"phase": {"current": 1}},
    "a phase of a moon": {"phase": "full", "created_at": "2025-12-09T14:30:52Z"},
    "empty": {},
}


@each_row("content", FOREIGN_COMPACTIONS.values())
def test_a_foreign_file_in_our_folder_is_never_touched(tmp_path: Path, content: Any) -> None:
    """Not by a compaction that saves, not by a start of the same name, and not by the end of a workflow beside it."""
    desk = Desk(tmp_path)
    path = desk.put(COMPACTION, json.dumps(content, indent=3), age=0)
    before = path.read_bytes(), path.stat().st_mtime_ns
    (desk.root / "CLAUDE.local.md").write_text("# Workflow State\n\nWorkflow: Kept\nPhase: 1/2 - Draft\n")

    assert "Kept" in desk.compaction()
    assert path.name in desk.compaction()
    assert loads(desk.found().path)["phase"]["name"] == "Draft"
    assert desk.found().path.parent == path.parent, "in the same folder, for that is its name"
    desk.run("done", "--all")
    desk.run("start", "Kept", "--format", "compaction", "--phase", "A")
    desk.run("done", "--all")

    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(path.parent.iterdir()) == [path]


NEIGHBOURS = {
    ".claude/state/active_task_graph.json": '{\n  "current_phase": "execute",\n  "tasks": [{"id": "T1", "wave": 1}]\n}',
    ".claude/state/delegated_sessions.txt": "11111111-1111-4111-8111-111111111111\n22222222",
    ".claude/state/approved_execution_plan.json": "{broken",
    ".claude/state/workflow.json.bak": "{}",
    ".claude/agent-state.json": "[]",
    "untracked/workflow-state/README.md": "mine",
    "untracked/workflow-state/notes/notes.json": "{}",
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_lies_beside_our_files_stays_as_it_is_through_a_whole_workflow(desk: Desk, name: str) -> None:
    """R000-37: task graph and sessions are others', byte for byte, and nothing of theirs is copied into ours."""
    before = {place: desk.put(place, text).stat() for place, text in NEIGHBOURS.items()}
    phases = [item for title in ("Design", "Build", "Test") for item in ("--phase", title)]

    desk.run("start", "Mine", "--format", name, *phases, "--remind", "x")
    desk.run("next")
    desk.agent("Design", "DELIVERABLES: a.md\nCONTEXT_FOR_NEXT: b")
    desk.compaction()
    content = desk.found().path.read_text()
    desk.run("update", "--remind", "y", "--set", "k=1")
    for number in range(3 if name == "compaction" else 2):
        desk.run("done", "--note", f"note {number}")

    after = {place: (desk.root / place).stat() for place in NEIGHBOURS}
    assert {place: (desk.root / place).read_text() for place in NEIGHBOURS} == NEIGHBOURS
    assert [(each.st_ino, each.st_mtime_ns) for each in after.values()] == [
        (each.st_ino, each.st_mtime_ns) for each in before.values()
    ]
    assert not any(word in content for word in ("execute", "wave", "22222222"))
