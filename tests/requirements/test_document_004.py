"""Document 004: `.claude/workflow-state/`, requirement by requirement."""

from __future__ import annotations

import hashlib
import json
import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.formats.skills import machine, paths, record, upkeep
from holdfast.formats.skills.format import FORMAT
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import guidance
from tests.commandline import holdfast
from tests.formats.skills import documents
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow

FEATURE = "features/auth/user-login.md"
FILE = "# User login\n\n- [ ] Add model\n- [ ] Add login\n"
EVENTS = ("lint", "test", "security_review", "code_simplifier")
# What the document shows for a person who comes back, with the branch and the ids of its example.
SHOWN = """\
📂 Checking for existing workflow state...

Found active workflow:
  ID: dev-auth-a1b2c3
  Feature: features/auth/user-login.md
  Started: 2 hours ago
  Last activity: 45 minutes ago

  Progress:
    ✅ Load feature (3/5 tasks complete)
    ✅ Create branch (feat/user-auth)
    🔄 Task execution:
       ✅ Task 1: Add User model (committed: abc123)
       ✅ Task 2: Add password hashing (committed: def456)
       ✅ Task 3: Add AuthService (committed: ghi789)
       🔄 Task 4: Add login method (GREEN phase - tests failing)
       ⏳ Task 5: Add logout method
    ⏳ Verification (lint, test, security, simplify)
    ⏳ PR creation

"""
QUESTION = "Resume from Task 4 (GREEN phase)? [Y/n]\n"
RULE = "━" * 47
RESUMED = f"""\
{RULE}
🔄 Resuming: Task 4/5 - Add login method
   Phase: GREEN (make tests pass)
{RULE}

Last test run (45 min ago):
  ❌ test_login_with_valid_credentials

Continuing implementation...
"""


class Scene:
    """A project with a feature file of two boxes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write(FEATURE, FILE)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *words: str, code: int = 0, session: str = "") -> Any:
        """Run a command of the group `skills`."""
        return self.holdfast("skills", *words, code=code, session=session)

    def holdfast(self, *words: str, code: int = 0, session: str = "") -> Any:
        return holdfast(*words, root=self.root, code=code, session=session)

    def doctor(self, *words: str) -> str:
        """Run `holdfast doctor`, which has more to say here: no hook is registered."""
        said = self.holdfast("doctor", *words, code=1)
        return str(said.out)

    def dev(self, upto: str = "task_execution") -> None:
        """Start /dev, up to a phase."""
        self.run("start", "dev", FEATURE)
        self.run("phase", "create_branch")
        self.run("phase", "task_execution")
        if upto == "task_execution":
            return
        for number in ("1", "2"):
            self.run("task", number, "--start")
            self.run("task", number, "--done")
        self.run("phase", "verification")
        if upto == "pr_creation":
            for name in EVENTS:
                self.run("checkpoint", name, "--passed")
            self.run("phase", "pr_creation")

    def tdd(self) -> None:
        self.run("start", "tdd", "Add a login")

    def path(self, folder: str = "active") -> Path:
        (path,) = (self.root / record.TOP / folder).glob("*.json")
        return path

    def state(self, folder: str = "active") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path(folder).read_bytes())
        return found

    def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.root / record.TOP / "index.json").read_bytes())[
            "active_workflows"
        ]
        return found

    def events(self, *names: str) -> list[dict[str, Any]]:
        return [each for each in self.state()["history"] if each["event"] in names]

    @property
    def workflow(self) -> Workflow:
        (found,) = FORMAT.find(Workspace.open(self.root)).workflows
        return found

    def restored(self) -> str:
        return guidance.build(self.workflow, root=self.root, sidecar=self.root / "sidecar.md").text


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def later(monkeypatch: pytest.MonkeyPatch, **age: float) -> None:
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(**age)))


def example(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the workflow that the document resumes, with the /tdd workflow of its task."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-08T22:00:00Z")
    data = documents.state("dev")
    data["workflow"] |= {"id": "dev-auth-a1b2c3", "branch": "feat/user-auth"}
    data["workflow"] |= {"created_at": "2025-01-08T19:59:30Z", "updated_at": "2025-01-08T21:14:30Z"}
    data["context"] |= {"feature_file": FEATURE, "feature_title": "User login"}
    titles = ("Add User model", "Add password hashing", "Add AuthService", "Add login method", "Add logout method")
    data["tasks"] = [{"index": n, "description": each, "status": "pending"} for n, each in enumerate(titles, 1)]
    for task, sha in zip(data["tasks"], ("abc123", "def456", "ghi789"), strict=False):
        task |= {"status": "completed", "commit_sha": sha}
    parts = {"red": "completed", "green": "in_progress", "refactor": "pending"}
    data["tasks"][3] |= {"status": "in_progress", "commit_sha": None, "tdd_phases": parts}
    tdd = documents.state("tdd")
    tdd["context"]["task_index"] = 4
    tdd["test_state"]["last_run"] = "2025-01-08T21:15:00Z"
    for name, each in (("dev", data), ("tdd", tdd)):
        scene.write(f"{record.TOP}/active/{paths.stem(name, FEATURE)}.json", json.dumps(each))


def with_session(root: Path, session: str) -> None:
    """Let a session be live."""
    project = Workspace.open(root)
    conversations.note_event(project, session)
    (found,) = holdfast("status", "--json", root=root).json["workflows"]
    assert found["format"] == "skills"
    assert session in conversations.live_others(project, ME)
    project.close()


def test_files_lie_where_the_document_says(scene: Scene) -> None:
    """R004-01, R004-05, R004-06, I004-1 and I004-22: the literal key's hash; git ignores it."""
    scene.dev()
    digits = hashlib.md5(f"{FEATURE}\n".encode(), usedforsecurity=False).hexdigest()[:8]
    assert scene.path() == scene.root / ".claude/workflow-state/active" / f"dev-{digits}.json"
    assert (scene.root / ".claude/workflow-state/index.json").exists()
    assert scene.state()["workflow"]["id"] == f"dev-{digits}"
    assert (scene.root / ".claude/workflow-state/.gitignore").read_text() == "*\n"

    scene.run("start", "tdd", "Add it")
    name = paths.stem("tdd", "Add it")
    assert (scene.root / ".claude/workflow-state/active" / f"{name}.json").exists()


def test_a_skill_of_a_users_own_is_a_state_machine(scene: Scene) -> None:
    """R004-02, R004-03 and R004-11: from the first phase to the last, with its own context."""
    scene.run("start", "release", "1.2", "--phase", "tag", "--phase", "announce")
    assert scene.state()["context"] == {"task_description": "1.2"}
    scene.holdfast("update", "--status", "blocked", "--error", "No key")
    assert [each["status"] for each in scene.state()["state_machine"]["phases"]] == ["blocked", "pending"]
    assert "  Blocked: No key\n" in scene.run("start", "release", "1.2", "--phase", "tag").out
    assert "No key" in scene.run("phase", "announce", code=1).err
    scene.holdfast("update", "--status", "active")
    scene.run("phase", "announce")
    assert "DEV_COMPLETE: 1.2" in scene.holdfast("done").out


def test_the_index_lists_what_is_unfinished(scene: Scene) -> None:
    """R004-07, R004-08 and I004-14: with the last activity of each, so that no folder is searched."""
    scene.dev()
    written = json.loads((scene.root / record.TOP / "index.json").read_bytes())
    (entry,) = written["active_workflows"]
    assert written["schema_version"] == "1.0"
    assert set(entry) == {"id", "skill", "feature", "started_at", "last_activity"}
    assert (entry["skill"], entry["feature"]) == ("dev", FEATURE)
    assert entry["last_activity"] == scene.state()["workflow"]["updated_at"] == written["updated_at"]


def test_a_new_dev_state_has_the_schemas_keys(scene: Scene) -> None:
    """R004-09, R004-10, R004-12, R004-14, R004-15, R004-16, R004-17 and I004-23: only the first phase began."""
    scene.run("start", "dev", FEATURE)
    data = scene.state()
    assert data["_schema"] == {"version": "1.0", "skill": "dev"}
    assert set(data["workflow"]) == {"id", "status", "created_at", "updated_at", "branch"}
    assert data["context"] == {
        "feature_file": FEATURE,
        "feature_title": "User login",
        "folder_mode": False,
        "folder_path": None,
        "folder_features": [],
    }
    phases = data["state_machine"]["phases"]
    order = ["load_feature", "create_branch", "task_execution", "verification", "pr_creation"]
    assert [each["name"] for each in phases] == order
    assert phases[3]["steps"] == list(EVENTS)
    assert "current_step" not in data["state_machine"]
    assert data["tasks"][0] == {"index": 1, "description": "Add model", "status": "pending"}
    assert list(data["checkpoints"]) == [*EVENTS, "pr_created"]
    assert {each["status"] for each in data["checkpoints"].values()} == {"pending"}
    assert data["checkpoints"]["test"] == {"status": "pending", "last_run": None, "passed": None, "count": None}


def test_a_new_tdd_state_has_the_schemas_keys(scene: Scene) -> None:
    """R004-19, R004-20, R004-21 and R004-22: a cycle of four phases with their fields, tests and modified files."""
    scene.tdd()
    data = scene.state()
    assert data["context"] == {"task_description": "Add a login", "feature_file": None, "task_index": None}
    assert data["state_machine"]["cycle_count"] == 1
    assert [each["name"] for each in data["state_machine"]["phases"]] == ["red", "green", "refactor", "commit"]
    tests: dict[str, Any] = {
        "test_command": None,
        "last_run": None,
        "last_result": None,
        "failing_tests": [],
        "passing_tests": [],
    }
    assert (data["test_state"], data["files_modified"]) == (tests, [])
    rules = machine.get(scene.root, "tdd")
    assert rules.stage("red").fields == ("test_file", "test_name", "failure_confirmed", "failure_reason")
    assert rules.stage("green").fields == ("implementation_file", "tests_passing", "last_error")


@pytest.mark.parametrize("name", ["dev", "tdd"])
def test_both_schemas_of_the_document_go_there_and_back(scene: Scene, name: str) -> None:
    """I004-2, I004-18, R004-13 and R004-42: each is read without a warning, and a change keeps all that it holds."""
    raw = documents.DEV if name == "dev" else documents.TDD
    path = scene.write(f"{record.TOP}/active/{name}-example.json", raw.decode())
    before = json.loads(raw)
    assert scene.workflow.warnings == ()
    scene.holdfast("update", "--status", "blocked", "--error", "Wait")
    scene.holdfast("update", "--status", "active")

    after = json.loads(path.read_bytes())
    assert after["history"][: len(before["history"])] == before["history"]
    for data in (before, after):
        del data["history"], data["workflow"]["updated_at"]
    assert after == before


def test_histories_have_the_documents_events(scene: Scene) -> None:
    """R004-23, R004-22 and I004-20: each thing that happens is an event of its own, and none ever goes.

    A test that fails confirms RED by its name alone.
    """
    scene.tdd()
    scene.run("tdd", "red", "--file", "t.rs", "--test-name", "test_login", "--reason", "not implemented")
    scene.run("tdd", "green", "--passing", "test_login")
    assert [each["event"] for each in scene.state()["history"]] == [
        *("workflow_started", "phase_started", "test_written", "failure_confirmed", "tests_run"),
        *("phase_completed", "phase_started", "tests_run"),
    ]
    for part in ("refactor", "commit", "red"):
        scene.run("tdd", part)
    data = scene.state()
    assert data["state_machine"]["cycle_count"] == 2
    assert set(data["state_machine"]["phases"][0]) == {"name", "status", "started_at"}
    assert "no failing test was recorded in RED" in scene.run("tdd", "green").out
    for words in (["refactor"], ["commit"], ["red", "--failing", "test_login"]):
        scene.run("tdd", *words)
    assert scene.state()["state_machine"]["phases"][0]["failure_confirmed"] is True


def test_a_compaction_is_in_the_history(scene: Scene) -> None:
    """R004-04: essential state resumes from any point, and a note of a person about it stays."""
    scene.write(f"{record.TOP}/active/dev-example.json", documents.DEV.decode())
    assert any(each["event"] == "context_compacted" for each in scene.state()["history"])
    assert "Resuming task 2/3, currently in GREEN phase" in scene.restored()


def test_a_start_says_whether_it_resumes(scene: Scene) -> None:
    """R004-24 and R004-30: an existing state is read and gone on with, whatever began it."""
    assert "🆕 Starting new workflow..." in scene.run("start", "dev", FEATURE).out
    scene.run("phase", "create_branch")
    scene.run("task", "1", "--start")
    said = scene.run("start", "dev", FEATURE, "--yes").out
    assert "📂 Resuming workflow from saved state..." in said
    assert "Current phase: task_execution\nCurrent task: 1\n" in said
    said = scene.run("start", "dev", "features/typo.md", code=1).err
    assert "there is no features/typo.md in the project" in said


def test_a_transition_is_one_write(scene: Scene) -> None:
    """R004-25, I004-10 and I004-11: phase, statuses, times and history change together."""
    scene.run("start", "dev", FEATURE)
    scene.run("phase", "create_branch")
    state = scene.state()
    machine_ = state["state_machine"]
    assert machine_["current_phase"] == "create_branch"
    assert [each["status"] for each in machine_["phases"][:3]] == ["completed", "in_progress", "pending"]
    assert {"completed_at"} <= set(machine_["phases"][0])
    assert {"started_at"} <= set(machine_["phases"][1])
    at = state["workflow"]["updated_at"]
    assert [(each["event"], each["phase"], each["at"]) for each in state["history"][-2:]] == [
        ("phase_completed", "load_feature", at),
        ("phase_started", "create_branch", at),
    ]
    before = scene.path().read_bytes()
    scene.run("phase", "create_branch")
    assert scene.path().read_bytes() == before


def test_a_completed_task_has_its_commit(scene: Scene) -> None:
    """R004-26, R004-18 and I004-12: its number is a number in the history, and from 1 to the last.

    A compaction stands among the document's other events. Of tasks, the one that is reopened is alone in progress. A
    block at a completed one leaves it completed: its work is done, and the workflow waits, even if nobody said why.
    """
    scene.dev()
    scene.run("task", "1", "--start")
    scene.run("task", "1", "--done", "--commit", "172c0b0")
    assert scene.state()["tasks"][0]["commit_sha"] == "172c0b0"
    (event,) = scene.events("task_completed")
    assert (event["task"], event["commit"]) == (1, "172c0b0")
    for number in ("0", "3"):
        assert "numbered 1 to 2" in scene.run("task", number, "--start", code=1).err
    before = scene.path().read_bytes()
    for words in (("task", "1", "--done"), ("task", "1", "--done", "--commit", "172c0b0")):
        scene.run(*words)
        assert scene.path().read_bytes() == before, words
    said = scene.run("task", "1", "--done", "--commit", "ab12cd3", code=1).err
    assert "is completed with commit 172c0b0; `holdfast skills task 1 --reopen` lets you change that" in said

    FORMAT.compacted(Workspace.open(scene.root), scene.workflow)
    names = ("workflow_started", "phase_completed", "task_completed", "context_compacted")
    found = scene.events(*names)
    assert [each["event"] for each in found] == [names[0], names[1], names[1], names[2], names[3]]
    assert found[-1] == {"at": found[-1]["at"], "event": "context_compacted", "note": "session resumed"}

    scene.run("task", "2", "--start")
    scene.run("task", "1", "--reopen")
    assert [each["status"] for each in scene.state()["tasks"]] == ["in_progress", "pending"]
    scene.run("task", "1", "--done")
    scene.holdfast("update", "--phase", "Add model", "--status", "blocked")
    assert (scene.state()["workflow"]["status"], scene.state()["tasks"][0]["status"]) == ("blocked", "completed")


def test_checkpoints_are_recorded_and_pending_ones_named(scene: Scene) -> None:
    """R004-27, R004-29 and I004-8: in their order; one that failed isn't pending, is shown, and blocks verification."""
    scene.dev("verification")
    scene.run("checkpoint", "lint", "--failed")
    point = scene.state()["checkpoints"]["lint"]
    assert (point["status"], point["passed"], bool(point["last_run"])) == ("completed", False, True)
    assert scene.run("pending").out.split() == ["test", "security_review", "code_simplifier", "pr_created"]
    assert "failed: lint" in scene.run("start", "dev", FEATURE).out
    assert "lint failed" in scene.run("phase", "pr_creation", code=1).err
    assert "lint failed" in scene.holdfast("done", "--all", code=1).err
    scene.run("checkpoint", "test", "--passed", "--set", "count=42")
    url = "https://example.org/7"
    scene.run("checkpoint", "pr", "--passed", "--set", "pr_number=7", "--set", f"pr_url={url}")
    points = scene.state()["checkpoints"]
    assert (points["test"]["passed"], points["test"]["count"]) == (True, 42)
    assert points["pr_created"] == {"status": "completed", "pr_number": 7, "pr_url": url}


def test_the_machine_refuses_what_it_does_not_allow(scene: Scene) -> None:
    """R004-15, I004-8: with what is allowed or missing; nothing changes. From verification one may go back."""
    scene.dev()
    before = scene.path().read_bytes()
    for words, said in (
        (("phase", "pr_creation"), "task_execution can't be followed by 'pr_creation'; allowed: verification"),
        (("phase", "nowhere"), "there is no phase 'nowhere'; there are load_feature, create_branch"),
        (("phase", "verification"), "tasks 1, 2 of 2 are open"),
    ):
        assert said in scene.run(*words, code=1).err, words
    for more, said in (
        (("--phase", "a", "--total", "3"), "leave out --total"),
        ((), "needs a type that is a skill, such as dev, or phases of its own"),
        (("--phase", "a", "--phase", "a"), "two phases have the same name"),
        (("--type", "tdd", "--phase", "red"), "has its own phases"),
    ):
        assert said in holdfast("start", "x", "--format", "skills", *more, root=scene.root, code=1).err, more
    assert scene.path().read_bytes() == before
    for number in ("1", "2"):
        scene.run("task", number, "--done")
    scene.run("phase", "verification")
    assert f"{', '.join(EVENTS)} pending" in scene.run("phase", "pr_creation", code=1).err
    scene.run("phase", "task_execution")
    statuses = [each["status"] for each in scene.state()["state_machine"]["phases"]]
    assert statuses == ["completed", "completed", "in_progress", "pending", "pending"]
    assert "completed_at" not in scene.state()["state_machine"]["phases"][2]


def test_the_end_moves_the_file_and_prints_the_signal(scene: Scene) -> None:
    """R004-28, R004-31 and I004-3: one copy, with its status and time, out of the index, whose time moves."""
    scene.dev("pr_creation")
    assert "pr_created pending. `holdfast skills checkpoint" in scene.holdfast("done", code=1).err
    scene.run("checkpoint", "pr", "--passed", "--set", "pr_number=7")
    assert "\nDEV_COMPLETE: user-login\n" in scene.holdfast("done").out
    done = scene.state("completed")["workflow"]
    assert (done["status"], done["completed_at"]) == ("completed", done["updated_at"])
    assert list((scene.root / record.TOP / "active").glob("*.json")) == []
    assert scene.listed() == []


def test_writes_are_atomic_and_leave_nothing(scene: Scene) -> None:
    """R004-32 and I004-15: no temporary file stays, and one that a killed writer left is swept."""
    scene.dev()
    assert [each.name for each in scene.root.rglob("*tmp*")] == []
    left = scene.write(f"{record.TOP}/active/dev-1.json.tmp.77", "{")
    old = (clock.now() - timedelta(days=2)).timestamp()
    os.utime(left, (old, old))
    assert left.name in scene.doctor("--fix")
    assert not left.exists()


SEVEN = "".join(f"- [ ] Task {number}\n" for number in range(1, 8))


def test_scenario_1_gives_the_task_back(scene: Scene) -> None:
    """R004-33: task 5 of 7, in GREEN."""
    scene.write(FEATURE, f"# Events\n\n{SEVEN}")
    scene.dev()
    for number in "1234":
        scene.run("task", number, "--done")
    scene.run("task", "5", "--start")
    scene.run("tdd", "red", "--test-name", "test_login", "--reason", "no login")
    assert "no failing test was recorded" not in scene.run("tdd", "green").out
    assert "Resuming task 5/7, currently in GREEN phase" in scene.restored()
    parts = {"red": "completed", "green": "in_progress", "refactor": "pending"}
    assert scene.state()["tasks"][4]["tdd_phases"] == parts
    scene.run("task", "5", "--done")
    scene.run("task", "6", "--start")
    assert "no failing test was recorded" in scene.run("tdd", "green").out, "what failed before was of another task"
    assert "has no part 'commit'" in scene.run("tdd", "commit", code=1).err


def test_scenario_2_names_what_is_pending(scene: Scene) -> None:
    """R004-34 and I004-7: the pull request by its short name."""
    scene.dev()
    for number in ("1", "2"):
        scene.run("task", number, "--done")
    data = scene.state()
    for name in ("code_simplifier",):
        data["checkpoints"][name]["status"] = "completed"
    scene.path().write_text(json.dumps(data))
    assert "All tasks complete. Pending: lint, test, security_review, pr" in scene.restored()


def test_scenario_3_creates_the_pull_request(scene: Scene) -> None:
    """R004-35: git is checked first."""
    scene.dev("pr_creation")
    assert "check git status; create the PR if the branch is pushed" in scene.restored()


def test_the_long_display_is_the_documents(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """R004-36, R004-37, I004-9 and I004-21: sign by sign, and what follows after yes."""
    example(scene, monkeypatch)
    assert scene.run("start", "dev", FEATURE).out.startswith(SHOWN + QUESTION)
    assert scene.run("start", "dev", FEATURE, "--yes").out.startswith(SHOWN + RESUMED)


def test_old_files_are_removed_after_24_hours_and_7_days(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """R004-38 and I004-4: 24 hours and 7 days to the second, *.json alone, and out of the index."""
    at = clock.now().replace(microsecond=0)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(at))
    scene.dev()
    beside = scene.write(f"{record.TOP}/active/notes.txt", "x")
    os.utime(beside, (0, 0))
    for age, gone in ((timedelta(days=7), 0), (timedelta(days=7, seconds=1), 1)):
        monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(at + age))
        assert len(upkeep.old_ones(FORMAT, Workspace.open(scene.root))) == gone
    scene.doctor("--fix")
    assert (scene.listed(), beside.exists()) == ([], True)


def test_a_finished_run_goes_exactly_after_a_day(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """R004-38 and I004-4: 24 hours after its end."""
    at = clock.now().replace(microsecond=0)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(at))
    scene.dev()
    scene.holdfast("done", "--all")
    for age, kept in ((timedelta(hours=24), True), (timedelta(hours=24, seconds=1), False)):
        monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(at + age))
        assert ("hours old) can go" in scene.doctor()) != kept
        scene.doctor("--fix")
        assert any((scene.root / record.TOP / "completed").glob("*.json")) == kept


def test_the_run_of_a_live_session_is_not_removed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """R004-38: however old it is."""
    at = clock.now()
    scene.run("start", "dev", FEATURE, session=OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(at + timedelta(days=8)))
    with_session(scene.root, OTHER)
    assert "can go" not in scene.doctor("--fix")
    assert scene.path().exists()


def test_everything_can_be_cleared_by_hand(scene: Scene) -> None:
    """R004-39: by the document's own commands, which leave the list as it is; `doctor` mends that."""
    scene.dev()
    scene.path().unlink()
    assert "no workflow is in progress" in scene.holdfast("status").out
    assert "is listed, but has no state file" in scene.doctor()
    scene.doctor("--fix")
    assert scene.listed() == []


def test_a_corrupted_file_is_set_aside(scene: Scene) -> None:
    """R004-40 and I004-5: with the document's warning; a fresh one begins, and the index has one entry."""
    scene.run("start", "dev", FEATURE)
    scene.path().write_text('{"workflow": {"id": "x"')
    said = scene.run("start", "dev", FEATURE).out
    assert "⚠️ Corrupted state file detected. Starting fresh." in said
    assert len(list(scene.path().parent.glob("*.corrupt-*"))) == 1
    assert len(scene.listed()) == 1
    scene.path().write_text("{")
    said = holdfast("start", FEATURE, "--format", "skills", "--type", "dev", root=scene.root)
    assert "⚠️ Corrupted state file detected. Starting fresh." in said.out + said.err


def test_a_wrong_index_is_named_and_mended(scene: Scene) -> None:
    """R004-07 and I004-14: a row without a file, one that is there twice, and a run that has none."""
    scene.dev()
    scene.tdd()
    index = scene.root / record.TOP / "index.json"
    data = json.loads(index.read_bytes())
    dev, tdd = data["active_workflows"]
    data["active_workflows"] = [dev | {"note": "first"}, dev | {"note": "second"}, {"id": "dev-00000000"}]
    index.write_text(json.dumps(data))

    said = scene.doctor()
    for each in ("dev-00000000 is listed, but", f"{dev['id']} is listed more than once", f"{tdd['id']} is not listed"):
        assert each in said, said
    scene.doctor("--fix")
    assert [each.get("note", each["id"]) for each in scene.listed()] == ["first", tdd["id"]]


def test_another_branch_is_named_with_both_ways(scene: Scene) -> None:
    """R004-41: switch, or abandon."""
    git = scene.root / ".git"
    for name in ("objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/feat/login\n")
    scene.dev()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    said = scene.run("start", "dev", FEATURE).out
    assert "⚠️ State is for branch 'feat/login' but current branch is 'main'" in said
    assert "Options: 1) Switch to feat/login  2) Abandon state and start fresh" in said
    (git / "HEAD").write_text("0123456789012345678901234567890123456789\n")
    assert "⚠️ State is for branch 'feat/login' but no branch is checked out" in scene.run("start", "dev", FEATURE).out


def test_no_task_in_progress_is_none(scene: Scene) -> None:
    """I004-6: never null."""
    words = ("start", "release", "1.2", "--phase", "tag")
    scene.run(*words)
    assert "Current task: none" in scene.run(*words, "--yes").out


def test_times_are_utc_and_offsets_are_read(scene: Scene) -> None:
    """I004-13: whole seconds with a Z."""
    scene.dev()
    assert scene.state()["workflow"]["created_at"].endswith("Z")
    data = scene.state()
    data["workflow"]["created_at"] = "2025-01-08T22:00:00+02:00"
    scene.path().write_text(json.dumps(data))
    assert "@20250108_200000" in scene.workflow.id


def test_a_second_session_hears_of_the_first(scene: Scene) -> None:
    """I004-16: both have the same file, so the one that comes later is told who works on it, and when it last did."""
    scene.run("start", "dev", FEATURE, session=OTHER)
    with_session(scene.root, OTHER)
    said = scene.holdfast("claim", FEATURE, session=ME)
    assert f"still belongs to session {OTHER[:8]}, which is live" in said.err
    assert re.search(r"Last activity: \d+ seconds? ago", scene.run("start", "dev", FEATURE, session=ME).out)


def test_a_folder_finds_the_run_of_its_feature(scene: Scene) -> None:
    """I004-17 and I004-24: other spellings of the key, too."""
    scene.dev()
    project = Workspace.open(scene.root)
    for key in ("features/auth/", f"./{FEATURE}", str(scene.root / FEATURE), "features/auth"):
        assert [each.path for each in FORMAT.asked(project, "dev", key)] == [scene.path()], key
    assert FORMAT.asked(project, "dev", "features/aut") == []
    assert "no workflow is named" in scene.run("pending", "--workflow", "nowhere", code=1).err
    scene.write("features/auth/logout.md", "# Logout\n")
    scene.run("start", "dev", "features/auth/logout.md")
    said = scene.run("start", "dev", "features/auth/", code=1).err
    assert "several workflows fit" in said and "User login" in said and "Logout" in said


def test_a_folder_begins_with_its_first_feature(scene: Scene) -> None:
    """R004-14: the context has all of them."""
    scene.run("start", "dev", "features/auth/")
    context = scene.state()["context"]
    assert context["feature_file"] == FEATURE
    assert (context["folder_mode"], context["folder_path"]) == (True, "features/auth/")
    assert context["folder_features"] == ["user-login.md"]
    (scene.root / "empty").mkdir()
    assert "holds no feature file" in scene.run("start", "dev", "empty", code=1).err


def test_abandoned_workflow_keeps_its_reason(scene: Scene) -> None:
    """I004-19: it moves away and is never restored."""
    scene.dev()
    scene.holdfast("cancel", "--reason", "Too early")
    done = scene.state("completed")
    assert (done["workflow"]["status"], done["workflow"]["abandon_reason"]) == ("abandoned", "Too early")
    assert done["history"][-1]["event"] == "workflow_abandoned"
    assert FORMAT.find(Workspace.open(scene.root)).workflows == ()
