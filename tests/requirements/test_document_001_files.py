"""Document 001, what stands in a state file (R001-05 to -10, I001-8, -17, -19, -22)."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import document_001 as document
from tests.requirements.document_001 import Desk, by_command, state

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

NOW = "2025-12-09T14:30:52.123456Z"
WRITERS = pytest.mark.parametrize("write", document.WRITERS)


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


@WRITERS
def test_a_new_file_has_the_documents_fields_and_no_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, write: Callable[..., None]
) -> None:
    """R001-05, R001-09: each required field with its type, two beside them, and the time in UTC with Z."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T16:30:52.123456+02:00")
    write(desk, "Anything")

    example = document.example("required-fields")
    assert document.violations(desk.state) == []
    assert list(desk.state) == list(example)
    assert set(desk.state["phase"]) == set(example["phase"])
    assert desk.state["phase"]["current"] == 1
    assert desk.state["created_at"] == example["created_at"] == NOW


@pytest.mark.parametrize("field", ["context", "key_reminders"])
def test_the_optional_fields_may_be_missing(desk: Desk, field: str) -> None:
    """R001-05: context and key_reminders are optional."""
    desk.keep({key: value for key, value in state("Anything").items() if key != field})

    assert desk.show()["warnings"] == []
    assert document.RESTORED in desk.compaction()


REQUIRED = [document.code(row[0])[0] for row in document.rows("field-descriptions.md") if row[2] == "✅"]


@pytest.mark.parametrize("field", [name for name in REQUIRED if name != "workflow"])
def test_a_required_field_that_is_missing_is_named_and_the_rest_is_used(desk: Desk, field: str) -> None:
    """R001-05: a file kept by hand without a required field is read as far as it goes, and the field is named."""
    data = state("Half kept")
    outer, _, inner = field.partition(".")
    del (data[outer] if inner else data)[inner or outer]
    path = desk.keep(data)

    shown = desk.show()
    assert shown["title"] == "Half kept"
    assert [warning for warning in shown["warnings"] if outer in warning]
    assert "Half kept" in desk.compaction()
    assert desk.read(path) == data, "reading and restoring repair nothing unasked"


def test_a_file_that_names_no_workflow_is_left_alone_and_said_to_be_none(desk: Desk) -> None:
    """R001-05: without `workflow` it is somebody else's file: neither restored nor touched, but named."""
    path = desk.keep({"phases": 3, "data": [1, 2]}, "foreign")
    before = path.read_bytes()

    assert document.RESTORED not in desk.compaction()
    assert path.read_bytes() == before
    assert [problem["path"] for problem in desk.explain()["problems"]] == [str(path)]


def test_the_types_are_the_documents(desk: Desk) -> None:
    """R001-06: exactly four are named, with six phases, two or three, and twice any number; none given is custom."""
    assert document.types() == {
        "planning": "6",
        "qa-loop": "2-3",
        "implementation": "Variable",
        "custom": "Variable",
    }
    by_command(desk, "Anything")
    assert desk.state["workflow_type"] == "custom"


@pytest.mark.parametrize(
    ("kind", "total"), [(kind, total) for kind in document.types() for total in (1, 2, 3, 4, 5, 6, 7, 40)]
)
def test_another_number_of_phases_than_the_types_table_has_is_a_warning_only(desk: Desk, kind: str, total: int) -> None:
    """I001-22, R001-06: planning has 6 and qa-loop 2-3 phases; anything else is warned of and carried out."""
    said = desk.run("start", "Anything", "--type", kind, "--total", str(total), "--phase", "One")

    low, _, high = document.types()[kind].partition("-")
    usual = low == "Variable" or int(low) <= total <= int(high or low)
    shown = desk.show()
    assert (shown["type"], shown["total"]) == (kind, total)
    assert document.violations(desk.state) == []
    warned = [warning for warning in shown["warnings"] if kind in warning and "phases" in warning]
    assert bool(warned) is not usual
    assert all(warning in said.out for warning in shown["warnings"])


@pytest.mark.parametrize("kind", ["page-orchestration", "qa-skill", "sitemap-skill", "eslint-skill", "release", "plan"])
def test_any_type_is_read_with_a_warning_and_an_unknown_one_is_written_as_custom(desk: Desk, kind: str) -> None:
    """I001-8: the types of the original's own tests and of the daemon."""
    path = desk.keep(state("By hand", workflow_type=kind))
    desk.run("start", "By command", "--type", kind, "--phase", "One")
    desk.put("CLAUDE.local.md", f"# Workflow State\nWorkflow: By memory\nType: {kind}\nPhase: 1/2 - One\n")
    desk.precompact()

    shown = desk.show("By hand")
    assert shown["type"] == kind
    assert [warning for warning in shown["warnings"] if "workflow_type" in warning and kind in warning]
    assert desk.read(path)["workflow_type"] == kind, "what a person wrote stays"
    written = [desk.read(file)["workflow_type"] for file in desk.files if file != path]
    assert written == ["custom", "custom"]


NEUTRAL = {"not_started": "pending", "in_progress": "active", "completed": "completed", "blocked": "blocked"}


@pytest.mark.parametrize("status", document.statuses())
def test_each_status_is_read_written_and_given_back(desk: Desk, status: str) -> None:
    """R001-07: not_started, in_progress, completed and blocked, in the file and in what the model reads."""
    path = desk.keep(state("Anything", phase={"status": status}))
    shown = desk.show()
    assert shown["warnings"] == []
    assert shown["phase_status"] == NEUTRAL[status]

    other = next(word for word in document.statuses() if word != status)
    path.write_text(json.dumps(state("Anything", phase={"status": other})))
    desk.run("update", "--status", NEUTRAL[status])

    assert desk.read(path)["phase"]["status"] == status
    assert document.violations(desk.read(path)) == []
    assert f"({'pending' if status == 'not_started' else status})" in desk.compaction()


def test_a_status_is_one_of_four_or_it_is_refused_or_warned_of(desk: Desk) -> None:
    """R001-07: the command line writes no other word; one kept by hand is read as in progress, with a warning."""
    path = desk.keep(state("Anything"))
    assert "failed" in desk.run("update", "--status", "failed", code=1).err
    assert desk.read(path) == state("Anything")

    desk.keep(state("Anything", phase={"status": "nearly there"}))
    shown = desk.show()
    assert shown["phase_status"] == "active"
    assert [warning for warning in shown["warnings"] if "nearly there" in warning]


@pytest.mark.parametrize("entry", document.code(document.words("required-reading.md")))
def test_every_required_reading_gets_its_at_sign(desk: Desk, entry: str) -> None:
    """R001-08: every entry starts with @, whether it was given so or not, by command, memory file or hand."""
    bare = entry.removeprefix("@")
    desk.run("start", "By command", "--phase", "One", "--read", bare)
    desk.run("update", "By command", "--read", entry, "--read", f"{bare}.more")
    desk.put("CLAUDE.local.md", f"# Workflow State\nWorkflow: By memory\n\nRequired reading:\n- {bare}\n\n{entry}\n")
    desk.precompact()

    by_command_file, by_memory_file_ = desk.files
    assert desk.read(by_command_file)["required_reading"] == [entry, f"{entry}.more"]
    assert desk.read(by_memory_file_)["required_reading"] == [entry]


def test_an_entry_that_was_kept_without_its_at_sign_is_given_to_the_model_with_it(desk: Desk) -> None:
    """R001-08: the model always reads `@path`."""
    desk.put("docs/a.md", "a")
    path = desk.keep(state("Anything", required_reading=["docs/a.md"]))

    assert "@docs/a.md" in document.under(desk.compaction(), "REQUIRED READING")
    desk.run("update", "--read", "docs/b.md")
    assert desk.read(path)["required_reading"][-1] == "@docs/b.md"


@pytest.mark.parametrize("created", ["2025-12-09T14:30:52Z", "2025-12-09T14:30:52.123456Z", "2025-12-09T14:30:52.5Z"])
def test_created_at_never_changes(desk: Desk, created: str) -> None:
    """R001-09: with or without microseconds it is read without a warning and survives every way of updating, as is."""
    path = desk.keep(state("Anything", created_at=created), age=60)
    assert (desk.show()["created_at"], desk.show()["warnings"]) == (created, [])

    for deed in (
        lambda: desk.run("update", "--remind", "more", "--set", "a=1", "--read", "b.md"),
        lambda: desk.run("update", "--phase", "1", "--status", "blocked", "--total", "4"),
        lambda: desk.run("next"),
        lambda: desk.run("done", "--note", "noted"),
        lambda: desk.put("CLAUDE.local.md", "Workflow: Anything\nPhase: 4/4 - End\n\n@docs/new.md\n", age=-5),
        desk.compaction,
    ):
        before = path.read_bytes()
        deed()
        assert desk.read(path)["created_at"] == created
        if deed is desk.compaction:
            assert path.read_bytes() != before, "the memory file's news was taken over"
    assert desk.files == [path]


@pytest.mark.parametrize("name", document.EXAMPLES)
def test_the_documents_examples_are_valid_word_for_word(desk: Desk, name: str) -> None:
    """R001-10: the main example, Example 1 at its start and after its update, Example 2 and Example 3."""
    data = document.example(name)
    assert document.violations(data) == []
    path = desk.keep(document.words(f"{name}.json"), "example")

    shown = desk.show()
    assert shown["warnings"] == []
    assert desk.explain()["problems"] == []
    assert (shown["title"], shown["type"]) == (data["workflow"], data["workflow_type"])
    assert (shown["current"], shown["total"]) == (data["phase"]["current"], data["phase"]["total"])
    assert (shown["phase"], shown["phase_status"]) == (data["phase"]["name"], NEUTRAL[data["phase"]["status"]])
    for key in ("required_reading", "key_reminders", "context", "created_at"):
        assert shown[key] == data[key]
    assert path.read_text("utf-8") == document.words(f"{name}.json")


@pytest.mark.parametrize(
    ("current", "total", "read", "asked"),
    [
        *((12, 10, "10/10", asked) for asked in (9, 11, 13)),
        *((0, 3, "1/3", 2), (-1, 3, "1/3", 2), (2, 0, "1/1", 2), ("2", "5", "2/5", 3), ("x", 5, "1/5", 3)),
    ],
)
def test_the_phase_lies_between_one_and_the_total_and_nothing_crashes(
    desk: Desk, current: Any, total: Any, read: str, asked: int
) -> None:
    """I001-17: what lies outside is warned of and stays in the file; no command writes a phase beyond the total."""
    path = desk.keep(state("Anything", phase={"current": current, "total": total}))

    shown = desk.show()
    assert f"{shown['current']}/{shown['total']}" == read
    if isinstance(current, int) or not current.isdecimal():
        assert [warning for warning in shown["warnings"] if "phase" in warning]
    assert f"Phase: {read}" in desk.compaction()
    assert desk.read(path)["phase"]["current"] == current

    with suppress(AssertionError):  # it was refused
        desk.run("update", "--phase", str(asked))
    now = desk.read(path)["phase"]
    assert (now["current"], now["total"]) == (current, total) or 1 <= int(now["current"]) <= int(now["total"])


@pytest.mark.parametrize("asked", ["0", "4", "400"])
def test_no_command_leaves_the_bounds(desk: Desk, asked: str) -> None:
    """I001-17: a phase that does not exist is refused with the reason, unless the total is said to have grown."""
    path = desk.keep(state("Anything"))
    assert "3" in desk.run("update", "--phase", asked, code=1).err
    assert desk.read(path) == state("Anything")

    if asked != "0":
        desk.run("update", "--phase", asked, "--total", asked)
        assert desk.read(path)["phase"]["current"] == desk.read(path)["phase"]["total"] == int(asked)


def test_a_blocked_phase_is_blocked_and_cleared_again(desk: Desk) -> None:
    """I001-17: `blocked` has no transitions in the document; it is entered from and left for any other status."""
    desk.run("start", "Anything", "--phase", "One", "--phase", "Two")
    desk.run("update", "--status", "blocked")
    assert desk.state["phase"]["status"] == "blocked"
    assert "(blocked)" in desk.compaction()
    assert "unblock phase" in desk.run("next").out

    desk.run("update", "--status", "active")
    assert desk.state["phase"] == {"current": 1, "total": 2, "name": "One", "status": "in_progress"}


@WRITERS
def test_the_real_characters_are_written_in_utf_8(desk: Desk, write: Callable[..., None]) -> None:
    """I001-19: ✅ ⬜ 🔄 → ├ └ │ ─ as they are, neither escaped nor mangled, on disk and towards the model."""
    name = "✅ ⬜ 🔄 → ├ └ │ ─ Ärger 日本"
    write(desk, name)

    assert f'"{name}"'.encode() in desk.file.read_bytes()
    text = desk.compaction()
    assert f"Workflow: {name}" in text
    assert "✅ Workflow restored" in text
    assert name in desk.run("status").out


def test_a_save_leaves_the_rights_and_the_keys_of_a_file_kept_by_hand(desk: Desk) -> None:
    """R001-05: context is free, and keys the document does not know are somebody's: nothing is thrown away."""
    data = state("Anything", context={"deep": {"list": [1, {"a": None}]}, "x": 1.5}, owner="me", tags=["a"])
    path = desk.keep(data)
    path.chmod(0o640)
    desk.run("update", "--set", "y=2")

    assert desk.read(path) == data | {"context": {**data["context"], "y": 2}}
    assert path.stat().st_mode & 0o777 == 0o640
