"""Faults of handler files are found by reading them, by loading them in a child process, and from their record."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import claude, versions
from holdfast.files import trust
from holdfast.install import inspection, register
from holdfast.plugins import discovery
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile

GOOD = """
    from holdfast import hookimpl

    @hookimpl(match="Glob")
    def on_pre_tool_use(event):
        return None
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A project; the shipped handlers' folder is an empty one of the test's own."""
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    return Workspace.open(root)


def user_handler(name: str, text: str = GOOD) -> Path:
    return write(paths.user_handlers(), name, text)


def write(folder: Path, name: str, text: str = GOOD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(dedent(text))
    return path


def complaints(project: Workspace) -> list[tuple[str, str]]:
    return [(file.name, said) for file, said in inspection.complaints(project, discovery.find(claude, project))]


def the_file(project: Workspace, name: str) -> HandlerFile:
    return next(file for file in discovery.find(claude, project) if file.name == name)


def test_sound_handlers_have_no_complaints(project: Workspace) -> None:
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
def test_a_file_that_does_not_load_is_named_beside_the_sound_ones(project: Workspace, text: str, words: str) -> None:
    """Whatever loading it does, the command goes on to the next file."""
    user_handler("a_bad", f"{text}\n{dedent(GOOD)}" if "def on_stop" not in text else text)
    user_handler("b_good")

    found = complaints(project)

    assert {name for name, _ in found} == {"a_bad"}
    assert any(words.lower() in said.lower() for _, said in found), found


def test_a_file_that_hangs_is_interrupted(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading has a time limit."""
    monkeypatch.setattr(inspection, "FILE_TIMEOUT_S", 0.2)
    user_handler("slow", f"import time; time.sleep(60)\n{dedent(GOOD)}")

    ((name, said),) = complaints(project)
    assert name == "slow"
    assert "longer than" in said


def test_what_the_text_shows_is_told_without_running_it(project: Workspace, tmp_path: Path) -> None:
    """A handler function with a wrong option is found by reading; it is told once."""
    user_handler("odd", "from holdfast import hookimpl\n@hookimpl(match=3)\ndef on_stop(event): ...\n")

    ((name, said),) = complaints(project)
    assert name == "odd"
    assert "match" in said


def test_an_untrusted_file_is_read_and_never_loaded(project: Workspace, tmp_path: Path) -> None:
    """`handlers check` in a cloned repository runs none of its code."""
    evil = f"open({str(tmp_path / 'ran')!r}, 'w')\n{dedent(GOOD)}\n@hookimpl(match=3)\ndef on_stop(event): ...\n"
    write(paths.project_handlers(project.root), "evil", evil)

    found = complaints(project)

    assert not (tmp_path / "ran").exists()
    assert [name for name, _ in found] == ["evil"]


def test_the_listing_says_what_runs_in_which_order(project: Workspace) -> None:
    """For each event, in calling order: file, place, function, matcher, limit, strict_memory."""
    user_handler("b_second")
    user_handler("c_first", GOOD.replace('match="Glob"', 'match="Glob", tryfirst=True, timeout=1.5, strict=True'))
    path = write(paths.project_handlers(project.root), "a_third")
    trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(path.read_bytes())})

    listed = inspection.listing(discovery.find(claude, project))

    assert list(listed) == ["PreToolUse"]
    names = [row["file"].rpartition("/")[2] for row in listed["PreToolUse"]]
    assert names == ["c_first.py", "b_second.py", "a_third.py"]
    first, second, third = listed["PreToolUse"]
    assert (first["timeout"], first["strict"], first["match"]) == (1.5, True, "Glob")
    assert (second["place"], second["function"], second["timeout"]) == ("user", "on_pre_tool_use", None)
    assert (third["place"], third["trusted"]) == ("project", True)


def put(project: Workspace, *events: str, timeout: float | None = None, command: str = "") -> None:
    """Register events in the project's own settings, with our command or another."""
    hooks: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        limit = {} if timeout is None else {"timeout": timeout}
        entry = {"type": "command", "command": command or register.command(event), **limit}
        hooks[event] = [{"hooks": [entry]}]
    (project.root / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))


def remarks(project: Workspace) -> list[str]:
    return [said for _, said in inspection.remarks(project, discovery.find(claude, project))]


def test_an_event_is_missed_only_where_others_are_registered(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing of Holdfast's is, the reader has not installed it yet: each missing event is no news."""
    monkeypatch.setattr(versions, "version", lambda: (2, 1, 197))
    newer = GOOD.replace("on_pre_tool_use", "on_pre_model_switch").replace('(match="Glob")', "")
    user_handler("mine", GOOD + newer)
    assert inspection.withheld(project, discovery.find(claude, project)) == {}
    assert remarks(project) == []

    put(project, "Stop")
    assert list(inspection.withheld(project, discovery.find(claude, project))) == ["PreModelSwitch"]
    newest, oldest = sorted(remarks(project), key=lambda said: "PreModelSwitch" not in said)
    assert newest.startswith("on_pre_model_switch doesn't run: PreModelSwitch is not registered: it needs Claude")
    assert oldest.startswith("on_pre_tool_use doesn't run: PreToolUse isn't registered. Run holdfast install")

    put(project, "PreToolUse", "PreModelSwitch")
    assert remarks(project) == []


@pytest.mark.parametrize(
    ("limit", "ours", "told"),
    [(30, True, True), (60, True, False), (0, True, True), (None, True, True), (30, False, False)],
)
def test_a_handler_that_the_client_does_not_wait_for_is_named(
    project: Workspace, limit: float | None, ours: bool, told: bool
) -> None:
    """The limit beside our command counts, else the client's own; one written by hand is no install's to raise."""
    slow = GOOD.replace("on_pre_tool_use", "on_session_end").replace('match="Glob"', "timeout=10")
    user_handler("slow", slow)
    put(project, "SessionEnd", timeout=limit, command="" if ours else "holdfast dispatch SessionEnd")
    waits = (
        f"is cut off: it asks for more time than Claude Code gives the registered SessionEnd hook ({limit or 1.5:g} s)"
    )
    assert [waits in said for said in remarks(project)] == ([True] if told else [])


def test_one_settings_file_that_covers_a_handler_is_enough(project: Workspace) -> None:
    """The client runs what any of them registers."""
    user_handler("mine")
    settings = project.root / ".claude" / "settings.json"
    put(project, "PreToolUse")
    for place, matcher in ((settings.with_name("settings.local.json"), "Glob|Read"), (settings, "Edit")):
        hooks = json.loads(settings.read_text())["hooks"]["PreToolUse"]
        place.write_text(json.dumps({"hooks": {"PreToolUse": [{**hooks[0], "matcher": matcher}]}}))
    assert remarks(project) == []
    settings.with_name("settings.local.json").unlink()
    (said,) = remarks(project)
    assert said.startswith("on_pre_tool_use doesn't run for all of Glob: PreToolUse is registered only for Edit")


def test_a_guard_that_is_gone_is_not_to_be_looked_at(project: Workspace) -> None:
    """There is nothing to trust; why events are refused is told elsewhere."""
    path = write(paths.project_handlers(project.root), "guard", GOOD.replace('"Glob"', '"Glob", strict=True'))
    trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(path.read_bytes())})
    discovery.find(claude, project)
    path.unlink()
    (gone,) = discovery.find(claude, project)
    command = f"holdfast handlers untrust --project {project.root} guard.py"
    assert str(inspection.idle(gone)) == f"gone since you trusted it, so what it guarded is refused; {command}"
    assert not any("look at it" in said for said in remarks(project))


def test_the_listing_says_of_each_once_whether_it_runs(project: Workspace) -> None:
    """Those that do not come last, with the reason, also where only the client's age keeps an event away."""
    user_handler("a_still", f"OFF_BY_DEFAULT = True\n{dedent(GOOD)}")
    user_handler("b_runs")
    (runs, still) = inspection.listing(discovery.find(claude, project), {"Stop": "too new"})["PreToolUse"]
    assert (runs["inactive_reason"], "switched off" in still["inactive_reason"]) == (None, True)
    (runs, still) = inspection.listing(discovery.find(claude, project), {"PreToolUse": "too new"})["PreToolUse"]
    assert (runs["inactive_reason"], "switched off" in still["inactive_reason"]) == ("too new", True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("X = 1\n", "answers no event"),
        (f"OFF_BY_DEFAULT = True\n{dedent(GOOD)}", "switched off"),
        (
            f'RUNS_WHEN = {{"reading": ["hold", "off"]}}\n{dedent(GOOD)}',
            "the configuration has reading = 'hold' or 'off'",
        ),
        ("def broken(:", "syntax"),
    ],
)
def test_why_a_file_does_not_run_is_said(project: Workspace, text: str, words: str) -> None:
    """A file somebody dropped in and that does nothing needs a reason."""
    user_handler("still", text)

    assert words in str(inspection.idle(the_file(project, "still"))).lower()


def test_an_untrusted_and_a_replaced_file_say_so(project: Workspace) -> None:
    """Trust is to be given by command; a nearer file of the same name replaces a farther one."""
    user_handler("same")
    path = write(paths.project_handlers(project.root), "same")
    mine, theirs = discovery.find(claude, project)
    assert str(inspection.idle(mine)) == ""
    assert str(inspection.idle(theirs)) == f"not trusted; holdfast handlers trust --project {project.root} same.py"

    trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(path.read_bytes())})
    mine, theirs = discovery.find(claude, project)
    assert str(inspection.idle(mine)) == f"replaced by {path}"
    assert str(inspection.idle(theirs)) == ""
