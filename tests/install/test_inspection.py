"""What is wrong with handler files is found by reading, by loading in a process of its own, and from their past."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from holdfast import events, paths, trust
from holdfast.dispatch import faults
from holdfast.install import inspection
from holdfast.plugins import loader
from holdfast.project import Project
from tests import processes

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.plugins.loader import HandlerFile

GOOD = """
    from holdfast import hookimpl

    @hookimpl(match="Bash")
    def on_pre_tool_use(event):
        return None
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project; the shipped handlers' folder is an empty one of the test's own."""
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    return Project.open(root)


def user_handler(name: str, text: str = GOOD) -> Path:
    return write(paths.user_handlers(), name, text)


def write(folder: Path, name: str, text: str = GOOD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(dedent(text))
    return path


def complaints(project: Project) -> list[tuple[str, str]]:
    return [(file.name, said) for file, said in inspection.complaints(project, loader.find(project))]


def the_file(project: Project, name: str) -> HandlerFile:
    return next(file for file in loader.find(project) if file.name == name)


def test_sound_handlers_have_no_complaints(project: Project) -> None:
    """Loading calls nothing: a handler that would fail when it is called is none that does not load."""
    user_handler("good", GOOD.replace("return None", "raise RuntimeError"))

    assert complaints(project) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def on_stop(event: ", "was never closed"),
        ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("import nothing_of_that_name", "nothing_of_that_name"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import os; os._exit(3)", "exit"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
    ],
)
def test_a_file_that_does_not_load_is_named_beside_the_sound_ones(project: Project, text: str, words: str) -> None:
    """Whatever loading it does, the command goes on to the next file."""
    user_handler("a_bad", f"{text}\n{dedent(GOOD)}" if "def on_stop" not in text else text)
    user_handler("b_good")

    found = complaints(project)

    assert {name for name, _ in found} == {"a_bad"}
    assert any(words.lower() in said.lower() for _, said in found), found


def test_a_file_that_hangs_is_interrupted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading has a time limit."""
    monkeypatch.setattr(inspection, "SECONDS_PER_FILE", 0.2)
    user_handler("slow", f"import time; time.sleep(60)\n{dedent(GOOD)}")

    ((name, said),) = complaints(project)
    assert name == "slow"
    assert "longer than" in said


def test_loading_happens_in_a_process_of_its_own(tmp_path: Path) -> None:
    """What a file prints, and what it does to its process, does not reach the command."""
    place = processes.make(tmp_path)
    place.user_handler("loud", f"import sys; print('loud'); sys.stdout.flush(); sys.exit = None\n{dedent(GOOD)}")

    command = [sys.executable, "-m", "holdfast", "handlers", "check"]
    ended = processes.run(command, b"", place.environ(), place.root)

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert "loud" not in ended.stdout
    assert "handler files are sound" in ended.stdout


def test_faults_of_the_past_are_told(project: Project) -> None:
    """What a handler did when it ran, until its content changes."""
    path = user_handler("good")
    faults.remember("PreToolUse", the_file(project, "good"), "raised KeyError: 'command'")

    ((name, said),) = complaints(project)
    assert name == "good"
    assert said.startswith("PreToolUse: raised KeyError: 'command' (once")

    path.write_text(path.read_text() + "\n")
    assert complaints(project) == []


def test_what_the_text_shows_is_told_without_running_it(project: Project, tmp_path: Path) -> None:
    """A handler function with a wrong option is found by reading; it is told once."""
    user_handler("odd", "from holdfast import hookimpl\n@hookimpl(match=3)\ndef on_stop(event): ...\n")

    ((name, said),) = complaints(project)
    assert name == "odd"
    assert "match" in said


def test_an_untrusted_file_is_read_and_never_loaded(project: Project, tmp_path: Path) -> None:
    """`handlers check` in a cloned repository runs none of its code."""
    evil = f"open({str(tmp_path / 'ran')!r}, 'w')\n{dedent(GOOD)}\n@hookimpl(match=3)\ndef on_stop(event): ...\n"
    write(paths.project_handlers(project.root), "evil", evil)

    found = complaints(project)

    assert not (tmp_path / "ran").exists()
    assert [name for name, _ in found] == ["evil"]


def test_the_listing_says_what_runs_in_which_order(project: Project) -> None:
    """For each event, in calling order: file, place, function, matcher, limit, strictness."""
    user_handler("b_second")
    user_handler("c_first", GOOD.replace('match="Bash"', 'match="Bash", tryfirst=True, timeout=1.5, strict=True'))
    path = write(paths.project_handlers(project.root), "a_third")
    trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(path.read_bytes())})

    listed = inspection.listing(loader.find(project))

    assert list(listed) == ["PreToolUse"]
    names = [row["file"].rpartition("/")[2] for row in listed["PreToolUse"]]
    assert names == ["c_first.py", "b_second.py", "a_third.py"]
    first, second, third = listed["PreToolUse"]
    assert (first["timeout"], first["strict"], first["match"]) == (1.5, True, "Bash")
    assert (second["place"], second["function"], second["timeout"]) == ("user", "on_pre_tool_use", None)
    assert (third["place"], third["trusted"]) == ("project", True)


def test_events_stand_in_a_fixed_order(project: Project) -> None:
    """The listing follows the table of events and not the files."""
    user_handler("both", GOOD + GOOD.replace("on_pre_tool_use", "on_setup").replace('(match="Bash")', ""))

    listed = list(inspection.listing(loader.find(project)))
    assert listed == [event for event in events.EVENTS if event in ("PreToolUse", "Setup")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("X = 1\n", "answers no event"),
        (f"OFF_BY_DEFAULT = True\n{dedent(GOOD)}", "switched off"),
        (
            f'RUNS_WHEN = {{"reading": ["hold", "off"]}}\n{dedent(GOOD)}',
            "the configuration says reading = 'hold' or 'off'",
        ),
        ("def broken(:", "syntax"),
    ],
)
def test_why_a_file_does_not_run_is_said(project: Project, text: str, words: str) -> None:
    """A file somebody dropped in and that does nothing needs a reason."""
    user_handler("still", text)

    assert words in inspection.idle(the_file(project, "still")).lower()


def test_an_untrusted_and_a_replaced_file_say_so(project: Project) -> None:
    """Trust is to be given by command; a nearer file of the same name replaces a farther one."""
    user_handler("same")
    path = write(paths.project_handlers(project.root), "same")
    mine, theirs = loader.find(project)
    assert inspection.idle(mine) == ""
    assert inspection.idle(theirs) == "not trusted; see holdfast handlers trust"

    trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(path.read_bytes())})
    mine, theirs = loader.find(project)
    assert inspection.idle(mine) == f"replaced by {path}"
    assert inspection.idle(theirs) == ""
