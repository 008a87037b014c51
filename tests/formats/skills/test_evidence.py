"""Evidence, not diligence: what a transcript shows of a skill's workflow is recorded, and completes nothing."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.clients.client import Work
from holdfast.formats.skills import results
from holdfast.formats.skills.machine import TEST_COMMANDS
from holdfast.workflow import definitions
from tests.commandline import holdfast
from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

FEATURE = "features/login.md"
FILE = "# User login\n\n- [ ] Add model\n- [ ] Add login\n"
FAILED = "Exit code 1\nE   AttributeError: no login\nFAILED tests/test_login.py::test_login - Attr\n1 failed in 0.1s"


class Story:
    """A session's transcript, told call by call."""

    def __init__(self, project: HoldfastProject) -> None:
        self.project, self.root = project, project.root
        self.path = project.root.parent / "results.jsonl"
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
    return holdfast_project({FEATURE: FILE})


@pytest.fixture
def dev(project: HoldfastProject) -> Story:
    """A run of /dev in GREEN of its first task."""
    told = Story(project)
    told.run("start", "dev", FEATURE)
    told.run("phase", "create_branch")
    told.run("task", "1", "--start")
    told.run("tdd", "red")
    return told


@pytest.fixture
def tdd(project: HoldfastProject) -> Story:
    """A run of /tdd in RED."""
    told = Story(project)
    told.run("start", "tdd", "Add a login")
    return told


def test_nothing_of_a_subagent_moves_it(dev: Story) -> None:
    """Neither its entries in the transcript nor its own events."""
    dev.ran("pytest", FAILED, failed=True, isSidechain=True)

    assert dev.told() == ""
    assert dev.told("Stop", recorded="Stop") == ""
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


def test_what_was_before_it_or_belongs_to_another_session_is_no_evidence(tdd: Story) -> None:
    """A transcript's earlier work is not this workflow's, and only the session that owns it is asked."""
    tdd.ran("pytest", FAILED, failed=True)
    for each in tdd.entries:
        each["timestamp"] = "2020-01-01T00:00:00Z"
    tdd.path.write_text("".join(json.dumps(each) + "\n" for each in tdd.entries))
    assert tdd.told() == ""

    tdd.ran("pytest", FAILED, failed=True)
    assert tdd.told(session_id="22222222-2222-4222-8222-222222222222") == ""
    assert tdd.events("tests_run") == []


@each_row(
    "line, output, failed, passed",
    [
        ("pytest", "", False, True),
        ("pytest", "", True, False),
        ("pytest", "3 passed, 1 failed in 2s", True, False),
        ("cd a && pytest -q", "", True, False),
        ("ruff check . && pytest", "", True, None),
        ("ruff check . && pytest", "1 passed", False, True),
        ("pytest | tail -1", "", False, None),
        ("X=1 pytest 2>&1 >out.txt", "", False, True),
        ("pytest 'open", "1 passed", False, None),
        ("git commit -m 'x; pytest && z'", "1 failed", False, None),
        ("echo pytest", "1 failed", False, None),
        ("ls\npytest", "2 passed", False, True),
        ("", "1 passed", False, None),
    ],
)
def test_a_line_shows_only_what_is_certain(line: str, output: str, *, failed: bool, passed: bool | None) -> None:
    """The runner's summary counts; without one, of several commands nobody knows which one failed."""
    found = results.tests_of(Work("", line, output, failed), TEST_COMMANDS)
    assert (None if found is None else found.passed) is passed


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
    assert results.fits(pattern, command.split()) == fitting


@each_row(
    "text, failing, reason",
    [
        (
            "E   no login\nFAILED tests/a.py::TestA::test_b - x\n== 1 failed, 2 passed in 0.1s ==",
            ("test_b",),
            "no login",
        ),
        ("test auth::login ... FAILED\ntest result: FAILED. 0 passed; 1 failed", ("login",), "the tests failed"),
        ("--- FAIL: TestLogin (0.00s)\nFAIL", ("TestLogin",), "the tests failed"),
        ("  ✕ logs in (3 ms)\nTests: 1 failed, 1 total", ("logs in",), "the tests failed"),
        ("== 4 passed in 0.1s ==", (), ""),
    ],
)
def test_runners_say_what_failed(text: str, failing: tuple[str, ...], reason: str) -> None:
    """pytest, cargo, go and jest."""
    found = results.tests_of(Work("", "pytest", text, bool(failing)), TEST_COMMANDS)
    assert found is not None
    assert (found.failing, found.reason) == (failing, reason)


def test_a_machine_of_a_users_own_needs_no_code(project: HoldfastProject) -> None:
    """The example: it starts, refuses what it forbids, waits for its checkpoints, comes back, and ends."""
    folder = definitions.user_folder("machines")
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "machines" / "release.toml", folder)
    told = Story(project)
    told.run("start", "release", "1.2")
    said = holdfast("skills", "phase", "announce", root=told.root, session=project.session, code=1).err
    assert "prepare can't be followed by 'announce'; allowed: tag" in said

    assert "test pending" in holdfast("skills", "phase", "tag", root=told.root, session=project.session, code=1).err
    told.run("checkpoint", "test", "--passed")
    told.run("phase", "tag")
    told.run("checkpoint", "signed", "--passed")
    told.told("PreCompact", recorded="PreCompact-auto")
    project.fire("SubagentStop", "SubagentStop-compaction")
    assert "sign the tag" in told.told("SessionStart", recorded="SessionStart-compact")
    told.run("phase", "announce")
    assert "DEV_COMPLETE: 1.2" in holdfast("done", root=told.root, session=project.session).out
