"""What the real client sends is understood whole, and so is every variant of the contract's section 7, "Drift"."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from holdfast.clients.claude import claude
from holdfast.clients.claude.events.event import Record
from holdfast.events import EVENTS, Event, PostToolBatch, PreToolUse, Stop, model, parse
from holdfast.testkit import recorded
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

ABSENT = object()


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
    """Each gives its own model, with no key left over and no value set aside, at any depth, and can be given back.

    `agent_id`, and nothing else, says that it is a subagent's; the matcher's value is the payload's own, of a file its
    name (client facts §1.2, §1.3). An unknown key is there for a handler to read.
    """
    payload = recorded.load(name)
    event = parse(payload)
    assert type(event) is model(name.partition("-")[0])
    assert all(record.model_extra == {} == record.unreadable for record in records(event))
    assert event.model_dump(mode="json", exclude_unset=True, by_alias=True) == payload
    assert event.in_subagent is ("agent_id" in payload)
    matched = payload.get(claude.EVENTS[event.hook_event_name].matcher or "")
    assert claude.matcher_value(event) == ("watched.txt" if name.startswith("FileChanged") else matched)
    assert read(name, brand_new={"deep": [1, None]}).model_extra == {"brand_new": {"deep": [1, None]}}


def test_all_events_but_two_are_recorded() -> None:
    """What no test can see of the real client is known by name."""
    known = {name.partition("-")[0] for name in recorded.names()}
    assert set(EVENTS) - known == {"TeammateIdle", "PermissionDenied"}


def read(name: str, **changes: Any) -> Event:
    """Read a recorded payload with some keys changed, or left out where they are `ABSENT`; nothing may be set aside."""
    payload = recorded.load(name, **changes)
    event = parse({key: value for key, value in payload.items() if value is not ABSENT})
    assert event.unreadable == {}
    return event


SAME = object()
"""What is read is what was sent."""
RESPONSES: list[object] = [{"stdout": "x"}, "x", [{}], None, 5, False]
FIELDS: list[tuple[str, str, object, object]] = [
    # payload, field, what is sent, what is read
    ("SessionStart-startup", "source", "teleport", SAME),
    *(("PreCompact-manual", "custom_instructions", value, SAME) for value in ("", None)),
    ("SessionEnd-other", "reason", "future", SAME),
    *(("PostToolUse-Bash", "tool_response", value, SAME) for value in RESPONSES),
    ("PostToolUse-Bash", "tool_response", ABSENT, None),
    *((name, "permission_mode", mode, SAME) for name in ("PreToolUse-Bash", "Stop") for mode in ("bubble", None)),
    *(("SubagentStop", "agent_type", value, SAME) for value in ("", "plugin:name")),
    ("SubagentStop", "agent_type", ABSENT, None),
    *((f"Task{each}", "task_id", 7, "7") for each in ("Created", "Completed")),
]


@each_row("name, field, value, seen", FIELDS)
def test_a_field_is_read_as_any_client_sends_it(name: str, field: str, value: object, seen: object) -> None:
    """Present, past and future values pass, also as a matcher's; and so does a field that a client doesn't send."""
    event = read(name, **{field: value})
    assert getattr(event, field) == (value if seen is SAME else seen)
    assert (field in event.model_fields_set) == (value is not ABSENT)
    if field in ("source", "agent_type"):
        assert claude.matcher_value(event) == getattr(event, field)


@each_row(
    "name, changes, field, seen",
    [
        *(
            (f"{event}-Agent", {"tool_name": tool}, "is_agent_launch", tool in ("Task", "Agent"))
            for event in ("PreToolUse", "PostToolUse")
            for tool in ("Task", "Agent", "TaskCreate", "agent")
        ),
        *(
            ("PreToolUse-TodoWrite", {"tool_name": tool}, "todos", ())
            for tool in ("TaskCreate", "TaskList", "TaskStop")
        ),
        *(
            ("PreToolUse-TodoWrite", {"tool_input": {"todos": todos}}, "todos", ())
            for todos in (None, "x", 5, {"content": "x"}, ["x", None, 5])
        ),
        ("PostToolUse-Bash", {"tool_response": ABSENT, "tool_result": "x"}, "tool_response", "x"),
        ("SubagentStop", {"agent_type": ""}, "is_compaction", True),
        ("SubagentStop", {"agent_type": ABSENT}, "is_compaction", False),
        ("SubagentStop", {"agent_type": "Explore"}, "is_compaction", False),
        *(("PreToolUse-Bash", {"effort": {"level": level}}, "effort.level", level) for level in ("low", "extreme")),
        ("SessionStart-resume", {}, "seconds_since_last_response", 1),
        ("SessionStart-resume", {}, "prompt_cache_likely_expired", False),
        ("SessionStart-resume", {}, "estimated_cache_write_usd", 0.0046),
        (
            *("Elicitation", {}, "requested_schema"),
            {"type": "object", "properties": {"fruit": {"type": "string"}}},
        ),
    ],
)
def test_what_follows_from_a_field_is_told(name: str, changes: dict[str, Any], field: str, seen: object) -> None:
    """Launches under both names of the tool, to-dos of any client, the older name of a response, the compaction."""
    found = attrgetter(field)(read(name, **changes))
    assert (found, type(found)) == (seen, type(seen))


@each_row(
    "item, seen",
    [
        ({"content": "x", "status": "pending", "activeForm": "doing x"}, ("x", "pending", "doing x", None, None)),
        ({"id": "1", "content": "x", "status": "completed", "priority": "high"}, ("x", "completed", "", "1", "high")),
        ({"id": 1, "content": "x", "status": "in_progress"}, ("x", "in_progress", "", "1", None)),
        ({"content": "x", "brand_new": True}, ("x", "", "", None, None)),
    ],
)
def test_to_do_items_of_any_client_are_read(item: dict[str, Any], seen: tuple[object, ...]) -> None:
    """Items with `activeForm`, older ones with `id` and `priority`, and unknown states are all to-dos."""
    event = read("PreToolUse-TodoWrite", tool_input={"todos": [item]})
    assert isinstance(event, PreToolUse)
    (todo,) = event.todos
    assert (todo.content, todo.status, todo.active_form, todo.id, todo.priority) == seen
    assert todo.unreadable == {}


def test_a_batch_has_calls_of_any_shape() -> None:
    """Launches by both names; input that failed validation, as the model wrote it; responses of any type, or none."""
    inputs: list[Any] = [{"task_id": "1"}, "raw text", None, ["x"]]
    calls = [{"tool_name": "TaskUpdate", "tool_input": value} for value in inputs]
    responses: list[Any] = ["Task #1 created", [{"type": "text", "text": "x"}], None]
    calls += [{"tool_name": "Agent", "tool_input": {}, "tool_response": value} for value in responses]
    event = read("PostToolBatch", tool_calls=[*calls, {"tool_name": "Task", "tool_input": {}}])
    assert isinstance(event, PostToolBatch)
    assert [call.tool_input for call in event.tool_calls[:4]] == inputs
    assert [call.tool_response for call in event.tool_calls[4:]] == [*responses, None]
    assert [call.is_agent_launch for call in event.tool_calls] == [False] * 4 + [True] * 4


def test_a_nested_value_is_kept_or_set_aside_where_it_stands() -> None:
    """A drifted or new key of one background task, schedule entry or server costs neither that nor the list."""
    tasks = [{"id": "a", "status": 5, "brand_new": True}, {"id": "b", "status": "running"}]
    stop = read("Stop", background_tasks=tasks, session_crons=[{"id": "c", "new": 2}])
    assert isinstance(stop, Stop)
    first, second = stop.background_tasks
    assert (first.id, first.status, first.unreadable, first.model_extra) == (
        *("a", "", {"status": 5}),
        {"brand_new": True},
    )
    assert (second.id, second.status) == ("b", "running")
    assert stop.session_crons[0].model_extra == {"new": 2}
    tool = read("PreToolUse-mcp__demo__echo", mcp_server={"name": "demo", "new": 3})
    assert isinstance(tool, PreToolUse)
    assert tool.mcp_server is not None
    assert (tool.mcp_server.name, tool.mcp_server.source, tool.mcp_server.model_extra) == ("demo", "", {"new": 3})


def test_what_a_client_leaves_out_is_empty_and_of_its_type() -> None:
    """In every record of every event, so that a handler needs no check of its own."""

    def every(kind: type[Record]) -> Iterator[type[Record]]:
        yield kind
        for each in kind.__subclasses__():
            yield from every(each)

    assert {Stop, PreToolUse} <= set(every(Record))
    for kind in every(Record):
        for name, field in kind.model_fields.items():
            if field.annotation and not field.is_required():
                default = field.get_default(call_default_factory=True)
                assert not default, (kind, name)
                TypeAdapter(field.annotation).validate_python(default, strict=True)
