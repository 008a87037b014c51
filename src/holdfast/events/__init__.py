"""The events of Claude Code's hooks, each a typed, frozen model that is loaded on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.errors import EventError

if TYPE_CHECKING:
    from holdfast.events.agents import AgentResult as AgentResult
    from holdfast.events.agents import agent_result as agent_result
    from holdfast.events.background import BackgroundTask as BackgroundTask
    from holdfast.events.background import SessionCron as SessionCron
    from holdfast.events.call import McpServer as McpServer
    from holdfast.events.call import Todo as Todo
    from holdfast.events.call import ToolEvent as ToolEvent
    from holdfast.events.event import Effort as Effort
    from holdfast.events.event import Event as Event
    from holdfast.events.models.config_change import ConfigChange as ConfigChange
    from holdfast.events.models.cwd_changed import CwdChanged as CwdChanged
    from holdfast.events.models.directory_added import DirectoryAdded as DirectoryAdded
    from holdfast.events.models.elicitation import Elicitation as Elicitation
    from holdfast.events.models.elicitation_result import ElicitationResult as ElicitationResult
    from holdfast.events.models.file_changed import FileChanged as FileChanged
    from holdfast.events.models.instructions_loaded import InstructionsLoaded as InstructionsLoaded
    from holdfast.events.models.message_display import MessageDisplay as MessageDisplay
    from holdfast.events.models.notification import Notification as Notification
    from holdfast.events.models.permission_denied import PermissionDenied as PermissionDenied
    from holdfast.events.models.permission_request import PermissionRequest as PermissionRequest
    from holdfast.events.models.post_compact import PostCompact as PostCompact
    from holdfast.events.models.post_model_switch import PostModelSwitch as PostModelSwitch
    from holdfast.events.models.post_tool_batch import PostToolBatch as PostToolBatch
    from holdfast.events.models.post_tool_batch import ToolCall as ToolCall
    from holdfast.events.models.post_tool_use import PostToolUse as PostToolUse
    from holdfast.events.models.post_tool_use_failure import PostToolUseFailure as PostToolUseFailure
    from holdfast.events.models.pre_compact import PreCompact as PreCompact
    from holdfast.events.models.pre_model_switch import PreModelSwitch as PreModelSwitch
    from holdfast.events.models.pre_tool_use import PreToolUse as PreToolUse
    from holdfast.events.models.session_end import SessionEnd as SessionEnd
    from holdfast.events.models.session_start import SessionStart as SessionStart
    from holdfast.events.models.setup import Setup as Setup
    from holdfast.events.models.stop import Stop as Stop
    from holdfast.events.models.stop_failure import StopFailure as StopFailure
    from holdfast.events.models.subagent_start import SubagentStart as SubagentStart
    from holdfast.events.models.subagent_stop import SubagentStop as SubagentStop
    from holdfast.events.models.task_completed import TaskCompleted as TaskCompleted
    from holdfast.events.models.task_created import TaskCreated as TaskCreated
    from holdfast.events.models.teammate_idle import TeammateIdle as TeammateIdle
    from holdfast.events.models.user_prompt_expansion import UserPromptExpansion as UserPromptExpansion
    from holdfast.events.models.user_prompt_submit import TaskNotification as TaskNotification
    from holdfast.events.models.user_prompt_submit import UserPromptSubmit as UserPromptSubmit
    from holdfast.events.models.worktree_create import WorktreeCreate as WorktreeCreate
    from holdfast.events.models.worktree_remove import WorktreeRemove as WorktreeRemove

_IN_ORDER = (
    *("SessionStart", "Setup", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion"),
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionRequest", "PermissionDenied"),
    *("Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"),
    *("TaskCreated", "TaskCompleted", "TeammateIdle", "PreModelSwitch", "PostModelSwitch"),
    *("Notification", "MessageDisplay", "ConfigChange", "InstructionsLoaded", "CwdChanged", "FileChanged"),
    *("DirectoryAdded", "WorktreeCreate", "WorktreeRemove", "Elicitation", "ElicitationResult"),
)
OLDEST_CLIENT_EVENTS = frozenset(_IN_ORDER) - {"PreModelSwitch", "PostModelSwitch", "DirectoryAdded"}
"""The events that client 2.1.197, the oldest supported one, knows: an unknown name can silence a whole file there."""


def snake(name: str) -> str:
    """Spell an event's name as its module's does, and its hook's: `PreToolUse` becomes `pre_tool_use`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


_NAMES = ("".join(map(str.capitalize, module.split("_"))) for module in paths.modules("events/models"))
EVENTS: dict[str, str] = {
    name: f"holdfast.events.models.{snake(name)}" for name in dict.fromkeys((*_IN_ORDER, *_NAMES))
}
"""Every event the client has (client fact §1.1), with the module of its model: each in `events/models` is one.

They are in the order in which the client lists them; those that are not in that list follow.
"""

_PARTS = {
    "Event": "holdfast.events.event",
    "Effort": "holdfast.events.event",
    "ToolEvent": "holdfast.events.call",
    "McpServer": "holdfast.events.call",
    "Todo": "holdfast.events.call",
    "ToolCall": "holdfast.events.models.post_tool_batch",
    "BackgroundTask": "holdfast.events.background",
    "SessionCron": "holdfast.events.background",
    "TaskNotification": "holdfast.events.models.user_prompt_submit",
    "AgentResult": "holdfast.events.agents",
    "agent_result": "holdfast.events.agents",
}
_HOMES = EVENTS | _PARTS

__all__ = ["EVENTS", "HOOK_NAMES", "OLDEST_CLIENT_EVENTS", "EventError", "model", "parse", "snake", *_HOMES]

HOOK_NAMES: dict[str, str] = {f"on_{snake(name)}": name for name in EVENTS}
"""The name of a handler's function for every event: `on_pre_tool_use` is for `PreToolUse`."""


def model(name: str) -> type[Event]:
    """Return the model of an event, loading its module and no other.

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
    """Load a model or one of its parts from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
