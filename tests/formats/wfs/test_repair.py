"""What a repair of `.workflow/` leaves alone, and what it corrects besides the finding."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from holdfast.formats.wfs import change, check, index, markers, places, repair, store, task, transitions
from holdfast.formats.wfs import list as wfs_list
from holdfast.formats.wfs.task import New
from holdfast.sessions.history import generations
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.wfs.session import Session
    from holdfast.sessions.workspace import Workspace


def repaired(project: Workspace) -> list[str]:
    """Do what is to be done, and return what was said of it."""
    said = []
    for each in repair.repairs(project):
        said.append(each.what)
        each.do()
    return said


def test_a_state_that_may_not_be_read_is_not_taken_for_broken(
    project: Workspace, session: Session, tmp_path: Path
) -> None:
    """Nobody knows what it holds: `check` says what is in the way."""
    elsewhere = tmp_path / "elsewhere.json"
    places.state(session.folder).rename(elsewhere)
    places.state(session.folder).symlink_to(elsewhere)
    before = elsewhere.read_bytes()

    assert repaired(project) == []
    assert places.state(session.folder).is_symlink()
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize("marked", [True, False])
def test_a_state_that_is_made_anew_says_what_the_marker_says(
    project: Workspace, session: Session, marked: bool
) -> None:
    """In one go: there is no status left to be set right after it."""
    unknown = session.folder.with_name("WFS-by-hand")
    session.folder.rename(unknown)
    places.state(unknown).write_text("{")
    places.marker(project, session.name).unlink()
    if marked:
        places.marker(project, unknown.name).touch()

    (said,) = repaired(project)

    assert "it is made anew" in said
    assert store.get(project, unknown.name).raw_status == ("active" if marked else "paused")


def test_a_state_that_is_lost_comes_back_as_a_sessions(project: Workspace, session: Session) -> None:
    """Another tool's file that stood in its place for a while is kept too, and is no state of a session."""
    state = places.state(session.folder)
    generations.keep(project, state, b'{"steps": []}', why="test")
    state.unlink()

    (said,) = repaired(project)

    assert "its last content is put back" in said
    assert store.get(project, session.name).topic == "User Auth"


def test_a_session_without_a_folder_of_tasks_gets_its_state_back_too(project: Workspace, session: Session) -> None:
    """Only another tool's file in its place says that it is none."""
    shutil.rmtree(session.folder / places.TASKS)
    places.state(session.folder).unlink()

    assert "its last content is put back" in repaired(project)[0]
    assert store.get(project, session.name).topic == "User Auth"


def test_without_a_list_the_plan_says_what_a_session_is_about(project: Workspace, session: Session) -> None:
    """Its folder's name is what is left where no document says it."""
    unknown = session.folder.with_name("WFS-by-hand")
    session.folder.rename(unknown)
    places.state(unknown).write_text("{")
    (unknown / places.LIST).unlink()
    (unknown / places.PLAN).write_text("# Implementation Plan: Ship it\n")

    repaired(project)

    assert store.get(project, unknown.name).topic == "Ship it"


def test_a_parent_that_cannot_be_read_is_there_all_the_same(project: Workspace, session: Session) -> None:
    """No container is made over it: whoever wrote it can still mend it."""
    child = task.fresh("IMPL-7.1", New("Design it"), {"id": "IMPL-7"})
    places.task(session.folder, "IMPL-7.1").write_text(json.dumps(child))
    broken = places.task(session.folder, "IMPL-7")
    broken.write_text('{"id": "IMPL-7", "title": ')
    change.follow(project, session, index.board(project, session.folder), why="test")
    wfs_list.renew(project, session)

    assert repaired(project) == []
    assert broken.read_text() == '{"id": "IMPL-7", "title": '


def test_what_no_repair_does_is_not_said_to_be_done(project: Workspace, session: Session) -> None:
    """A list with lines of somebody's own stays; a task that is too large is not known to be broken; one without a
    status says nothing that could be meant.
    """
    transitions.add(project, session, New("Write the notes"))
    listed = session.folder / places.LIST
    listed.write_text(listed.read_text().replace("- [ ]", "- [x]") + "\n## Timeline\n- 12:30 the build is green\n")
    places.task(session.folder, "IMPL-1").write_bytes(b" " * (statefile.LIMIT_BYTES + 1))
    path = places.task(session.folder, "IMPL-2")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": ""}))
    repaired(project)

    assert repaired(project) == []


def test_a_copy_under_another_name_needs_no_parent(project: Workspace, session: Session) -> None:
    """Whoever saved it may mean another task: nobody knows which of the two is right."""
    copy = task.fresh("IMPL-7.1", New("Design it"), {"id": "IMPL-1"})
    path = places.task(session.folder, "IMPL-1-old")
    path.write_text(json.dumps(copy))
    repaired(project)

    assert not places.task(session.folder, "IMPL-7").exists()
    assert json.loads(path.read_text()) == copy


def test_another_tools_file_in_a_sessions_place_gives_way_to_the_session(project: Workspace, session: Session) -> None:
    """Its tasks say that it is one; what stood there is kept beside it. Without tasks the folder is another tool's."""
    state = places.state(session.folder)
    state.write_text('{"steps": []}')

    (said,) = repaired(project)

    assert "its last content is put back, and this one kept beside it" in said
    assert store.get(project, session.name).topic == "User Auth"
    assert [each.read_text() for each in session.folder.glob(f"{state.name}.*")] == ['{"steps": []}']

    theirs = places.state(session.folder.with_name("WFS-theirs"))
    theirs.parent.mkdir()
    theirs.write_text('{"steps": []}')
    assert repaired(project) == []
    assert theirs.read_text() == '{"steps": []}'


def test_of_a_copy_under_another_name_only_what_is_said_is_set_right(project: Workspace, session: Session) -> None:
    """Its status has one meaning, whichever task it is."""
    copy = task.fresh("IMPL-7.1", New("Design it"), {"id": "IMPL-1"}) | {"status": "in_progress"}
    path = places.task(session.folder, "IMPL-1-old")
    path.write_text(json.dumps(copy))

    said = [each for each in repaired(project) if "IMPL-1-old" in each]

    assert [each.partition(": ")[2] for each in said] == ["its status in_progress becomes active"]
    assert json.loads(path.read_text()) == copy | {"status": "active"}


def test_the_marker_of_a_session_behind_a_link_stays(project: Workspace, session: Session, tmp_path: Path) -> None:
    """The session is there, though nothing is done in it; of the others the one marked last goes on."""
    (tmp_path / "elsewhere").mkdir()
    session.folder.with_name("WFS-linked").symlink_to(tmp_path / "elsewhere")
    newer = store.create(project, "Docs")
    for moment, name in enumerate((newer.name, session.name, "WFS-linked", "WFS-gone")):
        places.marker(project, name).touch()
        os.utime(places.marker(project, name), (moment, moment))

    said = repaired(project)

    assert places.marker(project, "WFS-linked").exists()
    assert markers.active(project) == ["WFS-linked", session.name]
    assert any(f"{session.name} was marked last and stays" in each for each in said)


def test_a_context_that_is_no_object_is_a_persons_to_mend(project: Workspace, session: Session) -> None:
    """Nothing is written over what somebody wrote; the rules name it."""
    transitions.decompose(project, session, "IMPL-1", [New("Design it")])
    path = places.task(session.folder, "IMPL-1.1")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"context": "see the plan"}))
    before = path.read_bytes()
    repaired(project)

    assert path.read_bytes() == before
    assert repaired(project) == []


def test_the_list_goes_before_the_plan_in_saying_what_a_session_is_about(project: Workspace, session: Session) -> None:
    """It is generated from the state; a plan may call it otherwise."""
    unknown = session.folder.with_name("WFS-by-hand")
    session.folder.rename(unknown)
    places.state(unknown).write_text("{")
    (unknown / places.PLAN).write_text("# Implementation Plan: Ship it\n")

    repaired(project)

    assert store.get(project, unknown.name).topic == "User Auth"


def test_the_marker_of_a_completed_session_is_removed(project: Workspace, session: Session) -> None:
    """Its status stays: nothing brings it back unasked."""
    store.complete(project, session.name, anyway=True)
    places.marker(project, session.name).touch()

    (said,) = repaired(project)

    assert "the marker is removed" in said
    assert markers.active(project) == []
    assert store.get(project, session.name).standing == "completed"


def test_a_list_of_somebodys_own_that_is_replaced_is_kept(project: Workspace, session: Session) -> None:
    """As a generation: it is nowhere else."""
    listed = session.folder / places.LIST
    own = listed.read_bytes() + b"\n## Timeline\n- 12:30 the build is green\n"
    listed.write_bytes(own)
    assert "stays as it is" in wfs_list.renew(project, session)

    assert wfs_list.renew(project, session, anyway=True) == ""

    assert b"Timeline" not in listed.read_bytes()
    assert own in [generations.content(project, row["id"]) for row in generations.all(project, listed)]


def test_a_check_misses_no_session_that_lies_elsewhere(project: Workspace, session: Session, tmp_path: Path) -> None:
    """A marker of one in `active/` or behind a link marks something; one of nothing is told."""
    session.folder.with_name("active").mkdir()
    (session.folder.with_name("active") / "WFS-beside").mkdir()
    (tmp_path / "elsewhere").mkdir()
    session.folder.with_name("WFS-linked").symlink_to(tmp_path / "elsewhere")
    for name in ("WFS-beside", "WFS-linked", "WFS-gone"):
        places.marker(project, name).touch()

    found = [each.value for each in check.findings(project, []) if each.problem == "there is no such session"]

    assert found == ["WFS-gone"]


def test_a_parent_that_is_named_wrongly_costs_the_rest_of_the_context_nothing(
    project: Workspace, session: Session
) -> None:
    """Requirements, paths and dependencies of the task stay as they are."""
    child = task.fresh("IMPL-1.1", New("Design it", requirements=("JWT",)), {"id": "IMPL-9"})
    before = child["context"]
    places.task(session.folder, "IMPL-1.1").write_text(json.dumps(child))

    repaired(project)

    after = json.loads(places.task(session.folder, "IMPL-1.1").read_bytes())["context"]
    assert after == before | {"parent": "IMPL-1"}
    assert after["requirements"] == ["JWT"]


def test_a_completed_session_keeps_no_other_from_being_repaired(project: Workspace, session: Session) -> None:
    """Only in that one nothing is written any more."""
    store.complete(project, session.name, anyway=True)
    later = store.create(project, "Zebra crossing")
    transitions.add(project, later, New("Paint it"))
    (later.folder / places.LIST).unlink()

    assert any(later.name in said for said in repaired(project))
    assert (later.folder / places.LIST).is_file()


def test_completing_takes_the_marker_of_a_session_that_only_says_that_it_is(
    project: Workspace, session: Session
) -> None:
    """Another tool wrote its status, and left the marker."""
    state = places.state(session.folder)
    state.write_text(json.dumps(json.loads(state.read_bytes()) | {"status": "completed"}))
    assert markers.active(project) == [session.name]

    store.complete(project, session.name, anyway=True)

    assert markers.active(project) == []


@pytest.mark.parametrize(("parts", "kind"), [(4, "simple"), (5, "medium")])
def test_a_state_that_is_made_anew_counts_the_tasks_that_can_be_worked_on(
    project: Workspace, session: Session, parts: int, kind: str
) -> None:
    """R002-41: a container is no task of its own; a type that is too high would never go down again."""
    transitions.decompose(project, session, "IMPL-1", [New("Design it")] * parts)
    unknown = session.folder.with_name("WFS-by-hand")
    session.folder.rename(unknown)
    places.state(unknown).write_text("{")

    repaired(project)

    assert store.get(project, unknown.name).kind == kind


@pytest.mark.parametrize("given", [None, "", ...])
def test_a_parent_that_only_the_id_tells_is_written(project: Workspace, session: Session, given: object) -> None:
    """I002-22: other tools read the field."""
    transitions.decompose(project, session, "IMPL-1", [New("Design it")])
    path = places.task(session.folder, "IMPL-1.1")
    data = json.loads(path.read_text())
    data["context"] |= {"parent": given}
    data["context"] = {name: value for name, value in data["context"].items() if value is not ...}
    path.write_text(json.dumps(data))

    (said,) = repaired(project)

    assert said.endswith("its parent becomes IMPL-1")
    assert json.loads(path.read_text())["context"]["parent"] == "IMPL-1"


def test_a_parent_that_is_written_with_other_zeros_is_none_to_set_right(project: Workspace, session: Session) -> None:
    """I002-2: both are the id of one task, so no repair after it finds it again either."""
    transitions.decompose(project, session, "IMPL-1", [New("Design it")])
    path = places.task(session.folder, "IMPL-1.1")
    data = json.loads(path.read_bytes())
    path.write_text(json.dumps(data | {"context": data["context"] | {"parent": "IMPL-001"}}))

    assert repaired(project) == []
    assert json.loads(path.read_bytes())["context"]["parent"] == "IMPL-001"


def test_a_wrong_parent_holds_nothing_up(project: Workspace, session: Session) -> None:
    """The id decides, before the repair as after it."""
    transitions.decompose(project, session, "IMPL-1", [New("Design it")])
    transitions.add(project, session, New("Ship it", depends_on=("IMPL-1",)))
    path = places.task(session.folder, "IMPL-1.1")
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"context": data["context"] | {"parent": "IMPL-2"}}))
    assert [each.id for each in index.board(project, session.folder).executable] == ["IMPL-1.1"]

    assert repaired(project)

    assert json.loads(path.read_text())["context"]["parent"] == "IMPL-1"
    assert [each.id for each in index.board(project, session.folder).executable] == ["IMPL-1.1"]
    assert repaired(project) == []


def test_two_sessions_that_are_marked_are_told_of(project: Workspace, session: Session) -> None:
    """R002-05: a check fails over it, for nobody knows which is meant."""
    store.create(project, "Docs")
    assert [each for each in check.findings(project, []) if each.fails] == []

    places.marker(project, session.name).touch()

    assert [(each.field, each.value) for each in check.findings(project, []) if each.fails] == [
        ("markers", ["WFS-docs", session.name])
    ]


@pytest.mark.parametrize("said", [None, "WFS-other"])
def test_a_state_that_does_not_name_its_session_is_told(project: Workspace, session: Session, said: str | None) -> None:
    """R002-08: also one that names none."""
    path = places.state(session.folder)
    data = json.loads(path.read_text()) | {"session_id": said}
    path.write_text(json.dumps({name: value for name, value in data.items() if value is not None}))

    told = [each for each in check.findings(project, [session.folder]) if each.field == "session_id"]

    assert [(each.value, each.problem) for each in told] == [(said, "its folder says another name")]
