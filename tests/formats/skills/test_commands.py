"""`holdfast skills …`: starting, resuming, moving and ending the workflow of a skill, as skills and people do."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.formats.skills import places
from holdfast.sessions.ownership import owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, statefile
from tests import doctoring
from tests.commandline import holdfast
from tests.formats.skills import documents
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path

FEATURE = "features/auth/user-login.md"
FILE = "# User login\n\n- [ ] Add User model\n- [ ] Add login method\n"
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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a feature file that has two boxes."""
    write(tmp_path, FEATURE, FILE)
    return tmp_path


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def skills(root: Path, *arguments: str, code: int = 0, session: str = "") -> Any:
    return holdfast("skills", *arguments, root=root, code=code, session=session)


def start(root: Path, session: str = "") -> Any:
    """Start /dev for the feature file, up to its tasks."""
    said = skills(root, "start", "dev", "--feature", FEATURE, session=session)
    skills(root, "phase", "create_branch", session=session)
    return said


def state(root: Path, key: str = FEATURE, skill: str = "dev", folder: str = "active") -> dict[str, Any]:
    path = root / places.TOP / folder / f"{places.stem(skill, key)}.json"
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def later(monkeypatch: pytest.MonkeyPatch, **age: float) -> None:
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(**age)))


def example(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        write(root, f"{places.TOP}/active/{places.stem(name, FEATURE)}.json", json.dumps(each))


def test_a_resumption_is_shown_as_the_document_has_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R004-36: also for the folder that the feature lies in (I004-17); where nobody can answer, it prints and ends."""
    example(root, monkeypatch)
    (root / places.TOP / "active" / f"{places.stem('tdd', FEATURE)}.json").rename(
        root / places.TOP / "active" / f"{places.stem('tdd', 'Add login method')}.json"
    )

    assert skills(root, "resume", FEATURE).out == SHOWN + QUESTION
    data = skills(root, "resume", FEATURE, "--json").json
    assert (data["current_task"], data["question"]) == (4, QUESTION.strip())


def test_a_yes_goes_on_as_the_document_has_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R004-37: the rule is 47 characters long, and the tests are those of the task's /tdd workflow."""
    example(root, monkeypatch)

    said = skills(root, "resume", places.stem("dev", FEATURE), "--yes", session=ME)

    assert said.out == SHOWN + RESUMED


def test_tests_of_another_task_are_not_shown(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The /tdd workflow of the feature may be about the task before."""
    example(root, monkeypatch)
    path = root / places.TOP / "active" / f"{places.stem('tdd', FEATURE)}.json"
    data = json.loads(path.read_bytes())
    data["context"]["task_index"] = 3
    path.write_text(json.dumps(data))

    said = skills(root, "resume", places.stem("dev", FEATURE), "--yes").out

    assert "Task 4: Add login method (GREEN phase)\n" in said
    assert "❌" not in said


def test_a_start_goes_on_with_what_there_is(root: Path) -> None:
    """R004-24, R004-30: the first one is new, the second one resumes; the document's words for each."""
    first = skills(root, "start", "dev", "--feature", FEATURE).out
    before = state(root)
    second = skills(root, "start", "dev", "--feature", FEATURE).out

    assert "🆕 Starting new workflow..." in first
    assert second.startswith("📂 Resuming workflow from saved state...\nCurrent phase: load_feature\nCurrent task: 1\n")
    assert state(root) == before
    assert before["context"]["feature_title"] == "User login"
    assert [each["description"] for each in before["tasks"]] == ["Add User model", "Add login method"]
    assert {each["status"] for each in before["tasks"]} == {"pending"}


def test_a_feature_file_that_is_not_there_is_told(root: Path) -> None:
    """The run starts all the same: the file may come later."""
    said = skills(root, "start", "dev", "--feature", "features/typo.md").out

    assert "warning: there is no features/typo.md in the project" in said
    assert state(root, "features/typo.md")["tasks"] == []


def test_no_task_is_none_and_never_null(root: Path) -> None:
    """I004-6."""
    skills(root, "start", "tdd", "--task", "Log in")

    assert "Current task: none" in skills(root, "start", "tdd", "--task", "Log in").out


@pytest.mark.parametrize("key", [f"./{FEATURE}", "features//auth/user-login.md", "features/auth", "features/auth/"])
def test_other_spellings_of_a_key_find_the_workflow(root: Path, key: str) -> None:
    """I004-17, I004-24: by the index, since the literal text has another file."""
    start(root)

    assert "Current phase: create_branch" in skills(root, "start", "dev", "--feature", key).out
    assert "Current phase: create_branch" in skills(root, "start", "dev", "--feature", str(root / FEATURE)).out
    assert len(list((root / places.TOP / "active").glob("*.json"))) == 1


def test_several_features_of_a_folder_are_listed(root: Path) -> None:
    """Nobody guesses."""
    start(root)
    write(root, "features/auth/logout.md", "# Logout\n")
    skills(root, "start", "dev", "--feature", "features/auth/logout.md")

    said = skills(root, "resume", "features/auth/", code=1).err

    assert "several workflows fit" in said and "User login" in said and "Logout" in said


def test_a_folder_begins_with_its_first_feature(root: Path) -> None:
    """R004-14: and the context has all of them."""
    skills(root, "start", "dev", "--feature", "features/auth/")

    context = state(root)["context"]
    assert context["feature_file"] == FEATURE
    assert (context["folder_mode"], context["folder_path"]) == (True, "features/auth/")
    assert context["folder_features"] == ["user-login.md"]
    (root / "empty").mkdir()
    assert "holds no feature file" in skills(root, "start", "dev", "--feature", "empty", code=1).err


def test_a_workflow_goes_from_its_first_phase_to_its_end(root: Path) -> None:
    """R004-25 to R004-31: with the document's signal at the end, one copy, and nothing listed."""
    start(root)
    for number, sha in ((1, "abc1234"), (2, "def5678")):
        skills(root, "task", str(number), "--start")
        skills(root, "task", str(number), "--done", "--commit", sha)
    assert "All tasks complete. Pending: lint, test" in skills(root, "phase", "task_execution").out
    skills(root, "phase", "verification")
    skills(root, "step", "lint")
    assert skills(root, "pending").out.split() == ["lint", "test", "security_review", "code_simplifier", "pr_created"]
    skills(root, "checkpoint", "test", "--passed", "--count", "42")
    skills(root, "checkpoint", "security_review", "--passed", "--findings", "[]")
    skills(root, "checkpoint", "code_simplifier", "--passed", "--issues", "none")
    skills(root, "checkpoint", "lint", "--failed")
    assert "failed: lint" in skills(root, "resume").out
    assert "lint failed" in skills(root, "phase", "pr_creation", code=1).err
    skills(root, "checkpoint", "lint", "--passed")
    skills(root, "phase", "pr_creation")
    assert "pr_created pending" in skills(root, "complete", code=1).err
    skills(root, "pr", "--number", "7", "--url", "https://example.org/7")
    assert skills(root, "complete").out == "DEV_COMPLETE: user-login\n"

    done = state(root, folder="completed")
    assert done["checkpoints"]["test"] | {"last_run": None} == {
        "status": "completed",
        "last_run": None,
        "passed": True,
        "count": 42,
    }
    assert done["checkpoints"]["pr_created"] == {
        "status": "completed",
        "pr_number": 7,
        "pr_url": "https://example.org/7",
    }
    assert done["checkpoints"]["security_review"]["findings"] == []
    assert "current_step" not in done["state_machine"]
    assert json.loads((root / places.TOP / "index.json").read_bytes())["active_workflows"] == []
    assert "no workflow of a skill is unfinished" in skills(root, "complete", code=1).err


def test_a_cycle_of_tests_is_recorded(root: Path) -> None:
    """R004-20, R004-21, R004-23: fields of the phases, the test state, and the document's events."""
    skills(root, "start", "tdd", "--task", "Add login")
    given = ("--test-file", "tests/a.py", "--test-name", "test_login", "--reason", "no method", "--command", "pytest")
    skills(root, "tdd", "red", *given)
    skills(root, "tdd", "green", "--file", "src/a.py", "--failing", "test_login", "--reason", "no method `login`")
    skills(root, "tdd", "green", "--passing", "test_login")
    before = state(root, "Add login", "tdd")
    assert "Nothing changed" in skills(root, "tdd", "green", "--passing", "test_login").out

    now = state(root, "Add login", "tdd")
    assert now == before
    red, green = now["state_machine"]["phases"][:2]
    assert [red[name] for name in ("test_file", "test_name", "failure_confirmed", "failure_reason")] == [
        "tests/a.py",
        "test_login",
        True,
        "no method",
    ]
    assert (green["implementation_file"], green["tests_passing"]) == ("src/a.py", True)
    assert (now["test_state"]["last_result"], now["test_state"]["passing_tests"]) == ("passed", ["test_login"])
    assert now["test_state"]["test_command"] == "pytest"
    events = [each["event"] for each in now["history"]]
    assert events[:5] == ["workflow_started", "phase_started", "test_written", "failure_confirmed", "tests_run"]
    for part in ("refactor", "commit", "red"):
        skills(root, "tdd", part)
    assert state(root, "Add login", "tdd")["state_machine"]["cycle_count"] == 2


@pytest.mark.parametrize("skill", ["dev", "tdd"])
def test_a_red_that_was_never_red_is_said(root: Path, skill: str) -> None:
    """Once, in the history too; it is no refusal."""
    if skill == "dev":
        start(root)
        skills(root, "task", "1", "--start")
    else:
        skills(root, "start", "tdd", "--feature", FEATURE)
    skills(root, "tdd", "red")

    assert "no failing test was recorded in RED" in skills(root, "tdd", "green").out

    skills(root, "tdd", "green")
    assert [each["event"] for each in state(root, skill=skill)["history"]].count("never_red") == 1


def test_a_part_of_a_task_is_recorded_for_that_task(root: Path) -> None:
    """R004-16: parts before it are completed; the next task's tests are not those of the one before."""
    start(root)
    skills(root, "task", "1", "--start")
    skills(root, "tdd", "red", "--test-name", "test_model", "--reason", "no model")
    assert "no failing test was recorded" not in skills(root, "tdd", "green").out
    task = state(root)["tasks"][0]
    assert task["tdd_phases"] == {"red": "completed", "green": "in_progress", "refactor": "pending"}

    skills(root, "task", "1", "--done")
    skills(root, "task", "2", "--start")
    assert "no failing test was recorded" in skills(root, "tdd", "green").out
    assert "❌" not in skills(root, "resume", "--yes").out
    assert "has no part 'commit'" in skills(root, "tdd", "commit", code=1).err


def test_a_blocked_workflow_is_shown_with_its_reason(root: Path) -> None:
    """I004-19: nothing moves, and an abandoned one is over."""
    start(root)
    assert "Blocked: No key" in skills(root, "block", "No key").out
    assert "  Blocked: No key\n" in skills(root, "resume").out
    assert "is blocked" in skills(root, "task", "1", "--start", code=1).err
    skills(root, "unblock")
    skills(root, "task", "1", "--start")
    skills(root, "abandon", "Superseded")

    gone = state(root, folder="completed")["workflow"]
    assert (gone["status"], gone["abandon_reason"]) == ("abandoned", "Superseded")
    assert "no workflow of a skill" in skills(root, "resume", code=1).err


def git(root: Path, head: str) -> None:
    (root / ".git").mkdir(exist_ok=True)
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir(exist_ok=True)
    (root / ".git" / "HEAD").write_text(head)


def test_resume_without_a_terminal_names_yes(root: Path) -> None:
    """On stderr, after the question that nobody can answer there."""
    skills(root, "start", "dev", "--feature", "F")

    shown = holdfast("skills", "resume", root=root)

    assert shown.out.endswith("[Y/n]\n")
    assert "holdfast skills resume --yes" in shown.err


def test_show_says_that_the_last_workflow_was_abandoned(root: Path) -> None:
    """With the path to which its file moved; none of its phases runs any more."""
    skills(root, "start", "dev", "--feature", "F")
    skills(root, "abandon")

    page = holdfast("show", root=root).out
    seen = holdfast("show", "--json", root=root).json

    assert "The last one was cancelled:" in page
    assert "cancelled, 1/5" in page
    assert "cancelled just now" in page
    assert ".claude/workflow-state/completed/dev-" in page
    assert "active/" not in page
    assert "so far" not in page
    assert "[>]" not in page
    assert "/completed/" in seen["path"]
    assert seen["history"]["ended_at"]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("ref: refs/heads/feat/a\n", ""),
        ("ref: refs/heads/other\n", "⚠️ State is for branch 'feat/a' but current branch is 'other'\n"),
        ("0123456789012345678901234567890123456789\n", "⚠️ State is for branch 'feat/a' but no branch is checked out\n"),
    ],
)
def test_another_branch_is_told_with_two_options(root: Path, head: str, said: str) -> None:
    """R004-41: on a detached head too; where there is no git, nothing is said."""
    git(root, "ref: refs/heads/feat/a\n")
    start(root)
    assert state(root)["workflow"]["branch"] == "feat/a"
    git(root, head)

    shown = skills(root, "resume").out

    options = "Options: 1) Switch to feat/a  2) Abandon state and start fresh\n"
    assert (said + options in shown) if said else ("⚠️" not in shown)


def test_a_corrupted_file_is_told_and_a_fresh_one_started(root: Path) -> None:
    """R004-40, I004-5: in the document's words; the broken one stays."""
    start(root)
    path = root / places.TOP / "active" / f"{places.stem('dev', FEATURE)}.json"
    path.write_text('{"workflow": {')

    said = skills(root, "start", "dev", "--feature", FEATURE).out

    assert "⚠️ Corrupted state file detected. Starting fresh." in said
    assert [each.read_text() for each in path.parent.glob("*.corrupt-*")] == ['{"workflow": {']
    assert state(root)["state_machine"]["current_phase"] == "load_feature"


@pytest.mark.parametrize(("age", "kept"), [({"hours": 24}, True), ({"hours": 24, "seconds": 1}, False)])
def test_a_finished_workflow_is_kept_for_a_day(
    root: Path, monkeypatch: pytest.MonkeyPatch, age: dict[str, float], kept: bool
) -> None:
    """R004-38, I004-4: to the second; a content that was removed is in the ledger."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-08T20:00:00Z")
    start(root)
    skills(root, "complete", "--all")
    later(monkeypatch, **age)
    dry = skills(root, "cleanup", "--dry-run").out

    skills(root, "cleanup")

    assert ((root / places.TOP / "completed" / f"{places.stem('dev', FEATURE)}.json").exists()) == kept
    assert ("Nothing is old enough" in dry) == kept


@pytest.mark.parametrize(("age", "kept"), [({"days": 7}, True), ({"days": 7, "seconds": 1}, False)])
def test_an_unfinished_workflow_is_kept_for_a_week(
    root: Path, monkeypatch: pytest.MonkeyPatch, age: dict[str, float], kept: bool
) -> None:
    """R004-38, I004-4: from its last activity; it leaves the index too, and stays in the archive."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-08T20:00:00Z")
    start(root)
    os.utime(write(root, f"{places.TOP}/active/notes.txt", "mine"), (0, 0))
    later(monkeypatch, **age)

    said = skills(root, "start", "tdd", "--task", "Other").out

    assert (("Removed active/" in said), (root / places.TOP / "active" / "notes.txt").exists()) == (not kept, True)
    listed = json.loads((root / places.TOP / "index.json").read_bytes())["active_workflows"]
    assert len(listed) == 1 + kept
    if not kept:
        (row,) = holdfast("list", "--archive", "--json", root=root).json
        assert row["title"] == "User login"


def test_a_live_sessions_workflow_is_never_removed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However old its file is; and who resumes it hears of that session (I004-16)."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-08T20:00:00Z")
    start(root, session=OTHER)
    later(monkeypatch, days=8)
    with_session(root, OTHER)

    assert "Nothing is old enough" in skills(root, "cleanup").out
    assert skills(root, "clear").out == "There is nothing to remove. 1 workflow of a live session stayed.\n"
    assert f"last activity 8 d ago by session {OTHER[:8]}" in skills(root, "resume", FEATURE).out


def test_a_sessions_own_workflow_goes_only_with_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its age alone is no reason: the session may be about to go on with it."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-08T20:00:00Z")
    start(root, session=ME)
    later(monkeypatch, days=8)

    assert "Nothing is old enough" in skills(root, "cleanup", session=ME).out
    assert skills(root, "clear", "--yes", session=ME).out == "Removed 1 workflow.\n"


def with_session(root: Path, session: str) -> None:
    """Let a session be live."""
    from holdfast.sessions.ownership import sessions

    project = Workspace.open(root)
    sessions.note_event(project, session)
    (found,) = holdfast("list", "--json", root=root).json
    assert found["format"] == "skills"
    assert session in sessions.live_others(project, ME)
    project.close()


def test_all_is_cleared_only_when_asked_for_twice(root: Path) -> None:
    """R004-39: where nobody can answer, with --yes; other files stay."""
    start(root)
    other = write(root, f"{places.TOP}/feature-order.json", "{}")
    assert "--yes removes 1 workflow\n" in skills(root, "clear", code=1).err

    assert skills(root, "clear", "--yes").out == "Removed 1 workflow.\n"
    assert skills(root, "clear").out == "There is nothing to remove.\n"
    assert other.exists()


def test_what_is_wrong_is_named_and_mended(root: Path) -> None:
    """The index, a finished file among the active ones, and the boxes of the feature file, which nobody changes."""
    start(root)
    ticked = write(root, FEATURE, FILE.replace("- [ ]", "- [X]", 1)).read_text()
    assert "1/2 boxes ticked, the state has 0/2 tasks completed" in skills(root, "check").out
    done = documents.state("dev")
    done["workflow"]["status"] = "completed"
    write(root, f"{places.TOP}/active/dev-00000000.json", json.dumps(done))
    said = skills(root, "check").out
    assert "dev-00000000 is completed, but lies in active/" in said
    assert "not listed" not in said
    (root / places.TOP / "index.json").unlink()
    assert "index.json is missing" in skills(root, "check").out

    said = skills(root, "repair").out

    assert "dev-00000000 is moved to completed/" in said
    assert "repaired" not in skills(root, "repair").out
    assert (root / FEATURE).read_text() == ticked
    write(root, f"{places.TOP}/active/dev-11111111.json", "{")
    assert [each["serious"] for each in skills(root, "check", "--json", code=1).json].count(True) == 1
    (root / places.TOP / "active" / "dev-22222222.json").mkdir()
    assert "or move it away" in skills(root, "check", code=1).out
    assert "dev-11111111" in holdfast("doctor", root=root, code=1).out


@pytest.mark.parametrize(("words", "code"), [(("skills", "repair"), 0), (("doctor", "--fix"), 1)])
def test_a_broken_file_gets_its_last_content_back(root: Path, words: tuple[str, ...], code: int) -> None:
    """As its readers are told; what was broken stays beside it, and the index keeps its one entry."""
    start(root)
    (path,) = (root / places.TOP / "active").glob("*.json")
    raw = path.read_bytes()
    path.write_bytes(raw[:400])
    said = skills(root, "check", code=1).out
    assert "its last good content is used → holdfast skills repair" in said

    assert "last good content" in holdfast(*words, root=root, code=code).out  # no hook is registered here

    assert path.read_bytes() == raw
    assert [each.read_bytes() for each in path.parent.glob("*.corrupt-*")] == [raw[:400]]
    assert "not listed" not in skills(root, "check").out


def test_files_that_are_not_named_after_their_key_are_named_with_each_other(root: Path) -> None:
    """Three of the same feature, one of them by another spelling; another skill's is no match."""
    for name, feature in (("dev-a", FEATURE), ("dev-b", f"./{FEATURE}"), ("tdd-c", FEATURE)):
        data = documents.state("dev")
        data["_schema"]["skill"] = name[:3]
        data["workflow"]["id"] = name
        data["context"]["feature_file"] = feature
        write(root, f"{places.TOP}/active/{name}.json", json.dumps(data))

    said = skills(root, "check").out

    assert f'dev-a is not named after its key "{FEATURE}"; dev-b has it too →' in said
    assert f'dev-b is not named after its key "./{FEATURE}"; dev-a has it too →' in said
    assert f'tdd-c is not named after its key "{FEATURE}" →' in said
    right = root / places.TOP / "active" / f"{places.stem('dev', f'./{FEATURE}')}.json"
    (right.parent / "dev-b.json").rename(right)
    said = skills(root, "check").out
    assert f"; {right.stem} has it too" in said
    assert f"{right.stem} is not named" not in said


@pytest.mark.parametrize("command", ["check", "repair"])
def test_each_file_is_read_once(root: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """However many there are, and whatever their names: also for the index."""
    for name in ("dev-a", "dev-b", "tdd-c"):
        write(root, f"{places.TOP}/active/{name}.json", json.dumps(documents.state(name[:3])))
    seen = Counter[str]()
    read = statefile.read
    monkeypatch.setattr(statefile, "read", lambda project, path: seen.update([path.stem]) or read(project, path))

    said = skills(root, command).out

    assert "index.json is missing" in said
    assert seen == {"dev-a": 1, "dev-b": 1, "tdd-c": 1}


def test_what_a_killed_writer_left_is_told_once(root: Path) -> None:
    """By `check` and by `doctor`, which removes it; another program's is this format's own matter."""
    folder = root / places.TOP / "active"
    start(root)
    ours = write(root, f"{places.TOP}/active/.dev-1.json.4194305.0123456789ab.tmp", "{")
    theirs = write(root, f"{places.TOP}/active/dev-1.json.tmp.77", "{")
    young = write(root, f"{places.TOP}/active/dev-2.json.tmp.77", "{")
    for path in (ours, theirs):
        os.utime(path, (0, 0))

    assert [name in skills(root, "check").out for name in (ours.name, theirs.name, young.name)] == [True, True, False]
    told = [each for name in ("states", "skills") for each in doctoring.examine(name, root) if "killed" in each.text]
    assert [(each.check, each.remedy) for each in told] == [
        ("states", "holdfast doctor --fix"),
        ("skills", "holdfast doctor --fix"),
    ]
    assert [path.name in each.text for path, each in zip((ours, theirs), told, strict=True)] == [True, True]
    assert doctoring.mend("states", root) == [f"removed {ours}"]
    doctoring.mend("skills", root)
    assert [path.name for path in folder.iterdir() if ".tmp" in path.name] == [young.name]


@pytest.mark.parametrize("key", ['Add "login"', "a\\b", "two\nlines", "Grüße 📂", "x" * 5000, "$(true)"])
def test_any_text_is_a_key(root: Path, key: str) -> None:
    """Quotes, backslashes and line breaks gave the original invalid JSON."""
    skills(root, "start", "tdd", "--task", key)

    assert state(root, key, "tdd")["context"]["task_description"] == key
    assert skills(root, "resume", key, "--json").json["current_phase"] == "red"


def test_what_is_given_wrongly_is_refused_with_what_to_do(root: Path) -> None:
    """And nothing is written."""
    given: tuple[tuple[tuple[str, ...], str], ...] = (
        (("start", "release", "--task", "x"), "there are dev, tdd"),
        (("start", "../x", "--task", "x"), "isn't a valid skill name"),
        (("start", "dev"), "--feature FILE or --task TEXT"),
        (("start", "dev", "--feature", " "), "--feature FILE or --task TEXT"),
        (("start", "tdd", "--task", "x", "--item", "y"), "has no phase for tasks"),
        (("start", "dev", "--task", "x", "--phase", "y"), "has its own phases"),
        (("task", "1", "--start"), "`holdfast skills start SKILL --feature FILE` starts one"),
    )
    for arguments, said in given:
        ended = holdfast("skills", *arguments, root=root, code=2 if "--feature FILE or" in said else 1)
        assert said in ended.err, arguments
    assert not (root / places.TOP / "active").exists()
    start(root)
    given = (
        (("task", "0", "--done"), "tasks are numbered 1 to 2"),
        (("task", "1", "--done", "--commit", "a b"), "isn't a commit id"),
        (("task", "1"), "--start, --done or --reopen"),
        (("complete",), "`holdfast skills complete --all` completes what is open, too"),
        (("checkpoint", "test", "--passed", "--count", "-1"), "-1 is not in the range x>=0"),
        (("checkpoint", "lint"), "--passed or --failed"),
        (("checkpoint", "nope", "--passed"), "there are lint, test"),
        (("step", "lint"), "has no step 'lint'; it has no steps"),
        (("phase", "create_branch", "--set", "x=1"), "has no field 'x'"),
        (("pr",), "--number N, --url URL"),
        (("block", " "), "REASON is empty"),
    )
    for arguments, said in given:
        usage = said in (
            "isn't a commit id",
            "--start, --done or --reopen",
            "--passed or --failed",
            "-1 is not in the range x>=0",
            "--number N, --url URL",
        )
        assert said in holdfast("skills", *arguments, root=root, code=2 if usage else 1).err, arguments


def test_a_skill_without_a_machine_has_the_phases_it_is_given(root: Path) -> None:
    """R004-02: any skill."""
    skills(root, "start", "release", "--task", "2.0", "--phase", "tag", "--phase", "announce")
    skills(root, "phase", "announce")
    skills(root, "phase", "announce", "--done")

    assert skills(root, "complete").out == "DEV_COMPLETE: 2.0\n"


def test_a_projects_machine_is_trusted_by_a_person(root: Path) -> None:
    """It is shown first; without a terminal, --yes says that it was read."""
    text = '[[phases]]\nname = "tag"\n'
    write(root, ".claude/machines/release.toml", text)
    assert "is not trusted" in skills(root, "start", "release", "--task", "2.0", code=1).err
    assert "not used: it is not trusted" in skills(root, "machines").out
    assert "--yes" in skills(root, "trust", "release", code=1).err

    assert text in skills(root, "trust", "release", "--yes").out

    skills(root, "start", "release", "--task", "2.0")
    assert [each["used"] for each in skills(root, "machines", "--json").json] == [True] * 3
    assert "has no machine '../x'" in skills(root, "trust", "../x", "--yes", code=1).err
    assert definitions.is_trusted(root, root / ".claude" / "machines" / "release.toml")


def test_a_machines_file_name_forges_no_row(root: Path) -> None:
    """A line break in it is a space."""
    write(root, ".claude/machines/x\ndev        red → green.toml", "")

    assert [line.split()[0] for line in skills(root, "machines").out.splitlines()] == ["x", "dev", "tdd", "Your"]


def test_a_refusal_names_the_command_that_helps(root: Path) -> None:
    """For a task that has another commit, and for a phase that waits for the pull request."""
    start(root)
    skills(root, "phase", "task_execution")
    for number in ("1", "2"):
        skills(root, "task", number, "--done", "--commit", "172c0b0")
    said = skills(root, "task", "1", "--done", "--commit", "ab12cd3", code=1).err
    assert "is completed with commit 172c0b0; `holdfast skills task 1 --reopen` lets you change that" in said
    skills(root, "task", "1", "--reopen")
    skills(root, "task", "1", "--done", "--commit", "ab12cd3")
    assert state(root)["tasks"][0]["commit_sha"] == "ab12cd3"
    skills(root, "phase", "verification")
    for name in ("lint", "test", "security_review", "code_simplifier"):
        skills(root, "checkpoint", name, "--passed")
    skills(root, "phase", "pr_creation")
    assert (
        "pr_created pending. `holdfast skills pr --number N` records the pull request"
        in skills(root, "complete", code=1).err
    )


def test_a_pull_request_is_done_before_its_phase_begins(root: Path) -> None:
    """It passed nothing, and the phase is still to come."""
    start(root)
    skills(root, "pr", "--number", "7")

    assert "    ⏳ PR creation (done: pr)\n" in skills(root, "resume").out


def test_what_came_of_each_checkpoint_is_said_once(root: Path) -> None:
    """One whose two fields contradict each other has failed."""
    start(root)
    path = root / places.TOP / "active" / f"{places.stem('dev', FEATURE)}.json"
    data = state(root)
    data["checkpoints"] |= {"lint": {"status": "passed", "passed": False}, "test": {"status": "passed"}}
    path.write_text(json.dumps(data))

    said = skills(root, "resume").out

    assert "Verification (passed: test; failed: lint; pending: security_review, code_simplifier)" in said


def test_a_session_owns_what_it_starts_and_moves(root: Path) -> None:
    """Not what another live session owns."""
    start(root, session=ME)
    project = Workspace.open(root)
    found = holdfast("list", "--json", root=root).json[0]

    assert found["format"] == "skills"
    from holdfast.formats.skills import adapter

    assert owners.owner(project, adapter.find(project).workflows[0]) == ME
    project.close()
