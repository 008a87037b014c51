"""Protocols of a handler's event and context, as far as workflows and sessions need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.log import Level
    from holdfast.project import OpenProject


class Event(Protocol):
    """Any event of `holdfast.events`."""

    @property
    def session_id(self) -> str:
        """The session it happened in."""

    @property
    def hook_event_name(self) -> str:
        """Its name, such as `SessionStart`."""

    @property
    def transcript_path(self) -> str:
        """The path of the session's transcript; empty if the client doesn't say."""

    @property
    def cwd(self) -> str:
        """The model's working directory."""

    @property
    def agent_id(self) -> str | None:
        """The subagent it happened in; None in the main conversation."""

    @property
    def agent_type(self) -> str | None:
        """The kind of that subagent."""

    @property
    def in_subagent(self) -> bool:
        """Whether it happened in a subagent, which shares its parent's `session_id`."""


class Call(Event, Protocol):
    """An event about one tool call: `PreToolUse`, `PostToolUse` or `PostToolUseFailure`."""

    @property
    def tool_name(self) -> str:
        """The tool's name."""

    @property
    def tool_input(self) -> Mapping[str, Any]:
        """The tool's arguments."""

    @property
    def tool_use_id(self) -> str | None:
        """The id of the call; None from older clients."""


class Returned(Call, Protocol):
    """A `PostToolUse`."""

    @property
    def tool_response(self) -> Any:
        """What the tool returned."""


class Context(Protocol):
    """The handler's `holdfast.Context`."""

    @property
    def project(self) -> OpenProject:
        """The project, with its configuration and ledger."""

    @property
    def root(self) -> Path:
        """The project's root."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The hook's environment."""

    def log(self, message: str, *, level: Level = "info", **fields: Any) -> None:
        """Write one line to Holdfast's log."""
