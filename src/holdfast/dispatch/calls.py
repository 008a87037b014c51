"""Load handler functions and call them, one at a time, so that none costs more than its own answer."""

from __future__ import annotations

import os
import time
from copy import deepcopy
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from pluggy import HookspecMarker, PluginManager

from holdfast import log
from holdfast.dispatch.interrupts import EventStopped, HandlerTimeout, interrupt_at
from holdfast.plugins import loader, outcomes
from holdfast.plugins.markers import PROJECT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pluggy import HookImpl

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

Dropped = tuple[tuple[str, str], ...]
"""Kinds of outcome that are left out of the reply, each with the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call.

    Attributes:
        label: the call's name in messages (`Call.label`).
        outcomes: what it returned.
        fault: what prevented an answer; empty if nothing did.
        ran: False if its turn never came.
        dropped: the kinds of its outcomes that are left out of the reply, each with the reason.
        moments: `time.monotonic()` at begin and end of the call; with those of loading its file before them if it was
            loaded in this process.
    """

    label: str
    outcomes: tuple[Outcome, ...] = ()
    fault: str = ""
    ran: bool = True
    moments: tuple[float, ...] = field(default=(), compare=False)
    dropped: Dropped = ()


@dataclass
class Caller:
    """Calls handler functions in this process. Use it in a `with` block.

    After each load and each call it puts back the working directory, the environment and the umask.

    Attributes:
        client: the client whose event it is.
        context: the handlers' second argument.
        limit: returns the seconds that a call may take, or infinity.
    """

    client: Client
    context: Context
    limit: Callable[[Call], float]
    _loaded: dict[str, HookImpl] = field(default_factory=dict)
    _faults: dict[str, str] = field(default_factory=dict)
    _loading: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """Note what to put back."""
        self._surroundings = _Surroundings()
        return self

    def __exit__(self, *_: object) -> None:
        """Release what was noted."""
        self._surroundings.close()

    def load(self, call: Call) -> str:
        """Load a handler file once, and check its function. Return what is wrong with it, or an empty string."""
        if call.label not in self._loaded and call.label not in self._faults:
            began = time.monotonic()
            self._faults[call.label] = self._load(call)
            self._surroundings.restore()
            self._loading[call.label] = (began, time.monotonic())
        return self._faults[call.label]

    def call(self, call: Call, event: Event) -> Answer:
        """Call a function, after loading its file if that hasn't happened. Raises only EventStopped.

        Args:
            call: the planned call.
            event: the event as changed so far.
        """
        fault = self.load(call)
        loading = self._loading.pop(call.label, ())
        if fault:
            return Answer(call.label, fault=fault, moments=loading)
        began = time.monotonic()
        said, dropped, fault, ran = self._call(call, event)
        self._surroundings.restore()
        return Answer(call.label, said, fault, ran, (*loading, began, time.monotonic()), dropped)

    def _load(self, call: Call) -> str:
        if call.route.broken:
            return f"was not called: {call.route.broken}"
        manager, limit = plugin_manager(self.client, call.route.function), self.limit(call)
        try:
            with interrupt_at(time.monotonic() + limit, HandlerTimeout):
                function = getattr(loader.load(call.file), call.route.function)
            manager.register(_Plugin(call.route.function, function), name=call.label)
            found = getattr(manager.hook, call.route.function).get_hookimpls()
        except EventStopped:
            raise
        except BaseException as error:  # noqa: BLE001 - a handler file may raise anything, SystemExit included
            return f"does not load: {describe(error, limit)}"
        if not found:
            return f"{call.route.function} is not marked with holdfast's hookimpl"
        self._loaded[call.label] = found[0]
        return ""

    def _call(self, call: Call, event: Event) -> tuple[tuple[Outcome, ...], Dropped, str, bool]:
        """Return the outcomes, the dropped ones, what went wrong, and whether the function ran."""
        self.context.handler = call.file.path.name
        limit, implementation = self.limit(call), self._loaded[call.label]
        try:
            called = self.client.as_called(event, call.route.match)
            copied = called if call.file.place == "shipped" else deepcopy(called)  # ours change nothing of it
        except RecursionError:
            return (), (), "was not called: the event is nested too deeply to be handed over", False
        given: Mapping[str, Any] = {"event": copied, "context": self.context}
        try:
            with interrupt_at(time.monotonic() + limit, HandlerTimeout):
                returned = implementation.function(*(given[argument] for argument in implementation.argnames))
            returned = outcomes.flatten(returned)
            if not returned:
                return (), (), "", True
            said, dropped = self.client.as_said(event, called, returned)
            for outcome in said:
                outcomes.check(outcome, event.hook_event_name, self.client.EVENTS[event.hook_event_name].accepts)
            self.client.merge(event.hook_event_name, said)  # fails here, not when it is merged with other answers
        except EventStopped:
            raise
        except BaseException as error:  # noqa: BLE001 - a bad handler costs only itself
            return (), (), describe(error, limit), True
        return said, dropped, "", True


class _Surroundings:
    """This process's working directory, environment and umask, to be put back after each call."""

    def __init__(self) -> None:
        self._variables = dict(os.environb)
        self._mask = os.umask(0o077)
        os.umask(self._mask)
        self._folder = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))  # outlives a folder that a handler deletes

    def restore(self) -> None:
        os.umask(self._mask)
        os.fchdir(self._folder)
        if os.environb != self._variables:
            os.environb.clear()
            os.environb.update(self._variables)
            time.tzset()

    def close(self) -> None:
        os.close(self._folder)


def plugin_manager(client: Client, function: str) -> PluginManager:
    """Return a plugin manager that knows only one hook, because reading all specifications takes time."""
    manager = PluginManager(PROJECT_NAME)
    specifications = ModuleType(function)
    specification = client.EVENTS[client.HOOK_NAMES[function]].specification
    setattr(specifications, function, HookspecMarker(PROJECT_NAME)(specification))
    manager.add_hookspecs(specifications)
    return manager


class _Plugin:
    """One function of a handler file, so that bad functions for other events do no harm.

    pluggy looks at all that `dir` names, and would take five times as long for a module.
    """

    def __init__(self, hook: str, function: Any) -> None:
        setattr(self, hook, function)

    def __dir__(self) -> Iterable[str]:
        return vars(self)


def note_delivery(outcome: Outcome) -> None:
    """Call an outcome's `on_delivered`; an exception is only logged, because the reply was written already."""
    try:
        if outcome.on_delivered:
            outcome.on_delivered()
    except Exception as error:  # noqa: BLE001 - a bad callback costs only itself
        log.write("error", f"on_delivered failed: {describe(error, 0)}")


def describe(error: BaseException, limit: float) -> str:
    """Return in one line what a handler did wrong.

    Args:
        error: the exception it raised.
        limit: its timeout in seconds, for `HandlerTimeout`.
    """
    if isinstance(error, HandlerTimeout):
        return f"took longer than its {limit:g} s and was interrupted"
    if isinstance(error, outcomes.OutcomeError):
        return str(error)
    where = _last_line(error)
    return f"raised {type(error).__name__}: {error}{where}" if str(error) else f"raised {type(error).__name__}{where}"


def _last_line(error: BaseException) -> str:
    trace = error.__traceback__
    line = None
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if name.startswith("holdfast_handlers."):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
