"""`holdfast watch` keeps the page up to date, restores the terminal and doesn't touch the project."""

from __future__ import annotations

import fcntl
import io
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console, ConsoleDimensions

from holdfast import clock
from holdfast.commands import page, sections, watch
from holdfast.sessions.history.history import History, PhaseHistory
from holdfast.sessions.history.overview import Overview, Recipient, Restore, Save, Session
from holdfast.sessions.history.succession import Following, Sight
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import todos
from holdfast.workflow.model import Phase, Problem
from tests.agentry import agent
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, workflow
from tests.processes import FOREGROUND
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.workflow.model import Status

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WATCH = [sys.executable, "-m", "holdfast", "watch"]
PATIENCE = 60.0  # seconds until a process that says nothing is given up
ENTER, LEAVE, SHOW_CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"
BETWEEN = re.compile(r"\n\n--- .* ---\n\n")


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal of whoever runs the tests is like."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


class Show:
    """A watch in process whose every pause is the next step of a script; after the last one comes Ctrl-C."""

    def __init__(self, root: Path, clock: list[datetime]) -> None:
        self.root = root
        self.pauses: list[float] = []
        self.screens: list[str] = []
        self._clock = clock
        self._out = io.StringIO()
        self._seen = 0

    def draw(
        self, *steps: Callable[[], object] | None, width: int = 80, height: int = 60, interval: float = 1.0
    ) -> None:
        """Run `draw` on a terminal of some size; `screens` has what each step found to be new on it."""
        console = Console(
            file=self._out, force_terminal=True, width=width, height=height, _environ={"TERM": "xterm-256color"}
        )
        following = Following(Workspace.open(self.root))
        watch.draw(following, console, interval, self._script(list(steps)))
        following.close()
        self.screens.append(self._new())

    def tell(self, *steps: Callable[[], object] | None, interval: float = 1.0) -> None:
        """Run `tell` on something that is no terminal."""
        console = Console(file=self._out, width=80)
        following = Following(Workspace.open(self.root))
        with pytest.raises(KeyboardInterrupt):
            watch.tell(following, console, interval, self._script(list(steps)))
        following.close()
        self.screens.append(self._new())

    def _script(self, steps: list[Callable[[], object] | None]) -> Callable[[float], None]:
        def pause(seconds: float) -> None:
            self.pauses.append(seconds)
            self.screens.append(self._new())
            self._clock.append(self._clock[-1] + timedelta(seconds=seconds))
            if not steps:
                raise KeyboardInterrupt
            if step := steps.pop(0):
                step()

        return pause

    def _new(self) -> str:
        text = self._out.getvalue()[self._seen :]
        self._seen += len(text)
        return text


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """Stop the clock; it goes on where the list does."""
    moments = [clock.now()]
    monkeypatch.setattr(clock, "now", lambda: moments[-1])
    return moments


@pytest.fixture
def show(tmp_path: Path, moments: list[datetime]) -> Show:
    """A watch of an empty project."""
    return Show(tmp_path, moments)


def plain(screen: str) -> str:
    """Return what is to be read of what a terminal was sent."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "")


def run(show: Show, *arguments: str) -> Callable[[], object]:
    """Return a step that runs a command."""
    return lambda: holdfast(*arguments, root=show.root)


def test_the_page_follows_what_happens(show: Show) -> None:
    """It waits, shows what begins, moves with it, shows its end and goes over to the next."""
    show.draw(
        run(show, "start", "Book", "--phase", "Draft", "--phase", "Review"),
        run(show, "done"),
        run(show, "done"),
        None,
        run(show, "start", "Tool", "--phase", "Design", "--format", "hybrid"),
    )

    first, began, moved, ended, same, tool, last = show.screens
    assert "No workflow is in progress here." in plain(first)
    assert "[>] 1. Draft" in plain(began)
    assert "[x] 1. Draft" in plain(moved)
    assert "[>] 2. Review" in plain(moved)
    assert "completed, 2/2, 100%" in plain(ended)
    assert "It is completed; waiting for the next one to begin." in plain(ended)
    assert same == "", "nothing changed, so nothing is drawn"
    assert "[ ] 1. Design" in plain(tool)
    assert "Book" not in plain(tool)
    assert "[ ] 1. Design" in plain(last)


def test_running_times_go_on(show: Show) -> None:
    """Once a second, though nothing else changed."""
    holdfast("start", "Book", "--phase", "Draft", root=show.root)
    show.draw(None, None)

    spent = [re.findall(r"Draft  (\S+) so far", plain(screen)) for screen in show.screens]
    assert spent == [["<1s"], ["1s"], ["2s"], ["3s"]]
    assert show.pauses == [1.0] * 3


def test_between_looks_only_the_clock_moves(show: Show) -> None:
    """With a long interval the files are left alone, and the running times still go on."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", root=show.root)
    show.draw(run(show, "done"), None, None, interval=3.0)

    assert [re.findall(r"\[>\] (\d)", plain(screen)) for screen in show.screens[:-1]] == [["1"], ["1"], ["1"], ["2"]]
    assert show.pauses == [1.0] * 4


def test_a_short_interval_looks_more_often(show: Show) -> None:
    """Less than a second is possible."""
    show.draw(run(show, "start", "Book", "--phase", "Draft"), None, interval=0.25)

    assert show.pauses == [0.25] * 3
    assert "[>] 1. Draft" in plain(show.screens[1])


def test_the_terminal_is_left_as_it_was(show: Show) -> None:
    """The page is on the second screen; the last one stays, whole, on the first."""
    holdfast("start", "Book", "--phase", "Draft", "--remind", "Be kind", root=show.root)
    show.draw(height=12)

    first, last = show.screens
    assert first.startswith(ENTER)
    assert "Be kind" not in plain(first)
    assert last.index(SHOW_CURSOR) < last.index(LEAVE) < last.index("Book")
    assert "Be kind" in plain(last)
    assert ENTER not in last


def test_a_terminal_that_changes_its_size_is_drawn_anew(show: Show) -> None:
    """Even if the page is the same."""
    holdfast("start", "Tool", "--phase", "Design", "--format", "hybrid", root=show.root)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, _environ={"TERM": "xterm-256color"})
    sizes = [(120, 60), (120, 60), (130, 60), (130, 59)]
    lengths: list[int] = []

    def pause(_: float) -> None:
        lengths.append(len(out.getvalue()))
        if not sizes:
            raise KeyboardInterrupt
        console.size = ConsoleDimensions(*sizes.pop(0))

    console.size = ConsoleDimensions(*sizes.pop(0))
    following = Following(Workspace.open(show.root))
    watch.draw(following, console, 1.0, pause)
    following.close()

    assert lengths[0] == lengths[1] < lengths[2] < lengths[3]


STAMP = "2026-03-01T11:30:00.000000Z"
AGENT = agent(STAMP, agent_id="a1", agent_type="tester", phase="phase_3")


def made(root: Path, **changes: Any) -> Sight:
    """Return the sight of a workflow with six phases, the third of which is worked on."""
    statuses: tuple[Status, ...] = ("completed", "completed", "active", "pending", "pending", "pending", "pending")
    phases = tuple(
        Phase(f"phase_{number}", number, f"Step {number}", status, "builder", handover=f"note {number}" * (number < 3))
        for number, status in enumerate(statuses, 1)
    )
    found = workflow(
        root,
        "Release " * 9 + "end",
        **{"phases": phases, "current": 3, "total": 7, "context": {"k": 1}, "updated_at": STAMP}
        | {"reading": ("@a.md", "@b.md"), "reminders": ("Be kind",), "warnings": ("odd", "old"), "id": "wf_1"},
    )
    overview = Overview(
        workflow=found,
        history=History({"phase_3": PhaseHistory("phase_3", 2, STAMP, None, 90.0, "it broke")}, STAMP, None, 90.0),
        agents=(AGENT,),
        todos=tuple(todos.todo_list(found)),
        recipients=(Recipient(ME, STAMP, current=True), Recipient(OTHER, STAMP, current=False)),
        last_save=Save(STAMP, "auto", ME),
        last_restore=Restore(STAMP, ME, None),
        owner=Session(ME, live=False, last_seen=STAMP),
        missing=frozenset({"@b.md"}),
        archived=False,
        problems=(Problem(root / "x.json", "is empty"),),
        ledger="",
        at=NOON,
    )
    others = (workflow(root, "Book"), workflow(root, "Tool"))
    return Sight(root, replace(overview, **changes), others, overview.problems)


def fitted(sight: Sight, height: int | None, width: int = 80) -> str:
    """Return the page as text."""
    lines = [line.plain for line in page.watched(sight, NOON, width, height)]
    assert height is None or len(lines) <= height
    assert max(map(len, lines)) <= width
    return "\n".join(lines) + "\n"


HEAD = """\
Release Release Release Release Release Release Release Release Release end
active, phase 3/7, 28%, 1m 30s so far
changed 30 min ago (2026-03-01 11:30:00 UTC)
compaction (custom), wf_1,
  untracked/workflow-state/release-release-release-release-release-release-relea
  se-release-release-end/state-release-release-release-release-release-release-r
  elease-release-release-end.json

Phases
"""
PAST = """\
  [x] 1. Step 1  @builder
         handed over: note 1
  [x] 2. Step 2  @builder
         handed over: note 2
"""
PRESENT = """\
  [>] 3. Step 3  @builder  1m 30s so far, 2 attempts
         last error: it broke
  [ ] 4. Step 4  @builder
  [ ] 5. Step 5  @builder
  [ ] 6. Step 6  @builder
"""
LAST = "  [ ] 7. Step 7  @builder\n"
LISTS = """\

Running agents
  tester  a1  for phase 3
    in the background for 30m 00s (since 11:30:00 UTC), session 11111111

To-do list
  [x] Step 1
  [x] Step 2
  [>] Step 3
  [ ] Step 4
  [ ] Step 5
  [ ] Step 6
  [ ] Step 7
  session 11111111 was told this list 30 min ago (2026-03-01 11:30:00 UTC)
  session 22222222 was told an older one 30 min ago (2026-03-01 11:30:00 UTC)

Saved and restored
"""
KEPT = """\
  Last save     30 min ago (2026-03-01 11:30:00 UTC), by PreCompact (auto) of
                session 11111111
  Last restore  30 min ago (2026-03-01 11:30:00 UTC), in session 11111111;
                PreCompact never fired
  Owner         session 11111111, not live, last seen 30 min ago (2026-03-01
                11:30:00 UTC)
"""
EXTRAS = """\

Required reading
  @a.md
  @b.md  missing

Reminders
  - Be kind

Context
  k = 1
"""
ALSO = "required reading 2 (1 missing), reminders 1, context 1\n"
MORE = """\

Warnings
  - odd
  - old

Not read
  x.json: is empty

Other workflows
  [>] Book  active, 2/5, book
  [>] Tool  active, 2/5, tool
"""
LINES = f"""\

  Agent         tester  for phase 3, in the background for 30m 00s
  To-do list    2 completed, 1 in progress, 4 pending; session 11111111 was told
                it
{KEPT}  Also          {ALSO}  Warnings      odd (+1 more)
  Not read      x.json: is empty
  Others        Book  active, 2/5, book (+1 more)
"""
HINT = "\nCtrl-C ends\n"
BRIEF = """\
Release Release Release Release Release Release Release Rele…
active, phase 3/7, 28%, 1m 30s so far

Phases
"""
SHORT_PAST = PAST.replace("         handed over: note 1\n", "")
FEW = "  [x] 2 completed\n"
NEXT = "  [ ] 1 more\n"
# The pages from the whole one to the shortest; a terminal gets the first one that fits.
PAGES = (
    HEAD + PAST + PRESENT + LAST + LISTS + KEPT + EXTRAS + MORE + HINT,
    HEAD + PAST + PRESENT + LAST + LISTS + KEPT + "\nAlso\n  " + ALSO + MORE + HINT,
    HEAD + SHORT_PAST + PRESENT + LAST + LISTS + KEPT + "\nAlso\n  " + ALSO + MORE + HINT,
    HEAD + SHORT_PAST + PRESENT + LAST + LINES + HINT,
    HEAD + FEW + PRESENT + NEXT + LINES + HINT,
    BRIEF + FEW + PRESENT + NEXT + LINES + HINT,
)


@each_row("number", range(len(PAGES)))
def test_what_does_not_fit_is_left_out(tmp_path: Path, number: int) -> None:
    """The least important first; a page that just fits is shown, one line less of room gives the next shorter one."""
    height = PAGES[number].count("\n")
    sight = made(tmp_path)

    assert fitted(sight, height) == PAGES[number]
    if number:
        assert fitted(sight, PAGES[number - 1].count("\n") - 1) == PAGES[number]


def test_without_a_height_everything_is_there(tmp_path: Path) -> None:
    """On a pipe, and when the terminal is left."""
    assert fitted(made(tmp_path), None) == PAGES[0].removesuffix(HINT)


def test_what_is_cut_off_is_counted(tmp_path: Path) -> None:
    """On the smallest terminals; what is worked on is the last to go."""
    lines = PAGES[-1].splitlines()
    whole = len(lines) - 2

    for height in range(4, len(lines)):
        shown = fitted(made(tmp_path), height).splitlines()
        assert shown[: height - 3] == lines[: height - 3]
        assert shown[height - 3 :] == [f"  +{whole - height + 3} lines: `holdfast show` prints all", "", "Ctrl-C ends"]
    assert fitted(made(tmp_path), 3) == f"  +{whole} lines: `holdfast show` prints all\n{HINT}"
    assert fitted(made(tmp_path), 1) == f"  +{whole} lines: `holdfast show` prints all\n"


def test_in_lines_what_is_not_there_is_not_named(tmp_path: Path) -> None:
    """Without agents, problems and others; with a list that only another session was told, and a finished one."""
    sight = made(tmp_path)
    assert sight.overview is not None
    plain = replace(sight.overview.workflow, reading=(), reminders=(), context={}, warnings=("odd",))
    bare = replace(sight.overview, workflow=plain, agents=(), recipients=sight.overview.recipients[1:], problems=())
    told = fitted(Sight(tmp_path, bare), 24)
    assert told.split("[ ] 1 more\n")[1] == (
        "\n  Agents        none running\n"
        "  To-do list    2 completed, 1 in progress, 4 pending; the model hasn't been\n"
        "                given this list yet\n"
        f"{KEPT}  Warnings      odd\n{HINT}"
    )

    ended = replace(bare, workflow=replace(plain, status="completed"), recipients=())
    assert fitted(Sight(tmp_path, ended, over=True), 25).split("[ ] 1 more\n")[1] == (
        "\n  To-do list    2 completed, 1 in progress, 4 pending\n"
        f"{KEPT}  Warnings      odd\n\nIt is completed; waiting for the next one to begin.\n{HINT}"
    )


def test_a_workflow_without_todos_has_no_list(tmp_path: Path) -> None:
    """Whole or in a line."""
    bare = made(tmp_path, todos=(), recipients=())

    assert "To-do list" not in fitted(bare, None)
    assert "To-do list" not in fitted(bare, 22)


def test_long_texts_are_cut_where_there_is_little_room(tmp_path: Path) -> None:
    """An error of a hundred lines must not push everything else out."""
    error = PhaseHistory("phase_3", 1, STAMP, None, 1.0, "word " * 300)
    sight = made(tmp_path, history=History({"phase_3": error}, STAMP, None, 1.0))

    assert f"last error: {'word ' * 10}word\n" in fitted(sight, None)
    assert fitted(sight, None).count("word") == 300
    assert fitted(sight, 30).count("word") == 40


def test_many_phases_cost_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot fit is not even written."""
    sight = made(tmp_path)
    monkeypatch.setattr(sections, "extras", lambda *_: pytest.fail("written"))
    monkeypatch.setattr(sections, "todos", lambda *_: pytest.fail("written"))

    fitted(sight, 15)


def test_no_more_is_left_out_than_must_be(tmp_path: Path) -> None:
    """Phases that are counted, and a to-do list in a line, need no room."""
    sight = made(tmp_path)
    assert sight.overview is not None
    steps = tuple(Phase(f"phase_{number}", number, f"Step {number}", "pending") for number in range(1, 60))
    many = replace(sight.overview.workflow, phases=steps, total=59, current=None)
    seen = Sight(tmp_path, replace(sight.overview, workflow=many, todos=tuple(todos.todo_list(many))))

    assert "\n  [ ] 56 more\n" in fitted(seen, 40)
    assert "\nchanged 30 min ago" in fitted(seen, 40)
    assert "\n  [ ] 59. Step 59\n" in fitted(seen, 85)
    assert "\n  To-do list    59 pending; " in fitted(seen, 85)


def test_what_is_not_there_is_not_counted(tmp_path: Path) -> None:
    """Where reading, reminders and context would be but a line, there is none without any."""
    sight = made(tmp_path)
    assert sight.overview is not None
    bare = replace(sight.overview.workflow, reading=(), reminders=(), context={})
    seen = replace(sight, overview=replace(sight.overview, workflow=bare))
    height = (PAGES[0].removesuffix(HINT).replace(EXTRAS, "") + HINT).count("\n")

    assert fitted(seen, height) == PAGES[0].replace(EXTRAS, "")
    assert fitted(seen, height - 1) == PAGES[2].replace("\nAlso\n  " + ALSO, "")


def test_agents_in_flight(tmp_path: Path) -> None:
    """In the foreground, in the background, of another day, of no phase, not named yet."""
    flights = (
        AGENT._replace(launched_at="2026-02-27T11:00:00.000000Z", background=False, session=OTHER),
        AGENT._replace(phase=None, agent_id=""),
        AGENT._replace(phase="phase_9", launched_at="odd"),
    )
    sight = made(tmp_path, agents=flights)

    assert fitted(sight, None).split("Running agents\n")[1].split("\n\n")[0] == (
        "  tester  a1  for phase 3\n"
        "    in the foreground for 2d 01h (since 2026-02-27 11:00:00 UTC), session\n"
        "    22222222\n"
        "  tester\n"
        "    in the background for 30m 00s (since 11:30:00 UTC), session 11111111\n"
        "  tester  a1\n"
        "    in the background, session 11111111"
    )
    assert fitted(sight, 25).split("Agent  ")[2].split("\n")[0].strip() == "tester, in the background for 30m 00s"


def test_what_is_not_from_now_says_so(tmp_path: Path) -> None:
    """What was seen last stays, with the reason."""
    sight = replace(made(tmp_path), trouble="x.json: is empty")

    assert fitted(sight, None).endswith("\n\nThis is not the latest: x.json: is empty\n")


def test_where_nothing_is_printed_on_a_terminal_the_page_comes_again(show: Show) -> None:
    """Whenever something changed, and only then; times that pass are no change, and no control sequence is sent."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", root=show.root)
    show.tell(None, None, run(show, "done"), None, run(show, "done"), None)

    out = "".join(show.screens)
    pages = BETWEEN.split(out)
    assert "\x1b" not in out
    assert len(pages) == 3
    assert [page.startswith("Book\n") for page in pages] == [True] * 3
    assert ["[>] 1. Draft" in pages[0], "[>] 2. Review" in pages[1], "completed, 2/2" in pages[2]] == [True] * 3
    assert "Ctrl-C" not in out
    assert [screen != "" for screen in show.screens] == [True, False, False, True, False, True, False, False]


def test_a_file_that_is_broken_for_a_moment(show: Show) -> None:
    """The page stays, names the file, and is right again after it."""
    holdfast("start", "Tool", "--phase", "Design", "--format", "hybrid", root=show.root)
    state = show.root / ".claude" / "state" / "workflow.json"
    whole = state.read_bytes()
    show.tell(lambda: state.write_bytes(whole[:40]), lambda: state.unlink(), lambda: state.write_bytes(whole))

    before, broken, gone, again = BETWEEN.split("".join(show.screens))
    assert "Not read" not in before
    assert "[ ] 1. Design" in broken
    assert "Not read\n  .claude/state/workflow.json: " in broken
    assert "No workflow is in progress here." in gone
    assert again.replace("\n\n", "\n").startswith("Tool\n")


def test_others_get_a_line_each(show: Show) -> None:
    """Ten of them; the rest is counted."""
    for number in range(13):
        holdfast("start", f"Book {number}", "--phase", "Draft", root=show.root)
    show.tell()

    assert show.screens[0].split("Other workflows\n")[1].count("  [>] Book ") == 10
    assert show.screens[0].endswith("  2 more: `holdfast list`\n")


def test_what_waits_shows_what_there_is(show: Show) -> None:
    """Finished ones, and files that cannot be read."""
    holdfast("start", "Tool", "--phase", "Design", "--format", "hybrid", root=show.root)
    holdfast("done", root=show.root)
    broken = show.root / "untracked" / "workflow-state" / "x"
    broken.mkdir(parents=True)
    (broken / "state-x.json").write_text("{")
    show.tell()

    assert re.sub(r"wf_\w+", "ID", show.screens[0]) == (
        "No workflow is in progress here.\n"
        "Waiting for one to begin. `holdfast start TITLE` starts one.\n"
        "\n"
        "Not read\n"
        "  untracked/workflow-state/x/state-x.json: is not JSON: Expecting property\n"
        "    name enclosed in double quotes, line 1 column 2\n"
        "\n"
        "Workflows\n"
        "  [x] Tool  completed, 1/1, ID\n"
    )


def test_a_name_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    """At once, as for every command."""
    assert 'no workflow is named "X"' in holdfast("watch", "X", root=tmp_path, code=1).err


@each_row("interval", ["0", "-1", "x", "nan"])
def test_an_interval_must_be_one(tmp_path: Path, interval: str) -> None:
    """No busy loop by accident."""
    assert "--interval" in holdfast("watch", "--interval", interval, root=tmp_path, code=2).err


def test_an_output_that_fails_otherwise_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk under `holdfast watch > file` is no good end."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(watch, "tell", full)

    assert "No space left on device" in holdfast("watch", root=tmp_path, code=1).err


@pytest.mark.parametrize("number", [5, 32])
def test_an_output_that_is_gone_is_a_good_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The reader closed the pipe, or the terminal's window was closed."""

    def gone(*_: object) -> None:
        raise OSError(number, "gone")

    monkeypatch.setattr(watch, "tell", gone)

    assert holdfast("watch", root=tmp_path).err == ""


ON_PIPE = [*FOREGROUND, *WATCH]
# Its stdin becomes the terminal whose Ctrl-C and Ctrl-Z reach it.
TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
ON_TERMINAL = [sys.executable, "-c", TAKE, *ON_PIPE]


class Terminal:
    """A process on a pseudo-terminal."""

    def __init__(self, root: Path, *, size: tuple[int, int] = (40, 80), **environ: str) -> None:
        self.said = ""
        self._end, other = os.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen(
            ON_TERMINAL,
            cwd=root,
            env={**os.environ, "TERM": "xterm-256color", **environ},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)

    def type(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._end, key)

    def until(self, words: str) -> None:
        """Read until some words were said."""
        deadline = time.monotonic() + PATIENCE
        while words not in plain(self.said) and words not in self.said:
            assert time.monotonic() < deadline, f"{words!r} never came: {self.said!r}"
            assert self._read(), f"it ended before {words!r}: {self.said!r}"

    def until_stopped(self) -> None:
        """Wait until the process was stopped (Ctrl-Z)."""
        self._until(lambda: os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None)

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        self._until(lambda: self.process.poll() is not None)
        return self.process.returncode

    def close(self) -> None:
        """Let nothing be left behind."""
        os.close(self._end)
        self.process.kill()
        self.process.wait()

    def _until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            self._read(0.05)
            assert time.monotonic() < deadline, f"it never happened: {self.said!r}"
        while self._read(0.05):
            pass

    def _read(self, patience: float = 1.0) -> bool:
        """Read what there is; tell whether there may be more."""
        if not select.select([self._end], [], [], patience)[0]:
            return patience >= 1
        try:
            data = os.read(self._end, 65_536)
        except OSError:  # Linux, once the other end is closed
            return False
        self.said += data.decode("utf-8", "replace")
        return bool(data)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Close what a test opened."""
    opened: list[Terminal] = []
    yield opened
    for each in opened:
        each.close()


def command(root: Path, *arguments: str) -> None:
    """Run a command as a process of its own."""
    subprocess.run([sys.executable, "-m", "holdfast", *arguments], cwd=root, capture_output=True, check=True)


@pytest.mark.slow
def test_on_a_real_terminal(tmp_path: Path, terminals: list[Terminal]) -> None:
    """It starts, shows, changes with a `holdfast done`, stops and goes on, and ends on Ctrl-C with 0."""
    (tmp_path / ".claude").mkdir()
    command(tmp_path, "start", "Book", "--phase", "Draft", "--phase", "Review")
    terminal = Terminal(tmp_path)
    terminals.append(terminal)
    terminal.until("[>] 1. Draft")
    assert terminal.said.count(ENTER) == 1

    command(tmp_path, "done")
    terminal.until("[>] 2. Review")

    terminal.type(b"\x1a")
    terminal.until_stopped()
    assert terminal.said.index(SHOW_CURSOR) < terminal.said.index(LEAVE)
    terminal.said = ""
    terminal.process.send_signal(signal.SIGCONT)
    terminal.until("[>] 2. Review")
    assert terminal.said.count(ENTER) == 1
    terminal.until("Ctrl-C ends")

    terminal.type(b"\x03")
    assert terminal.ended() == 0
    end = terminal.said.rpartition(LEAVE)
    assert SHOW_CURSOR in end[0]
    assert "[>] 2. Review" in plain(end[2])
    assert "Ctrl-C ends" not in end[2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_clean_terminal(tmp_path: Path, terminals: list[Terminal], number: signal.Signals) -> None:
    """Whoever ends it, the terminal is as it was; the exit code says which signal it was."""
    terminal = Terminal(tmp_path)
    terminals.append(terminal)
    terminal.until("Ctrl-C ends")

    terminal.process.send_signal(number)

    assert terminal.ended() == 128 + number
    assert terminal.said.rstrip().endswith(LEAVE)
    assert SHOW_CURSOR in terminal.said


def test_signals_are_as_they_were() -> None:
    """One that whoever started it had ignored (nohup) stays so; all are given back."""
    known = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)}
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with watch._signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) != known[signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, ignored)

    assert {number: signal.getsignal(number) for number in known} == known


def test_a_dumb_terminal_gets_no_sequences(tmp_path: Path, terminals: list[Terminal]) -> None:
    """TERM=dumb is told the page like a pipe."""
    terminal = Terminal(tmp_path, TERM="dumb")
    terminals.append(terminal)
    terminal.until("starts one.")
    terminal.type(b"\x03")

    assert terminal.ended() == 0
    assert "\x1b" not in terminal.said


def test_on_a_pipe_it_ends_on_an_interrupt(tmp_path: Path) -> None:
    """With exit code 0 and nothing on stderr."""
    with subprocess.Popen(ON_PIPE, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert watching.stdout.readline() == b"No workflow is in progress here.\n"
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 0
        assert watching.stderr.read() == b""
        assert b"\x1b" not in watching.stdout.read()


def test_a_pipe_that_is_closed_ends_it(tmp_path: Path) -> None:
    """Though nothing changes, so that it has nothing to write."""
    with subprocess.Popen(ON_PIPE, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        watching.stdout.readline()
        watching.stdout.close()
        assert watching.wait(PATIENCE) == 0
        assert watching.stderr.read() == b""


def test_a_pipe_that_is_closed_while_it_writes_ends_it(tmp_path: Path) -> None:
    """The interpreter has nothing to complain of at its end either."""
    reading, writing = os.pipe()
    os.close(reading)
    watching = subprocess.run(
        WATCH, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
    )
    os.close(writing)

    assert (watching.returncode, watching.stderr) == (0, b"")


def test_it_writes_nothing_to_the_project(show: Show) -> None:
    """Whatever it sees."""
    holdfast("start", "Book", "--phase", "Draft", root=show.root, session=ME)
    before = {path: path.stat().st_mtime_ns for path in show.root.rglob("*")}
    show.draw(None, None)

    assert {path: path.stat().st_mtime_ns for path in show.root.rglob("*")} == before
