"""What `handlers check` and `handlers list` say of handlers whose event isn't registered as they need it."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import versions
from holdfast.install import inspection, register
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
    from holdfast import hookimpl

    @hookimpl(match="Glob")
    def on_pre_tool_use(event):
        return None
"""


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shipped handlers, and an old client."""
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    monkeypatch.setattr(versions, "version", lambda: (2, 1, 197))


def write(text: str = GOOD) -> None:
    """Write a handler of the user's."""
    paths.user_handlers().mkdir(parents=True, exist_ok=True)
    (paths.user_handlers() / "mine.py").write_text(dedent(text))


def put(root: Path, *events: str, timeout: float | None = None, matcher: str = "", command: str = "") -> None:
    """Register events in a project's own settings, with our command or another."""
    hooks: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        limit = {} if timeout is None else {"timeout": timeout}
        entry = {"type": "command", "command": command or register.command(event), **limit}
        hooks[event] = [{"matcher": matcher, "hooks": [entry]}]
    (root / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))


def remarks(root: Path) -> list[str]:
    """Return what `handlers check` remarks on the handler."""
    lines = holdfast("handlers", "check", root=root).out.splitlines()
    return [line.removeprefix("user/mine.py: note: ") for line in lines if line.startswith("user/mine.py: note: ")]


@pytest.mark.usefixtures("shipped")
def test_an_event_is_missed_only_where_others_are_registered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing of Holdfast's is, the reader has not installed it yet: each missing event is no news."""
    newer = GOOD.replace("on_pre_tool_use", "on_pre_model_switch").replace('(match="Glob")', "")
    write(GOOD + newer)
    assert remarks(root) == []

    put(root, "Stop")
    newest, oldest = sorted(remarks(root), key=lambda said: "PreModelSwitch" not in said)
    why = "PreModelSwitch is not registered: it needs Claude Code 2.1.251, and this is 2.1.197"
    assert newest == f"on_pre_model_switch doesn't run: {why}. To register it: holdfast install --all-events"
    assert oldest == "on_pre_tool_use doesn't run: PreToolUse isn't registered. Run holdfast install"
    listed = holdfast("handlers", "list", "--json", root=root).json["events"]
    assert [row["inactive_reason"] for row in listed["PreToolUse"]] == [None]
    assert "PreModelSwitch" not in {event for event, (row,) in listed.items() if not row["inactive_reason"]}

    monkeypatch.setattr(versions, "version", lambda: (2, 1, 251))
    why = "it wasn't when you ran the last install. To register it: holdfast install"
    assert f"on_pre_model_switch doesn't run: PreModelSwitch is not registered: {why}" in remarks(root)
    put(root, "PreToolUse", "PreModelSwitch")
    assert remarks(root) == []


@each_row(
    "limit, ours, told",
    [(30, True, True), (60, True, False), (0, True, True), (None, True, True), (30, False, False)],
)
@pytest.mark.usefixtures("shipped")
def test_a_handler_that_the_client_does_not_wait_for_is_named(
    root: Path, limit: float | None, ours: bool, told: bool
) -> None:
    """The limit beside our command counts, else the client's own; one written by hand is no install's to raise."""
    write(GOOD.replace("on_pre_tool_use", "on_session_end").replace('match="Glob"', "timeout=10"))
    put(root, "SessionEnd", timeout=limit, command="" if ours else "holdfast dispatch SessionEnd")
    waits = (
        f"on_session_end is cut off: it asks for more time than Claude Code gives the registered SessionEnd hook "
        f"({limit or 1.5:g} s), and a plugin's can't have more. To register 60 s: holdfast install"
    )
    assert remarks(root) == ([waits] if told else [])


@pytest.mark.usefixtures("shipped")
def test_one_settings_file_that_covers_a_handler_is_enough(root: Path) -> None:
    """The client runs what any of them registers."""
    write()
    settings = root / ".claude" / "settings.json"
    put(root, "PreToolUse", matcher="Glob|Read")
    settings.rename(settings.with_name("settings.local.json"))
    put(root, "PreToolUse", matcher="Edit")
    assert remarks(root) == []
    settings.with_name("settings.local.json").unlink()
    (said,) = remarks(root)
    assert said.startswith("on_pre_tool_use doesn't run for all of Glob: PreToolUse is registered only for Edit")


@pytest.mark.usefixtures("shipped")
def test_a_file_that_hangs_is_interrupted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading has a time limit."""
    monkeypatch.setattr(inspection, "FILE_TIMEOUT_S", 0.2)
    write(f"import time; time.sleep(60)\n{dedent(GOOD)}")
    assert "longer than" in holdfast("handlers", "check", root=root, code=1).out


@pytest.mark.usefixtures("shipped")
def test_what_a_file_waits_for_is_said(root: Path) -> None:
    """A handler that the configuration switches on names the values."""
    write(f'RUNS_WHEN = {{"reading": ["hold", "off"]}}\n{dedent(GOOD)}')
    said = "switched off; it runs if the configuration has reading = 'hold' or 'off' and handlers.off doesn't name it"
    assert said in holdfast("handlers", "check", root=root).out
