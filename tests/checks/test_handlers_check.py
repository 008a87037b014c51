"""The check names handler files that don't run as you may expect, with the reason."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.files import trust
from holdfast.plugins import activity, discovery
from holdfast.plugins.loader import Call
from holdfast.sessions.workspace import Workspace
from tests.doctoring import examine, healthy, obey, only

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

HEAD = "from holdfast import hookimpl\n"
GOOD = HEAD + "\n\n@hookimpl\ndef on_stop(event): ...\n"


def write(path: Path, text: str = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def mine() -> Path:
    return paths.user_handlers() / "mine.py"


def test_shipped_handlers_are_sound(root: Path, mine: Path) -> None:
    """So is a stranger's that loads."""
    write(mine)
    files = [each for each in discovery.find(claude, Workspace.open(root)) if each.path != mine]
    assert {each.path for each in files} == set(paths.shipped("handlers").glob("*.py"))
    running = [each for each in files if not each.off]
    assert 0 < len(running) < len(files)
    assert f"{len(running) + 1} handlers without faults" in healthy("handlers", root)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def broken(:\n", "line 1: cannot be read as Python"),
        ("import nothing_like_it\n" + GOOD, "No module named 'nothing_like_it'"),
        ("raise SystemExit(3)\n" + GOOD, "SystemExit"),
        ("import os; os._exit(3)\n" + GOOD, "exit"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n" + GOOD, "signal 9"),
        (GOOD.replace("on_stop", "on_stopp"), "on_stopp isn't the name of an event; did you mean on_stop?"),
        (GOOD.replace("@hookimpl\n", ""), "has no @hookimpl, so it never runs"),
        (GOOD.replace("@hookimpl", "@hookimpl(match='(')"), "match='('"),
    ],
)
def test_a_handler_that_cannot_run_is_a_problem(root: Path, mine: Path, text: str, words: str) -> None:
    """The file, the line and the reason; corrected, it is fine."""
    write(mine, text)

    found = only("handlers", root, "problem")

    assert found.text.startswith(f"{mine}: ")
    assert words in found.text
    assert found.remedy == f"correct {mine}, then: holdfast handlers check"
    write(mine)
    healthy("handlers", root)


def call_of(root: Path, path: Path) -> Call:
    """Return a call of a handler file's function."""
    file = next(each for each in discovery.find(claude, Workspace.open(root)) if each.path == path)
    return Call(file, file.routes[0])


def test_a_handler_that_failed_is_a_problem(root: Path, mine: Path) -> None:
    """A changed file has not failed yet."""
    write(mine)
    activity.note(call_of(root, mine), ["raised KeyError"], failed=True)
    found = only("handlers", root, "problem")
    assert f"{mine} failed when it ran: Stop: raised KeyError (once, last at" in found.text
    write(mine, GOOD + "\n")
    healthy("handlers", root)


def test_an_untrusted_handler_does_not_run(root: Path) -> None:
    """One may not know it; the command that trusts it is named. What is wrong with it is no problem until then."""
    file = write(paths.project_handlers(root) / "theirs.py")
    found = only("handlers", root, "notice")
    assert found.text == f"{file} isn't used: not trusted"
    obey(found, root)
    healthy("handlers", root)

    ran = root / "ran"
    write(file, f"open({str(ran)!r}, 'w')\n{GOOD}")
    assert {found.level for found in examine("handlers", root)} == {"notice", "ok"}
    assert not ran.exists(), "it isn't loaded"
    write(file, "def broken(:\n")
    assert {found.level for found in examine("handlers", root)} == {"notice", "ok"}


def test_what_is_switched_off_is_all_right(root: Path) -> None:
    """It is named with the command that switches it on; a name that is no handler's is a notice."""
    write(paths.user_config(), '[handlers]\noff = ["save_workflow"]\n')
    healthy("handlers", root)
    texts = [found.text for found in examine("handlers", root)]
    assert any("save_workflow.py is switched off; holdfast handlers on save_workflow" in each for each in texts)

    write(paths.user_config(), '[handlers]\non = ["recorder"]\n')
    assert "\"handlers.on\" names 'recorder'" in only("handlers", root, "notice").text
    write(paths.user_config(), '[handlers]\non = ["record_events"]\n')
    healthy("handlers", root)


STRICT = HEAD + "@hookimpl(match='shell', strict=True)\ndef on_pre_tool_use(event): ...\n"


def test_a_lost_guard_is_a_problem_until_it_is_let_go(root: Path, mine: Path) -> None:
    """What it guarded is refused; the remedy ends that, and nobody is told to correct a file that is gone."""
    write(mine, STRICT)
    healthy("handlers", root)
    mine.unlink()
    found = only("handlers", root, "problem")
    assert found.text.startswith(
        f"{mine} is strict and can't run, so what it guards is refused: its file is gone; put it back"
    )
    assert found.remedy == "holdfast handlers off mine"
    obey(found, root)
    healthy("handlers", root)


@pytest.mark.parametrize("gone", [False, True])
def test_a_trusted_guard_that_changed_or_is_gone_is_a_problem(root: Path, gone: bool) -> None:
    """Trusted again, or let go, all is well."""
    guard = write(paths.project_handlers(root) / "guard.py", STRICT)
    trust.grant(root, {".claude/handlers/guard.py": trust.digest(guard.read_bytes())})
    healthy("handlers", root)
    if gone:
        guard.unlink()
    else:
        guard.write_text(STRICT + "# more\n")
    found = only("handlers", root, "problem")
    assert found.remedy == f"holdfast handlers {'untrust' if gone else 'trust'} --project {root} guard.py"
    obey(found, root)
    healthy("handlers", root)


def holdfast_trusts(root: Path, file: Path) -> None:
    from holdfast.files import trust

    trust.grant(root, {trust.relative_name(root, file): trust.digest(file.read_bytes())})


@pytest.mark.usefixtures("anybody")
def test_a_handler_that_is_closed_to_us_is_opened(root: Path, mine: Path) -> None:
    """Nobody is sent to correct what may be sound, or to trust what is; it is told once."""
    write(mine).chmod(0o000)
    found = only("handlers", root, "problem")
    assert (found.text, found.remedy) == (f"{mine} can't be read, so it doesn't run", f"chmod u+rw {mine}")
    obey(found, root)
    healthy("handlers", root)

    mine.parent.chmod(0o000)
    healthy("handlers", root)  # the folders check reports that
    mine.parent.chmod(0o700)

    file = write(paths.project_handlers(root) / "theirs.py")
    holdfast_trusts(root, file)
    file.parent.chmod(0o000)
    found = next(each for each in examine("handlers", root) if each.level == "problem")
    assert found.text == f"{file.parent} can't be read, so none of its handlers run"
    file.parent.chmod(0o700)
    healthy("handlers", root)
    file.chmod(0o000)
    found = only("handlers", root, "problem")
    assert (found.text, found.remedy) == (f"{file} can't be read, so it doesn't run", f"chmod u+rw {file}")
    obey(found, root)
    healthy("handlers", root)


def test_a_guard_of_shell_commands_without_the_extra_is_named(
    root: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It misses, or asks about, all but plain words."""
    write(mine, HEAD + "\n\n@hookimpl\ndef on_pre_tool_use(event):\n    print(event.commands)\n")
    healthy("handlers", root)
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    assert "reads shell commands; without the extra" in only("handlers", root, "notice").text


def test_a_handler_that_runs_well_again_is_no_problem(root: Path, mine: Path) -> None:
    """Whatever it did wrong before."""
    write(mine)
    call = call_of(root, mine)
    activity.note(call, ["raised KeyError"], failed=True)
    only("handlers", root, "problem")
    activity.note(call, [], failed=False)
    healthy("handlers", root)
