"""Every variant of the contract's section 7, "Drift", is accepted."""

from __future__ import annotations

from typing import Any

from holdfast.clients.claude import claude
from holdfast.events import (
    Event,
    PermissionRequest,
    PostCompact,
    PostToolBatch,
    PostToolUse,
    PreCompact,
    PreToolUse,
    SessionEnd,
    SessionStart,
    Stop,
    SubagentStop,
    TaskCompleted,
    TaskCreated,
    TeammateIdle,
    ToolEvent,
    agent_result,
    parse,
)
from holdfast.testkit import recorded
from tests.tables import each_row

ABSENT = object()


def read(name: str, **changes: Any) -> Event:
    """Read a recorded payload with some keys changed, or left out where they are `ABSENT`; nothing may be set aside."""
    payload = recorded.load(name, **changes)
    event = parse({key: value for key, value in payload.items() if value is not ABSENT})
    assert event.unreadable == {}
    return event


@each_row("name", ["PreToolUse-Agent", "PostToolUse-Agent"])
@each_row("tool, launch", [("Task", True), ("Agent", True), ("TaskCreate", False), ("agent", False)])
def test_the_subagent_tool_has_two_names(name: str, tool: str, launch: bool) -> None:
    """`Task` before 2.1.63 and `Agent` since are launches; tools that only sound like it are not."""
    event = read(name, tool_name=tool)
    assert isinstance(event, ToolEvent)
    assert event.is_agent_launch is launch


def test_the_subagent_tool_has_two_names_in_a_batch() -> None:
    """A batch tells launches by both names too."""
    calls: list[dict[str, Any]] = [{"tool_name": tool, "tool_input": {}} for tool in ("Task", "Agent", "Bash")]
    event = read("PostToolBatch", tool_calls=calls)
    assert isinstance(event, PostToolBatch)
    assert [call.is_agent_launch for call in event.tool_calls] == [True, True, False]


@each_row("tool", ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TaskStop"])
def test_every_to_do_tool_of_any_client_is_read(tool: str) -> None:
    """To-do tools changed with the client and the model; each is an ordinary tool call."""
    event = read("PreToolUse-TodoWrite", tool_name=tool)
    assert isinstance(event, PreToolUse)
    assert len(event.todos) == (1 if tool == "TodoWrite" else 0)


@each_row(
    "item, seen",
    [
        ({"content": "x", "status": "pending", "activeForm": "doing x"}, ("x", "pending", "doing x", None, None)),
        ({"id": "1", "content": "x", "status": "completed", "priority": "high"}, ("x", "completed", "", "1", "high")),
        ({"id": 1, "content": "x", "status": "in_progress"}, ("x", "in_progress", "", "1", None)),
        ({"content": "x", "status": "deferred", "activeForm": "…"}, ("x", "deferred", "…", None, None)),
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


@each_row("todos", [None, "x", 5, {"content": "x"}, ["x", None, 5]])
def test_a_to_do_list_that_is_none_is_empty(todos: object) -> None:
    """Asking for to-dos never raises, whatever the model wrote."""
    event = read("PreToolUse-TodoWrite", tool_input={"todos": todos})
    assert isinstance(event, PreToolUse)
    assert event.todos == ()


@each_row("name", ["TaskCreated", "TaskCompleted"])
@each_row("given, seen", [("1", "1"), ("task-001", "task-001"), (7, "7"), ("任务", "任务")])
def test_task_ids_are_opaque(name: str, given: object, seen: str) -> None:
    """A task's id is any string, and a number where a client sends one."""
    event = read(name, task_id=given)
    assert isinstance(event, TaskCreated | TaskCompleted)
    assert event.task_id == seen


@each_row("source", ["startup", "resume", "clear", "compact", "fork", "teleport", ""])
def test_every_source_of_a_session_is_read(source: str) -> None:
    """Known and future sources of SessionStart pass."""
    event = read("SessionStart-startup", source=source)
    assert isinstance(event, SessionStart)
    assert event.source == claude.matcher_value(event) == source


@each_row(
    "field",
    [
        "model",
        "agent_type",
        "session_title",
        "seconds_since_last_response",
        "context_tokens",
        "prompt_cache_likely_expired",
        "estimated_cache_write_usd",
    ],
)
@each_row("value", [None, ABSENT])
def test_what_a_session_start_tells_beside_its_source_may_be_absent(field: str, value: object) -> None:
    """Model, agent type, title and cost fields are each optional."""
    event = read("SessionStart-resume", **{field: value})
    assert getattr(event, field) is None


@each_row("value, seen", [("keep the auth details", "keep the auth details"), ("", ""), (None, None), (ABSENT, None)])
def test_custom_instructions_may_be_anything_or_nothing(value: object, seen: str | None) -> None:
    """PreCompact's instructions are a string, empty, null or absent."""
    event = read("PreCompact-manual", custom_instructions=value)
    assert isinstance(event, PreCompact)
    assert event.custom_instructions == seen


@each_row("value", ["<analysis>a</analysis><summary>s</summary>", "a plain summary", ""])
def test_a_compaction_summary_has_any_shape(value: str) -> None:
    """PostCompact's summary is tagged, plain or empty."""
    event = read("PostCompact-manual", compact_summary=value)
    assert isinstance(event, PostCompact)
    assert event.compact_summary == value


@each_row(
    "reason",
    ["clear", "resume", "logout", "prompt_input_exit", "other", "bypass_permissions_disabled", "exit", "future"],
)
def test_every_reason_of_a_session_end_is_read(reason: str) -> None:
    """Present, past and future reasons of SessionEnd pass."""
    event = read("SessionEnd-other", reason=reason)
    assert isinstance(event, SessionEnd)
    assert event.reason == reason


@each_row("value", [{"stdout": "x"}, "x", [{"type": "text", "text": "x"}], None, 5, False])
def test_a_tool_response_is_anything(value: object) -> None:
    """PostToolUse hands over whatever the tool returned."""
    event = read("PostToolUse-Bash", tool_response=value)
    assert isinstance(event, PostToolUse)
    assert event.tool_response == value


def test_a_tool_response_may_be_absent() -> None:
    """An absent tool response is `None`, and can be told from null."""
    event = read("PostToolUse-Bash", tool_response=ABSENT)
    assert isinstance(event, PostToolUse)
    assert event.tool_response is None
    assert "tool_response" not in event.model_fields_set


def test_a_tool_response_may_be_called_tool_result() -> None:
    """Old reports' `tool_result` is the tool response."""
    event = read("PostToolUse-Bash", tool_response=ABSENT, tool_result="x")
    assert isinstance(event, PostToolUse)
    assert event.tool_response == "x"


@each_row("value", ["Task #1 created", [{"type": "text", "text": "x"}], None, ABSENT])
def test_a_batch_carries_what_the_model_sees(value: object) -> None:
    """PostToolBatch's responses are strings or blocks, or absent."""
    call = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "t", "tool_response": value}
    event = read("PostToolBatch", tool_calls=[{key: item for key, item in call.items() if item is not ABSENT}])
    assert isinstance(event, PostToolBatch)
    assert event.tool_calls[0].tool_response == (None if value is ABSENT else value)


@each_row("value", [{"task_id": "1"}, "raw text", None, ["x"]])
def test_a_batch_carries_input_that_failed_validation(value: object) -> None:
    """A call that never ran stands in the batch with its input as the model wrote it."""
    event = read("PostToolBatch", tool_calls=[{"tool_name": "TaskUpdate", "tool_input": value}])
    assert isinstance(event, PostToolBatch)
    assert event.tool_calls[0].tool_input == value


@each_row("name", ["PreToolUse-Bash", "PermissionRequest-Bash", "Stop"])
@each_row(
    "value, seen",
    [
        ("default", "default"),
        ("acceptEdits", "acceptEdits"),
        ("bypassPermissions", "bypassPermissions"),
        ("plan", "plan"),
        ("dontAsk", "dontAsk"),
        ("auto", "auto"),
        ("bubble", "bubble"),
        (None, None),
        (ABSENT, None),
    ],
)
def test_a_permission_mode_is_any_word_or_absent(name: str, value: object, seen: str | None) -> None:
    """Known, internal and future permission modes pass, and so does none."""
    assert read(name, permission_mode=value).permission_mode == seen


@each_row("value, seen", [("", ""), ("/nowhere/yet.jsonl", "/nowhere/yet.jsonl"), (ABSENT, "")])
def test_a_transcript_may_be_nowhere(value: object, seen: str) -> None:
    """Transcript paths may be empty or name a file that does not exist."""
    event = read("SubagentStop", transcript_path=value, agent_transcript_path=value)
    assert isinstance(event, SubagentStop)
    assert (event.transcript_path, event.agent_transcript_path) == (seen, seen)


@each_row("cwd", ["/home/user/project/sub", "/elsewhere", "", "C:\\project"])
def test_the_working_folder_is_anywhere(cwd: str) -> None:
    """`cwd` may lie below, beside or outside the project."""
    assert read("Stop", cwd=cwd).cwd == cwd


@each_row(
    "value, seen, compaction",
    [(ABSENT, None, False), ("", "", True), ("plugin:name", "plugin:name", False), ("Explore", "Explore", False)],
)
def test_an_agent_type_is_any_word_empty_or_absent(value: object, seen: str | None, compaction: bool) -> None:
    """Only the empty agent type is a compaction's; an absent one is merely unknown."""
    event = read("SubagentStop", agent_type=value)
    assert isinstance(event, SubagentStop)
    assert event.agent_type == claude.matcher_value(event) == seen
    assert event.is_compaction is compaction


@each_row("changes", [{}, {"teammate_name": "ann"}, {"teammate_name": "ann", "team_name": "team"}])
def test_team_names_may_be_absent(changes: dict[str, str]) -> None:
    """Deprecated and absent team names pass on all three team events."""
    idle = parse({"session_id": "s", "hook_event_name": "TeammateIdle", **changes})
    for event in (read("TaskCreated", **changes), read("TaskCompleted", **changes), idle):
        assert isinstance(event, TaskCreated | TaskCompleted | TeammateIdle)
        assert event.teammate_name == changes.get("teammate_name")
        assert event.team_name == changes.get("team_name")


@each_row(
    "status, seen",
    [
        ("completed", "completed"),
        ("async_launched", "async_launched"),
        ("remote_launched", "remote_launched"),
        (ABSENT, "other"),
        (None, "other"),
        ("teleported", "other"),
        (5, "other"),
    ],
)
def test_an_agents_status_is_known_absent_or_other(status: object, seen: str) -> None:
    """Clients before 2.1.30 send no status, which isn't one that counts, and newer ones may send more of them."""
    response = recorded.load("PostToolUse-Agent")["tool_response"] | {"status": status}
    assert agent_result({key: item for key, item in response.items() if item is not ABSENT}).status == seen


@each_row(
    "name, fields",
    [
        ("PostToolUse-Bash", ("duration_ms", "tool_use_id", "prompt_id", "effort", "mcp_server")),
        ("PreToolUse-Bash", ("tool_use_id", "prompt_id", "effort", "mcp_server")),
        ("PostToolUseFailure-Bash", ("duration_ms", "tool_use_id", "prompt_id", "is_interrupt")),
        ("PreToolUse-mcp__demo__echo", ("mcp_server",)),
        ("Stop-background-tasks", ("background_tasks", "session_crons", "last_assistant_message", "effort")),
        ("SubagentStop", ("background_tasks", "session_crons", "last_assistant_message", "agent_id")),
        ("PermissionRequest-Bash", ("permission_suggestions",)),
    ],
)
def test_what_newer_clients_added_may_be_absent(name: str, fields: tuple[str, ...]) -> None:
    """Fields that older clients do not send read as nothing."""
    event = read(name, **dict.fromkeys(fields, ABSENT))
    assert not any(getattr(event, field) for field in fields)
    assert not event.model_fields_set & set(fields)


@each_row("level", ["low", "medium", "high", "xhigh", "max", "extreme"])
def test_effort_has_a_level(level: str) -> None:
    """Known and future effort levels pass."""
    effort = read("PreToolUse-Bash", effort={"level": level}).effort
    assert effort is not None
    assert effort.level == level


def test_permission_suggestions_are_objects() -> None:
    """Permission suggestions keep whatever the client offers."""
    event = read("PermissionRequest-Bash")
    assert isinstance(event, PermissionRequest)
    assert [suggestion["type"] for suggestion in event.permission_suggestions] == ["addDirectories", "setMode"]


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
