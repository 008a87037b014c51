"""The examples run from start to end, as a newcomer runs them, and report anything that doesn't happen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest

from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NAMES = [path.stem for path in EXAMPLES]
WIDE = 80  # columns


def run(script: Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script with this interpreter, its output in a pipe (80 columns to it); its home must not be used."""
    environ = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(cwd / "nobody"), **variables}
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1500,
        check=False,
    )


def told(name: str, folder: Path) -> str:
    """Run an example and return what it prints; it ends with 0, complains of nothing and leaves nothing behind."""
    (folder / "tmp").mkdir()
    done = run(ROOT / "examples" / f"{name}.py", folder, TMPDIR=str(folder / "tmp"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert list(folder.rglob("*")) == [folder / "tmp"], "the throw-away project and home are removed"
    return done.stdout


def reads_well(text: str) -> None:
    """Assert that no line is wider than 80 columns, every step says what was sent, and nobody has to read JSON."""
    lines = text.splitlines()
    assert [line for line in lines if columns(line) > WIDE] == []
    numbers = [int(found[1]) for line in lines if (found := re.match(r"(\d+)\. ", line))]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 8
    assert sum(line.startswith("> ") for line in lines) == len(numbers)
    assert not re.search(r'"\w+": ["\[{\d]', text)


def columns(line: str) -> int:
    """Return how many columns of a terminal a line takes."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)


def unboxed(text: str) -> str:
    """Return what was printed as one line, without borders."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def step(text: str, title: str) -> str:
    """Return one step of a story, by a part of its title, as one line."""
    (found,) = [each for each in re.split(r"(?m)^(?=\d+\. )", text) if title in each.split("\n", 1)[0]]
    return unboxed(found)


def test_there_are_the_examples_that_the_readme_lists() -> None:
    """Each script is named where a newcomer looks."""
    readme = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert re.findall(r"`python examples/(\w+)\.py`", readme) == NAMES
    assert NAMES == ["calculator", "login_feature", "page_orchestration", "release_train", "user_auth"]


@pytest.mark.slow
def test_the_calculator_is_created_tested_and_verified(tmp_path: Path) -> None:
    """R000-41, test 2 of document 000: deliverables recorded, context passed, completed; the view after each step.

    A list that contradicts is corrected, a compaction loses nothing, a failed phase is tried again.
    """
    text = told("calculator", tmp_path)
    reads_well(text)
    steps = re.split(r"(?m)^(?=\d+\. )", text)[1:]
    assert all("workflow_state_system.md" in each for each in steps[:-1])
    started, finished = step(text, "orchestrator starts"), step(text, "subagent returns")
    assert "Status: pending | Current Phase: none" in started
    assert "- [ ] Phase 0: Create calculator module - [ ] Phase 1: Write and run tests" in started
    made = "- [x] Phase 0: Create calculator module → calculator.py, add, subtract, multiply, divide functions"
    assert f"Status: active | Current Phase: Write and run tests ## Phases {made}" in finished
    assert "Write and run tests Context: calculator.py lies at the project root and has 4 functions" in finished
    completed = step(text, "All tests pass")
    assert "Status: completed | Current Phase: none" in completed
    assert "- [x] Phase 1: Write and run tests → test_calculator.py" in completed
    assert "completed Create calculator module in_progress Write and run tests pending Tidy up" in step(text, "ticks")
    compacted = step(text, "compacted")
    assert "✅ Workflow restored: Create calculator.py with tests and verify they pass, Phase 2/2" in compacted
    assert "[x] phase 1/2 Create calculator module - delivered: calculator.py" in compacted
    failed, again = step(text, "dies"), step(text, "once more")
    assert "Phase 1: Write and run tests ✗ failed" in failed
    assert "API Error: 529" in failed
    assert "Status: active | Current Phase: Write and run tests" in again
    assert "✗" not in again
    assert "2 attempts" in step(text, "Looking back")


@pytest.mark.slow
def test_the_pages_survive_three_compactions(tmp_path: Path) -> None:
    """R001-15, R001-17: each compaction gives back where the work was and all that was learnt until then."""
    text = told("page_orchestration", tmp_path)
    reads_well(text)
    first, second, third = (step(text, f"Compaction {each}") for each in ("1: after", "2", "3"))
    assert "Phase: 4/10 - SEO Generation" in first
    assert "- @CLAUDE/PageOrchestration.md - @CLAUDE/Sitemap/case-studies.md" in first
    assert "Phase: 6/10 - Pictures" in second
    assert "Phase: 9/10 - Sitemap" in third
    assert "Explore (" not in second + third, "the client itself names agents that run"
    assert "the names of all five people have to be spelled… (see the full version)" in third
    for guidance in (second, third):
        for fact in ("@CLAUDE/Seo.md", "at most 60 characters", "address of a published page", "plan_number: 12"):
            assert fact in guidance
        assert "every case study links to two others" in guidance
    assert "cannot be told apart when it is printed." in step(text, "sidecar has all")
    assert "The workflow is complete." in step(text, "tenth phase")
    assert "no workflow is in progress" in step(text, "One more compaction")


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a hundred processes one after another
def test_a_feature_and_two_cycles_are_driven_to_their_end(tmp_path: Path) -> None:
    """R004-33 to R004-35, R004-40, R004-41, I004-16: each scenario of the document, by both kinds of compaction."""
    text = told("login_feature", tmp_path)
    reads_well(text)
    for title, line in {
        "compacted in a task": "Resuming task 3/5, currently in GREEN phase",
        "before verification": "All tasks complete. Pending: lint, test, security_review, code_simplifier, pr",
        "before the pull request": "check git status; create the PR if the branch is pushed",
        "first cycle": "go on with green: make tests pass",
    }.items():
        assert line in step(text, title)
    kinds = [each for each in ("auto", "manual") if f"PreCompact ({each})" in text]
    assert kinds == ["auto", "manual"]
    assert "Phase: RED (write a failing test)" in step(text, "agent works on task 4")
    switched = step(text, "Another branch")
    assert "State is for branch 'feature/login' but current branch is 'hotfix'" in switched
    assert "Options: 1) Switch to feature/login 2) Abandon state and start fresh" in switched
    assert "which is live" in step(text, "second session")
    assert "holdfast doctor --fix" in step(text, "broken and put back")
    assert "Corrupted state file detected. Starting fresh." in step(text, "file is emptied")
    assert "DEV_COMPLETE: login" in step(text, "run is completed")
    ended = step(text, "second cycle")
    assert "no failing test was recorded in RED" in ended and "DEV_COMPLETE: Reject empty passwords" in ended


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a hundred processes one after another
def test_a_run_of_four_phases_is_driven_to_its_end(tmp_path: Path) -> None:
    """R003-22: two agents at once, a re-plan, a bound, kill -9, a broken file; nothing is lost."""
    text = told("release_train", tmp_path)
    reads_well(text)
    assert "Read pyproject.toml with tomllib" in step(text, "in parallel")
    assert "Task 2.2 is skipped." in step(text, "plan is changed during the run")
    held, compacted = step(text, "next launch is held"), step(text, "conversation is compacted")
    assert "Cost: $10.40 of $10" in held and "bounds --cost" in held
    assert "of phase 2/4 Pipeline" in compacted and "2.3 Let the pipeline upload (in_progress)" in compacted
    assert "of its phase" in step(text, "restored from the newest checkpoint")
    assert "holdfast done --all" in step(text, "last two phases")
    assert "The workflow is complete." in step(text, "outer review passes")


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a hundred processes one after another
def test_two_sessions_are_driven_to_their_end(tmp_path: Path) -> None:
    """R002-33, R002-41, R002-46: a medium and a complex session, their tasks validated at every step."""
    text = told("user_auth", tmp_path)
    reads_well(text)
    broken, handed = step(text, "breaks three rules"), step(text, "in parallel")
    for rule in ("rule 4: statuses", "rule 6: focus paths", "rule 8: dependencies"):
        assert rule in broken
    assert "Also ready, to work on in parallel: task IMPL-1.3" in handed
    assert "Tokens are signed with ES256" in handed
    compacted, failed = step(text, "in the background"), step(text, "API error")
    assert "IMPL-1.2 " in compacted and "Next step: go on" in compacted
    assert 'Task IMPL-1.3 "Build the logout" is completed' in compacted
    assert "IMPL-1.4" in failed and "blocked" in failed
    assert "- [x] **IMPL-2**: Update the README" in step(text, "session is completed")
    assert "is completed" in step(text, "comes late")
    assert "Tasks: 8/17 completed" in step(text, "Wave after wave")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "handler", "missing"),
    [
        ("calculator", "sync_todos", "workflow, current phase and phases are ('active', 'phase_0', "),
        ("page_orchestration", "save_workflow", "there is one state file in untracked/workflow-state/"),
    ],
)
def test_what_does_not_happen_is_not_shown(name: str, handler: str, missing: str, tmp_path: Path) -> None:
    """In a copy of the project that lacks a handler the example ends with 1 and says what was missing."""
    for folder in ("src", "handlers", "hooks", "skills", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "handlers" / f"{handler}.py").unlink()
    done = run(tmp_path / "examples" / f"{name}.py", tmp_path, PYTHONPATH=str(tmp_path / "src"))
    assert done.returncode == 1, done.stderr
    assert f"not shown: {missing}" in unboxed(done.stdout)
    assert "completed." not in done.stdout.splitlines()[-1]
