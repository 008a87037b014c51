"""Which events are replayed, and which are left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.testkit import recorded
from tools.profile import selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

ASKED: dict[str, str | None] = {"PreToolUse": "Bash|Edit", "Stop": None}
HANDLER = "from holdfast import *\n@hookimpl(match='Bash')\ndef on_pre_tool_use(event): ...\n"


def line(minute: int, name: str, **changes: Any) -> str:
    return json.dumps({"at": f"2026-03-01T12:{minute:02}:00.000000Z", "payload": recorded.load(name, **changes)})


def test_the_newest_are_chosen_in_the_order_in_which_they_came() -> None:
    """Of all sessions, whatever the order of their files."""
    lines = [line(3, "Stop", session_id="b"), line(1, "Stop", session_id="a"), line(2, "PreToolUse-Bash")]
    chosen = selection.of_recordings(lines, ASKED, None, 2)
    assert [each["hook_event_name"] for each in chosen.payloads] == ["PreToolUse", "Stop"]
    assert chosen.payloads[1]["session_id"] == "b"
    assert (chosen.older, chosen.unwanted, chosen.unread, chosen.samples) == (1, 0, 0, False)


def test_what_no_process_is_started_for_any_more_stays_out() -> None:
    """Another tool, another event, one that this version does not know; each is counted."""
    odd = json.dumps({"at": "2026", "payload": {"hook_event_name": "NoSuchEvent"}})
    lines = [line(1, "PreToolUse-Read"), line(2, "PostToolUse-Bash"), odd, line(3, "Stop")]
    chosen = selection.of_recordings(lines, ASKED, None, 100)
    assert [each["hook_event_name"] for each in chosen.payloads] == ["Stop"]
    assert chosen.unwanted == 3


def test_a_line_that_cannot_be_read_is_counted() -> None:
    """Whatever it is."""
    lines = ["", "{", "[]", '{"at": 1}', '{"at": "x", "payload": 3}', line(1, "Stop")]
    chosen = selection.of_recordings(lines, ASKED, None, 100)
    assert (len(chosen.payloads), chosen.unread) == (1, 5)


def test_only_one_event() -> None:
    """The others are not counted at all."""
    chosen = selection.of_recordings([line(1, "Stop"), line(2, "PreToolUse-Bash")], ASKED, "Stop", 100)
    assert [each["hook_event_name"] for each in chosen.payloads] == ["Stop"]
    assert (chosen.older, chosen.unwanted) == (0, 0)


def test_samples_stand_in_for_what_the_handlers_ask_for(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """As if they came from the project; a project handler counts when it is trusted."""
    made = holdfast_project({".claude/handlers/guard.py": HANDLER})
    made.trust()
    project = made_project(made)
    asked = selection.wanted(project)
    chosen = selection.samples(project, {"PreToolUse": "Bash"}, None, 2)
    assert "Bash" in (asked["PreToolUse"] or "").split("|")
    assert {each["tool_name"] for each in chosen.payloads} == {"Bash"}
    assert {each["cwd"] for each in chosen.payloads} == {str(project.root)}
    assert (len(chosen.payloads), chosen.older, chosen.samples) == (2, 1, True)
    assert selection.samples(project, asked, "TeammateIdle", 9).payloads == ()


def made_project(made: HoldfastProject) -> Any:
    from holdfast.files import trust
    from holdfast.sessions.workspace import Workspace

    return Workspace.open(made.root, trusted=trust.config_trusted(made.root))
