"""An adapter is asked only where its format can have something, and always where nobody can tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats import RECORDS
from holdfast.sessions.ownership import owners
from holdfast.workflow import registry
from holdfast.workflow.adapter import CreditsWork, HoldsLaunches, LocksFiles, able
from holdfast.workflow.model import Start
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Found


@pytest.mark.parametrize("look", [registry.all_found, lambda each: registry.candidates(each, "s")])
def test_what_cannot_be_looked_at_is_a_problem_and_not_absent(
    project: Workspace, look: Callable[[Workspace], Found]
) -> None:
    """Else a workflow would be gone without a word."""
    folder = project.root / ".claude"
    folder.symlink_to(folder)

    unread = {each.path.relative_to(folder).as_posix() for each in look(project).problems}

    assert unread == {"state/workflow.json", "agent-state.json", "workflow-state/active"}


def test_a_file_where_a_folder_belongs_holds_no_workflow(project: Workspace) -> None:
    """Also at the folder's own place: `holdfast wfs check` says what it is."""
    for name in (".claude", ".workflow", "untracked"):
        (project.root / name).write_text("x")

    assert registry.all_found(project) == registry.candidates(project, "s")
    assert not registry.all_found(project).problems


@pytest.mark.parametrize("name", [name for name, record in RECORDS.items() if record.AGENTS])
def test_whether_a_present_format_has_an_ability_is_known_without_its_files(project: Workspace, name: str) -> None:
    """So nothing is read for what no format here can do."""
    abilities = (CreditsWork, HoldsLaunches, LocksFiles)
    assert not any(registry.any_able(project, each) for each in abilities), "there are no files"
    place = project.root / RECORDS[name].PRESENCE[0]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("no workflow")
    for ability in abilities:
        assert registry.any_able(project, ability) == able(registry.get(name), ability)


def test_what_a_session_owns_is_all_that_it_is_given(project: Workspace) -> None:
    """Also by a format that reads the last changed of its files whatever it is asked for."""
    adapter = registry.get("compaction")
    made = {title: adapter.start(project, Start(title, total=2)) for title in ("Mine", "Theirs", "Nobody's")}
    owners.own(project, made["Mine"], "session-1")
    owners.own(project, made["Theirs"], "session-2")

    for session, titles in (("session-1", ["Mine"]), ("session-2", ["Theirs"]), ("session-3", [])):
        assert [each.title for each in registry.owned(project, session)] == titles
    assert registry.owned(project, "session-1", ["hybrid"]) == []


@each_row(
    "has, is_able",
    [
        ({"credit": len, "ran": len, "RUNS": "x", "more": 1}, True),
        ({"credit": len, "ran": len}, False),
        ({"credit": len, "ran": None, "RUNS": "x"}, False),
        ({}, False),
    ],
)
def test_an_ability_is_all_that_its_protocol_names(has: dict[str, Any], *, is_able: bool) -> None:
    """Functions and constants; nothing less counts, or an event would fail in the middle."""
    assert able(SimpleNamespace(**has), CreditsWork) is is_able
