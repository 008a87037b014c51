"""Make the planned calls of an event: shipped handlers in this process, all others in forked ones.

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
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from holdfast.dispatch.calls import Answer, Caller, out_of_time, report_delivery
from holdfast.dispatch.interrupts import interrupt_at
from holdfast.files import atomic
from holdfast.plugins import deadlines, outcomes
from holdfast.process import child as process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome
    from holdfast.process.child import Child

END_SIGNALS = (signal.SIGTERM, signal.SIGIO)
"""What tells a process that the client has ended its event."""
GRACE_S = 0.3
"""Time for a handler to obey its interrupt, or for a process to end, before it is killed."""
SHIPPED_SHARE = 0.25
"""The share of the event's time that other handlers leave to shipped ones, which run last."""


@dataclass
class Run:
    """The calls of one event. Use it in a `with` block, after which no handler runs any more.

    Strict handlers of one place share a process, and so do all others that aren't shipped: a handler could change a
    module that a guard of another kind relies on. Each process has a copy of this object.

    Attributes:
        client: the client whose event it is.
        event: the event as changed so far.
        context: the handlers' second argument.
        timeout: seconds that a handler may take if its route has no timeout.
        deadline: `time.monotonic()` by which all handlers must have ended.
        private: descriptors that no handler may inherit.
        isolate: whether handlers that aren't shipped run in forked processes; `holdfast.testing` runs all here.
        changes: the outcomes of each answer that changed the event, as JSON values, in running order.
        printed: label → what a handler that isn't shipped, and its child processes, wrote to stdout and stderr.
        children: all forked processes.
        awaiting_delivery: those that wait for the list of delivered outcomes.
        awaits_delivery: whether any handler wants to know what was delivered.
    """

    client: Client
    event: Event
    context: Context
    timeout: float
    deadline: float
    private: tuple[int, ...] = ()
    isolate: bool = True
    changes: list[list[dict[str, Any]]] = field(default_factory=list)
    printed: dict[str, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    children: list[Child] = field(default_factory=list)
    awaiting_delivery: list[Child] = field(default_factory=list)
    awaits_delivery: bool = False
    _isolated: dict[str, Isolated] = field(default_factory=dict)  # label → what calls it

    def __enter__(self) -> Self:
        """Begin: no handler runs yet."""
        self._caller = Caller(self.client, self.context, self.limit).__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the forked processes; after an error, kill them."""
        for child in self.children:
            child.kill() if kind else child.close(GRACE_S)
        self._caller.__exit__()

    def answers(self, plan: Sequence[Call]) -> list[Answer]:
        """Make all planned calls, whatever any of them does. Return one answer per call, in running order.

        That is the planned order, but shipped handlers come last: they open the ledger, and the others' processes must
        be forked before that.
        """
        others = [call for call in plan if call.file.place != "shipped"]
        shipped = [call for call in plan if call.file.place == "shipped"]
        if self.isolate:
            self._start_processes(others)
        now = time.monotonic()
        until = now + (self.deadline - now) * (1 - SHIPPED_SHARE) if shipped else self.deadline
        found = [self._call(call, until) for call in others]
        return found + [self._call(call, self.deadline) for call in shipped]

    def _start_processes(self, calls: Sequence[Call]) -> None:
        groups: dict[str, list[Call]] = defaultdict(list)
        for call in calls:
            groups[f"strict {call.file.place}" if call.route.strict else "others"].append(call)
        for name in sorted(groups, reverse=True):  # strict ones first
            isolated = Isolated(self, groups[name])
            self._isolated |= {call.label: isolated for call in isolated.calls}
            isolated.start()

    def call_again(self, plan: Sequence[Call]) -> list[Answer]:
        """Make some of the calls again, on the event as changed so far."""
        return [self._call(call, self.deadline, "again") for call in plan]

    def loads(self, plan: Sequence[Call]) -> list[Answer]:
        """Load the planned functions' files without calling anything, all in a forked process."""
        isolated = Isolated(self, plan)
        return [isolated.call(call, self.deadline, "load") for call in plan]

    def _call(self, call: Call, until: float, how: str = "call") -> Answer:
        if isolated := self._isolated.get(call.label):
            answer = isolated.call(call, until, how)
        elif time.monotonic() >= until:
            answer = out_of_time(call)
        else:
            answer = self._caller.call(call, self.event)
            self.awaits_delivery |= any(each.on_delivered for each in answer.outcomes)
        self.awaits_delivery |= bool(self.awaiting_delivery)
        self.apply(answer.outcomes)
        return answer

    def apply(self, returned: Sequence[Outcome]) -> None:
        """Change the event as a handler asked, for all handlers that are called after it."""
        changed = self.client.changed(self.event, returned)
        if changed is not self.event:
            self.event = changed
            self.changes.append([outcomes.to_json(each) for each in returned])

    def limit(self, call: Call) -> float:
        """Return the seconds that a call may take if it begins now."""
        return min(call.route.timeout or self.timeout, deadlines.one_handler(self.deadline - time.monotonic()))

    def deliver(self, delivered: Sequence[Outcome]) -> None:
        """Call `on_delivered` of outcomes that the reply contains, in the process that each came from."""
        for each in delivered:
            report_delivery(each)
        until = max(self.deadline, time.monotonic() + GRACE_S)
        for child in self.awaiting_delivery:
            child.ask({"do": "deliver", "delivered": [outcomes.to_json(each) for each in delivered]}, until)
            if not child.receive(until, bytearray()):  # it is late
                child.kill()


@dataclass(eq=False)
class Isolated:
    """Handlers that share a forked process.

    Attributes:
        run: the calls of the event.
        calls: the planned calls, in running order.
    """

    run: Run
    calls: Sequence[Call]
    _child: Child | None = None
    _faults: dict[str, Answer] = field(default_factory=dict)  # label → the fault that ended a process

    def start(self) -> None:
        """Fork the process. It begins to load the files of all calls."""
        self._fork(self.calls)

    def _fork(self, load_first: Sequence[Call] = ()) -> None:
        self.run.context.project.close()  # SQLite forbids to carry a connection through a fork
        signal.pthread_sigmask(signal.SIG_BLOCK, END_SIGNALS)  # until the run knows the process, to kill it
        try:
            self._child = process.Child.fork(lambda *pipes: _serve(self.run, load_first, self.calls, *pipes))
            self.run.children.append(self._child)
        except OSError as error:
            fault = f"was not called: its process could not be started ({error.strerror})"
            self._faults |= {each.label: Answer(each.label, fault=fault) for each in self.calls}
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)

    def call(self, call: Call, until: float, how: str = "call") -> Answer:
        """Have a function called, whatever it does to its process.

        Args:
            call: one of the planned calls.
            until: the `time.monotonic()` by which it must have ended.
            how: `call`, `again` for a second judgement, or `load` to only load its file.
        """
        while call.label not in self._faults:
            if time.monotonic() >= until:
                return out_of_time(call)
            if not self._child:
                self._fork()
                continue
            limit = time.monotonic() + self.run.limit(call) + GRACE_S
            request = {"do": how, "label": call.label, "changes": self.run.changes}
            self._child.ask(request, min(limit, until))
            if answer := self._receive(self._child, call, until):
                return answer
        return self._faults[call.label]

    def _receive(self, child: Child, call: Call, until: float) -> Answer | None:
        """Wait for a call's answer. Return None if the process ended; `_faults` then names the handler at fault."""
        limits = {each.label: self.run.limit(each) + GRACE_S for each in self.calls}
        running, since = call.label, time.monotonic()
        while message := child.receive(min(since + limits[running], until), self.run.printed[running]):
            if message.get("begin") in limits:
                running, since = message["begin"], time.monotonic()
                continue
            try:
                answer = _answer_from_json(message)
                self.run.context.project.patience.spent(message["patience"])  # so the next call doesn't wait
                awaits_delivery = message["awaits_delivery"]
            except (KeyError, TypeError, ValueError, AttributeError):
                break  # a handler wrote to this pipe
            if answer.label != call.label:
                break
            if awaits_delivery:  # a later handler could kill this process, so it gets another one
                self.run.awaiting_delivery.append(child)
                self._child = None
            return answer
        self._child = None
        self.run.children.remove(child)
        self._faults[running] = Answer(running, fault=child.end(), seconds=time.monotonic() - since)
        return None


def _serve(run: Run, load_first: Sequence[Call], calls: Sequence[Call], messages: int, requests: int) -> None:
    """Run in the forked process: load handlers, then do what the parent asks until it closes its end.

    Args:
        run: a copy of the parent's.
        load_first: the calls to load the files of at once.
        calls: all calls that may be asked for.
        messages: descriptor to write messages to.
        requests: descriptor to read requests from.
    """
    _leave_parent(run)
    pid, by_label = os.getpid(), {each.label: each for each in calls}
    awaiting: list[Outcome] = []
    with Caller(run.client, run.context, run.limit) as caller, atomic.syncing_later():
        for call in load_first:
            process.write(messages, {"begin": call.label})
            caller.load(call)
            _end_fork(pid)
        for request in process.requests(requests):
            if request["do"] == "deliver":
                for outcome in awaiting:
                    if outcomes.to_json(outcome) in request["delivered"]:
                        report_delivery(outcome)
                process.write(messages, {"delivered": True})
                continue
            for change in request["changes"][len(run.changes) :]:
                run.apply([outcomes.from_json(each) for each in change])
            call = by_label[request["label"]]
            process.write(messages, {"begin": call.label})
            if request["do"] == "load":
                answer = Answer(call.label, fault=caller.check(call, run.event))
            else:
                answer = caller.call(call, run.event)
            _end_fork(pid)
            if request["do"] == "call":
                awaiting += [each for each in answer.outcomes if each.on_delivered]
            _flush()
            patience = run.context.project.patience.rest()
            message = {**_answer_to_json(answer), "patience": patience, "awaits_delivery": bool(awaiting)}
            process.write(messages, message)


def _leave_parent(run: Run) -> None:
    """Give up in a forked process what belongs to the parent: signals, timers, descriptors and other processes."""
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    interrupt_at.forget_all()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)
    for descriptor in run.private:
        os.close(descriptor)
    for sibling in run.children:
        sibling.close_pipes()
    gc.freeze()
    gc.enable()


def _end_fork(pid: int) -> None:
    """End this process if a handler has forked it and returned in both: only the first one answers."""
    if os.getpid() != pid:
        os._exit(0)


def _flush() -> None:
    """Flush what handlers printed, because this process ends without Python's own flush."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _answer_to_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as a message of JSON values."""
    return {
        "answer": answer.label,
        "outcomes": [outcomes.to_json(outcome) for outcome in answer.outcomes],
        "fault": answer.fault,
        "ran": answer.ran,
        "seconds": answer.seconds,
        "dropped": answer.dropped,
    }


def _answer_from_json(message: dict[str, Any]) -> Answer:
    """Return the answer that a message (`_answer_to_json`) holds. Raises KeyError, TypeError for any other."""
    returned = tuple(outcomes.from_json(values) for values in message["outcomes"])
    dropped = tuple((kind, reason) for kind, reason in message["dropped"])
    return Answer(message["answer"], returned, message["fault"], message["ran"], message["seconds"], dropped)
