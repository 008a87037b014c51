"""A run of the `orchestrator` format from its start to its end: a task document with four phases.

    python examples/release_train.py

Two agents work in parallel, a supervisor has the plan changed, a bound holds a launch, commands are killed in the
middle, the state is broken and restored from a checkpoint. Every event is a recorded payload of the real client, sent
through the registered command into a throw-away project. Exit code 1, with what was not shown, when a promise is not
kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.commands.demo import narrate
from holdfast.testkit import stage
from holdfast.testkit.acts import Panel, Shown, promise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.testkit.reply import Heard
    from holdfast.testkit.stage import Stage

STATE = ".claude/agent-state.json"
DOCUMENT = "docs/release-train.md"
EXECUTOR = "task-executor"
PLAN = """# Tasks: Release train

## Safety Bounds
- Max cost: $10
- Max time: 48h

### Phase 1: Foundation

#### Task 1.1: Read the version from one place
**Success Criteria**:
- [ ] one file names the version

#### Task 1.2: Write the changelog's parser

### Phase 2: Pipeline

#### Task 2.1: Build in a clean environment

#### Task 2.2: Upload by hand

### Phase 3: Checks

#### Task 3.1: Try the wheel in an empty home

### Phase 4: Launch

#### Task 4.1: Publish a test release
"""
LESSON = "Read pyproject.toml with tomllib"
KILLS = (0.5, 0.7, 0.8, 0.9, 0.95)  # shares of the time a command takes after which one is killed


def main() -> None:
    """Tell the story; exit code 1 if a promise is not kept."""
    with stage.opened() as throwaway:
        narrate(throwaway, story(throwaway), "A run of four phases and six tasks: completed and put away.")


def story(project: Stage) -> Iterator[Shown]:
    """Do the run, a step at a time, and check at each what document 003 promises."""
    project.install()
    yield start(project)
    yield approve(project)
    yield in_parallel(project)
    yield supervise(project)
    yield replan(project)
    yield hold(project)
    yield extend(project)
    yield compact(project)
    yield kill(project)
    yield restore(project)
    yield finish(project)
    yield review(project)
    yield put_away(project)


def start(project: Stage) -> Shown:
    """A run begins in the planning state, with the document's bounds."""
    project.write(DOCUMENT, PLAN)
    printed = project.holdfast("start", DOCUMENT, "--format", "orchestrator")
    promise(state(project)["orchestrator"]["status"] == "planning", "the run is planning")
    promise(state(project)["orchestrator"]["task_doc"] == str(project.root / DOCUMENT), "the document's path is whole")
    promise(state(project)["safety_bounds"]["max_cost"] == "$10", "the bounds are the document's")
    return Shown(
        "A run of a task document begins",
        f"holdfast start {DOCUMENT} --format orchestrator",
        [project.file(DOCUMENT, 14), Panel("what it prints", printed)],
        "The headings name phases and tasks. Nothing has started yet: the plan has to be approved.",
    )


def approve(project: Stage) -> Shown:
    """The plan is approved; a lesson from an earlier run is put in."""
    project.holdfast("orchestrator", "approve")
    project.holdfast("orchestrator", "learn", "pattern", LESSON, "--task", "1.1")
    promise(state(project)["orchestrator"]["status"] == "executing", "the run is executing")
    promise(LESSON in (project.root / ".claude/learnings.jsonl").read_text("utf-8"), "the lesson is in the log")
    return Shown(
        "The plan is approved",
        "holdfast orchestrator approve, holdfast orchestrator learn pattern …",
        [],
        "From now on the run is executing. What is learnt stands in the state and in a log of its own.",
    )


def in_parallel(project: Stage) -> Shown:
    """Two agents do the first phase side by side; the last one ends it."""
    first, second = (project.agent(EXECUTOR, f"Task 1.{number}", "Do it.", background=True) for number in (1, 2))
    for agent in (first, second):
        agent.about_to()
        agent.launched()
    briefed = first.started()
    promise(LESSON in briefed.context and "one file names the version" in briefed.context, "an agent gets its brief")
    promise(listed(project, "active_agents") == ["1.1", "1.2"], "both are at work")
    promise(listed(project, "pending_tasks") == ["2.1", "2.2", "3.1", "4.1"], "and pending no more")
    for agent in (second, first):
        agent.stopped("Done.")
        heard = agent.notified(words="Done.")
    promise(listed(project, "completed_tasks") == ["1.2", "1.1"], "both are completed, in the order of their ends")
    promise([each["name"] for each in state(project)["milestones"]] == ["Foundation"], "the phase has its milestone")
    promise((project.root / ".claude/checkpoint-001.json").is_file(), "and there is a checkpoint")
    return Shown(
        "Two agents work on the first phase in parallel",
        "PreToolUse and PostToolUse (Agent) twice, SubagentStart, SubagentStop and UserPromptSubmit twice",
        [Panel("what the first agent is told", briefed.context), told(heard)],
        "Each agent is told its task, the success criteria and the lessons. The last task of a phase writes the "
        "milestone and a checkpoint.",
    )


def supervise(project: Stage) -> Shown:
    """A supervisor is listed while it looks, and its conflict is counted and listed."""
    agent = project.agent("supervisor", "Check task 1.2", "Check it.")
    agent.about_to()
    promise([each["type"] for each in state(project)["active_agents"]] == ["supervisor"], "the supervisor is listed")
    agent.stopped("RE_PLAN")
    agent.returned("RE_PLAN")
    promise(state(project)["active_agents"] == [], "and no longer once it has ended")
    conflict = ("--conflict", "security", "--severity", "high", "--action", "re_plan")
    said = ("--resolution", "No upload by hand: the pipeline uploads")
    printed = project.holdfast("orchestrator", "supervise", "post_task", "--task", "1.2", *conflict, *said)
    counted = state(project)["supervisor"]
    promise((counted["re_plans_triggered"], len(counted["interventions"])) == (1, 1), "it is counted and listed")
    promise(len(state(project)["checkpoints"]) == 2, "a checkpoint was written before")
    return Shown(
        "The supervisor wants another plan",
        "PreToolUse, SubagentStop and PostToolUse (Agent), holdfast orchestrator supervise post_task …",
        [Panel("what it prints", printed)],
        "A supervisor starts no task. Before its intervention is written down, there is a checkpoint.",
    )


def replan(project: Stage) -> Shown:
    """The plan is changed in the middle of the run: a task is skipped, and another is added to the state."""
    project.agent(EXECUTOR, "Task 2.1", "Do it.").about_to()
    printed = project.holdfast("orchestrator", "task", "2.2", "--skip")
    promise(listed(project, "pending_tasks") == ["3.1", "4.1"], "the task is left out")
    data = state(project)
    data["pending_tasks"].append({"phase": 1, "task": "2.3", "name": "Let the pipeline upload"})
    project.write(STATE, json.dumps(data, indent=2))
    shown = project.holdfast("next")
    promise("2.1" in shown, "the run goes on where it was")
    return Shown(
        "The plan is changed during the run",
        "holdfast orchestrator task 2.2 --skip, an edit of the state, holdfast next",
        [Panel("what it prints", printed)],
        "A task that isn't needed any more is skipped. A new one is added to the pending tasks.",
    )


def hold(project: Stage) -> Shown:
    """The cost reaches its bound, and no further agent is launched."""
    project.place.write(".config/holdfast/holdfast.toml", 'hold = "deny"\n', project.home)
    project.holdfast("orchestrator", "task", "2.1", "--cost", "10.40")
    finished = project.holdfast("update", "--phase", "2.1", "--status", "completed")
    promise("Cost at 75% of limit" in finished and "Cost at 100% of limit" in finished, "both warnings are given")
    heard = project.agent(EXECUTOR, "Task 2.3", "Do it.").about_to()
    promise("permissionDecision" in heard.stdout and "deny" in heard.stdout, "the launch is refused")
    promise(listed(project, "active_agents") == [], "and no task has started")
    reason = json.loads(heard.stdout)["hookSpecificOutput"]["permissionDecisionReason"]
    return Shown(
        "A bound is exceeded, and the next launch is held",
        "holdfast orchestrator task 2.1 --cost 10.40, holdfast update --phase 2.1 …, PreToolUse (Agent)",
        [Panel("what update prints", finished), Panel("why the launch is refused", reason)],
        'With hold = "deny" in holdfast.toml no agent is launched once a bound is used up.',
    )


def extend(project: Stage) -> Shown:
    """A person extends the bound; the same launch goes ahead."""
    printed = project.holdfast("orchestrator", "bounds", "--cost", "20")
    agent = project.agent(EXECUTOR, "Task 2.3", "Do it.")
    agent.about_to()
    promise(listed(project, "active_agents") == ["2.3"], "the launch goes ahead")
    promise(not any("100%" in each for each in state(project)["safety_bounds"]["warnings"]), "the warning is gone")
    return Shown(
        "The bound is extended",
        "holdfast orchestrator bounds --cost 20, PreToolUse (Agent)",
        [Panel("what it prints", printed)],
        "Warnings that hold no more are taken back, and come again when the new bound is near.",
    )


def compact(project: Stage) -> Shown:
    """The conversation is compacted while an agent is at work."""
    _, after = project.compact("auto")
    facts = (
        "Release train",
        "2/4 Pipeline",
        "2.3 Let the pipeline upload (in_progress)",
        "$10.40 of $20",
        LESSON,
        "re_plan",
    )
    for fact in facts:
        promise(fact in after.context, f"{fact!r} comes back")
    return Shown(
        "The conversation is compacted",
        "PreCompact (auto), SessionStart (compact)",
        [told(after)],
        "Phase, task, agents, bounds, lessons and the last intervention come back.",
    )


def kill(project: Stage) -> Shown:
    """Commands are killed in the middle; the file is whole each time."""
    began = time.monotonic()
    project.holdfast("orchestrator", "learn", "insight", "Not killed")
    whole_s = time.monotonic() - began
    for share in KILLS:
        words = ["orchestrator", "learn", "insight", f"Killed at {share:.0%}"]
        started = subprocess.Popen(
            [sys.executable, "-m", "holdfast", *words],
            env=project.environ | {"PYTHONPATH": str(paths.package_root())},
            cwd=project.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(whole_s * share)
        started.kill()
        started.wait()
        promise(listed(project, "active_agents") == ["2.3"], "the state can be read after a kill")
    project.holdfast("orchestrator", "task", "2.3", "--cost", "0.30")
    project.holdfast("update", "--phase", "2.3", "--status", "completed")
    promise(state(project)["safety_bounds"]["cost_so_far"] == "$10.70", "and the next command goes on")
    return Shown(
        "Commands are killed with kill -9",
        "holdfast orchestrator learn …, killed after half of its time and later",
        [],
        "A change is whole or not there at all. The next command goes on.",
    )


def restore(project: Stage) -> Shown:
    """Somebody breaks the file, and it goes back to the newest checkpoint."""
    path = project.root / STATE
    path.write_bytes(path.read_bytes()[:700])
    printed = project.holdfast("orchestrator", "checkpoint", "--restore")
    promise(listed(project, "completed_tasks") == ["1.2", "1.1", "2.1", "2.3"], "the tasks are there again")
    promise(bool(list(path.parent.glob("agent-state.json.corrupt-*"))), "what was broken is kept")
    return Shown(
        "The file is broken and restored from the newest checkpoint",
        "holdfast orchestrator checkpoint --restore",
        [Panel("what it prints", printed)],
        "The checkpoint after the last task of phase 2 is a whole copy. What was broken is kept beside the file.",
    )


def finish(project: Stage) -> Shown:
    """The last two phases; no agent's end completes the run."""
    for task in ("3.1", "4.1"):
        agent = project.agent(EXECUTOR, f"Task {task}", "Do it.")
        agent.about_to()
        agent.stopped("Done.")
        heard = agent.returned("Done.")
    promise(state(project)["orchestrator"]["status"] == "reviewing", "the run is in review")
    promise("holdfast done --all" in heard.context, "how it ends is told")
    return Shown(
        "The last two phases are done",
        "PreToolUse, SubagentStop and PostToolUse (Agent) twice",
        [told(heard)],
        "The last task leaves the run in review. What these agents cost is unknown, so it is in no sum.",
    )


def review(project: Stage) -> Shown:
    """The outer review runs, and a person completes the run."""
    before = len(state(project)["checkpoints"])
    agent = project.agent("outer-ralph", "Look it over", "Review the whole.")
    agent.about_to()
    promise(state(project)["orchestrator"]["outer_ralph"] is True, "the outer review runs")
    promise(len(state(project)["checkpoints"]) == before + 1, "a checkpoint was written before")
    agent.stopped("PASS")
    agent.returned("PASS")
    promise(state(project)["orchestrator"]["status"] == "reviewing", "its end does not complete the run")
    printed = project.holdfast("done", "--all")
    head = state(project)["orchestrator"]
    promise((head["status"], head["outer_ralph"]) == ("completed", False), "the run is completed")
    return Shown(
        "The outer review passes, and the run is completed",
        "PreToolUse, SubagentStop and PostToolUse (Agent), holdfast done --all",
        [Panel("what it prints", printed)],
        "Only the command completes a run.",
    )


def put_away(project: Stage) -> Shown:
    """The next run puts the files of this one into the archive."""
    printed = project.holdfast("start", DOCUMENT, "--format", "orchestrator")
    (folder,) = (project.root / ".claude/archive").iterdir()
    kept = json.loads((folder / "agent-state.json").read_text("utf-8"))
    promise(kept["orchestrator"]["status"] == "completed", "the run is kept for a look back")
    promise(state(project)["completed_tasks"] == [], "another run begins")
    promise(LESSON in (project.root / ".claude/learnings.jsonl").read_text("utf-8"), "the log of lessons stays")
    return Shown(
        "The next run begins, and this one is put away",
        f"holdfast start {DOCUMENT} --format orchestrator",
        [Panel("what it prints", printed)],
        "State and checkpoints are kept in .claude/archive. The log of lessons stays for later runs.",
    )


def state(project: Stage) -> dict[str, Any]:
    """Return the run's state."""
    found: dict[str, Any] = json.loads((project.root / STATE).read_text("utf-8"))
    return found


def listed(project: Stage, name: str) -> list[str]:
    """Return the tasks in one of the state's lists."""
    return [each["task"] for each in state(project)[name]]


def told(heard: Heard) -> Panel:
    """Return what reached the model."""
    return Panel("what the model is told", heard.context)


if __name__ == "__main__":
    main()
