"""What a status written by hand means."""

from __future__ import annotations

import re

from holdfast.patterns import regex

_LONGEST = 400  # characters of a status that are looked at
IN_PROGRESS = r"in[\s_\-\u00ad\u2010-\u2015\u2212]*progress"  # with whatever hyphen an editor put between
_WORDS = {
    "in_progress": IN_PROGRESS,
    "not_started": rf"not[\s_-]+(?:yet[\s_-]+)?(?:started|begun|{IN_PROGRESS}|done|completed?|finished|active)"
    r"|unstarted|pending|to[\s_-]?do|planned|planning|queued|backlog|draft|proposed|ready|approved|open|new",
    "blocked": r"blocked|on[\s_-]?hold|paused|stalled|waiting|awaiting|suspended",
    "completed": r"completed?|done|finished|shipped|merged|closed|resolved|implemented|delivered|released|fixed",
    "dropped": r"cancell?ed|abandoned|superseded|deprecated|archived|rejected|aborted|obsolete|dropped|inactive"
    r"|idle|deferred|postponed|skipped",
    "active": r"active|underway|ongoing|running|started|working",
    "other": r"(?:in[\s_-]*|under[\s_-]*)?review(?:ing|ed)?|testing|validated|verified|failed|partial",
}
_WORD = regex("|".join(rf"(?P<{name}>\b(?:{words})\b)" for name, words in _WORDS.items()), re.IGNORECASE)
_FIRST = regex(rf"\W*(?:{_WORD.pattern})", re.IGNORECASE)
_PURE = regex(rf"\W*(?:{_WORD.pattern})\W*", re.IGNORECASE)
_SIGN = "\U0001f504"  # the documents' own sign for in progress
_LITERAL = regex(rf"{_SIGN}\ufe0f?[\s*_`]*{IN_PROGRESS}\b", re.IGNORECASE)
_BOX = regex(r"(\[[ xX✓✔]?\]|[☐☑☒])([^\[\]☐☑☒|]*)")
_RUNS = regex(r"\s{3,}")
_STRUCK = regex(r"~~[^~]*~~")
_ARROW = regex(r"\s*(?:→|➜|➔|=>|->)\s*")
_CHOSEN = regex(r"\s*(\*\*|__)(?P<word>.*)\1\s*")
_OFFER = regex(r"[*_`\s]*[\[{<(](?P<inside>[^\[\]{}<>()]*)[\]}>)][*_`\s]*")
_NAMED = regex(r"(?P<words>[^()\[\],;:.|]{1,30})[(\[](?P<inside>[^()\[\]]{1,40})[)\]][\W\d]*")
_ASIDE = regex(r"\([^()]*\)|\[[^\[\]]*\]")
_SIGNS = {
    "✅": "completed",
    "✔": "completed",
    "☑": "completed",
    _SIGN: "in_progress",
    "⬜": "not_started",
    "☐": "not_started",
    "⏸": "blocked",
    "🚫": "blocked",
    "❌": "dropped",
    "⏭": "dropped",
}
_MARKS = r"(?:[✅✔☑🔄⬜☐⏸🚫❌⏭⏳⌛🚧🏗🟡🟢🟠🔵⚪🔴🔜📋▶]\ufe0f?)"
_FRONT = regex(r"(?P<sign>[✅✔☑🔄⬜☐⏸🚫❌⏭])\ufe0f?\s+")
_BEHIND = regex(rf"[\s:–—-]*(?P<sign>{_MARKS})\ufe0f?(?P<words>[^✅✔☑🔄⬜☐()\[\]]{{0,60}})$")
_IN_BRACKETS = regex(rf"\s*[*_]{{0,3}}[(\[]\s*(?P<sign>{_MARKS})?(?P<words>[^()\[\]]{{0,80}})[)\]][*_]{{0,3}}$")
_AFTER_DASH = regex(rf"(?P<sign>)\s+[–—-]+\s*[*_]{{0,3}}(?P<words>(?:{_WORD.pattern})[\W\d]*)$", re.IGNORECASE)
_CHOICE = regex(r"[|/,·•]|\s{2,}|\bor\b", re.IGNORECASE)
_CLAUSE = regex(r"\s*[,;|·•]\s*|\s+[-–—/]+\s+|[.:]\s+|\s+(?:and|but|while)\s+", re.IGNORECASE)
_BEFORE = regex(rf"\s*((?:\S+\s+){{0,6}}?)[^\w\s]{{0,8}}{IN_PROGRESS}\b", re.IGNORECASE)
_STILL = regex(
    rf"\W*(?:(?:it|this|we|work|is|are|but|still|currently|now|actively|again|remains?|yet)\W+){{1,5}}{IN_PROGRESS}\b",
    re.IGNORECASE,
)
_EMPHASIS = regex(r"(?<![^\W_])_+|_+(?![^\W_])")  # the underscores that are no part of a word
_ANSWERED = regex(rf"{IN_PROGRESS}[\s*`]*(?:\?\W*(?:no|nope|not|never|n)\b|\s?[:=]\s*(?:no|false)\W*$)", re.IGNORECASE)
_SPOKEN_OF = regex(
    rf"\b{IN_PROGRESS}\s+(?:is|are|was|were|will|can|should|must|may|means?|items?|tasks?|work|things?)\b",
    re.IGNORECASE,
)
_MOVED = regex(r"\b(?:moved|returned|reverted|changed|set|back)\s+(?:back\s+)?to\s+", re.IGNORECASE)
_UNIT = regex(r"\b(?:phase|stage|step|part|milestone|sprint|iteration|task|wave|batch|week)s?\b", re.IGNORECASE)
_OF_A_PART = regex(rf"[,;|·/]\W{{0,4}}{IN_PROGRESS}\W{{0,4}}\([^()]{{0,80}}?{_UNIT.pattern}", re.IGNORECASE)
_PIECE = regex(r"[,;|·•→➜➔]|\s[–—/-]+>?\s|\.\s|\s(?:and|but|while|then)\s", re.IGNORECASE)
_PHASE = regex(
    r"\bphase\s*#?(?P<number>\d{1,4})(?:\.\d{1,3}|[a-z]\b)?(?:\s*(?:/|of)\s*#?(?P<total>\d{1,4})(?![\d.]*\d))?",
    re.IGNORECASE,
)
_LATER = regex(r"\b(?:next|after|before|until|later|soon|from|to|not|upcoming)\b", re.IGNORECASE)
_DENIED = regex(
    r"\b(?:not?|never|none|nothing|longer|was|were|previously|formerly|once|until|before|after|when|if|unless|will|be"
    r"|to|from|ready|awaiting|waiting|isn.t|aren.t|wasn.t|un|non|blocked|paused|hold|stalled|cancell?ed|abandoned"
    r"|superseded|done|completed?)\b",
    re.IGNORECASE,
)


def word(text: str) -> str | None:
    """Return the first state that a text names, or None.

    One of in_progress, not_started, blocked and completed, which are R001-07's, active, dropped for a thing nobody goes
    on with, or other for what is none of these. "Not in progress" and "not done" count as not_started.
    """
    match = _WORD.search(_STRUCK.sub(" ", _cut(text)))
    return match.lastgroup if match else None


def opening(text: str) -> str | None:
    """Return the state a text begins with, signs before it left out, or None; a lone 🔄 is in_progress."""
    match = _FIRST.match(_cut(text))
    if match:
        return match.lastgroup
    return "in_progress" if text.strip(" \t*_`\ufe0f") == _SIGN else None


def pure(text: str) -> str | None:
    """Return the state a text is the name of and nothing else, or None."""
    match = _PURE.fullmatch(_cut(text))
    return match.lastgroup if match else None


def literal(text: str) -> re.Match[str] | None:
    """Return where a text says "🔄 In Progress" as the documents write it, or None (R001-22)."""
    return _LITERAL.search(text) if _SIGN in text else None


def choices(text: str) -> bool:
    """Tell whether a status offers several states and none is picked: a template, or a legend (I001-14)."""
    text = _STRUCK.sub(" ", _cut(text))
    if _picked(text) is not None:
        return False
    offered = _OFFER.fullmatch(text)
    parts = _CHOICE.split(offered["inside"] if offered else _ASIDE.sub(" ", text))
    parts = [part for part in parts if part.strip()]
    named = [state for part in parts if (state := pure(part))]
    if offered:
        return len(parts) > 1 and bool(named)
    return len(named) == len(parts) and len(set(named)) >= (2 if "|" in text else 3)


def listed(text: str) -> set[str]:
    """Return the states that stand as such between the `|`, `,`, `/` or `·` of a text; a legend has several."""
    return {state for part in _CHOICE.split(_ASIDE.sub(" ", _cut(text))) if (state := pure(part))}


def marked(text: str) -> tuple[str, str | None]:
    """Return a title without the status mark behind or before it, and the mark's state.

    Marks are `✅`, `🔄 In Progress`, `[COMPLETE]`, `(in progress, 60%)`, `— Done` and the like.
    """
    text = text.strip()
    front = _FRONT.match(text)
    title = text[front.end() :] if front else text
    state = _SIGNS.get(front["sign"]) if front else None
    for pattern in (_BEHIND, _IN_BRACKETS, _AFTER_DASH):
        if match := pattern.search(title[-120:]):
            words, sign = match["words"], (match["sign"] or "")[:1]
            found = opening(words) if words.strip() else _SIGNS.get(sign)
            if found or (sign and not words.strip()):
                return title[: len(title) - len(match[0])].strip(), found or state
    return (title, state) if state else (text, None)


def in_progress(text: str) -> bool:
    """Tell whether a status says that the whole is in progress, with or without an emoji (I001-14).

    What is struck through, in parentheses, denied or over does not count; of `a → b` the last state counts, of boxes
    the last that is ticked. "Phase 1 complete, phase 2 in progress" counts, "Complete, follow-up in progress" does not.
    """
    text = _STRUCK.sub(" ", _cut(text))
    picked = _picked(text)
    if picked is None and choices(text):
        return False
    text = _latest(text) if picked is None else picked
    offered = _OFFER.fullmatch(text)
    if _named_in_brackets(text):
        return True
    text = _MOVED.sub("", _SPOKEN_OF.sub(" ", offered["inside"] if offered else text))
    if opening(text) == "in_progress" or _OF_A_PART.search(text):
        return True
    clauses = [clause for clause in _CLAUSE.split(_ASIDE.sub(" ", text)) if clause.strip()]
    first = opening(clauses[0]) if clauses else "other"
    if first not in (None, "active"):
        return first in ("not_started", "other") and any(_STILL.match(clause) for clause in clauses[1:])
    return _says(clauses[0]) or any(
        opening(clause) == "in_progress"
        or _STILL.match(clause)
        or (_UNIT.search(clause) and (_says(clause) or clause.endswith(_SIGN)))
        for clause in clauses[1:]
    )


def phase(text: str) -> tuple[int, int | None] | None:
    """Return the number, and the total if it is said, of the phase that a status names as the one it is at, or None.

    "Phase 1 complete, phase 2 in progress" is at 2, "In progress (Phase 3/5)" at 3 of 5; "Phase 2 done" says no more
    than that, and neither does "phase 3 next".
    """
    named: tuple[int, int | None] | None = None
    for piece in _PIECE.split(_STRUCK.sub(" ", _cut(text))):
        if not (match := _PHASE.search(piece)) or _LATER.search(piece):
            continue
        before, behind = piece[: match.start()], piece[match.end() :]
        state = opening(behind) or _sign(behind) or word(before) or _sign(before)
        number = int(match["number"]), int(match["total"]) if match["total"] else None
        if state in ("in_progress", "active"):
            return number
        if state in (None, "blocked"):
            named = named or number
    return named


def _sign(text: str) -> str | None:
    return next((state for sign, state in _SIGNS.items() if sign in text), None)


def _cut(text: str) -> str:
    """Return the beginning of a status without runs of spaces and emphasis, "In progress? No" as what it says."""
    text = _RUNS.sub("  ", text[:_LONGEST])
    text = _EMPHASIS.sub("", text) if "_" in text else text
    return _ANSWERED.sub("not started", text) if "?" in text or ":" in text or "=" in text else text


def _named_in_brackets(text: str) -> bool:
    """Tell whether a few words have "In Progress" for a translation or an explanation, as in `WIP (In Progress)`."""
    match = _NAMED.fullmatch(text)
    return match is not None and pure(match["inside"]) == "in_progress" and opening(match["words"]) in (None, "active")


def _says(clause: str) -> bool:
    match = _BEFORE.match(clause)
    return match is not None and not _DENIED.search(match[1])


def _picked(text: str) -> str | None:
    """Return what is ticked, or what alone is bold, in a status that shows its choices; None without choices."""
    boxes = _BOX.findall(text)
    if len(boxes) > 1 or _BOX.match(text.lstrip()):
        return next((words for box, words in reversed(boxes) if box.strip("[] ☐")), "")
    parts = text.split("|")
    bold = [match["word"] for part in parts if (match := _CHOSEN.fullmatch(part))]
    return bold[0] if len(parts) > 2 and len(bold) == 1 else None


def _latest(text: str) -> str:
    parts = [part for part in _ARROW.split(text) if opening(part)]
    return parts[-1] if len(parts) > 1 else text
