"""The judge: which of a workflow's facts the model got, and what it got that isn't true."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.dispatch.budget import units
from holdfast.files.invisible import CONTROL, HIDDEN
from holdfast.formats import RECORDS
from tools.survival.ordinary import CLIENTS_OWN, GOAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools.survival.ordinary import Ordinary
    from tools.survival.truth import Fact

LIMIT_UNITS = 9_500  # UTF-16 units of guidance (the score's budget)
HEAD_UNITS = 2_000  # the part at the beginning that must contain the facts to keep
FULL = 0.85  # how much of the limit must be used if facts were left to the sidecar
HEADING = "WORKFLOW RESTORED"  # marks guidance, which has AFTER COMPACTION behind it after one
TRAIL = "What this session did before its compaction"  # marks a trail
TRAIL_LIMIT_UNITS = 3_000  # UTF-16 units of a trail (docs/decisions.md)
_BETWEEN = "\n\n"  # separates the texts of several handlers; guidance contains no empty line
_SIDECAR = re.compile(r"^Full version: (?P<path>/.*) \(sha256 (?P<digest>[0-9a-f]{12})\)$", re.MULTILINE)
_STATE_FILE = re.compile(r"^- state file: (?P<path>\S.*)$", re.MULTILINE)
_POSITION = r"^(?:{places}) (\d+/\d+)"
_ELSEWHERE = re.compile(r'^- "[^"]*" \([a-z][a-z0-9_-]*\): ')  # a line that only names another workflow (I001-9)
_DIRT = re.compile(f"[{CONTROL}\r]|{HIDDEN.pattern}|</?\\s*system-reminder", re.IGNORECASE)
_ONE_LINE = frozenset(
    {"reading", "reminder", "context", "decision", "request", "deliverable", "finished to-do", "agent"}
)
_MUST_KEEP = frozenset({"workflow", "phase", "number"})
_LATER = frozenset({"context", "decision", "request", "finished to-do", "deliverable"})
_EARLIER = frozenset({"reading", "reminder", "open to-do"})
_LINE_UNITS = 60  # of a line, without the word that identifies it
_LEAD_UNITS = 2_000  # of everything that is no fact: headings, mark, fences, what to do first


@dataclass(frozen=True, slots=True)
class Expected:
    """What the model must, may and must not get after one compaction.

    Attributes:
        facts: what it must get.
        position: the phase as `3/8`.
        wrong: the reason (`foreign`, `stale`, `resurrected`) → words it must not get.
        named: titles of other workflows, each of which may be mentioned in a line but nowhere else.
        fallback: the project's root if no sidecar can be written; then the state file counts as one.
        mentionable: what it may get, but only with the right status.
    """

    facts: tuple[Fact, ...]
    position: str
    wrong: dict[str, frozenset[str]] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    fallback: Path | None = None
    mentionable: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The judgement of one compaction.

    Attributes:
        planted: how many facts there were.
        inline: how many of them were in the text.
        beside: how many were only in the full version whose digest is in the text.
        lost: the facts that were found nowhere.
        false: what was said and isn't true, each with the reason.
        over: how the budget was exceeded.
        units: the length of the longest text in UTF-16 units, before the client cuts it.
        given: how many times guidance was given; once is right.
        goal: how many of the facts are enough; None for all.
    """

    planted: int
    inline: int
    beside: int
    lost: tuple[str, ...]
    false: tuple[str, ...]
    over: tuple[str, ...]
    units: int
    given: int
    goal: int | None = None

    @property
    def short(self) -> bool:
        """Whether too few facts were found."""
        return bool(self.lost) if self.goal is None else self.inline + self.beside < self.goal


def judge(expected: Expected, told: Sequence[str], lengths: Sequence[int] = ()) -> Reading:
    """Judge what the model was told after one compaction.

    Args:
        expected: what it should have been told.
        told: the texts that reached the model.
        lengths: the length of each in UTF-16 units before the client cut it; by default its present length.
    """
    text = "\n".join(filter(None, map(guidance, told)))
    beside, complaints = _beside(text, expected.fallback)
    inline = [fact for fact in expected.facts if not fact.long and _stands(fact, text)]
    beside_only = [fact for fact in expected.facts if fact not in inline and _stands(fact, beside)]
    lost = [fact for fact in expected.facts if fact not in inline and fact not in beside_only]
    given = sum(HEADING in each for each in told)
    longest = max([*(lengths or map(units, told)), 0])
    return Reading(
        planted=len(expected.facts),
        inline=len(inline),
        beside=len(beside_only),
        lost=tuple(f"{fact.kind} {fact.needle[:80]}" for fact in lost),
        false=(*complaints, *_false(expected, text, beside), *_elsewhere(expected, told)),
        over=tuple(_over(expected.facts, beside_only, text, longest)) if given else (),
        units=longest,
        given=given,
    )


def judge_trail(planted: Ordinary, foreign: Iterable[str], told: Sequence[str], lengths: Sequence[int]) -> Reading:
    """Judge what the model was told after one compaction of a session without a workflow.

    Args:
        planted: what it should have been told, though not all of it is necessary.
        foreign: words of other sessions.
        told: the texts that reached the model.
        lengths: the length of each in UTF-16 units before the client cut it.
    """
    trails = [guidance(each, TRAIL) for each in told if TRAIL in each]
    text, longest = "\n".join(trails), max([*lengths, 0])
    found = [fact for fact in planted.facts if fact.needle in text]
    wrong = {"foreign": {*foreign, *planted.machine, *CLIENTS_OWN, HEADING}, "stale": planted.stale}
    false = [f"{why}: {word}" for why, words in wrong.items() for word in sorted(words) if word in "\n".join(told)]
    false += [complaint for fact in planted.facts for complaint in _contradicted(fact, text)]
    false += [f"raw: {match[0]!r} at {match.start()}" for match in _DIRT.finditer(text)]
    return Reading(
        planted=len(planted.facts),
        inline=len(found),
        beside=0,
        lost=tuple(f"{fact.kind} {fact.needle[:80]}" for fact in planted.facts if fact not in found),
        false=tuple(false),
        over=tuple(
            f"a trail of {units(each)} units, more than {TRAIL_LIMIT_UNITS}"
            for each in trails
            if units(each) > TRAIL_LIMIT_UNITS
        ),
        units=longest,
        given=sum(each.count(TRAIL) for each in told),
        goal=GOAL,
    )


def guidance(told: str, heading: str = HEADING) -> str:
    """Return the guidance in a text that may contain other handlers' advice before and after it."""
    before, heading, after = told.partition(heading)
    lead = before.rpartition("\n")[2]
    return f"{lead}{heading}{after.partition(_BETWEEN)[0]}" if heading else ""


def _stands(fact: Fact, text: str) -> bool:
    if fact.kind == "number":
        return fact.needle in _positions(text)
    return fact.needle in text


def _places() -> tuple[str, ...]:
    """Return how the line begins that says where a workflow stands: `Phase:`, `Tasks:`, in the words of all formats."""
    return tuple(f"{each.UNIT.capitalize()}{'' if each.IN_ORDER else 's'}:" for each in RECORDS.values())


def _positions(text: str) -> list[str]:
    return re.findall(_POSITION.format(places="|".join(map(re.escape, _places()))), text, re.MULTILINE)


def _beside(text: str, fallback: Path | None) -> tuple[str, list[str]]:
    """Return the content of the sidecar that the text names, and what is wrong with it."""
    said, wrong = [], []
    for match in _SIDECAR.finditer(text):
        try:
            data = Path(match["path"]).read_bytes()
        except OSError as error:
            wrong.append(f"sidecar: {match['path']} cannot be read ({error.strerror})")
            continue
        if not hashlib.sha256(data).hexdigest().startswith(match["digest"]):
            wrong.append(f"sidecar: {match['path']} is not what the text says it is")
            continue
        said.append(data.decode("utf-8", "replace"))
    if fallback and not said:
        for match in _STATE_FILE.finditer(text):
            path = fallback / match["path"]
            said += [path.read_text("utf-8", "replace")] if path.is_file() else []
    return "\n".join(said), wrong


def _false(expected: Expected, text: str, beside: str) -> Iterable[str]:
    """Yield what the guidance or its sidecar says that isn't true."""
    both = f"{text}\n{beside}"
    told = "\n".join(line for line in both.splitlines() if not _ELSEWHERE.match(line))
    for why, words in expected.wrong.items():
        searched = both if why == "foreign" else told
        yield from (f"{why}: {word}" for word in sorted(words) if word and word in searched)
    for title in sorted(expected.named):
        if title in told or text.count(title) > 1:
            yield f"resurrected: {title}"
    for position in {*_positions(both)} - {expected.position}:
        yield f"stale: phase {position}, not {expected.position}"
    for fact in expected.facts:
        if fact.kind in _ONE_LINE and sum(fact.needle in line for line in text.splitlines()) > 1:
            yield f"twice: {fact.kind} {fact.needle}"
        yield from _contradicted(fact, both)
    for fact in expected.mentionable:
        yield from _contradicted(fact, both)
    for match in _DIRT.finditer(text):
        yield f"raw: {match[0]!r} at {match.start()}"


def _elsewhere(expected: Expected, told: Sequence[str]) -> Iterable[str]:
    """Yield what isn't true in all other texts that the model got together with the guidance."""
    for text in (each.replace(guidance(each), "") if HEADING in each else each for each in told):
        yield from (f"foreign: {word}" for word in sorted(expected.wrong.get("foreign", ())) if word in text)
        for fact in expected.facts:
            yield from _contradicted(fact, text)


def _contradicted(fact: Fact, text: str) -> Iterable[str]:
    if fact.status and fact.needle in text:
        for line in dict.fromkeys(line for line in text.splitlines() if fact.needle in line):
            if not _agrees(fact.status, line):
                yield f"wrong status: {fact.kind} {fact.needle} is {fact.status}, but: {line.strip()[:120]}"


def _agrees(status: str, line: str) -> bool:
    """Return whether a line agrees with the status of a to-do or an agent; a line without a status agrees."""
    done = "[x]" in line or "(completed" in line
    undone = "[ ]" in line or "[>]" in line
    begun = line.startswith(_places()) or "in_progress" in line or "(in progress)" in line
    if status == "finished":
        return not (undone or begun or line.startswith("Next step:"))
    if status == "open":
        return not (done or begun)
    if status == "current":
        return not done and "(pending" not in line and "(failed" not in line
    if status == "ended":
        return not re.search(r"\b(?:runs|running)\b", line)
    return not re.search(r"\b(?:finished|failed|completed)\b", line)


def _over(facts: Sequence[Fact], beside: Sequence[Fact], text: str, longest: int) -> Iterable[str]:
    """Yield how the budget's rules were broken (docs/decisions.md)."""
    if longest > LIMIT_UNITS:
        yield f"{longest} units, more than {LIMIT_UNITS}"
    start = max(text.find(HEADING), 0)
    head = _cut(text[start:], HEAD_UNITS)
    for fact in facts:
        if fact.kind in _MUST_KEEP and not fact.long and not _stands(fact, head):
            yield f"{fact.kind} {fact.needle} does not stand within the first {HEAD_UNITS} units"
    short = [fact for fact in facts if not fact.long]
    wanted = sum(units(fact.needle) + _LINE_UNITS for fact in short)
    left = [fact for fact in beside if not fact.long]
    if left and wanted + _LEAD_UNITS <= LIMIT_UNITS:
        yield f"{len(left)} facts stand only in the sidecar though all fit, such as {left[0].kind} {left[0].needle}"
    elif left and longest < FULL * LIMIT_UNITS:
        yield f"{len(left)} facts stand only in the sidecar with {LIMIT_UNITS - longest} units to spare"
    first = min((text.find(fact.needle) for fact in short if fact.kind in _EARLIER and fact.needle in text), default=0)
    for fact in short:
        if fact.kind in _LATER and -1 < text.find(fact.needle) < first:
            yield f"{fact.kind} {fact.needle} stands before all reminders, reading and open to-dos"


def _cut(text: str, most: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: 2 * most].decode("utf-16-le", "ignore")
