"""What handler files need to know of a client's hooks: names, matchers and timeouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Set


class Hooks(Protocol):
    """The hooks of one client; the client's module implements this (`holdfast.clients.claude`)."""

    @property
    def HOOK_NAMES(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the client's module
        """Handler function → the event it answers: `on_pre_tool_use` → `PreToolUse`."""

    @property
    def STRICT_EVENTS(self) -> Set[str]:  # noqa: N802
        """The events on which a handler may be strict: its own failure becomes a refusal."""

    @property
    def SOURCES(self) -> tuple[str, ...]:  # noqa: N802
        """The client's source files that decide how handler files are read; cached routes hold until one changes."""

    def longest_limit_s(self, event: str, /) -> float:
        """Return the longest timeout (seconds) that can be registered for an event."""

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
