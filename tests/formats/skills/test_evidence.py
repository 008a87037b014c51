"""Evidence, not diligence: what a transcript shows of a skill's workflow is recorded, and completes nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.formats.skills import display, shell, testoutput
from holdfast.workflow import definitions
from tests.commandline import holdfast
from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

FEATURE = "features/login.md"
FILE = "# User login\n\n- [ ] Add model\n- [ ] Add login\n"
FAILED = "Exit code 1\nE   AttributeError: no login\nFAILED tests/test_login.py::test_login - Attr\n1 failed in 0.1s"


class Story:
    """A session's transcript, told call by call."""

    def __init__(self, project: HoldfastProject) -> None:
        self.project, self.root = project, project.root
        self.path = project.root.parent / "transcript.jsonl"
        self.entries: list[dict[str, Any]] = []

    def call(self, name: str, given: dict[str, Any], output: str = "", **more: Any) -> None:
        """Add a call of a tool with its result, a second after the last one."""
        number, failed = len(self.entries), more.pop("failed", False)
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": failed}
        at = clock.stamp(clock.now() + timedelta(seconds=1 + number))
        for kind, block in (("assistant", use), ("user", result)):
            entry = {"type": kind, "uuid": f"{kind}{number}", "timestamp": at, "message": {"content": [block]}}
            self.entries.append(entry | more)
        self.path.write_text("".join(json.dumps(each) + "\n" for each in self.entries))

    def ran(self, command: str, output: str = "", *, failed: bool = False, **more: Any) -> None:
        self.call("Bash", {"command": command}, output, failed=failed, **more)

    def told(self, event: str = "UserPromptSubmit", **changes: Any) -> str:
        """Fire an event of the session; return what its model hears."""
        said = self.project.fire(event, transcript_path=str(self.path), **changes)
        assert said.faults == []
        return said.context if said.stdout.startswith("{") else said.stdout

    @property
    def state(self) -> dict[str, Any]:
        (path,) = (self.root / ".claude/workflow-state/active").glob("*.json")
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def events(self, name: str) -> list[dict[str, Any]]:
        return [each for each in self.state["history"] if each["event"] == name]

    def run(self, *words: str) -> None:
        holdfast("skills", *words, root=self.root, session=self.project.session)


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    made = holdfast_project({FEATURE: FILE})
    commit(made.root, "Begin")
    return made


@pytest.fixture
def dev(project: HoldfastProject) -> Story:
    """A run of /dev in GREEN of its first task."""
    told = Story(project)
    told.run("start", "dev", "--feature", FEATURE)
    told.run("phase", "create_branch")
    told.run("task", "1", "--start")
    told.run("tdd", "red")
    return told


@pytest.fixture
def tdd(project: HoldfastProject) -> Story:
    """A run of /tdd in RED."""
    told = Story(project)
    told.run("start", "tdd", "--task", "Add a login")
    return told


def commit(root: Path, subject: str) -> str:
    """Commit something; return its sha as git prints it."""
    git = ("git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c")
    if not (root / ".git").exists():
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    return subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_commit_proposes_a_completion_and_completes_nothing(dev: Story) -> None:
    """Told once with the command; marked as inferred; after it the task stays in progress."""
    sha = commit(dev.root, "Add the model")
    dev.ran('git add . && git commit -m "Add the model"', f"[main {sha}] Add the model\n 1 file changed")

    said = dev.told()
    assert f"`holdfast skills task 1 --done --commit {sha}`" in said
    assert "Add the model" in said
    assert dev.told() == ""
    (event,) = dev.events("commit_seen")
    assert (event["task"], event["commit"], event["inferred"]) == (1, sha, True)
    assert dev.state["tasks"][0]["status"] == "in_progress"
    dev.told("PreCompact", recorded="PreCompact-auto")
    assert f"`holdfast skills task 1 --done --commit {sha}`" in dev.told(
        "SessionStart", recorded="SessionStart-compact"
    )

    holdfast("skills", "task", "1", "--done", "--commit", sha, root=dev.root, session=dev.project.session)
    dev.run("task", "2", "--start")
    assert "--commit" not in dev.told()
    assert display.proposals(dev.state) == [], "what is completed needs no proposal"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git commit -m x", "[main abcdef1] Not there"),
        ("git commit -m x", "[main {tree}] No commit"),
        ("echo git commit", "[main {sha}] Add"),
        ("git log", "[main {sha}] Add"),
    ],
)
def test_what_git_does_not_know_or_nobody_committed_is_no_evidence(dev: Story, command: str, output: str) -> None:
    """A sha that is printed is not enough: git's own files must have it, as a commit."""
    sha = commit(dev.root, "Add")
    tree = subprocess.run(
        ["git", "-C", str(dev.root), "rev-parse", "HEAD^{tree}"], check=True, capture_output=True, text=True
    ).stdout[:9]
    dev.ran(command, output.format(sha=sha, tree=tree))

    assert dev.told() == ""
    assert dev.events("commit_seen") == []


def test_nothing_of_a_subagent_moves_it(dev: Story) -> None:
    """Neither its entries in the transcript nor its own events."""
    sha = commit(dev.root, "Add")
    dev.ran("git commit -m x", f"[main {sha}] Add", isSidechain=True)
    dev.ran("pytest", FAILED, failed=True, isSidechain=True)

    assert dev.told() == ""
    assert dev.told("Stop", recorded="Stop") == ""
    assert [each["event"] for each in dev.state["history"]].count("commit_seen") == 0
    assert "test_state" not in dev.state


def test_a_red_that_was_red_makes_green_sound(tdd: Story) -> None:
    """Failing and passing tests become `test_state` and the phases' own fields, each inferred."""
    tdd.ran("python -m pytest tests -q 2>&1 | tail -5", FAILED, failed=True)
    tdd.told("Stop", recorded="Stop")
    assert tdd.state["test_state"] | {"last_run": ""} == {
        "test_command": "python -m pytest tests -q",
        "last_run": "",
        "last_result": "failed",
        "failing_tests": ["test_login"],
        "passing_tests": [],
    }
    (red, *_) = tdd.state["state_machine"]["phases"]
    assert (red["failure_confirmed"], red["failure_reason"]) == (True, "AttributeError: no login")
    assert tdd.events("failure_confirmed")[0]["inferred"] is True

    tdd.run("tdd", "green")
    tdd.ran("pytest", "1 passed in 0.1s")
    assert "No failing test was recorded in RED" not in tdd.told()
    assert tdd.state["state_machine"]["phases"][1]["tests_passing"] is True
    assert [each["result"] for each in tdd.events("tests_run")] == ["failed", "passed"]
    assert tdd.state["state_machine"]["current_phase"] == "green"


@pytest.mark.parametrize("kind", ["tdd", "dev"])
def test_a_red_that_was_never_red_is_said(kind: str, request: pytest.FixtureRequest) -> None:
    """Once, and marked as inferred; a second pass after a real failure is none."""
    told: Story = request.getfixturevalue(kind)
    told.run("tdd", "green")
    before = len(told.events("never_red"))
    told.ran("cargo test", "test auth::test_login ... ok\ntest result: ok. 1 passed; 0 failed")

    assert "No failing test was recorded in RED" in told.told()
    assert told.told() == ""
    assert len(told.events("never_red")) == max(before, 1)


def test_results_become_checkpoints_while_their_phase_is_current(dev: Story) -> None:
    """A lint run before that proves nothing of the whole; one that failed blocks verification."""
    dev.ran("ruff check .", "All checks passed!")
    dev.told()
    assert dev.state["checkpoints"]["lint"]["status"] == "pending"
    for number in ("1", "2"):
        dev.run("task", number, "--done")
    dev.run("phase", "verification")

    dev.ran("cd src && ruff check .", "E501", failed=False)
    dev.ran(".venv/bin/pytest -q", "Exit code 1\n3 passed, 1 failed in 2s", failed=True)
    dev.ran("make lint | tail -1", "error")
    dev.told()

    points = dev.state["checkpoints"]
    assert (points["lint"]["passed"], points["test"]["passed"], points["test"]["count"]) == (True, False, 4)
    assert [each["inferred"] for each in dev.events("checkpoint")] == [True, True]
    assert "test_state" not in dev.state, "that is of a task"
    assert holdfast("skills", "phase", "pr_creation", root=dev.root, session=dev.project.session, code=1).code == 1


def test_edits_are_counted_by_file_and_phase(tdd: Story) -> None:
    """Lines added, once for each edit, of files in the project alone, and of no agent's.

    Also if the transcript has entries twice.
    """
    patch = {"structuredPatch": [{"lines": ["+a", "+b", " c", "-d"]}]}
    tdd.call("Write", {"file_path": f"{tdd.root}/tests/test_a.py", "content": "x\n"}, isSidechain=True)
    tdd.call("Write", {"file_path": f"{tdd.root}/tests/test_a.py", "content": "a\nb\nc\n"})
    tdd.call("Edit", {"file_path": f"{tdd.root}/tests/test_a.py", "new_string": "x"}, toolUseResult=patch)
    tdd.call("Write", {"file_path": "/etc/passwd", "content": "x"})
    tdd.call("Write", {"file_path": f"{tdd.root}/.claude/x.json", "content": "x"})
    tdd.call("Edit", {"file_path": f"{tdd.root}/b.py", "new_string": "x"}, "refused", failed=True)
    tdd.path.write_text(tdd.path.read_text() * 2)
    tdd.told()
    tdd.told()
    assert tdd.state["files_modified"] == [{"path": "tests/test_a.py", "phase": "red", "lines_added": 5}]

    tdd.run("tdd", "green")
    tdd.call("Write", {"file_path": f"{tdd.root}/a.py", "content": "a\n"})
    tdd.told()
    assert tdd.state["files_modified"][1:] == [{"path": "a.py", "phase": "green", "lines_added": 1}]


@pytest.mark.parametrize(("ticked", "total"), [(17, 17), (18, 23), (0, 13)])
def test_ticks_that_differ_are_told_and_not_applied(
    holdfast_project: Callable[..., HoldfastProject], ticked: int, total: int
) -> None:
    """The document's three cases: all ticked and none completed, some, and none ticked while one is completed."""
    boxes = "".join(f"- [ ] Task {number}\n" for number in range(total))
    story = Story(holdfast_project({FEATURE: f"# Events\n\n{boxes}"}))
    story.run("start", "dev", "--feature", FEATURE)
    story.run("phase", "create_branch")
    story.run("task", "1", "--start")
    story.run("task", "1", "--done")
    (story.root / FEATURE).write_text(f"# Events\n\n{boxes.replace('[ ]', '[x]', ticked)}")

    said = story.told()
    assert f"The feature file has {ticked}/{total} boxes ticked, the state has 1/{total} tasks completed" in said
    assert story.told() == ""
    assert sum(each["status"] == "completed" for each in story.state["tasks"]) == 1
    assert (story.root / FEATURE).read_text().count("[x]") == ticked


def test_what_was_before_it_or_belongs_to_another_session_is_no_evidence(dev: Story) -> None:
    """A transcript's earlier work is not this workflow's, and only the session that owns it is asked."""
    sha = commit(dev.root, "Add")
    dev.ran("git commit -m x", f"[main {sha}] Add")
    for each in dev.entries:
        each["timestamp"] = "2020-01-01T00:00:00Z"
    dev.path.write_text("".join(json.dumps(each) + "\n" for each in dev.entries))
    assert dev.told() == ""

    dev.ran("git commit -m x", f"[main {sha}] Add")
    assert dev.told(session_id="22222222-2222-4222-8222-222222222222") == ""
    assert dev.events("commit_seen") == []


def test_the_handler_for_who_wants_it_at_once(dev: Story) -> None:
    """It is off, and answers the very command when it is on."""
    sha = commit(dev.root, "Add the model")
    response = {"stdout": f"[main {sha}] Add the model", "stderr": "", "interrupted": False, "isImage": False}
    given = {"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}, "tool_response": response}
    assert dev.told("PostToolUse", recorded="PostToolUse-Bash", **given) == ""

    (dev.root / ".claude/holdfast.toml").write_text('[handlers]\non = ["take_evidence"]\n')
    dev.project.trust()

    assert f"--commit {sha}" in dev.told("PostToolUse", recorded="PostToolUse-Bash", **given)


LINES = [
    ("pytest", False, [True]),
    ("pytest", True, [False]),
    ("cd a && pytest -q", True, [None, False]),
    ("a && b", False, [True, True]),
    ("a && b", True, [None, None]),
    ("a; b", False, [None, True]),
    ("a | b", False, [None, True]),
    ("a || b", False, [None, True]),
    ("a || b", True, [None, None]),
    ("X=1 Y=2 a 2>&1 >out.txt", False, [True]),
    ("a &", False, [None]),
    ("a 'open", False, []),
    ("", False, []),
    ("git commit -m 'x; y && z'", False, [True]),
    ("a\nb", False, [None, True]),
]


@each_row("line, failed, outcomes", LINES)
def test_a_line_proves_only_what_its_end_tells(line: str, failed: bool, outcomes: list[bool | None]) -> None:
    """Of several commands, a failure or a pipe leaves open which one it was."""
    assert [each.succeeded for each in shell.called(line, failed=failed)] == outcomes


@each_row(
    "pattern, command, fitting",
    [
        ("pytest *", "pytest", True),
        ("pytest *", ".venv/bin/pytest -q x", True),
        ("pytest", "pytest -q", False),
        ("python* -m pytest *", "python3 -m pytest a", True),
        ("python* -m pytest *", "python3 -m mypy a", False),
        ("make lint", "make lint", True),
        ("make lint", "make test", False),
        ("*", "anything", False),
        ("", "x", False),
        ("a(b)+", "abb", False),
    ],
)
def test_a_pattern_is_globs_over_arguments(pattern: str, command: str, *, fitting: bool) -> None:
    """No regular expression; the program without its folder."""
    assert shell.fits(pattern, command.split()) == fitting


@each_row(
    "text, failing, ran, passed",
    [
        ("FAILED tests/a.py::TestA::test_b - x\n== 1 failed, 2 passed in 0.1s ==", ("test_b",), 3, False),
        ("== 4 passed in 0.1s ==", (), 4, True),
        ("test auth::login ... FAILED\ntest result: FAILED. 0 passed; 1 failed", ("login",), 1, False),
        ("--- FAIL: TestLogin (0.00s)\nFAIL", ("TestLogin",), None, False),
        ("  ✕ logs in (3 ms)\nTests: 1 failed, 1 total", ("logs in",), 1, False),
        ("nothing to see", (), None, None),
    ],
)
def test_runners_say_what_failed(text: str, failing: tuple[str, ...], ran: int | None, *, passed: bool | None) -> None:
    """pytest, cargo, go and jest."""
    found = testoutput.read(text)

    assert (found.failing, found.ran, found.passed) == (failing, ran, passed)


def test_a_machine_of_a_users_own_needs_no_code(project: HoldfastProject) -> None:
    """The example: it starts, refuses what it forbids, takes its own commands for checkpoints, comes back, and ends."""
    folder = definitions.user_folder("machines")
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "machines" / "release.toml", folder)
    told = Story(project)
    told.run("start", "release", "--task", "1.2")
    said = holdfast("skills", "phase", "announce", root=told.root, session=project.session, code=1).err
    assert "prepare can't be followed by 'announce'; allowed: tag" in said

    told.ran("make test", "12 passed in 2s")
    told.told()
    told.run("phase", "tag")
    told.ran("git tag -s v1.2 -m v1.2")
    told.told("PreCompact", recorded="PreCompact-auto")
    project.fire("SubagentStop", "SubagentStop-compaction")
    assert "sign the tag" in told.told("SessionStart", recorded="SessionStart-compact")
    assert told.state["checkpoints"]["test"]["count"] == 12
    assert told.state["checkpoints"]["signed"]["passed"] is True
    told.run("phase", "announce")
    assert "DEV_COMPLETE: 1.2" in holdfast("skills", "complete", root=told.root, session=project.session).out
