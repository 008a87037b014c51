"""What a handler asks for by the names of its arguments: its options, and what it remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.plugins import state
from tests.commandline import holdfast
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from holdfast.testing import HoldfastProject

    Make = Callable[..., HoldfastProject]

PUSH = ".claude/handlers/no_push.py"
OPTIONS = """
from holdfast import deny, hookimpl
from pydantic import BaseModel, Field

class Options(BaseModel):
    branches: list[str] = ["main"]
    most: int = Field(3, ge=1)
    least: int = Field(0, alias="at_least")

@hookimpl
def on_pre_tool_use(options):
    return deny(f"{options.branches} {options.most} {options.least}")
"""
CONFIG = ".claude/holdfast.toml"
CASES = {
    "nothing is configured": ("", "['main'] 3"),
    "values": ("[options.no_push]\nbranches = ['main', 'release']\nmost = 5\n", "['main', 'release'] 5"),
    "an alias": ("[options.no_push]\nat_least = 2\n", "['main'] 3 2"),
    "another handler's": ("[options.other]\nmost = 5\n", "['main'] 3"),
    "a misspelt key": (
        "# mine\n[options.no_push]\nbranch = ['x']\n",
        "holdfast.toml, line 3: there is no option 'branch'; did you mean branches?",
    ),
    "a wrong type": (
        "[options.no_push]\n\nmost = 'many'\n",
        "holdfast.toml, line 3: most: input should be a valid int",
    ),
    "a key of a table in one line": (
        "options = {no_push = {branch = 1}}\n",
        "[options.no_push]: there is no option 'branch'",
    ),
    "out of its range": ("[options.no_push]\nmost = 0\n", "line 2: most: input should be greater than or equal to 1"),
}


def test_options_come_from_the_configuration(holdfast_project: Make) -> None:
    """They are read by the handler's own model; what doesn't fit is named with file and line, also if yours fits."""
    paths.user_config().parent.mkdir(parents=True)
    found = []
    for name, (text, expected) in CASES.items():
        project = holdfast_project({PUSH: OPTIONS, CONFIG: text})
        project.trust()
        paths.user_config().write_text("[options.no_push]\nmost = 3\n" if "3" in expected else "")
        fired = project.fire("PreToolUse", "PreToolUse-Bash")
        said = "".join(fired.faults) or fired.specific["permissionDecisionReason"]
        if expected not in said:
            found.append(f"{name}: {said}")
        if fired.faults and expected not in holdfast("handlers", "check", root=project.root, code=1).out:
            found.append(f"{name}: check doesn't say so")
    report(found)


def test_options_are_listed(holdfast_project: Make) -> None:
    """With the values of the configuration; one without a value by its name."""
    project = holdfast_project({PUSH: OPTIONS, CONFIG: '[options.no_push]\nbranches = ["main", "release"]\n'})
    project.trust()
    said = " ".join(holdfast("handlers", "list", root=project.root).out.split())
    assert 'options: branches=["main", "release"], most' in said
    rows = holdfast("handlers", "list", "--json", root=project.root).json["events"]["PreToolUse"]
    (listed,) = (row["options"] for row in rows if row["place"] == "project")
    assert (listed["branches"], listed["most"]) == ('["main", "release"]', None)

    project.write({CONFIG: f'[options.no_push]\nbranches = ["ghp_{"a1B2c3D4e5" * 4}"]\nsince = 2026-01-02\n'})
    project.trust()
    said = " ".join(holdfast("handlers", "list", root=project.root).out.split())
    assert 'branches=["[redacted]"], most' in said
    assert 'since="2026-01-02"' in said


def test_a_project_does_not_loosen_a_strict_handler_of_yours(holdfast_project: Make) -> None:
    """For it only your own configuration counts."""
    project = holdfast_project({CONFIG: "[options.no_push]\nbranches = []\n"})
    mine = paths.user_handlers() / "no_push.py"
    mine.parent.mkdir(parents=True)
    for options, expected in {"": "[] 3", "(strict=True)": "['main'] 3"}.items():
        mine.write_text(OPTIONS.replace("@hookimpl", f"@hookimpl{options}"))
        project.trust()
        fired = project.fire("PreToolUse", "PreToolUse-Bash")
        fired.assert_denied(expected)


def test_options_without_a_model_are_a_fault(holdfast_project: Make) -> None:
    """The message says what to write."""
    project = holdfast_project({PUSH: "from holdfast import *\n@hookimpl\ndef on_stop(options):\n    return None\n"})
    project.trust()
    assert "it needs a class Options(BaseModel)" in project.fire("Stop").faults[0]
    said = holdfast("handlers", "check", root=project.root, code=1).out
    assert "line 3: on_stop takes options, but the file has no class Options" in said


def test_options_of_a_handler_that_is_not_there_are_named(holdfast_project: Make) -> None:
    """By `doctor`."""
    project = holdfast_project({"holdfast.toml": ""})
    project.write({f"{paths.user_config()}": "[options.no_psh]\nx = 1\n"})
    said = " ".join(holdfast("doctor", "handlers", root=project.root, code=None).out.split())
    assert "\"options\" names 'no_psh', but no handler has that name" in said


COUNTER = """
from holdfast import advise, hookimpl

@hookimpl
def on_user_prompt_submit(event, state):
    with {scope} as memory:
        memory["seen"] = memory.get("seen", 0) + 1
        if event.prompt == "fail":
            raise ValueError("no")
        if event.prompt == "number":
            memory[1] = memory.get(1, 0)
        if event.prompt == "deep":
            memory["deep"] = [{{2: 0}}]
        if event.prompt == "odd":
            memory["odd"] = object()
        if event.prompt == "nan":
            memory["nan"] = float("nan")
        if event.prompt == "long":
            memory["long"] = "x" * 70_000
    return advise(str(memory["seen"]))
"""
FIRST, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
LASTS = {
    "state.turn": [
        ({}, "1"),
        ({}, "2"),
        ({"prompt_id": "p2"}, "1"),
        ({}, "3"),
        ({"session_id": OTHER}, "1"),
        ({"agent_id": "a1"}, "1"),
    ],
    "state.session": [({}, "1"), ({"prompt_id": "p2"}, "2"), ({"agent_id": "a1"}, "1"), ({"session_id": OTHER}, "1")],
    "state.project": [({}, "1"), ({"agent_id": "a1"}, "2"), ({"session_id": OTHER}, "3")],
}


def test_a_handler_remembers_for_a_turn_a_session_or_the_project(holdfast_project: Make) -> None:
    """A subagent's turn and session have their own memory."""
    found = []
    for scope, fires in LASTS.items():
        project = holdfast_project({".claude/handlers/counter.py": COUNTER.format(scope=scope)})
        project.trust()
        for changes, expected in fires:
            fired = project.fire("UserPromptSubmit", **{"session_id": FIRST, "prompt_id": "p1", **changes})
            if fired.context != expected:
                found.append(f"{scope} {changes}: {fired.context} {fired.faults}")
    report(found)


def test_of_many_memories_those_that_changed_last_are_kept(
    holdfast_project: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old one that is still used stays."""
    monkeypatch.setattr(state, "STATES_LIMIT", 2)
    project = holdfast_project({".claude/handlers/counter.py": COUNTER.format(scope="state.session")})
    project.trust()
    for session, seen in (("old", "1"), ("unused", "1"), ("old", "2"), ("new", "1"), ("old", "3"), ("unused", "1")):
        project.fire("UserPromptSubmit", session_id=session).assert_advised(seen)
        project.advance(1)


def test_what_a_failing_handler_remembers_is_undone(holdfast_project: Make) -> None:
    """If it raises in the block, or what it leaves there is no JSON or too long."""
    project = holdfast_project({".claude/handlers/counter.py": COUNTER.format(scope="state.session")})
    project.trust()
    faults = {
        "fail": "ValueError: no",
        "odd": "state.session holds JSON values only",
        "nan": "JSON values only",
        "number": "state.session holds JSON values only: the key 1 isn't a text; write '1'",
        "deep": "the key 2 isn't a text",
        "long": "may hold 64 KB as JSON",
    }
    for number, (prompt, fault) in enumerate(faults.items(), 1):
        assert fault in project.fire("UserPromptSubmit", prompt=prompt).faults[0]
        project.fire("UserPromptSubmit", prompt="well").assert_advised(str(number))


def test_forget_deletes_what_handlers_remember(holdfast_project: Make) -> None:
    """Of a session, and of the whole project."""
    project = holdfast_project({".claude/handlers/counter.py": COUNTER.format(scope="state.session")})
    project.trust()
    for scope, left in {"--session": "2", "--everything": "1"}.items():
        for session in (FIRST, OTHER):
            project.fire("UserPromptSubmit", session_id=session)
        holdfast("forget", scope, *([FIRST] if scope == "--session" else []), "--yes", root=project.root)
        project.fire("UserPromptSubmit", session_id=FIRST).assert_advised("1")
        project.fire("UserPromptSubmit", session_id=OTHER).assert_advised(left)
