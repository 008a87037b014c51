"""The rules of `wfs` task files, on tasks as people write them by hand."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.formats.wfs import brief, rules
from holdfast.formats.wfs import task as wfs_task
from holdfast.formats.wfs.board import Board
from tests.tables import each_row

ARTIFACT = {"type": "topic_framework", "source": "brainstorm_framework", "priority": "medium"}


def task(id_: str, status: str = "pending", **context: Any) -> dict[str, Any]:
    """Return a task that breaks no rule, with what its context holds beside."""
    data = wfs_task.fresh(id_, wfs_task.New("Implement login")) | {"status": status}
    data["context"].update(context)
    return data


def found(**tasks: dict[str, Any]) -> list[tuple[int, str, str]]:
    """Return the rules that task files break, with field and problem; they are named as in `IMPL_1_2`."""
    names = {name: name.replace("_", "-", 1).replace("_", ".") for name in tasks}
    files = {names[name]: data for name, data in tasks.items()}
    board = Board(tuple(brief.of(name, data) for name, data in files.items()))
    return [
        (each.rule, each.field, each.problem) for each in rules.check(board, files, lambda path: False) if each.rule
    ]


def test_leading_zeros_name_the_same_parent() -> None:
    """I002-2: IMPL-01 is IMPL-1."""
    assert found(IMPL_1=task("IMPL-1", "container"), IMPL_1_1=task("IMPL-1.1", parent="IMPL-01")) == []


def test_a_file_is_named_as_its_task_is() -> None:
    """Rule 2: zeros that count for nothing in an id count in the name of its file."""
    assert found(IMPL_1=task("IMPL-001")) == [(2, "id", "the file is called IMPL-1.json")]


def test_the_wrong_parent_is_named() -> None:
    """Rule 3, where the one that is named is there."""
    broken = found(
        IMPL_1=task("IMPL-1", "container"), IMPL_1_1=task("IMPL-1.1", parent="IMPL-2"), IMPL_2=task("IMPL-2")
    )
    assert broken == [(3, "context.parent", "the id says it is a subtask of IMPL-1")]


def test_a_task_of_its_own_has_no_parent() -> None:
    """Rule 3: its id says that it is no subtask, whoever it names."""
    broken = found(IMPL_1=task("IMPL-1"), IMPL_2=task("IMPL-2", parent="IMPL-1"))
    assert broken == [(3, "context.parent", "the id is that of a task of its own")]


def test_what_a_container_waits_for_cannot_wait_for_its_subtasks() -> None:
    """Rule 8: a subtask waits for what its container depends on, so neither could ever begin."""
    broken = found(
        IMPL_1=task("IMPL-1", "container", depends_on=["IMPL-2"]),
        IMPL_1_1=task("IMPL-1.1", parent="IMPL-1"),
        IMPL_2=task("IMPL-2", depends_on=["IMPL-1.1"]),
    )
    circle = "it depends on this task in turn (IMPL-2 → IMPL-1.1 → IMPL-2)"
    assert broken == [(8, "context.depends_on[0]", circle)]


@pytest.mark.parametrize("missing", ["type", "priority"])
def test_an_artifact_has_a_type_and_a_priority(missing: str) -> None:
    """Rule 9; its source follows from its type."""
    lacking = {name: value for name, value in ARTIFACT.items() if name != missing} | {"path": "a.md"}
    broken = found(IMPL_1=task("IMPL-1", artifacts=[lacking]))
    assert [each[:2] for each in broken] == [(9, f"context.artifacts[0].{missing}")]
    del lacking["source"]
    assert found(IMPL_1=task("IMPL-1", artifacts=[lacking | {missing: ARTIFACT[missing]}])) == []


@each_row(
    "field, value, rule",
    [
        ("status", "doing", 4),
        ("status", "", 5),
        ("status", 3, 5),
        ("status", None, 5),
        ("id", "", 5),
        ("id", 3, 5),
        ("id", None, 5),
        ("id", "TASK-1", 2),
    ],
)
def test_what_is_wrong_with_a_field_is_told_once(field: str, value: object, rule: int) -> None:
    """Also of a task with subtasks, whose status would be wrong in another way too."""
    broken = (
        found(IMPL_1=task("IMPL-1") | {field: value})
        if field == "id"
        else found(IMPL_1=task("IMPL-1") | {field: value}, IMPL_1_1=task("IMPL-1.1", parent="IMPL-1"))
    )
    assert [each[:2] for each in broken] == [(rule, field)]


def test_a_source_that_does_not_go_with_the_type_is_a_remark() -> None:
    """I002-9: and one that does is none."""
    for source, said in (("brainstorm_framework", []), ("brainstorm_roles", ["context.artifacts[0].source"])):
        data = task("IMPL-1", artifacts=[ARTIFACT | {"path": "a.md", "source": source}])
        board = Board((brief.of("IMPL-1", data),))
        remarks = rules.check(board, {"IMPL-1": data}, lambda path: True)
        assert [(each.rule, each.field) for each in remarks] == [(0, field) for field in said]


@each_row("path", ["a/../../b", "..", "a\\..\\..\\b", "/etc", "~/x", "C:\\x", " "])
def test_an_artifact_lies_within_the_project(path: str) -> None:
    """Rule 9, however its path leads out; a name with two dots in it leads nowhere."""
    broken = found(IMPL_1=task("IMPL-1", artifacts=[ARTIFACT | {"path": path}]))
    assert broken == [(9, "context.artifacts[0].path", "it isn't a path within the project")]
    assert found(IMPL_1=task("IMPL-1", artifacts=[ARTIFACT | {"path": "a/v1..v2/b.md"}])) == []


@each_row(
    "names, broken",
    [
        (("look", "read"), []),
        (("look", "read", "look"), [2]),
        ((None, None), [0, 1]),
        ((["look"], ["look"]), [0, 1]),
    ],
)
def test_each_step_has_a_name_of_its_own(names: tuple[object, ...], broken: list[int]) -> None:
    """Rule 7: by it its outcome is recorded; of two that have none each is told as that, once."""
    data = task("IMPL-1")
    data["flow_control"]["pre_analysis"] = [{"step": name, "action": "Look", "command": "ls"} for name in names]

    assert [each[:2] for each in found(IMPL_1=data)] == [
        (7, f"flow_control.pre_analysis[{number}].step") for number in broken
    ]


@each_row(
    "path, problem",
    [
        ("./src", "it begins with ./"),
        ("./src/**", "it has wildcards"),
        ("src/v1..v2", ""),
        ("src/..", "it leads out of a folder with .."),
        ("src\\..\\lib", "it leads out of a folder with .."),
        ("src/{a,b}", "it has wildcards"),
        ("src", ""),
        ("\\\\server\\src", "it is absolute"),
        ("", "it isn't a path"),
        (" ", "it isn't a path"),
    ],
)
def test_a_focus_path_names_a_place_exactly(path: str, problem: str) -> None:
    """Rule 6: for a path with wildcards too the remedy is one that helps."""
    broken = found(IMPL_1=task("IMPL-1", focus_paths=[path]))
    assert broken == ([(6, "context.focus_paths[0]", problem)] if problem else [])


def test_steps_are_missed_only_where_there_is_other_flow_control() -> None:
    """Rule 7: a task need not have any."""
    controls: tuple[tuple[dict[str, Any], list[tuple[int, str]]], ...] = (
        ({}, []),
        ({"target_files": []}, [(7, "flow_control.pre_analysis")]),
    )
    for control, broken in controls:
        assert [each[:2] for each in found(IMPL_1=task("IMPL-1") | {"flow_control": control})] == broken


def test_whoever_names_a_parent_names_one_that_is_there() -> None:
    """Rule 3, of a task of its own too; a container without subtasks is nobody's work (rule 4)."""
    assert found(IMPL_1=task("IMPL-1", parent="IMPL-7")) == [(3, "context.parent", "there is no .task/IMPL-7.json")]
    assert [each[:2] for each in found(IMPL_1=task("IMPL-1", "container"))] == [(4, "status")]


def test_two_files_of_one_task_are_told_of_both() -> None:
    """Rule 1; a file is no twin of itself."""
    broken = found(IMPL_1=task("IMPL-1"), IMPL_01=task("IMPL-01"), IMPL_2=task("IMPL-2"))
    assert [each[:2] for each in broken] == [(1, "id"), (1, "id")]

    data = task("IMPL-1")
    board = Board((brief.of("IMPL-1", data),))
    assert [each for each in rules.check_one("IMPL-1", data, board, lambda path: True) if each.rule] == []


def test_a_title_of_blanks_says_nothing() -> None:
    """Rule 5."""
    assert found(IMPL_1=task("IMPL-1") | {"title": "  "}) == [(5, "title", "it is empty")]


@each_row("output", ["", " ", 3, []])
def test_an_output_goes_into_a_variable_with_a_name(output: object) -> None:
    """Rule 7: a step that puts nothing out says nothing of it."""
    data = task("IMPL-1")
    step = {"step": "look", "action": "Look", "command": "ls"}
    for given, broken in ((step | {"output_to": output}, [(7, "flow_control.pre_analysis[0].output_to")]), (step, [])):
        data["flow_control"]["pre_analysis"] = [given]
        assert [each[:2] for each in found(IMPL_1=data)] == broken


def test_what_happens_on_an_error_is_one_of_few_words() -> None:
    """Rule 7: an empty one says nothing, which leaving it out says better."""
    data = task("IMPL-1")
    said = ["fail", "skip_optional", "", "ignore"]
    data["flow_control"]["pre_analysis"] = [
        {"step": f"s{number}", "action": "Look", "command": "ls", "on_error": each} for number, each in enumerate(said)
    ]
    assert [each[:2] for each in found(IMPL_1=data)] == [
        (7, f"flow_control.pre_analysis[{number}].on_error") for number in (2, 3)
    ]


@pytest.mark.parametrize("given", [None, ""])
def test_a_parent_that_only_the_id_tells_is_remarked(given: str | None) -> None:
    """I002-22: it breaks no rule, and a repair writes it."""
    files = {"IMPL-1": task("IMPL-1", "container"), "IMPL-1.1": task("IMPL-1.1", parent=given)}
    board = Board(tuple(brief.of(name, data) for name, data in files.items()))
    told = rules.check(board, files, lambda path: False)
    assert [(each.rule, each.problem) for each in told if each.field == "context.parent"] == [(0, "the id says IMPL-1")]


def test_a_container_waits_for_its_subtasks_too() -> None:
    """Rule 8: none of them can wait for what waits for it."""
    broken = found(
        IMPL_1=task("IMPL-1", "container"),
        IMPL_1_1=task("IMPL-1.1", parent="IMPL-1", depends_on=["IMPL-2"]),
        IMPL_2=task("IMPL-2", depends_on=["IMPL-1"]),
    )
    assert [each[:2] for each in broken] == [(8, "context.depends_on[0]")] * 2
