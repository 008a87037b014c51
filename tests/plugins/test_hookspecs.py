"""The hooks, and the example handlers that explain them."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import claude, events
from holdfast.events import EVENTS, HOOK_NAMES, Event, model, parse
from holdfast.plugins.context import Context
from holdfast.plugins.outcomes import check, flatten
from holdfast.plugins.scan import scan
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.plugins.hooks import Hook


def run(function: str) -> dict[str, Any]:
    """Execute a hook's example as a handler file, and return what it defined."""
    module: dict[str, Any] = {"__name__": "example"}
    exec(compile(events.example(function), f"<example of {function}>", "exec"), module)
    return module


def an_event(name: str) -> Event:
    """Return an event of that name: a recorded one, or the smallest possible."""
    names = [one for one in recorded.names() if one.partition("-")[0] == name]
    if names:
        return parse(recorded.load(names[0]))
    return parse({"session_id": "s", "hook_event_name": name, "tool_name": "Read", "tool_input": {}})


@each_row("name, hook", EVENTS.items())
def test_a_hook_takes_its_event_and_context_and_says_when_it_fires(name: str, hook: Hook) -> None:
    """Its annotation names the event's model, which type checkers find."""
    assert inspect.get_annotations(hook.specification) == {
        "event": f"{model(name).__module__.rpartition('.')[2]}.{name}",
        "context": "Context",
        "options": "Any",
        "state": "State",
        "return": "Answer",
    }
    assert model(name).__name__ == name
    assert (inspect.getdoc(hook.specification) or "").startswith("Fires ")
    assert hook.matcher is None or hook.matcher in model(name).model_fields


@each_row("function, name", HOOK_NAMES.items())
def test_an_example_is_a_complete_handler_file(function: str, name: str) -> None:
    """Read as a handler file, an example has the route of its own event, no other function's, and no fault."""
    found = scan(events.example(function).encode(), claude)
    assert found.faults == {}
    assert (found.routes[0].event, {route.function for route in found.routes}) == (name, {function})


@each_row("function, name", HOOK_NAMES.items())
def test_an_example_imports_only_what_its_event_accepts(function: str, name: str) -> None:
    """An example uses the public names only, and of the outcomes only those its event accepts."""
    tree = ast.parse(events.example(function))
    imported = {
        (node.module, alias.name) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert ("holdfast", "hookimpl") in imported
    outcomes = {name for module, name in imported if module == "holdfast"} - {"hookimpl"}
    assert outcomes <= EVENTS[name].accepts
    assert {module for module, _ in imported} <= {"holdfast", "holdfast.events"}


def saying(function: str, tmp_path: Path, **changes: Any) -> list[str]:
    """Call an example with a changed event, in a project with a failing test and notes; return the kinds it says."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "FAILING").touch()
    (root / "NOTES.md").write_text("fact\n")
    event = an_event(HOOK_NAMES[function]).model_copy(update=changes)
    handler = run(function)[function]
    given = {"event": event, "context": Context(Workspace.open(root), {})}
    said = flatten(handler(*(given[argument] for argument in inspect.signature(handler).parameters)))
    for outcome in said:
        check(outcome, HOOK_NAMES[function], EVENTS[HOOK_NAMES[function]].accepts)
    return [outcome.kind for outcome in said]


@each_row(
    "function, changes, kind",
    [
        ("on_session_start", {}, "advise"),
        ("on_setup", {}, "environment"),
        ("on_user_prompt_submit", {"prompt": "deploy it"}, "advise"),
        ("on_user_prompt_expansion", {"command_args": ""}, "block"),
        ("on_pre_tool_use", {"tool_input": {"command": "printenv"}}, "deny"),
        ("on_post_tool_use", {"tool_input": {"file_path": "a.proto"}}, "advise"),
        ("on_post_tool_use_failure", {"error": "x: command not found"}, "advise"),
        ("on_permission_request", {"tool_input": {"command": "make test"}}, "allow"),
        ("on_permission_denied", {}, "retry"),
        ("on_stop", {}, "force_turn"),
        ("on_stop_failure", {}, "terminal"),
        ("on_subagent_start", {}, "advise"),
        ("on_subagent_stop", {"last_assistant_message": ""}, "tell_user"),
        ("on_pre_compact", {"agent_id": None}, "instruct_summary"),
        ("on_post_compact", {}, "tell_user"),
        ("on_task_created", {"task_description": None}, "block"),
        ("on_task_completed", {}, "block"),
        ("on_teammate_idle", {"teammate_name": "tester"}, "block"),
        ("on_pre_model_switch", {"estimated_cache_write_usd": 1.5}, "ask"),
        ("on_post_model_switch", {}, "advise"),
        ("on_notification", {}, "terminal"),
        ("on_message_display", {"delta": "hunter2"}, "display"),
        ("on_config_change", {}, "block"),
        ("on_cwd_changed", {}, "environment"),
        ("on_file_changed", {}, "tell_user"),
        ("on_directory_added", {}, "tell_user"),
        ("on_worktree_create", {}, "worktree"),
        ("on_elicitation", {"mode": "url"}, "answer"),
        ("on_elicitation_result", {"action": "accept", "content": {}}, "answer"),
    ],
)
def test_an_example_says_what_it_is_there_to_say(
    function: str, changes: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    """Given the case it is about, each example answers with the outcome it shows."""
    assert saying(function, tmp_path, **changes) == [kind]
