"""What a client's hooks are to handler files: their names, matchers and time limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Set


class Hooks(Protocol):
    """The hooks of one client. A module of the client's is one (`holdfast.clients.claude`)."""

    @property
    def HOOK_NAMES(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the client's module
        """Handler function → the event it answers: `on_pre_tool_use` → `PreToolUse`."""

    @property
    def STRICT_EVENTS(self) -> Set[str]:  # noqa: N802
        """The events on which a handler's own failure can become a refusal."""

    @property
    def SOURCES(self) -> tuple[str, ...]:  # noqa: N802
        """The files by whose rules handler files are read: what was read is kept until one of them changes."""

    def longest_limit_s(self, event: str, /) -> float:
        """Return the most seconds for which the client can be made to wait for an event's hook."""

    def matches(self, matcher: str | None, value: str | None, event: str, /) -> bool:
        """Tell whether a matcher selects an event with this value; a value of None is selected by every matcher."""

    def valid(self, matcher: str | None, event: str, /) -> bool:
        """Tell whether a matcher can select anything."""

    def never(self, matcher: str, event: str, /) -> str:
        """Say why a matcher selects nothing; empty if it may select something."""

    def doubt(self, matcher: str | None, event: str, /) -> str:
        """Say what of a matcher probably selects nothing or has no effect; empty if all is well."""
