"""The general verbs of the `wfs` format on unusual sessions."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.formats.wfs import adapter as wfs
from holdfast.formats.wfs import places, record, store, view
from holdfast.formats.wfs import transitions as wfs_moves
from holdfast.formats.wfs.task import New
from holdfast.sessions.history import history
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.formats.record import Record
    from holdfast.formats.wfs.session import Session
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.adapter import AgentFormat
    from holdfast.workflow.model import Workflow

# mypy holds them to what a format has to offer.
RECORD: Record = record
ADAPTER: AgentFormat = wfs


@pytest.fixture
def workflow(project: Workspace, session: Session) -> Workflow:
    """A session of two tasks, the first of which is blocked and the second active."""
    wfs_moves.add(project, session, New("Test the login"))
    blocked = verbs.update(
        project, verbs.begin(project, view.of_session(project, session)), Changes(status="blocked", error="No key")
    )
    return verbs.begin(project, blocked)


def errors(project: Workspace, workflow: Workflow) -> dict[str, str]:
    """Return what made each task fail, or blocks it."""
    return {phase: record.error for phase, record in history.of(project, workflow).phases.items() if record.error}


def test_an_error_belongs_to_a_task_that_is_blocked_by_it(project: Workspace, workflow: Workflow) -> None:
    """Else it would be taken for that of another task, or lost without a word."""
    for changes in (Changes(error="No network"), Changes(error="No network", status="completed")):
        with pytest.raises(TransitionError, match="add --status blocked"):
            verbs.update(project, workflow, changes)
    assert errors(project, workflow) == {"IMPL-1": "No key"}

    after = verbs.update(project, workflow, Changes(error="No network", status="blocked"))
    assert errors(project, after) == {"IMPL-1": "No key", "IMPL-2": "No network"}


def test_an_agent_that_failed_blocks_its_task_as_a_person_can(project: Workspace, workflow: Workflow) -> None:
    """The format has no other word for it (R002-16)."""
    after = verbs.update(project, workflow, Changes(status="failed", error="No network"))

    assert [phase.status for phase in after.phases] == ["blocked", "blocked"]


def test_what_an_agent_begins_out_of_the_ordinary_is_said(project: Workspace, session: Session) -> None:
    """It runs already, so its task is active all the same."""
    wfs_moves.add(project, session, New("Test the login", depends_on=("IMPL-1",)))
    wfs_moves.block(project, session, "IMPL-1")
    now = view.of_session(project, session)

    waiting = wfs.judge(project, now, "IMPL-2", "active", "")
    blocked = wfs.judge(project, now, "IMPL-1", "active", "")

    assert [phase.status for phase in blocked.workflow.phases] == ["active", "active"]
    assert waiting[2] == "it depends on IMPL-1, not completed yet"
    assert blocked[2] == "it was blocked"


@pytest.mark.parametrize("how", ["completed", "removed", "twice"])
def test_an_agent_begins_the_task_as_it_is_by_now(project: Workspace, session: Session, how: str) -> None:
    """Another may have completed or removed it since the session was read, or copied its file."""
    wfs_moves.add(project, session, New("Test the login"))
    before = view.of_session(project, session)
    task = places.task(session.folder, "IMPL-2")
    if how == "completed":
        wfs_moves.complete(project, session, "IMPL-2", "Done")
    elif how == "removed":
        task.unlink()
    else:
        task.with_name("IMPL-02.json").write_bytes(task.read_bytes())
    kept = task.read_bytes() if task.exists() else b""

    if how == "twice":
        with pytest.raises(HoldfastError, match="files of the same task"):
            wfs.judge(project, before, "IMPL-2", "active", "")
    else:
        assert wfs.judge(project, before, "IMPL-2", "active", "") == (before, False, "", ())
    assert (task.read_bytes() if task.exists() else b"") == kept


def test_a_long_last_message_is_cut_to_a_summary(project: Workspace, session: Session) -> None:
    """Of what an agent said the beginning is kept."""
    wfs.judge(project, view.of_session(project, session), "IMPL-1", "completed", "# " + "x" * 100_000)

    assert len(places.summary(session.folder, "IMPL-1").read_text()) == wfs.SUMMARY_LIMIT_CHARS + 1


def test_a_list_that_cannot_be_written_has_its_task_judged_again(project: Workspace, session: Session) -> None:
    """The next time writes what is missing."""
    listed = session.folder / places.LIST
    listed.unlink()
    listed.mkdir()
    now = view.of_session(project, session)
    with pytest.raises(StateError):
        wfs.judge(project, now, "IMPL-1", "completed", "Done.")
    listed.rmdir()

    assert not wfs.judge(project, now, "IMPL-1", "completed", "Done.").changed
    assert "- [x] **IMPL-1**" in listed.read_text()


def test_of_several_marked_sessions_the_one_marked_last_goes_on(project: Workspace, session: Session) -> None:
    """The others rest until somebody says which it is; all of them are warned of."""
    newer = store.create(project, "Docs")
    for moment, name in enumerate((session.name, newer.name, "WFS-gone")):
        places.marker(project, name).touch()
        os.utime(places.marker(project, name), (moment, moment))

    found = {each.id: each for each in wfs.find(project).workflows}

    assert {name: each.paused for name, each in found.items()} == {session.name: True, newer.name: False}
    assert all("several sessions are marked as active" in each.warnings[0] for each in found.values())


def test_a_paused_session_moves_for_nobody(project: Workspace, workflow: Workflow, session: Session) -> None:
    """Nobody goes on with it by accident; what is noted beside it is no move."""
    store.pause(project, session.name)

    moves: tuple[Callable[[], object], ...] = (
        lambda: verbs.begin(project, workflow),
        lambda: verbs.done(project, workflow),
        lambda: verbs.update(project, workflow, Changes(status="completed")),
        lambda: verbs.update(project, workflow, Changes(current=1)),
    )
    for move in moves:
        with pytest.raises(TransitionError, match=f"is paused; `holdfast wfs resume {session.name}`"):
            move()
    assert verbs.update(project, workflow, Changes(reminders=("Small",))).reminders == ("Small",)


def test_what_can_be_begun_is_pending_and_waits_for_nothing(project: Workspace, session: Session) -> None:
    """Tasks that wait for nothing can be worked on in parallel; the session is at the first of them (I002-24)."""
    wfs_moves.add(project, session, New("Test the login", depends_on=("IMPL-1",)))
    wfs_moves.add(project, session, New("Write the notes"))

    def ready() -> tuple[list[str], list[str]]:
        now = store.get(project, session.name)
        tasks = now.file.data["progress"]["current_tasks"]
        return [phase.id for phase in verbs.ready(view.of_session(project, now))], tasks

    assert ready() == (["IMPL-1", "IMPL-3"], ["IMPL-1"])
    wfs_moves.begin(project, session, "IMPL-1")
    assert ready() == (["IMPL-3"], ["IMPL-1"])
    wfs_moves.complete(project, session, "IMPL-1")
    assert ready() == (["IMPL-2", "IMPL-3"], ["IMPL-2"])
    store.complete(project, session.name, anyway=True)
    assert ready()[0] == []


def test_of_a_long_summary_the_next_tasks_prompt_has_the_beginning(project: Workspace, session: Session) -> None:
    """And where all of it is."""
    wfs_moves.add(project, session, New("Test the login", depends_on=("IMPL-1",)))
    wfs_moves.complete(project, session, "IMPL-1", "# JWT\n\n" + "It works. " * 500)

    step = wfs.step(view.of_session(project, session))

    assert step is not None
    assert "It works." in step.prompt and len(step.prompt) < 1_000
    assert f"(IMPL-1, whole in .workflow/{session.name}/.summaries/IMPL-1-summary.md)" in step.prompt


@pytest.mark.parametrize("said", ["completed", "Completed", "DONE", "archived"])
def test_a_session_is_over_however_that_is_written(project: Workspace, session: Session, said: str) -> None:
    """Whatever marks it."""
    path = places.state(session.folder)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": said}))

    assert store.get(project, session.name).standing == "completed"
