"""Document 002: sessions as people and models write them by hand, with work whose task file nobody moved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.commandline import holdfast
from tests.requirements.document_002 import alone, changed
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.requirements.document_002 import Workflows

NAME = "WFS-user-auth"


def by_hand(workflows: Workflows, *tasks: dict[str, Any]) -> Path:
    """Make a session with the document's own commands, without Holdfast."""
    folder = workflows.top / NAME
    workflows.put(folder, *tasks)
    state: dict[str, Any] = {"session_id": NAME, "project": "User auth", "type": "simple", "current_phase": "IMPLEMENT"}
    state |= {"status": "active", "progress": {"completed_phases": ["PLAN"], "current_tasks": []}}
    (folder / "workflow-session.json").write_text(json.dumps(state))
    (folder / "IMPL_PLAN.md").write_text("# Implementation Plan\n")
    (folder / "TODO_LIST.md").write_text("# Tasks\n")
    (workflows.top / f".active-{NAME}").touch()
    return folder


def task(id_: str, *after: str, parent: str | None = None, status: str = "pending") -> dict[str, Any]:
    """Return a task that depends on others; without a parent, its file has none."""
    made = changed(alone(id_, title=f"Title of {id_}", status=status), "context.depends_on", list(after))
    return changed(made, "context.parent", parent)


def guidance(workflows: Workflows) -> str:
    """Compact, and return what the model is given back."""
    workflows.project.fire("PreCompact", "PreCompact-manual")
    return workflows.project.fire("SessionStart", "SessionStart-compact").context


def test_finished_work_is_not_the_next_step(workflows: Workflows) -> None:
    """R002-01: a summary or a tick moves nothing, but nobody is told to start that task again."""
    folder = by_hand(workflows, task("IMPL-1"), task("IMPL-2", "IMPL-1"))
    workflows.project.fire("SessionStart", "SessionStart-startup")
    complete = f"holdfast wfs task complete IMPL-1 --session {NAME}"
    assert f'start task IMPL-1 "Title of IMPL-1" (agent code-developer) in session {NAME}' in guidance(workflows)
    shown = {
        "summary": "",
        "generated": "# Tasks: User auth\n\n- [x] **IMPL-1**: Title → [📋](./.task/IMPL-1.json)\n",
        "bullet": "* [X] IMPL-1 Title\n",
        "number": "1. [x] `IMPL-1`: Title\n",
        "plus": "  + [✓] IMPL-1\n",
        "sign": "- ✅ **IMPL-1** - Title\n",
        "table": "| task | title | done |\n|---|---|---|\n| IMPL-1 | Title | ✅ |\n| IMPL-2 | Title | ⬜ |\n",
        "leading zeros": "- [x] IMPL-001: Title\n",
        "id at the end": "- [x] Title (IMPL-1), before IMPL-2\n",
        "several lines": "- [x] IMPL-1: red\n- [x] IMPL-1: green\n",
    }
    failures = list[str]()
    for what, text in shown.items():
        (folder / "TODO_LIST.md").write_text(text or "# Tasks\n")
        if what == "summary":
            (folder / ".summaries").mkdir()
            (folder / ".summaries" / "IMPL-1-summary.md").write_text("# IMPL-1\n\nDone.\n")
        given = guidance(workflows)
        following = holdfast("next", root=workflows.root).out
        findings = workflows.check()
        failures += [
            f"{what}: {where} has {text!r}"
            for where, text in (("guidance", given), ("next", following))
            if 'check task IMPL-1 "Title of IMPL-1"' not in text or complete not in text or "start task" in text
        ]
        failures += [] if "holdfast wfs task complete IMPL-1" in findings else [f"{what}: doctor has {findings!r}"]
        failures += [] if workflows.task(folder, "IMPL-1")["status"] == "pending" else [f"{what}: it was begun"]
        if what == "summary":
            (folder / ".summaries" / "IMPL-1-summary.md").unlink()
    for unfinished in ("- [ ] IMPL-1\n", "- [x] IMPL-1: red\n- [ ] IMPL-1: green\n", "IMPL-1 comes first.\n"):
        (folder / "TODO_LIST.md").write_text(unfinished)
        failures += [] if "start task IMPL-1" in guidance(workflows) else [f"{unfinished!r} counts as finished"]
    assert failures == []

    (folder / "TODO_LIST.md").write_text("- [x] IMPL-1\n")
    holdfast(*complete.split()[1:], root=workflows.root)
    assert f"Title of IMPL-2 (pending)\nNext step: start it (agent code-developer) in session {NAME}" in guidance(
        workflows
    )


def test_a_tick_stays_until_its_task_is_moved(workflows: Workflows) -> None:
    """I002-30: also in a generated list, while agents work on other tasks; completing the task brings it in step."""
    folder = by_hand(workflows, task("IMPL-1"), task("IMPL-2"), task("IMPL-3", "IMPL-2"))
    workflows.project.fire("SessionStart", "SessionStart-startup")
    workflows.repair()
    (folder / "TODO_LIST.md").write_text(workflows.todo(folder).replace("[ ] **IMPL-1**", "[x] **IMPL-1**"))
    agent = Agent(workflows.project, "IMPL-2", "code-developer")
    agent.about_to()
    agent.returned("Done.").assert_advised("check task IMPL-1", 'task IMPL-3 "Title of IMPL-3"')
    assert "check task IMPL-1" in guidance(workflows)
    workflows.complete("IMPL-1")
    assert "[x] **IMPL-1**" in workflows.todo(folder) and "[x] **IMPL-2**" in workflows.todo(folder)


def test_a_number_in_between_is_no_subtask(workflows: Workflows) -> None:
    """I002-31: IMPL-N.M belongs to IMPL-N unless one depends on the other and neither file says container or parent.

    Text, verbs and repair agree, and there is something to begin until all is done.
    """
    cases: dict[str, tuple[Sequence[dict[str, Any]], dict[str, str | None], list[str]]] = {
        "in between": (
            [task("IMPL-001"), task("IMPL-001.5", "IMPL-001"), task("IMPL-002", "IMPL-001.5")],
            {"IMPL-001.5": None},
            ["IMPL-001", "IMPL-001.5", "IMPL-002"],
        ),
        "a chain": (
            [task("IMPL-1"), task("IMPL-1.3", "IMPL-1"), task("IMPL-1.5", "IMPL-1.3"), task("IMPL-2", "IMPL-1.5")],
            {"IMPL-1.3": None, "IMPL-1.5": None},
            ["IMPL-1", "IMPL-1.3", "IMPL-1.5", "IMPL-2"],
        ),
        "before": ([task("IMPL-1", "IMPL-1.1"), task("IMPL-1.1")], {"IMPL-1.1": None}, ["IMPL-1.1", "IMPL-1"]),
        "subtasks": (
            [task("IMPL-1"), task("IMPL-1.1"), task("IMPL-1.2", "IMPL-1.1"), task("IMPL-2", "IMPL-1")],
            {"IMPL-1.1": "IMPL-1", "IMPL-1.2": "IMPL-1"},
            ["IMPL-1.1", "IMPL-1.2", "IMPL-2"],
        ),
        "container": (
            [task("IMPL-1", status="container"), task("IMPL-1.1", "IMPL-1")],
            {"IMPL-1.1": "IMPL-1"},
            ["IMPL-1.1"],
        ),
        "parent": (
            [task("IMPL-1"), task("IMPL-1.1", "IMPL-1", parent="IMPL-1")],
            {"IMPL-1.1": "IMPL-1"},
            ["IMPL-1.1"],
        ),
    }
    failures = list[str]()
    for what, (tasks, parents, order) in cases.items():
        for repaired in (False, True):
            for path in (workflows.top / NAME / ".task").glob("*.json"):
                path.unlink()
            folder, done = by_hand(workflows, *tasks), list[str]()
            if repaired:
                workflows.repair()
            told = {each["id"]: each["parent"] for each in workflows.json("task", "show")}
            listed = {id_: told[id_] for id_ in parents}
            (folder / "TODO_LIST.md").unlink()
            workflows.begin(order[0])
            indented = [id_ for id_ in parents if f"  - [ ] **{id_}**" in workflows.todo(folder)]
            workflows.complete(order[0])
            done.append(order[0])
            while (ready := workflows.ready()) and len(done) < len(tasks):
                workflows.begin(ready[0])
                workflows.complete(ready[0])
                done.append(ready[0])
            failures += [] if listed == parents else [f"{what}, repaired {repaired}: parents are {listed}"]
            failures += [] if done == order else [f"{what}, repaired {repaired}: the order is {done}"]
            subtasks = [id_ for id_, parent in parents.items() if parent]
            failures += [] if indented == subtasks else [f"{what}, repaired {repaired}: the list indents {indented}"]
    assert failures == []


def test_a_task_with_a_number_in_between_is_not_split(workflows: Workflows) -> None:
    """I002-31: the container would take the task in between for a subtask, which could begin too early."""
    by_hand(workflows, task("IMPL-1"), task("IMPL-1.5", "IMPL-1"))
    assert "or IMPL-1.5 would be one too" in workflows.run("task", "decompose", "IMPL-1", "Part", code=1).err


def test_an_agents_words_are_split_and_the_last_one_completes_the_session(workflows: Workflows) -> None:
    """R002-31: what is marked as deliverables and context is told apart; at last, the command that ends the session."""
    folder = by_hand(workflows, task("IMPL-1"), task("IMPL-2", "IMPL-1"))
    workflows.project.fire("SessionStart", "SessionStart-startup")
    words = "I wrote it all.\n\nDELIVERABLES:\n- src/tokens.py\n- docs/tokens.md\n\nCONTEXT_FOR_NEXT: Tokens expire.\n"
    first = Agent(workflows.project, "IMPL-1", "code-developer")
    first.about_to()
    context = first.returned(words).context
    assert "Context: Tokens expire. (IMPL-1)" in context and "I wrote it all." not in context
    assert "I wrote it all." in (folder / ".summaries" / "IMPL-1-summary.md").read_text()
    given = guidance(workflows)
    for said in ("Context for it: Tokens expire.", "delivered: src/tokens.py", "delivered: docs/tokens.md"):
        assert said in given

    last = Agent(workflows.project, "IMPL-2", "code-developer", number=2)
    last.about_to()
    ending = f"holdfast done --all {NAME}"
    last.returned("Done.").assert_advised(f"all its tasks are completed; `{ending}` ends it")
    assert f"`{ending}`" in guidance(workflows)
    holdfast(*ending.split()[1:], root=workflows.root)
    assert workflows.state(folder)["status"] == "completed"


def test_what_each_of_many_tasks_hands_over_is_given_back(workflows: Workflows) -> None:
    """R002-31: once each, though few of them fit beside the next step."""
    before = [f"IMPL-{number}" for number in range(1, 6)]
    by_hand(workflows, *map(task, before), task("IMPL-6", *before))
    workflows.project.fire("SessionStart", "SessionStart-startup")
    for each in before:
        workflows.complete(each, f"Notes of {each}.")
    assert [guidance(workflows).count(f"Notes of {each}.") for each in before] == [1] * 5
