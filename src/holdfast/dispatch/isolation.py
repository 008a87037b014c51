"""Call handlers in a forked process, so that nothing one of them does costs more than its own answer.

No exception handling helps against `os._exit`, a crash in C or a call that never returns to Python. So handlers that
aren't shipped run in forked processes. Such a process loads its handlers at once, then waits until the parent asks for
a call, with what other handlers have changed in the event meanwhile. If it dies or hangs, the parent kills it, names
the handler at fault, and forks again for the others.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.dispatch.calls import Answer, Caller, note_delivery
from holdfast.dispatch.interrupts import interrupt_at
from holdfast.files import atomic
from holdfast.plugins import outcomes
from holdfast.process.child import CAPTURE_LIMIT_BYTES, Child, read_some, requests, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

ENDING = (signal.SIGTERM, signal.SIGIO)
"""What tells a process that the client has ended its event."""
GRACE_S = 0.3
"""Time for a handler to obey its interrupt, or for a process to end, before it is killed."""


@dataclass
class Surroundings:
    """What all handlers' processes of an event share.

    Attributes:
        client: the client whose event it is.
        event: the event as it came.
        context: the handlers' second argument.
        limit: returns the seconds that a call may take.
        private: descriptors that no handler may inherit.
        changes: what the handlers called so far have returned, in running order; as `outcomes.to_wire` has it.
        printed: label → what the handler and its child processes wrote to stdout and stderr.
        children: all processes, so that each closes its copies of the others' pipes.
    """

    client: Client
    event: Event
    context: Context
    limit: Callable[[Call], float]
    private: tuple[int, ...] = ()
    changes: list[list[dict[str, Any]]] = field(default_factory=list)
    printed: dict[str, bytearray] = field(default_factory=dict)
    children: list[Child] = field(default_factory=list)


@dataclass(eq=False)
class Isolated:
    """Handlers that share a process.

    Attributes:
        shared: what they share with the other processes of the event.
        calls: the planned calls, in running order.
    """

    shared: Surroundings
    calls: Sequence[Call]
    _child: Child | None = None
    _known: int = 0  # how many of the changes the child has heard of
    _faults: dict[str, Answer] = field(default_factory=dict)  # of handlers that ended a process
    _answered: set[str] = field(default_factory=set)
    _hopeful: list[Child] = field(default_factory=list)  # processes that wait for the list of deliveries

    def start(self) -> None:
        """Fork the process for the calls that aren't answered. It begins to load their files."""
        context = self.shared.context
        context.project.close()  # SQLite forbids to carry a connection through a fork
        rest = [each for each in self.calls if each.label not in self._answered]
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until it is known to whoever has to kill it
        try:
            child = Child.fork(lambda *pipes: _serve(self.shared, rest, self.calls, *pipes))
            self._child, self._known = child, len(self.shared.changes)
            self.shared.children.append(child)
        except OSError as error:
            fault = f"was not called: its process could not be started ({error.strerror})"
            for each in rest:
                self._give_up(each.label, Answer(each.label, fault=fault))
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def call(self, call: Call, until: float, how: str = "call") -> Answer:
        """Have a function called, whatever it does to its process.

        Args:
            call: one of the planned calls.
            until: the `time.monotonic()` by which it must have ended.
            how: `call`, `again` for a second judgement, or `load` to only load its file.
        """
        label = call.label
        while label not in self._faults:
            if time.monotonic() >= until:
                return Answer(label, fault="did not run: no time was left", ran=False)
            if not self._child:
                self.start()
                continue
            changes = self.shared.changes[self._known :]
            self._known = len(self.shared.changes)
            limit = time.monotonic() + self.shared.limit(call) + GRACE_S
            self._child.ask({"do": how, "label": label, "changes": changes}, min(limit, until))
            if answer := self._wait(call, until):
                self._answered.add(label)
                return answer
        return self._faults[label]

    def _wait(self, call: Call, until: float) -> Answer | None:
        """Wait for a call's answer. Return None if the process ended; `_faults` then says through which handler."""
        limits = {each.label: self.shared.limit(each) + GRACE_S for each in self.calls}
        child, running, since = self._child, call.label, time.monotonic()
        assert child
        while message := child.receive(min(since + limits[running], until), self._printed_by(running)):
            if message.get("begin") in limits:
                running, since = message["begin"], time.monotonic()
                continue
            try:
                answer = _from_wire(message)
                printed, hopes = message["printed"].encode(), message["hopes"]
                self.shared.context.project.patience.spent(message["patience"])  # so the next one waits no longer
            except (KeyError, TypeError, ValueError, AttributeError):
                break  # a handler wrote to this pipe
            if answer.label != call.label:
                break
            heard = self._printed_by(call.label)
            heard += printed[: CAPTURE_LIMIT_BYTES - len(heard)]
            if hopes:  # a later handler could kill this process, so it gets another one
                self._hopeful.append(child)
                self._child = None
            return answer
        self._child = None
        self.shared.children.remove(child)
        self._give_up(running, Answer(running, fault=child.end(), moments=(since, time.monotonic())))
        return None

    def deliver(self, wanted: Sequence[dict[str, Any]], until: float) -> None:
        """Have `on_delivered` called for what was delivered, and wait until that is done.

        Args:
            wanted: the delivered outcomes, as `outcomes.to_wire` has them.
            until: the `time.monotonic()` at which to give up; at least a moment is granted.
        """
        for child in self._hopeful:
            until = max(until, time.monotonic() + GRACE_S)
            child.ask({"do": "deliver", "delivered": wanted}, until)
            if not child.receive(until, bytearray()):
                child.kill()

    @property
    def hopes(self) -> bool:
        """Return whether a process waits for the list of deliveries."""
        return bool(self._hopeful)

    def _give_up(self, label: str, fault: Answer) -> None:
        self._faults[label] = fault
        self._answered.add(label)

    def _printed_by(self, label: str) -> bytearray:
        return self.shared.printed.setdefault(label, bytearray())


def _serve(
    shared: Surroundings, first: Iterable[Call], calls: Iterable[Call], report: int, captured: int, asked: int
) -> None:
    """Run in the forked process: load handlers, then do what the parent asks until it closes its end.

    Args:
        shared: the parent's object.
        first: the calls to load the files of at once.
        calls: all calls that may be asked for.
        report: descriptor to write messages to.
        captured: descriptor to read what was printed from.
        asked: descriptor to read requests from.
    """
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    interrupt_at.forget_all()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    for descriptor in shared.private:
        os.close(descriptor)
    for sibling in shared.children:
        sibling.disown()
    gc.freeze()
    gc.enable()
    hopeful: list[Outcome] = []
    process = os.getpid()
    event, by_label = shared.event, {each.label: each for each in calls}
    for said in shared.changes:
        event = shared.client.changed(event, [outcomes.from_wire(each) for each in said])
    with Caller(shared.client, shared.context, shared.limit) as caller, atomic.syncing_later():
        for call in first:
            write(report, {"begin": call.label})
            caller.load(call)
            _end_copy(process)
        for request in requests(asked):
            if request["do"] == "deliver":
                for outcome in hopeful:
                    if outcomes.to_wire(outcome) in request["delivered"]:
                        note_delivery(outcome)
                write(report, {"delivered": True})
                continue
            call = by_label[request["label"]]
            for said in request["changes"]:
                event = shared.client.changed(event, [outcomes.from_wire(each) for each in said])
            write(report, {"begin": call.label})
            if request["do"] == "load":
                answer = Answer(call.label, fault=caller.load(call))
            else:
                answer = caller.call(call, event)
            _end_copy(process)
            hopes = [each for each in answer.outcomes if each.on_delivered and request["do"] == "call"]
            hopeful += hopes
            _flush()
            printed = (read_some(captured) or b"").decode("utf-8", "replace")
            patience = shared.context.project.patience.rest()
            write(report, _to_wire(answer) | {"printed": printed, "patience": patience, "hopes": bool(hopes)})


def _end_copy(process: int) -> None:
    """End this process if a handler has forked it and returned in both: only the first one answers."""
    if os.getpid() != process:
        os._exit(0)


def _flush() -> None:
    """Flush what handlers printed, because this process ends without Python's own flush."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _to_wire(answer: Answer) -> dict[str, Any]:
    """Return an answer as a message of JSON values."""
    said = [outcomes.to_wire(outcome) for outcome in answer.outcomes]
    named = {"answer": answer.label, "fault": answer.fault, "ran": answer.ran, "moments": answer.moments}
    return {**named, "outcomes": said, "dropped": answer.dropped}


def _from_wire(message: dict[str, Any]) -> Answer:
    """Return the answer that a message (`_to_wire`) holds. Raises KeyError, TypeError for any other."""
    said = tuple(outcomes.from_wire(values) for values in message["outcomes"])
    dropped = tuple((kind, reason) for kind, reason in message["dropped"])
    return Answer(message["answer"], said, message["fault"], message["ran"], tuple(message["moments"]), dropped)
