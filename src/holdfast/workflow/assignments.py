"""Find the phase that an agent was launched for, and what its result delivers (I000-14, I000-15)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, normalize

from holdfast.files.invisible import HIDDEN
from holdfast.workflow import markdown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from holdfast.workflow.model import Phase, Workflow

_HANDOVER_LIMIT_CHARS = 300  # characters of a hand-over that is taken from a result without markers
_READ_LIMIT_CHARS = 100_000  # characters of a prompt or result that are looked at
_MARKERS = {
    "deliverable": "deliverables",
    "deliverables": "deliverables",
    "context for next": "handover",
    "context for next phase": "handover",
}
_DECORATION = " \t*_`#:.\"'()[]"  # characters that may surround an id alone on a line
_SEPARATORS = re.compile(r"[^a-z0-9+=<>|~$]+")
_BETWEEN = re.compile(r"(?<!\d) | (?!\d)")  # spaces, except those between two numbers
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_LABEL = re.compile(r"(?P<word>phase|task|step)?(?P<number>\d{1,9})(?:(?: |of)(?P<total>\d{1,9}))?")
_ID_LABEL = re.compile(r"^\W*(?:phase|task|step)(?:\s+id)?[\s:#*`]+", re.IGNORECASE)  # before an id
_WORDS = r"(?:execute|do|implement|start|run|work\s+on|task|step|phase)"  # that order an agent to work (I000-15)
_ORDER = re.compile(rf"^\W*{_WORDS}\b[\s:*`]*", re.IGNORECASE)
_LAST_ORDER = re.compile(rf"[^\w)]{{1,9}}{_WORDS}\W{{0,9}}$", re.IGNORECASE)
_ORDER_WORDS = 4  # that come before a phase's name at most, as in "Start: execute task …"
_TASK_JSON = re.compile(r'(?:```\w*\s*)?\{\s*"task"\s*:\s*\{\s*"id"\s*:\s*"([^"\n]{1,200})"')
_NUMBERED = re.compile(r"[a-z0-9_.-]*\d")  # what can be an id, in lower case
_NUMBER = "0123456789."
_READERS = ("", "claude-code-guide", "explore", "plan")  # the client's agents that edit no files
_ID_LABELS = frozenset({"", "id", *(f"{word}{id_}" for word in ("phase", "task", "step") for id_ in ("", "id"))})
GENERIC_AGENTS = frozenset(
    {"agent", "claude", "claude-code-guide", "default", "explore", "fork", "general-purpose", "plan", "worker"}
)
"""Kinds of agents, in lower case, that the client offers for any purpose. Launching one is evidence of nothing."""


class _Name(NamedTuple):
    """A phase with its title and id in the form in which they are compared (`_plain`)."""

    phase: Phase
    title: str
    id: str


def extract_result(text: str, *, short: bool = True) -> tuple[tuple[str, ...], str]:
    """Return the deliverables and the hand-over that an agent's last message names.

    Marker lines `DELIVERABLES:` and `CONTEXT_FOR_NEXT:` (in any case, bold or as headings) are followed by text on the
    same line or by lines below. Without a marked hand-over, it is the first paragraph, cut at a word to 300 characters;
    or, unless it is to be `short`, everything but the deliverables.
    """
    blocks = _blocks(text[:_READ_LIMIT_CHARS])
    deliverables = [item for line in blocks["deliverables"] for item in _split(line)]
    handover = "\n".join(line.strip() for line in blocks["handover"]).strip()
    rest = _first_paragraph(blocks["rest"]) if short else "\n".join(blocks["rest"]).strip()
    return tuple(dict.fromkeys(deliverables)), handover or rest


def match_phase(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the phase an agent was launched for, None without evidence (I000-15).

    A phase that the launch names decides (`named`). If it doesn't even mention one, a specific kind of agent counts for
    the phase that is due, if no other unfinished phase has that kind.

    Args:
        workflow: the workflow.
        text: the call's description, one line, followed by its prompt.
        agent: `subagent_type`; if it is empty, only an id or exact title counts.
    """
    phase = named(workflow, text, agent)
    if phase or any(_mentions(workflow, line) for line in _head(text)):
        return phase
    return by_agent(workflow, agent, _due(workflow))


def named(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the phase that a launch names in its description or in its prompt's first line; None for none.

    A line that is the phase's id, its exact title, or both decides, whatever their case, spacing and punctuation. A
    label may come first, as in `Phase 2: Write tests`, `Task 1.1` or `Phase ID: phase_0`. An order counts only for the
    phase's own kind of agent: the same with words such as "execute task" around it, or a task's JSON at the head of the
    prompt. A mention among other words counts for nothing, because prompts quote the plan.

    Args:
        workflow, text, agent: as for `match_phase`.
    """
    due, lines = _due(workflow), _head(text)
    ids = [_ids(workflow, line) for line in lines]
    for line in lines:
        if phases := _referenced(workflow, line):
            phase = likeliest(phases, agent, due)
            return phase if phase and (line is lines[0] or _only(phase, ids[0])) else None
    for line in lines:
        orders = (_referenced(workflow, each) for each in _without_order(line))
        if phases := next(filter(None, orders), []):
            phase = likeliest([each for each in phases if _is_own(each, agent)], agent, due)
            return phase if phase and _only(phase, ids[0] | ids[1]) else None
    return None


def likeliest(phases: Sequence[Phase], agent: str, due: Collection[str]) -> Phase | None:
    """Choose among phases that a launch can refer to, such as two with the same title; None if it is unclear.

    Unfinished phases come before finished ones. Of several, the one with this agent counts, else the one that is due.
    """
    unfinished = [phase for phase in phases if phase.status != "completed"] or phases[:1]
    own = [phase for phase in unfinished if bare(phase.agent) == bare(agent)]
    now = [phase for phase in own or unfinished if phase.id in due]
    return next((each[0] for each in (unfinished, own, now) if len(each) == 1), None)


def by_agent(workflow: Workflow, agent: str, due: Collection[str]) -> Phase | None:
    """Return the phase that a kind of agent is evidence of: the only unfinished one that names it, if it is due.

    Args:
        workflow: the workflow.
        agent: `subagent_type`. A generic kind is evidence of nothing.
        due: the ids of the phases that can be worked on now.
    """
    kind = bare(agent)
    if not kind or kind.casefold() in GENERIC_AGENTS:
        return None
    named = [phase for phase in workflow.phases if phase.status != "completed" and bare(phase.agent) == kind]
    return named[0] if len(named) == 1 and named[0].id in due and named[0].status in ("pending", "active") else None


def _is_own(phase: Phase, agent: str) -> bool:
    """Return whether a kind of agent is a phase's own. A phase that names none is for each kind that can edit files."""
    kind = bare(agent)
    return kind == bare(phase.agent) if phase.agent else kind.casefold() not in _READERS


def bare(agent: str) -> str:
    """Return an agent's name as the client knows it, without the @ that people write."""
    return agent.strip().removeprefix("@")


def _head(text: str) -> tuple[str, str]:
    """Return the lines of a launch that can name a phase: its description and its prompt's first line.

    A prompt that begins with a task's JSON is an order to execute that task (document 002, "Execution Context").
    """
    description, _, prompt = text[:_READ_LIMIT_CHARS].partition("\n")
    prompt = prompt.lstrip()
    task = _TASK_JSON.match(prompt)
    return description, f"execute {task[1]}" if task else prompt.partition("\n")[0]


def _referenced(workflow: Workflow, line: str) -> list[Phase]:
    """Return the phases that a whole line refers to."""
    line = line.strip().lstrip("> ")  # the mark of a quotation; elsewhere `>` may mean something
    plain = _plain(line)
    phases = [name.phase for name in _names(workflow) if plain and _refers(plain, line, name, workflow)]
    verbatim = [phase for phase in phases if line.casefold().endswith(phase.title.strip().casefold())]
    return verbatim or phases or _by_number(workflow, plain)


def _without_order(line: str) -> Iterator[str]:
    """Yield a line without the first, and then also the last, words that order an agent to work."""
    for _ in range(_ORDER_WORDS):
        rest = _ORDER.sub("", line)
        yield from (each for each in (rest, _LAST_ORDER.sub("", line), _LAST_ORDER.sub("", rest)) if each != line)
        line = rest


def _mentions(workflow: Workflow, line: str) -> bool:
    """Return whether a line has a phase's id in it, or its title after other words, as in `Review TITLE`.

    A title of one word can be just that word, and a line that begins with the title varies it.
    """
    plain = _plain(line)
    titles = (name.title for name in _names(workflow) if " " in name.phase.title.strip())
    has_title = any(plain.find(title) > 0 for title in titles)
    return has_title or bool(_ids(workflow, line)) or bool(_referenced(workflow, line))


def _ids(workflow: Workflow, line: str) -> set[str]:
    """Return the ids in a line, in plain form: those of phases, and those written alike, such as a container's."""
    known = {each.id.casefold() for each in workflow.phases}
    stems = {each.rstrip(_NUMBER) for each in known} - {"", *known}
    numbered = _NUMBERED.findall(line.casefold())
    return {_unpadded(_plain(each)) for each in numbered if each in known or each.rstrip(_NUMBER) in stems}


def _only(phase: Phase, ids: Collection[str]) -> bool:
    """Return whether a phase's id is the only one of these ids, if there are any."""
    return {*ids} <= {_unpadded(_plain(phase.id))}


def _due(workflow: Workflow) -> tuple[str, ...]:
    """Return the ids of the phases to work on or, if they follow one another, the current or first pending one's."""
    if not workflow.in_order:
        return workflow.due
    unfinished = [phase for phase in workflow.phases if phase.status != "completed"]
    current = next((phase for phase in unfinished if phase.number == workflow.current), None)
    due = current or next((phase for phase in unfinished if phase.status == "pending"), None)
    return (due.id,) if due else ()


def _names(workflow: Workflow) -> list[_Name]:
    return [_Name(each, _plain(each.title), _unpadded(_plain(each.id))) for each in workflow.phases]


def _refers(plain: str, line: str, name: _Name, workflow: Workflow) -> bool:
    """Return whether a line, in plain form and as it is, refers to a phase."""
    phase, title, id_ = name
    written = {each.strip(_DECORATION).casefold() for each in (line, _ID_LABEL.sub("", line))}
    if plain == title or phase.id.casefold() in written:
        return True
    if title and plain.endswith(title):
        return _is_label(plain[: -len(title)].strip(), name, workflow)
    if title and plain.startswith(title):
        return _unpadded(plain[len(title) :].strip()) == id_
    return _is_id(plain, name) and not _LABEL.fullmatch(plain)


def _is_id(plain: str, name: _Name) -> bool:
    """Return whether a plain text is a phase's id, perhaps with a label before it, as in `Phase ID: phase_0`."""
    text = _unpadded(plain)
    return text.endswith(name.id) and text.removesuffix(name.id) in _ID_LABELS


def _is_label(text: str, name: _Name, workflow: Workflow) -> bool:
    """Return whether the plain text before a phase's title is its id or number."""
    if _is_id(text, name):
        return True
    label = _LABEL.fullmatch(text)
    if label is None or (label["total"] and int(label["total"]) != workflow.total):
        return False
    return int(label["number"]) in (name.phase.number, _id_number(name.phase))


def _by_number(workflow: Workflow, plain: str) -> list[Phase]:
    """Return the phase that `Phase N/M` counts, or the one that a bare `Phase N` means.

    `Task N` counts the units whose ids are such numbers, if there are any. The ids and the Markdown view of document
    000 count from 0 (R000-08, R000-23), the guidance from 1. A bare number can therefore mean either of two phases, and
    only the one that is due counts.
    """
    label = _LABEL.fullmatch(plain)
    if not label or not label["word"]:
        return []
    word, number = label["word"], int(label["number"])
    of_word = [each for each in workflow.phases if each.id.casefold().rstrip(_NUMBER) in (f"{word}-", f"{word}_")]
    counted = workflow.in_order and word in ("phase", workflow.unit)
    units = of_word or (list(workflow.phases) if counted else [])
    if label["total"]:
        return units[number - 1 : number] if int(label["total"]) == len(units) else []
    if all(_id_number(each) == place for place, each in enumerate(units, 1)):
        return units[number - 1 : number]
    due = _due(workflow)
    return [each for each in units if number in (each.number, _id_number(each)) and each.id in due]


def _id_number(phase: Phase) -> int | None:
    """Return the number in an id such as `phase_0` or `task-1`, None for another id."""
    counted = re.fullmatch(r"[A-Za-z]+[-_](\d{1,9})", phase.id)
    return int(counted[1]) if counted else None


def _plain(text: str) -> str:
    """Return a text without case, spacing and punctuation, so that texts can be compared.

    Two numbers stay apart: `1.2` is not `12`. A text of nothing but punctuation stays as it is.
    """
    folded = text.casefold()
    words = _SEPARATORS.sub(" ", folded) if folded.isascii() else _letters(folded)
    return _BETWEEN.sub("", " ".join(words.split())) or folded.strip()


def _letters(text: str) -> str:
    """Return a text of any language with a space for each character that separates or decorates words."""
    kinds = ((each, category(each)) for each in normalize("NFKC", HIDDEN.sub("", text)).casefold())
    return "".join(" " if kind[0] in "PZC" or kind in ("Sk", "So") else each for each, kind in kinds)


def _unpadded(plain: str) -> str:
    return _ZEROS.sub("", plain)


def _blocks(text: str) -> dict[str, list[str]]:
    """Return the lines under each marker, and the rest. A heading ends a block, as does an empty line after text."""
    blocks: dict[str, list[str]] = {"deliverables": [], "handover": [], "rest": []}
    block = "rest"
    for line in text.splitlines():
        marker = _marker(line)
        if marker:
            block, first = marker
            blocks[block] += [first] if first else []
        elif block != "rest" and (_is_heading(line) or (not line.strip() and blocks[block])):
            block = "rest"
            blocks[block].append(line)
        elif line.strip() or block == "rest":
            blocks[block].append(line)
    return blocks


def _marker(raw: str) -> tuple[str, str] | None:
    """Return the block that a line begins, and the text on the line itself; None if it begins none."""
    field = markdown.field(raw)
    if field and (name := _MARKERS.get(field.words.replace("_", " "))):
        return name, field.value
    line = markdown.line(raw)
    is_title = line.kind == "heading"
    bare = markdown.plain(line.text if is_title else raw)
    block = _MARKERS.get(bare.lower().replace("_", " "))
    return (block, "") if block and (is_title or bare != raw.strip()) else None


def _is_heading(raw: str) -> bool:
    return markdown.line(raw).kind == "heading"


def _split(raw: str) -> list[str]:
    """Return the deliverables on a line: a list item, a JSON array, or several separated by `;` or, for paths, `,`."""
    line = markdown.line(raw)
    parts = [line.text] if line.kind == "item" else _array(raw) or _divided(raw)
    return [markdown.plain(part) for part in parts if part and part.lower() not in ("none", "-")]


def _array(line: str) -> list[str]:
    try:
        listed = json.loads(line) if line.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return []
    return [str(item) for item in listed] if isinstance(listed, list) else []


def _divided(line: str) -> list[str]:
    for mark, words_allowed in ((";", True), (",", False)):
        parts = [part.strip() for part in line.split(mark)]
        if len(parts) > 1 and (words_allowed or not any(" " in part for part in parts)):
            return parts
    return [line.strip()]


def _first_paragraph(lines: Iterable[str]) -> str:
    paragraphs = [" ".join(part.split()) for part in "\n".join(lines).split("\n\n")]
    filled = [part for part in paragraphs if part and part != "```"]
    text = next((part for part in filled if not _is_heading(part)), filled[0] if filled else "")
    if len(text) <= _HANDOVER_LIMIT_CHARS:
        return text
    cut = text[: _HANDOVER_LIMIT_CHARS - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut}…"
