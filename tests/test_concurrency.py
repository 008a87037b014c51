"""Several sessions, several subagents and a person with an editor, all at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.errors import ChangedError, TransitionError
from holdfast.files import atomic
from holdfast.files import exchange as swapping
from holdfast.formats.compaction import adapter as compaction
from holdfast.formats.compaction.detection.detect import detect
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.formats.hybrid.view import generate_markdown
from holdfast.install import registration
from holdfast.sessions.history import generations
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from holdfast.workflow import registry, verbs
from holdfast.workflow.model import Changes, Start
from tests import processes
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from tests.processes import Ended, Place

pytestmark = pytest.mark.slow

STATE = ".claude/state/workflow.json"
VIEW = ".claude/workflow_state_system.md"
ONE_FILE = ("hybrid", "compaction")
"""The formats whose state file has all the phases."""
TASKS = ("Collect the facts", "Build the index", "Check the links")
AGENTS = ("general-purpose", "Explore", "test-writer")


def renamed(path: Path, text: str) -> None:
    """Save as most editors do: a new file that takes the old one's name."""
    beside = path.with_name(f".{path.name}.swp")
    beside.write_text(text)
    beside.replace(path)


def in_place(path: Path, text: str) -> None:
    """Save as the rest do: the file is emptied and filled again."""
    path.write_text(text)


SAVES = pytest.mark.parametrize("save", [renamed, in_place])


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Workspace]:
    """An empty project."""
    (tmp_path / "project").mkdir()
    opened = Workspace.open(tmp_path / "project")
    yield opened
    opened.close()


@pytest.fixture
def at_the_swap(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something happen once, in the very moment between our last look at a file and our writing of it."""

    def arrange(act: Callable[[], object]) -> None:
        left = [act]
        real = swapping.exchange

        def exchange(one: Path, other: Path) -> bool:
            if left:
                left.pop()()
            return real(one, other)

        monkeypatch.setattr(atomic, "exchange", exchange)

    return arrange


def started(project: Workspace, name: str) -> Workflow:
    """Return a new workflow of three phases, the first of which runs."""
    phases = tuple(zip(TASKS, AGENTS, strict=True))
    keeper = registry.get(name)
    return verbs.begin(project, keeper.start(project, Start(title="Shared", phases=phases)))


def edited(path: Path, save: Callable[[Path, str], None], **keys: Any) -> Callable[[], None]:
    """Return what an editor does: add keys to the file as it is then."""
    return lambda: save(path, json.dumps({**json.loads(path.read_bytes()), **keys}, indent=4))


def moves(project: Workspace, workflow: Workflow) -> dict[str, Callable[[], object]]:
    """Return the ways in which Holdfast writes a state file, by name."""
    ways: dict[str, Callable[[], object]] = {
        "update": lambda: verbs.update(project, workflow, Changes(phase="Renamed")),
        "done": lambda: verbs.done(project, workflow, note="told"),
    }
    if workflow.format == hybrid.NAME:
        ways["agent"] = lambda: hybrid.move(project, "phase_0", "completed", deliverables=["made"], by="hook")
        ways["person"] = lambda: hybrid.move(project, "phase_0", "failed", by="person")
    else:
        memory = project.root / "CLAUDE.local.md"
        memory.write_text("# Workflow State\n\nWorkflow: Shared\nPhase: 2/3 - Build the index\n")
        os.utime(memory, (time.time() + 60, time.time() + 60))
        ways["save"] = lambda: compaction.save(project, detect(project).extract)
    return ways


WAYS = [("hybrid", way) for way in ("update", "done", "agent", "person")]
WAYS += [("compaction", way) for way in ("update", "done", "save")]


@SAVES
@pytest.mark.parametrize(("name", "way"), WAYS)
def test_a_manual_edit_in_the_very_moment_of_an_update_is_kept(
    project: Workspace,
    at_the_swap: Callable[[Callable[[], object]], None],
    name: str,
    way: str,
    save: Callable[[Path, str], None],
) -> None:
    """What a person saves while we write is in the file afterwards, and so is what we had to write."""
    workflow = started(project, name)
    before = json.loads(workflow.path.read_bytes())
    at_the_swap(edited(workflow.path, save, by_hand="kept"))

    moves(project, workflow)[way]()

    after = json.loads(workflow.path.read_bytes())
    assert after["by_hand"] == "kept"
    assert {key: value for key, value in after.items() if key != "by_hand"} != before
    assert not list(workflow.path.parent.glob("*.corrupt-*"))
    assert not list(workflow.path.parent.glob(".*.tmp"))
    if name == "hybrid":
        assert (project.root / VIEW).read_text() == generate_markdown(after)


@pytest.mark.parametrize("name", ONE_FILE)
def test_an_update_is_made_to_what_somebody_saved_and_not_to_what_was_read(
    project: Workspace, at_the_swap: Callable[[Callable[[], object]], None], name: str
) -> None:
    """A person completes the phase by hand in the moment in which `done` completes it: it advances once."""
    workflow = started(project, name)
    data = json.loads(workflow.path.read_bytes())
    if name == "hybrid":
        data["phases"][0]["status"], data["phases"][1]["status"] = "completed", "active"
        data["current_phase"] = "phase_1"
    else:
        data["phase"] |= {"current": 2, "name": TASKS[1]}
    at_the_swap(lambda: renamed(workflow.path, json.dumps(data)))

    now = verbs.done(project, workflow, note="told")

    assert now.current == 2
    assert json.loads(workflow.path.read_bytes()) == data


def test_a_task_saved_by_hand_in_the_moment_of_its_completion_keeps_both(
    project: Workspace, at_the_swap: Callable[[Callable[[], object]], None]
) -> None:
    """Tasks of a wfs session have files of their own: what a person writes into one stays, and so does our change."""
    workflow = started(project, "wfs")
    path = workflow.path.parent / ".task" / "IMPL-1.json"
    data = json.loads(path.read_bytes()) | {"by_hand": "kept"}
    at_the_swap(lambda: renamed(path, json.dumps(data)))

    verbs.done(project, workflow)

    assert json.loads(path.read_bytes()) == data | {"status": "completed"}


def test_a_finished_workflow_reopened_by_hand_in_the_moment_of_a_start_is_not_overwritten(
    project: Workspace, at_the_swap: Callable[[Callable[[], object]], None]
) -> None:
    """Whether a workflow may give way is judged by what the file says when it is written over."""
    workflow = started(project, "hybrid")
    verbs.done(project, workflow, everything=True)
    data = json.loads(workflow.path.read_bytes())
    data["status"] = data["phases"][2]["status"] = "active"
    at_the_swap(lambda: renamed(workflow.path, json.dumps(data)))

    with pytest.raises(TransitionError, match="end it with"):
        started(project, "hybrid")

    assert json.loads(workflow.path.read_bytes()) == data


def test_a_state_file_that_appears_in_the_moment_of_a_start_is_not_overwritten(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two starts of two names that share a folder and a second: both files are there."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52Z")
    left = [b'{"workflow": "Mine!", "phase": {}}']
    real = os.link

    def link(source: Any, target: Any) -> None:
        if left and "state-" in str(target):
            target.write_bytes(left.pop())
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    workflow = compaction.start(project, Start(title="Mine?", phases=(("A", ""),)))

    assert workflow.path.name == "state-mine-20251209_143053.json"
    assert sorted(json.loads(path.read_bytes())["workflow"] for path in workflow.path.parent.iterdir()) == [
        "Mine!",
        "Mine?",
    ]


@SAVES
def test_the_file_beside_a_hybrid_workflow_is_shared_in_the_same_way(
    project: Workspace, at_the_swap: Callable[[Callable[[], object]], None], save: Callable[[Path, str], None]
) -> None:
    """Reminders that a person writes there while we add one are kept."""
    workflow = started(project, "hybrid")
    workflow = verbs.update(project, workflow, Changes(reminders=("first",)))
    extra = project.root / ".claude/state/workflow.extra.json"
    at_the_swap(edited(extra, save, key_reminders=["first", "by hand"], by_hand="kept"))

    verbs.update(project, workflow, Changes(reminders=("second",)))

    after = json.loads(extra.read_bytes())
    assert (after["key_reminders"], after["by_hand"]) == (["first", "by hand", "second"], "kept")


_EDITOR = """
import json, os, random, sys, time
path, style, stop = sys.argv[1:]
mine = []
while not os.path.exists(stop):
    for _ in range(200):  # what it saved may be swapped out for the blink of an eye, but only for that
        with open(path) as file:
            data = json.load(file)
        if data.get("by_hand", []) == mine:
            break
        time.sleep(0.001)
    else:
        raise SystemExit(f"{len(mine)} edits were made, there are {data.get('by_hand')}")
    mine.append(f"edit {len(mine)}")
    data["by_hand"] = mine
    text = json.dumps(data, indent=4)
    time.sleep(random.uniform(0.01, 0.06))
    if style == "renamed":
        with open(path + ".swp", "w") as file:
            file.write(text)
        os.replace(path + ".swp", path)
    else:
        with open(path, "w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(random.uniform(0, 0.002))
            file.write(text[len(text) // 2 :])
print(len(mine))
"""
_UPDATER = """
import sys
from pathlib import Path
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry as formats
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes
keeper = formats.get(sys.argv[2])
for number in range(int(sys.argv[3])):
    project = Workspace.open(Path(sys.argv[1]))
    (workflow,) = keeper.find(project).workflows
    verbs.update(project, workflow, Changes(phase=f"Name {number}"))
    project.close()
"""


@pytest.mark.parametrize("style", ["renamed", "in place"])
@pytest.mark.parametrize("name", ONE_FILE)
def test_nothing_an_editor_saves_is_lost_to_our_updates(project: Workspace, name: str, style: str) -> None:
    """An editor that takes no lock finds, each time it looks, all it ever saved; and no update fails over it.

    Its saves may take an update of ours back that came while it had the old content open: that is the editor's doing.
    """
    workflow = started(project, name)
    stop = project.root / "stop"
    python = [sys.executable, "-c"]
    editor = subprocess.Popen([*python, _EDITOR, str(workflow.path), style, str(stop)], stdout=subprocess.PIPE)
    updater = subprocess.Popen([*python, _UPDATER, str(project.root), name, "40"])
    updated = updater.wait(processes.PATIENCE)
    stop.touch()
    said, _ = editor.communicate(timeout=processes.PATIENCE)

    assert (updated, editor.returncode) == (0, 0)
    data = json.loads(workflow.path.read_bytes())
    assert data["by_hand"] == [f"edit {number}" for number in range(int(said))]
    assert not list(workflow.path.parent.glob("*.corrupt-*"))
    kept = {phase_name(json.loads(raw)) for raw in contents(project, workflow)}
    assert {f"Name {number}" for number in range(40)} <= kept


def phase_name(data: dict[str, Any]) -> str:
    """Return what the first phase is called in the content of a state file of either format."""
    return str(data["phases"][0]["title"] if "phases" in data else data["phase"]["name"])


def contents(project: Workspace, workflow: Workflow) -> list[bytes]:
    """Return all contents of a workflow's file that the ledger kept, the first first."""
    rows = reversed(generations.all(project, workflow.path))
    return [content for row in rows if (content := generations.content(project, row["id"]))]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project with Holdfast installed as a user installs it."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    at_once([cli(place, "install", "--scope", "project", "--allow-cli")])
    return place


class Asked:
    """A process that is started and waits for what it is to read, so that many of them act in one moment."""

    def __init__(self, command: Sequence[str], environ: dict[str, str], cwd: Path, data: bytes = b"") -> None:
        pipe = subprocess.PIPE
        self.data = data
        self.process = subprocess.Popen(command, env=environ, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe)


def cli(place: Place, *arguments: str, session: str = ME) -> Asked:
    """Start the command line as the model's Bash tool does."""
    environ = place.environ(CLAUDE_CODE_SESSION_ID=session, PYTHONPATH=str(paths.package_root()))
    waiting = "import sys; sys.stdin.read(); from holdfast import cli; cli.main(sys.argv[1:])"
    return Asked([sys.executable, "-c", waiting, *arguments], environ, place.root)


def event(place: Place, name: str, session: str = ME, **changes: Any) -> Asked:
    """Start the registered command for a recorded payload."""
    fields = {"session_id": session, "cwd": str(place.root), "transcript_path": ""} | changes
    data = json.dumps(recorded.load(name, **fields)).encode() + b"\n"
    command = ["/bin/sh", "-c", registration.command(name.split("-")[0])]
    return Asked(command, place.environ(CLAUDE_ENV_FILE=str(place.home / "env.sh")), place.root, data)


def at_once(asked: Sequence[Asked]) -> list[Ended]:
    """Let processes act in one moment and return how each ended; all must end well and silent on stderr."""
    for each in asked:
        assert each.process.stdin is not None
        each.process.stdin.write(each.data)
        each.process.stdin.flush()
    ended = []
    for each in asked:
        out, err = each.process.communicate(timeout=processes.PATIENCE)
        ended.append(processes.Ended(each.process.returncode, out.decode(), err.decode(), 0.0))
    assert [(each.exit_code, each.stderr) for each in ended] == [(0, "")] * len(ended)
    return ended


def call(number: int, *, background: bool) -> dict[str, Any]:
    """Return what names the launch of an agent for a phase."""
    given = {
        "description": TASKS[number],
        "prompt": "Do it.",
        "subagent_type": AGENTS[number],
        "run_in_background": background,
    }
    return {"tool_input": given, "tool_use_id": f"toolu_{number:024d}"}


def run(number: int) -> dict[str, Any]:
    """Return what names the run of an agent."""
    return {"agent_id": f"a{number:016x}", "agent_type": AGENTS[number]}


def report(number: int) -> str:
    """Return what an agent says at its end."""
    return f"DELIVERABLES: made-{number}.md\nCONTEXT_FOR_NEXT: told-{number}"


def launched(place: Place, number: int, *, background: bool) -> list[Asked]:
    """Return the events with which an agent begins its work, one after the other."""
    called = call(number, background=background)
    events = [event(place, "PreToolUse-Agent", **called)]
    if background:
        response = recorded.load("PostToolUse-Agent-background")["tool_response"] | {"agentId": run(number)["agent_id"]}
        events.append(event(place, "PostToolUse-Agent-background", **called, tool_response=response))
    return [*events, event(place, "SubagentStart", **run(number))]


def returned(place: Place, number: int, *, background: bool) -> Asked:
    """Return the event in which the main conversation learns an agent's result."""
    called = call(number, background=background)
    if background:
        prompt = recorded.load("UserPromptSubmit-task-notification")["prompt"]
        told = {
            "ab8261ac2845e6b52": run(number)["agent_id"],
            "toolu_a6afe407cf3640fd98114a04": called["tool_use_id"],
            "BG-SUBAGENT-RESULT": report(number),
        }
        for old, new in told.items():
            prompt = prompt.replace(old, new)
        return event(place, "UserPromptSubmit-task-notification", prompt=prompt)
    response = recorded.load("PostToolUse-Agent")["tool_response"]
    response |= {
        "agentId": run(number)["agent_id"],
        "agentType": AGENTS[number],
        "content": [{"type": "text", "text": report(number)}],
    }
    return event(place, "PostToolUse-Agent", **called, tool_response=response)


def stopped(place: Place, number: int) -> Asked:
    """Return an agent's own last event."""
    return event(place, "SubagentStop", **run(number), last_assistant_message=report(number))


def start_hybrid(place: Place, session: str = ME) -> None:
    """Start a hybrid workflow of three phases, each with its agent, which the project has."""
    for agent in AGENTS:
        (place.root / ".claude/agents").mkdir(parents=True, exist_ok=True)
        (place.root / f".claude/agents/{agent}.md").write_text(f"---\nname: {agent}\n---\n")
    phases = [item for task, agent in zip(TASKS, AGENTS, strict=True) for item in ("--phase", f"{task} @{agent}")]
    at_once([cli(place, "start", "Three at a time", "--format", "hybrid", *phases, session=session)])


@pytest.mark.parametrize(
    ("kinds", "beside"),
    [((False,) * 3, False), ((True,) * 3, False), ((False, True, False), True)],
    ids=["foreground", "background", "mixed, beside another"],
)
def test_three_subagents_finish_at_the_same_moment(place: Place, kinds: tuple[bool, ...], beside: bool) -> None:
    """Each phase is completed once, with its own agent's words, and the view says what the state says.

    A workflow of the other format that is moved in the same moment loses nothing either.
    """
    start_hybrid(place)
    others: list[Callable[[], Asked]] = []
    if beside:
        phases = [item for number in range(6) for item in ("--phase", f"Step {number}")]
        at_once([cli(place, "start", "Beside", "--format", "compaction", *phases, session=OTHER)])
        others = [
            lambda: cli(place, "done", "Beside", "--again", "--note", "told", session=OTHER),
            lambda: cli(place, "update", "Beside", "--remind", "Mind", "--set", "k=1", session=OTHER),
            lambda: event(place, "PreCompact-auto", OTHER),
        ]
    for number, background in enumerate(kinds):
        for each in launched(place, number, background=background):
            at_once([each])

    at_once([*(stopped(place, number) for number in range(3)), *(other() for other in others)])
    at_once([*(returned(place, number, background=kinds[number]) for number in range(3)), *(each() for each in others)])

    state = json.loads((place.root / STATE).read_bytes())
    assert (state["status"], state["current_phase"]) == ("completed", None)
    assert [(phase["status"], phase["deliverables"], phase["context_for_next"]) for phase in state["phases"]] == [
        ("completed", [f"made-{number}.md"], f"told-{number}") for number in range(3)
    ]
    assert (place.root / VIEW).read_text() == generate_markdown(state)
    assert not list((place.root / ".claude/state").glob("*corrupt*"))
    assert history_is_straight(place)
    assert "Traceback" not in place.log()
    if beside:
        (path,) = (place.root / "untracked/workflow-state/beside").iterdir()
        data = json.loads(path.read_bytes())
        assert (data["phase"]["current"], data["phase"]["name"]) == (3, "Step 2")
        assert (data["key_reminders"], data["context"]["k"]) == (["Mind"], 1)
        assert data["context"]["phase_notes"] == {"1": "told", "2": "told"}


def history_is_straight(place: Place) -> bool:
    """Return whether no phase of the hybrid workflow ever took a step back, in all contents its file ever had."""
    order = ["pending", "active", "completed"]
    before = [0, 0, 0]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place.environ().items():
            patch.setenv(name, value)
        project = Workspace.open(place.root)
        (workflow,) = hybrid.find(project).workflows
        kept = contents(project, workflow)
        project.close()
    assert len(kept) >= 4
    for raw in kept:
        now = [order.index(phase["status"]) for phase in json.loads(raw)["phases"]]
        assert now.count(1) <= 1, "one phase at a time (R000-15)"
        assert all(new >= old for new, old in zip(now, before, strict=True))
        before = now
    return True


def test_two_sessions_move_two_workflows_at_once(place: Place) -> None:
    """R001-04: each session's workflow advances by exactly what that session did, and each gets its own back."""
    phases = [item for number in range(6) for item in ("--phase", f"Step {number}")]
    start_hybrid(place, OTHER)
    at_once([cli(place, "start", "Mine alone", "--format", "compaction", *phases)])
    at_once([event(place, "SessionStart-startup", session) for session in (ME, OTHER)])
    for round_ in range(2):
        at_once(
            [
                cli(place, "done", "--note", f"mine-{round_}"),
                cli(place, "done", "--note", f"theirs-{round_}", session=OTHER),
                *(event(place, "PreCompact-auto", session) for session in (ME, OTHER)),
                cli(place, "update", "--remind", f"mine-{round_}"),
            ]
        )
        (path,) = (place.root / "untracked/workflow-state/mine-alone").iterdir()
        data, state = json.loads(path.read_bytes()), json.loads((place.root / STATE).read_bytes())
        assert data["phase"]["current"] == round_ + 2
        assert data["key_reminders"] == [f"mine-{number}" for number in range(round_ + 1)]
        assert [phase["status"] for phase in state["phases"]].count("completed") == round_ + 1
        assert state["phases"][round_]["context_for_next"] == f"theirs-{round_}"
        assert (place.root / VIEW).read_text() == generate_markdown(state)
        back = at_once([event(place, "SessionStart-compact", session) for session in (ME, OTHER)])
        assert ["Mine alone" in each.advice for each in back] == [True, False]
        assert ["Three at a time" in each.advice for each in back] == [False, True]


def test_an_update_that_never_gets_its_turn_says_so(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who saves each time we are about to write wins, and the user is told to try again."""
    workflow = started(project, "compaction")
    theirs = json.loads(workflow.path.read_bytes())
    real, saved = swapping.exchange, list[int]()

    def exchange(one: Path, other: Path) -> bool:
        if len(saved) % 2 == 0:  # before the swap, not before it is undone
            renamed(workflow.path, json.dumps({**theirs, "by_hand": len(saved)}))
        saved.append(1)
        return real(one, other)

    monkeypatch.setattr(atomic, "exchange", exchange)
    with pytest.raises(ChangedError, match="try again"):
        verbs.update(project, workflow, Changes(phase="Renamed"))

    assert json.loads(workflow.path.read_bytes()) == {**theirs, "by_hand": len(saved) - 2}
