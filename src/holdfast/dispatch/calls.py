"""Call the handlers of one event one after another, each isolated from the others."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
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

Dropped = tuple[tuple[str, str], ...]
"""Kinds of outcome that are left out of the reply, each with the reason."""
REPEAT_S = 0.05  # the interrupt repeats, in case a handler swallows it


class HandlerTimeout(BaseException):
    """A handler's timeout has passed. A BaseException, so that `except Exception` doesn't swallow it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call.

    Attributes:
        label: the call's name in messages (`Call.label`).
        outcomes: what it returned.
        fault: what prevented an answer; empty if nothing did.
        ran: False if its turn never came.
        dropped: the kinds of its outcomes that are left out of the reply, each with the reason.
        moments: `time.monotonic()` at begin and end of loading its file, then at begin and end of calling it, as far as
            it came. Only two, begin and end, if it ended its process or had to be killed.
    """

    label: str
    outcomes: tuple[Outcome, ...] = ()
    fault: str = ""
    ran: bool = True
    moments: tuple[float, ...] = field(default=(), compare=False)
    dropped: Dropped = ()


@dataclass
class Caller:
    """Calls the planned functions in pluggy's order.

    Attributes:
        client: the client whose event it is.
        event: the event as changed so far: each handler sees the changes of those before it (`Client.changed`).
        context: the handlers' second argument.
        limit: returns the seconds that a call may take, or infinity.
        begin: gets each call's label before its file is loaded, unless that was done in advance, and before its
            function is called, so that the parent process knows which handler is at fault if this process dies.
    """

    client: Client
    event: Event
    context: Context
    limit: Callable[[Call], float]
    begin: Callable[[str], None] = field(default=lambda label: None)

    def answers(self, plan: Sequence[Call]) -> Iterator[Answer]:
        """Make the planned calls; never raises.

        Args:
            plan: what `loader.plan` selected.

        Yields:
            One answer per call, in the order in which they ran; files that don't load come first.
        """
        if not plan:
            return
        hook = plan[0].route.function  # an event may call functions of two names (`Hooks.also_answers`)
        manager = _manager(plan[0])
        modules: dict[str, Call] = {}
        loading: dict[str, tuple[float, float]] = {}
        with _surroundings() as restore:
            for call in _registration(plan):
                began = time.monotonic()
                fault = self._register(manager, hook, call, modules)
                restore()
                loading[call.label] = (began, time.monotonic())
                if fault:
                    yield Answer(call.label, fault=fault, moments=loading[call.label])
            if not modules:
                return
            caller = getattr(manager.hook, hook)
            for implementation in reversed(caller.get_hookimpls()):
                began = time.monotonic()
                given = self._answer(modules[implementation.plugin_name], implementation)
                restore()
                yield replace(given, moments=(*loading[given.label], began, time.monotonic()))

    def loads(self, plan: Sequence[Call]) -> Iterator[Answer]:
        """Load and register the planned functions without calling them; never raises."""
        for call in plan:
            manager = _manager(call)
            yield Answer(call.label, fault=self._register(manager, call.route.function, call, {}))

    def _register(self, manager: PluginManager, hook: str, call: Call, modules: dict[str, Call]) -> str:
        """Load a handler file and register its function under a hook's name. Return what went wrong, or nothing."""
        kept = loader.is_kept(call.file)
        if not kept:
            self.begin(call.label)
        limit = self.limit(call)
        try:
            if call.route.broken:
                return f"was not called: {call.route.broken}"
            with nullcontext() if kept else interrupted_after(limit):
                plugin = _Plugin(hook, getattr(loader.load(call.file), call.route.function))
                manager.register(plugin, name=call.label)
            if not manager.get_hookcallers(plugin):
                return f"{call.route.function} is not marked with holdfast's hookimpl"
        except BaseException as error:  # noqa: BLE001 - a handler file may raise anything, SystemExit included
            return f"does not load: {describe(error, limit)}"
        modules[call.label] = call
        return ""

    def _answer(self, call: Call, implementation: Any) -> Answer:
        self.begin(call.label)
        self.context.handler = call.file.path.name
        name, limit = self.event.hook_event_name, self.limit(call)
        try:
            called = self.client.as_called(self.event, call.route.match)
            event = called if call.file.place == "shipped" else deepcopy(called)  # ours change nothing of it
        except RecursionError:
            return Answer(
                call.label, fault="was not called: the event is nested too deeply to be handed over", ran=False
            )
        given: Mapping[str, Any] = {"event": event, "context": self.context}
        try:
            with interrupted_after(limit):
                returned = implementation.function(*(given[argument] for argument in implementation.argnames))
            returned = outcomes.flatten(returned)
            if not returned:
                return Answer(call.label)
            said, dropped = self.client.as_said(self.event, called, returned)
            for outcome in said:
                outcomes.check(outcome, name, type(self.event).accepts)
            self.client.merge(name, said)  # fails here, not when it is merged with other answers
        except BaseException as error:  # noqa: BLE001 - a bad handler costs only itself
            return Answer(call.label, fault=describe(error, limit))
        self.event = self.client.changed(self.event, said)
        return Answer(call.label, said, dropped=dropped)


@contextmanager
def _surroundings() -> Iterator[Callable[[], None]]:
    """Yield a function that puts back this process's working directory, environment and umask, as they are now."""
    variables = dict(os.environb)
    mask = os.umask(0o077)
    os.umask(mask)
    folder = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))  # a path would lose a folder that a handler deletes

    def restore() -> None:
        os.umask(mask)
        os.fchdir(folder)
        if os.environb != variables:
            os.environb.clear()
            os.environb.update(variables)
            time.tzset()

    try:
        yield restore
    finally:
        os.close(folder)


def _registration(plan: Sequence[Call]) -> list[Call]:
    """Return a plan's calls in the order of registration, so that pluggy calls them as planned.

    pluggy calls the last registered function first, but among `trylast` functions the first registered one.
    """
    last = [call for call in plan if call.route.trylast]
    return [*last, *(call for call in reversed(plan) if not call.route.trylast)]


def keep_managers(functions: Iterable[str]) -> None:
    """Create a plugin manager for each hook in advance, in a process that waits for an event."""
    _kept.update({function: _made(function) for function in functions})


_kept: dict[str, PluginManager] = {}


def _manager(call: Call) -> PluginManager:
    return _kept.pop(call.route.function, None) or _made(call.route.function)


def _made(function: str) -> PluginManager:
    """Return a plugin manager that knows only one hook, because reading all specifications takes time."""
    manager = PluginManager(PROJECT_NAME)
    manager.add_hookspecs(hookspecs.of([function]))
    return manager


class _Plugin:
    """One function of a handler file, so that bad functions for other events do no harm.

    pluggy looks at all that `dir` names, and would take five times as long for a module.
    """

    def __init__(self, hook: str, function: Any) -> None:
        setattr(self, hook, function)

    def __dir__(self) -> Iterable[str]:
        return vars(self)


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


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupt the block with `HandlerTimeout` after some seconds, repeatedly until it ends.

    Args:
        seconds: how long the block may take, or infinity. Outside the main thread, which alone receives signals, it is
            never interrupted.
    """
    if seconds == float("inf") or threading.current_thread() is not threading.main_thread():
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
    """Stop the timer, even if it goes off while it is being stopped."""
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            return
        except HandlerTimeout:
            continue
