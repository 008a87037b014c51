"""Every variant of the contract's section 7, "Drift", is accepted."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from holdfast.clients.claude import claude
from holdfast.events import Event, PostToolBatch, PreToolUse, Stop, agent_result, parse
from holdfast.testkit import recorded
from tests.tables import each_row

ABSENT = object()


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
    """Present, past and future values pass, and so does a field that a client doesn't send."""
    event = read(name, **{field: value})
    assert getattr(event, field) == (value if seen is SAME else seen)
    assert (field in event.model_fields_set) == (value is not ABSENT)


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
    ],
)
def test_what_follows_from_a_field_is_told(name: str, changes: dict[str, Any], field: str, seen: object) -> None:
    """Launches under both names of the tool, to-dos of any client, the older name of a response, the compaction."""
    assert attrgetter(field)(read(name, **changes)) == seen


def test_a_matcher_is_compared_with_any_value() -> None:
    """Also with one that no client sends yet."""
    assert claude.matcher_value(read("SessionStart-startup", source="teleport")) == "teleport"
    assert claude.matcher_value(read("SubagentStop", agent_type="plugin:name")) == "plugin:name"


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


@each_row(
    "status, seen",
    [
        *((status, status) for status in ("completed", "async_launched", "remote_launched")),
        *((status, "other") for status in (ABSENT, None, "teleported", 5)),
    ],
)
def test_an_agents_status_is_known_absent_or_other(status: object, seen: str) -> None:
    """Clients before 2.1.30 send no status, which isn't one that counts, and newer ones may send more of them."""
    response = recorded.load("PostToolUse-Agent")["tool_response"] | {"status": status}
    assert agent_result({key: item for key, item in response.items() if item is not ABSENT}).status == seen


@each_row("name", recorded.names())
def test_unknown_keys_are_kept_at_the_top_of_every_event(name: str) -> None:
    """What a newer client adds is there for a handler to read."""
    event = read(name, brand_new={"deep": [1, None]})
    assert event.model_extra == {"brand_new": {"deep": [1, None]}}


def test_unknown_keys_are_kept_in_nested_structures() -> None:
    """A newer client's keys inside a background task, a schedule entry and a server are kept too."""
    stop = read("Stop", background_tasks=[{"id": "a", "new": 1}], session_crons=[{"id": "c", "new": 2}])
    assert isinstance(stop, Stop)
    assert stop.background_tasks[0].model_extra == {"new": 1}
    assert stop.session_crons[0].model_extra == {"new": 2}
    tool = read("PreToolUse-mcp__demo__echo", mcp_server={"name": "demo", "new": 3})
    assert isinstance(tool, PreToolUse)
    assert tool.mcp_server is not None
    assert (tool.mcp_server.name, tool.mcp_server.source, tool.mcp_server.model_extra) == ("demo", "", {"new": 3})
