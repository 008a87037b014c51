"""Claude Code as a client: all that is specific to it, found here by the rest of Holdfast."""

from __future__ import annotations

from holdfast.clients.claude import events, matching
from holdfast.clients.claude.events import EVENTS as EVENTS
from holdfast.clients.claude.events import HOOK_NAMES as HOOK_NAMES
from holdfast.clients.claude.matching import matches as matches
from holdfast.clients.claude.matching import valid as valid

STRICT_EVENTS = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion"})
"""The events on which a handler may be `strict`."""
# `matchable` is not imported here: only the scan of a matcher needs it.
SOURCES = (__file__, events.__file__, matching.__file__, matching.__file__.replace("matching.py", "matchable.py"))

_LONGEST_LIMIT_S = 3_600.0
_LONGEST_LIMIT_OF_S = {"SessionEnd": 60.0}  # more the client does not give (client fact §4.4)


def longest_limit_s(event: str) -> float:
    """Return the seconds that are registered beside our command where a handler needs more than the client's default.

    Only the client's patience ends there: the handlers' own deadline comes long before.
    """
    return _LONGEST_LIMIT_OF_S.get(event, _LONGEST_LIMIT_S)


def never(matcher: str, event: str) -> str:
    """Say why a matcher selects nothing, whatever the client and its tools; empty if it may select something."""
    from holdfast.clients.claude import matchable

    return matchable.never(matcher, event)


def doubt(matcher: str | None, event: str) -> str:
    """Say what of a matcher probably selects nothing or has no effect; empty if all is well."""
    from holdfast.clients.claude import matchable

    return matchable.doubt(matcher, event)
