"""Choose the handler functions that an event calls, and load their files."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from holdfast.files import trust
from holdfast.plugins import index, kinds, strict_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile
    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.scan import Route


@dataclass(frozen=True, slots=True)
class Call:
    """A function that an event calls, with its file."""

    file: HandlerFile
    route: Route

    @property
    def label(self) -> str:
        """The call's name in messages: `user/guard.py: on_pre_tool_use`."""
        return f"{self.file.place}/{self.file.path.name}: {self.route.function}"


def preload(hooks: Hooks) -> None:
    """Load what is known of handler files into memory, for processes forked from this one.

    This is cheap if nothing changed. It runs no handler.
    """
    index.preload(hooks)
    strict_memory.remembered_routes()
    trust.preload()


def plan(hooks: Hooks, files: Iterable[HandlerFile], event: str, value: str | None) -> list[Call]:
    """Select the functions that an event calls, in calling order.

    Args:
        hooks: the client's hooks.
        files: what `discovery.find` found.
        event: the event's name.
        value: the value of its matcher field, or `None` if it has none.

    Returns:
        The calls: `tryfirst` ones first, `trylast` ones last, as pluggy orders them. With a strict handler of
        the user's, `tryfirst` of a project's handler has no effect: a project can't put itself before the user's guard.
    """
    calls = [call for file in files for call in _calls(hooks, file, event, value)]
    if any(call.route.strict and call.file.place != "project" for call in calls):
        calls = [
            replace(call, route=replace(call.route, tryfirst=False)) if call.file.place == "project" else call
            for call in calls
        ]
    first = [call for call in calls if call.route.tryfirst]
    last = [call for call in calls if call.route.trylast]
    usual = [call for call in calls if not (call.route.tryfirst or call.route.trylast)]
    return [*first, *usual, *reversed(last)]


def _calls(hooks: Hooks, file: HandlerFile, event: str, value: str | None) -> list[Call]:
    if not file.active:
        return []
    return [Call(file, route) for route in file.routes if strict_memory.selects(hooks, route, event, value)]


def preload_file(file: HandlerFile) -> None:
    """Load a handler file in advance, in a process that waits for an event; each `load` of it then returns the module.

    Only for files that may run outside of any event, such as the shipped ones. Raises what `load` does.
    """
    _preloaded[file.path, file.digest] = load(file)


_preloaded: dict[tuple[Path, str], ModuleType] = {}


def module_name(file: HandlerFile) -> str:
    """Return the name of a handler file's module; of two packages, each has names of its own."""
    folder = f"_{trust.digest(os.fsencode(file.path.parent))[:8]}" if file.place == "package" else ""
    return f"holdfast_handlers.{file.place}{folder}.{file.name}"


def load(file: HandlerFile) -> ModuleType:
    """Run a handler file, from the bytes that were hashed and never from bytecode in its folder.

    Args:
        file: an active handler file.

    Returns:
        The new module.

    Raises:
        BaseException: whatever the file raises, SyntaxError included.
    """
    if known := _preloaded.get((file.path, file.digest)):
        return known
    _offer_helpers(file)
    module = ModuleType(module_name(file))
    module.__file__ = str(file.path)
    module.__package__ = module.__name__.rpartition(".")[0]
    sys.modules[module.__name__] = module  # dataclasses and pydantic look the module up while it runs
    exec(compile(file.source, str(file.path), "exec", dont_inherit=True), module.__dict__)
    return module


class _Helpers(MetaPathFinder, Loader):
    """Imports the helpers of handler files from the bytes that were hashed, and never from the folder."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[Path, bytes]] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a known helper's module."""
        return ModuleSpec(name, self, origin=str(self.known[name][0])) if name in self.known else None

    def exec_module(self, module: ModuleType) -> None:
        """Run a helper."""
        path, source = self.known[module.__name__]
        module.__file__ = str(path)
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)


_helpers = _Helpers()


def forget_helpers() -> None:
    """Let the next handler file import its helpers as they are then."""
    for name in _helpers.known:
        sys.modules.pop(name, None)
    _helpers.known.clear()


def _offer_helpers(file: HandlerFile) -> None:
    """Let a handler file import the helpers in its folder."""
    package = module_name(file).rpartition(".")[0]
    for name in ("holdfast_handlers", package):  # without helpers too: the error names the one that is missing
        if name not in sys.modules:
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = []
    for path, source in file.helpers.items():
        _helpers.known[f"{package}.{path.stem}"] = path, source
    if file.helpers and _helpers not in sys.meta_path:
        sys.meta_path.append(_helpers)


def function(hooks: Hooks, file: HandlerFile, route: Route) -> Callable[..., Any]:
    """Load a handler file, and return the function that answers one of its events.

    Args:
        hooks: the hooks of the client whose event it is.
        file: an active handler file.
        route: the event that it answers.

    Raises:
        BaseException: whatever a Python file raises, SyntaxError included.
    """
    loaded: Callable[..., Any]
    if file.path.suffix == kinds.RULE_SUFFIX:
        from holdfast.plugins import rules

        return rules.function(hooks, file.source)
    if kinds.is_python(file.path.name, file.source):
        loaded = getattr(load(file), route.function)
        return loaded
    from holdfast.plugins import executables

    return executables.function(hooks, file.path, file.source, route.event)
