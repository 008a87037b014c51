"""The hooks that a handler file can implement: one function per event.

A handler names only the arguments it wants of `(event, context)`, and returns `None`, one outcome or a list of them.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from pluggy import HookspecMarker

from holdfast.plugins.markers import PROJECT_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    from holdfast.plugins.context import Context
    from holdfast.plugins.outcomes import Outcome

    Answer: TypeAlias = Outcome | Sequence[Outcome | None] | None


@HookspecMarker(PROJECT_NAME)
def hook(event: Any, context: Context) -> Answer:
    """Answer an event. Its model, which the client defines, says which kinds of outcome it `accepts`."""


def of(functions: Iterable[str]) -> ModuleType:
    """Return a module with pluggy specifications for hooks, given by name, such as `on_pre_tool_use`."""
    specifications = ModuleType(__name__)
    vars(specifications).update(dict.fromkeys(functions, hook))
    return specifications
