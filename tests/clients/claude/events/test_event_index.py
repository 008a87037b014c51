"""The index of events: what it lists, what it loads, what it refuses."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from holdfast import events
from holdfast.clients.claude.events import models
from holdfast.errors import HoldfastError
from holdfast.events import EVENTS, HOOK_NAMES, OLDEST_CLIENT_EVENTS, EventError, model, parse, snake
from tests.tables import each_row


def test_the_oldest_client_knows_none_that_came_later() -> None:
    """Client 2.1.197 knows 30 events; a newer one would silence its whole settings file."""
    assert not {"PreModelSwitch", "PostModelSwitch", "DirectoryAdded", "PreSkillShellCommand"} & OLDEST_CLIENT_EVENTS
    assert len(OLDEST_CLIENT_EVENTS) == 30


@each_row("name", EVENTS)
def test_every_event_and_every_field_is_described(name: str) -> None:
    """What a handler author sees says what each of the event's fields holds."""
    kind = model(name)
    described = "\n".join(base.__doc__ or "" for base in kind.__mro__[:3])
    own = set(kind.model_fields) - set(events.Event.model_fields) - {"tool_name"}
    assert kind.__doc__
    assert [field for field in sorted(own) if f"{field}: " not in described] == []


@each_row(
    "name, spelled",
    [
        ("PreToolUse", "pre_tool_use"),
        ("PostToolUseFailure", "post_tool_use_failure"),
        ("Stop", "stop"),
        ("CwdChanged", "cwd_changed"),
    ],
)
def test_an_event_has_a_snake_name(name: str, spelled: str) -> None:
    """The hook of an event is `on_` and the event's name in snake case."""
    assert snake(name) == spelled
    assert HOOK_NAMES[f"on_{spelled}"] == name


def test_hook_names_cover_every_event_once() -> None:
    """Each event has exactly one hook."""
    assert sorted(HOOK_NAMES.values()) == sorted(EVENTS)


def test_the_type_checker_sees_the_same_names_as_the_interpreter() -> None:
    """Each re-export for type checkers is the lazy one; of a newer event without one they know no type."""
    imports: dict[str, str | None] = {}
    for path in (events.__file__, models.__file__):
        block = next(node for node in ast.parse(Path(path).read_text()).body if isinstance(node, ast.If))
        found = [node for node in block.body if isinstance(node, ast.ImportFrom)]
        imports |= {alias.name: node.module for node in found for alias in node.names if alias.name != "*"}
    lazy = {name: getattr(events, name).__module__ for name in events.__all__ if name in imports}
    assert imports == lazy
    assert set(imports) >= OLDEST_CLIENT_EVENTS
    assert set(events.__all__) - set(imports) - set(EVENTS) == {
        "EVENTS",
        "HOOK_NAMES",
        "OLDEST_CLIENT_EVENTS",
        "EventError",
        "model",
        "parse",
        "snake",
    }


@each_row("payload", [None, [], "text", 5, True])
def test_a_payload_that_is_no_object_is_refused(payload: object) -> None:
    """JSON that is no object is no event."""
    with pytest.raises(EventError, match="isn't a JSON object"):
        parse(payload)


@each_row("payload", [{}, {"hook_event_name": None}, {"hook_event_name": 5}, {"session_id": "s"}])
def test_a_payload_without_an_event_name_is_refused(payload: dict[str, object]) -> None:
    """Other clients' inputs that name no event are told apart."""
    with pytest.raises(EventError, match="hook_event_name"):
        parse(payload)


@each_row("name", ["PreFlight", "", "preToolUse", "Event", "ToolEvent"])
def test_an_event_of_the_future_is_refused_by_name(name: str) -> None:
    """An unknown event is an error that names it, for the engine to pass over in silence."""
    with pytest.raises(EventError, match=repr(name)):
        parse({"hook_event_name": name, "session_id": "s"})


def test_an_event_error_is_an_error_of_holdfast() -> None:
    """The one boundary that turns errors into silence knows it."""
    assert issubclass(EventError, HoldfastError)
