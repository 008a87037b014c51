"""Run handlers in child processes, so that nothing one of them does costs the others' answers.

pluggy's multicall stops at the first exception, and no exception handling helps against `os._exit`, a crash in C
or a call that never returns to Python. So the handlers of an event run in a forked child that reports each
answer through a pipe as it comes. If the child dies or hangs, the parent keeps the answers it has, ends the child,
names the handler at fault, and forks again for the rest.

A strict handler shares a process with strict handlers of its own place only: another handler could change a module
that the guard relies on. The parent forks every child and loads no handler file itself.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast import log
from holdfast.dispatch import costs
from holdfast.dispatch.calls import Answer, Caller, describe
from holdfast.files import atomic, file_memo
from holdfast.plugins import deadlines, outcomes
from holdfast.process.child import CAPTURE_LIMIT_BYTES, CHUNK_BYTES, Child, read_some, write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

HEARD = {"heard": True}
"""A child's message that `on_delivered` was called for what was delivered."""
RECORDED = {"recorded": True}
"""A child's last message: the reply's decisions and costs are in the ledger, or the log says why not."""

_ENDING = (signal.SIGTERM,)  # what the client ends an event with
GRACE_S = 0.3  # time for a handler to obey its interrupt, or to record a delivery, before its process is killed


@dataclass
class Isolated:
    """The handlers of one event, run in child processes.

    Attributes:
        client: the client whose event it is.
        event: the event as changed so far.
        context: the handlers' second argument.
        timeout: seconds that a handler may take if its route has no timeout.
        deadline: `time.monotonic()` by which all handlers must have ended.
        only_load: load the handlers' files but call nothing, for `holdfast handlers check`.
        private: descriptors that handlers must not inherit: the client's own stdout and stderr.
        spare: a child process that works on the whole plan already, if there is one.
        printed: label → what the handler and its child processes wrote to stdout and stderr; at most
            `CAPTURE_LIMIT_BYTES` bytes each.
    """

    client: Client
    event: Event
    context: Context
    timeout: float
    deadline: float
    only_load: bool = field(default=False, kw_only=True)
    private: tuple[int, ...] = field(default=(), kw_only=True)
    spare: Child | None = field(default=None, kw_only=True)
    printed: dict[str, bytearray] = field(default_factory=dict)
    _children: list[Child] = field(default_factory=list)

    def run(self, plan: Sequence[Call]) -> list[Answer]:
        """Call every planned function, whatever the others do.

        Args:
            plan: what `loader.plan` selected.

        Returns:
            One answer per call, in the plan's order; an answer without outcomes and fault means "no opinion".
        """
        answers: dict[str, Answer] = {}
        while rest := [call for call in plan if call.label not in answers]:
            if time.monotonic() >= self.deadline:
                answers.update(
                    (call.label, Answer(call.label, fault="did not run: no time was left", ran=False)) for call in rest
                )
                break
            self._run_rest(rest, answers)
        return [answers[call.label] for call in plan]

    def judge(self, plan: Sequence[Call]) -> list[Answer]:
        """Call functions again, on the event as changed so far; `on_delivered` of these answers is never called."""
        children, self._children = self._children, []
        try:
            return self.run(plan)
        finally:
            self.deliver(())
            self.close()
            self._children = children

    def deliver(self, said: Sequence[Outcome]) -> None:
        """Have `on_delivered` called in the process that each outcome came from, and wait until that is done.

        Args:
            said: the advice that the written reply contains in full.
        """
        wanted = [outcomes.to_wire(outcome) for outcome in said]
        until = max(self.deadline, time.monotonic() + GRACE_S)
        for child in [each for each in self._children if each.waits]:
            child.tell(wanted)
            if child.receive(until, bytearray()) != HEARD:
                child.bury(until)
                self._children.remove(child)
            child.waits = False  # it has nothing left to do; the client need not wait until it has ended (`close`)

    def record(self, units: Mapping[str, int], decided: Sequence[Any] = ()) -> bool:
        """Have the last child record what the reply put into the model's context and what it decided.

        Return whether one does.

        It has the ledger open and its modules loaded; another process would take some 8 ms, for which the client waits.

        Args:
            units: each handler's share of the reply (`costs.of`).
            decided: the event's decisions (`conclusion.conclude`).
        """
        child = next((each for each in self._children[-1:] if each.records), None)
        if child is None:
            return False
        child.tell([dict(units), *decided])
        # Without an answer it waits for a locked ledger, or is dead.
        return child.receive(time.monotonic() + costs.WAIT_LIMIT_S, bytearray()) == RECORDED or not child.silent

    def close(self) -> None:
        """Wait until all children have ended, but for those that end by themselves; kill those that take too long."""
        for child in self._children:
            if child.records and not child.silent:
                child.close()
            else:
                child.bury(time.monotonic() + GRACE_S)
        self._children.clear()

    def abandon(self) -> None:
        """Kill every child at once, because the client has ended this process."""
        for child in self._children:
            child.kill()
            child.close()
        self._children.clear()

    def _run_rest(self, rest: Sequence[Call], answers: dict[str, Answer]) -> None:
        """Run calls in one child until it is done, dead or stuck; a new child adds at least one answer."""
        begun = self.spare is None
        rest = _of_one_process(rest)
        ours = {call.label for call in rest}
        child = self._begin(rest)
        limits = {call.label: self._limit(call) + GRACE_S for call in rest}
        running = rest[0].label
        since = time.monotonic()
        stop_at = since + limits[running]
        while (message := child.receive(min(stop_at, self.deadline), self._heard_from(running))) is not None:
            if "begin" in message:
                begun, running, since = True, message["begin"], time.monotonic()
                stop_at = since + limits.get(running, self.timeout)
            elif message.get("answer") in ours:  # a process answers for its own handlers only
                answer = from_wire(message)
                answers[answer.label] = answer
                self.context.project.patience.spent(message["patience"])  # so the next child waits no longer
                said = self._heard_from(answer.label)
                said += message["printed"].encode()[: CAPTURE_LIMIT_BYTES - len(said)]
                self.event = self.client.changed(self.event, answer.outcomes)
                if message["last"]:
                    child.waits, child.records = message["waits"], message["records"]
                    return
            else:  # a handler wrote to this pipe: the running one is at fault, and the others get a new child
                break
        fault = child.end()
        if begun:  # otherwise the child died before any handler ran, and the next one calls them all
            answers[running] = Answer(running, fault=fault, moments=(since, time.monotonic()))

    def _begin(self, plan: Sequence[Call]) -> Child:
        """Return the child that makes the planned calls: the spare one, which has begun already, or a new one."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # until `abandon` knows the child
        try:
            records = not self.only_load and _only_shipped(plan)
            child = self.spare or Child.fork(lambda *pipes: work(self, plan, *pipes, records=records))
            self.spare = None
            self._children.append(child)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        return child

    def _heard_from(self, label: str) -> bytearray:
        return self.printed.setdefault(label, bytearray())

    def _limit(self, call: Call) -> float:
        return min(call.route.timeout or self.timeout, deadlines.one_handler(self.deadline - time.monotonic()))


def work(
    isolated: Isolated, plan: Sequence[Call], report: int, captured: int, heard: int, *, records: bool = False
) -> None:
    """Run in the child: call the handlers, report each answer, then wait for the list of what was delivered.

    Args:
        isolated: the parent's object, with the handlers' arguments.
        plan: the calls to make.
        report: descriptor to write messages to (`Child.fork`).
        captured: descriptor to read what was printed from.
        heard: descriptor to read the list of deliveries from.
        records: whether to record, too, what the reply put into the model's context (`Isolated.record`).
    """
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    for descriptor in isolated.private:
        os.close(descriptor)
    shipped = _only_shipped(plan)
    if shipped:  # they leave little garbage in so short a process, and the collector would look at all they make
        gc.disable()
    elif not gc.isenabled():  # a cold process has switched it off
        gc.freeze()
        gc.enable()
    # A user's handler may have edited a state file when the next handler reads it.
    moment = file_memo.one_moment() if shipped else nullcontext()
    with moment, atomic.syncing_later():  # nobody waits for this process once it has reported everything
        _answer(isolated, plan, report, captured, heard, records)
        # A ledger that this event has given up may be free by now; then another process finds it so.
        if records and (said := _heard(heard)) and not isolated.context.project.ledger.problem:
            costs.note(isolated.context.project, isolated.event, said[0], said[1:])
            write(report, RECORDED)


def _of_one_process(calls: Sequence[Call]) -> Sequence[Call]:
    """Return the first calls that may share a process: strict ones of one place, or those that aren't strict."""
    kinds = [call.route.strict and call.file.place for call in calls]
    end = next((number for number, kind in enumerate(kinds) if kind != kinds[0]), len(calls))
    return calls[:end]


def _only_shipped(plan: Sequence[Call]) -> bool:
    """Return whether calls are all of shipped handlers: they neither kill their process nor edit files unseen."""
    return all(call.file.place == "shipped" for call in plan)


def _answer(
    isolated: Isolated, plan: Sequence[Call], report: int, captured: int, heard: int, records: bool = False
) -> None:
    """Call the handlers and report (`work`)."""
    told = _Report(report)
    caller = Caller(isolated.client, isolated.event, isolated.context, isolated._limit, told.begin)
    hopeful: list[Outcome] = []
    answered: set[str] = set()
    for number, answer in enumerate(caller.loads(plan) if isolated.only_load else caller.answers(plan), 1):
        answered.add(answer.label)
        hopeful += [outcome for outcome in answer.outcomes if outcome.on_delivered]
        _flush()
        printed = (read_some(captured) or b"").decode("utf-8", "replace")
        # If something is hoped for, a user's handler runs in another child, because it could kill this process.
        records = records and not answer.fault  # else it may have started a process that the parent has to kill
        rest = [call for call in plan if call.label not in answered]
        apart = bool(hopeful and rest and rest[0].file.place != "shipped")
        ended = {"last": number == len(plan) or apart, "waits": bool(hopeful), "records": records}
        patience = isolated.context.project.patience.rest()
        told.answer(to_wire(answer) | {"printed": printed, "patience": patience, **ended})
        if ended["last"]:
            break
    delivered = _heard(heard) if hopeful else []
    for outcome in hopeful:
        if outcomes.to_wire(outcome) in delivered:
            note_delivery(outcome)
    if hopeful:
        write(report, HEARD)


class _Report:
    """Tells the parent of a child's calls: an answer goes with the beginning of the next call, which comes at once.

    Each message wakes the parent, and there may be few processors.
    """

    def __init__(self, report: int) -> None:
        self._report = report
        self._held: list[dict[str, Any]] = []

    def begin(self, label: str) -> None:
        """Tell which call begins, after the answers before it."""
        write(self._report, *self._held, {"begin": label})
        self._held.clear()

    def answer(self, message: dict[str, Any]) -> None:
        """Tell an answer; at once if it is the last."""
        self._held.append(message)
        if message["last"]:
            write(self._report, *self._held)


def _flush() -> None:
    """Flush what handlers printed, because this process ends without Python's own flush."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def note_delivery(outcome: Outcome) -> None:
    """Call an outcome's `on_delivered`; an exception is only logged, because the reply was written already."""
    try:
        if outcome.on_delivered:
            outcome.on_delivered()
    except Exception as error:  # noqa: BLE001 - a bad callback costs only itself
        log.write("error", f"on_delivered failed: {describe(error, 0)}")


def to_wire(answer: Answer) -> dict[str, Any]:
    """Return an answer as a message of JSON values."""
    said = [outcomes.to_wire(outcome) for outcome in answer.outcomes]
    named = {"answer": answer.label, "fault": answer.fault, "ran": answer.ran, "moments": answer.moments}
    return {**named, "outcomes": said, "dropped": answer.dropped}


def from_wire(message: dict[str, Any]) -> Answer:
    """Return the answer that a message (`to_wire`) holds. Raises KeyError, TypeError for any other."""
    said = tuple(outcomes.from_wire(values) for values in message["outcomes"])
    dropped = tuple((kind, reason) for kind, reason in message["dropped"])
    return Answer(message["answer"], said, message["fault"], message["ran"], tuple(message["moments"]), dropped)


def _heard(descriptor: int) -> list[dict[str, Any]]:
    data = b""
    while not data.endswith(b"\n"):
        chunk = os.read(descriptor, CHUNK_BYTES)
        if not chunk:
            return []
        data += chunk
    delivered: list[dict[str, Any]] = json.loads(data)
    return delivered
