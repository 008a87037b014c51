"""The truth about a planted workflow: the facts that the model must have now, and those it must not have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal

from holdfast.formats import RECORDS
from tools.survival import samples

Status = Literal["", "open", "current", "finished", "running", "ended"]
_SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Tokens:
    """A source of words that occur in no text by chance; the same seed and space give the same words."""

    def __init__(self, seed: int, space: str) -> None:
        self._random, self._space, self._count = Random(f"{seed}:{space}"), space, 0

    def __call__(self, kind: str) -> str:
        """Return the next word for a kind of fact; no word is part of another."""
        self._count += 1
        tail = "".join(self._random.choice(_SIGNS) for _ in range(6))
        return f"{kind}-{self._space}{self._count:04d}-{tail}"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that the model must get.

    Attributes:
        kind: what it is of, such as `reminder` or `open to-do`.
        needle: the text by which it is found.
        status: the status that the text must give it, if it gives any.
        long: whether it is the end of a value too long for a line, so that only the sidecar can contain it.
    """

    kind: str
    needle: str
    status: Status = ""
    long: bool = False


@dataclass
class Phase:
    """A phase: its title and, once completed, what it delivered and handed over."""

    title: str
    agent: str = ""
    handover: str = ""
    deliverable: str = ""


@dataclass
class Truth:
    """The true present state of a planted workflow; every change to the workflow is made here too.

    Attributes:
        format: the format that stores it.
        title: its title.
        phases: its phases, finished ones too.
        reading: required reading.
        reminders: key reminders.
        context: context variables by name. The workflow's context also has `decisions` and `last_request`.
        decisions: the decisions, newest last.
        request: the user's last request; empty if nobody recorded it.
        current: the number of the current phase, from 1.
        agents: the id of each running agent → its name.
        died: the names of agents that died.
        gone: words that were true once.
        tails: (kind, word) for the ends of values too long for a line.
        needles: planted text → the text by which it is found, if that differs; empty if it is no fact.
        listed: whether the file names all phases; a memory file names only the current one.
    """

    format: str
    title: str
    phases: list[Phase]
    reading: list[str]
    reminders: list[str]
    context: dict[str, str]
    decisions: list[str] = field(default_factory=list)
    request: str = ""
    current: int = 1
    agents: dict[str, str] = field(default_factory=dict)
    died: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    tails: list[tuple[str, str]] = field(default_factory=list)
    needles: dict[str, str] = field(default_factory=dict)
    listed: bool = True

    @property
    def position(self) -> str:
        """The position, `3/8`: the current phase or, for tasks, the number of completed ones."""
        if not RECORDS[self.format].IN_ORDER:
            return f"{self.current - 1}/{len(self.phases)}"
        return f"{self.current}/{len(self.phases)}"

    @property
    def left(self) -> int:
        """How many phases come after the current one."""
        return len(self.phases) - self.current

    def complete_phase(self, handover: str, deliverable: str = "") -> None:
        """Complete the current phase."""
        phase = self.phases[self.current - 1]
        phase.handover, phase.deliverable = handover, deliverable
        self.current += 1

    def set(self, key: str, value: str) -> None:
        """Set a context variable."""
        if key in self.context:
            self.gone.add(self.context[key])
        self.context[key] = value

    def ask(self, request: str) -> None:
        """Replace the user's last request."""
        self.gone |= {self.request} - {""}
        self.request = request

    def decide(self, decision: str) -> None:
        """Replace the newest decision."""
        self.gone |= set(self.decisions[-1:])
        self.decisions[-1:] = [decision]

    @property
    def variables(self) -> dict[str, str | list[str]]:
        """Everything in the workflow's context."""
        kept: dict[str, str | list[str]] = dict(self.context)
        kept |= {"decisions": self.decisions} if self.decisions else {}
        return kept | ({"last_request": self.request} if self.request else {})

    def facts(self) -> tuple[Fact, ...]:
        """Return the facts that the model must have now."""
        found = [Fact("workflow", self.title), Fact("number", self.position)]
        found += [Fact("reading", f"@{entry}") for entry in self.reading]
        found += [Fact("reminder", text) for text in self.reminders]
        found += [Fact("context", value) for value in self.context.values()]
        found += [Fact("decision", text) for text in self.decisions]
        found += [Fact("request", self.request)] if self.request else []
        for number, phase in enumerate(self.phases, 1):
            if self.listed or number == self.current:
                found += self._of_phase(phase, number)
        found += [Fact(kind, tail, long=True) for kind, tail in self.tails]
        found = [replace(fact, needle=self.needles.get(fact.needle, fact.needle)) for fact in found]
        return tuple(fact for fact in found if fact.needle)

    def _of_phase(self, phase: Phase, number: int) -> list[Fact]:
        status: Status = "finished" if number < self.current else "current" if number == self.current else "open"
        kind = {"finished": "finished to-do", "current": "phase", "open": "open to-do"}[status]
        more = [("deliverable", phase.deliverable), ("hand-over", phase.handover)]
        return [Fact(kind, phase.title, status), *(Fact(kind, text) for kind, text in more if text)]

    def mentionable(self) -> tuple[Fact, ...]:
        """Return the facts that the model may be told, with the right status, but need not have."""
        return tuple(Fact("agent", name, "ended") for name in sorted(self.died))

    def words(self) -> frozenset[str]:
        """Return every word that identifies this workflow, which other sessions must not get; not the position."""
        needles = {fact.needle for fact in self.facts() if fact.kind != "number"}
        return frozenset(
            needles | self.died | {self.needles.get(phase.title, phase.title) for phase in self.phases} | self.gone
        )


def make(format_name: str, tokens: Tokens, facts: int, *, finished: int = 2) -> Truth:
    """Return a workflow with `facts` facts, counted once `finished` phases are completed.

    Args:
        format_name: its format, which decides whether phases have deliverables besides what they hand over.
        tokens: the source of its words.
        facts: how many facts it has.
        finished: how many phases are completed before the first compaction.
    """
    delivers = samples.of(format_name).delivers
    delivered = min(finished, 1) if delivers else 0
    fixed = 3 + 2 * finished + delivered + 1  # workflow, phase, number; done, handed over; delivered; request
    spread = [(facts - fixed + place) // 5 for place in range(5)]
    decisions, reading, reminders, context, left = (max(count, 1) for count in spread)
    return Truth(
        format=format_name,
        title=tokens("title"),
        phases=[Phase(tokens("step")) for _ in range(finished + 1 + left)],
        reading=[f"docs/{tokens('read')}.md" for _ in range(reading)],
        reminders=[tokens("remind") for _ in range(reminders)],
        context={("turn" if not n else f"key{n}"): tokens("value") for n in range(context)},
        decisions=[tokens("decided") for _ in range(decisions)],
        request=tokens("asked"),
    )
