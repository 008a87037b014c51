"""A refusal names its handler, and `holdfast log` shows who decided what."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.memory import log as event_log
from tests import processes
from tests.commandline import holdfast
from tests.processes import SESSION, SOURCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from tests.processes import Place

GUARD = """
    from holdfast import *
    @hookimpl(strict=True, match="Bash")
    def on_pre_tool_use(event):
        match event.tool_input["command"].split():
            case ["push"]:
                return deny("Not to main.")
            case ["rm"]:
                return ask("Sure?\\nexport DB_PASSWORD=hunter2hunter2")
            case ["fail"]:
                raise ValueError("boom")
            case ["long"]:
                return deny("x" * 2000)
    @hookimpl
    def on_stop(event):
        return block("Run the tests.")
    """
STYLE = """
    from holdfast import *
    @hookimpl(match="Bash", tryfirst=True)
    def on_pre_tool_use(event):
        return allow("tidy") if event.tool_input["command"] in ("ls", "push") else None
    """
CHANGE = """
    from holdfast import *
    @hookimpl(match="Bash")
    def on_pre_tool_use(event):
        if event.tool_input["command"] == "ls":
            return [change_input({"command": "ls -l"}), advise("line\\n" * 3000)]
    @hookimpl(match="Bash")
    def on_post_tool_use(event):
        return change_output("short")
    """
STALE = "another handler changed the input afterwards"
CUT = "cut to fit Claude Code's size limit"
# Event, command, the reason that the client gets, and the decisions: outcome, handler, reason, why it was dropped.
CASES: tuple[tuple[str, str, str, list[tuple[str, str, str, str]]], ...] = (
    (
        "PreToolUse",
        "push",
        "Not to main. (user/guard.py)",
        [("allow", "user/a_style.py", "tidy", ""), ("deny", "user/guard.py", "Not to main.", "")],
    ),
    (
        "PreToolUse",
        "rm",
        "Sure?\nexport DB_PASSWORD=hunter2hunter2\n(user/guard.py)",
        [("ask", "user/guard.py", "Sure?\nexport DB_PASSWORD=[redacted]", "")],
    ),
    ("PreToolUse", "fail", "", [("refusal", "user/guard.py", "raised ValueError: boom (line 11)", "")]),
    ("PreToolUse", "long", f"{'x' * 2000} (user/guard.py)", [("deny", "user/guard.py", "x" * 500, "")]),
    (
        "PreToolUse",
        "ls",
        "",
        [
            ("allow", "user/a_style.py", "", STALE),
            ("change_input", "user/z_change.py", "", ""),
            ("advise", "user/z_change.py", "", CUT),
        ],
    ),
    ("PreToolUse", "date", "", []),
    ("PostToolUse", "date", "", [("change_output", "user/z_change.py", "", "")]),
    ("Stop", "", "Run the tests. (user/guard.py)", [("block", "user/guard.py", "Run the tests.", "")]),
)


def command(place: Place, *arguments: str) -> str:
    """Run `holdfast` in the place's terminal and return what it printed."""
    environ = place.environ(PYTHONPATH=str(SOURCE), CLAUDECODE=None, CLAUDE_PROJECT_DIR=None)
    ended = processes.run([sys.executable, "-m", "holdfast", *arguments], b"", environ, place.root)
    assert ended.exit_code == 0, ended.stderr
    return ended.stdout


def decisions(place: Place, *arguments: str) -> list[dict[str, Any]]:
    """Return the decisions in the log, the oldest first."""
    found = json.loads(command(place, "log", "--json", *arguments))
    return [each for each in reversed(found) if each["kind"] == "decision"]


def check(place: Place, settled: Callable[[Callable[[], bool]], None]) -> None:
    """Fire all events, and compare the replies and the log with the table."""
    place.user_handler("guard", GUARD)
    place.user_handler("a_style", STYLE)
    place.user_handler("z_change", CHANGE)
    wrong: list[str] = []
    wanted: list[dict[str, Any]] = []
    for event, run, reason, decided in CASES:
        payload = place.payload("Stop" if event == "Stop" else f"{event}-Bash")
        payload |= {"tool_input": {"command": run}} if run else {}
        ended = place.fire(payload, event)
        got = ended.reply.get("reason") or ended.specific.get("permissionDecisionReason", "")
        if run != "fail" and got != reason:
            wrong.append(f"{event} {run}: the reason is {got[-80:]!r}")
        if run == "fail" and ("user/guard.py: on_pre_tool_use" not in got or got.endswith("(user/guard.py)")):
            wrong.append(f"a failed guard's refusal names it once: {got!r}")
        about = {"event": event, "tool": payload.get("tool_name"), "session_id": SESSION}
        about |= {name: payload.get(name) for name in ("prompt_id", "tool_use_id", "agent_id")}
        for outcome, handler, why, dropped in decided:
            strict = handler == "user/guard.py" and event != "Stop"
            decision = {"outcome": outcome, "handler": handler, "reason": why, "dropped": dropped, "strict": strict}
            wanted.append({**about, **decision, "place": "user"})
        settled(lambda: len(decisions(place)) >= len(wanted))
    for each, row in zip(decisions(place), wanted, strict=True):
        data = each["data"]
        if data["duration_ms"] < 0 or {name: data[name] for name in row} != row:
            wrong.append(f"logged {data}, not {row}")
    assert not wrong, "\n".join(wrong)

    lines = command(place, "log", "--session", SESSION[:8], "--since", "1d").splitlines()
    session = SESSION[:8]
    assert [line[21:] for line in lines[:3]] == [
        f"{session}  decision: block on Stop by user/guard.py: Run the tests.",
        f"{session}  decision: change_output on PostToolUse(Bash) by user/z_change.py",
        f"{session}  decision dropped: advise on PreToolUse(Bash) by user/z_change.py: {CUT}",
    ]
    assert len(decisions(place, "--limit", "1")) == 1
    assert not any(b"ls -l" in file.read_bytes() for file in place.home.glob(".local/state/holdfast/**/*.db*"))

    command(place, "forget", "--session", SESSION, "--yes")
    assert decisions(place) == []


def test_each_decision_is_named_and_logged(tmp_path: Path) -> None:
    """Without a server, in a project whose ledger is new."""
    check(processes.make(tmp_path), lambda true: None)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")
def test_a_server_logs_the_same_decisions(request: pytest.FixtureRequest) -> None:
    """It records them after the client has its answer."""
    warm = request.getfixturevalue("warm")
    check(warm, warm.until)


def test_the_newest_decisions_stay(
    holdfast_project: Callable[..., HoldfastProject], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest go, and all that are forgotten."""
    monkeypatch.setattr(event_log, "LIMIT", 2)
    monkeypatch.setattr(event_log, "PRUNE_INTERVAL", 1)
    made = holdfast_project(
        {".claude/handlers/no.py": "from holdfast import *\n@hookimpl\ndef on_stop():\n    return block('no')\n"}
    )
    made.trust()
    for number in range(4):
        made.fire("Stop", session_id=f"s{number}")

    def sessions() -> list[str]:
        found = holdfast("log", "--json", root=made.root).json
        return [each["session"] for each in found if each["kind"] == "decision"]

    assert sessions() == ["s3", "s2"]
    holdfast("forget", "--everything", "--yes", root=made.root)
    assert sessions() == []
