"""Make the planned calls of an event: shipped handlers in this process, all others in forked ones."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from holdfast.dispatch.calls import Answer, Caller, out_of_time, report_delivery
from holdfast.dispatch.isolation import GRACE_S, EventState, Isolated, deliver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

SHIPPED_SHARE = 0.25
"""The share of the event's time that other handlers leave to shipped ones, which run last."""


@dataclass
class Run(EventState):
    """The calls of one event. Use it in a `with` block, after which no handler runs any more.

    Strict handlers of one place share a process, and so do all others that aren't shipped: a handler could change a
    module that a guard of another kind relies on.

    Attributes:
        isolate: whether handlers that aren't shipped run in forked processes; `holdfast.testing` runs all here.
        awaits_delivery: whether any handler wants to know what was delivered.
    """

    isolate: bool = True
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

    def deliver(self, delivered: Sequence[Outcome]) -> None:
        """Call `on_delivered` of outcomes that the reply contains, in the process that each came from."""
        for each in delivered:
            report_delivery(each)
        for child in self.awaiting_delivery:
            deliver(child, delivered, max(self.deadline, time.monotonic() + GRACE_S))
