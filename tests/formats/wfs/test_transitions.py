"""The files of `wfs` tasks that are broken down, begun, completed and blocked."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.formats.wfs import change as wfs_change
from holdfast.formats.wfs import check, index, places, store, transitions
from holdfast.formats.wfs import session as sessions
from holdfast.formats.wfs import task as wfs_task
from holdfast.formats.wfs.edit import Edit
from holdfast.formats.wfs.task import New
from holdfast.sessions.history import generations

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.formats.wfs.session import Session
    from holdfast.sessions.workspace import Workspace


def task(session: Session, id_: str) -> dict[str, Any]:
    """Return what a task's file holds."""
    data: dict[str, Any] = json.loads(places.task(session.folder, id_).read_text("utf-8"))
    return data


def say(session: Session, id_: str, status: str) -> None:
    """Write a status into a task's file by hand."""
    places.task(session.folder, id_).write_text(json.dumps(task(session, id_) | {"status": status}))


def remedies(project: Workspace, session: Session) -> list[str]:
    """Return what a check of a session says is to be done."""
    return [each.remedy for each in check.findings(project, [session.folder])]


def test_a_task_whose_summary_cannot_be_written_is_not_completed(project: Workspace, session: Session) -> None:
    """Else nobody would write it later: a completed task is not done twice."""
    (session.folder / places.SUMMARIES).write_text("in the way")

    with pytest.raises(StateError):
        transitions.complete(project, session, "IMPL-1", "JWT works.")

    assert task(session, "IMPL-1")["status"] == "pending"


@pytest.mark.parametrize("said", ["container", "completed"])
def test_a_container_whose_subtasks_are_completed_can_get_more(project: Workspace, session: Session, said: str) -> None:
    """Whatever its own file says, there is work left then."""
    transitions.decompose(project, session, "IMPL-1", [New("Design it")])
    transitions.complete(project, session, "IMPL-1.1")
    say(session, "IMPL-1", said)

    after = transitions.decompose(project, session, "IMPL-1", [New("Build it")])

    assert [each.id for each in after.tasks] == ["IMPL-1.2"]
    assert task(session, "IMPL-1")["status"] == "container"


def test_a_completed_task_is_not_taken_apart(project: Workspace, session: Session) -> None:
    """What was done in it would be lost in a container."""
    transitions.complete(project, session, "IMPL-1")

    with pytest.raises(TransitionError, match="IMPL-1 is completed; add a task of its own"):
        transitions.decompose(project, session, "IMPL-1", [New("Design it")])


@pytest.mark.parametrize(
    ("move", "said", "written"),
    [
        (transitions.begin, "in_progress", "active"),
        (transitions.complete, "done", "completed"),
        (transitions.block, "on hold", "blocked"),
    ],
)
def test_a_status_in_other_words_is_written_as_the_document_has_it(
    project: Workspace, session: Session, move: Callable[[Workspace, Session, str], object], said: str, written: str
) -> None:
    """Also by a move that changes nothing else: it is there already by what the word means."""
    say(session, "IMPL-1", said)

    move(project, session, "IMPL-1")

    assert task(session, "IMPL-1")["status"] == written


@pytest.mark.parametrize("said", ["cancelled", "skipped", "abandoned"])
def test_what_was_dropped_is_not_done(project: Workspace, session: Session, said: str) -> None:
    """A person decides whether what depends on it can begin all the same."""
    transitions.add(project, session, New("Test the login", depends_on=("IMPL-1",)))
    say(session, "IMPL-1", said)

    with pytest.raises(TransitionError, match="IMPL-2 depends on IMPL-1, which is not completed"):
        transitions.begin(project, session, "IMPL-2")


def test_a_subtask_waits_for_what_its_container_depends_on(project: Workspace, session: Session) -> None:
    """Whoever begins it all the same says so."""
    transitions.add(project, session, New("Ship it", depends_on=("IMPL-1",)))
    transitions.decompose(project, session, "IMPL-2", [New("Write the notes")])

    with pytest.raises(TransitionError, match=r"IMPL-2\.1 depends on IMPL-1, which is not completed"):
        transitions.begin(project, session, "IMPL-2.1")
    assert transitions.begin(project, session, "IMPL-2.1", anyway=True).changed


def test_a_check_asks_for_no_repair_of_a_completed_session(project: Workspace, session: Session) -> None:
    """None would be done (R002-10); while it is unfinished, one is."""
    say(session, "IMPL-1", "active")
    assert check.MEND in remedies(project, session)

    store.complete(project, session.name, anyway=True)
    assert check.MEND not in remedies(project, session)


def test_a_check_sends_nobody_to_what_does_nothing(project: Workspace, session: Session) -> None:
    """No repair knows what an unknown file held, and no list of a completed session is written anew."""
    places.task(session.folder, "IMPL-9").write_text("{")
    store.complete(project, session.name, anyway=True)
    listed = session.folder / places.LIST
    listed.write_text(listed.read_text().replace("- [ ]", "- [x]"))

    found = {each.file: each.remedy for each in check.findings(project, [session.folder])}

    assert found[f"{session.name}/{places.TASKS}/IMPL-9.json"] == "write it anew as JSON"
    assert found[f"{session.name}/{places.LIST}"] == check.AS_IT_IS


def test_each_task_of_a_chain_waits_for_the_one_before(project: Workspace, session: Session) -> None:
    """And for no other: whoever drops one task from the middle mends one file."""
    transitions.chain(project, session, [New(title) for title in ("One", "Two", "Three")])

    waits = [task(session, f"IMPL-{number}")["context"]["depends_on"] for number in (2, 3, 4)]
    assert waits == [[], ["IMPL-2"], ["IMPL-3"]]


@pytest.mark.parametrize(("known", "said"), [(20, "IMPL-20$"), (21, "IMPL-20 and 1 more$")])
def test_who_names_a_task_that_is_not_there_hears_some_that_are(
    project: Workspace, session: Session, known: int, said: str
) -> None:
    """Twenty of them, and how many more there are."""
    transitions.chain(project, session, [New("More")] * (known - 1))

    with pytest.raises(HoldfastError, match=f"there is no task 'IMPL-99'; there are IMPL-1, .*{said}"):
        transitions.begin(project, session, "IMPL-99")


def test_a_task_that_waits_is_not_opened_again_either(project: Workspace, session: Session) -> None:
    """Its completion is undone by what it depends on first, unless somebody says otherwise."""
    transitions.add(project, session, New("Test the login", depends_on=("IMPL-1",)))
    transitions.complete(project, session, "IMPL-2")

    with pytest.raises(TransitionError, match="IMPL-2 depends on IMPL-1, which is not completed"):
        transitions.begin(project, session, "IMPL-2", reopen=True)
    assert task(session, "IMPL-2")["status"] == "completed"
    assert transitions.begin(project, session, "IMPL-2", reopen=True, anyway=True).changed


def test_what_is_only_remarked_of_a_task_is_told_and_done(project: Workspace, session: Session) -> None:
    """An agent that the document does not know is nobody's mistake (R002-21); a rule that would be broken is one."""
    after = transitions.change(project, session, "IMPL-1", Edit({"agent": "@somebody"}))

    assert task(session, "IMPL-1")["meta"]["agent"] == "@somebody"
    assert ["meta.agent" in each for each in after.notes] == [True]
    assert transitions.change(project, session, "IMPL-1", Edit({"title": "Implement it"})).notes == ()

    with pytest.raises(HoldfastError, match=r"nothing changed: .*it is absolute"):
        transitions.change(project, session, "IMPL-1", Edit({"focus": ["/etc"]}))
    assert task(session, "IMPL-1")["context"]["focus_paths"] == []


def test_a_rule_that_is_broken_already_is_in_nobodys_way(project: Workspace, session: Session) -> None:
    """Who changes something else need not mend it first; a second mistake of the kind is refused all the same."""
    path = places.task(session.folder, "IMPL-1")
    data = task(session, "IMPL-1")
    data["context"]["focus_paths"] = ["/etc"]
    path.write_text(json.dumps(data))

    assert transitions.change(project, session, "IMPL-1", Edit({"require": ["JWT"]})).changed
    with pytest.raises(HoldfastError, match="/usr"):
        transitions.change(project, session, "IMPL-1", Edit({"focus": ["/usr"]}))


def test_a_completed_task_is_opened_again_only_by_that_name(project: Workspace, session: Session) -> None:
    """Neither a hook nor who begins it whatever it waits for undoes a completion; nobody blocks it either."""
    transitions.complete(project, session, "IMPL-1")

    for move in (transitions.begin, transitions.block, lambda *given: transitions.begin(*given, anyway=True)):
        with pytest.raises(TransitionError, match="IMPL-1 is completed; `holdfast wfs task reopen IMPL-1`"):
            move(project, session, "IMPL-1")
    assert task(session, "IMPL-1")["status"] == "completed"
    assert transitions.begin(project, session, "IMPL-1", reopen=True).tasks[0].status == "active"


def test_a_completed_task_gets_the_summary_that_it_lacks(project: Workspace, session: Session) -> None:
    """And no other after it; one with a heading of its own is kept as it is."""
    summary = places.summary(session.folder, "IMPL-1")
    said = ["", "# JWT\n\nIt works.", "Too late."]

    assert [transitions.complete(project, session, "IMPL-1", each).changed for each in said] == [True, True, False]
    assert summary.read_text() == "# JWT\n\nIt works.\n"

    transitions.note(project, session, "IMPL-1", summary="It works.")
    assert summary.read_text() == "# IMPL-1: Implement login\n\nIt works.\n"


def test_what_would_break_a_rule_makes_no_task(project: Workspace, session: Session) -> None:
    """Whoever asks hears which, and nothing is written."""
    transitions.decompose(project, session, "IMPL-1", [New("Design it")])
    made = sorted(places.task(session.folder, "x").parent.iterdir())
    refused = {
        "a task needs a title": New(" "),
        "'novel' is not a type of task": New("x", kind="novel"),
        "there is no task IMPL-7, IMPL-8 to depend on": New("x", depends_on=("IMPL-7", "IMPL-1", "IMPL-8")),
        "the focus path '/etc' can't be used: it is absolute": New("x", focus_paths=("/etc",)),
    }

    for why, new in refused.items():
        for parent in ("", "IMPL-1"):
            with pytest.raises(HoldfastError, match=why):
                transitions.add(project, session, new, parent)
    with pytest.raises(TransitionError, match=r"IMPL-1\.1 can't have subtasks: an id has two levels at most"):
        transitions.add(project, session, New("x"), "IMPL-1.1")
    assert sorted(places.task(session.folder, "x").parent.iterdir()) == made


def test_an_id_is_given_once(project: Workspace, session: Session) -> None:
    """Also where the file that has it cannot be read, or is named otherwise."""
    places.task(session.folder, "IMPL-7").write_text("{")
    assert [each.id for each in transitions.add(project, session, New("Test it")).tasks] == ["IMPL-8"]

    places.task(session.folder, "IMPL-8").rename(places.task(session.folder, "IMPL-11"))
    assert [each.id for each in transitions.add(project, session, New("Ship it")).tasks] == ["IMPL-12"]


def test_a_subtask_inherits_what_its_container_has(project: Workspace, session: Session) -> None:
    """R002-31: its focus unless it has one of its own, its requirements, and what it inherited itself."""
    data = task(session, "IMPL-1")
    data["context"] |= {"focus_paths": ["src"], "requirements": ["JWT", "OAuth"], "shared_context": {"ttl": "9"}}
    data["context"]["inherited"] = {"from": "IMPL-0", "context": ["Python", "JWT"]}
    places.task(session.folder, "IMPL-1").write_text(json.dumps(data))

    transitions.decompose(project, session, "IMPL-1", [New("One"), New("Two", focus_paths=("tests",))])

    one, two = (task(session, f"IMPL-1.{number}")["context"] for number in (1, 2))
    assert one["inherited"] == {"from": "IMPL-1", "context": ["Python", "JWT", "OAuth"]}
    assert (one["parent"], one["shared_context"]) == ("IMPL-1", {"ttl": "9"})
    assert (one["focus_paths"], two["focus_paths"]) == (["src"], ["tests"])
    assert (one["requirements"], one["depends_on"]) == ([], [])


def test_a_summary_that_gives_way_is_kept(project: Workspace, session: Session) -> None:
    """What came of a task the first time is not lost."""
    path = places.summary(session.folder, "IMPL-1")
    transitions.complete(project, session, "IMPL-1", "# First")

    transitions.note(project, session, "IMPL-1", summary="# Second")

    rows = generations.all(project, path)
    assert [generations.content(project, row["id"]) for row in rows] == [b"# First\n"]


def test_no_new_task_is_written_over_a_file(project: Workspace, session: Session) -> None:
    """Somebody may have made it in this moment."""
    before = task(session, "IMPL-1")
    with (
        pytest.raises(StateError, match="is there already"),
        wfs_change.changing(project, session, why="test") as change,
    ):
        change.create("IMPL-1", wfs_task.fresh("IMPL-1", New("Another")))

    assert task(session, "IMPL-1") == before


def test_nothing_is_written_in_a_completed_session(project: Workspace, session: Session) -> None:
    """Whoever comes late does not bring it back."""
    store.complete(project, session.name, anyway=True)
    before = places.state(session.folder).read_bytes()

    for move in (transitions.begin, transitions.complete, transitions.block):
        with pytest.raises(TransitionError, match="is completed; `holdfast wfs resume"):
            move(project, session, "IMPL-1")
    with pytest.raises(TransitionError, match="is completed; `holdfast wfs resume"):
        transitions.add(project, session, New("Late"))
    assert places.state(session.folder).read_bytes() == before


def test_the_phases_of_a_session_follow_its_tasks_both_ways(project: Workspace, session: Session) -> None:
    """R002-46: the work is begun with the first task, done with the last, and goes on where one is opened again."""

    def phases() -> tuple[str, tuple[str, ...]]:
        now = store.get(project, session.name)
        return now.phase, sessions.completed_phases(now.file.data)

    transitions.add(project, session, New("Test it"))
    assert phases() == ("PLAN", ())
    for number, expected in ((1, ("IMPLEMENT", ("PLAN",))), (2, ("REVIEW", ("PLAN", "IMPLEMENT")))):
        transitions.complete(project, session, f"IMPL-{number}")
        assert phases() == expected
    transitions.begin(project, session, "IMPL-1", reopen=True)
    assert phases() == ("IMPLEMENT", ("PLAN",))
    transitions.complete(project, session, "IMPL-1")
    transitions.add(project, session, New("One more"))
    assert phases() == ("IMPLEMENT", ("PLAN",))


def test_a_task_added_to_a_session_that_was_completed_leaves_its_review_to_come(
    project: Workspace, session: Session
) -> None:
    """R002-46: completing it put all phases behind it; opened again, only the plan is."""
    transitions.complete(project, session, "IMPL-1")
    ended = store.complete(project, session.name)
    assert sessions.completed_phases(ended.file.data) == sessions.PHASES

    transitions.add(project, store.resume(project, session.name), New("One more"))

    now = store.get(project, session.name)
    assert (now.phase, sessions.completed_phases(now.file.data)) == ("IMPLEMENT", ("PLAN",))


def test_a_session_grows_with_its_tasks_and_never_shrinks(project: Workspace, session: Session) -> None:
    """R002-41, R002-42: medium from 5 tasks on, complex from 16; containers do not count."""

    def kind() -> str:
        return store.get(project, session.name).kind

    transitions.chain(project, session, [New("More")] * 3)
    assert kind() == "simple"
    transitions.decompose(project, session, "IMPL-1", [New("Design it")])
    assert kind() == "simple"
    transitions.add(project, session, New("The fifth"))
    assert kind() == "medium"
    transitions.chain(project, session, [New("More")] * 10)
    assert kind() == "medium"
    transitions.add(project, session, New("The sixteenth"))
    assert kind() == "complex"
    places.task(session.folder, "IMPL-2").unlink()
    transitions.begin(project, session, "IMPL-1.1")
    assert kind() == "complex"


def test_a_container_is_as_far_as_its_subtasks(project: Workspace, session: Session) -> None:
    """R002-18: active while one is, else blocked where one is; completed with the last."""

    def status() -> str:
        board = index.board(project, session.folder)
        return board.status(board.find("IMPL-1"))

    transitions.decompose(project, session, "IMPL-1", [New("One"), New("Two")])
    assert status() == "pending"
    transitions.block(project, session, "IMPL-1.1")
    assert status() == "blocked"
    transitions.begin(project, session, "IMPL-1.2")
    assert status() == "active"
    transitions.complete(project, session, "IMPL-1.2")
    assert status() == "blocked"
    transitions.complete(project, session, "IMPL-1.1")
    assert status() == "completed"


def test_of_two_files_of_one_task_none_is_moved(project: Workspace, session: Session) -> None:
    """Nobody knows which is meant; both are named."""
    places.task(session.folder, "IMPL-01").write_text(json.dumps(task(session, "IMPL-1") | {"id": "IMPL-01"}))

    with pytest.raises(HoldfastError, match=r"IMPL-01\.json and IMPL-1\.json are files of the same task"):
        transitions.begin(project, session, "IMPL-1")


def test_no_edit_makes_a_task_wait_for_itself(project: Workspace, session: Session) -> None:
    """Neither at once nor over others: none of them could ever begin (rule 8)."""
    transitions.add(project, session, New("Test it", depends_on=("IMPL-1",)))
    transitions.add(project, session, New("Ship it", depends_on=("IMPL-2",)))

    for other, way in (("IMPL-1", ""), ("IMPL-2", "IMPL-2 → "), ("IMPL-3", "IMPL-3 → IMPL-2 → ")):
        with pytest.raises(HoldfastError, match=rf"it depends on this task in turn \(IMPL-1 → {way}IMPL-1\)"):
            transitions.change(project, session, "IMPL-1", Edit({"after": [other]}))
    assert transitions.change(project, session, "IMPL-3", Edit({"after": ["IMPL-1"]})).changed


def test_a_list_that_was_edited_by_hand_is_told_once(project: Workspace, session: Session) -> None:
    """By the change that generates it anew: what was ticked there moved nothing."""
    listed = session.folder / places.LIST
    listed.write_text(listed.read_text().replace("- [ ]", "- [x]"))

    told = [transitions.note(project, session, "IMPL-1", title=title).notes for title in ("One", "Two")]

    assert ["was edited by hand" in each for each in told[0]] == [True]
    assert told[1] == ()


@pytest.mark.parametrize("phase", ["PLAN", "", None, "SHIP"])
def test_a_phase_that_is_missing_follows_from_the_tasks(
    project: Workspace, session: Session, phase: str | None
) -> None:
    """One that somebody called otherwise stays."""
    path = places.state(session.folder)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"current_phase": phase}))

    transitions.begin(project, session, "IMPL-1")

    assert store.get(project, session.name).phase == ("SHIP" if phase == "SHIP" else "IMPLEMENT")


def test_a_change_of_a_task_puts_a_broken_state_back(project: Workspace, session: Session) -> None:
    """Though nothing else would change in it; what it held stays beside it."""
    state = places.state(session.folder)
    before = json.loads(state.read_text())
    state.write_text('{"cut')
    os.utime(state, (1_700_000_000, 1_700_000_000))  # or it may be one that is being saved

    transitions.note(project, session, "IMPL-1", title="Implement it")

    assert json.loads(state.read_text()) == before
    assert [each.read_text() for each in state.parent.glob(f"{state.name}.corrupt-*")] == ['{"cut']
