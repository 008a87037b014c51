"""Which lines of a memory file are a workflow's, and which workflow that is (I001-2)."""

from __future__ import annotations

import re
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from holdfast.formats.compaction.detection import memoryphases
from holdfast.patterns import regex
from holdfast.workflow import prose, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STATUS = prose.label(r"(?:(?:current|phase)\s+)?status")
WHOLE_STATUS = prose.label(r"workflow\s+status")
KIND = prose.label(r"(?:workflow[ _])?type")
TOPIC = prose.label(r"(?:(?:required|key|workflow)\s+)?(?P<topic>reading|reminders?|context)(?:\s+variables)?")
_WORKFLOW = prose.label(r"(?:(?:current|active)\s+)?workflow(?:\s+name)?")
_FIELD = prose.label(r"\w[\w /-]{0,40}")
_LABELS = (_WORKFLOW, STATUS, WHOLE_STATUS, KIND, TOPIC, memoryphases.PHASE, memoryphases.TOTAL, memoryphases.NAME)
_MARKER = regex(
    r"\bworkflow[\s-]+state\b(?!\s+(?:management|machine|files?|formats?|schema|handling|tracking|persistence|docs?"
    r"|documentation|rules?|system|diagram|transitions?|restoration|director(?:y|ies)|folders?|json|handlers?))",
    re.IGNORECASE,
)
_BARE_MARKER = regex(r"(?:(?:current|active)\s+)?workflow\s+state\s*:?", re.IGNORECASE)
_SHOWING = regex(r"(?:examples?|samples?|templates?)(?:\s*[:\d(].*)?|.*\b(?:example|sample|template)s?", re.IGNORECASE)
_COUNT_IN_NAME = regex(
    r"(?P<name>.*[^\s(\[–—:,-])[\s(\[–—:,-]+phase\s+(?P<phase>\d{1,9}\s*(?:/|of)\s*\d{1,9}[^()\[\]]{0,80}?)[)\]]?",
    re.IGNORECASE,
)
_COMMAND = regex(
    r"(?:please |first,? |always |never |then |just |we )?(?:run|use|do|call|type|execute|make|push|pull|commit|open"
    r"|create|branch|rebase|merge|fork|clone|checkout|install|build|test|lint|format|start|write|edit|read|follow|check|ask|squash"
    r"|git|npm|pnpm|yarn|pip|uv|cargo|go|docker|kubectl)\b"
)  # in small letters: "Test `parse`" may well be a name
_RULE = regex(
    r"(?:[Dd]o not|[Dd]on['’]t|[Pp]lease|[Mm]ake sure)\s|(?:[Aa]lways|[Nn]ever|[Ww]e)\s+[a-z]"
    r"|[^\s`]*/[^\s`]*\.ya?ml\b|\S+\.ya?ml\W*$|.*\s[a-z]+\.\s+[A-Z][a-z]*\s+[a-z]"
)  # what people must do, the file of a build server, or more than one sentence
_STEPS = regex(r"`[^`]+`|\s(?:->|→|=>|&&)\s|,\s*(?:then|and|never|not|next)\b|\bthen\b|[;.](?:\s|$)")
_TOPICS = (
    ("reading", regex(r"\bread(?:ing|s)?\b", re.IGNORECASE)),
    ("reminders", regex(r"\breminders?\b", re.IGNORECASE)),
    ("context", regex(r"\bcontext\b", re.IGNORECASE)),
)
_OWN_TOPIC = regex(
    r"\W*(?:(?:required|key|important|mandatory|workflow)\s+)*(?:reading(?:\s+list)?|reads|reminders?|context)"
    r"(?:\s+(?:variables|list|files))?\W*",
    re.IGNORECASE,
)
_LINES = 2000  # of one workflow's notes that are looked at in any case
_ALL_LINES = 80_000  # of all workflows' notes in a file; one workflow alone can have nearly every file it fits in
_BLOCKS = 20  # places in a file that may hold a workflow's notes


class Line(NamedTuple):
    """A line with the topic of the list it stands in: reading, reminders, context or nothing."""

    text: str
    topic: str


class Block(NamedTuple):
    """The lines that are a workflow's, its name, and whether they stand under a heading "Workflow State".

    `at` is where in the file its name stands, `first` where its lines begin; a block without a name is only a heading.
    `cut` tells that it has more lines than were looked at.
    """

    name: str
    marked: bool
    lines: list[Line]
    at: int
    first: int
    cut: bool = False

    @property
    def texts(self) -> list[str]:
        """The lines without their topics."""
        return [line.text for line in self.lines]

    @property
    def status(self) -> str:
        """What is said of the status, of the whole workflow's first; empty where nothing is."""
        return prose.first(WHOLE_STATUS, self.texts) or prose.first(STATUS, self.texts) or ""


def find(text: str) -> tuple[Block | str, list[Block]]:
    """Return the lines of the workflow a text names, or the reason why it names none, and the other blocks in it.

    A name counts under a heading "Workflow State", or where a phase is named beside it; one that reads like an
    instruction needs both. Of several workflows the first that is not over counts.
    """
    everything = list(_shown(prose.lines(text)))
    marks = sum(_is_marker(line) or _WORKFLOW.match(line) is not None for line in everything)
    most = max(_LINES, _ALL_LINES // max(marks, 1))
    found = [*islice(_marked(everything, most), _BLOCKS), *islice(_unheaded(everything, most), _BLOCKS)]
    named = [block for block in found if block.name and not instructs(block)]
    going = (block for block in named if not is_over(block))
    chosen = next(going, named[0] if named else None)
    if chosen is None:
        return next(map(_instruction, filter(instructs, found)), "") or _nothing(everything), []
    inside = range(chosen.first, chosen.first + len(chosen.lines))
    others = {
        block.at: block for block in reversed(found) if block.at != chosen.at and (block.name or block.at not in inside)
    }
    return chosen, [others[at] for at in sorted(others)]


def is_over(block: Block) -> bool:
    """Tell whether a block says that its workflow is completed or given up."""
    if word := statuses.word(block.status):
        return word in ("dropped", "completed") and not statuses.in_progress(block.status)
    return "completed" in (memoryphases.unmarked(block.name)[1], memoryphases.place(block.texts).word)


def _nothing(everything: list[str]) -> str:
    """Return why there is no workflow."""
    values = [value for line in everything if (value := prose.value(_WORKFLOW, line)) is not None]
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


def _shown(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside sections that are headed as examples, one label on each."""
    hidden = 0
    for number, line in enumerate(lines):
        title = prose.heading(line)
        if title and (not hidden or title[0] <= hidden):
            showing = _SHOWING.fullmatch(title[1].strip(" :*_`")) and prose.value(_WORKFLOW, line) is None
            hidden = title[0] if showing else 0
        if hidden:
            continue
        row = prose.cells(line)
        if len(row) == 2 and row[0]:
            is_head = number + 1 < len(lines) and prose.is_rule(lines[number + 1])
            yield "" if is_head else f"{row[0].rstrip(':*')}: {row[1]}"
        else:
            for part in prose.parts(line):
                yield from _without_count(part)


def _without_count(line: str) -> tuple[str, ...]:
    """Return `Workflow: NAME (phase 2/3)` as two lines: a name that counts would be another workflow at each phase."""
    match = _COUNT_IN_NAME.fullmatch((prose.value(_WORKFLOW, line) or "")[:500])
    if not match:
        return (line,)
    title = prose.heading(line)
    marks = "#" * title[0] + " " if title else ""
    return (f"{marks}Workflow: {match['name']}", f"Phase: {match['phase']}")


def _marked(everything: list[str], most: int) -> Iterator[Block]:
    """Yield the blocks under headings "Workflow State"; the name may stand in a section around the heading."""
    markers = [index for index, line in enumerate(everything) if _is_marker(line)]
    for index in markers[:_BLOCKS]:
        title = prose.heading(everything[index])
        level = title[0] if title else 6
        lines = list(_topical(everything[index + 1 : index + 1 + most], level))
        texts = [line.text for line in lines]
        at, name = _named(enumerate(texts, index + 1))
        if not name and memoryphases.is_said(texts):
            at, name = _named(_around(everything[:index], level))
        yield Block(name, True, lines, at if name else index, index + 1, _is_cut(everything, index + 1, lines, most))


def _is_marker(line: str) -> bool:
    if "workflow" not in line.lower():
        return False
    title = prose.heading(line)
    return bool(title and _MARKER.search(title[1])) or bool(_BARE_MARKER.fullmatch(prose.plain(line[:200])))


def _is_cut(everything: list[str], first: int, lines: list[Line], most: int) -> bool:
    return len(lines) == most and len(everything) > first + most


def _unheaded(everything: list[str], most: int) -> Iterator[Block]:
    """Yield the blocks of `Workflow:` lines beside which a phase is named, one for each section.

    Beside a line are the fields and lists around it; beside a heading is its section. Headings `Phase N` are some road
    map's, unless the workflow is a heading too.
    """
    level, start, seen = 0, 0, -1
    for index, line in enumerate(everything):
        label, title = prose.value(_WORKFLOW, line), prose.heading(line)
        if title and (label is not None or not _is_label(line)):
            level, start = title[0], index + 1
        if label and seen != start and not memoryphases.is_empty(label):
            seen = start
            first = max(start, index - _LINES // 2)
            lines = list(_topical(everything[first : first + most], level))
            cut = _is_cut(everything, first, lines, most)
            lines = lines if title else [each for each in lines if not _is_road_map(each.text)]
            if memoryphases.is_said([each.text for each in lines] if title else _beside(everything, index)):
                yield Block(label, False, lines, index, first, cut)


def _beside(everything: list[str], index: int) -> list[str]:
    """Return a line with those around it, up to the next heading or text that is neither a field nor in a list."""
    above = takewhile(_is_field, reversed(everything[max(index - _LINES // 2, 0) : index]))
    below = takewhile(_is_field, everything[index + 1 : index + _LINES])
    return [*reversed(list(above)), everything[index], *below]


def _is_field(line: str) -> bool:
    if _is_label(line):
        return not _is_road_map(line)
    return (
        not line.strip() or prose.item(line) is not None or _FIELD.match(line) is not None or bool(prose.entries(line))
    )


def _is_road_map(line: str) -> bool:
    return prose.heading(line) is not None and memoryphases.LISTED.fullmatch(line[:1000]) is not None


def _around(before: list[str], level: int) -> list[tuple[int, str]]:
    """Return what stands directly in the sections around a heading of this level that follows, the nearest first."""
    found: list[tuple[int, str]] = []
    section: list[tuple[int, str]] = []
    for at in reversed(range(len(before))):
        line = before[at]
        title = prose.heading(line)
        if title is None:
            section.append((at, line))
            continue
        if title[0] < level:
            found += [*section, (at, line)]
            level = title[0]
        section = []
    return found + section


def _topical(lines: Iterable[str], level: int) -> Iterator[Line]:
    """Yield a section's lines with their topics.

    Sections for reading, reminders and context that follow it belong to it; another one of its heading's level, or
    above, ends it. `level` 0 is the text before the first heading.
    """
    topic = ""
    for line in lines:
        title = None if _is_label(line) else prose.heading(line)
        if title:
            if title[0] <= (level or 6) and not _OWN_TOPIC.fullmatch(title[1]):
                return
            topic = next((name for name, pattern in _TOPICS if pattern.search(title[1])), "")
        elif match := TOPIC.match(line):
            topic = {"reminder": "reminders"}.get(word := match["topic"].lower(), word)
        elif line.strip() and not prose.item(line) and not prose.entries(line):
            topic = ""
        yield Line(line, topic)


def _is_label(line: str) -> bool:
    if ":" not in line and "：" not in line and "phase" not in line.lower():
        return False
    return any(pattern.match(line) for pattern in _LABELS) or memoryphases.LISTED.fullmatch(line[:1000]) is not None


def _named(lines: Iterable[tuple[int, str]]) -> tuple[int, str]:
    """Return where the first line stands that names a workflow, and the name; an empty one where none does."""
    values = ((at, prose.value(_WORKFLOW, line)) for at, line in lines)
    return next(((at, value) for at, value in values if value and not memoryphases.is_empty(value)), (0, ""))


def instructs(block: Block) -> bool:
    """Tell whether a name says what to do instead of naming a workflow, as "run `make deploy`" does.

    Under a heading "Workflow State" and with a phase it is a name whatever it says.
    """
    if not (_COMMAND.match(block.name) and _STEPS.search(block.name)) and not _RULE.match(block.name):
        return False
    return not (block.marked and memoryphases.is_said(block.texts))


def _instruction(block: Block) -> str:
    return (
        f'has a line "Workflow: {block.name[:80]}", which reads like an instruction: as a name it would need a heading '
        '"Workflow State" above it and a "Phase:" line'
    )
