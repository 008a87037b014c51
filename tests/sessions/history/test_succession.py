"""A live view follows the current workflow while it moves, completes and gives way to the next."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.sessions.history.succession import Following
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs
from holdfast.workflow.model import Start
from tests.formats.known import KNOWN
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.sessions.history.succession import Sight
    from holdfast.workflow.model import Workflow
AHEAD = time.time() + 1_000  # file times are counted up from here: two writes may fall into one tick


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Stop the clock; the function given lets seconds pass."""
    moments = [clock.now().replace(second=0, microsecond=0)]

    def later(seconds: float) -> None:
        moments.append(moments[-1] + timedelta(seconds=seconds))

    monkeypatch.setattr(clock, "now", lambda: moments[-1])
    return later


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Workspace]:
    """An empty project."""
    project = Workspace.open(tmp_path)
    yield project
    project.close()


@pytest.fixture
def follow(project: Workspace) -> Iterator[Callable[..., Following]]:
    """Give a function that begins to follow, as a process of its own would."""
    begun: list[Following] = []

    def begin(wanted: str | None = None, session: str | None = None) -> Following:
        begun.append(Following(Workspace.open(project.root), wanted, session))
        return begun[-1]

    yield begin
    for each in begun:
        each.close()


def start(
    project: Workspace, title: str, form: str = "compaction", phases: tuple[str, ...] = ("One", "Two")
) -> Workflow:
    """Start a workflow."""
    return registry.get(form).start(project, Start(title, phases=tuple((phase, "builder") for phase in phases)))


def done(project: Workspace, workflow: Workflow, *, everything: bool = False) -> Workflow:
    """Complete a phase, or all."""
    return verbs.done(project, workflow, everything=everything)


def touch(workflow: Workflow, second: int) -> None:
    """Set a file's time."""
    os.utime(workflow.path, (AHEAD + second, AHEAD + second))


def shown(sight: Sight) -> str | None:
    """Return title and position of what is shown."""
    workflow = sight.overview.workflow if sight.overview else None
    return f"{workflow.title} {workflow.position}" if workflow else None


def titles(sight: Sight) -> list[str]:
    """Return the titles of the others."""
    return [each.title for each in sight.others]


@pytest.mark.parametrize("form", KNOWN)
def test_watch_shows_a_finished_workflow_until_the_next_starts(
    project: Workspace, follow: Callable[..., Following], form: str
) -> None:
    """Of each format, though one removes its file at the end."""
    book = start(project, "Book", form)
    following = follow()
    following.look()
    book = done(project, verbs.begin(project, book))
    assert shown(following.look()) == ("Book 1/2" if form == "wfs" else "Book 2/2")
    assert not following.look().over

    done(project, book)

    for _ in range(2):
        sight = following.look()
        assert (shown(sight), sight.over) == ("Book 2/2", True)
        assert sight.overview is not None
        assert sight.overview.workflow.status == "completed"
        assert sight.overview.archived == (form == "compaction")

    start(project, "Next", form)
    assert (shown(following.look()), following.look().over) == (f"Next {1 if form == 'compaction' else 0}/2", False)


def test_watch_follows_the_newest_and_names_the_others(project: Workspace, follow: Callable[..., Following]) -> None:
    """Nothing fails for want of a name, and what is followed does not jump when another moves."""
    book, tool = start(project, "Book"), start(project, "Tool", "hybrid")
    touch(book, 2)
    touch(tool, 1)
    following = follow()
    assert (shown(following.look()), titles(following.look())) == ("Book 1/2", ["Tool"])

    touch(tool, 3)

    assert (shown(following.look()), titles(following.look())) == ("Book 1/2", ["Tool"])


@pytest.mark.parametrize("form", KNOWN)
def test_watch_switches_to_what_starts_as_another_ends(
    project: Workspace, follow: Callable[..., Following], form: str
) -> None:
    """Between two looks one ended and the next began: a rest would last for ever."""
    book = start(project, "Book", form)
    following = follow()
    following.look()

    done(project, book, everything=True)
    start(project, "Next", form)

    sight = following.look()
    assert (shown(sight), titles(sight)) == (f"Next {1 if form == 'compaction' else 0}/2", [])


def test_watch_of_a_named_workflow_stays_on_it_after_its_end(
    project: Workspace, follow: Callable[..., Following]
) -> None:
    """Whatever else begins, also in its own place."""
    tool = start(project, "Tool", "hybrid")
    touch(start(project, "Book"), 5)
    following = follow("Too")
    assert shown(following.look()) == "Tool 0/2"

    done(project, tool, everything=True)
    start(project, "Next", "hybrid")

    sight = following.look()
    assert (shown(sight), sight.over) == ("Tool 0/2", False)
    assert set(titles(sight)) == {"Next", "Book"}


def test_watch_in_a_session_follows_its_own_workflow(project: Workspace, follow: Callable[..., Following]) -> None:
    """As everywhere: its own first, then what no other live session has."""
    mine, theirs, free = start(project, "Mine"), start(project, "Theirs"), start(project, "Free")
    for second, each in enumerate((free, mine, theirs)):
        touch(each, second)
    sessions.note_event(project, OTHER)
    owners.own(project, theirs, OTHER)
    assert shown(follow(session=ME).look()) == "Mine 1/2"

    owners.own(project, free, ME)
    assert shown(follow(session=ME).look()) == "Free 1/2"
    assert shown(follow().look()) == "Theirs 1/2"


def test_watch_keeps_the_last_state_of_a_broken_file(project: Workspace, follow: Callable[..., Following]) -> None:
    """What was seen last stays, with the reason, until it can be read again."""
    touch(start(project, "Book"), 1)
    tool = start(project, "Tool", "hybrid")
    touch(tool, 2)
    before = tool.path.read_bytes()
    project.ledger.run("DELETE FROM generations")
    following = follow()
    assert shown(following.look()) == "Tool 0/2"

    tool.path.write_bytes(b"[]")

    sight = following.look()
    assert (shown(sight), titles(sight)) == ("Tool 0/2", ["Book"])
    assert sight.trouble == f"workflow.json: {sight.problems[0].reason}"
    assert [each.path for each in sight.problems] == [tool.path]
    tool.path.write_bytes(before)
    assert (shown(following.look()), following.look().trouble, following.look().problems) == ("Tool 0/2", "", ())


def test_watch_waits_for_a_named_file_that_is_gone(project: Workspace, follow: Callable[..., Following]) -> None:
    """Without a name the next is looked for; the one that was named may come back."""
    book = start(project, "Book")
    any_one, this_one = follow(), follow("Book")
    assert shown(any_one.look()) == shown(this_one.look()) == "Book 1/2"
    before = book.path.read_bytes()
    book.path.unlink()

    assert shown(any_one.look()) is None
    assert (shown(this_one.look()), this_one.look().trouble) == ("Book 1/2", f"{book.place} is gone")

    start(project, "Tool", "hybrid")
    book.path.write_bytes(before)
    assert shown(any_one.look()) in ("Tool 0/2", "Book 1/2")
    assert (shown(this_one.look()), this_one.look().trouble) == ("Book 1/2", "")
