"""The events of Claude Code's hooks: each is a typed, frozen model, loaded on first use."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.clients.claude.hookspecs import EVENTS as EVENTS
from holdfast.errors import EventError

if TYPE_CHECKING:
    from holdfast.clients.claude.events.event import Event

SINCE = {name: each.since for name, each in EVENTS.items() if each.since}
"""The first client that knows each event, for those that the oldest supported client lacks (client fact §1.1)."""
OLDEST_CLIENT_EVENTS = frozenset(EVENTS) - SINCE.keys()
"""The events of client 2.1.197, the oldest supported one. An unknown name in a settings file can silence all of it."""
HOOK_NAMES: dict[str, str] = {each.specification.__name__: name for name, each in EVENTS.items()}
"""The event of each hook function's name: `on_pre_tool_use` answers `PreToolUse`."""


def snake(name: str) -> str:
    """Return an event's name in snake case, as modules and hook functions spell it: `pre_tool_use`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


_PARTS = {
    "event": ("Event", "Effort"),
    "models": (*EVENTS, "ToolEvent", "McpServer", "Todo", "ToolCall", "BackgroundTask", "SessionCron"),
    "inputs": tuple(
        f"{tool}Input"
        for tool in ("Bash", "Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "WebFetch", "Agent")
    ),
    "agents": ("agent_result",),
}
HOMES = {name: f"{__name__}.{module}" for module, names in _PARTS.items() for name in names}
HOMES["AgentResult"] = HOMES["TaskNotification"] = "holdfast.clients.client"
HOMES["Command"] = "holdfast.process.shell.command"
"""The module of every event's model, and of the types used in them; `holdfast.events` offers all to handlers."""


def model(name: str) -> type[Event]:
    """Return an event's model.

    Args:
        name: the event's name, as in `EVENTS`.

    Raises:
        EventError: there is no such event.
    """
    if name not in EVENTS:
        raise EventError(f"{name!r} is not an event this holdfast knows; upgrade it if your Claude Code is newer")
    kind: type[Event] = getattr(import_module(HOMES[name]), name)
    return kind


def parse(payload: object) -> Event:
    """Parse what the client sent.

    Args:
        payload: the decoded JSON object; `hook_event_name` says which event it is.

    Returns:
        The event. Unknown keys are in `model_extra`; optional values of unknown types in `unreadable`.

    Raises:
        EventError: the payload is no object, names no known event, or lacks a required field. No other exception.
    """
    if not isinstance(payload, Mapping):
        raise EventError(f"the payload isn't a JSON object but {type(payload).__name__}")
    name = payload.get("hook_event_name")
    if not isinstance(name, str):
        raise EventError("the payload has no 'hook_event_name'; this is not Claude Code's input")
    return model(name).read(payload)


def example(function: str) -> str:
    """Return the source of the example handler file in a hook's docstring.

    Args:
        function: the hook's name, such as `on_pre_tool_use`.

    Raises:
        KeyError: there is no such hook.
    """
    _, _, code = (inspect.getdoc(EVENTS[HOOK_NAMES[function]].specification) or "").partition("Example::\n\n")
    return inspect.cleandoc(code) + "\n"
