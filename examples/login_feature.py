"""A run of the `skills` format from its start to its end: `/dev` with five tasks, and `/tdd` through two cycles.

    python examples/login_feature.py

The conversation is compacted at each of the places that the format's document names: in a task, before verification and
before the pull request. In between the branch is switched, a second session asks for the same feature, an agent gets a
task, and files are broken. Every event is a recorded payload of the real client, sent through the registered command
into a throw-away project. Exit code 1, with what was not shown, when a promise is not kept.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from holdfast.commands.demo import narrate
from holdfast.testkit import stage
from holdfast.testkit.acts import Panel, Shown, promise
from holdfast.testkit.reply import parsed
from holdfast.testkit.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from holdfast.testkit.reply import Heard

ACTIVE = ".claude/workflow-state/active"
COMPLETED = ".claude/workflow-state/completed"
FEATURE = "features/login.md"
TEXT = """# User login

- [ ] Add the user model
- [ ] Hash passwords
- [ ] Add the login endpoint
- [ ] Limit failed attempts
- [ ] Log out
"""
BRANCH = "feature/login"
TASK = "Reject empty passwords"
SECOND = "5ec0d5e5-0000-4000-8000-000000000002"
CHECKS = ("lint", "test", "security_review", "code_simplifier")


def main() -> None:
    """Tell the story; exit code 1 if a promise is not kept."""
    with stage.opened() as throwaway:
        narrate(throwaway, story(throwaway), "Five tasks and two cycles: completed, with four compactions in between.")


def story(project: Stage) -> Iterator[Shown]:
    """Do both runs, a step at a time, and check at each what document 004 promises."""
    project.install()
    yield start(project)
    yield first_tasks(project)
    yield compact_in_a_task(project)
    yield delegate(project)
    yield switch_branch(project)
    yield join(project)
    yield break_file(project)
    yield finish_tasks(project)
    yield compact_before_verification(project)
    yield verify(project)
    yield compact_before_the_request(project)
    yield complete(project)
    yield start_cycles(project)
    yield first_cycle(project)
    yield second_cycle(project)


def start(project: Stage) -> Shown:
    """A run begins with the boxes of the feature file as its tasks, on the branch that is checked out."""
    git(project, "init", "-q")
    git(project, "checkout", "-q", "-b", BRANCH)
    project.write(FEATURE, TEXT)
    commit(project, "Describe the login")
    heard = project.fire("UserPromptSubmit", prompt=f"/dev {FEATURE}")
    promise(heard.context == "", "there is nothing to resume yet")
    printed = project.holdfast("skills", "start", "dev", FEATURE)
    promise([each["status"] for each in state(project)["tasks"]] == ["pending"] * 5, "each box is a task")
    promise(state(project)["workflow"]["branch"] == BRANCH, "the branch is recorded")
    return Shown(
        "A feature is begun with /dev",
        f"UserPromptSubmit (/dev {FEATURE}), holdfast skills start dev {FEATURE}",
        [project.file(FEATURE), Panel("what it prints", printed)],
        "The boxes of the feature file become the tasks.",
    )


def first_tasks(project: Stage) -> Shown:
    """Two tasks are completed, each with its commit; the third is in GREEN."""
    project.holdfast("skills", "phase", "create_branch")
    for number in (1, 2):
        project.holdfast("skills", "task", str(number), "--start")
        project.holdfast("skills", "task", str(number), "--done", "--commit", commit(project, f"Do task {number}"))
    project.holdfast("skills", "task", "3", "--start")
    project.holdfast("skills", "tdd", "red", "--test-name", "test_login", "--failing", "test_login")
    printed = project.holdfast("skills", "tdd", "green")
    promise(all(each["commit_sha"] for each in state(project)["tasks"][:2]), "both tasks have their commit")
    promise(state(project)["tasks"][2]["tdd_phases"]["green"] == "in_progress", "the third task is in GREEN")
    return Shown(
        "Two tasks are completed, the third is begun",
        "holdfast skills task N --start, task N --done --commit SHA, tdd red, tdd green",
        [Panel("what the last one prints", printed)],
        "Each change is one write: statuses, times, history and the index move together.",
    )


def compact_in_a_task(project: Stage) -> Shown:
    """Scenario 1 of the document."""
    _, after = project.compact("auto")
    promise("Resuming task 3/5, currently in GREEN phase" in after.context, "the task and its phase come back")
    promise(events(project)[-1] == "context_compacted", "the history tells of the compaction")
    return Shown(
        "The conversation is compacted in a task",
        "PreCompact (auto), SessionStart (compact)",
        [told(after)],
        "Scenario 1: the model goes on with task 3, in its GREEN phase. The history says that it was compacted.",
    )


def delegate(project: Stage) -> Shown:
    """An agent gets the next task, with the part of the cycle that it is in."""
    project.holdfast("skills", "task", "3", "--done", "--commit", commit(project, "Do task 3"))
    project.holdfast("skills", "task", "4", "--start")
    project.holdfast("skills", "tdd", "red")
    other = project.agent("general-purpose", "Look around", "Look around.")
    other.about_to()
    promise("Limit failed attempts" not in other.started().context, "an agent for something else gets no task")
    other.stopped("Done.")
    other.returned("Done.")
    promise(state(project)["tasks"][3]["status"] == "in_progress", "and moves none")
    agent = project.agent("general-purpose", "Task 4", "Do it.")
    agent.about_to()
    briefed = agent.started()
    for words in ("Task 4/5: Limit failed attempts", "Phase: RED (write a failing test)"):
        promise(words in briefed.context, f"the agent is told {words!r}")
    agent.stopped("Done.")
    agent.returned("Done.")
    tasks = [each["status"] for each in state(project)["tasks"]]
    promise(tasks == ["completed"] * 4 + ["in_progress"], "its end completes the task and begins the next")
    return Shown(
        "An agent works on task 4",
        "PreToolUse (Agent), SubagentStart, SubagentStop and PostToolUse (Agent), twice",
        [Panel("what the agent is told", briefed.context)],
        "Only an agent that was launched for a task gets it and moves it.",
    )


def switch_branch(project: Stage) -> Shown:
    """Another branch is checked out, so both ways are named."""
    git(project, "checkout", "-q", "-b", "hotfix")
    printed = project.holdfast("skills", "start", "dev", FEATURE)
    promise(f"State is for branch '{BRANCH}' but current branch is 'hotfix'" in printed, "both branches are named")
    promise(f"1) Switch to {BRANCH}  2) Abandon state and start fresh" in printed, "both ways are named")
    git(project, "checkout", "-q", BRANCH)
    again = project.holdfast("skills", "start", "dev", FEATURE)
    promise("Options:" not in again, "back on the branch nothing is said of it")
    return Shown(
        "Another branch is checked out",
        f"git checkout -b hotfix, holdfast skills start dev {FEATURE}",
        [Panel("what it prints", printed)],
        "The run belongs to its branch. Nothing is switched or abandoned by itself.",
    )


def join(project: Stage) -> Shown:
    """A second session asks for the same feature."""
    second = Stage(project.place, project.root, session=SECOND, process=str(os.getppid()))
    second.fire("SessionStart-startup")
    heard = second.fire("UserPromptSubmit", prompt="/dev features")
    message = str(parsed(heard.stdout).get("systemMessage", ""))
    promise("User login" in message, "the folder finds the run of its feature")
    promise(f"session {project.session[:8]}, which is live" in message, "the first session is named")
    refused = second.holdfast("skills", "task", "5", "--done", code=1)
    promise("belongs to another live session" in refused, "the second session can't move it")
    second.fire("SessionEnd")
    return Shown(
        "A second session asks for the same feature",
        "SessionStart, UserPromptSubmit (/dev features), holdfast skills task 5 --done",
        [Panel("what the user is told", message), Panel("what task prints", refused)],
        "It hears whose run it is. What a live session owns is not moved by another one.",
    )


def break_file(project: Stage) -> Shown:
    """Somebody breaks the state file, and the last content that was kept is put back."""
    path, before = file(project), state(project)
    path.write_bytes(path.read_bytes()[:500])
    shown = project.holdfast("doctor", code=1)
    project.holdfast("doctor", "--fix")
    promise(state(project) == before, "the content is as it was")
    promise(bool(list(path.parent.glob("*.corrupt-*"))), "what was broken is kept")
    return Shown(
        "The state file is broken and put back",
        "holdfast doctor, holdfast doctor --fix",
        [Panel("what doctor prints", shown)],
        "Holdfast keeps each content that it sees. What was broken stays beside the file.",
    )


def finish_tasks(project: Stage) -> Shown:
    """The last task is completed, and verification is not passed by."""
    project.holdfast("skills", "task", "5", "--done", "--commit", commit(project, "Do task 5"))
    refused = project.holdfast("skills", "phase", "pr_creation", code=1)
    promise("allowed: verification" in refused, "the allowed phase is named")
    return Shown(
        "The last task is completed",
        "holdfast skills task 5 --done --commit SHA, phase pr_creation",
        [Panel("what phase prints", refused)],
        "A transition that the machine does not allow is refused, and the allowed ones are named.",
    )


def compact_before_verification(project: Stage) -> Shown:
    """Scenario 2 of the document."""
    _, after = project.compact("manual")
    wanted = "All tasks complete. Pending: lint, test, security_review, code_simplifier, pr"
    promise(wanted in after.context, "what is pending comes back")
    return Shown(
        "The conversation is compacted before verification",
        "PreCompact (manual), SessionStart (compact)",
        [told(after)],
        "Scenario 2: all tasks are complete, and the checkpoints that are pending are named in their order.",
    )


def verify(project: Stage) -> Shown:
    """A checkpoint that failed blocks verification until it passes."""
    project.holdfast("skills", "phase", "verification", "--step", "lint")
    for name in CHECKS:
        project.holdfast("skills", "checkpoint", name, "--failed" if name == "test" else "--passed")
    refused = project.holdfast("skills", "phase", "pr_creation", code=1)
    promise("test" in refused and "failed" in refused, "the failed checkpoint is named")
    project.holdfast("skills", "checkpoint", "test", "--passed", "--set", "count=42")
    project.holdfast("skills", "phase", "pr_creation")
    return Shown(
        "Verification: a failed test blocks, a passed one does not",
        "holdfast skills phase verification --step lint, checkpoint NAME --passed, checkpoint test --failed",
        [Panel("what phase pr_creation prints first", refused)],
        "A checkpoint that ran and failed is not pending. It blocks until it passes.",
    )


def compact_before_the_request(project: Stage) -> Shown:
    """Scenario 3 of the document."""
    _, after = project.compact("auto")
    promise("check git status; create the PR if the branch is pushed" in after.context, "what to do comes back")
    return Shown(
        "The conversation is compacted before the pull request",
        "PreCompact (auto), SessionStart (compact)",
        [told(after)],
        "Scenario 3: git is checked first, and the pull request is created if the branch is pushed.",
    )


def complete(project: Stage) -> Shown:
    """The pull request is recorded, and the run is completed."""
    name = file(project).name
    project.holdfast("skills", "checkpoint", "pr", "--passed", "--set", "pr_number=7")
    printed = project.holdfast("done")
    promise("DEV_COMPLETE: login" in printed.splitlines(), "the document's signal is printed")
    promise(not list((project.root / ACTIVE).glob("*.json")), "the run is among the unfinished no more")
    promise((project.root / COMPLETED / name).is_file(), "its one copy lies among the completed")
    promise(index(project) == [], "and it is not listed")
    return Shown(
        "The pull request is recorded, and the run is completed",
        "holdfast skills checkpoint pr --passed --set pr_number=7, done",
        [Panel("what done prints", printed)],
        "The file moves to completed/ and stays there for a day.",
    )


def start_cycles(project: Stage) -> Shown:
    """A file is broken before anything was kept of it, so /tdd begins afresh."""
    first = project.holdfast("skills", "start", "tdd", TASK, "--set", "task_index=1")
    path = file(project)
    path.write_bytes(b"")
    printed = project.holdfast("skills", "start", "tdd", TASK, "--set", "task_index=1")
    promise("Corrupted state file detected. Starting fresh." in printed, "the document's warning is printed")
    promise(index(project) == [path.stem], "the index has one entry")
    return Shown(
        "/tdd is begun, and its file is emptied",
        f'holdfast skills start tdd "{TASK}", twice',
        [Panel("what the first one prints", first), Panel("what the second one prints", printed)],
        "Starting over a broken file sets that aside and begins afresh.",
    )


def first_cycle(project: Stage) -> Shown:
    """A failing test, a compaction while it is made to pass, a cleanup and a commit."""
    why = ("--reason", "an empty password is accepted", "--failing", "test_empty")
    project.holdfast("skills", "tdd", "red", "--file", "test_login.py", "--test-name", "test_empty", *why)
    project.holdfast("skills", "tdd", "green")
    _, after = project.compact("manual")
    promise("make tests pass" in after.context, "the model goes on in GREEN")
    project.holdfast("skills", "tdd", "green", "--passing", "test_empty")
    project.holdfast("skills", "tdd", "refactor")
    project.holdfast("skills", "tdd", "commit")
    promise(state(project)["state_machine"]["cycle_count"] == 1, "it is the first cycle")
    return Shown(
        "The first cycle, compacted in GREEN",
        "holdfast skills tdd red, green, refactor and commit; PreCompact (manual), SessionStart (compact)",
        [told(after)],
        "Test, reason, failing and passing tests are recorded. The part of the cycle comes back.",
    )


def second_cycle(project: Stage) -> Shown:
    """The next cycle counts, a test that was never red is said so, and the run is completed."""
    project.holdfast("skills", "tdd", "red", "--test-name", "test_blank")
    promise(state(project)["state_machine"]["cycle_count"] == 2, "it is the second cycle")
    doubt = project.holdfast("skills", "tdd", "green", "--passing", "test_blank")
    promise("no failing test was recorded in RED" in doubt, "a test that was never red is said so")
    project.holdfast("skills", "tdd", "refactor")
    project.holdfast("skills", "tdd", "commit")
    printed = project.holdfast("done")
    promise(f"DEV_COMPLETE: {TASK}" in printed, "the run is completed")
    return Shown(
        "The second cycle, and the end",
        "holdfast skills tdd red, green, refactor and commit; done",
        [Panel("what green prints", doubt), Panel("what done prints", printed)],
        "A new red begins the next cycle. A test that nobody saw fail is said so; it is no refusal.",
    )


def file(project: Stage) -> Path:
    """Return the state file of the unfinished run."""
    found = list((project.root / ACTIVE).glob("*.json"))
    promise(len(found) == 1, "there is one unfinished run")
    return found[0]


def state(project: Stage) -> dict[str, Any]:
    """Return the state of the unfinished run."""
    found: dict[str, Any] = json.loads(file(project).read_text("utf-8"))
    return found


def events(project: Stage) -> list[str]:
    """Return the names of the events in the run's history."""
    return [each["event"] for each in state(project)["history"]]


def index(project: Stage) -> list[str]:
    """Return the ids in the list of unfinished runs."""
    listed: Mapping[str, Any] = json.loads((project.root / ACTIVE).parent.joinpath("index.json").read_text("utf-8"))
    return [each["id"] for each in listed["active_workflows"]]


def git(project: Stage, *words: str) -> str:
    """Run git in the project, as a person does, and return what it printed."""
    named = ("git", "-c", "user.name=You", "-c", "user.email=you@example.com", *words)
    done = subprocess.run(named, cwd=project.root, env=project.environ, capture_output=True, text=True, check=False)
    promise(done.returncode == 0, f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def commit(project: Stage, subject: str) -> str:
    """Make a commit and return its short id."""
    git(project, "commit", "-q", "--allow-empty", "-m", subject)
    return git(project, "rev-parse", "--short", "HEAD")


def told(heard: Heard) -> Panel:
    """Return what reached the model."""
    return Panel("what the model is told", heard.context)


if __name__ == "__main__":
    main()
