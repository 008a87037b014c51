"""`holdfast status --why` predicts what a compaction restores: each case is then compacted, and both must agree."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

MEMORY = "# Workflow State\n\nWorkflow: {}\nPhase: {}/3 - Build\n"
STATE = {"workflow": "{}", "phase": {"current": 1, "total": 3, "name": "Build", "status": "in_progress"}}
DAY = 86_400


class Desk:
    """A project where workflows come to be and grow old."""

    def __init__(self, project: HoldfastProject) -> None:
        self.project = project

    def kept(self, title: str, *, days: float = 0) -> None:
        """Put a workflow of nobody there that was last changed some days ago."""
        place = f"untracked/workflow-state/{title.lower()}/state-{title.lower()}-1.json"
        self.project.write({place: {**STATE, "workflow": title}})
        moment = time.time() - days * DAY
        os.utime(self.project.root / place, (moment, moment))

    def started(self, title: str, session: str) -> None:
        """Have a session start a workflow."""
        holdfast("start", title, "--phase", "A", "--phase", "B", root=self.project.root, session=session)

    def live(self, *sessions: str) -> None:
        """Let sessions have an event."""
        for session in sessions:
            self.project.fire("UserPromptSubmit", session_id=session)

    def explained(self, session: str) -> dict[str, dict[str, Any]]:
        """Return what is foretold of each workflow, by its folder's name."""
        said = holdfast("status", "--why", "--json", root=self.project.root, session=session).json
        return {each["ref"].split("/")[2]: each for each in said["prospects"]}

    def compacted(self) -> str:
        """Return what the model gets after a compaction of the first session."""
        self.project.fire("PreCompact", "PreCompact-auto")
        return self.project.fire("SessionStart", "SessionStart-compact").context


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """An empty project."""
    return Desk(holdfast_project({}))


def _fresh(desk: Desk) -> None:
    desk.kept("Tide", days=6)
    desk.kept("Older", days=6.5)


def _too_old(desk: Desk) -> None:
    desk.kept("Tide", days=8)


def _old_beside_fresh(desk: Desk) -> None:
    desk.kept("Tide", days=1)
    desk.kept("Harbour", days=8)


def _old_but_its_own(desk: Desk) -> None:
    desk.started("Tide", ME)
    os.environ["HOLDFAST_NOW"] = "2100-01-01T00:00:00Z"


def _old_but_told_anew(desk: Desk) -> None:
    desk.kept("Tide", days=30)
    desk.kept("Harbour", days=1)
    desk.project.write({"CLAUDE.local.md": MEMORY.format("Tide", 2)})


def _only_in_the_memory_file(desk: Desk) -> None:
    desk.kept("Harbour", days=1)
    desk.project.write({"CLAUDE.local.md": MEMORY.format("Tide", 2)})


def _over_in_the_memory_file(desk: Desk) -> None:
    desk.kept("Tide", days=1)
    desk.kept("Harbour", days=2)
    desk.project.write({"CLAUDE.local.md": MEMORY.format("Tide", 3) + "Status: Completed\n"})


def _of_a_session_that_ended(desk: Desk) -> None:
    desk.live(OTHER)
    desk.started("Tide", OTHER)
    desk.project.fire("SessionEnd", "SessionEnd-other", session_id=OTHER)


def _nobodys_before_an_ended_ones(desk: Desk) -> None:
    _of_a_session_that_ended(desk)
    desk.kept("Harbour", days=1)


def _of_another_live_session(desk: Desk) -> None:
    desk.live(ME, OTHER)
    desk.started("Tide", OTHER)


def _one_each(desk: Desk) -> None:
    desk.live(ME, OTHER)
    desk.started("Harbour", ME)
    desk.started("Tide", OTHER)


def _nobodys_with_two_live(desk: Desk) -> None:
    desk.live(ME, OTHER)
    desk.kept("Tide")


def _nobodys_beside_an_id_of_the_same_client(desk: Desk) -> None:
    for session in (OTHER, ME):  # `/clear` gave the client another id; the first one never said that it ended
        conversations.note_event(Workspace.open(desk.project.root), session, str(os.getpid()))
    desk.kept("Tide")


def _of_an_id_it_had_before(desk: Desk) -> None:
    there = Workspace.open(desk.project.root)
    conversations.note_event(there, THIRD)
    conversations.note_event(there, OTHER, transcript="/there/one.jsonl")
    desk.started("Tide", OTHER)
    conversations.note_event(there, ME, transcript="/there/one.jsonl")


def _from_a_plan(desk: Desk) -> None:
    desk.kept("Harbour", days=3)
    desk.project.write({"CLAUDE/Plan/001-x/PLAN.md": "# Tide\n\nStatus: In Progress\n\n## Phase 1: A\n"})


CASES: dict[str, tuple[Callable[[Desk], None], dict[str, tuple[str, str]]]] = {
    "fresh": (_fresh, {"tide": ("full", "in full"), "older": ("line", 'in one line, below "Tide"')}),
    "too old": (_too_old, {"tide": ("no", "not restored, too old: it last changed at ")}),
    "old beside fresh": (
        _old_beside_fresh,
        {"tide": ("full", "in full"), "harbour": ("line", "in one line; too old: ")},
    ),
    "old but its own": (_old_but_its_own, {"tide": ("full", "in full")}),
    "old but told anew": (_old_but_told_anew, {"tide": ("full", "in full, as PreCompact"), "harbour": ("line", "")}),
    "only remembered": (
        _only_in_the_memory_file,
        {"tide": ("full", "in full, as PreCompact"), "harbour": ("line", "")},
    ),
    "over by the memory file": (_over_in_the_memory_file, {"harbour": ("full", "in full")}),
    "an ended session's": (_of_a_session_that_ended, {"tide": ("full", "in full")}),
    "nobody's first": (
        _nobodys_before_an_ended_ones,
        {"harbour": ("full", "in full"), "tide": ("line", "in one line")},
    ),
    "another live one's": (_of_another_live_session, {"tide": ("no", "not restored: it belongs to session 22222222")}),
    "one each": (_one_each, {"harbour": ("full", "in full"), "tide": ("no", "not restored: it belongs to session")}),
    "whose": (_nobodys_with_two_live, {"tide": ("no", "not restored: it could belong to any of 2 live sessions")}),
    "an id of its client": (_nobodys_beside_an_id_of_the_same_client, {"tide": ("full", "in full")}),
    "an id it had before": (_of_an_id_it_had_before, {"tide": ("full", "in full")}),
    "from a plan": (_from_a_plan, {"harbour": ("full", "in full"), "tide": ("line", "in one line")}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_foretold_is_what_a_compaction_restores(desk: Desk, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """R001-27, I001-9, I001-10: in full, in a line, or not, as too old or as another session's."""
    monkeypatch.setenv("HOLDFAST_NOW", "")
    prepare, expected = CASES[case]
    prepare(desk)

    found = desk.explained(ME)

    assert {name: each["restored"] for name, each in found.items()} == {
        name: how for name, (how, _) in expected.items()
    }
    for name, (_, why) in expected.items():
        assert found[name]["reason"].startswith(why)
    text = desk.compacted()
    for name, (how, _) in expected.items():
        assert (f"Workflow: {name.capitalize()}" in text) is (how == "full"), text
        assert (f'"{name.capitalize()}" (compaction)' in text) is (
            how == "line" or "too old" in found[name]["reason"]
        ), text


def test_a_person_is_told_of_the_one_live_session_or_of_each(desk: Desk) -> None:
    """R001-27: without a session of its own, it is that of the only live one; of several each has its own."""
    desk.live(ME)
    desk.started("Harbour", ME)
    assert desk.explained("")["harbour"]["reason"] == "in full"

    desk.live(OTHER, THIRD)
    desk.started("Tide", OTHER)
    desk.started("Tower", OTHER)
    found = desk.explained("")
    assert found["harbour"]["reason"] == "in full in session 11111111, which owns it"
    assert {found["tide"]["restored"], found["tower"]["restored"]} == {"full", "line"}


def test_the_first_line_of_status_counts_what_a_compaction_restores(desk: Desk) -> None:
    """One that no session gets back is no danger for the others."""
    holdfast("install", "--scope", "project", root=desk.project.root)
    desk.started("Harbour", OTHER)
    desk.started("Tide", ME)
    desk.live(OTHER, ME)
    desk.kept("Moor", days=1)  # it could belong to either

    said = holdfast("status", root=desk.project.root).out
    assert said.startswith("Safe: a compaction restores 2 of 3 unfinished workflows: Tide 1/2 A, Harbour 1/2 A.")


def test_the_first_line_of_status_names_the_one_workflow(desk: Desk) -> None:
    """Its position, when it was saved and how the last compaction went."""
    holdfast("install", "--scope", "project", root=desk.project.root)
    assert holdfast("status", root=desk.project.root).out.startswith("Nothing to save here: ")
    desk.started("Tide", ME)
    began = holdfast("status", root=desk.project.root, session=ME).out
    desk.compacted()
    after = holdfast("status", root=desk.project.root, session=ME).out

    assert began.startswith("Safe: Tide 1/2 A, saved just now, no compaction yet."), began
    assert after.startswith("Safe: Tide 1/2 A, saved just now, last compaction restored, not confirmed yet."), after

    desk.started("Harbour", ME)
    beside = holdfast("status", "tide", root=desk.project.root, session=ME).out
    assert 'not confirmed yet, restored in one line, below "Harbour".' in " ".join(beside.split()), beside
