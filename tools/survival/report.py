"""The score's table for a terminal, for docs/survival-score.md and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.survival.result import Result
    from tools.survival.trials import Job

COLUMNS = ("row", "format", "compactions", "inline", "recoverable", "false", "longest", "once", "same bytes", "")
BEGIN, END = "<!-- score: written by make score -->", "<!-- end of the score -->"
_NOT_ONCE = ("guidance of compaction", "guidance without")


def rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """Yield the table's rows as texts."""
    for each in results:
        if each.skipped:
            yield (each.row, each.format, *["–"] * 7, f"skipped: {each.skipped}")
            continue
        once = not any(fault.startswith(_NOT_ONCE) for fault in each.faults)
        yield (
            each.row,
            each.format,
            str(each.compactions),
            share(each.inline, each.planted),
            share(each.recoverable, each.planted),
            str(len(each.false)),
            f"{each.units:,}",
            "yes" if once else "no",
            "–" if not each.repeats else "yes" if all(each.repeats) else "no",
            ("✓" if each.holds else "✗") + (f" ({each.aim})" if each.aim else ""),
        )


def share(part: int, whole: int) -> str:
    """Return a part in percent of the whole; `100 %` only if it is all of it."""
    if not whole:
        return "–"
    return "100 %" if part == whole else f"{min(100 * part / whole, 99.9):.1f} %"


def kinds(results: Sequence[Result]) -> dict[str, tuple[int, int, int]]:
    """Return for each kind of fact how many were planted, inline and in the sidecar, over all rows."""
    found: dict[str, tuple[int, int, int]] = {}
    for each in results:
        for kind, counts in each.kinds.items():
            before = found.get(kind, (0, 0, 0))
            found[kind] = (before[0] + counts[0], before[1] + counts[1], before[2] + counts[2])
    return found


def complaints(results: Sequence[Result]) -> Iterator[str]:
    """Yield lines on every row that doesn't hold."""
    for each in results:
        if not each.holds:
            found = [f"lost: {text}" for text in each.lost if each.short] + [f"false: {text}" for text in each.false]
            found += [f"budget: {text}" for text in each.over] + list(each.faults)
            found += [f"log: {text}" for text in each.log]
            yield f"{each.row} ({each.format})"
            yield from (f"  {text}" for text in found or ["nothing was judged"])


def moral(results: Sequence[Result]) -> str:
    """Return a sentence that sums up the results."""
    bad = sum(not each.holds for each in results)
    skipped = sum(bool(each.skipped) for each in results)
    planted, kept = sum(each.planted for each in results), sum(each.recoverable for each in results)
    false = sum(len(each.false) for each in results)
    beside = f"; {skipped} skipped" if skipped else ""
    played = len(results) - skipped
    rows = f"{played} row{'s' * (played != 1)}"
    text = f"{share(kept, planted)} of {planted:,} facts kept, {false} false, in {rows}{beside}"
    return f"{text}; {bad} of them {'does' if bad == 1 else 'do'} not hold." if bad else f"{text}."


def as_json(job: Job, results: Sequence[Result]) -> dict[str, Any]:
    """Return the results as JSON values."""
    return {
        "holds": all(each.holds for each in results),
        "cycles": job.cycles,
        "facts": job.facts,
        "seed": job.seed,
        "rows": [each.as_json() for each in results],
        "kinds": {
            kind: {"planted": planted, "inline": inline, "sidecar": beside}
            for kind, (planted, inline, beside) in kinds(results).items()
        },
    }


def markdown(job: Job, results: Sequence[Result]) -> str:
    """Return the table for docs/survival-score.md."""
    head = ["row", *COLUMNS[1:-1], "holds"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows(results)]
    some = f", killed at {job.instants} instants of each step only" if job.instants else ""
    return "\n".join([f"`--cycles {job.cycles} --facts {job.facts}`{some}: {moral(results)}", "", *lines])


def written(page: str, table: str) -> str:
    """Return a page with the table between its markers replaced. Raises ValueError if it has no markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"
