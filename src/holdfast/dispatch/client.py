"""The interface of a client that dispatching needs: one object, which the entry module chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from holdfast.plugins.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.dispatch.output import Reply
    from holdfast.plugins.outcomes import Outcome


class Event(Protocol):
    """One firing of a hook, as the client's own model has it; handlers get a copy each."""

    @property
    def hook_event_name(self) -> str:
        """The event's name."""

    @property
    def session_id(self) -> str:
        """The session it happened in."""

    @property
    def reaches_agent(self) -> bool:
        """Whether the reply reaches an agent, and not the main conversation."""


class Client(Hooks, Protocol):
    """A client whose hooks are answered, as the class in its folder is (`holdfast.clients.claude`)."""

    EVENT_KEY: str
    """The key of a payload that names the event."""
    SESSION_KEY: str
    """The key of a payload that names the session."""
    END_EVENT: str
    """The event with which a session ends."""
    ROOT_VARIABLE: str
    """The variable that names the project's root to a hook."""
    PLUGIN_VARIABLE: str
    """The variable that names its folder to a plugin's hook."""
    ENVIRONMENT_VARIABLE: str
    """The variable that names the file in which variables are left for the model's commands."""

    def foreign(self, payload: Mapping[str, Any], environ: Mapping[str, str], /) -> str:
        """Say why an event is another client's; empty if it is this one's.

        Args:
            payload: what came on stdin, as far as it could be read.
            environ: the hook's environment.
        """

    def matched(self, event: str, payload: Mapping[str, Any], /) -> str | None:
        """Return the value that matchers select a payload of an event by, as far as it names one."""

    def parse(self, payload: object, /) -> Event:
        """Return a payload as an event. Raises EventError if a required field is missing."""

    def matcher_value(self, event: Any, /) -> str | None:
        """Return the value that a matcher is compared with; None if there is nothing to compare."""

    def given_input(self, event: Any, /) -> object:
        """Return the input that handlers of an event may change; None where there is none."""

    def edited_file(self, event: Any, /) -> str:
        """Return the path of the file that an event's tool call edits; empty if it edits none."""

    def changed(self, event: Any, outcomes: Sequence[Outcome], /) -> Event:
        """Return an event as the next handler sees it: with every value that a handler replaced."""

    def as_called(self, event: Any, matcher: str | None, /) -> Event:
        """Return an event as the client hands it to a hook with this matcher."""

    def as_said(
        self, event: Any, called: Any, outcomes: Sequence[Outcome], /
    ) -> tuple[tuple[Outcome, ...], tuple[tuple[str, str], ...]]:
        """Return a handler's outcomes in the event's terms, and the kinds of those to leave out, with the reasons.

        Args:
            event: the event as changed so far.
            called: the event as the handler got it (`as_called`).
            outcomes: what the handler returned.
        """

    def refusal(self, event: str, reason: str, /) -> Outcome:
        """Return the outcome that refuses what an event announces (only of `STRICT_EVENTS`)."""

    def merge(self, event: str, outcomes: Sequence[Outcome], /) -> Reply:
        """Merge outcomes, all of them accepted by the event, into one reply; pure."""

    def unanswered(self, event: str, /) -> str:
        """Return why no answer is a failure, on events where the client takes silence for one; empty on others."""

    def samples(self) -> Sequence[Mapping[str, Any]]:
        """Return sample events, which an idle child of the server answers before a real one comes."""
