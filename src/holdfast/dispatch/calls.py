"""Load handler functions and call them, one at a time, so that none costs more than its own answer."""

from __future__ import annotations

import os
import time
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

from pluggy import HookspecMarker, PluginManager

from holdfast import log
from holdfast.dispatch import bounds
from holdfast.dispatch.interrupts import EventStopped, HandlerTimeout, interrupt_at
from holdfast.errors import HoldfastError
from holdfast.plugins import loader, outcomes
from holdfast.plugins.markers import PROJECT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from pluggy import HookImpl

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.hooks import Hook
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome
    from holdfast.plugins.state import State

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
        seconds: how long the call took, and loading its file if it was loaded for this call; None if it wasn't called.
    """

    label: str
    outcomes: tuple[Outcome, ...] = ()
    fault: str = ""
    ran: bool = True
    seconds: float | None = field(default=None, compare=False)
    dropped: Dropped = ()


def out_of_time(call: Call) -> Answer:
    """Return the answer of a call whose turn never came."""
    return Answer(call.label, fault="did not run: no time was left", ran=False)


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

    def __enter__(self) -> Self:
        """Note what to put back."""
        loader.forget_helpers()
        self._surroundings = _Surroundings()
        return self

    def __exit__(self, *_: object) -> None:
        """Release what was noted."""
        self._surroundings.close()

    def load(self, call: Call) -> str:
        """Load a handler file once, and check its function. Return what is wrong with it, or an empty string."""
        if call.label not in self._faults:
            self._faults[call.label] = self._load(call)
            self._surroundings.restore()
        return self._faults[call.label]

    def check(self, call: Call, event: Event) -> str:
        """Load a handler file, and read the options that its function asks for. Return what is wrong; else ""."""
        if (fault := self.load(call)) or "options" not in self._loaded[call.label].argnames:
            return fault
        try:
            self._argument("options", call, event, self._loaded[call.label])
        except HoldfastError as error:
            return f"{call.route.function}: {error}"
        return ""

    def call(self, call: Call, event: Event) -> Answer:
        """Call a function, after loading its file if that hasn't happened. Raises only EventStopped.

        Args:
            call: the planned call.
            event: the event as changed so far.
        """
        began = time.monotonic()
        if fault := self.load(call):
            return Answer(call.label, fault=fault)
        answer = self._call(call, event)
        self._surroundings.restore()
        return replace(answer, seconds=time.monotonic() - began)

    def _load(self, call: Call) -> str:
        if call.route.broken:
            return f"was not called: {call.route.broken}"
        name, limit = call.route.function, self.limit(call)
        manager = plugin_manager(name, self.client.EVENTS[call.route.event])
        try:
            with interrupt_at(time.monotonic() + limit, HandlerTimeout):
                function = loader.function(self.client, call.file, call.route)
            manager.register(SimpleNamespace(**{name: function}), name=call.label)
        except EventStopped:
            raise
        except BaseException as error:  # noqa: BLE001 - a handler file may raise anything, SystemExit included
            return f"does not load: {describe(error, limit)}"
        implementations = getattr(manager.hook, name).get_hookimpls()
        if not implementations:
            return f"{name} is not marked with holdfast's hookimpl"
        self._loaded[call.label] = implementations[0]
        return ""

    def _call(self, call: Call, event: Event) -> Answer:
        self.context.handler = call.file.path.name
        limit, implementation = self.limit(call), self._loaded[call.label]
        try:
            as_called = self.client.as_called(event, call.route.match)
            argument = as_called if call.file.place == "shipped" else deepcopy(as_called)  # ours change nothing of it
        except RecursionError:
            return Answer(call.label, fault="was not called: the event is nested too deeply to be copied", ran=False)
        once = call.route.once
        try:
            if once and bounds.has_answered(once, self._state(call, event, " once")):
                return Answer(call.label)
            with interrupt_at(time.monotonic() + limit, HandlerTimeout):
                arguments = (self._argument(name, call, argument, implementation) for name in implementation.argnames)
                value = implementation.function(*arguments)
            returned = outcomes.flatten(value)
            if not returned:
                return Answer(call.label)
            accepted, dropped = self.client.as_said(event, as_called, returned)
            accepts = self.client.EVENTS[event.hook_event_name].accepts
            for outcome in accepted:
                outcomes.check(outcome, event.hook_event_name, accepts, background=call.route.background)
            self.client.merge(event.hook_event_name, accepted)  # fails here, not when it is merged with other answers
            if call.file.place != "shipped" and "force_turn" in accepts:
                state = self._state(call, event, " forced")
                accepted, beyond = bounds.bounded(event, accepted, state, call.label)
                dropped += beyond
            if once:
                bounds.note_answer(once, self._state(call, event, " once"))
        except EventStopped:
            raise
        except BaseException as error:  # noqa: BLE001 - a bad handler costs only itself
            return Answer(call.label, fault=describe(error, limit))
        return Answer(call.label, accepted, dropped=dropped)

    def _argument(self, name: str, call: Call, event: Event, implementation: HookImpl) -> Any:
        """Return the argument that a function asks for by name (`scan.ARGUMENTS`)."""
        if name == "event":
            return event
        if name == "context":
            return self.context
        project = self.context.project
        if name == "options":
            from holdfast.plugins import options

            model = implementation.function.__globals__.get(options.MODEL)
            return options.read(model, call.file, project)
        return self._state(call, event)

    def _state(self, call: Call, event: Event, use: str = "") -> State:
        """Return a handler's state or, with a `use`, Holdfast's own state about its function."""
        from holdfast.plugins.state import State

        owner = (getattr(event, name, None) or "" for name in ("session_id", "prompt_id", "agent_id"))
        handler = f"{call.label}{use}" if use else f"{call.file.place}/{call.file.path.name}"
        return State(self.context.project, handler, *owner)


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


def plugin_manager(function: str, hook: Hook) -> PluginManager:
    """Return a plugin manager that knows only one hook, so that bad functions for other events do no harm."""
    manager = PluginManager(PROJECT_NAME)
    specifications = ModuleType(function)
    setattr(specifications, function, HookspecMarker(PROJECT_NAME)(hook.specification))
    manager.add_hookspecs(specifications)
    return manager


def report_delivery(outcome: Outcome) -> None:
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
    where = _line_in_handler(error)
    if isinstance(error, HoldfastError):
        return f"failed: {error}{where}"
    return f"raised {type(error).__name__}: {error}{where}" if str(error) else f"raised {type(error).__name__}{where}"


def _line_in_handler(error: BaseException) -> str:
    trace, line = error.__traceback__, 0
    while trace:
        if trace.tb_frame.f_globals.get("__name__", "").startswith("holdfast_handlers."):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
