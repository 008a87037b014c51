"""What was found so far of the sessions of a row, compaction by compaction."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.survival.score import HEADING, Expected, guidance, judge, judge_trail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from holdfast.survival.conversation import Conversation, Told
    from holdfast.survival.ordinary import Ordinary
    from holdfast.survival.score import Reading
    from holdfast.survival.truth import Truth

_MAINS = frozenset({"context", "decision", "request", "open to-do", "finished to-do"})  # nothing that a subagent needs


@dataclass
class Findings:
    """Everything that a row's result is made of, and what whoever is judged must not have.

    Attributes:
        readings: what was found of each compaction, in order.
        faults: what went wrong beside that, in words.
        repeats: whether the same state gave the same bytes, for each time it was tried.
        foreign: words of other sessions.
        resurrected: words of workflows that are over.
        named: titles of other workflows, which may be named in a line.
        fallback: the project whose state file counts for the sidecar, where none can be written.
        where: what is being done, for faults that need to be found again.
        heading: by which guidance is known; a trail has another.
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
        """Whoever is asked in the meantime must know nothing of this workflow."""
        before = set(self.foreign)
        self.foreign |= planted.words()
        try:
            yield
        finally:
            self.foreign = before

    def expected(self, planted: Truth) -> Expected:
        """Return what the model must have of a workflow now."""
        wrong = {
            "foreign": frozenset(self.foreign),
            "stale": frozenset(planted.gone),
            "resurrected": frozenset(self.resurrected),
        }
        named = frozenset(self.named)
        return Expected(planted.facts(), planted.position, wrong, named, self.fallback, planted.mentionable())

    def judge(self, client: Conversation, planted: Truth) -> Reading:
        """Judge all that a session was told since it was last asked about: one compaction."""
        told = self._since(client)
        texts, lengths = [each.text for each in told], [each.units for each in told]
        return self._noted(judge(self.expected(planted), texts, lengths), told)

    def judge_trail(self, client: Conversation, planted: Ordinary) -> Reading:
        """Judge the same of a session without a workflow."""
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
        """Nothing of guidance, and nothing of another session, was said since the session was last asked about."""
        for each in self._since(client):
            if self.heading in each.text:
                self.faults.append(f"guidance without a compaction, with {each.event}")
            heard = [word for word in self.foreign | self.resurrected if word in each.text]
            self.faults += [f"foreign: {word}, with {each.event}" for word in sorted(heard)]

    def close(self, clients: Iterable[Conversation]) -> None:
        """Nobody got guidance that nobody asked about."""
        self.foreign, self.resurrected = set(), set()
        for client in clients:
            self.quiet(client)

    def asides(self, client: Conversation, planted: Truth, errand: str) -> None:
        """A compacted subagent was told nothing of the main session's to-dos and context, but its own errand."""
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
        """The last two times nothing had changed: the guidance must be the same, byte for byte."""
        before, after = self._guidance(client.told)[-2:-1], self._guidance(client.told)[-1:]
        self.repeats.append(before == after and bool(after))
        if before != after:
            self.faults.append(f"same state, other bytes: {_difference(before, after)}")

    def note(self, wrong: bool, words: str) -> None:
        """Note a fault where something is wrong."""
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


def _is_mark(line: str) -> bool:
    return "(mark " in line or line.startswith(("<workflow-data-", "</workflow-data-"))


def _difference(before: list[str], after: list[str]) -> str:
    if not before or not after:
        return "there was none" if not after else "there was none before"
    pairs = zip(before[0].splitlines(), after[0].splitlines(), strict=False)
    changed = next(((old, new) for old, new in pairs if old != new and not _is_mark(old)), ("", "lines more or less"))
    return f"{changed[0][:100]!r} became {changed[1][:100]!r}"
