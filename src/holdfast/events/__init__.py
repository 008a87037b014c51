"""The 33 events of Claude Code's hooks, each a typed, frozen model that is loaded on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.events.errors import EventError

if TYPE_CHECKING:
    from holdfast.events.agents import AgentResult as AgentResult
    from holdfast.events.agents import SubagentStart as SubagentStart
    from holdfast.events.agents import SubagentStop as SubagentStop
    from holdfast.events.agents import agent_result as agent_result
    from holdfast.events.background import BackgroundTask as BackgroundTask
    from holdfast.events.background import SessionCron as SessionCron
    from holdfast.events.call import McpServer as McpServer
    from holdfast.events.call import Todo as Todo
    from holdfast.events.call import ToolEvent as ToolEvent
    from holdfast.events.compaction import PostCompact as PostCompact
    from holdfast.events.compaction import PreCompact as PreCompact
    from holdfast.events.elicitation import Elicitation as Elicitation
    from holdfast.events.elicitation import ElicitationResult as ElicitationResult
    from holdfast.events.event import Effort as Effort
    from holdfast.events.event import Event as Event
    from holdfast.events.files import ConfigChange as ConfigChange
    from holdfast.events.files import CwdChanged as CwdChanged
    from holdfast.events.files import DirectoryAdded as DirectoryAdded
    from holdfast.events.files import FileChanged as FileChanged
    from holdfast.events.files import InstructionsLoaded as InstructionsLoaded
    from holdfast.events.models import PostModelSwitch as PostModelSwitch
    from holdfast.events.models import PreModelSwitch as PreModelSwitch
    from holdfast.events.notices import MessageDisplay as MessageDisplay
    from holdfast.events.notices import Notification as Notification
    from holdfast.events.permissions import PermissionDenied as PermissionDenied
    from holdfast.events.permissions import PermissionRequest as PermissionRequest
    from holdfast.events.prompts import TaskNotification as TaskNotification
    from holdfast.events.prompts import UserPromptExpansion as UserPromptExpansion
    from holdfast.events.prompts import UserPromptSubmit as UserPromptSubmit
    from holdfast.events.session import SessionEnd as SessionEnd
    from holdfast.events.session import SessionStart as SessionStart
    from holdfast.events.session import Setup as Setup
    from holdfast.events.tasks import TaskCompleted as TaskCompleted
    from holdfast.events.tasks import TaskCreated as TaskCreated
    from holdfast.events.tasks import TeammateIdle as TeammateIdle
    from holdfast.events.tools import PostToolBatch as PostToolBatch
    from holdfast.events.tools import PostToolUse as PostToolUse
    from holdfast.events.tools import PostToolUseFailure as PostToolUseFailure
    from holdfast.events.tools import PreToolUse as PreToolUse
    from holdfast.events.tools import ToolCall as ToolCall
    from holdfast.events.turns import Stop as Stop
    from holdfast.events.turns import StopFailure as StopFailure
    from holdfast.events.worktrees import WorktreeCreate as WorktreeCreate
    from holdfast.events.worktrees import WorktreeRemove as WorktreeRemove

EVENTS: dict[str, str] = {
    "SessionStart": "holdfast.events.session",
    "Setup": "holdfast.events.session",
    "SessionEnd": "holdfast.events.session",
    "UserPromptSubmit": "holdfast.events.prompts",
    "UserPromptExpansion": "holdfast.events.prompts",
    "PreToolUse": "holdfast.events.tools",
    "PostToolUse": "holdfast.events.tools",
    "PostToolUseFailure": "holdfast.events.tools",
    "PostToolBatch": "holdfast.events.tools",
    "PermissionRequest": "holdfast.events.permissions",
    "PermissionDenied": "holdfast.events.permissions",
    "Stop": "holdfast.events.turns",
    "StopFailure": "holdfast.events.turns",
    "SubagentStart": "holdfast.events.agents",
    "SubagentStop": "holdfast.events.agents",
    "PreCompact": "holdfast.events.compaction",
    "PostCompact": "holdfast.events.compaction",
    "TaskCreated": "holdfast.events.tasks",
    "TaskCompleted": "holdfast.events.tasks",
    "TeammateIdle": "holdfast.events.tasks",
    "PreModelSwitch": "holdfast.events.models",
    "PostModelSwitch": "holdfast.events.models",
    "Notification": "holdfast.events.notices",
    "MessageDisplay": "holdfast.events.notices",
    "ConfigChange": "holdfast.events.files",
    "InstructionsLoaded": "holdfast.events.files",
    "CwdChanged": "holdfast.events.files",
    "FileChanged": "holdfast.events.files",
    "DirectoryAdded": "holdfast.events.files",
    "WorktreeCreate": "holdfast.events.worktrees",
    "WorktreeRemove": "holdfast.events.worktrees",
    "Elicitation": "holdfast.events.elicitation",
    "ElicitationResult": "holdfast.events.elicitation",
}
"""Every event the client has (client fact §1.1), in the order they are listed in, with the module of its model."""

OLDEST_CLIENT_EVENTS: frozenset[str] = frozenset(EVENTS) - {"PreModelSwitch", "PostModelSwitch", "DirectoryAdded"}
"""The events that client 2.1.197, the oldest supported one, knows: an unknown name can silence a whole file there."""

_PARTS = {
    "Event": "holdfast.events.event",
    "Effort": "holdfast.events.event",
    "ToolEvent": "holdfast.events.call",
    "McpServer": "holdfast.events.call",
    "Todo": "holdfast.events.call",
    "ToolCall": "holdfast.events.tools",
    "BackgroundTask": "holdfast.events.background",
    "SessionCron": "holdfast.events.background",
    "TaskNotification": "holdfast.events.prompts",
    "AgentResult": "holdfast.events.agents",
    "agent_result": "holdfast.events.agents",
}
_HOMES = EVENTS | _PARTS

__all__ = ["EVENTS", "HOOK_NAMES", "OLDEST_CLIENT_EVENTS", "EventError", "model", "parse", "snake", *_HOMES]


def snake(name: str) -> str:
    """Spell an event's name as its hook's name does: `PreToolUse` becomes `pre_tool_use`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


HOOK_NAMES: dict[str, str] = {f"on_{snake(name)}": name for name in EVENTS}
"""The name of a handler's function for every event: `on_pre_tool_use` is for `PreToolUse`."""


def model(name: str) -> type[Event]:
    """Return the model of an event, loading its family and no other.

    Args:
        name: the event's name, as in `EVENTS`.

    Raises:
        EventError: there is no such event.
    """
    if name not in EVENTS:
        raise EventError(f"{name!r} is not an event this holdfast knows; upgrade it if your client is newer")
    kind: type[Event] = getattr(import_module(EVENTS[name]), name)
    return kind


def parse(payload: object) -> Event:
    """Read what the client sent.

    Args:
        payload: the decoded JSON object; `hook_event_name` says which event it is.

    Returns:
        The event. Unknown keys are in `model_extra`; optional values of unknown types in `unreadable`.

    Raises:
        EventError: it is no object, names no known event, or lacks a field the event needs; nothing else.
    """
    if not isinstance(payload, Mapping):
        raise EventError(f"the payload is no JSON object but {type(payload).__name__}")
    name = payload.get("hook_event_name")
    if not isinstance(name, str):
        raise EventError("the payload has no 'hook_event_name'; this is not Claude Code's input")
    return model(name).read(payload)


def __getattr__(name: str) -> Any:
    """Load a model or one of its parts from the family it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
