"""The events of Claude Code's hooks, for handlers: `from holdfast.events import PreToolUse`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.events import EVENTS, HOMES, HOOK_NAMES, OLDEST_CLIENT_EVENTS, model, parse, snake
from holdfast.errors import EventError

if TYPE_CHECKING:
    from holdfast.clients.claude.events.agents import AgentResult as AgentResult
    from holdfast.clients.claude.events.agents import Returned as Returned
    from holdfast.clients.claude.events.agents import TaskNotification as TaskNotification
    from holdfast.clients.claude.events.agents import agent_result as agent_result
    from holdfast.clients.claude.events.background import BackgroundTask as BackgroundTask
    from holdfast.clients.claude.events.background import SessionCron as SessionCron
    from holdfast.clients.claude.events.call import McpServer as McpServer
    from holdfast.clients.claude.events.call import Todo as Todo
    from holdfast.clients.claude.events.call import ToolEvent as ToolEvent
    from holdfast.clients.claude.events.event import Effort as Effort
    from holdfast.clients.claude.events.event import Event as Event
    from holdfast.clients.claude.events.models import *  # noqa: F403 - for type checkers

__all__ = ["EVENTS", "HOOK_NAMES", "OLDEST_CLIENT_EVENTS", "EventError", "model", "parse", "snake", *HOMES]


def __getattr__(name: str) -> Any:
    """Load a model, or a type used in one, from its module."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
