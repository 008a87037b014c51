"""The workflow of document 000, "Create calculator.py with tests and verify they pass", from its start to its end.

    python examples/calculator.py

Two subagents do the work; a compaction, a wrong to-do list and an API error come in between. Every event is a
recorded payload of the real client, sent through the registered command into a throw-away project. Exit code 1, with
what was not shown, when a promise is not kept.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from holdfast.commands.demo import narrate
from holdfast.testkit import stage
from holdfast.testkit.acts import Panel, Shown, promise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.testkit.reply import Heard
    from holdfast.testkit.stage import Stage

TASK = "Create calculator.py with tests and verify they pass"
FIRST, SECOND = "Create calculator module", "Write and run tests"
MAKER, TESTER = "general-purpose", "task-completion-verifier"

STATE = ".claude/state/workflow.json"
VIEW = ".claude/workflow_state_system.md"
KEYS = ["id", "task", "status", "current_phase", "phases"]
PHASE_KEYS = ["id", "title", "agent", "status", "deliverables", "context_for_next"]
OTHERS = {  # files of other tools, which document 000 wants left alone
    ".claude/state/active_task_graph.json": '{"waves": [["phase_0"], ["phase_1"]]}\n',
    ".claude/state/delegated_sessions.txt": "a session or two\n",
}

HANDOVER = "calculator.py lies at the project root and has 4 functions"
MADE = f"""The calculator module is there.

DELIVERABLES:
- calculator.py
- add, subtract, multiply, divide functions
CONTEXT_FOR_NEXT: {HANDOVER}"""
ERROR = "API Error: 529 Overloaded. Try again in a moment."
TESTED = "DELIVERABLES: test_calculator.py\n\nAll 12 tests pass."


def main() -> None:
    """Tell the story; exit code 1 if a promise is not kept."""
    with stage.opened() as throwaway:
        narrate(throwaway, story(throwaway), "Two phases, three agents, one compaction: completed.")


def story(project: Stage) -> Iterator[Shown]:
    """Run the workflow, a step at a time, and check at each what document 000 promises."""
    project.install()
    for path, text in OTHERS.items():
        project.write(path, text)
    yield start(project)
    yield from create_the_module(project)
    yield correct_the_list(project)
    yield compact(project)
    yield fail(project)
    yield from retry(project)
    yield look_back(project)


def start(project: Stage) -> Shown:
    """The orchestrator writes the workflow down; nothing runs yet."""
    phases = ("--phase", f"{FIRST} @{MAKER}", "--phase", f"{SECOND} @{TESTER}")
    printed = project.holdfast("start", TASK, "--format", "hybrid", *phases)
    state = read(project)
    promise(list(state) == KEYS, f"{STATE} has exactly the keys {', '.join(KEYS)}")
    promise(all(list(phase) == PHASE_KEYS for phase in state["phases"]), "each phase has exactly the schema's keys")
    promise(re.fullmatch(r"wf_\d{8}_\d{6}", state["id"]) is not None, "the id is wf_, a date and a time")
    promise(state["task"] == TASK, "the task is the user's own words")
    expect(project, "pending", None, "pending", "pending")
    promise(f"- [ ] Phase 0: {FIRST}\n- [ ] Phase 1: {SECOND}" in view(project), "the view lists both phases")
    return Shown(
        "The orchestrator starts the workflow",
        f'holdfast start "{TASK}" --format hybrid --phase "{FIRST} @{MAKER}" --phase "{SECOND} @{TESTER}"',
        [Panel("what it prints", printed), project.file(VIEW)],
        "The request is split into two phases, each with the subagent that will work on it. The state lies in "
        f"{STATE}; the view below is made from it after every change.",
    )


def create_the_module(project: Stage) -> Iterator[Shown]:
    """The first agent is launched, works and returns with a report."""
    agent = project.agent(MAKER, FIRST, "Write calculator.py with four functions.")
    heard = agent.about_to()
    expect(project, "active", "phase_0", "active", "pending")
    promise(f"- [>] {FIRST}: in_progress" in heard.context, "the model is told the to-do list")
    yield Shown(
        "The first subagent is launched, and its phase begins",
        "PreToolUse (Agent)",
        [told(heard), project.file(VIEW)],
        f"The model launches {MAKER} for a task described as {FIRST!r}. That is the title of a phase, so the phase "
        "is active now. A hook cannot write the to-do list, so the model is told what to write.",
    )
    promise(write_list(project, ("in_progress", "pending")).stdout == "", "a list that is right is left alone")
    agent.started()
    agent.stopped(MADE)
    expect(project, "active", "phase_0", "active", "pending")  # what stopped may still turn out to have failed
    heard = agent.returned(MADE)
    expect(project, "active", "phase_1", "completed", "active")
    phase = read(project)["phases"][0]
    promise(
        phase["deliverables"] == ["calculator.py", "add, subtract, multiply, divide functions"],
        "the deliverables are recorded, word for word",
    )
    promise(phase["context_for_next"] == HANDOVER, "the hand-over is recorded")
    promise(f"{SECOND}\n\nContext: {HANDOVER}" in heard.context, "the model is given the next agent's prompt")
    promise(TESTER in heard.context, "the model is told which agent is next")
    promise(f"- [x] {FIRST}: completed\n- [>] {SECOND}: in_progress" in heard.context, "and the list that follows")
    promise(f"- [x] Phase 0: {FIRST} → calculator.py, add, " in view(project), "the view shows the deliverables")
    yield Shown(
        "The subagent returns, and the workflow moves on by itself",
        "TodoWrite, SubagentStart, SubagentStop, PostToolUse (Agent)",
        [told(heard), project.file(VIEW)],
        "The model wrote the list as it was told; there was nothing to correct. The agent's report has two marked "
        "parts, DELIVERABLES and CONTEXT_FOR_NEXT. Both are taken over, the next phase begins, and its agent's prompt "
        "carries the context.",
    )


def correct_the_list(project: Stage) -> Shown:
    """The model ticks off what is not done; the list follows the workflow, never the other way round."""
    heard = write_list(project, ("completed", "completed"), "Tidy up")
    expect(project, "active", "phase_1", "completed", "active")
    todos = heard.changed_input["todos"] if heard.changed_input else []
    written = [(todo["content"], todo["status"]) for todo in todos]
    wanted = [(FIRST, "completed"), (SECOND, "in_progress"), ("Tidy up", "pending")]
    promise(written == wanted, "only the item that contradicts the workflow is corrected")
    promise(SECOND in heard.context and FIRST not in heard.context, "the model is told which item was corrected")
    return Shown(
        "The model ticks off the tests too early, and is corrected",
        "PreToolUse (TodoWrite)",
        [
            told(heard),
            Panel("the list that is written", "\n".join(f"{status:<12} {content}" for content, status in written)),
            project.file(VIEW),
        ],
        "A to-do list never moves the workflow. The item that stands for the second phase gets that phase's status "
        "back before the list is written; the model's own item 'Tidy up' stays as it is.",
    )


def compact(project: Stage) -> Shown:
    """The conversation is compacted between the two phases: the file stays, the guidance brings it all back."""
    kept = (project.root / STATE).read_bytes()
    before, after = project.compact("auto")
    promise((project.root / STATE).read_bytes() == kept, "a compaction leaves the state file as it is")
    promise(SECOND in before.stdout and "{" not in before.stdout, "the summariser is told the phase in plain text")
    for fact in (TASK, f"Phase: 2/2 - {SECOND}", TESTER, HANDOVER, "delivered: calculator.py", "ACTION REQUIRED"):
        promise(fact in after.context, f"{fact!r} comes back")
    return Shown(
        "The context is full: the conversation is compacted",
        "PreCompact (auto), SubagentStop (the summariser), SessionStart (compact), PostCompact (auto)",
        [Panel("what the summariser is told, before", before.stdout), told(after), project.file(VIEW)],
        "The conversation is gone, the workflow is not: its file was on disk all the time. What the model knew of it, "
        "it reads here again: where the workflow stands, what the first phase made and handed over, which agent is "
        "next.",
    )


def fail(project: Stage) -> Shown:
    """The second agent dies of an API error, which no report of its own could tell."""
    agent = project.agent(TESTER, SECOND, f"{SECOND}\n\nContext: {HANDOVER}")
    agent.about_to()
    agent.started()
    agent.died(ERROR)
    heard = agent.failed(ERROR)
    expect(project, "failed", "phase_1", "completed", "failed")
    promise("is failed" in heard.context and "529" in heard.context, "the model is told that it failed, and of what")
    promise(f"Phase 1: {SECOND} ✗ failed" in view(project), "the view marks the failed phase")
    promise("529" in history(project)[1]["error"], "Holdfast remembers the error beside the state file")
    return Shown(
        "The tester dies of an API error",
        "PreToolUse (Agent), SubagentStart, StopFailure, PostToolUseFailure (Agent)",
        [told(heard), project.file(VIEW)],
        "A phase whose agent failed is failed, and with it the workflow. Nothing is lost: what the first phase made "
        "and handed over still stands.",
    )


def retry(project: Stage) -> Iterator[Shown]:
    """A second attempt re-opens the failed phase, and completes the workflow."""
    agent = project.agent(TESTER, SECOND, f"{SECOND}\n\nContext: {HANDOVER}")
    heard = agent.about_to()
    expect(project, "active", "phase_1", "completed", "active")
    yield Shown(
        "It is launched once more",
        "PreToolUse (Agent)",
        [told(heard), project.file(VIEW)],
        "Launching an agent for a failed phase is the retry. A completed phase no launch could revive.",
    )
    agent.started()
    agent.stopped(TESTED)
    heard = agent.returned(TESTED)
    expect(project, "completed", None, "completed", "completed")
    promise("Status: completed | Current Phase: none" in view(project), "the view says that all is completed")
    promise("→ test_calculator.py" in view(project), "with what the tests' agent delivered")
    promise("✗" not in view(project), "no mark of the failure is left in it")
    yield Shown(
        "All tests pass: the last phase is completed, and so is the workflow",
        "SubagentStart, SubagentStop, PostToolUse (Agent)",
        [told(heard), project.file(VIEW)],
        "The second report is taken over like the first. No phase is left, so the workflow ends by itself.",
    )


def look_back(project: Stage) -> Shown:
    """What is left: the state with exactly its keys, the times and attempts beside it, others' files untouched."""
    state = read(project)
    promise(list(state) == KEYS, f"{STATE} still has exactly its keys")
    promise(all(list(phase) == PHASE_KEYS for phase in state["phases"]), "and so has each phase")
    for path, text in OTHERS.items():
        promise((project.root / path).read_text("utf-8") == text, f"{path} is as it was")
    first, second = history(project)
    promise((first["attempts"], second["attempts"]) == (1, 2), "the phases took one attempt and two")
    promise(all(each["started_at"] < each["ended_at"] for each in (first, second)), "each began before it ended")
    promise(second["error"] == "", "an error that a retry made good is no error any more")
    shown = project.holdfast("status", state["id"])
    for word in (TASK, FIRST, SECOND, "test_calculator.py", "2 attempts", "100%"):
        promise(word in shown, f"{word!r} is shown")
    return Shown(
        "Looking back",
        f"holdfast status {state['id']}",
        [Panel("what it prints", shown)],
        "How long each phase took and in how many attempts does not stand in the state file, which keeps exactly the "
        "keys of its schema. Holdfast remembers it elsewhere. The files of other tools that lie in the same folder "
        "were never touched.",
    )


def write_list(project: Stage, statuses: tuple[str, str], *more: str) -> Heard:
    """The model calls TodoWrite with an item for each phase, and its own."""
    todos = [
        {"content": title, "status": status, "activeForm": f"Working on {title}"}
        for title, status in zip((FIRST, SECOND), statuses, strict=True)
    ]
    todos += [{"content": title, "status": "pending", "activeForm": title} for title in more]
    return project.fire("PreToolUse-TodoWrite", tool_input={"todos": todos})


def expect(project: Stage, workflow: str, current: str | None, *phases: str) -> None:
    """Promise a status of the workflow, the current phase and a status for each phase."""
    state = read(project)
    now = (state["status"], state["current_phase"], *(phase["status"] for phase in state["phases"]))
    wanted = (workflow, current, *phases)
    promise(now == wanted, f"workflow, current phase and phases are {wanted}; they are {now}")


def read(project: Stage) -> dict[str, Any]:
    """Return the workflow's state."""
    state: dict[str, Any] = json.loads((project.root / STATE).read_text("utf-8"))
    return state


def history(project: Stage) -> list[dict[str, Any]]:
    """Return what Holdfast remembers of each phase."""
    shown = json.loads(project.holdfast("status", read(project)["id"], "--json"))
    return [phase["history"] for phase in shown["phases"]]


def view(project: Stage) -> str:
    """Return the Markdown view."""
    return (project.root / VIEW).read_text("utf-8")


def told(heard: Heard) -> Panel:
    """Return what reached the model."""
    return Panel("what the model is told", heard.context)


if __name__ == "__main__":
    main()
