"""Make the planned calls of an event: shipped handlers in this process, all others in forked ones."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from holdfast.dispatch.calls import Answer, Caller, note_delivery
from holdfast.dispatch.isolation import GRACE_S, Isolated, Surroundings
from holdfast.files import file_memo
from holdfast.plugins import deadlines, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.context import Context
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

RESERVE = 0.25
"""The share of the event's time that other handlers leave to shipped ones, which run last."""


def running_order(plan: Iterable[Call]) -> list[Call]:
    """Return calls in the order in which they run: as planned, but shipped handlers last.

    The others' processes are forked first, because after that the shipped handlers open the ledger.
    """
    return sorted(plan, key=lambda call: call.file.place == "shipped")


@dataclass
class Run:
    """The calls of one event. Use it in a `with` block, after which no handler runs any more.

    Strict handlers of one place share a process, and so do all others that aren't shipped: a handler could change a
    module that a guard of another kind relies on.

    Attributes:
        client: the client whose event it is.
        event: the event as changed so far.
        context: the handlers' second argument.
        timeout: seconds that a handler may take if its route has no timeout.
        deadline: `time.monotonic()` by which all handlers must have ended.
        private: descriptors that no handler may inherit.
    """

    client: Client
    event: Event
    context: Context
    timeout: float
    deadline: float
    private: tuple[int, ...] = ()
    _processes: dict[str, Isolated] = field(default_factory=dict)
    _hopes: bool = False

    def __enter__(self) -> Self:
        """Begin: no handler runs yet."""
        self._shared = Surroundings(self.client, self.event, self.context, self._limit, self.private)
        self._here = Caller(self.client, self.context, self._limit).__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the forked processes; after an error, kill them."""
        for child in self._shared.children:
            child.kill() if kind else child.close(GRACE_S)
        self._here.__exit__()

    @property
    def printed(self) -> Mapping[str, bytearray]:
        """Label → what the handler wrote to stdout and stderr, as far as it isn't shipped."""
        return self._shared.printed

    def answers(self, plan: Sequence[Call]) -> list[Answer]:
        """Make all planned calls, whatever any of them does. Return one answer per call, in running order."""
        foreign = [call for call in plan if call.file.place != "shipped"]
        names = {call.label: f"strict {call.file.place}" if call.route.strict else "others" for call in foreign}
        for name in sorted(set(names.values()), reverse=True):  # strict ones first
            calls = [call for call in foreign if names[call.label] == name]
            self._processes |= dict.fromkeys((call.label for call in calls), isolated := Isolated(self._shared, calls))
            isolated.start()
        until = self.deadline
        if len(foreign) < len(plan):
            until -= max(until - time.monotonic(), 0.0) * RESERVE
        found = [self._call(call, until) for call in foreign]
        with file_memo.one_moment():
            return found + [self._call(call, self.deadline) for call in running_order(plan)[len(foreign) :]]

    def again(self, plan: Sequence[Call]) -> list[Answer]:
        """Make some of the calls again, on the event as changed so far."""
        return [self._call(call, self.deadline, "again") for call in plan]

    def loads(self, plan: Sequence[Call]) -> list[Answer]:
        """Load the planned functions' files without calling anything, all in a forked process."""
        isolated = Isolated(self._shared, plan)
        return [isolated.call(call, self.deadline, "load") for call in plan]

    def _call(self, call: Call, until: float, how: str = "call") -> Answer:
        if isolated := self._processes.get(call.label):
            answer = isolated.call(call, until, how)
        elif time.monotonic() >= until:
            answer = Answer(call.label, fault="did not run: no time was left", ran=False)
        else:
            answer = self._here.call(call, self.event)
            self._hopes = self._hopes or any(each.on_delivered for each in answer.outcomes)
        self.event = self.client.changed(self.event, answer.outcomes)
        self._shared.changes.append([outcomes.to_wire(each) for each in answer.outcomes])
        return answer

    @property
    def hopes(self) -> bool:
        """Whether a handler wants to know what was delivered."""
        return self._hopes or any(each.hopes for each in self._processes.values())

    def deliver(self, said: Sequence[Outcome]) -> None:
        """Call `on_delivered` of outcomes that the reply contains, in the process that each came from."""
        for each in said:
            note_delivery(each)
        wanted: list[dict[str, Any]] = [outcomes.to_wire(outcome) for outcome in said]
        for isolated in dict.fromkeys(self._processes.values()):
            isolated.deliver(wanted, self.deadline)

    def _limit(self, call: Call) -> float:
        return min(call.route.timeout or self.timeout, deadlines.one_handler(self.deadline - time.monotonic()))
