"""The trail: the text that gives a session what it did back after a compaction, where there is no workflow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.files.redact import beginning, ending, redact
from holdfast.trail import words
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from holdfast.clients.client import Edit, Job, Todo, Trail, Work

LIMIT_UNITS = 3_000  # UTF-16 units of the whole text

_LEAD = (
    "What this session did before its compaction, from its own transcript. Ignore earlier copies.",
    f"{wording.DATA} Its requests are old ones.",
    wording.OPEN,
)
_PLACE = "Place:"
_RESERVE_UNITS = 48  # units kept free for the line that counts what found no room at all
_REQUEST, _EARLIER, _WORDS, _PATH = 500, 200, 160, 160  # characters of a value
# A rule may stand further down in a long request. Of a command's output the end counts, where test runners sum up.
_WINDOW, _OUTPUT = 5_000, 8_000


def text(trail: Trail, *, branch: str | None, root: Path, cap: int = LIMIT_UNITS) -> tuple[str, str]:
    """Return a trail's text with its mark (`wording.with_mark`), at most `cap` UTF-16 units long.

    Both are empty where there is nothing to tell, or no room for it.

    Secrets are masked before anything is cut, only whole lines are left out, and their number is told. The same trail
    gives the same bytes. What matters most comes first, and each kind of fact gets some lines before any gets more.
    `branch` is the one that is checked out now. Paths below the project's root are shown relative to it.
    """
    sections = [section for section in _sections(trail, branch or "", f"{root}/") if section.items]
    if not trail.plan and all(section.heading == _PLACE for section in sections):
        return "", ""
    _fill(sections, cap - wording.size([*_LEAD, wording.CLOSE]) - _RESERVE_UNITS)
    lines = [line for section in sections for line in section.lines()]
    dropped = sum(len(section.items) for section in sections if not section.shown)
    more = [f"+{dropped} more of other kinds"] if dropped else []
    return wording.with_mark([*_LEAD, *lines, *more, wording.CLOSE]) if lines else ("", "")


@dataclass(eq=False)
class _Section:
    """Facts of a kind, the most important first; as many as there is room for get a line each, in `order`."""

    heading: str
    share: int  # how many lines it gets at a time
    items: Sequence[Any]
    line: Callable[[Any], str]
    order: Callable[[int], int] = int
    shown: list[str] = field(default_factory=list)

    def grow(self, room: int) -> bool:
        """Show one fact more, if there is one and the section fits into `room` units with it; tell whether."""
        if len(self.shown) == len(self.items):
            return False
        self.shown.append(f"- {self.line(self.items[len(self.shown)])}")
        if wording.size(self.lines()) <= room:
            return True
        self.shown.pop()
        return False

    def lines(self) -> list[str]:
        """Return the lines as they stand now, with the number of those that are left out."""
        left = len(self.items) - len(self.shown)
        shown = [self.shown[number] for number in sorted(range(len(self.shown)), key=self.order)]
        return [self.heading, *shown, *([f"- +{left} more"] if left else [])] if shown else []


def _fill(sections: Sequence[_Section], room: int) -> None:
    """Let the sections grow in turn while there is room for whole lines: first one line each, then by their shares."""
    sizes = dict.fromkeys(sections, 0)
    growing, first = list(sections), True
    while growing:
        for section in tuple(growing):
            for _ in range(1 if first else section.share):
                if not section.grow(room - sum(sizes.values()) + sizes[section]):
                    growing.remove(section)
                    break
                sizes[section] = wording.size(section.lines())
        first = False


def _sections(trail: Trail, branch: str, root: str) -> list[_Section]:
    """Return all kinds of facts, the most important first."""
    earlier = trail.requests[:-1]
    picked = _picked(earlier)
    completed = f" ({trail.completed} completed)" if trail.completed else ""
    return [
        _Section("Last request (not a new one):", 1, trail.requests[-1:], lambda request: _say(request, _REQUEST)),
        _Section(f"Open to-dos{completed}:", 4, trail.todos or ["none"] * bool(completed), _todo),
        _Section("Commands whose last run failed:", 2, words.failures(trail.runs), _failure),
        _Section("Running background commands:", 2, trail.commands, _job),
        _Section("Files created or edited, newest first:", 4, trail.edits, lambda edit: _edit(edit, root)),
        _Section(_PLACE, 2, _place(trail, branch, root), str),
        _Section(
            "Earlier requests, oldest first (not new ones):",
            3,
            picked,
            lambda number: _earlier(earlier[number]),
            order=picked.__getitem__,
        ),
        _Section("Decided on the way, newest first:", 2, words.decided(trail.statements), _say),
    ]


def _picked(requests: Sequence[str]) -> list[int]:
    """Return the places of earlier requests, the most important first: the first, the last, those that set a rule."""
    newest = range(len(requests) - 1, -1, -1)
    rules = [number for number in newest if words.rule(requests[number])]
    return list(dict.fromkeys([*range(min(1, len(requests))), *newest[:1], *rules, *newest]))


def _earlier(request: str) -> str:
    """Return an earlier request; of a long one with a rule in it, the rule."""
    whole = _say(request, _WINDOW)
    rule = words.rule(beginning(wording.clean(request), _WINDOW)) if len(whole) > _EARLIER else ""
    return f"… {wording.one_line(rule, _EARLIER)}" if rule else wording.one_line(whole, _EARLIER)


def _todo(todo: Todo | str) -> str:
    if isinstance(todo, str):
        return todo
    status = "" if todo.status == "pending" else f" ({_say(todo.status.replace('_', ' '), 20)})"
    return f"[ ] {_say(todo.text)}{status}"


def _failure(failure: Work) -> str:
    output = words.unescaped(ending(failure.output, _OUTPUT))
    lines = words.error_lines(redact(wording.clean(output)))
    more = f" (+{len(lines) - 1} such lines)" if len(lines) > 1 else ""
    return f"{_say(failure.command)}: {_say(lines[-1]) if lines else 'no output'}{more}"


def _job(job: Job) -> str:
    output = f", output {_path(job.output)}" if job.output else ""
    return f"{_say(job.text)} ({_say(job.id, 60)}){output}"


def _edit(edit: Edit, root: str) -> str:
    times = f"{edit.writes} times" if edit.writes > 1 else "once"
    return f"{_path(edit.path, root)} ({'created, ' if edit.created else ''}written {times})"


def _place(trail: Trail, branch: str, root: str) -> list[str]:
    before = "" if trail.branch == "HEAD" else trail.branch  # the client's word where no branch is checked out
    moved = f" (the session worked on {_say(before)} before)" if before and branch and before != branch else ""
    title = f" ({_say(trail.plan_title)})" if trail.plan_title else ""
    lines = [f"branch {_say(branch or before)}{moved}"] if branch or before else []
    return [*lines, f"plan file {_path(trail.plan, root)}{title}"] if trail.plan else lines


def _path(path: str, root: str = "") -> str:
    """Return a path below the root relative to it; of a long one the end, which names the file."""
    shown = _say(path.removeprefix(root), _WINDOW)
    return shown if len(shown) <= _PATH else f"…{shown[-_PATH:]}"


def _say(value: str, limit: int = _WORDS) -> str:
    """Return a value on one line, cleaned, without secrets, and only then cut."""
    return wording.one_line(beginning(wording.clean(value), _WINDOW), limit)
