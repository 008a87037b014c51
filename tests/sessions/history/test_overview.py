"""What there is to see of a workflow: its file's word, and what the ledger knows of saves, restores and agents."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import LedgerError, StateError
from holdfast.files import document
from holdfast.sessions.agents import lifecycle, notices, todolists
from holdfast.sessions.compaction import snapshots
from holdfast.sessions.history import generations, history
from holdfast.sessions.history.history import History
from holdfast.sessions.history.overview import Recipient, Restore, Save, Session, as_json, gather
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import statefile, todos, views
from holdfast.workflow.model import Found, Phase, Problem
from tests.handmade import ME, OTHER, THIRD, workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.sessions.history.overview import Overview
    from holdfast.workflow.model import Workflow

PHASES = (Phase("phase_1", 1, "Draft", "completed"), Phase("phase_2", 2, "Build", "active"))
DEAD = "999999999"  # no process has this number


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Give a function that sets the clock to a time of one day and returns the stamp."""

    def go(time: str) -> str:
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}Z")
        return f"2026-03-01T{time}.000000Z"

    go("10:00:00")
    return go


@pytest.fixture
def project(tmp_path: Path, at: Callable[[str], str]) -> Iterator[Workspace]:
    """An empty project at ten o'clock."""
    project = Workspace.open(tmp_path)
    yield project
    project.close()


@pytest.fixture
def release(project: Workspace) -> Workflow:
    """A workflow in its second phase."""
    return workflow(project.root, phases=PHASES)


def seen(project: Workspace, workflow: Workflow, *problems: Problem) -> Overview:
    """Return what there is to see of a workflow that is where it should be."""
    return gather(project, workflow, Found((workflow,), problems))


def compact(project: Workspace, *workflows: Workflow, session: str = ME, why: str = "auto") -> None:
    """Leave a snapshot."""
    snapshots.leave(project, session, why, [snapshots.of(each) for each in workflows])


def launch(
    project: Workspace, call: str, workflow: Workflow | None, *, session: str = ME, run: str = "", kind: str = "builder"
) -> None:
    """Launch an agent, in the background when its run is named, for the second phase of a workflow if any."""
    phase = "phase_2" if workflow else None
    lifecycle.launched(project, session, call, kind, workflow.key if workflow else None, phase)
    if run:
        lifecycle.reported(project, session, run, kind, "running")
        lifecycle.named(project, session, call, run)


def in_flight(overview: Overview) -> list[str | None]:
    """Return the ids of the agents in flight, as programs are told them."""
    return [each["agent_id"] for each in as_json(overview)["agents"]]


def test_a_workflow_the_ledger_never_saw(project: Workspace, release: Workflow) -> None:
    """There is what its file says, and nothing is made up."""
    overview = seen(project, release)

    assert overview.workflow is release
    assert overview.todos == tuple(todos.todo_list(release))
    assert (overview.history, overview.agents, overview.recipients) == (History(), (), ())
    assert (overview.last_save, overview.last_restore, overview.owner) == (None, None, None)
    assert (overview.missing, overview.archived, overview.problems, overview.ledger) == (frozenset(), False, (), "")


def test_the_last_save_is_the_newest_precompact_that_names_it(project: Workspace, at: Any, release: Workflow) -> None:
    """With its trigger and whose compaction it was; what other workflows' seals say does not count."""
    compact(project, release, why="manual")
    when = at("10:05:00")
    compact(project, workflow(project.root, "Other"), release, session=OTHER)
    at("10:06:00")
    compact(project, workflow(project.root, "Other"))

    assert seen(project, release).last_save == Save(when, "auto", OTHER)


@pytest.mark.parametrize(("sealed", "kept", "newer"), [("10:00:00", "10:01:00", "kept"), ("10:01:00", "10:00:00", "")])
def test_of_a_seal_and_a_write_the_newer_counts(
    project: Workspace, at: Any, release: Workflow, sealed: str, kept: str, newer: str
) -> None:
    """Every write keeps a generation, and so is a save."""
    stamps = {"": at(sealed), "kept": at(kept)}
    at(sealed)
    compact(project, release)
    at(kept)
    generations.keep(project, release.path, release.raw, why="done 1")

    expected = Save(stamps["kept"], reason="done 1") if newer else Save(stamps[""], "auto", ME)
    assert seen(project, release).last_save == expected


def test_a_save_says_whether_the_file_has_changed_since(project: Workspace, at: Any, release: Workflow) -> None:
    """A snapshot and a generation each know the content they hold."""
    compact(project, release)
    edited = replace(release, raw=b"edited by hand")

    assert seen(project, edited).last_save == Save("2026-03-01T10:00:00.000000Z", "auto", ME, current=False)

    when = at("10:01:00")
    generations.keep(project, release.path, b"something older", why="start")
    assert seen(project, edited).last_save == Save(when, reason="start", current=False)


def test_a_path_that_is_used_again_has_the_saves_of_each_content(
    project: Workspace, at: Any, release: Workflow
) -> None:
    """An archived workflow's last save is of its own content, not of the workflow that took its place."""
    when = at("10:01:00")
    generations.keep(project, release.path, release.raw, why="done")
    at("10:02:00")
    generations.keep(project, release.path, b"the next workflow", why="start")

    overview = gather(project, release, Found())
    assert (overview.last_save, overview.archived) == (Save(when, reason="done"), True)


def test_the_last_restore_is_the_newest_seal_that_was_claimed(project: Workspace, at: Any, release: Workflow) -> None:
    """Where, when, and when its snapshot was left; a compaction that never came restored nothing."""
    compact(project, release)
    assert seen(project, release).last_restore is None

    when = at("10:01:00")
    snapshots.claim(project, ME, known=True)
    at("10:02:00")
    compact(project, release)

    assert seen(project, release).last_restore == Restore(when, ME, "2026-03-01T10:00:00.000000Z")


def test_what_a_write_that_failed_found_is_no_save(
    project: Workspace, at: Any, release: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept in the ledger before the write, in case; only what was written counts."""
    written = statefile.write(project, release.path, {"workflow": "Release"}, None, why="start")
    at("10:05:00")
    release.path.write_text('{"workflow": "Release", "by": "hand"}')

    def full(*_: object, **__: object) -> None:
        raise StateError(release.path, "no space is left")

    monkeypatch.setattr(document, "replace", full)
    with pytest.raises(StateError):
        statefile.write(project, release.path, {"workflow": "X"}, statefile.read(project, release.path), why="update")

    assert [each["why"] for each in generations.all(project, release.path)] == ["before update", "start"]
    expected = Save("2026-03-01T10:00:00.000000Z", reason="start")
    by_hand = replace(release, raw=release.path.read_bytes())
    assert seen(project, by_hand).last_save == replace(expected, current=False)
    assert seen(project, replace(release, raw=written.document.raw)).last_save == expected


def test_a_restore_without_a_precompact_is_no_save(project: Workspace, release: Workflow) -> None:
    """Where PreCompact never fired, the spent snapshot says that something was restored, and no more."""
    compact(project, release, why="none")
    snapshots.claim(project, ME, known=True)

    overview = seen(project, release)
    assert overview.last_save is None
    assert overview.last_restore == Restore("2026-03-01T10:00:00.000000Z", ME, None)


def test_agents_of_every_session_are_in_flight(project: Workspace, at: Any, release: Workflow) -> None:
    """Whoever launched them for this workflow; for no phase in particular only those of the session that owns it."""
    owners.own(project, release, ME)
    launch(project, "1", release, run="mine")
    at("10:01:00")
    launch(project, "2", release, run="theirs", session=OTHER)
    launch(project, "3", None, run="my-helper")
    launch(project, "4", None, run="their-helper", session=OTHER)
    launch(project, "5", workflow(project.root, "Other"), run="elsewhere")

    overview = seen(project, release)
    assert in_flight(overview) == ["mine", "theirs", "my-helper"]
    assert as_json(overview)["agents"][0] == {
        "session": ME,
        "agent_type": "builder",
        "agent_id": "mine",
        "phase": "phase_2",
        "since": "2026-03-01T10:00:00.000000Z",
        "background": True,
    }
    assert overview.agents[2].phase is None


def test_agents_of_sessions_that_own_nothing_are_in_flight_of_what_nobody_owns(
    project: Workspace, at: Any, release: Workflow
) -> None:
    """For no phase in particular: of live sessions of this worktree, unless they own another unfinished workflow."""
    other, over = workflow(project.root, "Other"), workflow(project.root, "Over", status="completed")
    found = Found((release, other, over))
    for session in (ME, OTHER, THIRD, "never seen", "elsewhere"):
        launch(project, session, None, run=f"of {session}", session=session)
        if session != "never seen":
            sessions.note_event(project, session)
    owners.own(project, over, ME)
    owners.own(project, other, OTHER)
    sessions.ended(project, THIRD)
    project.ledger.run("UPDATE sessions SET worktree = '/elsewhere' WHERE id = 'elsewhere'")

    assert in_flight(gather(project, release, found)) == [f"of {ME}"]
    assert in_flight(gather(project, other, found)) == [f"of {OTHER}"], "its owner's, nobody else's"
    assert in_flight(gather(project, over, found)) == [], "nobody works on what is finished"

    at("11:01:00")
    assert in_flight(gather(project, release, found)) == [], "a session that has said nothing for an hour is not live"


def test_agents_that_ended_unused_are_of_the_same_sessions(project: Workspace, at: Any, release: Workflow) -> None:
    """What they brought is named beside what runs, as long as somebody can still use it."""
    sessions.note_event(project, ME)
    sessions.note_event(project, OTHER)
    owners.own(project, release, ME)
    for call, session, work in (("mine", ME, release), ("free", ME, None), ("gone", OTHER, release)):
        launch(project, call, work, session=session, run=call)
        lifecycle.reported(project, session, call, "builder", "stopped", f"{call} is done.")
    assert [each.agent_id for each in seen(project, release).unused] == ["free", "gone", "mine"]
    sessions.ended(project, OTHER)

    overview = seen(project, release)
    assert [each.agent_id for each in overview.unused] == ["free", "mine"]
    assert overview.agents == ()
    said = as_json(overview)["unused_results"]
    assert [(each["agent_id"], each["status"], each["last_message"]) for each in said] == [
        ("free", "finished", "free is done."),
        ("mine", "finished", "mine is done."),
    ]
    notices.notified(project, ME, "mine", "mine", "completed", "mine is done.")
    assert [each.agent_id for each in seen(project, release).unused] == ["free"]


def test_an_agent_that_ended_is_not_in_flight(project: Workspace, release: Workflow) -> None:
    """It reported an end, or its launch was judged or given up."""
    for call, state in (("1", "stopped"), ("2", "failed"), ("3", "missing")):
        launch(project, call, release, run=call)
        lifecycle.reported(project, ME, call, "builder", state)  # type: ignore[arg-type]
    launch(project, "4", release, run="4")
    lifecycle.judged(project, ME, "4", "completed")
    launch(project, "5", release)
    lifecycle.abandon_open(project, ME)

    assert seen(project, release).agents == ()


def test_a_foreground_agent_has_the_id_of_the_one_run_it_can_be(project: Workspace, at: Any, release: Workflow) -> None:
    """The client names it only when it returns; until then a single new run of its kind can only be it."""
    lifecycle.reported(project, ME, "before", "builder", "running")
    at("10:01:00")
    launch(project, "1", release)
    assert in_flight(seen(project, release)) == [None]

    lifecycle.reported(project, ME, "of-another-kind", "tester", "running")
    lifecycle.reported(project, OTHER, "of-another-session", "builder", "running")
    launch(project, "2", release, run="named", kind="builder")
    lifecycle.reported(project, ME, "it", "builder", "running")
    assert [(each.agent_id, each.background) for each in seen(project, release).agents] == [
        ("it", False),
        ("named", True),
    ]

    lifecycle.reported(project, ME, "or-it", "builder", "running")
    assert in_flight(seen(project, release)) == [None, "named"]


def test_of_two_foreground_agents_of_a_kind_neither_is_guessed(project: Workspace, release: Workflow) -> None:
    """Which of them the run belongs to nobody knows yet; another session's is another matter."""
    launch(project, "1", release)
    launch(project, "2", release)
    launch(project, "3", release, session=OTHER)
    lifecycle.reported(project, ME, "one", "builder", "running")
    lifecycle.reported(project, OTHER, "other", "builder", "running")

    assert in_flight(seen(project, release)) == [None, None, "other"]


@pytest.mark.parametrize("process", [None, str(os.getpid())], ids=["unknown", "running"])
def test_agents_of_a_session_that_is_gone_are_not_in_flight(
    project: Workspace, at: Any, release: Workflow, process: str | None
) -> None:
    """It ended, or its process did; one that is merely silent may be waiting for its agent."""
    for session, held in ((ME, process), (OTHER, process), (THIRD, DEAD)):
        sessions.note_event(project, session, held)
        launch(project, session, release, run=f"of {session}", session=session)
    assert in_flight(seen(project, release)) == [f"of {ME}", f"of {OTHER}"]

    sessions.ended(project, OTHER)
    at("13:00:00")
    assert in_flight(seen(project, release)) == [f"of {ME}"]


def test_agents_of_a_session_on_another_machine_may_run(project: Workspace, release: Workflow) -> None:
    """The number of a process means nothing there."""
    sessions.note_event(project, ME, DEAD)
    launch(project, "1", release, run="it")
    project.ledger.run("UPDATE sessions SET host = 'elsewhere'")

    assert in_flight(seen(project, release)) == ["it"]


def test_a_copy_in_another_worktree_has_agents_seals_and_lists_of_its_own(
    project: Workspace, release: Workflow
) -> None:
    """A state file that is committed lies in every checkout."""
    launch(project, "1", release, run="it")
    compact(project, release)
    todolists.tell(project, ME, release.key, "digest")
    for table in ("launches", "seals", "todo_lists"):
        project.ledger.run(f"UPDATE {table} SET worktree = '/elsewhere'")

    overview = seen(project, release)
    assert (overview.agents, overview.last_save, overview.recipients) == ((), None, ())


def test_the_owners_other_agents_do_not_work_for_what_is_finished(project: Workspace, release: Workflow) -> None:
    """Who has completed it goes on with something else."""
    finished = replace(release, status="completed")
    owners.own(project, finished, ME)
    launch(project, "1", None, run="helper")
    launch(project, "2", finished, run="late")

    assert in_flight(seen(project, finished)) == ["late"]


def test_whether_sessions_were_told_the_present_list(project: Workspace, at: Any, release: Workflow) -> None:
    """The last told first."""
    todolists.tell(project, ME, release.key, todos.digest(release))
    todolists.tell(project, THIRD, "another", todos.digest(release))
    when = at("10:01:00")
    todolists.tell(project, OTHER, release.key, "an earlier one")

    assert seen(project, release).recipients == (
        Recipient(OTHER, when, current=False),
        Recipient(ME, "2026-03-01T10:00:00.000000Z", current=True),
    )


def test_whose_it_is(project: Workspace, at: Any, release: Workflow) -> None:
    """The owner, whether it is live, and when it was last heard of."""
    owners.own(project, release, ME)
    assert seen(project, release).owner == Session(ME, live=False, last_seen="")

    when = at("10:01:00")
    sessions.note_event(project, ME)
    assert seen(project, release).owner == Session(ME, live=True, last_seen=when)

    sessions.ended(project, ME)
    assert seen(project, release).owner == Session(ME, live=False, last_seen=when)


def test_which_required_reading_is_missing(project: Workspace, release: Workflow) -> None:
    """I001-21: what is there is there, everything else is named."""
    (project.root / "there.md").write_text("x")
    reading = replace(release, reading=("@there.md", "@gone.md", "@\0"))

    assert seen(project, reading).missing == {"@gone.md", "@\0"}


def test_what_the_history_says(project: Workspace, at: Any, release: Workflow) -> None:
    """When each phase ran."""
    history.observe(project, release, at=at("10:01:00"))
    at("10:03:00")

    assert seen(project, release).history == history.of(project, release)
    assert seen(project, release).history.phases["phase_2"].seconds == 120


def test_problems_are_passed_on(project: Workspace, release: Workflow) -> None:
    """Files that could not be read are part of the picture."""
    problem = Problem(project.root / "x.json", "is empty")

    assert seen(project, release, problem).problems == (problem,)


def test_without_a_ledger_there_is_what_the_file_says(project: Workspace, home: Path, release: Workflow) -> None:
    """And why there is no more."""
    (home / ".local" / "state").mkdir(parents=True)
    (home / ".local" / "state" / "holdfast").write_text("in the way")

    overview = seen(project, release)
    assert overview.workflow is release
    assert "cannot be used" in overview.ledger


def test_a_ledger_that_refuses_costs_no_view(
    project: Workspace, release: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked for too long, say: the reason is shown."""

    def refuse(*_: object) -> None:
        raise LedgerError("database is locked")

    owners.own(project, release, ME)
    monkeypatch.setattr(snapshots, "naming", refuse)

    overview = seen(project, release)
    assert (overview.ledger, overview.owner, overview.history) == ("database is locked", None, History())


def test_looking_writes_nothing(project: Workspace, release: Workflow) -> None:
    """Neither in the project nor in the ledger."""

    def held() -> dict[str, Any]:
        names = [row["name"] for row in project.ledger.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: project.ledger.rows(f"SELECT * FROM {name} ORDER BY 1") for name in names}
        return {name: found for name, found in rows.items() if found}

    sessions.note_event(project, ME)
    owners.own(project, release, ME)
    launch(project, "1", release)
    compact(project, release)
    before = held()

    seen(project, release)

    assert held() == before
    assert list(project.root.iterdir()) == []


def test_at_rest_only_what_happened_makes_a_difference(project: Workspace, at: Any, release: Workflow) -> None:
    """Time that passes and a session that is heard of change nothing worth telling; a launch does."""
    assert seen(project, release).at_rest() == seen(project, release).at_rest()
    owners.own(project, release, ME)
    sessions.note_event(project, ME)
    history.observe(project, release, at=at("10:01:00"))
    before = seen(project, release)
    at("10:02:00")
    sessions.note_event(project, ME)
    after = seen(project, release)

    assert before != after
    assert before.at_rest() == after.at_rest()
    assert after.at_rest().history.phases["phase_2"].started_at == "2026-03-01T10:01:00.000000Z"

    launch(project, "1", release)
    assert seen(project, release).at_rest() != after.at_rest()


def test_for_programs_all_of_it_is_json(project: Workspace, at: Any, release: Workflow) -> None:
    """Every key there was before the ledger was asked, and what it knows."""
    (project.root / "there.md").write_text("x")
    reading = replace(release, reading=("@there.md", "@gone.md"))
    history.observe(project, reading, at=at("10:01:00"))
    owners.own(project, reading, ME)
    compact(project, reading)
    snapshots.claim(project, ME, known=True)
    launch(project, "1", reading, run="it")
    todolists.tell(project, ME, reading.key, "an earlier one")
    at("10:01:30")
    stamp = "2026-03-01T10:01:00.000000Z"

    said = as_json(seen(project, reading))

    whole = views.whole(reading)
    phases = said.pop("phases")
    assert {name: said[name] for name in whole if name != "phases"} == {
        name: value for name, value in whole.items() if name != "phases"
    }
    ran = {"attempts": 1, "started_at": stamp, "ended_at": None, "seconds": 30.0, "error": ""}
    assert [phase.pop("history") for phase in phases][1] == ran
    assert phases == whole["phases"]
    assert {name: value for name, value in said.items() if name not in whole} == {
        "percent": 20,
        "history": {"started_at": stamp, "ended_at": None, "seconds": 30.0},
        "agents": [
            {
                "session": ME,
                "agent_type": "builder",
                "agent_id": "it",
                "phase": "phase_2",
                "since": stamp,
                "background": True,
            }
        ],
        "unused_results": [],
        "todos": todos.todo_list(reading),
        "todo_recipients": [{"session": ME, "sent_at": stamp, "current": False}],
        "last_save": {"at": stamp, "trigger": "auto", "session": ME, "reason": "", "current": True},
        "last_restore": {"at": stamp, "session": ME, "saved_at": stamp},
        "owner": ME,
        "missing_reading": ["@gone.md"],
        "outside_reading": [],
    }


def test_for_programs_what_nobody_knows_is_null(project: Workspace, release: Workflow) -> None:
    """No invented times."""
    said = as_json(seen(project, release))

    assert (said["last_save"], said["last_restore"], said["owner"]) == (None, None, None)
    assert [phase["history"] for phase in said["phases"]] == [None, None]
    assert said["history"] == {"started_at": "", "ended_at": None, "seconds": 0.0}
    assert (said["agents"], said["todo_recipients"], said["missing_reading"]) == ([], [], [])
