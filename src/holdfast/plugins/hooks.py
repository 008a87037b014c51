"""A client's hooks: one specification for each event, and how matchers and timeouts work.

A handler file has one function per event. It names only the arguments it wants of `(event, context, options, state)`,
and returns `None`, one outcome or a list of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set
    from typing import Any, TypeAlias

    from holdfast.plugins.outcomes import Outcome

    Answer: TypeAlias = Outcome | Sequence[Outcome | None] | None

Function = TypeVar("Function", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class Hook:
    """One event of a client, as its hook specification describes it.

    Attributes:
        event: the event's name, such as `PreToolUse`.
        specification: the function that a handler's has to fit. Its docstring says when the event fires, and has an
            example of a handler file.
        accepts: the kinds of outcome that the client honours.
        drops: the kinds of outcome that are left out of the reply, each with the reason.
        matcher: the event's field that a matcher is compared with; None if the client ignores matchers.
        values: the known values of that field; empty if any text may occur, or a tool's name.
        text: the event's field that a text means if nothing else is named; None on events about a tool call, where
            the tool decides, and where it is the matcher's field.
        strict: whether a handler may be strict: its own failure becomes a refusal.
        timeout_s: seconds after which the client gives up by default.
        longest_timeout_s: seconds that can be registered instead, at most.
        reply: how the client reads the reply: as JSON; as plain text unless something is blocked; or as JSON, with exit
            code 2 if something is blocked.
        waits: why a handler of it can't run in the background; empty if it can.
        replaces: whether a handler of it does the client's own work, so that none may only watch it.
        since: the first client that knows the event; None if the oldest supported one does.
    """

    event: str
    specification: Callable[..., Any]
    accepts: frozenset[str]
    drops: dict[str, str] = field(default_factory=dict)
    matcher: str | None = None
    values: tuple[str, ...] = ()
    text: str | None = None
    strict: bool = False
    timeout_s: float = 600.0
    longest_timeout_s: float = 3_600.0
    reply: Literal["json", "text", "exit code"] = "json"
    waits: str = ""
    replaces: bool = False
    since: tuple[int, int, int] | None = None


def hook(events: dict[str, Hook], *accepts: str, **facts: Any) -> Callable[[Function], Function]:
    """Make a function the hook specification of the event that its name says, and add it to a client's `events`.

    Args:
        events: the client's events so far.
        accepts: the kinds of outcome that the client honours.
        facts: the other attributes of `Hook`.
    """

    def mark(function: Function) -> Function:
        event = function.__name__.removeprefix("on_").title().replace("_", "")
        events[event] = Hook(event, function, frozenset(accepts), **facts)
        return function

    return mark


class Hooks(Protocol):
    """The hooks of one client; the client's class has them (`holdfast.clients.claude`)."""

    @property
    def EVENTS(self) -> Mapping[str, Hook]:  # noqa: N802 - a constant of the client's class
        """Its events by name, in its own order."""

    @property
    def HOOK_NAMES(self) -> Mapping[str, str]:  # noqa: N802
        """Handler function → the event it answers: `on_pre_tool_use` → `PreToolUse`."""

    @property
    def STRICT_EVENTS(self) -> Set[str]:  # noqa: N802
        """The events on which a handler may be strict: its own failure becomes a refusal."""

    @property
    def SOURCES(self) -> tuple[str, ...]:  # noqa: N802
        """The client's source files that decide how handler files are read; cached routes hold until one changes."""

    def matches(self, matcher: str | None, value: str | None, event: str, /) -> bool:
        """Return whether a matcher selects an event with this value; every matcher selects None."""

    def also_answers(self, event: str, matcher: str | None, /) -> str:
        """Return the other event that a handler of an event answers too, by its matcher; empty if there is none."""

    def valid(self, matcher: str | None, event: str, /) -> bool:
        """Return whether a matcher is valid; an invalid one selects nothing."""

    def never(self, matcher: str, event: str, /) -> str:
        """Return why a matcher can't select anything; empty if it may."""

    def doubt(self, matcher: str | None, event: str, /) -> str:
        """Return which part of a matcher probably selects nothing or has no effect; empty if all is well."""

    def to_json(self, event: Any, /) -> str:
        """Return an event as the client sends it to a hook, with what handlers have changed, as JSON text."""

    def hook_outcomes(self, event: str, exit_code: int, stdout: str, stderr: str, /) -> Sequence[Outcome]:
        """Return the outcomes of a hook's process. Raises OutcomeError if the client would not understand it."""
