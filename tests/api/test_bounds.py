"""What a handler's failure becomes, and how often a handler answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from holdfast.testing import HoldfastProject

    Make = Callable[..., HoldfastProject]

FAILING = "from holdfast import *\n@hookimpl(on_failure={policy!r})\ndef {function}(event):\n    1 / 0\n"
FUNCTIONS = {"PreToolUse": "on_pre_tool_use", "UserPromptSubmit": "on_user_prompt_submit", "Stop": "on_stop"}
POLICIES = {
    ("PreToolUse", "skip"): "",
    ("PreToolUse", "ask"): "ask",
    ("PreToolUse", "deny"): "deny",
    ("UserPromptSubmit", "deny"): "block",
    ("Stop", "deny"): "block",
}


def decision(fired: Any) -> str:
    """Return what a reply decides."""
    body = json.loads(fired.stdout or "{}")
    return str(body.get("hookSpecificOutput", {}).get("permissionDecision") or body.get("decision", ""))


def test_a_failure_becomes_what_the_handler_says(holdfast_project: Make) -> None:
    """Nothing, a question or a refusal; both name the handler and its fault."""
    found = []
    for (event, policy), expected in POLICIES.items():
        text = FAILING.format(policy=policy, function=FUNCTIONS[event])
        project = holdfast_project({".claude/handlers/failing.py": text})
        project.trust()
        fired = project.fire(event, "PreToolUse-Bash" if event == "PreToolUse" else None)
        if decision(fired) != expected or ("ZeroDivisionError" in fired.stdout) != bool(expected):
            found.append(f"{event} {policy}: {fired.stdout!r}")
    report(found)


IMPOSSIBLE = {
    ("on_stop", "on_failure='ask'"): "on_failure='ask' is not possible on Stop, where a handler can't ask",
    ("on_notification", "on_failure='deny'"): "on_failure='deny' is not possible on Notification",
    ("on_stop", "on_failure='open'"): "on_failure='open' isn't one of skip, ask, deny",
    ("on_stop", "once='day'"): "once='day' isn't one of turn, session",
}


def test_what_an_event_does_not_allow_is_a_fault(holdfast_project: Make) -> None:
    """Read from the text, before anything runs."""
    from holdfast.clients import claude
    from holdfast.plugins.scan import scan

    del holdfast_project
    found = []
    for (function, option), expected in IMPOSSIBLE.items():
        source = f"from holdfast import *\n@hookimpl({option})\ndef {function}(event):\n    return None\n"
        faults = "".join(scan(source.encode(), claude).faults.values())
        if expected not in faults:
            found.append(f"{function} {option}: {faults!r}")
    report(found)


ONCE = "from holdfast import *\n@hookimpl(once={once!r})\ndef on_user_prompt_submit(event):\n    return {answer}\n"


def test_a_handler_answers_once_in_a_turn_or_session(holdfast_project: Make) -> None:
    """As long as it says nothing, it is asked again."""
    found = []
    fires = {"turn": [("p1", "hi"), ("p1", ""), ("p2", "hi")], "session": [("p1", "hi"), ("p1", ""), ("p2", "")]}
    for once, prompts in fires.items():
        text = ONCE.format(once=once, answer="advise('hi') if event.prompt == 'speak' else None")
        project = holdfast_project({f".claude/handlers/{once}.py": text})
        project.trust()
        project.fire("UserPromptSubmit", prompt_id="p1", prompt="be silent").assert_silent()
        for prompt_id, expected in prompts:
            fired = project.fire("UserPromptSubmit", prompt_id=prompt_id, prompt="speak")
            if fired.context != expected:
                found.append(f"{once} {prompt_id}: {fired.context!r}, not {expected!r}")
        (project.root / f".claude/handlers/{once}.py").unlink()
    report(found)


START = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
STOPPING = "from holdfast import *\n@hookimpl\ndef on_stop(event):\n    return {answer}\n"
TURNS = {
    "force_turn('go on')": ["go on", "go on", "go on", "tell", "", "again"],
    "block('go on')": ["go on", "go on", "go on", "tell", "", "again"],
    "force_turn('go on', at_most=1)": ["go on", "", "", "", "", "again"],
    "force_turn('go on', at_most=5)": ["go on", "go on", "go on", "go on", "go on", "again"],
    "force_turn('go on', within=25)": ["go on", "go on", "go on", "", "", "again"],
}


def test_a_handler_does_not_force_turns_for_ever(holdfast_project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds lie between two stops; the last one follows a new prompt of the user."""
    found = []
    for number, (answer, turns) in enumerate(TURNS.items()):
        project = holdfast_project({f".claude/handlers/stop{number}.py": STOPPING.format(answer=answer)})
        project.trust()
        for turn, expected in enumerate(turns):
            monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(START + timedelta(seconds=10 * turn)))
            fired = project.fire("Stop", stop_hook_active=turn > 0 and expected != "again")
            forced, told = "go on" in fired.stdout, "so Claude may stop now" in fired.stdout
            if (forced, told) != (expected in ("go on", "again"), expected == "tell"):
                found.append(f"{answer} turn {turn}: {fired.stdout!r}")
        (project.root / f".claude/handlers/stop{number}.py").unlink()
    report(found)
