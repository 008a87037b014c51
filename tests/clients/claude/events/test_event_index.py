"""The index of events: what it lists, what it loads, what it refuses."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import events
from holdfast.errors import HoldfastError
from holdfast.events import EVENTS, HOOK_NAMES, OLDEST_CLIENT_EVENTS, EventError, model, parse, snake
from holdfast.testkit import recorded
from tests.tables import each_row

MODELS = set(EVENTS.values())

# Each kind of outcome in Holdfast's words, with the events on which the client honours it and why: the client facts
# (§), and what clients 2.1.197 and 2.1.329 do with a hook's JSON, by their code.
_PLAIN = {"PreCompact", "PostCompact", "WorktreeCreate"}
_JSON = set(EVENTS) - _PLAIN
RULES: dict[str, tuple[str, set[str]]] = {
    "advise": (
        "§1.6: additionalContext; §1.3: on Stop and SubagentStop it forces a turn, on Notification it is discarded",
        {
            *("SessionStart", "Setup", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse"),
            *("PostToolUseFailure", "PostToolBatch", "SubagentStart", "PostModelSwitch"),
        },
    ),
    "force_turn": ("§1.3: additionalContext makes the model go on", {"Stop", "SubagentStop"}),
    "instruct_summary": ("§2.3: plain text is added to the summariser's instructions", {"PreCompact"}),
    "deny": (
        "§1.3: permissionDecision, or the permission's decision",
        {"PreToolUse", "PreSkillShellCommand", "PermissionRequest", "PreModelSwitch"},
    ),
    "allow": ("§1.3: the same", {"PreToolUse", "PermissionRequest", "PreModelSwitch"}),
    "ask": (
        "§1.3: permissionDecision; a permission's decision knows no question",
        {"PreToolUse", "PreSkillShellCommand", "PreModelSwitch"},
    ),
    "defer": ("§1.3: permissionDecision", {"PreToolUse", "PreSkillShellCommand"}),
    "block": (
        "§1.4: what can be blocked, where no decision or action says it",
        {
            *("UserPromptSubmit", "UserPromptExpansion", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop"),
            *("SubagentStop", "TaskCreated", "TaskCompleted", "TeammateIdle", "PreCompact", "ConfigChange"),
        },
    ),
    "stop": (
        "§1.3, §1.6: continue is heeded in the conversation, but not on SessionStart and TaskCreated",
        {
            *("UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
            *("PostToolBatch", "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "PreSkillShellCommand"),
        },
    ),
    "change_input": ("§1.3: updatedInput", {"PreToolUse", "PermissionRequest"}),
    "change_output": ("§1.6: updatedToolOutput", {"PostToolUse"}),
    "classify": ("§1.6: classifierContext", {"PostToolUse"}),
    "tell_user": (
        "§1.6, §1.7: systemMessage reaches the user in the conversation, except where the caller takes one field only"
        " (PermissionDenied: retry, MessageDisplay: displayContent); outside it on CwdChanged, FileChanged and"
        " DirectoryAdded (§1.3); PostCompact's plain text is shown to the user (§1.3)",
        {
            *("SessionStart", "Setup", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest"),
            *("PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStart", "SubagentStop"),
            *("TaskCreated", "TaskCompleted", "TeammateIdle", "PreModelSwitch", "PostModelSwitch"),
            *("CwdChanged", "FileChanged", "DirectoryAdded", "PostCompact", "PreSkillShellCommand"),
        },
    ),
    "terminal": (
        "§1.6, §1.7: terminalSequence is taken from JSON on either path; where plain text is the answer, JSON would"
        " become an instruction (§2.3), a message or a path",
        _JSON,
    ),
    "environment": ("§4.5: CLAUDE_ENV_FILE", {"SessionStart", "Setup", "CwdChanged", "FileChanged"}),
    "watch": ("§1.6: watchPaths", {"SessionStart", "CwdChanged", "FileChanged"}),
    "title": ("§1.6: sessionTitle", {"SessionStart", "UserPromptSubmit"}),
    "initial_message": ("§1.6: initialUserMessage", {"SessionStart"}),
    "reload_skills": ("§1.6: reloadSkills", {"SessionStart"}),
    "retry": ("§1.6: retry", {"PermissionDenied"}),
    "suppress_prompt": ("§1.6: suppressOriginalPrompt", {"UserPromptSubmit", "UserPromptExpansion"}),
    "answer": ("§1.6: action and content", {"Elicitation", "ElicitationResult"}),
    "display": ("§1.6: displayContent", {"MessageDisplay"}),
    "worktree": ("§1.3: the last line of stdout is the path", {"WorktreeCreate"}),
}

# Client fact §1.3, column "matcher tests".
MATCHER_FIELDS = {
    "SessionStart": "source",
    "Setup": "trigger",
    "SessionEnd": "reason",
    "UserPromptExpansion": "command_name",
    "PreToolUse": "tool_name",
    "PreSkillShellCommand": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "PermissionRequest": "tool_name",
    "PermissionDenied": "tool_name",
    "StopFailure": "error",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "PreCompact": "trigger",
    "PostCompact": "trigger",
    "PreModelSwitch": "to_model",
    "PostModelSwitch": "to_model",
    "Notification": "notification_type",
    "ConfigChange": "source",
    "InstructionsLoaded": "load_reason",
    "FileChanged": "file_path",
    "DirectoryAdded": "source",
    "Elicitation": "mcp_server_name",
    "ElicitationResult": "mcp_server_name",
}
DEADLINES = {
    "UserPromptSubmit": 30.0,
    "MessageDisplay": 10.0,
    "PreModelSwitch": 30.0,
    "PostModelSwitch": 30.0,
    "SessionEnd": 1.5,
}
STRICTABLE = {"PreToolUse", "PreSkillShellCommand", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion"}


def loaded_by(statement: str) -> set[str]:
    """Return the modules a fresh interpreter has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=500)
    return set(done.stdout.split())


def test_there_are_exactly_the_events_of_the_contract() -> None:
    """The index lists each event of client fact §1.1."""
    assert {event for _, events_ in RULES.values() for event in events_} == set(EVENTS)


def test_the_oldest_client_knows_none_that_came_later() -> None:
    """Client 2.1.197 knows 30 events; a newer one would silence its whole settings file."""
    assert not {"PreModelSwitch", "PostModelSwitch", "DirectoryAdded", "PreSkillShellCommand"} & OLDEST_CLIENT_EVENTS
    assert len(OLDEST_CLIENT_EVENTS) == 30


@each_row("name", EVENTS)
def test_a_model_states_what_the_contract_says_of_its_event(name: str) -> None:
    """Matcher field, strictness and deadline are those of client fact §1.3 and §4.4."""
    kind = model(name)
    assert kind.__name__ == name
    assert kind.matcher_field == MATCHER_FIELDS.get(name)
    assert kind.strictable == (name in STRICTABLE)
    assert kind.deadline == DEADLINES.get(name, 600.0)


@each_row("kind", RULES)
@each_row("name", EVENTS)
def test_an_event_accepts_exactly_the_outcomes_that_the_client_honours(name: str, kind: str) -> None:
    """Each event with each kind of outcome; the rule says where it comes from."""
    source, honoured = RULES[kind]
    assert (kind in model(name).accepts) == (name in honoured), source


def test_there_is_a_rule_for_every_kind_of_outcome() -> None:
    """No event accepts a kind of which no rule says why."""
    assert {kind for name in EVENTS for kind in model(name).accepts} == set(RULES)


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
    tree = ast.parse(Path(events.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = {
        alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
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


def test_an_unknown_name_is_no_attribute() -> None:
    """A misspelt import fails as it does in any module."""
    with pytest.raises(AttributeError, match="PreToolUze"):
        events.__getattr__("PreToolUze")


def test_importing_the_index_does_not_load_pydantic() -> None:
    """The hook path pays for pydantic only when an event is read."""
    loaded = loaded_by("import holdfast.events")
    assert "holdfast.events" in loaded
    assert "pydantic" not in loaded
    assert not loaded & MODELS


def test_parsing_loads_one_model() -> None:
    """`parse` loads the model of the event it was given."""
    payload = recorded.load("PreCompact-manual")
    loaded = loaded_by(f"from holdfast.events import parse; parse({payload!r})")
    assert loaded & MODELS == {"holdfast.clients.claude.events.models.pre_compact"}


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
