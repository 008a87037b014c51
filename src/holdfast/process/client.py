"""The client as sessions know it: a program that runs them in a process and writes their transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.files.agent_runs import AgentRuns
    from holdfast.files.transcript import Transcripts


class SessionClient(Protocol):
    """The client whose sessions work in a project. Its module implements this (`holdfast.clients.claude`)."""

    NAME: str
    """The name that the ledger has for it."""
    START_EVENT: str
    """The event with which a session begins."""
    PROMPT_EVENT: str
    """The event that a person's prompt sends."""
    CALL_EVENT: str
    """The event before a tool call."""

    def process(self, environ: Mapping[str, str], /) -> str | None:
        """Return the id of the client's process that started a hook with this environment; None if unknown."""

    def attended(self, environ: Mapping[str, str], /) -> bool:
        """Return whether a person sits at the session that started a hook with this environment."""

    def marks_agents(self, environ: Mapping[str, str], /) -> bool:
        """Return whether the client marks every event of a subagent, according to a hook's environment."""

    def reader(self) -> Transcripts:
        """Return the reader of its transcripts."""

    def agent_runs(self) -> AgentRuns:
        """Return the reader of what agents returned that a script started."""
