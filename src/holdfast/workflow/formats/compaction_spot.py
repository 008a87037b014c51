"""Where a `compaction` workflow stands: its phase object, as R001-05 has it or as people keep it by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.workflow import memory, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.workflow.model import Status

NEUTRAL: dict[str, Status] = {
    "not_started": "pending",
    "in_progress": "active",
    "completed": "completed",
    "blocked": "blocked",
}
_SPELLINGS = {
    "pending": "not_started",
    "todo": "not_started",
    "active": "in_progress",
    "started": "in_progress",
    "running": "in_progress",
    "complete": "completed",
    "done": "completed",
    "finished": "completed",
    "failed": "blocked",
}
WORDS: dict[Status, str] = {neutral: word for word, neutral in NEUTRAL.items()}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the workflow stands: 1 <= current <= total (I001-17); `word` is one of R001-07."""

    current: int
    total: int
    name: str
    word: str


def spot(data: Mapping[str, Any], warnings: list[str]) -> Spot:
    """Return where a state file's workflow stands; what is out of bounds is brought within them and warned of."""
    current, total, name, word = _raw_phase(data.get("phase"))
    if current is None:
        warnings.append('"phase.current" is not a number; 1 is taken')
    first = current if current is not None else 1
    last = total if total is not None else max(first, 1)
    if total is None:
        warnings.append(f'"phase.total" is not a number; {last} is taken')
    bounded = Spot(min(max(first, 1), max(last, 1)), max(last, 1), name.strip(), _word(word, warnings))
    if (bounded.current, bounded.total) != (first, last):
        warnings.append(f"phase {first} of {last} is not possible; {bounded.current}/{bounded.total} is taken")
    return bounded


def _raw_phase(phase: Any) -> tuple[int | None, int | None, str, str]:
    """Return number, total, name and status as kept by hand: an object, or text such as `2/5 - Build`."""
    if not isinstance(phase, dict):
        number, total, name = memory.position(values.text(phase).strip())
        return number, total, name or "", ""
    current, total = values.number(phase.get("current")), values.number(phase.get("total"))
    if current is None:
        current, of, _ = memory.position(values.text(phase.get("current")).strip())
        total = of if total is None else total
    return current, total, values.text(phase.get("name")), values.text(phase.get("status"))


def _word(status: str, warnings: list[str]) -> str:
    word = "_".join(status.lower().replace("-", " ").replace("_", " ").split())
    word = _SPELLINGS.get(word, word)
    if word not in NEUTRAL:
        warnings.append(f'"phase.status" is "{status}", not one of {", ".join(NEUTRAL)}; in_progress is taken')
        return "in_progress"
    return word
