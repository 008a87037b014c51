"""A live view follows the current workflow while it moves, completes and gives way to the next."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.ledger.database import Ledger
from holdfast.sessions.history import succession as module
from holdfast.sessions.history.succession import Following
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs
from holdfast.workflow.model import Changes, Start
from tests.formats.known import KNOWN
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.sessions.history.succession import Sight
    from holdfast.workflow.model import Workflow

HYBRID = ".claude/state/workflow.json"
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


def test_nothing_is_there_until_something_begins(project: Workspace, follow: Callable[..., Following]) -> None:
    """It waits, and then shows what began."""
    following = follow()
    sight = following.look()
    assert (shown(sight), sight.others, sight.trouble, sight.over) == (None, (), "", False)
    assert sight.at_rest() == sight

    start(project, "Book")

    assert shown(following.look()) == "Book 1/2"


@pytest.mark.parametrize("form", KNOWN)
def test_a_workflow_is_followed_to_its_end_and_stays_until_the_next_begins(
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


def test_of_several_the_newest_is_followed_and_the_others_are_named(
    project: Workspace, follow: Callable[..., Following]
) -> None:
    """Nothing fails for want of a name, and what is followed does not jump when another moves."""
    book, tool = start(project, "Book"), start(project, "Tool", "hybrid")
    touch(book, 2)
    touch(tool, 1)
    following = follow()
    assert (shown(following.look()), titles(following.look())) == ("Book 1/2", ["Tool"])

    touch(tool, 3)

    assert (shown(following.look()), titles(following.look())) == ("Book 1/2", ["Tool"])


def test_what_was_derived_from_a_plan_comes_last(project: Workspace, follow: Callable[..., Following]) -> None:
    """I001-9: what agents made is the newest before it, also here."""
    touch(start(project, "Book"), 1)
    plan = start(project, "Plan")
    verbs.update(project, plan, Changes(context={"derived_from": "CLAUDE/Plan/1/PLAN.md"}))
    touch(plan, 2)

    assert (shown(follow().look()), titles(follow().look())) == ("Book 1/2", ["Plan"])


def test_after_the_end_it_goes_over_to_what_moves(project: Workspace, follow: Callable[..., Following]) -> None:
    """One that only lies there does not take its place; one that is worked on does."""
    book, tool = start(project, "Book"), start(project, "Tool", "hybrid")
    touch(book, 2)
    touch(tool, 1)
    following = follow()
    following.look()
    done(project, book, everything=True)
    for _ in range(2):
        assert (shown(following.look()), titles(following.look())) == ("Book 1/2", ["Tool"])

    touch(tool, 3)

    assert (shown(following.look()), titles(following.look())) == ("Tool 0/2", [])


def test_what_is_finished_at_the_start_is_not_followed(project: Workspace, follow: Callable[..., Following]) -> None:
    """It is named, and the next one is waited for."""
    tool = start(project, "Tool", "hybrid")
    done(project, tool, everything=True)

    sight = follow().look()
    assert (shown(sight), titles(sight), sight.over) == (None, ["Tool"], False)


def test_finished_ones_are_no_others(project: Workspace, follow: Callable[..., Following]) -> None:
    """They wait for nobody."""
    done(project, start(project, "Tool", "hybrid"), everything=True)
    start(project, "Book")

    assert (shown(follow().look()), titles(follow().look())) == ("Book 1/2", [])


def test_what_is_reopened_is_followed_on(project: Workspace, follow: Callable[..., Following]) -> None:
    """And its second end is waited for like the first."""
    tool = start(project, "Tool", "hybrid")
    touch(start(project, "Book"), 0)
    touch(tool, 1)
    following = follow()
    assert shown(following.look()) == "Tool 0/2"
    done(project, tool, everything=True)
    assert (shown(following.look()), following.look().over) == ("Tool 0/2", True)

    hybrid.reopen(project, "phase_1")
    assert (shown(following.look()), following.look().over) == ("Tool 2/2", False)

    done(project, hybrid.find(project).workflows[0], everything=True)
    assert (shown(following.look()), following.look().over) == ("Tool 1/2", True)


@pytest.mark.parametrize("form", KNOWN)
def test_what_begins_with_the_end_of_another_is_gone_over_to(
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


def test_the_one_that_is_named_is_followed_beyond_its_end(project: Workspace, follow: Callable[..., Following]) -> None:
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


def test_of_the_archive_only_this_one_is_followed(project: Workspace, follow: Callable[..., Following]) -> None:
    """Neither a later one nor another worktree's of the same name."""
    book = start(project, "Book")
    following = follow("Book")
    following.look()
    done(project, book, everything=True)
    done(project, start(project, "Later"), everything=True)
    assert shown(following.look()) == "Book 1/2"

    project.ledger.run("UPDATE archive SET worktree = '/elsewhere'")
    assert following.look().trouble == f"{book.place} is gone"


@pytest.mark.parametrize("wanted", ["Nothing", "B"])
def test_a_name_must_name_one(project: Workspace, follow: Callable[..., Following], wanted: str) -> None:
    """A wrong name is told at once, like everywhere."""
    start(project, "Book")
    start(project, "Bell")

    with pytest.raises(HoldfastError, match=f'named "{wanted}"'):
        follow(wanted)


def test_a_session_follows_its_own(project: Workspace, follow: Callable[..., Following]) -> None:
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


def test_a_file_that_is_broken_for_a_moment_ends_nothing(project: Workspace, follow: Callable[..., Following]) -> None:
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


def test_the_last_good_content_of_a_broken_file_is_shown(project: Workspace, follow: Callable[..., Following]) -> None:
    """The ledger has it; the file is named."""
    tool = start(project, "Tool", "hybrid")
    following = follow()
    following.look()

    tool.path.write_bytes(b"{")

    sight = following.look()
    assert (shown(sight), sight.trouble) == ("Tool 0/2", "")
    assert [each.path for each in sight.problems] == [tool.path]


def test_a_file_that_is_gone(project: Workspace, follow: Callable[..., Following]) -> None:
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


def test_a_file_that_is_gone_is_not_mistaken_for_a_broken_one(
    project: Workspace, follow: Callable[..., Following]
) -> None:
    """Some other file may be broken meanwhile."""
    book = start(project, "Book")
    following = follow()
    assert shown(following.look()) == "Book 1/2"
    (project.root / HYBRID).parent.mkdir(parents=True)
    (project.root / HYBRID).write_text("[]")
    book.path.unlink()

    sight = following.look()
    assert (shown(sight), sight.trouble, len(sight.problems)) == (None, "", 1)


def test_a_file_that_is_gone_before_the_first_look(project: Workspace, follow: Callable[..., Following]) -> None:
    """It was named a moment ago."""
    book = start(project, "Book")
    following = follow("Book")
    book.path.unlink()

    assert (shown(following.look()), following.look().trouble) == (None, "")


def test_a_folder_that_refuses_ends_nothing(
    project: Workspace, follow: Callable[..., Following], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the system says is shown with what was seen last."""
    start(project, "Book")
    following = follow()
    following.look()
    find = registry.all_found

    def refuse(_: Workspace) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    monkeypatch.setattr(registry, "all_found", refuse)
    start(project, "Tool", "hybrid")
    assert (shown(following.look()), following.look().trouble) == (
        "Book 1/2",
        "[Errno 13] Permission denied: '/somewhere'",
    )

    monkeypatch.setattr(registry, "all_found", find)
    assert (titles(following.look()), following.look().trouble) == (["Tool"], "")


def test_nothing_is_read_again_while_nothing_changes(
    project: Workspace, follow: Callable[..., Following], now: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking is cheap: marks of files and of the ledger, and the very same sight, though time passes."""
    start(project, "Book")
    following = follow()
    sight = following.look()
    monkeypatch.setattr(registry, "all_found", lambda _: pytest.fail("read again"))

    for _ in range(3):
        now(9)
        assert following.look() is sight


def test_time_that_passes_is_no_news(
    project: Workspace, follow: Callable[..., Following], now: Callable[[float], None]
) -> None:
    """What a pipe is told again is what happened."""
    start(project, "Book")
    following = follow()
    before = following.look()
    now(100)
    after = following.look()

    assert after != before
    assert after.at_rest() == before.at_rest()


def test_a_closed_view_lets_go_of_the_ledger(project: Workspace, follow: Callable[..., Following]) -> None:
    """Nothing is held open."""
    following = follow()
    following.look()
    following.close()

    assert "closed" in following.look().trouble


def _by_hand(project: Workspace, book: Workflow) -> None:
    book.path.write_bytes(book.path.read_bytes().replace(b"One", b"Two"))


def _by_another_file(project: Workspace, book: Workflow) -> None:
    start(project, "Tool", "hybrid")


def _by_the_file_beside_it(project: Workspace, book: Workflow) -> None:
    (project.root / HYBRID).parent.mkdir(parents=True)
    (project.root / HYBRID).with_name("workflow.extra.json").write_text("{}")


def _by_the_ledger(project: Workspace, book: Workflow) -> None:
    owners.own(project, book, ME)


def _by_reading_that_came(project: Workspace, book: Workflow) -> None:
    (project.root / "a.md").write_text("x")


@pytest.mark.parametrize(
    "change", [_by_hand, _by_another_file, _by_the_file_beside_it, _by_the_ledger, _by_reading_that_came]
)
def test_whatever_changes_is_seen_at_once(
    project: Workspace, follow: Callable[..., Following], change: Callable[[Workspace, Workflow], None]
) -> None:
    """State files, the file beside one, the ledger, and required reading that comes or goes."""
    book = start(project, "Book")
    verbs.update(project, book, Changes(reading=("@a.md",)))
    following = follow()
    before = following.look()
    assert following.look() is before
    os.utime(book.path, (AHEAD, AHEAD))
    before = following.look()

    change(project, book)

    after = following.look()
    assert after is not before
    if change is not _by_the_file_beside_it:
        assert after.at_rest() != before.at_rest()


def test_what_happens_without_a_trace_is_seen_after_a_while(
    project: Workspace, follow: Callable[..., Following], now: Callable[[float], None]
) -> None:
    """A session that died leaves no mark."""
    book = start(project, "Book")
    process = subprocess.Popen(["sleep", "60"])
    sessions.note_event(project, ME, str(process.pid))
    owners.own(project, book, ME)
    following = follow()
    sight = following.look()
    assert sight.overview is not None
    assert sight.overview.owner is not None
    assert sight.overview.owner.live
    process.kill()
    process.wait()

    now(module._BUCKET_S)

    sight = following.look()
    assert sight.overview is not None
    assert sight.overview.owner is not None
    assert not sight.overview.owner.live


def test_a_ledger_that_was_moved_away_is_opened_anew(project: Workspace, follow: Callable[..., Following]) -> None:
    """Else it would go on reading a file that nobody writes to any more."""
    book = start(project, "Book")
    following = follow()
    following.look()
    file = project.ledger.file
    assert file is not None
    project.close()
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
    again = Workspace.open(project.root)
    owners.own(again, book, ME)
    again.close()

    sight = following.look()
    assert sight.overview is not None
    assert sight.overview.owner is not None


def test_a_ledger_that_cannot_be_used_is_tried_again_after_a_while(
    project: Workspace,
    follow: Callable[..., Following],
    home: Path,
    now: Callable[[float], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not at every look: each failure is a line in the log."""
    start(project, "Book", "hybrid")
    project.close()
    state = home / ".local" / "state"
    state.rename(home / "elsewhere")
    state.mkdir()
    (state / "holdfast").write_text("in the way")
    opened: list[Path | None] = []
    really = Ledger.open

    def opening(file: Path | None, *given: object) -> Ledger:
        opened.append(file)
        return really(file, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "open", opening)
    following = follow()
    sight = following.look()
    assert (shown(sight), len(opened)) == ("Book 0/2", 1)
    assert sight.overview is not None
    assert "cannot be used" in sight.overview.ledger

    now(module._PAUSE_S - 1)
    following.look()
    assert len(opened) == 1

    (state / "holdfast").unlink()
    state.rmdir()
    (home / "elsewhere").rename(state)
    now(1)
    sight = following.look()
    assert len(opened) == 2
    assert sight.overview is not None
    assert (sight.overview.ledger, sight.overview.last_save is not None) == ("", True)


def test_it_writes_nothing_to_the_project(project: Workspace, follow: Callable[..., Following]) -> None:
    """Only looking, however much happens."""
    start(project, "Book")
    start(project, "Tool", "hybrid")
    before = {path: path.stat().st_mtime_ns for path in project.root.rglob("*")}
    following = follow()
    following.look()
    (project.root / HYBRID).write_bytes(b"{")
    broken = (project.root / HYBRID).stat().st_mtime_ns
    following.look()

    after = {path: path.stat().st_mtime_ns for path in project.root.rglob("*")}
    assert after == before | {project.root / HYBRID: broken}
