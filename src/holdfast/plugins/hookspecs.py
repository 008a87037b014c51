"""The hooks a handler file can implement: one function per event, with an example of each.

A handler names only the arguments it wants of `(event, context)`, and returns `None`, one outcome or a list of them.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from pluggy import HookspecMarker

from holdfast.clients.claude.events import EVENTS, HOOK_NAMES
from holdfast.plugins.markers import PROJECT_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from holdfast.clients.claude.events.event import Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.outcomes import Outcome

    Answer: TypeAlias = Outcome | Sequence[Outcome | None] | None


@HookspecMarker(PROJECT_NAME)
def hook(event: Event, context: Context) -> Answer:
    """Answer an event. Its model says what it `accepts`, and the module of that when it fires."""


def of(functions: Iterable[str]) -> ModuleType:
    """Return what pluggy takes for the specifications of some hooks, by their names, such as `on_pre_tool_use`."""
    specifications = ModuleType(__name__)
    vars(specifications).update(dict.fromkeys(functions, hook))
    return specifications


def example(function: str) -> str:
    """Return the example handler file of a hook.

    Args:
        function: the hook's name, such as `on_pre_tool_use`.

    Raises:
        KeyError: there is no such hook.
    """
    _, _, code = (inspect.getdoc(import_module(EVENTS[HOOK_NAMES[function]])) or "").partition("Example::\n\n")
    return inspect.cleandoc(code) + "\n"
