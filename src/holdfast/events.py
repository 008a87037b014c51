"""The events of Claude Code's hooks, for handlers: `from holdfast.events import PreToolUse`."""
# ruff: noqa: F403 - type checkers take each model from its module; the interpreter loads only the one that is used

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.events import EVENTS, HOMES, HOOK_NAMES, OLDEST_CLIENT_EVENTS, model, parse, snake
from holdfast.errors import EventError

if TYPE_CHECKING:
    from holdfast.clients.claude.events.agents import *
    from holdfast.clients.claude.events.event import *
    from holdfast.clients.claude.events.inputs import *
    from holdfast.clients.claude.events.models import *
    from holdfast.clients.client import AgentResult as AgentResult
    from holdfast.clients.client import TaskNotification as TaskNotification
    from holdfast.process.shell.command import Command as Command

__all__ = ["EVENTS", "HOOK_NAMES", "OLDEST_CLIENT_EVENTS", "EventError", "model", "parse", "snake", *HOMES]

if not TYPE_CHECKING:  # else any name would be right for a type checker

    def __getattr__(name: str) -> Any:
        """Load a model, or a type used in one, from its module."""
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(HOMES[name]), name)
