"""`/clear` and a compaction that changes the session's id: what goes on under the new id."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import claude
from holdfast.process import liveness
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD
from tests.signals import Agent, asked, begin, compacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject
WORK = (("Design", "builder", "Design it."), ("Look", "builder", "Look it."))


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project whose client process runs, in which a session has a workflow."""
    monkeypatch.setattr(claude, "process", lambda environ: str(os.getpid()))
    made = holdfast_project({})
    begin(made, "startup")
    phases = ("--phase", "Design @builder", "--phase", "Build @builder")
    holdfast("start", "Work", "--format", "hybrid", *phases, root=made.root, session=ME)
    asked(made, "first")
    return made


def clear(project: HoldfastProject) -> None:
    """Send what the client sends at `/clear`, in its order."""
    project.fire("SessionEnd", "SessionEnd-clear")
    project.session = OTHER
    begin(project, "clear")


def at_work(project: HoldfastProject, description: str, number: int) -> Agent:
    """Launch an agent in the background."""
    return Agent(project, description, prompt=f"{description} it.", number=number, background=True).at_work()


def test_after_clear_what_runs_goes_on_and_what_has_ended_is_asked_for_anew(project: HoldfastProject) -> None:
    """A running agent isn't started twice, and its end moves its phase, under whichever id; an ended one may run again.

    Another `/clear` changes nothing about that.
    """
    running, ended = at_work(project, "Design", 1), at_work(project, "Look", 2)
    ended.stopped("Nothing to be seen.")
    for session in (OTHER, THIRD):
        project.fire("SessionEnd", "SessionEnd-clear")
        project.session = session
        begin(project, "clear").assert_advised(f"builder ({running.run}) is running")
        asked(project, session)
        twin, anew = (Agent(project, *what, number=int(session[0]) + 10) for what in WORK)
        twin.about_to().assert_denied("is running already", running.run)
        assert "permissionDecision" not in anew.about_to().specific
    words = "DELIVERABLES:\n- src/design.md\nCONTEXT_FOR_NEXT: Build on it."
    running.stopped(words)
    running.notified(words=words)
    phase = json.loads((project.root / ".claude/state/workflow.json").read_text())["phases"][0]
    assert (phase["status"], phase["deliverables"]) == ("completed", ["src/design.md"])


def test_a_new_client_goes_on_with_nothing(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the process of the session that was cleared does, and none that got its number later."""
    at_work(project, "Design", 1)
    for number, start in ((os.getppid(), None), (os.getpid(), "1")):
        monkeypatch.setattr(claude, "process", lambda environ, number=number: str(number))
        if start:
            monkeypatch.setattr(liveness, "started_at", lambda number, start=start: start)
        project.session = f"{number:08x}-0000-4000-8000-000000000000"
        begin(project, "clear")
        with Workspace.open(project.root).ledger as ledger:
            assert {row["conversation"] for row in ledger.rows("SELECT conversation FROM agents")} == {ME}


def test_after_a_compaction_with_another_id_the_same_prompt_counts(project: HoldfastProject) -> None:
    """What finished under it answers, however often the id changed; after another prompt it runs again."""
    Agent(project, "Look", prompt="Look it.", number=1).finished()
    compacted(project, OTHER)
    Agent(project, "Look", prompt="Look it.", number=2).about_to().assert_denied("All is well.")
    compacted(project, THIRD)
    Agent(project, "Look", prompt="Look it.", number=3).about_to().assert_denied("All is well.")
    asked(project, "second")
    assert "permissionDecision" not in Agent(project, "Look", prompt="Look it.", number=4).about_to().specific


def test_clear_in_another_client_is_not_this_ones(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this session's agents returned still answers its calls."""
    at_work(project, "Look", 1).stopped("All is well.")
    with monkeypatch.context() as client:
        client.setattr(claude, "process", lambda environ: str(os.getppid()))
        for project.session, source in ((THIRD, "startup"), (OTHER, "clear")):
            begin(project, source)
    project.session = ME
    compacted(project)
    Agent(project, "Look", prompt="Look it.", number=2).about_to().assert_denied("All is well.")
