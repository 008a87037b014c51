"""The client's status line shows a session's own workflow, as its events and the commands leave it."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from holdfast import clock, paths
from holdfast.files import status_file
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

NOW = "2026-03-01T09:00:00Z"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project of somebody who has the status line, at a known time."""
    monkeypatch.setenv("HOLDFAST_NOW", NOW)
    paths.ensure_private(status_file.folder())
    return holdfast_project({})


def begin(project: HoldfastProject, session: str = ME, title: str = "User auth", kind: str = "hybrid") -> None:
    phases = ("--phase", "Design @builder", "--phase", "Build @builder")
    holdfast("start", title, "--format", kind, *phases, root=project.root, session=session)


def shown(session: str = ME) -> str:
    """What a relay prints of a session, but for the age; empty for nothing."""
    file = status_file.folder() / session
    return file.read_text("utf-8").split("\n")[1] if file.exists() else ""


def saved_at_s(session: str = ME) -> int:
    return int((status_file.folder() / session).read_text("utf-8").split("\n")[0])


def test_without_a_status_line_nothing_is_written(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Neither by an event nor by a command: the folder is what switches it on."""
    project = holdfast_project({})
    begin(project)
    project.fire("UserPromptSubmit", session_id=ME)

    assert not status_file.folder().exists()


def test_a_session_that_begins_removes_what_sessions_of_long_ago_left(project: HoldfastProject) -> None:
    """A killed client never says that its session is over."""
    now_s = time.time()
    for name, age_s in (("long-ago", status_file.STALE_S + 60), ("lately", status_file.STALE_S - 3600)):
        (status_file.folder() / name).touch()
        os.utime(status_file.folder() / name, (now_s - age_s,) * 2)
    project.fire("UserPromptSubmit", session_id=ME)
    assert (status_file.folder() / "long-ago").exists()
    project.fire("SessionStart", session_id=ME)
    assert [each.name for each in status_file.folder().iterdir()] == ["lately"]


def test_it_follows_agents(project: HoldfastProject) -> None:
    """How many run, also those that the main conversation waits for, and the phase that their results lead to."""
    begin(project)
    project.fire("SessionStart", "SessionStart-startup", session_id=ME)
    one = Agent(project, "Design", session=ME)
    one.about_to()
    one.started()
    assert shown() == "User auth · phase 1/2 Design · 1 agent"

    one.stopped("Designed.")
    one.returned("Designed.")
    assert shown() == "User auth · phase 2/2 Build"


def test_a_compaction_saves(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the last save is that of the workflow's content, or of the compaction that came after it."""
    begin(project)
    written = clock.parse(NOW)
    assert written and saved_at_s() == int(written.timestamp())

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T09:30:00Z")
    project.fire("UserPromptSubmit", session_id=ME)
    assert saved_at_s() == int(written.timestamp())

    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    assert saved_at_s() == int(written.timestamp()) + 1800
    project.fire("SessionStart", "SessionStart-compact", session_id=ME)
    assert (shown(), saved_at_s()) == ("User auth · phase 0/2", int(written.timestamp()) + 1800)


def test_another_sessions_workflow_is_not_shown(project: HoldfastProject) -> None:
    """Of two sessions in one project each shows its own."""
    begin(project)
    project.fire("UserPromptSubmit", session_id=ME)
    project.fire("SessionStart", "SessionStart-startup", session_id=OTHER)
    project.fire("UserPromptSubmit", session_id=OTHER)
    assert shown() and not shown(OTHER)

    begin(project, OTHER, "Payments", "compaction")
    assert (shown(), shown(OTHER)) == ("User auth · phase 0/2", "Payments · phase 1/2 Design")


def test_a_workflow_that_is_claimed_is_shown_where_it_went(project: HoldfastProject) -> None:
    """And no longer where it was."""
    begin(project)
    project.fire("UserPromptSubmit", session_id=ME)
    project.fire("UserPromptSubmit", session_id=OTHER)

    holdfast("claim", "--session", OTHER, "user-auth", "--anyway", root=project.root)

    assert (shown(), shown(OTHER)) == ("", "User auth · phase 0/2")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("chosen", [("--session", ME), ("--workflow", "user-auth"), ("--everything",)])
def test_what_is_forgotten_is_not_shown(project: HoldfastProject, chosen: tuple[str, ...], known: bool) -> None:
    """A session, its workflow or everything, whether or not the session had an event yet."""
    begin(project)
    if known:
        project.fire("UserPromptSubmit", session_id=ME)
    assert shown()

    holdfast("forget", *chosen, "--yes", root=project.root)

    assert not (status_file.folder() / ME).exists()


def test_a_secret_and_what_a_terminal_acts_on_are_not_shown(project: HoldfastProject) -> None:
    """Nor is a title of any length."""
    token = "ghp_" + "a1B2" * 9
    begin(project, ME, f"Use \x1b[31m{token} \u202e" + "x" * 500)

    line = shown()
    assert token not in line and "\x1b" not in line and "\u202e" not in line
    assert "…" in line and line.endswith(" · phase 0/2")


def test_what_nobody_sees_reaches_neither_model_nor_terminal(project: HoldfastProject) -> None:
    """One list of invisible characters counts for guidance, commands and the status line; emoji stay whole."""
    hidden = (
        "\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u200f\u202e\u2060\u2066\u3164\ufe01\ufe0f\ufeff\U000e0041\U000e0100"
    )
    emoji = "\U0001f469\u200d\U0001f4bb \u2764\ufe0f 1\ufe0f\u20e3"
    begin(project, ME, f"Ship{hidden} {emoji}")

    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    texts = {
        "status line": shown(),
        "command": holdfast("status", root=project.root).out,
        "guidance": project.fire("SessionStart", "SessionStart-compact", session_id=ME).stdout,
    }
    texts["guidance"] = json.loads(texts["guidance"])["hookSpecificOutput"]["additionalContext"]

    for where, text in texts.items():
        assert emoji in text, where
        assert not set(hidden) & set(text.replace(emoji, "")), where
    assert f"Ship {emoji}" in texts["guidance"]
    holdfast("done", f"Ship {emoji}", root=project.root, session=ME)
