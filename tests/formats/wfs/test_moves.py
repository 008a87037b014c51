"""What becomes of the files of `wfs` tasks that are taken apart, begun, completed and blocked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.formats.wfs import check, moves, places, store
from holdfast.formats.wfs.task import New

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.formats.wfs.session import Session
    from holdfast.project import Project


def task(session: Session, id_: str) -> dict[str, Any]:
    """Return what a task's file holds."""
    data: dict[str, Any] = json.loads(places.task(session.folder, id_).read_text("utf-8"))
    return data


def say(session: Session, id_: str, status: str) -> None:
    """Write a status into a task's file by hand."""
    places.task(session.folder, id_).write_text(json.dumps(task(session, id_) | {"status": status}))


def remedies(project: Project, session: Session) -> list[str]:
    """Return what a check of a session says is to be done."""
    return [each.remedy for each in check.look(project, [session.folder])]


def test_a_task_whose_summary_cannot_be_written_is_not_completed(project: Project, session: Session) -> None:
    """Else nobody would write it later: a completed task is not done twice."""
    (session.folder / places.SUMMARIES).write_text("in the way")

    with pytest.raises(StateError):
        moves.complete(project, session, "IMPL-1", "JWT works.")

    assert task(session, "IMPL-1")["status"] == "pending"


@pytest.mark.parametrize("said", ["container", "completed"])
def test_a_container_whose_subtasks_are_completed_can_get_more(project: Project, session: Session, said: str) -> None:
    """Whatever its own file says, there is work left then."""
    moves.decompose(project, session, "IMPL-1", [New("Design it")])
    moves.complete(project, session, "IMPL-1.1")
    say(session, "IMPL-1", said)

    after = moves.decompose(project, session, "IMPL-1", [New("Build it")])

    assert [each.id for each in after.tasks] == ["IMPL-1.2"]
    assert task(session, "IMPL-1")["status"] == "container"


def test_a_completed_task_is_not_taken_apart(project: Project, session: Session) -> None:
    """What was done in it would be lost in a container."""
    moves.complete(project, session, "IMPL-1")

    with pytest.raises(TransitionError, match="IMPL-1 is completed, so it is not taken apart"):
        moves.decompose(project, session, "IMPL-1", [New("Design it")])


@pytest.mark.parametrize(
    ("move", "said", "written"),
    [
        (moves.begin, "in_progress", "active"),
        (moves.complete, "done", "completed"),
        (moves.block, "on hold", "blocked"),
    ],
)
def test_a_status_in_other_words_is_written_as_the_document_has_it(
    project: Project, session: Session, move: Callable[[Project, Session, str], object], said: str, written: str
) -> None:
    """Also by a move that changes nothing else: it is there already by what the word means."""
    say(session, "IMPL-1", said)

    move(project, session, "IMPL-1")

    assert task(session, "IMPL-1")["status"] == written


@pytest.mark.parametrize("said", ["cancelled", "skipped", "abandoned"])
def test_what_was_dropped_is_not_done(project: Project, session: Session, said: str) -> None:
    """A person decides whether what depends on it can begin all the same."""
    moves.add(project, session, New("Test the login", depends_on=("IMPL-1",)))
    say(session, "IMPL-1", said)

    with pytest.raises(TransitionError, match="IMPL-2 depends on IMPL-1, not completed yet"):
        moves.begin(project, session, "IMPL-2")


def test_a_subtask_waits_for_what_its_container_depends_on(project: Project, session: Session) -> None:
    """Whoever begins it all the same says so."""
    moves.add(project, session, New("Ship it", depends_on=("IMPL-1",)))
    moves.decompose(project, session, "IMPL-2", [New("Write the notes")])

    with pytest.raises(TransitionError, match=r"IMPL-2\.1 depends on IMPL-1, not completed yet"):
        moves.begin(project, session, "IMPL-2.1")
    assert moves.begin(project, session, "IMPL-2.1", anyway=True).changed


def test_a_check_asks_for_no_repair_of_a_completed_session(project: Project, session: Session) -> None:
    """None would be done (R002-10); while it is unfinished, one is."""
    say(session, "IMPL-1", "active")
    assert check.MEND in remedies(project, session)

    store.complete(project, session.name, anyway=True)
    assert check.MEND not in remedies(project, session)


def test_a_check_sends_nobody_to_what_does_nothing(project: Project, session: Session) -> None:
    """No repair knows what an unknown file held, and no list of a completed session is written anew."""
    places.task(session.folder, "IMPL-9").write_text("{")
    store.complete(project, session.name, anyway=True)
    listed = session.folder / places.LIST
    listed.write_text(listed.read_text().replace("- [ ]", "- [x]"))

    found = {each.file: each.remedy for each in check.look(project, [session.folder])}

    assert found[f"{session.name}/{places.TASKS}/IMPL-9.json"] == "write it anew as JSON"
    assert found[f"{session.name}/{places.LIST}"] == check.AS_IT_IS


def test_each_task_of_a_chain_waits_for_the_one_before(project: Project, session: Session) -> None:
    """And for no other: whoever drops one task from the middle mends one file."""
    moves.chain(project, session, [New(title) for title in ("One", "Two", "Three")])

    waits = [task(session, f"IMPL-{number}")["context"]["depends_on"] for number in (2, 3, 4)]
    assert waits == [[], ["IMPL-2"], ["IMPL-3"]]


@pytest.mark.parametrize(("known", "said"), [(20, "IMPL-20$"), (21, "IMPL-20 and 1 more$")])
def test_who_names_a_task_that_is_not_there_hears_some_that_are(
    project: Project, session: Session, known: int, said: str
) -> None:
    """Twenty of them, and how many more there are."""
    moves.chain(project, session, [New("More")] * (known - 1))

    with pytest.raises(HoldfastError, match=f"there is no task 'IMPL-99'; there are IMPL-1, .*{said}"):
        moves.begin(project, session, "IMPL-99")
