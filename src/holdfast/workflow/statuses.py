"""The meaning of statuses that are written by hand."""

from __future__ import annotations

import re

from holdfast.workflow import markdown
from holdfast.workflow.model import LABEL, Status


def _each(words: str) -> frozenset[str]:
    return frozenset(words.split(", "))


STATES = {
    "in_progress": _each("in progress, inprogress"),
    "not_started": _each(
        "pending, to do, todo, planned, planning, draft, proposed, ready, approved, open, not started, not yet started"
        ", not begun, not in progress, not done, not complete, not completed"
    ),
    "blocked": _each("blocked, on hold, paused, waiting, failed"),
    "completed": _each("complete, completed, done, finished, shipped, merged, closed, resolved, implemented"),
    "dropped": _each("canceled, cancelled, abandoned, superseded, dropped, deferred, skipped, inactive"),
    "active": _each("active"),
}
"""The words that people write for each state. Hyphens and underscores may replace spaces."""

MEANT: dict[str, Status] = {
    "in_progress": "active",
    "active": "active",
    "not_started": "pending",
    "blocked": "blocked",
    "completed": "completed",
    "dropped": "blocked",  # it isn't done, and nobody goes on with it unasked
}
"""What each state is called in every format."""

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

_LIMIT_CHARS = 400  # characters of a status that are looked at
_WORD = re.compile(
    "|".join(
        rf"(?P<{state}>\b(?:{'|'.join(sorted(words, reverse=True))})(?![^\W_]))".replace(" ", r"[\s_-]+")
        for state, words in STATES.items()
    ),
    re.IGNORECASE,
)
_PHASE = re.compile(rf"^\W*phase\s+{LABEL}\s+(?:is\s+)?(?=in\s)", re.IGNORECASE)
_NOUN = re.compile(r" (?!since )[a-z]")  # "In progress items are below" is no status
_PARTS = re.compile(r"[|/,·•]|\bor\b", re.IGNORECASE)
_UNSURE = ("~~", "[ ]", "☐", "→", "➜", "=>", "->")  # struck through, not ticked, or a history
_MARKED = re.compile(r"[^\x00-\x7f\w\s–—]\ufe0f?")
_MARK = re.compile(
    r"\s*[*_]{0,3}(?:[(\[](?P<inside>[^()\[\]]{1,80})[)\]]|\s[–—-]+\s*(?P<behind>[^()\[\]–—]{1,40}))[*_]{0,3}$"
)
_POINTER = re.compile(r"\s*(?:←|<-)\W*(?:(?:we|you) are )?(?:current|here|now|in progress)\W*$", re.IGNORECASE)
_EDGES = " -–—:*_`(["  # what may stand between a title and its mark


def opening(text: str) -> str | None:
    """Return the state that a text begins with, ignoring signs before it, or None.

    It is in_progress, not_started, blocked or completed, as in R001-07, or active, or dropped: nobody goes on with it.
    """
    match = _WORD.match(markdown.name(text[:_LIMIT_CHARS]))
    return match.lastgroup if match else None


def pure(text: str) -> str | None:
    """Return the state if a text is its name and nothing else, or None."""
    match = _WORD.fullmatch(markdown.name(text[:_LIMIT_CHARS]))
    return match.lastgroup if match else None


def sign(text: str) -> str | None:
    """Return the state of the first sign in a text that means one, None for none."""
    return next((SIGNS[each] for each in text if each in SIGNS), None)


def in_progress(text: str) -> bool:
    """Return whether a status begins with "in progress" (I001-14), or with "Phase 2 in progress".

    One that names another state too, as a history or a template does (`In Progress → Done`), doesn't count.
    """
    text = text[:_LIMIT_CHARS]
    match = _WORD.match(markdown.name(_PHASE.sub("", text)))
    if match is None or match.lastgroup != "in_progress" or any(each in text for each in _UNSURE):
        return False
    if _NOUN.match(match.string, match.end()):
        return False
    return all(pure(part) in (None, "in_progress") for part in _PARTS.split(text))


def split_mark(text: str) -> tuple[str, str | None]:
    """Return a title without its status mark, and the state that the mark means; None for none.

    Marks are `✅`, `🔄 In Progress`, `✅ closed 2026-08-02`, `[COMPLETE]`, `(in progress, 60%)`, `— Done` and `← here`
    after the title, and a sign before it. A sign ends the title, whatever remark follows.
    """
    text = text.strip()
    if pointer := _POINTER.search(text[-120:]):
        return split_mark(text[: len(text) - len(pointer[0])])[0], "in_progress"
    first = sign(text[:1]) if text[1:].removeprefix("\ufe0f")[:1].isspace() else None
    title = text[1:].removeprefix("\ufe0f").lstrip() if first else text
    for mark in _MARKED.finditer(title):
        behind = title[mark.end() :].strip(" *_`")
        state = opening(behind) or sign(mark[0])
        if state and markdown.name(title[: mark.start()]) and (opening(behind) or mark[0][0] in SIGNS):
            return title[: mark.start()].rstrip(_EDGES), state or first
    if match := _MARK.search(title[-120:]):
        state = opening(match["inside"]) if match["inside"] else pure(match["behind"].lstrip("0123456789% "))
        if state:
            return title[: len(title) - len(match[0])].strip(), state
    return title, first
