"""The result of one row in one format: the sums of its readings, and whether it holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.survival.truth import KINDS, TRAIL_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.survival.score import Reading

SHOWN = 20  # how many complaints of each sort are kept


@dataclass(frozen=True, slots=True)
class Result:
    """A row's result.

    Attributes:
        row: its name.
        format: the format that stored the main workflow.
        compactions: how many were judged.
        kinds: kind of fact → how many were planted, inline and in the sidecar, over all compactions.
        short: how many compactions kept too few facts.
        goal: how many facts of one compaction are enough; None for all.
        lost: facts that were found nowhere.
        false: what was said and isn't true.
        over: how the budget was exceeded.
        faults: what else went wrong, such as guidance twice or without a compaction.
        units: the length of the longest text in UTF-16 units.
        repeats: whether the same state gave the same bytes, for each time this was tried.
        skipped: why it wasn't played.
        log: the errors that Holdfast itself logged.
    """

    row: str
    format: str
    compactions: int = 0
    kinds: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    short: int = 0
    goal: int | None = None
    lost: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    units: int = 0
    repeats: tuple[bool, ...] = ()
    skipped: str = ""
    log: tuple[str, ...] = ()

    @property
    def planted(self) -> int:
        """How many facts were planted, over all compactions."""
        return sum(planted for planted, _, _ in self.kinds.values())

    @property
    def inline(self) -> int:
        """How many facts were in the text."""
        return sum(inline for _, inline, _ in self.kinds.values())

    @property
    def recoverable(self) -> int:
        """How many facts were in the text or in the sidecar."""
        return sum(inline + beside for _, inline, beside in self.kinds.values())

    @property
    def holds(self) -> bool:
        """Whether enough was kept, nothing false was said, guidance came once, fit the budget and was reproducible."""
        if self.skipped:
            return True
        wrong = self.short or self.false or self.over or self.faults or not all(self.repeats)
        kept = self.goal is not None or self.recoverable == self.planted
        return bool(self.compactions) and kept and not wrong

    @property
    def aim(self) -> str:
        """How many facts are enough, in words; empty if all are needed."""
        return "" if self.goal is None else f"goal: {self.goal} of {self.planted // max(self.compactions, 1)}"

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        kinds = {
            kind: {"planted": planted, "inline": inline, "sidecar": beside}
            for kind, (planted, inline, beside) in self.kinds.items()
        }
        return {
            "row": self.row,
            "format": self.format,
            "holds": self.holds,
            "skipped": self.skipped or None,
            "compactions": self.compactions,
            "goal": self.goal,
            "planted": self.planted,
            "inline": self.inline,
            "recoverable": self.recoverable,
            "longest": self.units,
            "same_bytes": all(self.repeats),
            "kinds": kinds,
            "lost": list(self.lost),
            "false": list(self.false),
            "over_budget": list(self.over),
            "faults": list(self.faults),
            "log": list(self.log),
        }


def summed(
    row: str,
    format_name: str,
    readings: Sequence[Reading],
    faults: Sequence[str] = (),
    repeats: Sequence[bool] = (),
    *,
    skipped: str = "",
    log: Sequence[str] = (),
) -> Result:
    """Return a row's result from its readings."""
    planted, inline, beside = Counter[str](), Counter[str](), Counter[str]()
    for reading in readings:
        planted, inline, beside = planted + reading.planted, inline + reading.inline, beside + reading.recoverable
    missing = [f"compaction {n}: no guidance" for n, each in enumerate(readings, 1) if not each.given]
    return Result(
        row=row,
        format=format_name,
        compactions=len(readings),
        kinds={kind: (planted[kind], inline[kind], beside[kind]) for kind in (*KINDS, *TRAIL_KINDS) if planted[kind]},
        short=sum(each.short for each in readings),
        goal=readings[0].goal if readings else None,
        lost=_few([f"compaction {n}: {text}" for n, each in enumerate(readings, 1) for text in each.lost]),
        false=_few([f"compaction {n}: {text}" for n, each in enumerate(readings, 1) for text in each.false]),
        over=_few([f"compaction {n}: {text}" for n, each in enumerate(readings, 1) for text in each.over]),
        faults=_few(list(faults) or missing),
        units=max((each.units for each in readings), default=0),
        repeats=tuple(repeats),
        skipped=skipped,
        log=_few(log),
    )


def _few(found: Sequence[str]) -> tuple[str, ...]:
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return (*found[:SHOWN], *more)
