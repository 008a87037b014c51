"""Every recorded payload of the real client is understood completely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from holdfast.clients.claude import claude
from holdfast.clients.claude.events.event import Record
from holdfast.events import (
    EVENTS,
    Elicitation,
    FileChanged,
    PreModelSwitch,
    SessionStart,
    Stop,
    SubagentStart,
    model,
    parse,
)
from holdfast.testkit import recorded
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator


def records(value: object) -> Iterator[Record]:
    """Yield a record and every record inside it."""
    if isinstance(value, Record):
        yield value
        for name in type(value).model_fields:
            yield from records(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from records(item)


@each_row("name", recorded.names())
def test_a_recorded_payload_is_understood_whole(name: str) -> None:
    """Each payload gives its own model, with no key left over and no value set aside, at any depth.

    Nothing at all may remain: the contract names every key the recorded client sends. What tools take and
    return (`tool_input`, `tool_response`) belongs to the tools and is handed over as it is.
    """
    payload = recorded.load(name)
    event = parse(payload)
    assert type(event) is model(name.partition("-")[0])
    for record in records(event):
        assert record.model_extra == {}
        assert record.unreadable == {}
    assert {key: getattr(event, key) for key in ("session_id", "cwd", "transcript_path")}.items() <= payload.items()


@each_row("name", recorded.names())
def test_a_recorded_payload_is_given_back_as_it_came(name: str) -> None:
    """What was read can be written again without loss, key for key."""
    payload = recorded.load(name)
    assert parse(payload).model_dump(mode="json", exclude_unset=True, by_alias=True) == payload


@each_row("name", recorded.names())
def test_an_event_inside_a_subagent_is_told_by_its_agent_id(name: str) -> None:
    """`agent_id`, and nothing else, says that an event is a subagent's (client fact §1.2)."""
    payload = recorded.load(name)
    assert parse(payload).in_subagent is ("agent_id" in payload)


@each_row("name", recorded.names())
def test_a_matcher_is_compared_with_the_field_the_client_uses(name: str) -> None:
    """The matcher's value is the payload's own (client fact §1.3); of a file it is the name."""
    payload = recorded.load(name)
    event = parse(payload)
    expected = payload.get(claude.EVENTS[event.hook_event_name].matcher or "")
    assert claude.matcher_value(event) == ("watched.txt" if isinstance(event, FileChanged) else expected)


def test_all_events_but_two_are_recorded() -> None:
    """What no test can see of the real client is known by name."""
    known = {name.partition("-")[0] for name in recorded.names()}
    assert set(EVENTS) - known == {"TeammateIdle", "PermissionDenied"}


def test_values_have_their_types() -> None:
    """Numbers, truths and nested structures arrive as such, not as text."""
    resumed = parse(recorded.load("SessionStart-resume"))
    assert isinstance(resumed, SessionStart)
    assert (resumed.seconds_since_last_response, resumed.context_tokens) == (1, 1220)
    assert (resumed.prompt_cache_likely_expired, resumed.estimated_cache_write_usd) == (False, 0.0046)
    switch = parse(recorded.load("PreModelSwitch"))
    assert isinstance(switch, PreModelSwitch)
    assert (switch.requested_model, switch.cache_ttl, switch.prompt_cache_warm) == ("haiku", "5m", True)
    question = parse(recorded.load("Elicitation"))
    assert isinstance(question, Elicitation)
    assert question.requested_schema == {"type": "object", "properties": {"fruit": {"type": "string"}}}
    start = parse(recorded.load("SubagentStart"))
    assert isinstance(start, SubagentStart)
    assert (start.agent_id, start.agent_type) == ("a23b8482eb527498b", "general-purpose")


@each_row("event", EVENTS)
def test_what_a_client_leaves_out_has_a_value_of_its_type(event: str) -> None:
    """A handler need not ask whether an older client sent the field: a list is then empty."""
    for field in model(event).model_fields.values():
        assert field.default is not None or field.annotation is Any or type(None) in get_args(field.annotation)


def test_background_tasks_are_typed() -> None:
    """What still runs when a turn ends can be asked for by name."""
    event = parse(recorded.load("Stop-background-tasks"))
    assert isinstance(event, Stop)
    (task,) = event.background_tasks
    assert (task.id, task.type, task.status, task.command) == (
        "bkt3yu0ho",
        "shell",
        "running",
        "sleep 3; echo bg-done",
    )
