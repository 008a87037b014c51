"""The files of document 004: read in every form they have, written in one, and kept as they are."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import SchemaMismatch, TransitionError
from holdfast.files import document
from holdfast.formats.skills import file as files
from holdfast.formats.skills import library, places, transitions, view
from tests.formats.skills import documents
from tests.formats.skills.documents import DEV, TDD
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace


@each_row(
    "key",
    ["features/auth/user-login.md", "", "Add \"login\" to 'it'", "a\\b\nc", "Grüße 📂", "$(true) `x` %s", "-n"],
)
def test_a_file_is_named_after_its_key_as_the_shell_does_it(key: str) -> None:
    """R004-05: the first eight digits of the MD5 of the literal key and a newline."""
    shell = subprocess.run(
        ["bash", "-c", 'printf "%s\\n" "$1" | md5sum | cut -c1-8', "bash", key], capture_output=True, check=True
    )

    assert places.hashed(key) == shell.stdout.decode().strip()
    assert places.stem("dev", key) == f"dev-{places.hashed(key)}"


def test_three_spellings_of_a_key_have_three_files() -> None:
    """I004-24: the text is literal, as in the document; other spellings are found by the index."""
    spellings = ("features/auth/x.md", "./features/auth/x.md", "/home/user/features/auth/x.md")

    assert len({places.hashed(each) for each in spellings}) == 3


@each_row("skill", ["../x", "a/b", "", ".hidden", "x" * 65, "a b", "dev\n"])
def test_a_skill_that_is_no_file_name_is_refused(skill: str) -> None:
    """So that no file leaves its folder."""
    with pytest.raises(TransitionError, match="isn't a valid skill name"):
        places.stem(skill, "x")


@pytest.mark.parametrize(("name", "raw"), [("dev", DEV), ("tdd", TDD)])
def test_the_documents_states_are_read_and_kept_byte_for_byte(project: Workspace, name: str, raw: bytes) -> None:
    """R004-09 to R004-23: reading warns of nothing, and writing the same again changes nothing."""
    path = documents.put(project, f"{name}-172c0b01", raw)

    seen = view.read(project, path)

    assert view.workflow(project, seen).warnings == ()
    assert document.replace(path, json.loads(raw), raw, like=seen.file.document).raw == raw
    assert path.read_bytes() == raw


@pytest.mark.parametrize(("name", "raw"), [("dev", DEV), ("tdd", TDD)])
def test_a_change_touches_its_own_lines_only(project: Workspace, name: str, raw: bytes) -> None:
    """The rest keeps the document's layout, which has some objects on one line."""
    path = documents.put(project, f"{name}-172c0b01", raw)
    seen = view.read(project, path)
    changed = json.loads(raw)
    changed["workflow"]["branch"] = "other"

    written = document.replace(path, changed, raw, like=seen.file.document).raw

    before, after = raw.decode().split("\n"), written.decode().split("\n")
    assert len(before) == len(after)
    assert [line for line in after if line not in before] == ['    "branch": "other"']


def test_a_new_state_has_the_documents_keys(project: Workspace) -> None:
    """R004-10, R004-14 to R004-18: the same keys in the same order, and everything begins as pending or null."""
    rules = library.get(project.root, "dev")
    made = files.fresh(
        rules,
        "dev-1",
        "2025-01-08T20:00:00Z",
        context={"feature_file": "x.md"},
        branch="b",
        task="",
        tasks=[("A", True), ("B", False)],
    )
    wanted = documents.state("dev")

    assert list(made) == list(wanted)
    for part in ("_schema", "workflow", "context", "checkpoints"):
        assert list(made[part]) == list(wanted[part])
    assert made["checkpoints"] == wanted["checkpoints"]
    assert [each["name"] for each in made["state_machine"]["phases"]] == [
        each["name"] for each in wanted["state_machine"]["phases"]
    ]
    assert made["state_machine"]["phases"][3] == wanted["state_machine"]["phases"][3]
    assert made["tasks"][1] == {"index": 2, "description": "B", "status": "pending"}
    assert made["history"] == [{"at": "2025-01-08T20:00:00Z", "event": "workflow_started"}]


def test_a_new_tdd_state_has_the_documents_keys(project: Workspace) -> None:
    """R004-19 to R004-23: it counts its rounds, and its phases hold no more than their names."""
    rules = library.get(project.root, "tdd")
    made = files.fresh(rules, "tdd-1", "t", context={"task_description": "Log in"}, branch="", task="Log in", tasks=())
    wanted = documents.state("tdd")

    assert list(made) == list(wanted)
    assert (list(made["context"]), list(made["test_state"])) == (list(wanted["context"]), list(wanted["test_state"]))
    assert made["state_machine"]["cycle_count"] == 1
    assert made["state_machine"]["phases"][2:] == wanted["state_machine"]["phases"][2:]
    assert made["history"] == [{"at": "t", "event": "workflow_started", "task": "Log in"}]
    assert made["workflow"]["branch"] is None


@pytest.mark.parametrize(
    "data",
    [
        {"name": "CI", "jobs": {}},
        {"workflow": "Ship", "phase": {"current": 1}},
        {"workflow": {}, "phases": []},
        {"workflow": [], "state_machine": {}},
    ],
)
def test_a_file_of_something_else_is_left_alone(project: Workspace, data: dict[str, Any]) -> None:
    """Another program may keep its own JSON there."""
    path = documents.put(project, "feature-order", json.dumps(data).encode())

    with pytest.raises(SchemaMismatch, match="left alone"):
        view.read(project, path)


def test_the_documents_workflow_is_seen_with_its_tasks(project: Workspace) -> None:
    """Tasks stand where the phase is that they are worked on in."""
    now = view.workflow(project, view.read(project, documents.put(project, "dev-172c0b01", DEV)))

    assert [(each.id, each.status) for each in now.phases] == [
        ("load_feature", "completed"),
        ("create_branch", "completed"),
        ("task-1", "completed"),
        ("task-2", "active"),
        ("task-3", "pending"),
        ("verification", "pending"),
        ("pr_creation", "pending"),
    ]
    assert (now.title, now.kind, now.status, now.phase) == (
        "Event Infrastructure",
        "dev",
        "active",
        "Implement OutboxPublisher",
    )
    assert now.id == "dev-evt-infra-a1b2@20250108_200000"


def test_of_several_begun_the_current_phase_names_the_one(project: Workspace) -> None:
    """Else the first of them is worked on."""
    state = documents.state("dev")
    state["state_machine"]["phases"][3]["status"] = "in_progress"
    first = view.workflow(project, view.read(project, documents.put(project, "dev-1", json.dumps(state).encode())))
    state["state_machine"]["current_phase"] = "verification"
    named = view.workflow(project, view.read(project, documents.put(project, "dev-1", json.dumps(state).encode())))

    assert (first.phase, named.phase) == ("Implement OutboxPublisher", "Verification")


def edited(name: str, **changes: Any) -> bytes:
    """Return one of the document's states with other values, given by their path with `__` between its parts."""
    data = documents.state(name)
    for place, value in changes.items():
        *way, last = place.split("__")
        at = data
        for part in way:
            at = at[part]
        if value is ...:
            del at[last]
        else:
            at[last] = value
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state_machine__phases": []}, "the state file lists no phases; they are those of the machine dev"),
        ({"state_machine__phases": ..., "tasks": []}, "the state file lists no phases"),
        ({"state_machine__phases": "x", "_schema__skill": "other"}, "no phases recorded"),
        ({"tasks": None}, ""),
        ({"tasks": [None, 7, {"index": 1}]}, ""),
        ({"history": None, "checkpoints": []}, ""),
        ({"context": ["x"]}, '"context" is not an object'),
        ({"workflow__status": "odd"}, ""),
        ({"workflow__created_at": 7}, ""),
        (
            {"state_machine": {"current_phase": "b", "phases": [{"name": "a", "status": "odd"}]}},
            'the current phase "b" is none of a, so their own statuses count; the status of "a" is "odd"',
        ),
        (
            {"state_machine": {"current_phase": "a", "phases": [{"name": "a"}, {"name": "a"}]}},
            'phase 2 has no name of its own, so it is called "a-2" here',
        ),
        ({"_schema": None}, ""),
    ],
)
def test_odd_values_are_told_and_never_fail(project: Workspace, changes: dict[str, Any], said: str) -> None:
    """I004-6, I004-18: whatever is missing or has another type."""
    path = documents.put(project, "dev-172c0b01", edited("dev", **changes))

    now = view.workflow(project, view.read(project, path))

    assert said in "; ".join(now.warnings)
    assert now.total == len(now.phases)


def test_other_forms_of_ids_times_and_keys_are_read(project: Workspace) -> None:
    """I004-1, I004-13: the original's files have an offset for a zone and their key in `source`."""
    context = {"source": "features/x.md"}
    raw = edited("dev", workflow__created_at="2025-01-08T23:00:00+03:00", workflow__id=..., context=context)
    seen = view.read(project, documents.put(project, "dev-a1b2", raw))

    assert view.workflow(project, seen).id == "dev-a1b2@20250108_200000"
    assert files.key(seen.data, seen.rules) == "features/x.md"
    assert files.skill({}, project.root / "tdd-auth-a1b2.json") == "tdd-auth"


def test_no_task_in_progress_is_none_and_never_null(project: Workspace) -> None:
    """I004-6: the next one that is pending counts, then none."""
    assert view.current_task({"tasks": [{"description": "a", "status": "completed"}]}) is None
    assert view.current_task({"tasks": [{"description": "a"}, {"description": "b", "status": "in_progress"}]}) == 2
    assert view.current_task({"tasks": [{"description": "a", "status": "pending"}]}) == 1
    assert view.current_task({}) is None


def test_the_original_checkpoints_are_understood() -> None:
    """I004-8: `passed` and `failed` as statuses, and booleans as texts."""
    points = {"a": {"status": "failed"}, "b": {"status": "completed", "passed": "false"}, "c": {"status": "passed"}}

    assert [files.failed(each) for each in points.values()] == [True, True, False]
    assert [files.ran(each) for each in points.values()] == [True, True, True]
    assert not files.ran({"status": "running"})
    assert transitions.unmet({"checkpoints": points}, ("a", "c", "d")) == ["a failed"]


def test_its_path_is_where_the_document_has_it(project: Workspace, tmp_path: Path) -> None:
    """R004-01: `.claude/workflow-state/active/{skill}-{hash}.json`."""
    path = places.state(project, "dev", "features/x.md")

    assert (
        path.relative_to(project.root).as_posix()
        == f".claude/workflow-state/active/dev-{places.hashed('features/x.md')}.json"
    )
