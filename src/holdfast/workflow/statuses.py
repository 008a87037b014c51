"""The meaning of statuses that are written by hand."""

from __future__ import annotations

import re

from holdfast.workflow import markdown
from holdfast.workflow.model import LABEL


def _each(words: str) -> frozenset[str]:
    return frozenset(words.split(", "))


_UNDONE = _each("started, begun, in progress, done, complete, completed, finished, active")
STATES = {
    "in_progress": _each("in progress"),
    "not_started": _each(
        "unstarted, pending, to do, todo, planned, planning, queued, backlog, draft, proposed, ready, approved, open"
        ", new, next, up next"
    )
    | {f"not {word}" for word in _UNDONE}
    | {f"not yet {word}" for word in _UNDONE},
    "blocked": _each("blocked, on hold, onhold, paused, stalled, waiting, awaiting, suspended"),
    "completed": _each(
        "complete, completed, done, finished, shipped, merged, closed, resolved, implemented, delivered, released"
        ", fixed"
    ),
    "dropped": _each(
        "canceled, cancelled, abandoned, superseded, deprecated, archived, rejected, aborted, obsolete, dropped"
        ", inactive, idle, deferred, postponed, skipped"
    ),
    "active": _each("active, underway, ongoing, running, started, working"),
    "other": _each(
        "review, reviewing, reviewed, in review, in reviewing, in reviewed, under review, under reviewing"
        ", under reviewed, inreview, underreview, testing, validated, verified, failed, partial"
    ),
}
"""The words that people write for each state. Hyphens and underscores may replace spaces; "inprogress" counts too."""

SIGNS = {
    "✅": "completed",
    "✔": "completed",
    "✓": "completed",
    "☑": "completed",
    "🔄": "in_progress",
    "⬜": "not_started",
    "☐": "not_started",
    "⏸": "blocked",
    "🚫": "blocked",
    "❌": "dropped",
    "⏭": "dropped",
}
"""The state that a sign means on its own."""

ORNAMENTS = "".join(SIGNS) + "⏳⌛🚧🏗🟡🟢🟠🔵⚪🔴🔜📋▶"
"""The signs that may accompany a status; some of them mean nothing on their own."""

ARROWS = ("→", "➜", "➔", "=>", "->")

DENIALS = _each(
    "no, not, never, none, nothing, longer, was, were, previously, formerly, once, until, before, after, when, if"
    ", unless, will, be, to, from, ready, awaiting, waiting, isn, aren, wasn, un, non, blocked, paused, hold, stalled"
    ", canceled, cancelled, abandoned, superseded, done, complete, completed"
)
"""Words before "in progress" that change its meaning."""

LATER = _each("next, after, before, until, later, soon, from, to, not, upcoming")
"""Words that say that a phase is not the current one."""

UNITS = _each("phase, stage, step, part, milestone, sprint, iteration, task, wave, batch, week")
UNITS |= {f"{unit}s" for unit in UNITS}
"""Words for a part that a status may call in progress."""

WHOLES = ("current", "overall", "project", "implementation", "progress", "phase", "work", "development")
"""Words before "status" that make it the plan's own."""

PARTS = _each(
    "phase, step, task, stage, milestone, sprint, wave, batch, part, iteration, epic, story, ticket, item, workstream"
    ", track, section, zone, module, feature, requirement, deliverable"
)
"""First words of headings under which a status belongs to that part."""

SUMMARIES = _each("overview, status, summary, info, metadata")
"""Words in numbered headings that don't make a part."""

ASIDES = _each(
    "decision, adr, risk, bug, issue, question, finding, option, alternative, example, template, legend, dependency"
    ", dependencies, related, history, changelog, log, journal, note"
)
"""First words of headings under which a status is ignored."""

LEGENDS = _each("legend, icon, icons, symbol, symbols, emoji, emojis, notation")
LEGENDS_OF_STATUS = _each("values, codes, indicators, definitions")
LEGEND_NAMES = _each("key, keys, marker, markers, meaning, meanings, convention, conventions, states, statuses")
"""Words in the heading of a legend; words that make one after "status"; whole names of legends."""

SIGN_COLUMNS = _each("icon, emoji, symbol, mark, marker, sign, code, key, status, state")
"""Names of the first column in tables that are legends."""

SPEAKING = _each(
    "to, as, a, an, mean, means, until, once, when, if, not, was, were, use, set, mark, marked, unless, before, after"
    ", from, with, emoji, icon, of, the"
)
"""Words before a status that is only mentioned."""

NOTHING = _each("none, nothing, n/a, empty, tbd") | {""}
"""Texts below a heading on a board that mean that it is empty."""

_LIMIT_CHARS = 400  # characters of a status that are looked at
_HYPHENS = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # all hyphens and dashes that editors insert
_PROGRESS = rf"in[\s_\{_HYPHENS}]*progress"
_BLANKS = str.maketrans(dict.fromkeys(f"_{_HYPHENS}", " "))
_GAP = r"[\s_-]+"  # between the words of other states
_WORD = re.compile(
    "|".join(
        rf"(?P<{state}>\b(?:{'|'.join(sorted(words)).replace('in progress', _PROGRESS).replace(' ', _GAP)})\b)"
        for state, words in STATES.items()
    ),
    re.IGNORECASE,
)
_SIGN = "🔄"  # the documents' own sign for in progress
_LITERAL = re.compile(rf"{_SIGN}\ufe0f?[\s*_`]*{_PROGRESS}\b", re.IGNORECASE)
_BOX = re.compile(r"(\[[ xX✓✔]?\]|[☐☑☒])([^\[\]☐☑☒|]*)")
_RUNS = re.compile(r"\s{3,}")
_STRUCK = re.compile(r"~~[^~]*~~")
_BRACKETS = dict(zip("[{<(", "]}>)", strict=True))
_NAMED = re.compile(r"(?P<words>[^()\[\],;:.|]{1,30})[(\[](?P<inside>[^()\[\]]{1,40})[)\]][\W\d]*")
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_MARKED = re.compile(rf"[{ORNAMENTS}]\ufe0f?")
_IN_BRACKETS = re.compile(
    rf"\s*[*_]{{0,3}}[(\[]\s*(?:[{ORNAMENTS}]\ufe0f?)?(?P<words>[^()\[\]]{{0,80}})[)\]][*_]{{0,3}}$"
)
_EDGES = " -–—:*_`(["  # what may stand between a title and its mark
_POINTERS = ("←", "⬅", "👈", "<-")
_POINTED = frozenset(
    f"{who}{where}" for who in ("", "we are ", "you are ") for where in ("", "current", "here", "now", "in progress")
)  # words that may follow such an arrow
_CHOICE = re.compile(r"[|/,·•]|\s{2,}|\bor\b", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*[,;|·•]\s*|\s+[-–—/]+\s+|[.:]\s+|\s+(?:and|but|while)\s+", re.IGNORECASE)
_BEFORE = re.compile(rf"\s*((?:\S+\s+){{0,6}}?)[^\w\s]{{0,8}}{_PROGRESS}\b", re.IGNORECASE)
_STILL = re.compile(
    rf"\W*(?:(?:it|this|we|work|is|are|but|still|currently|now|actively|again|remains?|yet)\W+){{1,5}}{_PROGRESS}\b",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")  # underscores that aren't part of a word
_SPOKEN_OF = re.compile(
    rf"\b{_PROGRESS}\s+(?:is|are|was|were|will|can|should|must|may|means?|items?|tasks?|work|things?)\b"
    r"|\b(?:moved|returned|reverted|changed|set|back)\s+(?:back\s+)?(?P<to>to)\s+",
    re.IGNORECASE,
)  # "in progress items are …", and "moved to"
_PIECE = re.compile(r"[,;|·•→➜➔]|\s[–—/-]+>?\s|\.\s|\s(?:and|but|while|then)\s", re.IGNORECASE)
_PHASE = re.compile(
    rf"\bphase(?:\s+#?|#|(?=\d))(?P<label>{LABEL})(?!\.?\w|[-–]\d)(?:\s*(?:/|of)\s*#?(?P<total>\d{{1,4}})(?![\d.]*\d))?",
    re.IGNORECASE,
)


def word(text: str) -> str | None:
    """Return the first state that a text names, or None.

    It is in_progress, not_started, blocked or completed, as in R001-07, or active, dropped (nobody goes on with it), or
    other (none of these). "Not in progress" and "not done" count as not_started.
    """
    match = _WORD.search(_STRUCK.sub(" ", _cut(text)))
    return match.lastgroup if match else None


def opening(text: str) -> str | None:
    """Return the state that a text begins with, ignoring signs before it, or None; a lone 🔄 is in_progress."""
    match = _WORD.match(markdown.name(_cut(text)))
    if match:
        return match.lastgroup
    return "in_progress" if text.strip(" \t*_`\ufe0f") == _SIGN else None


def pure(text: str) -> str | None:
    """Return the state if a text is its name and nothing else, or None."""
    match = _WORD.fullmatch(markdown.name(_cut(text)))
    return match.lastgroup if match else None


def literal(text: str) -> re.Match[str] | None:
    """Return the match of "🔄 In Progress" as the documents write it, or None (R001-22)."""
    return _LITERAL.search(text) if _SIGN in text else None


def mentions_progress(text: str) -> bool:
    """Return whether a text contains the words "in progress", whatever it says about them."""
    low = text.lower()
    return "progress" in low and "inprogress" in "".join(low.translate(_BLANKS).split())


def choices(text: str) -> bool:
    """Return whether a status offers several states and picks none, as in a template or a legend (I001-14)."""
    text = _STRUCK.sub(" ", _cut(text))
    if _picked(text) is not None:
        return False
    offered = _offered(text)
    parts = [part for part in _CHOICE.split(offered or _ASIDE.sub(" ", text)) if part.strip()]
    named = [state for part in parts if (state := pure(part))]
    if offered:
        return len(parts) > 1 and bool(named)
    return len(named) == len(parts) and len(set(named)) >= (2 if "|" in text else 3)


def split_mark(text: str) -> tuple[str, str | None]:
    """Return a title without its status marks, and their state.

    Marks are `✅`, `🔄 In Progress`, `✅ closed 2026-08-02`, `[COMPLETE]`, `(in progress, 60%)`, `— Done`, `← here` and
    the like, after the title or before it. A sign ends the title, whatever remark follows.
    """
    text = text.strip()
    for pointer in _POINTERS:
        title, _, behind = text.rpartition(pointer)
        if title.strip() and " ".join(markdown.words(behind[:60].replace("_", " "))) in _POINTED:
            return split_mark(title)[0], "in_progress"
    first = sign(text[:1]) if text[1:].removeprefix("\ufe0f")[:1].isspace() else None
    title = text[1:].removeprefix("\ufe0f").lstrip() if first else text
    for mark in _MARKED.finditer(title):
        behind = title[mark.end() :].strip(" *_`")
        state = opening(behind) or SIGNS.get(mark[0][0])
        if markdown.name(title[: mark.start()]) and (state or not behind):
            return title[: mark.start()].rstrip(_EDGES), state or first
    if (match := _IN_BRACKETS.search(title[-120:])) and (state := opening(match["words"])):
        return title[: len(title) - len(match[0])].strip(), state
    before, dashed = _dashed(title)
    return (before, dashed) if dashed else (title, first)


def _dashed(title: str) -> tuple[str, str | None]:
    """Return a title without the state after a dash, and that state; None for none."""
    tail = title[-120:]
    for at, each in enumerate(tail):
        if each in "–—-" and tail[:at][-1:].isspace():
            words = tail[at:].lstrip("–—- *").lstrip("0123456789% ")
            match = _WORD.match(words)
            if match and (match[0].isupper() or not any(one.isalpha() for one in words[match.end() :])):
                return title[: len(title) - len(tail) + at].strip(), match.lastgroup
    return title, None


def sign(text: str) -> str | None:
    """Return the state of the first sign in a text that means one, None for none."""
    return next((SIGNS[each] for each in text if each in SIGNS), None)


def in_progress(text: str) -> bool:
    """Return whether a status says that the whole is in progress, with or without an emoji (I001-14).

    Text that is struck through, in parentheses, denied or past doesn't count. Of `a → b` the last state counts, of
    checkboxes the last ticked one. "Phase 1 complete, phase 2 in progress" counts, "Complete, follow-up in progress"
    doesn't.
    """
    text = _STRUCK.sub(" ", _cut(text))
    picked = _picked(text)
    if picked is None and choices(text):
        return False
    text = _latest(text) if picked is None else picked
    if _named_in_brackets(text):
        return True
    text = _SPOKEN_OF.sub(lambda found: "" if found["to"] else " ", _offered(text) or text)
    if opening(text) == "in_progress":
        return True
    clauses = [clause for clause in _CLAUSE.split(_ASIDE.sub(" ", text)) if clause.strip()]
    first = opening(clauses[0]) if clauses else "other"
    if first not in (None, "active"):
        return first in ("not_started", "other") and any(_STILL.match(clause) for clause in clauses[1:])
    return _says(clauses[0]) or any(
        opening(clause) == "in_progress"
        or _STILL.match(clause)
        or (not UNITS.isdisjoint(markdown.words(clause)) and (_says(clause) or clause.endswith(_SIGN)))
        for clause in clauses[1:]
    )


def phase(text: str) -> tuple[str, int | None] | None:
    """Return the label, and the total or None, of the phase that a status names as current; None for none.

    "Phase 1 complete, phase 2 in progress" is at 2, "In progress (Phase 3/5)" at 3 of 5. "Phase 2 done" and "phase 3
    next" name no current phase.
    """
    named: tuple[str, int | None] | None = None
    for piece in _PIECE.split(_STRUCK.sub(" ", _cut(text))):
        if not (match := _PHASE.search(piece)) or not LATER.isdisjoint(markdown.words(piece)):
            continue
        before, behind = piece[: match.start()], piece[match.end() :]
        state = opening(behind) or sign(behind) or word(before) or sign(before)
        found = match["label"], int(match["total"]) if match["total"] else None
        if state in ("in_progress", "active"):
            return found
        if state in (None, "blocked"):
            named = named or found
    return named


def _cut(text: str) -> str:
    """Return the beginning of a status without runs of spaces and emphasis."""
    text = _RUNS.sub("  ", text[:_LIMIT_CHARS])
    return _EMPHASIS.sub("", text) if "_" in text else text


def _named_in_brackets(text: str) -> bool:
    """Return whether a few words are explained by "In Progress" in brackets, as in `WIP (In Progress)`."""
    match = _NAMED.fullmatch(text)
    return match is not None and pure(match["inside"]) == "in_progress" and opening(match["words"]) in (None, "active")


def _says(clause: str) -> bool:
    match = _BEFORE.match(clause)
    return match is not None and DENIALS.isdisjoint(markdown.words(match[1]))


def _picked(text: str) -> str | None:
    """Return the ticked or the only bold choice of a status that shows its choices; None without choices."""
    boxes = _BOX.findall(text)
    if len(boxes) > 1 or _BOX.match(text.lstrip()):
        return next((words for box, words in reversed(boxes) if box.strip("[] ☐")), "")
    parts = [part.strip() for part in text.split("|")]
    bold = [part[2:-2] for part in parts if len(part) > 3 and part[:2] == part[-2:] and part[:2] in ("**", "__")]
    return bold[0] if len(parts) > 2 and len(bold) == 1 else None


def _offered(text: str) -> str:
    """Return the content of brackets around a whole status, else an empty text."""
    bare = text.strip("*_` \t\u00a0")
    inside = bare[1:-1] if bare[:1] in _BRACKETS and bare[-1:] in _BRACKETS.values() else ""
    return "" if any(sign in inside for sign in "[]{}<>()") else inside


def _latest(text: str) -> str:
    """Return the last state of a history such as `a → b`, and any other text unchanged."""
    divided = text
    for arrow in ARROWS:
        divided = divided.replace(arrow, ARROWS[0])
    parts = [part for part in divided.split(ARROWS[0]) if opening(part)]
    return parts[-1].strip() if len(parts) > 1 else text
