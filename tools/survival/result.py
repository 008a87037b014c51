"""The result of one row in one format, and the table of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.survival.score import Reading

COLUMNS = (
    *("row", "formats", "compactions", "inline", "recoverable", "false", "longest", "once", "same bytes", "holds"),
)
_NOT_ONCE = ("guidance of compaction", "guidance without")
_SHOWN = 20  # complaints of a row


@dataclass(frozen=True, slots=True)
class Result:
    """A row's result.

    Attributes:
        row: its name.
        format: the format that stored the main workflow.
        readings: the judgement of each compaction.
        faults: what else went wrong, such as guidance twice or without a compaction.
        repeats: whether the same state gave the same bytes, for each time this was tried.
        skipped: why it wasn't played.
        log: the errors that Holdfast itself logged.
    """

    row: str
    format: str
    readings: Sequence[Reading] = ()
    faults: Sequence[str] = ()
    repeats: Sequence[bool] = ()
    skipped: str = ""
    log: Sequence[str] = ()

    @property
    def planted(self) -> int:
        """How many facts were planted, over all compactions."""
        return sum(each.planted for each in self.readings)

    @property
    def inline(self) -> int:
        """How many facts were in the text."""
        return sum(each.inline for each in self.readings)

    @property
    def recoverable(self) -> int:
        """How many facts were in the text or in its full version."""
        return sum(each.inline + each.beside for each in self.readings)

    @property
    def false(self) -> list[str]:
        """What was said and isn't true."""
        return [f"compaction {n}: {text}" for n, each in enumerate(self.readings, 1) for text in each.false]

    @property
    def complaints(self) -> list[str]:
        """Everything that keeps the row from holding."""
        found = [f"false: {text}" for text in self.false]
        for number, each in enumerate(self.readings, 1):
            found += [f"lost: compaction {number}: {text}" for text in each.lost if each.short]
            found += [f"budget: compaction {number}: {text}" for text in each.over]
        found += self.faults
        return found if self.readings or self.skipped or found else ["nothing was judged"]

    @property
    def holds(self) -> bool:
        """Whether enough was kept, nothing false was said, guidance came once, fit the budget and was reproducible."""
        return not self.complaints

    @property
    def once(self) -> bool:
        """Whether guidance came once after each compaction, and never without one."""
        return not any(fault.startswith(_NOT_ONCE) for fault in self.faults)

    @property
    def longest(self) -> int:
        """How long the longest guidance was."""
        return max((each.units for each in self.readings), default=0)

    @property
    def verdict(self) -> str:
        """Whether it holds, with the goal that a row without a workflow has."""
        if self.skipped:
            return f"skipped: {self.skipped}"
        goal = self.readings[0].goal if self.readings else None
        return ("✓" if self.holds else "✗") + (f" (goal: {goal} of {self.readings[0].planted})" if goal else "")

    def lines(self) -> list[str]:
        """Return lines that say why it doesn't hold; none if it does."""
        if self.holds:
            return []
        log = [f"log: {text}" for text in self.log]
        return [f"{self.row} ({self.format})", *(f"  {text}" for text in [*self.complaints, *log][:_SHOWN])]


def share(part: int, whole: int) -> str:
    """Return a part in percent of the whole; `100 %` only if it is all of it."""
    if not whole:
        return "–"
    return "100 %" if part == whole else f"{min(100 * part / whole, 99.9):.1f} %"


def moral(results: Sequence[Result]) -> str:
    """Return a sentence that sums up the results."""
    bad = sum(not each.holds for each in results)
    skipped = sum(bool(each.skipped) for each in results)
    facts = share(sum(each.recoverable for each in results), sum(each.planted for each in results))
    false = sum(len(each.false) for each in results)
    text = (
        f"{facts} of {sum(each.planted for each in results):,} facts kept, {false} false, in {len(results)} scenarios"
    )
    return text + (f"; {skipped} skipped" if skipped else "") + (f"; {bad} don't hold." if bad else ".")


def markdown(results: Sequence[Result]) -> str:
    """Return the table: a line for each row, with the worst of what its formats gave."""
    rows = [[each for each in results if each.row == name] for name in dict.fromkeys(each.row for each in results)]
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(results: Sequence[Result]) -> Sequence[str]:
    """Return the line of a row."""
    first, formats = results[0], ", ".join(each.format for each in results)
    played = [each for each in results if not each.skipped]
    if not played:
        return (first.row, formats, *["–"] * 7, first.verdict)
    worst_inline = min(played, key=lambda each: each.inline / max(each.planted, 1))
    worst = min(played, key=lambda each: each.recoverable / max(each.planted, 1))
    repeats = [same for each in played for same in each.repeats]
    return (
        first.row,
        formats,
        str(sum(len(each.readings) for each in played)),
        share(worst_inline.inline, worst_inline.planted),
        share(worst.recoverable, worst.planted),
        str(sum(len(each.false) for each in played)),
        f"{max(each.longest for each in played):,}",
        "yes" if all(each.once for each in played) else "no",
        "–" if not repeats else "yes" if all(repeats) else "no",
        ", ".join(dict.fromkeys(each.verdict for each in results)),
    )
