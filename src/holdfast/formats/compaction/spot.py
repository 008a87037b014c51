"""The position of a `compaction` workflow: its phase object, as in R001-05 or as people write it by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.formats.compaction.detection import memory, phaselist
from holdfast.workflow import statuses, values
from holdfast.workflow.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.workflow.model import Status

NEUTRAL: dict[str, Status] = {
    "not_started": "pending",
    "in_progress": "active",
    "completed": "completed",
    "blocked": "blocked",
}
WORDS: dict[Status, str] = {neutral: word for word, neutral in NEUTRAL.items()}


class Spot(NamedTuple):
    """The position of a workflow: 1 <= current <= total (I001-17); `word` is a status word of R001-07.

    `counted` is False if the file gives no
    total or says that the position is unknown. `beyond` is True if it gives a phase after the last.
    """

    current: int
    total: int
    name: str
    word: str
    counted: bool = True
    beyond: bool = False

    @property
    def sure(self) -> bool:
        """Whether it is known which phase is the last."""
        return self.counted and not self.beyond


def spot(data: Mapping[str, Any], warnings: list[str]) -> Spot:
    """Return the position in a state file. Numbers out of bounds are corrected, with a warning."""
    phase = data.get("phase")
    current, total, name, word = _raw_phase(phase)
    first = current if current is not None else 1
    last = total if total is not None else max(first, 1)
    if isinstance(phase, dict):
        _warn_of_number("phase.current", phase.get("current"), current, first, warnings)
        _warn_of_number("phase.total", phase.get("total", total), total, last, warnings)
    else:
        warnings.append(f'"phase" is not an object; phase {first} of {last} is taken')
    if not name.strip():
        warnings.append('"phase.name" is missing or empty')
    bounded = min(max(first, 1), max(last, 1)), max(last, 1)
    if bounded != (first, last):
        warnings.append(f"phase {first} of {last} is not possible; {bounded[0]}/{bounded[1]} is taken")
    known = total is not None and name.strip() != UNKNOWN
    return Spot(*bounded, name.strip(), _word(word, warnings), known, first > last)


def changed_phase(phase: Any, now: Spot, **changes: Any) -> dict[str, Any]:
    """Return a phase object with some of its values changed: `current`, `total`, `name`, `status`.

    None is no change. An unchanged value stays as it was written, whatever it is. A missing one is filled in.
    """
    kept = dict(phase) if isinstance(phase, dict) else {}
    stands = {"current": now.current, "total": now.total, "name": now.name, "status": now.word}
    if not now.counted:
        del stands["total"]  # a guess is not written
    filled = {key: value for key, value in stands.items() if key not in kept}
    return {**kept, **filled, **{key: value for key, value in changes.items() if value is not None}}


def _warn_of_number(name: str, value: Any, read: int | None, taken: int, warnings: list[str]) -> None:
    if read is None:
        warnings.append(f'"{name}" is not a number; {taken} is taken')
    elif not isinstance(value, int):
        said = json.dumps(value, ensure_ascii=False)
        warnings.append(f'"{name}" is {said}, which is not a whole number; {taken} is taken')


def _raw_phase(phase: Any) -> tuple[int | None, int | None, str, str]:
    """Return number, total, name and status as written by hand: an object, or text such as `2/5 - Build`."""
    if not isinstance(phase, dict):
        number, total, name = phaselist.position(values.text(phase).strip())
        return number, total, name or "", ""
    current, total = values.number(phase.get("current")), values.number(phase.get("total"))
    named = None
    if current is None:
        current, of, named = phaselist.position(values.text(phase.get("current")).strip())
        total = of if total is None else total
    return current, total, values.text(phase.get("name")).strip() or named or "", values.text(phase.get("status"))


def _word(status: str, warnings: list[str]) -> str:
    """Return the word of R001-07 for a status, ignoring signs around it; an unknown one counts as in progress."""
    word = memory.WORDS.get(statuses.pure(status) or "")
    if word is None:
        warnings.append(f'"phase.status" is "{status}", not one of {", ".join(NEUTRAL)}; in_progress is taken')
    return word or "in_progress"
