"""The shapes that Claude Code requires in a settings file; it ignores the file, or a hook entry, that differs.

Client fact §4.1 says which shapes were observed on which version.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from holdfast.clients.claude import versions
from holdfast.clients.claude.events import EVENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

SKIPS_ENTRIES_SINCE = (2, 1, 257)
"""The first client that ignores only the malformed entry of most events. Older ones ignore the whole file."""

_GUARDING_EVENTS = ("PreToolUse", "PermissionRequest")  # here every client ignores the whole file
_VALUE_LIMIT_CHARS = 40  # of a wrong value that is quoted


class Fault(NamedTuple):
    """A part of a settings file in a shape that the client doesn't accept.

    Attributes:
        reason: the part's JSON path, what it is and what it should be.
        ignored: who ignores what because of it.
        fatal: whether the hooks in the file don't run; otherwise only the entry that `reason` names doesn't.
    """

    reason: str
    ignored: str
    fatal: bool

    def __str__(self) -> str:
        return f"{self.ignored}, because {self.reason}"


class _Shape(BaseModel):
    """An object whose unknown keys the client ignores. A known key may be missing, but can't be null."""

    model_config = ConfigDict(alias_generator=to_camel, strict=True)


class _Hook(_Shape):
    type: Literal["command", "prompt", "agent", "http", "mcp_tool"]
    command: str = ""
    args: list[Any] = []
    timeout: Annotated[float, Field(gt=0)] = 1


class _Group(_Shape):
    matcher: str = ""
    hooks: list[_Hook]


Mode = Literal["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"]
"""A permission mode."""


class _Permissions(_Shape):
    allow: list[Any] = []
    ask: list[Any] = []
    deny: list[Any] = []
    additional_directories: list[Any] = []
    default_mode: Mode = "default"
    disable_bypass_permissions_mode: Literal["disable"] = "disable"


class _StatusLine(_Shape):
    type: Literal["command"]
    command: str
    padding: float = 0


class _Sandbox(_Shape):
    enabled: bool = False


class _Settings(_Shape):
    always_thinking_enabled: bool = False
    api_key_helper: str = ""
    cleanup_period_days: Annotated[float, Field(gt=0)] = 30
    disable_all_hooks: bool = False
    enable_all_project_mcp_servers: bool = False
    enabled_plugins: dict[str, Any] = {}
    env: dict[str, Any] = {}
    hooks: dict[str, list[_Group]] = {}
    include_co_authored_by: bool = True
    language: str = ""
    model: str = ""
    output_style: str = ""
    permissions: _Permissions = _Permissions()
    sandbox: _Sandbox = _Sandbox()
    spinner_tips_enabled: bool = True
    status_line: _StatusLine = _StatusLine(type="command", command="")


def faults(text: str) -> list[Fault]:
    """Return the faults for which the client ignores a settings file, or hooks in it.

    What the client ignores depends on its version; if there is no client to ask, the oldest is assumed.

    Args:
        text: the file's content; a byte order mark is accepted. Text that isn't JSON, which whoever parses it reports,
            has no faults, and neither has blank text.
    """
    try:
        _Settings.model_validate_json(text.strip("\ufeff \t\r\n") or "{}")
    except ValidationError as error:
        skips = (versions.version() or (0, 0, 0)) >= SKIPS_ENTRIES_SINCE
        return [_fault(each, skips=skips) for each in error.errors(include_url=False) if _counts(each)]
    return []


def _counts(error: Mapping[str, Any]) -> bool:
    """Return whether an error is about a shape, and not of an unknown event, which the client ignores by itself."""
    steps = error["loc"]
    unknown = steps[:1] == ("hooks",) and len(steps) > 1 and steps[1] not in EVENTS
    return error["type"] != "json_invalid" and not unknown


def _fault(error: Mapping[str, Any], *, skips: bool) -> Fault:
    steps = error["loc"]
    reason = _reason(error)
    if steps == ("hooks",):
        return Fault(reason, "Claude Code ignores all hooks in this file", fatal=True)
    if steps[:1] != ("hooks",) or steps[1] in _GUARDING_EVENTS:
        return Fault(reason, "Claude Code ignores this whole file", fatal=True)
    if skips or len(steps) == 2:  # of an event that isn't an array, every client ignores only that
        return Fault(reason, "Claude Code ignores this entry", fatal=False)
    since = ".".join(map(str, SKIPS_ENTRIES_SINCE))
    return Fault(reason, f"Claude Code before {since} ignores this whole file", fatal=True)


def _reason(error: Mapping[str, Any]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"])
    path = "".join(steps).removeprefix(".") or "its content"
    if error["type"] == "missing":
        return f"{path} is missing"
    return f"{path} is {_shown(error['input'])}, but should be {error['msg'].removeprefix('Input should be ')}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return json.dumps(value)[:_VALUE_LIMIT_CHARS]
