"""The facts of a workflow by section, each as a short line and in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.workflow import wording
from holdfast.workflow.outside_reading import OUTSIDE, outside

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from holdfast.clients.client import Todo
    from holdfast.workflow.model import Phase, Workflow

_WORDS = {"active": "in_progress"}
_DEEPEST = 4  # levels to which a context value is taken apart


class Fact(NamedTuple):
    """One thing to know: `label` before `value`, `mark` after it, and the value's `limit` in characters on a line.

    `phase` is the number of the phase that it is left out with (`Section.without`); 0 if it stays.
    """

    value: str
    label: str = ""
    mark: str = ""
    limit: int = wording.VALUE_LIMIT_CHARS
    phase: int = 0

    def line(self, pointer: str) -> str:
        """Return the fact on one line; a long value is cut and followed by `pointer`."""
        label = f"{wording.one_line(self.label, 80)} " if self.label else ""
        return f"- {label}{wording.one_line(self.value, self.limit, pointer)}{self.mark}"

    @property
    def whole(self) -> str:
        """The fact with its whole value, line breaks and all."""
        return wording.clean(f"- {self.label} {self.value}{self.mark}" if self.label else f"- {self.value}{self.mark}")


class Section(NamedTuple):
    """Facts under a heading."""

    heading: str
    facts: tuple[Fact, ...]

    def without(self, phases: Collection[int]) -> Section:
        """Return the section without the facts of the phases with these numbers, which are elsewhere in the text."""
        return self._replace(facts=tuple([fact for fact in self.facts if fact.phase not in phases]))


class Part:
    """The lines of one section that weren't handed out yet, under its heading."""

    def __init__(self, section: Section, pointer: str) -> None:
        self.heading = section.heading
        self.lines = [fact.line(pointer) for fact in section.facts]

    def size(self, count: int) -> int:
        """Return the length of so many lines with the heading, in UTF-16 units."""
        return wording.size([self.heading, *self.lines[:count]]) if count else 0

    def fitting(self, room: int) -> int:
        """Return how many lines, with the heading, fit into `room` units."""
        room -= wording.size([self.heading])
        for count, text in enumerate(self.lines):
            room -= wording.units(text) + 1
            if room < 0:
                return count
        return len(self.lines)

    def take(self, count: int) -> list[str]:
        """Hand out so many lines with the heading; the rest is its continuation."""
        if not count:
            return []
        taken = [self.heading, *self.lines[:count]]
        del self.lines[:count]
        colon = ":" if self.heading.endswith(":") else ""
        self.heading = f"{self.heading.removesuffix(':')} (continued){colon}"
        return taken


def fill(shown: Iterable[Part], important: Iterable[Part], budget: int, *, fair: bool = False) -> list[str]:
    """Return lines within `budget` UTF-16 units. Parts get room as they are `important`, and come in the order `shown`.

    With `fair`, each part first gets an equal share, so that a long one can't push out the others. Unused room then
    goes to the parts in their order.
    """
    waiting = [part for part in important if part.lines]
    counts = dict.fromkeys(waiting, 0)
    for most in (budget // max(len(waiting), 1) if fair else 0, budget):
        for part in waiting:
            room = budget - sum(each.size(count) for each, count in counts.items() if each is not part)
            counts[part] = max(counts[part], part.fitting(min(room, most)))
    return [text for part in shown for text in part.take(counts.get(part, 0))]


def status_word(status: str) -> str:
    """Return the word for a status in messages."""
    return _WORDS.get(status, status)


def reading(workflow: Workflow, files: Callable[[str], str | None]) -> tuple[Section, Section]:
    """Return the required reading, each entry with the word of `files`, and the entries outside the project."""
    marked = [(entry, files(entry)) for entry in workflow.reading]
    inside = [Fact(entry, mark=f" ({state})" if state else "") for entry, state in marked if state != OUTSIDE]
    left = [Fact(entry) for entry, state in marked if state == OUTSIDE]
    return Section("REQUIRED READING", tuple(inside)), Section("Outside the project; don't read these:", tuple(left))


def reminders(workflow: Workflow) -> Section:
    """Return the key reminders."""
    return Section("Key reminders:", tuple(map(Fact, workflow.reminders)))


def open_phases(workflow: Workflow) -> Section:
    """Return the unfinished phases as a checklist. There are no facts if only the current one is known."""
    unfinished = [phase for phase in workflow.phases if phase.status != "completed"]
    known = unfinished if len(unfinished) > 1 else []
    listed = (Fact(each.name, f"[ ] {workflow.named(each)}", _mark(each), phase=each.number) for each in known)
    return Section("Open to-dos:", tuple(listed))


def own_todos(todos: Sequence[Todo]) -> Section:
    """Return the session's own open to-dos."""

    def mark(todo: Todo) -> str:
        return "" if todo.status == "pending" else f" ({todo.status.replace('_', ' ')})"

    return Section("This session's own to-dos:", tuple(Fact(each.text, "[ ]", mark(each)) for each in todos))


def finished_phases(workflow: Workflow) -> Section:
    """Return the deliverables and hand-overs of finished phases, the last phase first."""
    finished: list[Fact] = []
    worked_on = [
        each for each in reversed(workflow.phases) if each.status == "completed" or each.deliverables or each.handover
    ]
    for phase in worked_on:
        place = f"{workflow.named(phase)} "
        if phase.status == "completed":
            finished.append(Fact(phase.name, f"[x] {place.rstrip()}"))
            place = ""  # its title stands right above
        finished += [Fact(item, f"{place}delivered:") for item in phase.deliverables]
        finished += [Fact(phase.handover, f"{place}handed over:", phase=phase.number)] if phase.handover else []
    return Section("Finished:", tuple(finished))


def context(workflow: Workflow) -> Section:
    """Return the context variables. A large list or object gives a fact for each of its values."""
    return Section("Context:", tuple(_flat(workflow.context)))


def is_inline(section: Section) -> bool:
    """Return whether the short lines of all facts have everything that the full version has."""
    return all(fact.line("") == fact.whole for fact in section.facts)


def lines(heading: str, items: Iterable[str]) -> Section:
    """Return Holdfast's own lines as a section."""
    return Section(heading, tuple(Fact(text, limit=2 * wording.VALUE_LIMIT_CHARS) for text in items))


def presence(root: Path) -> Callable[[str], str | None]:
    """Return a function that says whether an `@path` is outside the project or "missing" (I001-21); else None."""

    def state(entry: str) -> str | None:
        if outside(root, entry):
            return OUTSIDE
        try:
            return None if (root / Path(entry.removeprefix("@")).expanduser()).exists() else "missing"
        except (OSError, ValueError, RuntimeError):
            return "missing"

    return state


def _mark(phase: Phase) -> str:
    if phase.status == "pending" and not phase.agent:
        return ""
    parts = [] if phase.status == "pending" else [status_word(phase.status)]
    parts += [f"agent {wording.one_line(phase.agent, 80)}"] if phase.agent else []
    return f" ({', '.join(parts)})" if parts else ""


def _flat(context: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[Fact]:
    for key, value in context.items():
        name = f"{prefix}{key}"
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts = _parts(value) if len(shown) > wording.VALUE_LIMIT_CHARS and depth < _DEEPEST else {}
        if parts:
            yield from _flat(parts, f"{name}.", depth + 1)
        else:
            yield Fact(shown, f"{name}:")


def _parts(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    items: Sequence[Any] = value if isinstance(value, list) else ()
    return {str(number): item for number, item in enumerate(items, 1)}
