"""Document 002: the nine validation rules, each broken on purpose, and where an output belongs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements.document_002 import alone, changed, example, rule

if TYPE_CHECKING:
    from tests.requirements.document_002 import Workflows

STEP = {"step": "look", "action": "Look", "command": "bash(ls)"}
ARTIFACT = {
    "type": "synthesis_specification",
    "source": "brainstorm_synthesis",
    "path": ".workflow/WFS-x/.brainstorming/synthesis-specification.md",
    "priority": "highest",
}


OUTSIDE = ("a/../../b", "..", "a\\..\\..\\b", "~/x", "C:\\x", " ")
BROKEN: tuple[tuple[int, str, Any, str], ...] = (
    (2, "id", "TASK-1", "it is not IMPL-N or IMPL-N.M"),
    (2, "id", "IMPL-1.2.3", "two levels at most"),
    (2, "id", "IMPL-1.3", "the file is called IMPL-1.2.json"),
    (3, "context.parent", "IMPL-7", "there is no .task/IMPL-7.json"),
    (3, "context.parent", "IMPL-5", "the id says it is a subtask of IMPL-1"),
    (3, "context.parent", 1, "it is not a text"),
    (
        4,
        "status",
        "in_progress",
        "it is not one of pending, active, completed, blocked, container",
    ),
    (4, "status", "doing", "it is not one of pending, active"),
    (4, "status", "container", "it has no subtasks"),
    (5, "status", "", "it is empty"),
    (5, "status", 3, "it is not a text"),
    (5, "id", None, "a file has to have it"),
    (5, "title", "  ", "it is empty"),
    (5, "title", None, "a file has to have it"),
    (5, "meta", [], "it is not an object"),
    (5, "flow_control", None, "a file has to have it"),
    (6, "context.focus_paths", "src", "it is not a list"),
    (6, "context.focus_paths", ["src/**/*.py"], "it has wildcards"),
    (6, "context.focus_paths", ["src/{a,b}"], "it has wildcards"),
    (6, "context.focus_paths", ["./src/auth"], "it begins with ./"),
    (6, "context.focus_paths", ["/src/auth"], "it is absolute"),
    (6, "context.focus_paths", ["C:\\src"], "it is absolute"),
    (6, "context.focus_paths", ["~/src"], "it is absolute"),
    (6, "context.focus_paths", ["src/../lib"], "it leads out of a folder"),
    (6, "context.focus_paths", ["src\\..\\lib"], "it leads out of a folder"),
    (6, "context.focus_paths", ["\\\\server\\src"], "it is absolute"),
    (6, "context.focus_paths", [" "], "it isn't a path"),
    (6, "context.focus_paths", [""], "it isn't a path"),
    (7, "flow_control.pre_analysis", {"a": 1}, "it is not a list"),
    (7, "flow_control.pre_analysis", ["ls"], "it is not an object"),
    (7, "flow_control.pre_analysis", [STEP | {"command": ""}], "it is empty"),
    (7, "flow_control.pre_analysis", [STEP | {"on_error": "ignore"}], "it is not one of skip_optional, fail"),
    (7, "flow_control.pre_analysis", [STEP | {"output_to": 1}], "it is not a text"),
    (7, "flow_control.pre_analysis", [STEP | {"output_to": " "}], "it isn't a variable name"),
    (7, "flow_control.pre_analysis", [STEP, STEP], ""),
    (7, "flow_control.pre_analysis", [STEP | {"step": ["look"]}], ""),
    (7, "flow_control.pre_analysis", [STEP | {"on_error": ""}], "it is not one of skip_optional, fail"),
    (7, "flow_control.pre_analysis", None, "a file has to have it"),
    (8, "context.depends_on", ["IMPL-8"], "there is no .task/IMPL-8.json"),
    (8, "context.depends_on", "IMPL-1.1", "it is not a list"),
    (8, "context.depends_on", ["IMPL-1.2"], "it depends on this task in turn (IMPL-1.2 → IMPL-1.2)"),
    (9, "context.artifacts", {}, "it is not a list"),
    (9, "context.artifacts", [ARTIFACT | {"type": "novel"}], "it is not one of synthesis_specification"),
    (9, "context.artifacts", [ARTIFACT | {"priority": "urgent"}], "it is not one of highest, high, medium, low"),
    (9, "context.artifacts", [ARTIFACT | {"source": "brain"}], "it is not one of brainstorm_synthesis"),
    (9, "context.artifacts", [ARTIFACT | {"path": "/etc/passwd"}], "it isn't a path within the project"),
    *((9, "context.artifacts", [ARTIFACT | {"path": path}], "it isn't a path within the project") for path in OUTSIDE),
    (9, "context.artifacts", [ARTIFACT | {"type": None}], "it is not a text"),
    (9, "context.artifacts", [ARTIFACT | {"priority": None}], "it is not a text"),
    (9, "context.artifacts", ["x"], "it is not an object"),
)


@pytest.fixture
def folder(workflows: Workflows) -> Path:
    """An active session with the document's task, its parent and what it depends on; no rule is broken."""
    made = workflows.start("User Auth System")
    plain = changed(example(id="IMPL-1.1"), "context.depends_on", [])
    workflows.put(made, example(id="IMPL-1", status="container"), plain, example())
    _quiet(workflows, made)
    return made


def _quiet(workflows: Workflows, folder: Path) -> None:
    top = changed(workflows.task(folder, "IMPL-1"), "context.parent", "")
    workflows.put(folder, changed(top, "context.depends_on", []))


def test_a_subtask_that_names_no_parent_needs_one_all_the_same(workflows: Workflows, folder: Path) -> None:
    """R002-33, rule 3: its id says whose it is."""
    orphan = example(id="IMPL-7.1")
    del orphan["context"]["parent"]
    workflows.put(folder, orphan)
    (found,) = [each.text for each in workflows.violations() if rule(each) == 3]
    assert "its parent IMPL-7 has no file" in found


def test_the_documents_task_breaks_no_rule(workflows: Workflows, folder: Path) -> None:
    """R002-33, I002-8: extra keys such as an artifact's `contains` are allowed."""
    assert workflows.violations() == []


def test_each_rule_has_its_own_message(workflows: Workflows, folder: Path) -> None:
    """R002-33, R002-16, R002-23, R002-24, R002-26, I002-6 and I002-26: with file, field, value and remedy, once."""
    path, failures = folder / ".task" / "IMPL-1.2.json", list[str]()
    workflows.put(folder, alone("IMPL-5"))
    for number, field, value, says in BROKEN:
        path.write_text(json.dumps(changed(example(), field, value)), encoding="utf-8")
        found = [each for each in workflows.violations() if each.path == path]
        sound = [rule(each) for each in found] == [number] and found[0].field.startswith(field)
        if not sound or says not in found[0].text or not found[0].remedy:
            failures.append(f"rule {number}, {field} {value!r}: {found}")
        elif (
            f".task/IMPL-1.2.json: {found[0].field} is " not in found[0].text
            or f"(rule {number}: " not in found[0].text
        ):
            failures.append(f"rule {number}, {field} {value!r}: the text is {found[0].text}")
    assert failures == []


def test_unusual_values_that_break_no_rule(workflows: Workflows, folder: Path) -> None:
    """R002-33: dots within a name, steps without an output, no flow control in detail, an artifact without a source."""
    failures = list[str]()
    for field, value in (
        ("context.focus_paths", ["src/v1..v2"]),
        ("context.parent", "IMPL-01"),
        ("context.artifacts", [{name: value for name, value in ARTIFACT.items() if name != "source"}]),
        ("context.artifacts", [ARTIFACT | {"path": "a/v1..v2/b.md"}]),
        ("flow_control.pre_analysis", [STEP, STEP | {"step": "read"}]),
        ("flow_control", {}),
    ):
        workflows.put(folder, changed(example(), field, value))
        failures += [f"{field} {value!r}: {each}" for each in workflows.violations()]
    assert failures == []


def test_a_commands_array_is_named_as_what_it_is(workflows: Workflows, folder: Path) -> None:
    """R002-33: 210 times in users' data; it is read as the step's commands all the same."""
    step = {"step": "look", "action": "Look", "commands": ["bash(ls)", "grep(x)"]}
    workflows.put(folder, changed(example(), "flow_control.pre_analysis", [step]))
    (found,) = workflows.violations()
    assert found.field == "flow_control.pre_analysis[0].commands"
    assert "it is not a text" in found.text
    assert workflows.json("task", "show", "IMPL-1.2")["steps"][0]["commands"] == ["bash(ls)", "grep(x)"]


def test_all_violations_are_named_in_one_run(workflows: Workflows, folder: Path) -> None:
    """R002-33: in two files and of five rules, not the first alone."""
    broken = changed(example(status="doing"), "context.focus_paths", ["*", "/x"])
    workflows.put(folder, changed(broken, "context.depends_on", ["IMPL-8"]), example(id="IMPL-5.1"))
    rules = [rule(each) for each in workflows.violations()]
    assert {3, 4, 6, 8} <= set(rules)
    assert rules.count(6) == 2


def test_a_longer_circle_of_dependencies_is_shown(workflows: Workflows, folder: Path) -> None:
    """R002-33: nobody could begin any of them."""
    for one, other in (("IMPL-5", "IMPL-6"), ("IMPL-6", "IMPL-7"), ("IMPL-7", "IMPL-5")):
        plain = changed(example(id=one), "context.parent", "")
        workflows.put(folder, changed(plain, "context.depends_on", [other]))
    found = [each.text for each in workflows.violations() if rule(each) == 8]
    assert any("it depends on this task in turn (IMPL-5 → IMPL-6 → IMPL-7 → IMPL-5)" in each for each in found)
    assert len(found) == 3


def test_a_bracket_in_a_name_that_exists_is_no_wildcard(workflows: Workflows, folder: Path) -> None:
    """R002-23: routes of some frameworks are called so."""
    (workflows.root / "app" / "[id]").mkdir(parents=True)
    workflows.put(folder, changed(example(), "context.focus_paths", ["app/[id]", "app/[x]"]))
    assert ['is "app/[x]"' in each.text for each in workflows.violations()] == [True]


def test_mismatch_with_the_examples_is_only_a_remark(workflows: Workflows, folder: Path) -> None:
    """I002-9, R002-20, R002-21, R002-27, R002-28 and I002-5: a mismatch is told, and breaks no rule."""
    task = changed(example(), "context.artifacts", [ARTIFACT | {"priority": "low"}])
    task = changed(task, "meta", {"type": "chore", "agent": "@universal-executor"})
    task = changed(task, "flow_control.target_files", ["src/a.ts:fn:1-2", "src/a.ts:fn", "new.ts", "a:b:c:d"])
    workflows.put(folder, changed(task, "flow_control.implementation_approach", ["one", "two"]))
    assert workflows.violations() == []
    path = folder / ".task/IMPL-1.2.json"
    assert {each.field for each in workflows.findings() if (each.code, each.path) == ("remark", path)} == {
        "context.artifacts[0].priority",
        "meta.type",
        "meta.agent",
        "flow_control.target_files[3]",
        "flow_control.implementation_approach",
    }


def test_a_task_file_that_cannot_be_read_is_named(workflows: Workflows, folder: Path) -> None:
    """R002-33: the others are checked all the same, and nothing is done to it."""
    path = folder / ".task" / "IMPL-9.json"
    path.write_text('{"id": "IMPL-9",')
    (found,) = [each for each in workflows.findings() if each.code == "broken"]
    assert (found.path, found.fix) == (path, None)
    assert "is not JSON" in found.text
    assert "problem: IMPL-9.json" in workflows.run("task", "show").out
    assert path.read_text() == '{"id": "IMPL-9",'


@pytest.mark.parametrize(
    ("command", "description", "file"),
    [
        ("/cli:analyze", "security", "analyze-security-20250105-143022.md"),
        ("/cli:chat", "build process", "chat-build-process-20250105-143022.md"),
        ("/cli:mode:plan", "feature idea", "plan-feature-idea-20250105-143022.md"),
        ("/cli:mode:code-analysis", "trace auth flow", "code-analysis-auth-flow-20250105-143022.md"),
        ("/cli:execute", "implement JWT auth", "execute-jwt-auth-20250105-143022.md"),
        ("/cli:codex-execute", "api refactor", "codex-execute-api-refactor-20250105-143022.md"),
        ("bug-index", "任务", "bug-index-20250105-143022.md"),
    ],
)
def test_without_a_session_an_output_belongs_into_the_scratchpad(
    workflows: Workflows, monkeypatch: pytest.MonkeyPatch, command: str, description: str, file: str
) -> None:
    """R002-35, R002-36, R002-37, I002-17 and I002-19: the document's examples; the file is not made."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-05T14:30:22Z")
    assert workflows.run("scratch", command, description).out == f".workflow/.scratchpad/{file}\n"
    assert workflows.tree() == [".scratchpad"]


def test_with_a_session_it_belongs_into_its_chat(workflows: Workflows, monkeypatch: pytest.MonkeyPatch) -> None:
    """R002-36, R002-39, R002-14: `.chat/[command]-[timestamp].md`; what is unrelated goes to the scratchpad."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-05T14:30:22Z")
    folder = workflows.start("One")
    assert workflows.run("scratch", "analyze", "security").out == ".workflow/WFS-one/.chat/analyze-20250105-143022.md\n"
    assert (folder / ".chat").is_dir()
    said = workflows.run("scratch", "analyze", "security", "--unrelated").out
    assert said == ".workflow/.scratchpad/analyze-security-20250105-143022.md\n"


def test_a_second_output_of_one_moment_has_a_name_of_its_own(
    workflows: Workflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R002-38: nothing is overwritten, and nothing is cleaned up."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-05T14:30:22Z")
    first = Path(workflows.json("scratch", "analyze", "security")["path"])
    first.write_text("kept")
    second = workflows.json("scratch", "analyze", "security")["path"]
    assert second.endswith("analyze-security-20250105-143022-2.md")
    workflows.start("One")
    workflows.repair()
    assert first.read_text() == "kept"


def test_a_design_has_a_folder_of_its_own(workflows: Workflows, monkeypatch: pytest.MonkeyPatch) -> None:
    """I002-18: `.design/run-[timestamp]` without a session, `design-[timestamp]` within one."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-05T14:30:22Z")
    assert workflows.run("scratch", "ui-design", "login").out == ".workflow/.design/run-20250105-143022\n"
    folder = workflows.start("One")
    assert workflows.run("scratch", "ui-design", "login").out == ".workflow/WFS-one/design-20250105-143022\n"
    assert (folder / "design-20250105-143022").is_dir()


def test_the_rest_of_the_structure_is_left_alone(workflows: Workflows) -> None:
    """R002-34: folders that others fill are no sessions and no tasks, and nothing is wrong with them."""
    folder = workflows.start("One")
    for place in (".design/run-1/prototypes", "WFS-one/.brainstorming", "WFS-one/.process", "WFS-one/design-1"):
        (workflows.top / place).mkdir(parents=True)
    (folder / ".process" / "ANALYSIS_RESULTS.md").write_text("found")
    (folder / ".task" / "notes.md").write_text("mine")
    before = workflows.tree()
    assert workflows.findings() == []
    workflows.repair()
    assert workflows.tree() == before


def test_there_is_no_limit_of_ten_tasks(workflows: Workflows) -> None:
    """I002-27: the limit is another document's."""
    folder = workflows.start("One")
    for number in range(12):
        workflows.add(f"Task {number}")
    assert workflows.violations() == []
    assert workflows.add("One more") == "IMPL-13"
    assert workflows.state(folder)["type"] == "medium"


def test_what_waits_for_its_own_container_is_told(workflows: Workflows, folder: Path) -> None:
    """R002-33: it could never begin, and neither could two containers that wait for each other."""
    workflows.put(folder, changed(example(id="IMPL-1.1"), "context.depends_on", ["IMPL-1"]))
    problems = [each.text for each in workflows.violations() if rule(each) == 8]
    assert "it depends on this task in turn (IMPL-1.1 → IMPL-1 → IMPL-1.1)" in problems[0]
    container = changed(workflows.task(folder, "IMPL-1"), "context.depends_on", ["IMPL-5"])
    waiting = changed(alone("IMPL-5"), "context.depends_on", ["IMPL-1.1"])
    workflows.put(folder, container, waiting, changed(example(id="IMPL-1.1"), "context.depends_on", []))
    problems = [each.text for each in workflows.violations() if rule(each) == 8]
    assert any("it depends on this task in turn (IMPL-5 → IMPL-1.1 → IMPL-5)" in each for each in problems)


def test_a_completed_session_is_not_repaired(workflows: Workflows, folder: Path) -> None:
    """R002-10: nothing is written in it any more; not its list, either."""
    workflows.put(folder, example(id="IMPL-3", status="todo"))
    assert any(each.fix for each in workflows.findings())
    workflows.end()
    (folder / ".task" / "IMPL-9.json").write_text("{")
    assert [each for each in workflows.findings() if each.fix] == []
    assert [each.remedy for each in workflows.findings() if each.path and "IMPL-9" in each.path.name] == [
        "write it again as JSON"
    ]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    workflows.repair()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
