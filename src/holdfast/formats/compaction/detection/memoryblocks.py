"""Find the lines of a memory file that describe a workflow, and the workflow that they name (I001-2)."""

from __future__ import annotations

import re
from itertools import dropwhile, islice, takewhile, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from holdfast.formats.compaction.detection import memoryphases
from holdfast.workflow import markdown, scanner, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.formats.compaction.detection.memoryphases import Note
    from holdfast.workflow.markdown import Line

_MARKER = re.compile(
    r"\bworkflow[\s-]+state\b(?!\s+(?:management|machine|files?|formats?|schema|handling|tracking|persistence|docs?"
    r"|documentation|rules?|system|diagram|transitions?|restoration|director(?:y|ies)|folders?|json|handlers?))",
    re.IGNORECASE,
)
_MARKER_NAMES = ("workflow state", "current workflow state", "active workflow state")
_SHOWING = frozenset({"example", "examples", "sample", "samples", "template", "templates"})
_TOPICS = {
    "read": "reading",
    "reads": "reading",
    "reading": "reading",
    "reminder": "reminders",
    "reminders": "reminders",
    "context": "context",
}
_TOPIC_WORDS = frozenset({"required", "key", "important", "mandatory", "workflow"})  # before the topic of a heading
_TOPIC_ENDS = frozenset({"variables", "list", "files"})
_LINES = 2000  # lines of one workflow's notes that are always looked at
_ALL_LINES = 80_000  # lines of all workflows' notes in a file; enough for one workflow in nearly every file
_BLOCKS = 20  # places in a file that may hold a workflow's notes


class Block(NamedTuple):
    """The lines that describe a workflow, its name, and whether they are under a heading "Workflow State".

    `at` is the line of its name in the file, `first` the line at which the block begins, both counted in notes from 0.
    A block without a name is only a heading. `cut` means that it has more lines than were looked at.
    """

    name: str
    marked: bool
    notes: list[Note]
    at: int
    first: int
    cut: bool = False

    @property
    def status(self) -> str:
        """The status in the workflow's own words, that of the whole workflow first; empty for none."""
        return memoryphases.first(self.notes, "whole status") or memoryphases.first(self.notes, "status")


def find(text: str) -> tuple[Block | str, list[Block]]:
    """Return the block of the workflow that a text names, or the reason why it names none, and the other blocks in it.

    A name counts under a heading "Workflow State", or if a phase is named beside it. Of several workflows, the first
    that is not over counts.
    """
    everything = [memoryphases.note(line) for line in _shown(scanner.lines(text))]
    marks = sum(_is_marker(note.line) or note.meaning == "workflow" for note in everything)
    most = max(_LINES, _ALL_LINES // max(marks, 1))
    found = [*islice(_marked(everything, most), _BLOCKS), *islice(_unheaded(everything, most), _BLOCKS)]
    named = [block for block in found if block.name]
    going = (block for block in named if not is_over(block))
    chosen = next(going, named[0] if named else None)
    if chosen is None:
        return _nothing(everything), []
    inside = range(chosen.first, chosen.first + len(chosen.notes))
    others = {
        block.at: block for block in reversed(found) if block.at != chosen.at and (block.name or block.at not in inside)
    }
    return chosen, [others[at] for at in sorted(others)]


def is_over(block: Block) -> bool:
    """Return whether a block says that its workflow is completed or given up."""
    if word := statuses.word(block.status):
        return word in ("dropped", "completed") and not statuses.in_progress(block.status)
    return "completed" in (memoryphases.unmarked(block.name)[1], memoryphases.place(block.notes).word)


def _nothing(everything: list[Note]) -> str:
    """Say why a text names no workflow."""
    values = [note.value for note in everything if note.meaning == "workflow"]
    if name := next((value for value in values if not memoryphases.is_empty(value)), ""):
        line = f'has a line "Workflow: {name[:80]}"'
        phase = memoryphases.unnamed(everything)
        if phase is not None:
            shown = f"says {quoted(phase)}" if phase else "is empty"
            return (
                f'{line}, but no heading "Workflow State" above it, and the "Phase:" line {shown}, which names no phase'
            )
        return f'{line}, but neither a heading "Workflow State" above it nor a "Phase:" line beside it'
    if given := next(filter(None, values), ""):
        return f'has a line "Workflow: {given[:80]}", which names no workflow'
    return 'has no name in its line "Workflow:"' if values else 'has no line "Workflow: NAME"'


def _shown(lines: list[Line]) -> Iterator[Line]:
    """Yield the lines outside sections of examples, split so that each has one label."""
    hidden = 0
    for line, under in zip_longest(lines, lines[1:]):
        if line.kind == "heading" and (not hidden or line.depth <= hidden):
            hidden = line.depth if _is_showing(line.text.strip(" :*_`")) and not _names(line) else 0
        if hidden:
            continue
        if len(line.cells) == 2 and line.cells[0]:
            is_head = under is not None and under.kind == "rule"
            yield markdown.line("" if is_head else f"{line.cells[0].rstrip(':*')}: {line.cells[1]}")
        else:
            for part in markdown.parts(line.raw):
                yield line if part == line.raw else markdown.line(part)


def _is_showing(title: str) -> bool:
    """Return whether a heading is about examples: it ends with that word, or begins with it and a number or names."""
    words = markdown.words(title) or [""]
    first = words[0].rstrip("0123456789")
    behind = title[len(first) :].lstrip()[:1]
    goes_on = title[:1].isalnum() and (behind in ("(", ":") or behind.isdigit())
    return (goes_on and first in _SHOWING) or (title[-1:].isalnum() and words[-1] in _SHOWING)


def _names(line: Line) -> str | None:
    """Return what a line `Workflow: NAME` names, or None for any other line."""
    named = memoryphases.note(line) if "orkflow" in line.raw or "ORKFLOW" in line.raw else None
    return named.value if named and named.meaning == "workflow" else None


def _marked(everything: list[Note], most: int) -> Iterator[Block]:
    """Yield the blocks under headings "Workflow State"."""
    markers = [index for index, note in enumerate(everything) if _is_marker(note.line)]
    for index in markers[:_BLOCKS]:
        line = everything[index].line
        level = line.depth if line.kind == "heading" else 6
        notes = list(_topical(everything[index + 1 : index + 1 + most], level))
        at, name = _named(enumerate(notes, index + 1))
        yield Block(name, True, notes, at if name else index, index + 1, _is_cut(everything, index + 1, notes, most))


def _is_marker(line: Line) -> bool:
    """Return whether a line is the heading or the words "Workflow State", in any case (I001-1)."""
    if "workflow" not in line.raw.lower():
        return False
    is_headed = line.kind == "heading" and _MARKER.search(line.text) is not None
    return is_headed or markdown.plain(line.raw[:200]).rstrip(":").rstrip().lower() in _MARKER_NAMES


def _is_cut(everything: list[Note], first: int, notes: list[Note], most: int) -> bool:
    return len(notes) == most and len(everything) > first + most


def _unheaded(everything: list[Note], most: int) -> Iterator[Block]:
    """Yield the blocks of `Workflow:` lines with a phase named beside them, one for each section.

    Beside a line are the fields and lists around it; beside a heading is its section. Headings `Phase N` belong to a
    road map, unless the workflow is a heading too.
    """
    level, start, seen = 0, 0, -1
    for index, note in enumerate(everything):
        is_name, is_heading = note.meaning == "workflow", note.line.kind == "heading"
        if is_heading and (is_name or not note.is_label):
            level, start = note.line.depth, index + 1
        if is_name and note.value and seen != start and not memoryphases.is_empty(note.value):
            seen = start
            first = max(start, index - _LINES // 2)
            notes = list(_topical(everything[first : first + most], level))
            cut = _is_cut(everything, first, notes, most)
            notes = notes if is_heading else [each for each in notes if not _is_road_map(each)]
            if memoryphases.is_said(notes if is_heading else _beside(everything, index)):
                yield Block(note.value, False, notes, index, first, cut)


def _beside(everything: list[Note], index: int) -> list[Note]:
    """Return a line with the lines around it, up to a heading or to text that is neither a field nor in a list."""
    above = takewhile(_is_field, reversed(everything[max(index - _LINES // 2, 0) : index]))
    below = takewhile(_is_field, everything[index + 1 : index + _LINES])
    return [*reversed(list(above)), everything[index], *below]


def _is_field(note: Note) -> bool:
    if note.is_label:
        return not _is_road_map(note)
    return note.line.kind in ("blank", "item") or note.is_field or bool(markdown.entries(note.line.raw))


def _is_road_map(note: Note) -> bool:
    return note.line.kind == "heading" and note.listed is not None


def _topical(notes: Iterable[Note], level: int) -> Iterator[Note]:
    """Yield a section's lines with their topics.

    Sections for reading, reminders and context that follow it belong to it. Any other heading of the same level, or
    above, ends it. `level` 0 is the text before the first heading.
    """
    topic = ""
    for note in notes:
        line = note.line
        if line.kind == "heading" and not note.is_label:
            if line.depth <= (level or 6) and not _is_own_topic(line.text):
                return
            named = {_TOPICS.get(word) for word in markdown.words(line.text)}
            topic = next((each for each in _TOPICS.values() if each in named), "")
        elif note.meaning == "topic":
            topic = note.topic
        elif line.kind not in ("blank", "item") and not markdown.entries(line.raw):
            topic = ""
        yield note if note.topic == topic else note._replace(topic=topic)


def _is_own_topic(title: str) -> bool:
    """Return whether a heading is for the reading, the reminders or the context of a workflow and nothing else."""
    first, *others = list(dropwhile(_TOPIC_WORDS.__contains__, markdown.name(title).split())) or [""]
    return first != "read" and first in _TOPICS and _TOPIC_ENDS.issuperset(others)


def _named(notes: Iterable[tuple[int, Note]]) -> tuple[int, str]:
    """Return the position and the name of the first line that names a workflow; (0, "") for none."""
    values = ((at, note.value) for at, note in notes if note.meaning == "workflow")
    return next(((at, value) for at, value in values if value and not memoryphases.is_empty(value)), (0, ""))
