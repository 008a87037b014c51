"""Document 002: tasks, their hierarchy and dependencies, their list, and what an agent is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast
from tests.requirements.document_002 import CONTEXT, CORE, alone, changed, example, rule

if TYPE_CHECKING:
    from pathlib import Path

    from tests.requirements.document_002 import Workflows


@pytest.fixture
def folder(workflows: Workflows) -> Path:
    """An active session without tasks."""
    return workflows.start("User Auth System")


def test_a_new_task_has_exactly_the_schemas_fields(workflows: Workflows, folder: Path) -> None:
    """R002-19, R002-22, R002-45 and I002-1: six core fields, the context's seven, flow control's three."""
    id_ = workflows.add("Implement login", "--require", "JWT", "--focus", "src/auth", "--accept", "tokens expire")
    task = workflows.task(folder, id_)

    assert list(task) == CORE
    assert list(task["context"]) == CONTEXT
    assert list(task["flow_control"]) == ["pre_analysis", "implementation_approach", "target_files"]
    assert list(task["flow_control"]["implementation_approach"]) == [
        *("task_description", "modification_points", "logic_flow"),
    ]
    assert (task["id"], task["title"], task["status"]) == ("IMPL-1", "Implement login", "pending")
    assert task["context"]["requirements"] == ["JWT"]
    assert task["context"]["focus_paths"] == ["src/auth"]
    assert task["context"]["acceptance"] == ["tokens expire"]
    assert task["context"]["parent"] is None
    assert workflows.violations() == []


def test_tasks_are_the_only_authority(workflows: Workflows, folder: Path) -> None:
    """R002-01, I002-30: a hand-edited list changes no task; the difference is told. A missing list is written."""
    workflows.add("Build it")
    edited = workflows.todo(folder).replace("- [ ] **IMPL-1**", "- [x] **IMPL-1**")
    (folder / "TODO_LIST.md").write_text(edited)

    assert workflows.json("task", "show")[0]["status"] == "pending"
    assert "IMPL-1 is ticked, and its file says pending" in workflows.check()
    workflows.repair()
    assert workflows.todo(folder) == edited, "the tick may be all that shows the work"
    (folder / "TODO_LIST.md").unlink()
    workflows.repair()
    assert "- [ ] **IMPL-1**" in workflows.todo(folder)
    assert workflows.task(folder, "IMPL-1")["status"] == "pending"


def test_a_list_of_somebodys_own_stays(workflows: Workflows, folder: Path) -> None:
    """R002-01, I002-30: a line that no task gives makes it theirs; it is told once, and stays until it is asked for."""
    workflows.add("Build it")
    own = workflows.todo(folder) + "\n## Timeline\n- 12:30 the build is green\n"
    (folder / "TODO_LIST.md").write_text(own)
    told = "TODO_LIST.md has lines of somebody's own, so it stays as it is; remove it, and"
    assert told in workflows.run("task", "add", "Test it").out
    assert "somebody's own" not in workflows.run("task", "add", "Ship it").out
    workflows.repair()
    assert workflows.todo(folder) == own

    (folder / "TODO_LIST.md").unlink()
    workflows.repair()
    assert "**IMPL-3**" in workflows.todo(folder) and "green" not in workflows.todo(folder)
    place = ".workflow/WFS-user-auth-system/TODO_LIST.md"
    changes = holdfast("restore", "--diff", "1", "--workflow", place, root=workflows.root).out
    assert "-- 12:30 the build is green" in changes

    (folder / "TODO_LIST.md").write_text("任务清单\n")
    workflows.add("Celebrate")
    assert workflows.todo(folder) == "任务清单\n"
    assert "TODO_LIST.md" not in workflows.check()


def test_a_new_task_that_breaks_a_rule_is_refused(workflows: Workflows, folder: Path) -> None:
    """R002-33, R002-45: with the field and what to write instead; no file is made."""
    workflows.add("Auth")
    for options, told in (
        (("--focus", "./src"), "context.focus_paths[0]: it begins with ./; write src"),
        (("--focus", "src/*"), "context.focus_paths[0]: it has wildcards"),
        (("--after", "IMPL-7"), "there is no task IMPL-7 to depend on"),
        (("--parent", "IMPL-9"), "there is no task 'IMPL-9'"),
    ):
        assert told in workflows.run("task", "add", "Other", *options, code=1).err
    assert "needs a title" in workflows.run("task", "add", " ", code=1).err
    assert "--type" in workflows.run("task", "add", "Other", "--type", "wish", code=2).err
    assert [each.name for each in (folder / ".task").iterdir()] == ["IMPL-1.json"]


def test_ids_keep_their_digits_and_count_in_numbers(workflows: Workflows, folder: Path) -> None:
    """R002-15, I002-2: IMPL-2 before IMPL-10, zeros as they are written, the next id like those before it."""
    workflows.put(folder, *(example(id=f"IMPL-{number:03d}") for number in (10, 2, 1)))
    assert [each["id"] for each in workflows.json("task", "show")] == ["IMPL-001", "IMPL-002", "IMPL-010"]
    assert workflows.add("Next") == "IMPL-011"
    assert workflows.json("task", "show", "IMPL-2")["task"]["id"] == "IMPL-002"


def test_two_files_of_one_task_are_told_apart(workflows: Workflows, folder: Path) -> None:
    """I002-2: IMPL-1 and IMPL-001 are a duplicate, and nobody guesses which is meant."""
    workflows.put(folder, example(id="IMPL-1"), example(id="IMPL-001"))
    assert "IMPL-001.json and IMPL-1.json are files of the same task" in workflows.begin("IMPL-1", code=1).err
    assert [rule(each) for each in workflows.violations() if rule(each) == 1] == [1, 1]


def test_a_first_subtask_makes_a_container(workflows: Workflows, folder: Path) -> None:
    """R002-47, R002-15, R002-17: its files are made while the work goes on; subtasks inherit, and have none themselves.

    A container is neither begun nor completed nor blocked by itself, whatever its file says.
    """
    workflows.add("Auth", "--require", "JWT authentication", "--focus", "src/auth")
    said = workflows.json("task", "decompose", "IMPL-1", "Design it", "Build it")

    assert [each["id"] for each in said["tasks"]] == ["IMPL-1.1", "IMPL-1.2"]
    assert workflows.task(folder, "IMPL-1")["status"] == "container"
    child = workflows.task(folder, "IMPL-1.2")
    assert child["context"]["parent"] == "IMPL-1"
    assert child["context"]["inherited"] == {"from": "IMPL-1", "context": ["JWT authentication"]}
    assert child["context"]["focus_paths"] == ["src/auth"]
    assert "an id has two levels at most" in workflows.run("task", "decompose", "IMPL-1.1", "Deeper", code=1).err
    assert workflows.add("More", "--parent", "IMPL-1") == "IMPL-1.3"

    workflows.put(folder, workflows.task(folder, "IMPL-1") | {"status": "pending"})
    assert "IMPL-1 is a container" in workflows.complete("IMPL-1", code=1).err
    for move in (workflows.begin, workflows.block):
        assert 'has no task "IMPL-1"' in move("IMPL-1", code=1).err
    assert workflows.ready() == ["IMPL-1.1", "IMPL-1.2", "IMPL-1.3"]


@pytest.mark.parametrize(
    ("statuses", "derived"),
    [
        (("completed", "completed"), "completed"),
        (("completed", "active"), "active"),
        (("blocked", "active"), "active"),
        (("blocked", "completed"), "blocked"),
        (("pending", "completed"), "pending"),
    ],
)
def test_a_containers_progress_follows_its_subtasks(
    workflows: Workflows, folder: Path, statuses: tuple[str, str], derived: str
) -> None:
    """R002-18, I002-4: its file says container, its progress is derived for display."""
    workflows.put(folder, example(id="IMPL-1", status="container"))
    for number, status in enumerate(statuses, 1):
        workflows.put(folder, example(id=f"IMPL-1.{number}", status=status))
    row = workflows.json("task", "show")[0]
    assert (row["status"], row["progress"]) == ("container", derived)
    assert workflows.task(folder, "IMPL-1")["status"] == "container"


def test_dependencies_say_what_can_be_begun(workflows: Workflows, folder: Path) -> None:
    """R002-22: what waits is not begun unasked; several that wait for nothing can be worked on in parallel."""
    for title, after in (("A", ()), ("B", ()), ("C", ("IMPL-1", "IMPL-2"))):
        workflows.add(title, *(part for each in after for part in ("--after", each)))
    assert workflows.ready() == ["IMPL-1", "IMPL-2"]
    workflows.complete("IMPL-1")
    assert "IMPL-3 depends on IMPL-2" in workflows.begin("IMPL-3", code=1).err
    said = workflows.complete("IMPL-2").out
    assert "Next: start task IMPL-3" in said
    assert workflows.json("task", "show")[2]["waits_for"] == []


def test_a_dependency_on_a_container_waits_for_all_of_it(workflows: Workflows, folder: Path) -> None:
    """R002-18: it is done when its last subtask is; and a subtask waits for what its container waits for."""
    workflows.add("Auth")
    workflows.run("task", "decompose", "IMPL-1", "Design", "Build")
    workflows.add("Ship", "--after", "IMPL-1")
    workflows.run("task", "decompose", "IMPL-2", "Pack")
    assert workflows.ready() == ["IMPL-1.1", "IMPL-1.2"]
    workflows.complete("IMPL-1.1")
    workflows.complete("IMPL-1.2")
    assert workflows.ready() == ["IMPL-2.1"]


def test_blocked_tasks_wait_for_somebody(workflows: Workflows, folder: Path) -> None:
    """R002-16: nothing goes on with it until it is begun again, and next says why there is nothing to do."""
    workflows.add("Build it")
    workflows.block("IMPL-1", "no key")
    assert workflows.task(folder, "IMPL-1")["status"] == "blocked"
    assert "no task can be begun, because those that are left are blocked" in workflows.say("done", code=1).err
    workflows.begin("IMPL-1")
    assert workflows.task(folder, "IMPL-1")["status"] == "active"


def test_a_summary_appears_with_the_first_completed_task(workflows: Workflows, folder: Path) -> None:
    """R002-39, R002-14, R002-45: `.summaries/IMPL-2-summary.md`; not before, and not without a text.

    Completing again changes nothing: a file that says it already is not written, and the summary stays.
    """
    workflows.add("Build it")
    workflows.add("Test it")
    workflows.begin("IMPL-1")
    assert not (folder / ".summaries").exists()
    workflows.complete("IMPL-1")
    assert not (folder / ".summaries").exists()
    workflows.complete("IMPL-2", "All green.\nSee src/auth.")

    assert (folder / ".summaries" / "IMPL-2-summary.md").read_text() == (
        "# IMPL-2: Test it\n\nAll green.\nSee src/auth.\n"
    )
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    said = workflows.json("task", "complete", "IMPL-2", "--summary", "another")
    assert said["changed"] is False
    assert "its summary stays as it was" in said["notes"][0]
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    assert after == before


def test_status_change_keeps_extra_fields_and_file_style(workflows: Workflows, folder: Path) -> None:
    """R002-45: extra fields, other spellings and the file's own style survive a change of its status."""
    wild = changed(alone("IMPL-001", title="实现登录"), "flow_control.pre_analysis", [{"step": "a", "commands": ["x"]}])
    text = json.dumps(wild | {"note": {"ä": [1.5, True]}}, indent=4, ensure_ascii=False)
    path = folder / ".task" / "IMPL-001.json"
    path.write_text(text, encoding="utf-8")
    workflows.begin("IMPL-1")

    assert path.read_text(encoding="utf-8") == text.replace('"status": "pending"', '"status": "active"')


def test_the_list_is_the_documents_template(workflows: Workflows, folder: Path) -> None:
    """R002-40: container, indented leaves, stand-alone leaf, links, a blank line between groups, the legend."""
    workflows.put(
        folder,
        example(id="IMPL-001", title="Main Task Group", status="container"),
        example(id="IMPL-001.1", title="Subtask"),
        example(id="IMPL-001.2", title="Subtask", status="active"),
        example(id="IMPL-002", title="Simple Task"),
    )
    workflows.complete("IMPL-001.2", "x")
    workflows.complete("IMPL-002", "x")

    assert workflows.todo(folder) == (
        "# Tasks: User Auth System\n"
        "\n"
        "## Task Progress\n"
        "▸ **IMPL-001**: Main Task Group → [📋](./.task/IMPL-001.json)\n"
        "  - [ ] **IMPL-001.1**: Subtask → [📋](./.task/IMPL-001.1.json)\n"
        "  - [x] **IMPL-001.2**: Subtask → [📋](./.task/IMPL-001.2.json) | [✅](./.summaries/IMPL-001.2-summary.md)\n"
        "\n"
        "- [x] **IMPL-002**: Simple Task → [📋](./.task/IMPL-002.json) | [✅](./.summaries/IMPL-002-summary.md)\n"
        "\n"
        "## Status Legend\n"
        "- `▸` = Container task (has subtasks)\n"
        "- `- [ ]` = Pending leaf task\n"
        "- `- [x]` = Completed leaf task\n"
        "- Maximum 2 levels: Main tasks and subtasks only\n"
    )


def test_active_and_blocked_leaves_are_not_ticked(workflows: Workflows, folder: Path) -> None:
    """I002-28, I002-29: the legend knows two marks; a summary that is not there gets no link."""
    for number, status in enumerate(("active", "blocked", "completed"), 1):
        workflows.put(folder, example(id=f"IMPL-{number}", title=status, status=status))
    workflows.repair()
    rows = [line for line in workflows.todo(folder).splitlines() if "IMPL-" in line]
    assert [row[:5] for row in rows] == ["- [ ]", "- [ ]", "- [x]"]
    assert not any("✅" in row for row in rows)


def test_complexity_grows_with_the_leaves(workflows: Workflows, folder: Path) -> None:
    """R002-41, I002-21: fewer than 5 leaves, 5 to 15, more; a container does not count."""
    workflows.put(folder, example(id="IMPL-1", status="container"))
    seen = []
    for number in range(1, 18):
        workflows.put(folder, example(id=f"IMPL-1.{number}"))
        workflows.complete(f"IMPL-1.{number}")
        seen.append(workflows.state(folder)["type"])
    assert seen == ["simple"] * 4 + ["medium"] * 11 + ["complex"] * 2


def test_a_session_is_upgraded_and_never_goes_down(workflows: Workflows) -> None:
    """R002-42: a person may set it higher; fewer tasks do not lower it."""
    folder = workflows.start("Big", "--type", "complex")
    workflows.add("One task")
    assert workflows.state(folder)["type"] == "complex"


@pytest.mark.parametrize(
    ("kind", "title", "agent"),
    [
        ("feature", "Plan the rollout", "@action-planning-agent"),
        ("feature", "Implement login", "@code-developer"),
        ("bugfix", "Plan B crashes", "@code-developer"),
        ("test-fix", "Whatever it is", "@test-fix-agent"),
        ("test-gen", "Write unit tests", "@code-developer"),
        ("feature", "Review the login", "@general-purpose"),
        ("feature", "Show reviews of products", "@code-developer"),
    ],
)
def test_the_agent_follows_from_type_and_title(
    workflows: Workflows, folder: Path, kind: str, title: str, agent: str
) -> None:
    """R002-43, I002-20: a small table; who names an agent gets that one."""
    id_ = workflows.add(title, "--type", kind)
    assert workflows.task(folder, id_)["meta"] == {"type": kind, "agent": agent}
    named = workflows.add(title, "--agent", "@universal-executor")
    assert workflows.task(folder, named)["meta"]["agent"] == "@universal-executor"


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Implement JWT authentication", "feature"),
        ("Fix the crash at start", "bugfix"),
        ("Refactor the API layer", "refactor"),
        ("Write unit tests for the parser", "test-gen"),
        ("Run and fix the failing tests", "test-fix"),
        ("Update the README", "docs"),
    ],
)
def test_the_type_follows_from_the_title(workflows: Workflows, folder: Path, title: str, kind: str) -> None:
    """R002-20: one of the six, unless it is given."""
    assert workflows.task(folder, workflows.add(title))["meta"]["type"] == kind


def test_an_agent_gets_the_whole_task(workflows: Workflows, folder: Path) -> None:
    """R002-44: {task: the whole JSON, workflow: {session, phase}}."""
    workflows.put(folder, example(id="IMPL-1.1"), example(id="IMPL-1", status="container"))
    workflows.put(folder, changed(example(note="ours"), "context.depends_on", []))
    said = workflows.json("task", "show", "IMPL-1.2")

    assert list(said)[:2] == ["task", "workflow"]
    assert said["workflow"] == {"session": "WFS-user-auth-system", "phase": "PLAN"}
    assert said["task"]["note"] == "ours"
    assert list(said["task"])[:6] == CORE


def test_context_comes_down_and_across(workflows: Workflows, folder: Path) -> None:
    """R002-31, R002-32: from the parent, from the summaries of what it depends on, then its own; session beside it."""
    workflows.add("Auth", "--require", "Auth system design completed")
    workflows.run("task", "decompose", "IMPL-1", "Design", "Build")
    parent = changed(workflows.task(folder, "IMPL-1"), "context.shared_context", {"auth_strategy": "JWT", "ttl": 5})
    child = changed(workflows.task(folder, "IMPL-1.2"), "context.depends_on", ["IMPL-1.1"])
    workflows.put(folder, parent, changed(child, "context.shared_context", {"ttl": 9}))
    workflows.complete("IMPL-1.1", "Tokens are signed with ES256.")
    task = workflows.json("task", "show", "IMPL-1.2")["task"]

    assert task["context"]["inherited"] == {
        "from": "IMPL-1",
        "context": ["Auth system design completed", "IMPL-1.1 is completed: Tokens are signed with ES256."],
    }
    assert task["context"]["shared_context"] == {"auth_strategy": "JWT", "ttl": 9}
    assert workflows.task(folder, "IMPL-1.2")["context"]["inherited"]["context"] == ["Auth system design completed"]


def test_subtask_inherits_acceptance_and_files_of_its_parent(workflows: Workflows, folder: Path) -> None:
    """R002-31: acceptance, artifacts, approach and target files of the parent; of the session what it was given."""
    parent = changed(example(id="IMPL-1", status="container"), "context.acceptance", ["no plain passwords"])
    parent = changed(changed(parent, "context.parent", None), "context.depends_on", [])
    parent = changed(parent, "flow_control.implementation_approach.task_description", "Do it in [focus_paths]")
    parent = changed(parent, "flow_control.target_files", ["src/parent.py:run"])
    child = changed(changed(example(id="IMPL-1.1"), "context.artifacts", None), "context.focus_paths", ["src/child"])
    child = changed(child, "context.inherited", {"from": "IMPL-1", "context": [], "patterns": ["ours"]})
    workflows.put(folder, parent, changed(child, "context.depends_on", []))
    options = ("--set", "ticket=42", "--remind", "No tabs", "--read", "docs/auth.md")
    holdfast("update", *options, root=workflows.root)
    said = workflows.json("task", "show", "IMPL-1.1")
    inherited = said["task"]["context"]["inherited"]

    assert inherited["acceptance"] == ["no plain passwords"]
    assert inherited["artifacts"] == parent["context"]["artifacts"]
    assert inherited["implementation_approach"]["task_description"] == "Do it in src/auth tests/auth config/auth.json"
    assert inherited["target_files"] == ["src/parent.py:run"]
    assert inherited["patterns"] == ["ours"]
    assert said["workflow"] == {
        "session": folder.name,
        "phase": "PLAN",
        "required_reading": ["@docs/auth.md"],
        "key_reminders": ["No tabs"],
        "context": {"ticket": 42},
    }
    reading = holdfast("status", "--json", root=workflows.root).json["current"]["required_reading"]
    assert "@.workflow/WFS-session/.brainstorming/synthesis-specification.md" in reading


def test_variables_really_resolve(workflows: Workflows, folder: Path) -> None:
    """R002-30, I002-10: outputs of steps and properties; what cannot be filled in is named, and stands as it stood."""
    workflows.put(folder, example(id="IMPL-1", status="container"), example(id="IMPL-1.1"), example())
    workflows.complete("IMPL-1.1", "x")
    before = workflows.json("task", "show", "IMPL-1.2")
    flow = before["task"]["flow_control"]

    assert flow["pre_analysis"][0]["command"] == "bash(rg 'auth' src/auth tests/auth config/auth.json | head -10)"
    assert flow["pre_analysis"][2]["command"] == (
        "bash(echo .workflow/WFS-user-auth-system/.summaries/IMPL-1.1-summary.md | xargs cat)"
    )
    assert flow["implementation_approach"]["modification_points"][0] == "Add JWT generation using IMPL-1 patterns"
    assert flow["implementation_approach"]["logic_flow"][1] == (
        "Protected route → extract JWT → validate using auth_strategy: JWT with refresh tokens rules"
    )
    assert [each.partition(": the")[0] for each in before["unresolved"]] == [
        "flow_control.pre_analysis[1].command: [patterns]",
        "flow_control.implementation_approach.task_description: [design]",
        "flow_control.implementation_approach.modification_points[1]: [context]",
        "context.inherited.implementation_approach.task_description: [design]",
        "context.inherited.implementation_approach.modification_points[1]: [context]",
    ]
    for step, output in (
        ("check_patterns", "PATTERNS"),
        ("analyze_architecture", "DESIGN"),
        ("check_deps", "[design]"),
    ):
        workflows.run("task", "step", "IMPL-1.2", step, "--output", output)
    after = workflows.json("task", "show", "IMPL-1.2")
    assert "unresolved" not in after
    approach = after["task"]["flow_control"]["implementation_approach"]
    assert approach["task_description"] == "Implement JWT authentication following DESIGN"
    assert approach["modification_points"][1] == "Implement validation middleware from [design]", "data is data"


def test_what_is_no_variable_stays(workflows: Workflows, folder: Path) -> None:
    """R002-30: a shell's test and a link; unknown names are told, and stay too."""
    workflows.put(folder, example(id="IMPL-1", status="container"), example(id="IMPL-1.1"))
    text = "[shared.auth_strategy] [ -f x ] [text](url) [focus_paths] [nothing] [requirements]"
    workflows.put(folder, changed(example(), "flow_control.implementation_approach.task_description", text))
    said = workflows.json("task", "show", "IMPL-1.2")
    assert said["task"]["flow_control"]["implementation_approach"]["task_description"] == (
        "JWT with refresh tokens [ -f x ] [text](url) src/auth tests/auth config/auth.json [nothing] "
        + "; ".join(example()["context"]["requirements"])
    )
    field = "flow_control.implementation_approach.task_description"
    assert f"{field}: [nothing]: nothing here is called so" in said["unresolved"]


def test_a_prompt_has_what_its_task_requires_and_builds_on(workflows: Workflows, folder: Path) -> None:
    """R002-44: it is what `next` gives the agent to begin with."""
    workflows.add("Build it")
    workflows.add("Test it", "--require", "JWT", "--after", "IMPL-1")
    workflows.complete("IMPL-1", "It is in src/auth.")
    prompt = holdfast("next", "--json", root=workflows.root).json["next"]["prompt"]
    assert "Requirements:\n- JWT\n" in prompt and "Context: It is in src/auth. (IMPL-1)" in prompt


def test_steps_are_taken_in_their_order(workflows: Workflows, folder: Path) -> None:
    """R002-25, I002-7: each has step, action, command; output_to is optional."""
    workflows.put(folder, example(id="IMPL-1"))
    said = workflows.run("task", "step", "IMPL-1", "check_deps", code=1)
    assert "check_patterns comes before check_deps; record check_patterns first" in said.err
    assert "its steps are: check_patterns, analyze_architecture, check_deps" in (
        workflows.run("task", "step", "IMPL-1", "other", code=1).err
    )
    workflows.run("task", "step", "IMPL-1", "check_patterns", "--output", "x")
    states = [each["state"] for each in workflows.json("task", "show", "IMPL-1")["steps"]]
    assert states == ["completed", "pending", "pending"]


@pytest.mark.parametrize(
    ("on_error", "once", "twice"),
    [
        (None, "failed", "failed"),
        ("fail", "failed", "failed"),
        ("skip_optional", "skipped", "skipped"),
        ("retry_once", "retry", "failed"),
        ("manual_intervention", "manual", "manual"),
    ],
)
def test_on_error_decides_what_a_failed_step_does(
    workflows: Workflows, folder: Path, on_error: str | None, once: str, twice: str
) -> None:
    """R002-26, I002-6: `on_error` says it, and without it the task stops there."""
    step = {"step": "look", "action": "Look", "command": "bash(ls)"} | ({"on_error": on_error} if on_error else {})
    behind = {"step": "then", "action": "Then", "command": "bash(ls)"}
    workflows.put(folder, changed(example(id="IMPL-1"), "flow_control.pre_analysis", [step, behind]))
    seen = [workflows.json("task", "step", "IMPL-1", "look", "--failed")[0]["state"] for _ in range(2)]
    assert seen == [once, twice]
    workflows.run("task", "step", "IMPL-1", "then", code=0 if twice == "skipped" else 1)


def test_no_command_of_a_task_is_run(workflows: Workflows, folder: Path) -> None:
    """R002-29: they are planned and recorded; whoever works on the task decides about them."""
    step = {"step": "touch", "action": "Touch", "command": f"bash(touch {folder}/ran)", "output_to": "x"}
    workflows.put(folder, changed(alone("IMPL-1"), "flow_control.pre_analysis", [step]))
    workflows.begin("IMPL-1")
    for verb in (("show", "IMPL-1"), ("step", "IMPL-1", "touch"), ("complete", "IMPL-1")):
        workflows.run("task", *verb)
    workflows.check()
    assert not (folder / "ran").exists()
    assert "It never runs the commands" in " ".join(workflows.run("--help").out.split())


def test_a_broken_hierarchy_is_rebuilt(workflows: Workflows, folder: Path) -> None:
    """R002-10, I002-22: a container where one is missing, the parent from the id; a dry run changes nothing."""
    orphan = changed(example(id="IMPL-2.1"), "context.parent", "IMPL-9")
    workflows.put(folder, changed(orphan, "context.depends_on", []), example(id="IMPL-3", status="in_progress"))
    before = workflows.tree()
    assert len([each for each in workflows.findings() if each.fix]) >= 3
    assert workflows.tree() == before
    workflows.repair()

    assert workflows.task(folder, "IMPL-2")["status"] == "container"
    assert workflows.task(folder, "IMPL-2.1")["context"]["parent"] == "IMPL-2"
    assert workflows.task(folder, "IMPL-3")["status"] == "active"
    assert workflows.repair() == []


@pytest.mark.slow
def test_many_writers_lose_nothing(workflows: Workflows, folder: Path) -> None:
    """I002-25: twelve processes at once, and whoever reads meanwhile reads whole files."""
    ids = [workflows.add(f"Task {number}") for number in range(12)]
    command = [sys.executable, "-m", "holdfast", "wfs", "task", "complete"]
    environ = {**os.environ, "HOLDFAST_PROJECT_DIR": str(workflows.root)}
    writers = [
        subprocess.Popen([*command, id_, "--summary", id_], env=environ, stdout=subprocess.DEVNULL) for id_ in ids
    ]
    while any(writer.poll() is None for writer in writers):
        assert workflows.state(folder)["session_id"]
        assert [workflows.task(folder, id_)["id"] for id_ in ids] == ids
    assert {writer.returncode for writer in writers} == {0}
    assert workflows.todo(folder).count("- [x] **IMPL-") == 12
    assert workflows.state(folder)["current_phase"] == "REVIEW"
    assert sorted(path.name for path in (folder / ".task").iterdir()) == sorted(f"{id_}.json" for id_ in ids)


def test_a_file_that_cannot_be_read_hides_no_other(workflows: Workflows, folder: Path) -> None:
    """R002-01: a link that leads nowhere, a folder, a broken file: each is named, and the session is not completed."""
    workflows.put(folder, alone("IMPL-1"), alone("IMPL-2"))
    tasks = folder / ".task"
    (tasks / "IMPL-0.json").symlink_to("/nowhere")
    (tasks / "IMPL-3.json").mkdir()
    (tasks / "IMPL-4.json").write_text("{")
    assert [row["id"] for row in workflows.json("task", "show")] == ["IMPL-1", "IMPL-2"]
    broken = [each.path for each in workflows.findings() if each.code == "broken"]
    assert broken == [tasks / f"IMPL-{number}.json" for number in (0, 3, 4)]
    for id_ in ("IMPL-1", "IMPL-2"):
        workflows.complete(id_)
    assert workflows.state(folder)["current_phase"] == "IMPLEMENT", "the session isn't finished"
    assert workflows.add("One more") == "IMPL-5", "no number is used twice"


def test_a_broken_task_that_we_have_written_comes_back(workflows: Workflows, folder: Path) -> None:
    """R002-10, I002-23: its last content is kept, and so is what lay there."""
    workflows.add("Build it")
    before = (folder / ".task" / "IMPL-1.json").read_bytes()
    (folder / ".task" / "IMPL-1.json").write_text("{")
    assert any("its last content is put back" in each for each in workflows.repair())
    assert (folder / ".task" / "IMPL-1.json").read_bytes() == before
    assert [path.read_text() for path in (folder / ".task").glob("IMPL-1.json.corrupt-*")] == ["{"]


@pytest.mark.parametrize(
    ("said", "move", "then"),
    [
        ("in_progress", "start", "active"),
        ("done", "complete", "completed"),
        ("on hold", "block", "blocked"),
        ("cancelled", "", "IMPL-2 depends on IMPL-1, which is not completed"),
        ("skipped", "", "IMPL-2 depends on IMPL-1, which is not completed"),
        ("completed", "block", "IMPL-1 is completed; `holdfast reopen IMPL-1`"),
        ("completed", "start", "IMPL-1 is completed; `holdfast reopen IMPL-1`"),
        ("completed", "decompose", "IMPL-1 is completed; add a task of its own"),
    ],
)
def test_a_status_counts_by_what_it_means(workflows: Workflows, folder: Path, said: str, move: str, then: str) -> None:
    """R002-16, R002-45: in other words too; what was dropped is not done, and a completion is undone by one verb."""
    workflows.add("Build it")
    workflows.add("Test it", "--after", "IMPL-1")
    workflows.put(folder, workflows.task(folder, "IMPL-1") | {"status": said})
    code, id_ = 1 if " " in then else 0, "IMPL-1" if move else "IMPL-2"
    moves = {"block": workflows.block, "complete": workflows.complete}
    if move == "decompose":
        told = workflows.run("task", "decompose", "IMPL-1", "Part", code=code)
    else:
        told = moves.get(move, workflows.begin)(id_, code=code)
    assert then in told.err if " " in then else workflows.task(folder, "IMPL-1")["status"] == then
    assert workflows.task(folder, "IMPL-1")["status"] in (then, said)


def test_more_subtasks_open_a_container_again(workflows: Workflows, folder: Path) -> None:
    """R002-18: whatever its own file says, there is work left then; a file's own context comes down to them."""
    workflows.add("Auth")
    workflows.run("task", "decompose", "IMPL-1", "Design it")
    workflows.complete("IMPL-1.1")
    context = workflows.task(folder, "IMPL-1")["context"] | {"requirements": ["JWT", "OAuth"]}
    context["inherited"] = {"from": "IMPL-0", "context": ["Python", "JWT"]}
    workflows.put(folder, workflows.task(folder, "IMPL-1") | {"status": "completed", "context": context})
    assert workflows.add("Build it", "--parent", "IMPL-1", "--focus", "tests") == "IMPL-1.2"
    assert workflows.task(folder, "IMPL-1")["status"] == "container"
    child = workflows.task(folder, "IMPL-1.2")["context"]
    assert child["inherited"] == {"from": "IMPL-1", "context": ["Python", "JWT", "OAuth"]}
    assert (child["requirements"], child["focus_paths"]) == ([], ["tests"])


def test_a_summary_is_neither_lost_nor_required_twice(workflows: Workflows, folder: Path) -> None:
    """R002-39: what cannot be written completes nothing, one that was missing can come later, one's own heading stays.

    A summary that gives way to another is in the log.
    """
    workflows.add("Build it")
    summaries = folder / ".summaries"
    summaries.write_text("in the way")
    assert ".summaries" in workflows.complete("IMPL-1", "JWT works.", code=1).err
    assert workflows.task(folder, "IMPL-1")["status"] == "pending"
    summaries.unlink()
    workflows.complete("IMPL-1")
    assert workflows.json("task", "complete", "IMPL-1", "--summary", "# JWT\n\nIt works.")["changed"] is True
    path = summaries / "IMPL-1-summary.md"
    assert path.read_text() == "# JWT\n\nIt works.\n"
    workflows.reopen("IMPL-1")
    workflows.complete("IMPL-1", "Better.")
    place = f".workflow/{folder.name}/.summaries/IMPL-1-summary.md"
    assert "-It works." in holdfast("restore", "--diff", "1", "--workflow", place, root=workflows.root).out


@pytest.mark.parametrize("phase", ["PLAN", "", None, "SHIP"])
def test_a_phase_that_is_missing_follows_from_the_tasks(workflows: Workflows, folder: Path, phase: str | None) -> None:
    """R002-46: one that somebody called otherwise stays."""
    workflows.add("Build it")
    state = folder / "workflow-session.json"
    state.write_text(json.dumps(workflows.state(folder) | {"current_phase": phase}))
    workflows.begin("IMPL-1")
    assert workflows.state(folder)["current_phase"] == ("SHIP" if phase == "SHIP" else "IMPLEMENT")


def test_a_change_of_a_task_puts_a_broken_state_back(workflows: Workflows, folder: Path) -> None:
    """I002-23: though nothing else would change in it; what it held stays beside it."""
    workflows.add("Build it")
    state = folder / "workflow-session.json"
    before = workflows.state(folder)
    state.write_text('{"cut')
    os.utime(state, (1_700_000_000, 1_700_000_000))  # or it may be one that is being saved
    workflows.say("update", "--phase", "IMPL-1", "--rename", "Build all")
    assert workflows.state(folder) == before
    assert [each.read_text() for each in folder.glob("workflow-session.json.corrupt-*")] == ['{"cut']


def test_half_a_change_is_no_change(workflows: Workflows, folder: Path) -> None:
    """R002-47: of several subtasks one is refused, and none is made."""
    workflows.add("Auth")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert "needs a title" in workflows.run("task", "decompose", "IMPL-1", "Design", " ", code=1).err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_task_that_is_opened_again_takes_the_session_back(workflows: Workflows, folder: Path) -> None:
    """R002-46: REVIEW is for sessions whose tasks are all completed."""
    workflows.add("Build it")
    workflows.complete("IMPL-1")
    assert workflows.state(folder)["current_phase"] == "REVIEW"
    workflows.reopen("IMPL-1")
    assert workflows.state(folder)["current_phase"] == "IMPLEMENT"
    assert workflows.state(folder)["progress"]["completed_phases"] == ["PLAN"]


def test_names_of_outputs_may_be_any_text(workflows: Workflows, folder: Path) -> None:
    """R002-30: with a hyphen, in another language, or a property's; what is empty is told as empty, not as unknown."""
    step = {"step": "look", "action": "Look", "command": "bash(ls)", "output_to": "my-out"}
    last = {"step": "last", "action": "Look", "command": "bash(ls)", "output_to": "extra"}
    other = {"step": "看", "action": "看", "command": "echo [my-out] [depends_on]", "output_to": "模式"}
    task = changed(alone("IMPL-1"), "flow_control.pre_analysis", [step, other, last])
    workflows.put(folder, changed(task, "flow_control.implementation_approach.task_description", "[模式] [extra]"))
    workflows.put(folder, changed(workflows.task(folder, "IMPL-1"), "context.extra", "more"))
    said = workflows.json("task", "show", "IMPL-1")["unresolved"]
    assert "flow_control.pre_analysis[1].command: [my-out]: the output of step look, of which none is recorded" in said
    assert "flow_control.pre_analysis[1].command: [depends_on]: there is nothing of that here yet" in said
    workflows.run("task", "step", "IMPL-1", "look", "--output", "seen")
    workflows.run("task", "step", "IMPL-1", "看", "--output", "看到")
    flow = workflows.json("task", "show", "IMPL-1")["task"]["flow_control"]
    assert flow["pre_analysis"][1]["command"] == "echo seen [depends_on]"
    assert flow["implementation_approach"]["task_description"] == "看到 more"
    workflows.run("task", "step", "IMPL-1", "last", "--output", "newer")
    flow = workflows.json("task", "show", "IMPL-1")["task"]["flow_control"]
    assert flow["implementation_approach"]["task_description"] == "看到 newer"
