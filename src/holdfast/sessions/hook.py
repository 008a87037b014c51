"""Protocols of a handler's event and context, as far as workflows and sessions need them (`holdfast.events`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.log import Level
    from holdfast.project import OpenProject


class Event(Protocol):
    """Any event.

    Attributes:
        session_id: the session it happened in.
        hook_event_name: its name, such as `SessionStart`.
        transcript_path: the path of the session's transcript; empty if the client doesn't say.
        cwd: the model's working directory.
    """

    session_id: str
    hook_event_name: str
    transcript_path: str
    cwd: str

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
    """An event about one tool call: its name, its arguments, and its id (None from older clients)."""

    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str | None


class Returned(Call, Protocol):
    """A `PostToolUse`, with what the tool returned."""

    tool_response: Any


class Context(Protocol):
    """The handler's `holdfast.Context`: the project with its ledger, and the hook's environment."""

    project: OpenProject
    environ: Mapping[str, str]

    @property
    def root(self) -> Path:
        """The project's root."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    def log(self, message: str, *, level: Level = "info", **fields: Any) -> None:
        """Write one line to Holdfast's log."""
