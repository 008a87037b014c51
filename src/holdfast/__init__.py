"""Holdfast: a hook dispatcher for Claude Code; this package's top level is what a handler file imports.

Everything is loaded on first use, so that `import holdfast` costs next to nothing on the hook path.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from holdfast.errors import HoldfastError as HoldfastError
    from holdfast.install.upkeep import upkeep as upkeep
    from holdfast.paths import command_dir as command_dir
    from holdfast.plugins.context import Context as Context
    from holdfast.plugins.markers import hookimpl as hookimpl
    from holdfast.plugins.outcomes import Outcome as Outcome
    from holdfast.plugins.outcomes import advise as advise
    from holdfast.plugins.outcomes import allow as allow
    from holdfast.plugins.outcomes import answer as answer
    from holdfast.plugins.outcomes import ask as ask
    from holdfast.plugins.outcomes import block as block
    from holdfast.plugins.outcomes import change_input as change_input
    from holdfast.plugins.outcomes import change_output as change_output
    from holdfast.plugins.outcomes import classify as classify
    from holdfast.plugins.outcomes import defer as defer
    from holdfast.plugins.outcomes import deliver as deliver
    from holdfast.plugins.outcomes import deny as deny
    from holdfast.plugins.outcomes import display as display
    from holdfast.plugins.outcomes import environment as environment
    from holdfast.plugins.outcomes import force_turn as force_turn
    from holdfast.plugins.outcomes import initial_message as initial_message
    from holdfast.plugins.outcomes import instruct_summary as instruct_summary
    from holdfast.plugins.outcomes import reload_skills as reload_skills
    from holdfast.plugins.outcomes import retry as retry
    from holdfast.plugins.outcomes import stop as stop
    from holdfast.plugins.outcomes import suppress_prompt as suppress_prompt
    from holdfast.plugins.outcomes import tell_user as tell_user
    from holdfast.plugins.outcomes import terminal as terminal
    from holdfast.plugins.outcomes import title as title
    from holdfast.plugins.outcomes import watch as watch
    from holdfast.plugins.outcomes import worktree as worktree
    from holdfast.plugins.state import State as State

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
    "deliver",
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
_HOMES = dict.fromkeys(_OUTCOMES, "holdfast.plugins.outcomes") | {
    "hookimpl": "holdfast.plugins.markers",
    "Context": "holdfast.plugins.context",
    "State": "holdfast.plugins.state",
    "HoldfastError": "holdfast.errors",
    "command_dir": "holdfast.paths",
    "upkeep": "holdfast.install.upkeep",
}

__all__ = sorted(_HOMES.keys() - {"upkeep"})  # few handlers need it, and `import *` would load it

if not TYPE_CHECKING:  # else any name would be right for a type checker

    def __getattr__(name: str) -> Any:
        """Load a public name from its module.

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
