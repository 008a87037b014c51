"""Holdfast: a hook dispatcher for Claude Code; this package's top level is what a handler file imports.

Everything is loaded on first use, so that `import holdfast` costs next to nothing on the hook path.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.context import Context as Context
    from holdfast.markers import hookimpl as hookimpl
    from holdfast.outcomes import Outcome as Outcome
    from holdfast.outcomes import advise as advise
    from holdfast.outcomes import allow as allow
    from holdfast.outcomes import answer as answer
    from holdfast.outcomes import ask as ask
    from holdfast.outcomes import block as block
    from holdfast.outcomes import change_input as change_input
    from holdfast.outcomes import change_output as change_output
    from holdfast.outcomes import classify as classify
    from holdfast.outcomes import defer as defer
    from holdfast.outcomes import deny as deny
    from holdfast.outcomes import display as display
    from holdfast.outcomes import environment as environment
    from holdfast.outcomes import force_turn as force_turn
    from holdfast.outcomes import initial_message as initial_message
    from holdfast.outcomes import instruct_summary as instruct_summary
    from holdfast.outcomes import reload_skills as reload_skills
    from holdfast.outcomes import retry as retry
    from holdfast.outcomes import stop as stop
    from holdfast.outcomes import suppress_prompt as suppress_prompt
    from holdfast.outcomes import tell_user as tell_user
    from holdfast.outcomes import terminal as terminal
    from holdfast.outcomes import title as title
    from holdfast.outcomes import watch as watch
    from holdfast.outcomes import worktree as worktree

_OUTCOMES = (
    "Outcome",
    "advise",
    "allow",
    "answer",
    "ask",
    "block",
    "change_input",
    "change_output",
    "classify",
    "defer",
    "deny",
    "display",
    "environment",
    "force_turn",
    "initial_message",
    "instruct_summary",
    "reload_skills",
    "retry",
    "stop",
    "suppress_prompt",
    "tell_user",
    "terminal",
    "title",
    "watch",
    "worktree",
)
_HOMES = dict.fromkeys(_OUTCOMES, "holdfast.outcomes") | {
    "hookimpl": "holdfast.markers",
    "Context": "holdfast.context",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in.

    Args:
        name: one of `__all__`, or `__version__` (see `holdfast.version`).

    Raises:
        AttributeError: for any other name.
    """
    if name == "__version__":
        return import_module("holdfast.version").version()
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
