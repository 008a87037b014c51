"""Matchers select what the client selects (client fact §4.2)."""

from __future__ import annotations

import pytest

from holdfast.clients import claude
from holdfast.clients.claude import matchers
from holdfast.clients.claude.matchers import LEGACY_NAMES, TOOL_EVENTS, matches
from holdfast.testkit import recorded
from tests.tables import each_row


@each_row("matcher", [None, "", "*"])
@each_row("event", ["PreToolUse", "SessionStart", "StopFailure", "FileChanged"])
def test_nothing_and_the_star_select_everything(matcher: str | None, event: str) -> None:
    """An absent, empty or `*` matcher selects every value, on every event."""
    assert matches(matcher, "anything at all", event)
    assert matches(matcher, None, event)


@each_row(
    "matcher, value, selected",
    [
        ("Bash", "Bash", True),
        ("Bash", "bash", False),
        ("bash", "Bash", False),
        ("Bash", "BashOutput", False),
        ("Bash", "MyBash", False),
        ("Edit|Write", "Edit", True),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "Edit|Write", False),
        ("Edit, Write", "Write", True),
        ("Edit,Write", "Write", True),
        ("  Edit |  Write ", "Edit", True),
        ("Edit|Write", "MultiEdit", False),
        ("my-agent", "my-agent", True),
        ("my-agent", "my", False),
        ("my-agent", "my-agent-2", False),
        ("mcp__demo__echo", "mcp__demo__echo", True),
        ("mcp__demo", "mcp__demo__echo", False),
        ("mcp__demo__.*", "mcp__demo__echo", True),
        ("mcp__demo__.*", "mcp__other__echo", False),
    ],
)
def test_a_plain_matcher_is_a_list_of_exact_names(matcher: str, value: str, selected: bool) -> None:
    """Letters, digits, `_ | , -` and spaces make a list of names, trimmed, compared exactly and case-sensitively."""
    assert matches(matcher, value, "PreToolUse") is selected


@each_row(
    "matcher, value, selected",
    [
        ("Ba.h", "Bash", True),
        ("Ba.h", "xBashx", True),
        ("^Bash$", "Bash", True),
        ("^Bash$", "BashOutput", False),
        ("(Edit|Write)", "MultiEdit", True),
        ("^(?:Edit|Write)$", "MultiEdit", False),
        ("Notebook.*", "NotebookEdit", True),
        ("^(?!Bash$)", "Bash", False),
        ("^(?!Bash$)", "Read", True),
        ("(?<tool>Ba)sh", "Bash", True),
        ("(?<=Multi)Edit", "MultiEdit", True),
        ("(?<!Multi)Edit", "MultiEdit", False),
        ("plugin:.*", "plugin:name", True),
    ],
)
def test_anything_else_is_a_regular_expression_found_anywhere(matcher: str, value: str, selected: bool) -> None:
    """Any other character makes the matcher a JavaScript regular expression, not anchored."""
    assert matches(matcher, value, "PreToolUse") is selected


@each_row("matcher", ["[", "(Bash", "*Bash", "Bash)", "(?P<x>Bash)", "(?i)bash", "B*+ash", "(?#x)Bash"])
def test_an_invalid_regular_expression_selects_nothing(matcher: str) -> None:
    """What JavaScript cannot compile selects nothing, also where Python could compile it."""
    assert not matches(matcher, "Bash", "PreToolUse")
    assert not matchers.valid(matcher, "PreToolUse")


@each_row("matcher", ["Bash", "", "*", None, "Edit|Write", "^Bash$", "[*]+Bash|.", r"\(?P|.", "a-b, c"])
def test_what_can_select_something_is_valid(matcher: str | None) -> None:
    """Lists, the star, nothing, and JavaScript's regular expressions are valid matchers."""
    assert matchers.valid(matcher, "PreToolUse")


@pytest.mark.parametrize("event", ["StopFailure", "FileChanged"])
def test_two_events_know_only_the_bar(event: str) -> None:
    """On StopFailure and FileChanged commas, hyphens and spaces make a regular expression; only `|` lists."""
    assert matches("rate_limit|overloaded", "overloaded", event)
    assert not matches("rate_limit|overloaded", "rate_limit_x", event)
    assert not matches("rate_limit, overloaded", "overloaded", event)
    assert not matches("rate_limit,overloaded", "overloaded", event)
    assert matches("lock-file", "package-lock-file.json", event)
    assert not matches("lock-file", "package-lock-file.json", "Notification")


def test_on_events_without_a_matcher_field_every_matcher_selects() -> None:
    """The client ignores matchers where the event has no field for them."""
    assert matches("Bash", None, "UserPromptSubmit")
    assert matches("[", None, "Stop")


@each_row("old, new", sorted(LEGACY_NAMES.items()))
def test_a_renamed_tool_is_found_by_both_its_names(old: str, new: str) -> None:
    """A matcher with the old name finds the new tool and the other way round, as names and in expressions."""
    for matcher, value in ((old, new), (new, old)):
        assert matches(matcher, value, "PreToolUse")
        assert matches(f"Nothing|{matcher}", value, "PostToolUse")
        assert matches(f"Nothing, {matcher}", value, "PermissionRequest")
        assert matches(f"^{matcher}$", value, "PreToolUse")
        assert not matches(matcher.lower(), value, "PreToolUse")


@each_row(
    "matcher, selected",
    [
        ("Task", True),
        ("Agent", True),
        ("Task|Bash", True),
        ("Task, Bash", True),
        ("^Task$", True),
        ("Task.*", True),
        ("^Agent$", True),
        ("Ag.*", True),
        ("task", False),
        ("Ag", False),
    ],
)
def test_the_agent_tool_as_observed(matcher: str, selected: bool) -> None:
    """The matchers that were tried on the real client for the `Agent` tool (client fact §3.4)."""
    assert matches(matcher, "Agent", "PreToolUse") is selected


def test_an_expression_for_task_also_finds_the_task_tools() -> None:
    """`Task.*` finds TaskCreate as well, as in the client."""
    assert matches("Task.*", "TaskCreate", "PreToolUse")
    assert not matches("Task", "TaskCreate", "PreToolUse")


@each_row("event", sorted(TOOL_EVENTS))
def test_names_are_aliases_on_every_tool_event(event: str) -> None:
    """All five events that carry a tool's name know its other names."""
    assert matches("Task", "Agent", event)


@each_row("event", ["SubagentStop", "SessionStart", "Notification"])
def test_names_are_no_aliases_elsewhere(event: str) -> None:
    """An agent type called `Task` is not the tool of that name."""
    assert not matches("Task", "Agent", event)


def test_two_old_names_of_one_tool_are_not_each_other() -> None:
    """`KillShell` and `KillBash` both became `TaskStop`; each finds it."""
    assert matches("KillBash", "TaskStop", "PreToolUse")
    assert matches("KillShell", "TaskStop", "PreToolUse")


def test_alternatives_tells_lists_from_expressions() -> None:
    """What registration joins into one list is exactly what the client takes for one."""
    assert matchers.alternatives("Edit|Write, Read", "PreToolUse") == ("Edit", "Write", "Read")
    assert matchers.alternatives("^Edit$", "PreToolUse") is None
    assert matchers.alternatives("a|b", "FileChanged") == ("a", "b")
    assert matchers.alternatives("a,b", "FileChanged") is None


@each_row("name", recorded.names())
@each_row("more", [{}, {"tool_name": "Bash", "command_name": "dev"}])
def test_what_handlers_are_chosen_by_before_the_event_is_parsed_is_its_own(name: str, more: dict[str, str]) -> None:
    """Where nothing is known before, its model says it. What another kind of event would have doesn't count."""
    payload = {**recorded.load(name), **more}
    event = claude.parse(payload)
    assert claude.matched(event.hook_event_name, payload) in (None, event.matcher_value)
