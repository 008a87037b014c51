"""The client as sessions know it: a program that runs them in a process and writes their transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.files.transcript import Transcripts


class SessionClient(Protocol):
    """The client whose sessions work in a project. A module of the client's is one (`holdfast.clients.claude`)."""

    NAME: str
    """What the ledger calls it."""
    START_EVENT: str
    """The event with which a session begins."""
    PROMPT_EVENT: str
    """The event of a person's prompt."""
    CALL_EVENT: str
    """The event before a tool call."""

    def process(self, environ: Mapping[str, str], /) -> str | None:
        """Return the id of the client's process that a hook with this environment runs for; None if nobody knows."""

    def marks_agents(self, environ: Mapping[str, str], /) -> bool:
        """Tell whether the client, by a hook's environment, says of every event whether it is a subagent's."""

    def reader(self) -> Transcripts:
        """Return what reads the transcripts of its sessions."""


class NoClient:
    """The client of a project that was opened without one."""

    NAME = START_EVENT = PROMPT_EVENT = CALL_EVENT = ""

    def process(self, environ: Mapping[str, str]) -> None:
        """Return that nobody knows."""

    def marks_agents(self, environ: Mapping[str, str]) -> bool:
        """Tell that it says nothing."""
        return False

    def reader(self) -> Transcripts:
        """Return what reads nothing."""
        from holdfast.files.transcript import Unread

        return Unread()
