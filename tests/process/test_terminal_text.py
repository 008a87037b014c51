"""No name can make a command move a terminal's cursor, or hide or reorder what is shown."""

from __future__ import annotations

import ast
import io
import json
import sys
import unicodedata
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import log, paths
from holdfast.commands import terminal
from holdfast.process.terminal_text import guarded, printable, unguarded
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.processes import ROOT
from tests.signals import Agent
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

HOSTILE = "e\x1b[31m\x1b]0;t\x07\x9b2J\x80\x9f\u202a\u202e\u2066\u2069\u200b\u200d\u200e\u2028\u2029\ufeff\U000e0041vil"


def unsafe(text: str) -> set[str]:
    """Return the characters of a text that a terminal would act on or not show, but for line breaks and tabs."""
    return {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n", "\t"}


def test_what_is_unsafe_is_shown_as_an_escape() -> None:
    """Readably, and so that a JSON document keeps its meaning."""
    assert unsafe(HOSTILE) >= {"\x1b", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\U000e0041"}
    assert printable("a\x1b[0m\x9b\u202e\u200b") == r"a\u001b[0m\u009b\u202e\u200b"
    assert printable("\U000e0041") == r"\udb40\udc41"
    assert printable("one\r\ntwo\tthree\rfour") == "one\r\ntwo\tthree" + r"\u000dfour"
    document = json.dumps({"name": HOSTILE}, ensure_ascii=False, indent=2)
    assert json.loads(printable(document)) == {"name": HOSTILE}


@each_row("text", ["Größe – 表 😀", "👩\u200d💻 नि\u200dष", "می\u200cخواهم", "a\tb\nc"])
def test_what_is_only_foreign_stays(text: str) -> None:
    """Letters of all scripts, with the joiners these need, and emoji."""
    assert printable(text) == text


@given(st.text(st.characters() | st.sampled_from(HOSTILE)))
def test_nothing_unsafe_is_left(text: str) -> None:
    """Of any text; twice is as once."""
    shown = printable(text)

    assert not (unsafe(shown) & set(HOSTILE)) - {"\u200d"}
    assert printable(shown) == shown


def test_streams_are_guarded_as_long_as_a_command_runs() -> None:
    """Whoever writes; an encoding without the letters makes escapes of them and is not gone around."""
    kept = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(kept, encoding="ascii", write_through=True)) as before:
        with guarded():
            print("a\x1b[31mé")
            sys.stdout.writelines(["\x9b", "b\n"])
            assert unguarded(sys.stdout) is before
            assert sys.stdout.encoding == "utf-8"
        assert sys.stdout is before
        before.flush()
    assert kept.getvalue() == rb"a\u001b[31m\xe9" + b"\n" + rb"\u009bb" + b"\n"


def test_a_console_writes_its_own_colours_only() -> None:
    """What is printed on it has none."""
    kept = io.StringIO()
    with redirect_stdout(kept), guarded():
        console = terminal.console()
        console._force_terminal = True
        console._color_system = None
        console.print(f"[bold]{HOSTILE}[/bold]", style="red")
    assert not unsafe(kept.getvalue()) - {"\x1b"}
    assert r"\u001b[31m" in kept.getvalue() or r"\u001b" in kept.getvalue()


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], tmp_path: Path) -> HoldfastProject:
    """A project in which everything that has a name has a hostile one."""
    made = holdfast_project({})
    made.checked = False
    made.root = tmp_path / f"root {HOSTILE}"
    (made.root / ".claude" / "handlers").mkdir(parents=True)
    for folder in (paths.ensure_private(paths.user_handlers()), made.root / ".claude" / "handlers"):
        (folder / f"{HOSTILE}.py").write_text("def on_stop(event): ...\n")
        (folder / f"broken {HOSTILE}.py").write_text(f"raise {HOSTILE!r} at")
    (made.root / ".claude" / "handlers" / "fine.py").write_text(
        "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event):\n    raise OSError(str(event))\n"
    )
    made.trust()
    log.set_project(made.root)
    phases = ("--phase", f"One {HOSTILE} @builder", "--phase", HOSTILE, "--read", HOSTILE, "--remind", HOSTILE)
    holdfast(
        "start",
        f"Title {HOSTILE}",
        "--format",
        "compaction",
        *phases,
        "--set",
        f"{HOSTILE}={HOSTILE}",
        root=made.root,
        session=ME,
    )
    holdfast("start", f"Other {HOSTILE}", "--format", "hybrid", "--phase", HOSTILE, root=made.root, session=OTHER)
    broken = made.root / "untracked" / "workflow-state" / HOSTILE
    broken.mkdir(parents=True)
    (broken / f"state-{HOSTILE}.json").write_text(f"[{HOSTILE}")
    made.fire("SessionStart", "SessionStart-startup-tui", session_id=f"{HOSTILE}-session")
    made.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    agent = Agent(made, f"One {HOSTILE}", f"builder{HOSTILE}", HOSTILE, session=ME)
    agent.about_to()
    agent.failed(f"failed {HOSTILE}")
    made.fire("Stop", last_assistant_message=f"said {HOSTILE}", session_id=ME)
    made.fire("PreCompact", "PreCompact-auto", session_id=ME)
    made.fire("SessionStart", "SessionStart-compact", session_id=ME)
    log.write("warning", HOSTILE, field=HOSTILE)
    return made


COMMANDS = (
    *("status", "status -v", "status --why", "status --json", "log", "log --json", "log diff 1 now", "report -"),
    *("doctor", "handlers list", "handlers list --json", "handlers check", "handlers trust --yes", "handlers untrust"),
    *("export", "claim", "next", "done", "server", "install --print", "wfs scratch a b"),
    "forget --everything --dry-run",
)


@pytest.mark.slow
def test_no_command_prints_a_hostile_name_as_it_is(project: HoldfastProject) -> None:
    """Neither on stdout nor on stderr, whatever comes of the command."""
    commands = [command.split() for command in COMMANDS]
    for command in ("restore", "status --why", "status", "no such", f"log --since {HOSTILE}", "update --phase"):
        words = command.split(" ")
        commands += [[*words, HOSTILE], [*words, "--project", f"/nowhere {HOSTILE}"]]
    for words in commands:
        said = holdfast(*words, root=project.root, session=ME, code=None)
        assert not unsafe(said.out + said.err), words


@pytest.mark.slow
def test_every_console_is_a_guarded_one() -> None:
    """No module makes one of rich's by itself: that would write to the terminal past the guard, or be garbled by it."""
    for file in (ROOT / "src").rglob("*.py"):
        if file.name == "terminal.py":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "Console"), file
