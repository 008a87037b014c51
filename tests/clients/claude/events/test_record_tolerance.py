"""What a changed client may send without making an event fail."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.events import EVENTS, EventError, PreCompact, SessionStart, Stop, model, parse
from holdfast.testkit import recorded
from tests.tables import each_row

REQUIRED = {
    "PreToolUse": {"tool_name", "tool_input"},
    "PreSkillShellCommand": {"tool_name", "tool_input"},
    "PermissionRequest": {"tool_name", "tool_input"},
    "PermissionDenied": {"tool_name"},
    "PostToolUse": {"tool_name"},
    "PostToolUseFailure": {"tool_name"},
    "UserPromptSubmit": {"prompt"},
    "UserPromptExpansion": {"prompt"},
}
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


def least(name: str) -> dict[str, Any]:
    """Return the smallest payload of an event that can be read."""
    values: dict[str, Any] = {"session_id": "s", "hook_event_name": name}
    return values | {field: {} if field == "tool_input" else "x" for field in REQUIRED.get(name, set())}


def field_names(name: str) -> list[str]:
    """Return every key an event knows, and some that only Python knows."""
    return [*model(name).model_fields, "unreadable", "_unreadable", "accepts", "model_config", "__class__", "read"]


@st.composite
def payloads(draw: st.DrawFn) -> dict[str, Any]:
    """Draw JSON objects with a known event name and otherwise anything, often under the event's own keys."""
    name = draw(st.sampled_from(sorted(EVENTS)))
    keys = st.sampled_from(field_names(name)) | ANY_TEXT
    odd = draw(st.dictionaries(keys, JSON, max_size=6))
    base: dict[str, Any] = draw(st.sampled_from([{}, least(name)]))
    return base | odd | {"hook_event_name": name}


@given(payload=payloads())
@example(payload={"hook_event_name": "Stop", "session_id": "s", "\ud83d": 1, "cwd": 5})
@example(payload={"hook_event_name": "Stop", "session_id": "s", "background_tasks": [{"id": [], "\udc00": None}]})
def test_parse_raises_nothing_but_event_errors(payload: dict[str, Any]) -> None:
    """Whatever stands under whatever key, the answer is an event or an `EventError`, and nothing that came is lost."""
    try:
        event = parse(payload)
    except EventError:
        return
    kept = set(event.model_fields_set) | set(event.model_extra or {}) | set(event.unreadable)
    lost = {key for key in set(payload) - kept if payload[key] is not None}
    assert lost - {"tool_result"} == set()


@each_row("name", EVENTS)
def test_only_what_an_event_is_meaningless_without_is_required(name: str) -> None:
    """An event needs a session, a tool's name, and what a guard inspects; all else may be absent, and is empty then."""
    assert model(name).required() == {"session_id", "hook_event_name"} | REQUIRED.get(name, set())
    event = parse(least(name))
    assert type(event) is model(name)
    assert event.unreadable == {}
    assert event.model_extra == {}
    for key, field in model(name).model_fields.items():
        optional = field.annotation is Any or type(None) in get_args(field.annotation)
        value = getattr(event, key)
        assert field.is_required() or (not value and (value is None) is optional), key


@each_row("name, field", [(name, field) for name in REQUIRED for field in sorted(REQUIRED[name])])
@each_row("value, what", [(None, "null"), (5, "int"), ([1], "list")])
def test_a_required_field_of_a_wrong_type_is_named(name: str, field: str, value: object, what: str) -> None:
    """A guard never sees an invented input: the event is refused, naming event, field and type."""
    with pytest.raises(EventError, match=rf"^{name}: the field '{field}' has an unusable value \({what}\)"):
        parse(least(name) | {field: value})


NO_OBJECTS: tuple[object, ...] = (None, [], "text", 5, True)
NAMELESS: tuple[object, ...] = ({}, {"hook_event_name": None}, {"hook_event_name": 5})


@each_row(
    "payload, words",
    [
        *((each, "isn't a JSON object") for each in NO_OBJECTS),
        *((each, "hook_event_name") for each in NAMELESS),
        *(
            ({"hook_event_name": name, "session_id": "s"}, repr(name))
            for name in ("PreFlight", "", "preToolUse", "Event", "ToolEvent")
        ),
        *(
            ({**least(name), "session_id": None}, f"^{name}: the field 'session_id' has an unusable value")
            for name in EVENTS
        ),
        ({"hook_event_name": "Stop"}, "^Stop: the field 'session_id' is missing"),
    ],
)
def test_what_is_no_event_is_named(payload: object, words: str) -> None:
    """No object, no known event, or none of a session."""
    with pytest.raises(EventError, match=words):
        parse(payload)


@each_row("name", EVENTS)
def test_an_optional_value_of_an_unknown_type_is_set_aside(name: str) -> None:
    """Every optional field at once may change its type: the event is read, the values are kept."""
    kind = model(name)
    odd = {field.alias or key: [["odd"]] for key, field in kind.model_fields.items() if not field.is_required()}
    takes_anything = {"tool_response"} & set(odd)
    event = parse(least(name) | odd)
    assert set(event.unreadable) == set(odd) - takes_anything
    assert all(value == [["odd"]] for value in event.unreadable.values())
    defaults = parse(least(name))
    assert all(getattr(event, key) == getattr(defaults, key) for key in event.unreadable)


@each_row("name", EVENTS)
def test_null_is_the_same_as_absent(name: str) -> None:
    """A null-laden payload reads as one that says less."""
    optional = [key for key, field in model(name).model_fields.items() if not field.is_required()]
    event = parse(least(name) | dict.fromkeys(optional))
    plain = parse(least(name))
    assert all(getattr(event, key) == getattr(plain, key) for key in optional)
    assert event.unreadable == {}


def test_a_value_set_aside_leaves_its_neighbours_alone() -> None:
    """One drifted field costs that field only."""
    payload = recorded.load("PreCompact-manual", cwd=17, custom_instructions={"new": "shape"})
    before = json.dumps(payload)
    event = parse(payload)
    assert json.dumps(payload) == before, "it stays as it came, for a recording to keep"
    assert isinstance(event, PreCompact)
    assert event.unreadable == {"cwd": 17, "custom_instructions": {"new": "shape"}}
    assert (event.trigger, event.custom_instructions, event.cwd) == ("manual", None, "")


def test_half_an_emoji_costs_nothing() -> None:
    """JavaScript cuts strings inside an emoji; such text is read as it is, and such a key is kept aside."""
    payload = json.loads(
        r'{"session_id": "s", "hook_event_name": "Stop", "last_assistant_message": "\ud83d", "\ud83d": 1}'
    )
    event = parse(payload)
    assert isinstance(event, Stop)
    assert event.last_assistant_message == "\ud83d"
    assert event.unreadable == {"\ud83d": 1}


def test_a_copy_keeps_what_was_set_aside() -> None:
    """The engine hands each handler a deep copy, which is as complete as the original."""
    event = parse(recorded.load("SessionStart-startup", model=["odd"], brand_new={"a": []}))
    copy = event.model_copy(deep=True)
    assert isinstance(copy, SessionStart)
    assert copy.unreadable == {"model": ["odd"]}
    assert copy.model_extra == {"brand_new": {"a": []}}
    assert copy == event
