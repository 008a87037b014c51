"""The contract of every format as a user sees it: commands, hook events and files."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import formats
from holdfast.formats import RECORDS
from holdfast.testing import HoldfastProject
from holdfast.testkit import agent
from tests import brought, described
from tests.commandline import Said, holdfast
from tests.handmade import ME
from tests.witnesses import Desk, Seen, at, disagreements, over, shown, status, witnesses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow
TITLE = "Ship it"
UNITS = ("Plan it", "Build it", "Test it")
PLAN, BUILD, TEST = UNITS
NOTE = "The plan is in plan.md"
Files = dict[str, bytes]


@dataclass
class Kit:
    """A format, and a project with a workflow of three units in it."""

    name: str
    desk: Desk

    @property
    def root(self) -> Path:
        return self.desk.root

    def run(self, *command: str, code: int | None = 0) -> Said:
        """Run a command as the model does."""
        return holdfast(*command, root=self.root, session=ME, code=code)

    def start(self, *more: str) -> None:
        phases = [item for unit in UNITS for item in ("--phase", unit)]
        self.run("start", TITLE, "--format", self.name, *phases, *more)

    def begun(self) -> None:
        """Start the workflow and begin its first unit."""
        self.start()
        self.run("next")

    def done(self) -> bool:
        """Complete the current unit, with a note if the format stores any, and return whether it does."""
        noted = self.run("done", "--note", NOTE, code=None).code == 0
        if not noted:
            self.run("done")
        return noted

    def finish(self) -> None:
        for _ in UNITS:
            self.run("done")

    def files(self) -> Files:
        """Return what every file of the project holds."""
        found = (path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".lock")
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}

    def write(self, files: Files) -> None:
        """Make the project's files those of another moment by hand, as `git checkout` or a backup does."""
        for path in self.files().keys() - files.keys():
            (self.root / path).unlink()
        for path, raw in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(raw)

    def wrong(self, what: str, then: Seen) -> list[str]:
        """Return what guidance, commands and to-do list report that isn't so."""
        seen = witnesses(self.desk)
        return [f"{what}: {each}" for each in disagreements({"done": then, **seen})]

    def titles(self, status: str) -> list[str]:
        phases = self.run("status", "--json").json["current"]["phases"]
        return [each["title"] for each in phases if each["status"] == status]


@pytest.fixture(params=[*formats.NAMES, brought.NAME, *described.NAMES])
def kit(
    request: pytest.FixtureRequest,
    holdfast_project: Callable[..., HoldfastProject],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Kit:
    """Each format there is, the one that the example package brings, and those without code."""
    project = holdfast_project({})
    if request.param == brought.NAME:
        brought.lay(tmp_path / "site")
        brought.install(tmp_path / "site", monkeypatch)
    if request.param in described.NAMES:
        described.use(project.root, request.param)
        request.addfinalizer(described.forget)
    return Kit(request.param, Desk(project.root, TITLE, partial(_sent, project)))


def _sent(project: HoldfastProject, payload: dict[str, Any]) -> str:
    fired = project.send(payload)
    assert (fired.exit_code, fired.faults) == (0, [])
    return fired.stdout


def named(text: str) -> list[list[str]]:
    """Return the commands that a text names."""
    return [shlex.split(each)[1:] for each in re.findall(r"`(holdfast [^`]+)`", text)]


def test_the_same_command_twice_completes_one_unit(kit: Kit) -> None:
    """A note that completed a unit completes no other, except on purpose; a title ends its own unit only."""
    kit.begun()
    guidance = kit.desk.guidance()
    by_agent = re.search(r"^Next step: .*\(agent ", guidance, re.MULTILINE)
    assert by_agent or re.search(r"holdfast done ['\"]Plan it['\"]", guidance), "guidance names what `done` ends"

    kit.run("done", PLAN)
    others = (PLAN, "Bild it", *([TEST] if RECORDS[kit.name].IN_ORDER else []))
    refused = [kit.run("done", title, code=1).err for title in others]

    assert kit.titles("completed") == [PLAN]
    assert BUILD in refused[1], "the nearest title"
    if kit.done():
        insists = kit.run("done", "--note", NOTE, code=1).err
        assert kit.titles("completed") == [PLAN, BUILD]
        (option,) = set(re.findall(r"--(?!note)[a-z]+", insists))
        kit.run("done", "--note", NOTE, option)
        assert kit.titles("completed") == [*UNITS]


def test_done_all_completes_what_was_begun(kit: Kit) -> None:
    """What never began isn't completed; the message names it."""
    kit.begun()

    said = kit.run("done", "--all").out

    assert kit.titles("completed") == [PLAN]
    assert BUILD in said
    assert TEST in said
    assert "removed" not in said or kit.name == "compaction", "a moved file isn't removed"
    assert kit.wrong("after --all", Seen(True)) == []


@pytest.mark.parametrize("option", ["--note", "--context"])
def test_what_is_noted_in_between_is_told_or_refused(kit: Kit, option: str) -> None:
    """It reaches whoever goes on; a format without a place for it says so and changes nothing."""
    kit.begun()
    before = kit.files()

    said = kit.run("update", option, NOTE, code=None)

    assert (kit.files() == before) == bool(said.code)
    is_told = [NOTE in kit.run("status", "--json").out, NOTE in kit.desk.guidance()]
    assert is_told == [said.code == 0] * 2
    assert said.err if said.code else said.out.startswith("Updated.")


def test_a_unit_keeps_its_agent(kit: Kit) -> None:
    """Also under another title; a format without a place for agents refuses to start."""
    before = kit.files()
    started = kit.run("start", TITLE, "--format", kit.name, "--phase", f"{PLAN} @planner", "--phase", BUILD, code=None)
    if started.code:
        assert "keeps no agents" in started.err
        assert kit.files() == before
        return
    kit.run("next")
    renamed = kit.run("update", "--phase", PLAN, "--rename", TEST, code=None)

    first, second = kit.run("status", "--json").json["current"]["phases"]
    assert (first["title"], first["agent"]) == (PLAN if renamed.code else TEST, "planner")
    assert second["agent"] != "planner"


CANCELLED = {  # what the file says then, or that it is gone
    "hybrid": (".claude/state/workflow.json", r'"status": "failed",\s*"current_phase"'),
    "compaction": ("untracked/workflow-state/*/state-*.json", None),
    "wfs": (".workflow/WFS-ship-it/workflow-session.json", r'"status": "paused"'),
    "orchestrator": (".claude/agent-state.json", r'"status": "failed"'),
    "skills": (".claude/workflow-state/completed/*.json", r'"status": "abandoned"'),
}


def test_a_cancelled_workflow_is_over_and_nothing_of_it_done(kit: Kit) -> None:
    """It isn't restored, `list --archive` or its file has it, the log says so, and its name is free."""
    kit.begun()
    kit.done()

    kit.run("cancel")

    assert TITLE not in kit.desk.guidance()
    rows = kit.run("status", "--json").json["workflows"]
    assert all(each["paused"] or each["status"] == "cancelled" for each in rows), rows
    assert kit.titles("completed") == [PLAN]
    assert "cancel" in kit.run("log").out.casefold()
    if kit.name in CANCELLED:
        pattern, words = CANCELLED[kit.name]
        texts = [path.read_text("utf-8") for path in kit.root.glob(pattern)]
        assert [bool(re.search(words or "", each)) for each in texts] == [True] * (words is not None), texts
    if kit.name != "wfs":  # a session that is paused goes on with `holdfast claim`
        kit.start()
        assert kit.wrong("started again", Seen(False, completed=frozenset())) == []


def test_the_command_that_undoes_a_completion_works(kit: Kit) -> None:
    """The message after an agent's late failure names it."""
    if not RECORDS[kit.name].AGENTS:
        pytest.skip("agents work on none of its units")
    kit.begun()
    asked = {"description": PLAN, "prompt": PLAN, "subagent_type": "general-purpose"}
    call = agent.Agent(kit.desk.fire, kit.desk.fire, asked, "a1", "toolu_1")
    call.about_to()
    call.returned("Done.")
    call.died()
    assert kit.titles("completed") == [PLAN]

    (undo,) = named(kit.desk.fire("UserPromptSubmit"))
    kit.run(*undo)

    assert PLAN in kit.titles("active")
    assert kit.titles("completed") == []


def test_the_command_that_opens_a_finished_workflow_works(kit: Kit) -> None:
    """The message that refuses to go on with a finished workflow names it. For N, `log` has the earlier content."""
    kit.begun()
    kit.finish()

    refused = kit.run("claim", TITLE, code=1).err
    commands = [each for each in named(refused) if each[0] not in ("status", "start") and each != ["log"]]
    contents = re.findall(r"version (\d+) saved", kit.run("log").out)
    for command in commands:
        kit.run(*(contents[1] if word == "N" else word for word in command))

    listed = [each["status"] for each in kit.run("status", "--json").json["workflows"]]
    by_hand = kit.name in ("compaction", "skills", "checkbox")
    assert listed in (["active"], ["pending"]) if commands else by_hand, refused


def test_a_file_that_is_moved_by_hand_is_where_it_says(kit: Kit) -> None:
    """Forward, back (an old copy put back), to the end, and away."""
    kit.begun()
    first = kit.files()
    kit.run("done")
    second = kit.files()
    kit.run("done")
    wrong = kit.wrong("by `done`", at(TEST, PLAN, BUILD))

    kit.write(first)
    wrong += kit.wrong("an old copy put back", at(PLAN))
    kit.write(second)
    wrong += kit.wrong("forward", at(BUILD, PLAN))
    kit.run("done")
    wrong += kit.wrong("`done` after that", at(TEST, PLAN, BUILD))
    kit.run("done")
    last = kit.files()
    kit.write(second)
    wrong += kit.wrong("back from the end", at(BUILD, PLAN))
    kit.write(last)
    wrong += kit.wrong("to the end", Seen(True))
    kit.write({})
    wrong += kit.wrong("removed", Seen(True))

    assert not wrong, "\n" + "\n".join(wrong)


def test_a_stale_copy_beside_the_file_counts_for_nothing(kit: Kit) -> None:
    """Neither a backup nor a duplicate as editors name it, though its time is newer than the file's."""
    kit.begun()
    before = kit.files()
    kit.run("done")
    for path in [each for pattern in RECORDS[kit.name].STATES for each in kit.root.glob(pattern)]:
        raw = before[path.relative_to(kit.root).as_posix()]
        path.with_name(f"{path.name}.bak").write_bytes(raw)
        if kit.name not in (brought.NAME, *described.NAMES):  # there, every file is a workflow of its own
            path.with_name(f"{path.stem} copy{path.suffix}").write_bytes(raw)

    wrong = kit.wrong("copies", at(BUILD, PLAN))

    assert not wrong, "\n" + "\n".join(wrong)
    assert [each["title"] for each in kit.run("status", "--json").json["workflows"]] == [TITLE]


OWN_TIME = re.compile(rb'"(updated_at|last_activity|completed_at)": "20')


def test_a_fresh_clone_of_an_old_state_is_where_that_is(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are as new as the clone. It is told of at the start, unless a file says itself how old it is."""
    monkeypatch.setenv("HOLDFAST_NOW", "2020-01-01T00:00:00Z")
    kit.begun()
    kit.run("done")
    original = kit.files()
    monkeypatch.delenv("HOLDFAST_NOW")
    root = tmp_path / "clone"
    commit = "git -c user.name=a -c user.email=a@b.c commit -qm state"
    kit.desk.shell(f"git init -q . && git add -fA && {commit} && git clone -q . {root}")
    if kit.name in described.NAMES:
        described.use(root, kit.name)
    clone = Kit(kit.name, Desk(root, TITLE, partial(_sent, HoldfastProject(root, ME))))

    told = clone.desk.fire("SessionStart-startup")
    old = any(OWN_TIME.search(raw) for raw in original.values())
    wrong = [f"told at the start: {told!r}"] if (TITLE in told) == old else []
    commands = {"status": status(clone.desk), "show": shown(clone.desk)}
    wrong += [f"clone: {each}" for each in disagreements({"done": at(BUILD, PLAN), **commands})]
    clone.run("done")
    wrong += clone.wrong("`done` in the clone", at(TEST, PLAN, BUILD))

    assert not wrong, "\n" + "\n".join(wrong)
    assert {path: raw for path, raw in kit.files().items() if not path.startswith(".git/")} == original


def test_a_workflow_can_run_again(kit: Kit) -> None:
    """By `start`, and by writing the same files anew where a hook sees it; the first run stays in the archive."""
    kit.begun()
    fresh = kit.files()
    kit.finish()
    wrong = kit.wrong("finished", over(*UNITS))

    kit.start()
    wrong += kit.wrong("started again", Seen(False, completed=frozenset()))
    assert TITLE in kit.run("status", "--all").out
    kit.run("next")
    kit.finish()
    wrong += kit.wrong("finished again", over(*UNITS))

    kit.write(fresh)
    for path in fresh:
        kit.desk.fire("PostToolUse-Write", tool_input={"file_path": str(kit.root / path), "content": ""})
    wrong += kit.wrong("written anew", at(PLAN))

    assert not wrong, "\n" + "\n".join(wrong)
