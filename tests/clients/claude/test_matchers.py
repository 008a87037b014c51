"""Matchers select what the client selects (client fact §4.2)."""

from __future__ import annotations

from holdfast.clients import claude
from holdfast.clients.claude import matchers
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
