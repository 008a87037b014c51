"""Calling the handlers of one event one after another, each isolated from the others."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pluggy import PluginManager

from holdfast.plugins import hookspecs, loader, outcomes
from holdfast.plugins.markers import PROJECT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

REPEAT_S = 0.05  # seconds after which an interrupt that a handler swallowed comes again


class HandlerTimeout(BaseException):
    """A handler ran longer than it may; a BaseException, so that `except Exception` does not swallow it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one call: the outcomes it returned, or the fault that kept it from answering.

    `ran` is false when it was never its turn. `moments` are those of `time.monotonic()` at the begin and the end of
    loading its file and of calling it, as far as it came; two of one that ended or outlasted its process.
    """

    label: str
    outcomes: tuple[Outcome, ...] = ()
    fault: str = ""
    ran: bool = True
    moments: tuple[float, ...] = field(default=(), compare=False)


@dataclass
class Caller:
    """Calls the planned functions through pluggy's own order.

    Attributes:
        client: whose event it is.
        event: the event as changed so far: what one handler replaces, the next one sees (`Client.changed`).
        context: what handlers may ask for.
        limit: gives the seconds a call may take.
        begin: told each label before its file is loaded or its function called, so that whoever watches
            knows whose fault it is when this process dies.
    """

    client: Client
    event: Event
    context: Context
    limit: Callable[[Call], float]
    begin: Callable[[str], None] = field(default=lambda label: None)

    def answers(self, plan: Sequence[Call]) -> Iterator[Answer]:
        """Run the plan; never raises.

        Args:
            plan: what `loader.plan` selected.

        Yields:
            One answer per call, in the order in which they ran; files that do not load come first.
        """
        if not plan:
            return
        manager = _manager(plan[0])
        modules: dict[str, Call] = {}
        loading: dict[str, tuple[float, float]] = {}
        for call in _registration(plan):
            began = time.monotonic()
            fault = self._register(manager, call, modules)
            loading[call.label] = (began, time.monotonic())
            if fault:
                yield Answer(call.label, fault=fault, moments=loading[call.label])
        if not modules:
            return
        caller = getattr(manager.hook, plan[0].route.function)
        for implementation in reversed(caller.get_hookimpls()):
            began = time.monotonic()
            given = self._answer(modules[implementation.plugin_name], implementation)
            yield replace(given, moments=(*loading[given.label], began, time.monotonic()))

    def loads(self, plan: Sequence[Call]) -> Iterator[Answer]:
        """Load and register the planned functions without calling any; never raises."""
        for call in plan:
            manager = _manager(call)
            yield Answer(call.label, fault=self._register(manager, call, {}))

    def _register(self, manager: PluginManager, call: Call, modules: dict[str, Call]) -> str:
        """Load a handler file and register it; return what went wrong, or nothing."""
        self.begin(call.label)
        name, limit = str(call.file.path), self.limit(call)
        try:
            if call.route.broken:
                return f"was not called: {call.route.broken}"
            with interrupted_after(limit):
                manager.register(_only(call.route.function, loader.load(call.file)), name=name)
            if not manager.get_hookcallers(manager.get_plugin(name)):
                return f"{call.route.function} is not marked with holdfast's hookimpl"
        except BaseException as error:  # noqa: BLE001 - a handler file may raise anything, SystemExit included
            return f"does not load: {describe(error, limit)}"
        modules[name] = call
        return ""

    def _answer(self, call: Call, implementation: Any) -> Answer:
        self.begin(call.label)
        self.context.handler = call.file.path.name
        name, limit = self.event.hook_event_name, self.limit(call)
        try:
            given: Mapping[str, Any] = {"event": deepcopy(self.event), "context": self.context}
        except RecursionError:
            return Answer(
                call.label, fault="was not called: the event is nested too deeply to be handed over", ran=False
            )
        try:
            with interrupted_after(limit):
                returned = implementation.function(*(given[argument] for argument in implementation.argnames))
            said = self.client.as_said(name, outcomes.flatten(returned))
            for outcome in said:
                outcomes.check(outcome, name, type(self.event).accepts)
            self.client.merge(name, said)  # what cannot be merged alone would cost the others their answers
        except BaseException as error:  # noqa: BLE001 - a bad handler costs only itself
            return Answer(call.label, fault=describe(error, limit))
        self.event = self.client.changed(self.event, said)
        return Answer(call.label, said)


def _registration(plan: Sequence[Call]) -> list[Call]:
    """Order a plan so that pluggy calls it as planned: the last registered first, but of `trylast` ones the first."""
    last = [call for call in plan if call.route.trylast]
    return [*last, *(call for call in reversed(plan) if not call.route.trylast)]


def keep_managers(functions: Iterable[str]) -> None:
    """Have managers ready for the next call of some hooks each, in a process that waits for an event."""
    _kept.update({function: _made(function) for function in functions})


_kept: dict[str, PluginManager] = {}


def _manager(call: Call) -> PluginManager:
    return _kept.pop(call.route.function, None) or _made(call.route.function)


def _made(function: str) -> PluginManager:
    """Return a manager that knows the one hook which is called: reading the specifications of all takes its time."""
    manager = PluginManager(PROJECT_NAME)
    manager.add_hookspecs(hookspecs.of([function]))
    return manager


def _only(function: str, module: ModuleType) -> ModuleType:
    """Offer pluggy one function of a handler file, so that a bad one for another event costs only itself."""
    plugin = ModuleType(module.__name__)
    setattr(plugin, function, getattr(module, function))
    return plugin


def describe(error: BaseException, limit: float) -> str:
    """Say in one line what a handler did wrong.

    Args:
        error: what it raised.
        limit: the seconds it was given, for `HandlerTimeout`.
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


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupt the block with `HandlerTimeout` after some seconds, again and again until it ends.

    Args:
        seconds: how long the block may take; outside the main thread nothing interrupts, because only the
            main thread receives signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum: int, frame: object) -> None:
        raise HandlerTimeout

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), REPEAT_S)
    try:
        yield
    finally:
        _disarm(before)


def _disarm(before: Any) -> None:
    """Stop the timer, even when its last ring comes while it is being stopped."""
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            return
        except HandlerTimeout:
            continue
