"""Matchers select what the client selects (client fact §4.2)."""

from __future__ import annotations

from holdfast.clients.claude import claude, matchers
from holdfast.testkit import recorded
from tests.tables import each_row


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
    assert claude.matched(event.hook_event_name, payload) in (None, claude.matcher_value(event))


@each_row(
    "event, values",
    [
        ("SessionStart", "startup|resume|clear|compact|fork"),
        ("Setup", "init|maintenance"),
        ("SessionEnd", "clear|resume|logout|prompt_input_exit|other|bypass_permissions_disabled"),
        ("PreCompact", "manual|auto"),
        ("PostCompact", "manual|auto"),
        ("ConfigChange", "user_settings|project_settings|local_settings|policy_settings|skills"),
    ],
)
def test_only_a_value_that_an_event_is_not_known_to_have_is_doubted(event: str, values: str) -> None:
    """The known values are those of client fact §1.3."""
    assert claude.doubt(values, event) == ""
    assert "'nonsense' is no value" in claude.doubt(f"{values}|nonsense", event)
    assert "shell" not in claude.doubt("shel", event), "a name of tools alone"
