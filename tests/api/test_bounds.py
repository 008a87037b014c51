"""What a handler's failure becomes, and how often a handler answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock, log
from tests.commandline import holdfast
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
    from holdfast.clients.claude import claude
    from holdfast.plugins.scan import scan

    del holdfast_project
    found = []
    for (function, option), expected in IMPOSSIBLE.items():
        source = f"from holdfast import *\n@hookimpl({option})\ndef {function}(event):\n    return None\n"
        faults = "".join(scan(source.encode(), claude).faults.values())
        if expected not in faults:
            found.append(f"{function} {option}: {faults!r}")
    report(found)


SPEAK = """event = "UserPromptSubmit"
when = {{ field.prompt = "speak" }}
answer = "advise"
text = "hi"
once = "{once}"
"""
ONCE = "from holdfast import *\n@hookimpl(once={once!r})\ndef on_user_prompt_submit(event):\n    return {answer}\n"


def test_a_handler_answers_once_in_a_turn_or_session(holdfast_project: Make) -> None:
    """As long as it says nothing, it is asked again."""
    found = []
    fires = {"turn": [("p1", "hi"), ("p1", ""), ("p2", "hi")], "session": [("p1", "hi"), ("p1", ""), ("p2", "")]}
    for once, prompts in fires.items():
        function = ONCE.format(once=once, answer="advise('hi') if event.prompt == 'speak' else None")
        for name, text in {f"{once}.py": function, f"{once}_rule.toml": SPEAK.format(once=once)}.items():
            project = holdfast_project({f".claude/handlers/{name}": text})
            project.trust()
            project.fire("UserPromptSubmit", prompt_id="p1", prompt="be silent").assert_silent()
            for prompt_id, expected in prompts:
                fired = project.fire("UserPromptSubmit", prompt_id=prompt_id, prompt="speak")
                if fired.context != expected:
                    found.append(f"{name} {prompt_id}: {fired.context!r}, not {expected!r}")
            (project.root / f".claude/handlers/{name}").unlink()
    report(found)


START = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
STOPPING = "from holdfast import *\n@hookimpl\ndef on_stop(event):\n    return {answer}\n"
TURNS = {
    "force_turn('go on')": ["go on", "go on", "go on", "tell", "", "again"],
    "block('go on')": ["go on", "go on", "go on", "tell", "", "again"],
    "force_turn('go on', at_most=1)": ["go on", "tell", "", "", "", "again"],
    "force_turn('go on', at_most=5)": ["go on", "go on", "go on", "go on", "go on", "again"],
    "[force_turn('go on', at_most=1), tell_user('beside')]": ["go on", "tell", "", "", "", "again"],
    "force_turn('go on', within=45)": ["go on", "go on", "go on", "go on", "go on", "again"],
    "force_turn('go on', within=25)": ["go on", "go on", "go on", "tell", "", "again"],
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
            right = (forced, told) == (expected in ("go on", "again"), expected == "tell")
            if not right or ("beside" in fired.stdout) != ("beside" in answer):
                found.append(f"{answer} turn {turn}: {fired.stdout!r}")
        (project.root / f".claude/handlers/stop{number}.py").unlink()
    report(found)


def test_a_handler_that_fails_five_times_in_a_row_is_left_out_for_a_while(
    holdfast_project: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is in the log, and you are told; ten minutes later, or once it is corrected, it is tried again.

    A success begins the count anew.
    """
    flaky = "from holdfast import *\n@hookimpl\ndef on_user_prompt_submit(event):\n    {body}\n"
    body = "1 / 0 if event.prompt == 'fail' else None\n    return advise('well')"
    project = holdfast_project({".claude/handlers/flaky.py": flaky.format(body=body)})
    project.trust()

    def fire(prompt: str, minutes: float) -> Any:
        monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(START + timedelta(minutes=minutes)))
        return project.fire("UserPromptSubmit", prompt=prompt)

    for minute, prompt in enumerate(["fail"] * 4 + ["work"] + ["fail"] * 5):
        assert bool(fire(prompt, minute).faults) is (prompt == "fail"), minute
    said = fire("work", 10)
    assert not said.context
    assert sum("failed 5 times in a row, so it is left out for 10 minutes" in line for line in log.tail(99)) == 1
    until = f"left out until {START + timedelta(minutes=19):%H:%M} UTC, after 5 failures in a row"
    assert until in holdfast("handlers", "list", root=project.root).out.replace("\n", " ").replace("  ", "")
    assert until in " ".join(
        holdfast("handlers", "try", "UserPromptSubmit", "work", root=project.root, code=None).out.split()
    )
    assert fire("work", 18).stdout == ""
    fire("work", 20).assert_advised("well")
    fire("work", 21).assert_advised("well")

    for minute in range(22, 27):
        assert fire("fail", minute).faults
    assert fire("work", 28).stdout == ""
    fire("fail", 37)  # tried again, without success
    assert sum("failed 5 times in a row" in line for line in log.tail(99)) == 2
    assert fire("work", 38).stdout == ""
    assert "flaky is on." in holdfast("handlers", "on", "flaky", root=project.root).out
    fire("work", 38).assert_advised("well")

    for minute in range(39, 45):
        fire("fail", minute)
    assert fire("work", 45).stdout == ""
    project.write({".claude/handlers/flaky.py": flaky.format(body=body) + "# corrected\n"})
    project.trust()
    fire("work", 45).assert_advised("well")


def test_the_list_says_when_a_handler_last_ran_and_decided(holdfast_project: Make) -> None:
    """With its last decision; one that never ran has neither."""
    source = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event):\n    return deny('no')\n"
    project = holdfast_project({f".claude/handlers/{name}.py": source for name in ("first", "second")})
    (project.root / ".claude/handlers/second.py").write_text(source.replace("hookimpl\n", "hookimpl(match='Read')\n"))
    project.trust()
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("no")
    lines = holdfast("handlers", "list", root=project.root).out.splitlines()
    first, second = (next(line for line in lines if f"{name}.py" in line) for name in ("first", "second"))
    assert "ran just now" in first
    assert "deny just now" in first
    assert "just now" not in second
