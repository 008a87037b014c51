"""Which phase an agent was launched for, and what its result delivers (I000-14, I000-15)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from holdfast.patterns import regex
from holdfast.workflow import prose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.workflow.model import Phase, Workflow

_LONGEST = 300  # characters of a hand-over taken from an unmarked result
_READ = 100_000  # characters of a prompt or result that are looked at
_MARKERS = {
    "deliverables": r"deliverables?",
    "handover": r"context[ _]for[ _]next(?:[ _]phase)?",
}
_INLINE = {name: prose.label(words) for name, words in _MARKERS.items()}
_AS_HEADING = {name: regex(words, re.IGNORECASE) for name, words in _MARKERS.items()}
_NUMBERED = regex(r"\bphase[ #]{1,2}(\d{1,4})\b(?!\s{0,3}(?:/|of\b)\s{0,3}\d)", re.IGNORECASE)
_OF_TOTAL = regex(r"\bphase[ #]{1,2}(\d{1,4})\s{0,3}(?:/|of\b)\s{0,3}(\d{1,4})\b", re.IGNORECASE)


def extract_result(text: str) -> tuple[tuple[str, ...], str]:
    """Return the deliverables and the hand-over that an agent's last message names.

    Marker lines `DELIVERABLES:` and `CONTEXT_FOR_NEXT:` (in any case, bold or as headings) are followed by text on the
    line or by lines below. Without a hand-over the first paragraph is it, shortened to 300 characters at a word.
    """
    blocks = _blocks(text[:_READ])
    deliverables = [item for line in blocks["deliverables"] for item in _split(line)]
    handover = "\n".join(line.strip() for line in blocks["handover"]).strip()
    return tuple(dict.fromkeys(deliverables)), handover or _first_paragraph(blocks["rest"])


def match_phase(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the phase an agent was launched for, or None when it is for none.

    `text` is the call's description followed by its prompt. What is named decides: a phase's id or whole title, else
    `Phase N`; of several that are unfinished the agent's own, then the one named first. The agent's name alone
    counts only for the current or first pending phase, and only if no other unfinished phase has that agent.
    """
    phases = titled(workflow, text) or _numbered(workflow, " ".join(text[:_READ].split()).casefold())
    return _meant(phases, agent) if phases else _by_agent(workflow, agent)


def titled(workflow: Workflow, text: str) -> list[Phase]:
    """Return the phases whose id or whole title stands in a text, the one named first in front."""
    folded = " ".join(text[:_READ].split()).casefold()
    lines = [" ".join(line.split()).casefold() for line in text[:_READ].splitlines()]
    named = [
        (at, -len(each.title), each) for each in workflow.phases if (at := _named(each, folded, lines)) is not None
    ]
    return [each for *_, each in sorted(named, key=lambda found: found[:2])]


def _meant(named: list[Phase], agent: str) -> Phase:
    """Choose among phases that are named: a prompt may well tell what is done already."""
    unfinished = [phase for phase in named if phase.status != "completed"]
    own = [phase for phase in unfinished if phase.agent.strip() == agent.strip()]
    return (own or unfinished or named)[0]


def _blocks(text: str) -> dict[str, list[str]]:
    """Return the lines under each marker, and the rest; a heading or, after text, an empty line ends a block."""
    found: dict[str, list[str]] = {"deliverables": [], "handover": [], "rest": []}
    block = "rest"
    for line in text.splitlines():
        marker = _marker(line)
        if marker:
            block, first = marker
            found[block] += [first] if first else []
        elif block != "rest" and (prose.heading(line) or (not line.strip() and found[block])):
            block = "rest"
            found[block].append(line)
        elif line.strip() or block == "rest":
            found[block].append(line)
    return found


def _marker(line: str) -> tuple[str, str] | None:
    for name, pattern in _INLINE.items():
        value = prose.value(pattern, line)
        if value is not None:
            return name, value
    title = prose.heading(line)
    bare = prose.plain(title[1] if title else line)
    marked = title is not None or bare != line.strip()
    return next(((name, "") for name, pattern in _AS_HEADING.items() if marked and pattern.fullmatch(bare)), None)


def _split(line: str) -> list[str]:
    """Return the deliverables on a line: a list item, a JSON array, or several divided by `;` or, if paths, by `,`."""
    item = prose.item(line)
    parts = [item] if item is not None else _array(line) or _divided(line)
    return [prose.plain(part) for part in parts if part and part.lower() not in ("none", "-")]


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
    text = next((part for part in filled if not prose.heading(part)), filled[0] if filled else "")
    if len(text) <= _LONGEST:
        return text
    cut = text[: _LONGEST - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut}…"


_DECORATION = "*_`#:. "  # of a line that holds a title alone


def _named(phase: Phase, folded: str, lines: list[str]) -> int | None:
    """Return where a phase's id or whole title stands first, or None.

    A title of one word is no more than a word of prose, so it counts only as a line of its own.
    """
    title, found = " ".join(phase.title.split()).casefold(), list[int]()
    if re.search(r"[_\d-]", phase.id):
        found.append(_whole(phase.id.casefold(), folded))
    bare = title.strip(_DECORATION)
    if " " in title or (title and any(line == title or (bare and line.strip(_DECORATION) == bare) for line in lines)):
        found.append(_whole(title, folded))
    return min((at for at in found if at >= 0), default=None)


def _whole(words: str, text: str) -> int:
    if words not in text:  # a pattern for each of very many phases would take long
        return -1
    match = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text)
    return match.start() if match else -1


def _numbered(workflow: Workflow, text: str) -> list[Phase]:
    """Return the phases that `Phase N` can mean, the likelier first.

    `Phase N/M` counts from 1, as the guidance does. A bare number counts from 0 in ids and in the Markdown view
    (R000-08, R000-23) and from 1 in all else, so a title behind it decides, then what is due now.
    """
    plain, counted = _NUMBERED.search(text), _OF_TOTAL.search(text)
    if counted and int(counted[2]) == workflow.total and (not plain or counted.start() < plain.start()):
        return [phase for phase in workflow.phases if phase.number == int(counted[1])]
    if not plain:
        return []
    number, behind = int(plain[1]), text[plain.end() :].lstrip(" :-–—.\"'")
    by_id = [phase for phase in workflow.phases if phase.id == f"phase_{number}"]
    either = by_id + [phase for phase in workflow.phases if phase.number == number and phase not in by_id]
    titled = [phase for phase in either if behind.startswith(" ".join(phase.title.split()).casefold())]
    waiting = next((phase.number for phase in workflow.phases if phase.status == "pending"), None)
    due = [phase for phase in either if phase.number == (workflow.current or waiting)]
    return titled or [*due, *(phase for phase in either if phase not in due)]


def _by_agent(workflow: Workflow, agent: str) -> Phase | None:
    unfinished = [phase for phase in workflow.phases if phase.status != "completed"]
    current = next((phase for phase in unfinished if phase.number == workflow.current), None)
    due = current or next((phase for phase in unfinished if phase.status == "pending"), None)
    same = [phase for phase in unfinished if agent and phase.agent.strip() == agent.strip()]
    return due if due is not None and same == [due] else None
