"""The findings about a row's sessions, compaction by compaction."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.survival.score import HEADING, Expected, guidance, judge, judge_trail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tools.survival.conversation import Conversation, Told
    from tools.survival.ordinary import Ordinary
    from tools.survival.score import Reading
    from tools.survival.truth import Truth

_MAINS = frozenset({"context", "decision", "request", "open to-do", "finished to-do"})  # of no use to a subagent


@dataclass
class Findings:
    """The parts of a row's result so far, and the words that the judged session must not get.

    Attributes:
        readings: the judgement of each compaction, in order.
        faults: other things that went wrong, in words.
        repeats: whether the same state gave the same bytes, for each time this was tried.
        foreign: words of other sessions.
        resurrected: words of finished or abandoned workflows.
        named: titles of other workflows, which guidance may mention in a line.
        fallback: the project whose state file counts as the sidecar, if no sidecar can be written.
        where: the present step, to make faults reproducible.
        heading: the text by which guidance is recognised; a trail has another.
    """

    readings: list[Reading] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    repeats: list[bool] = field(default_factory=list)
    foreign: set[str] = field(default_factory=set)
    resurrected: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    fallback: Path | None = None
    where: str = ""
    heading: str = HEADING
    _marks: dict[int, int] = field(default_factory=dict)

    @contextmanager
    def strange_to(self, planted: Truth) -> Iterator[None]:
        """Within the block, treat all words of this workflow as foreign."""
        before = set(self.foreign)
        self.foreign |= planted.words()
        try:
            yield
        finally:
            self.foreign = before

    def expected(self, planted: Truth) -> Expected:
        """Return what the model must get of a workflow now, and what it must not get."""
        wrong = {
            "foreign": frozenset(self.foreign),
            "stale": frozenset(planted.gone),
            "resurrected": frozenset(self.resurrected),
        }
        named = frozenset(self.named)
        return Expected(planted.facts(), planted.position, wrong, named, self.fallback, planted.mentionable())

    def judge(self, client: Conversation, planted: Truth) -> Reading:
        """Judge one compaction: everything the session was told since the last judgement."""
        told = self._since(client)
        texts, lengths = [each.text for each in told], [each.units for each in told]
        return self._noted(judge(self.expected(planted), texts, lengths), told)

    def judge_trail(self, client: Conversation, planted: Ordinary) -> Reading:
        """Judge one compaction of a session without a workflow."""
        told = self._since(client)
        texts, lengths = [each.text for each in told], [each.units for each in told]
        return self._noted(judge_trail(planted, self.foreign, texts, lengths), told)

    def _noted(self, reading: Reading, told: Sequence[Told]) -> Reading:
        self.readings.append(reading)
        if reading.given != 1:
            came = ", ".join(each.event for each in told if self.heading in each.text) or "with no event"
            self.faults.append(f"guidance of compaction {len(self.readings)} came {reading.given} times: {came}")
        if self.where and (reading.given != 1 or reading.short or reading.false):
            self.faults.append(self.where)
        return reading

    def quiet(self, client: Conversation) -> None:
        """Record a fault if the session was told guidance, or words of another session, since the last judgement."""
        for each in self._since(client):
            if self.heading in each.text:
                self.faults.append(f"guidance without a compaction, with {each.event}")
            heard = [word for word in self.foreign | self.resurrected if word in each.text]
            self.faults += [f"foreign: {word}, with {each.event}" for word in sorted(heard)]

    def close(self, clients: Iterable[Conversation]) -> None:
        """Record a fault for each session that got guidance since its last judgement."""
        self.foreign, self.resurrected = set(), set()
        for client in clients:
            self.quiet(client)

    def asides(self, client: Conversation, planted: Truth, errand: str) -> None:
        """Record a fault unless a compacted subagent was told its own errand and nothing of the main session's."""
        self.note(
            errand != "" and not any(errand in each.text for each in client.asides),
            f"a subagent was not told {errand} again",
        )
        words = [fact.needle for fact in planted.facts() if fact.kind in _MAINS]
        for each in client.asides:
            heard = [word for word in words if word in each.text]
            self.faults += [f"a subagent got {word} of the main session, with {each.event}" for word in heard[:1]]
        client.asides.clear()

    def same_as_before(self, client: Conversation) -> None:
        """Record a fault unless the last two pieces of guidance, given for the same state, are equal byte for byte."""
        before, after = self._guidance(client.told)[-2:-1], self._guidance(client.told)[-1:]
        self.repeats.append(before == after and bool(after))
        if before != after:
            lines = difflib.unified_diff("".join(before).splitlines(), "".join(after).splitlines(), lineterm="", n=0)
            self.faults.append("\n".join(["same state, other bytes:", *lines]))

    def note(self, wrong: bool, words: str) -> None:
        """Record a fault if `wrong`."""
        if wrong:
            self.faults.append(words)

    def _since(self, client: Conversation) -> list[Told]:
        mark = self._marks.get(id(client), 0)
        self._marks[id(client)] = len(client.told)
        self.faults += [fault for fault in client.failed if fault not in self.faults]
        client.failed.clear()
        return client.told[mark:]

    def _guidance(self, told: Iterable[Told]) -> list[str]:
        return [guidance(each.text, self.heading) for each in told if self.heading in each.text]
