"""Read a session's transcript: bounded, from its end or from a place that was noted, and never trusted.

The client writes one JSON value a line, and late: there is no file yet at a session's first events, and what a
compaction adds (`compact_boundary`, the summary, what hooks said) is written only after SessionStart(compact) and
PostCompact were answered. `read` yields a transcript's entries; each method of `Transcripts` folds them.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.clients import client
from holdfast.clients.claude import entries, trail
from holdfast.clients.claude.entries import Attachment, Boundary, Call, Entry, Result, text, typed
from holdfast.clients.claude.events.agents import agent_result
from holdfast.clients.claude.scopes import claude_dir
from holdfast.clients.client import AgentResult, CallResult, Noted, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from re import Pattern

    from holdfast.clients.client import Mask, Reached, TaskNotification, Trail, Work

TAIL_BYTES = 4 << 20  # bytes of a transcript's end that are parsed; a transcript of several hours has hundreds of MB
READ_BYTES = 32 << 20  # bytes of it that are read at most, to make up for what isn't parsed
REST_S = 2.0  # seconds after its last write in which a client writes no more of a compaction; it takes a tenth of one
LINE_LIMIT_BYTES = 1 << 20  # bytes of a line that is still parsed; what hooks and people say is far shorter
LONG_LINE_BYTES = 1 << 16  # bytes of a line from which on it is parsed without its images
_BEGINNING_BYTES = 1 << 19  # bytes of a transcript in which its first entries are looked for
_HEAD_BYTES = 400  # bytes of a line in which its kind stands
_NEWEST_SESSIONS = 10  # sessions of a project in which tool calls are looked for

# What a line must hold to be parsed.
_ANY = re.compile(rb"\{")
_BOUNDARY = re.compile(rb'"subtype":"compact_boundary"')
_FILES = re.compile(rb'"(?:filePath|Read|is_error|compact_boundary)"')  # one alternative in quotes is found fastest
_ANSWER = re.compile(rb'"type":"assistant"')
_TOOL_CALL = re.compile(rb'"type":\s?"tool_use"')
_NOTICE = re.compile(rb"task-notification")  # in every entry about one (client fact §3.4)
# What the client notes for itself: requests and prompts as it sent them, hundreds of kilobytes a turn, and no news.
_NOISE = re.compile(
    rb'\{"type":"(?:api-request|atis-latch|cost-state|queue-)'
    rb'|"attachment":\{"type":"(?:prompt_snapshot|total_tokens|skill_listing|deferred_tools|agent_listing)'
)
_IMAGE = re.compile(rb"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{4096,}")  # base64; what is read may begin in the middle

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,128}")
_CONTEXT = "hook_additional_context"  # what a hook gave to the model; its own stdout is noted too and proves nothing
_ERROR = "Error: "  # how a tool's response begins if it failed, and wasn't refused or interrupted


def read(
    path: str,
    *,
    since: int = 0,
    most: int = TAIL_BYTES,
    newest: bool = True,
    only: Pattern[bytes] = _ANY,
    agents: bool = False,
    mask: Mask | None = None,
) -> Iterator[Entry]:
    """Yield the entries of a transcript, oldest first; none if there is no such file.

    What is no entry is left out: half a line, broken JSON, a line that is far too long, the client's notes of its own
    requests.

    Args:
        path: the transcript.
        since: the first byte that is read.
        most: how many bytes are read. From the end, images and lines that are far too long don't count: where they take
            more than half of the bytes, more is read, up to READ_BYTES.
        newest: whether the last bytes are read, else those that follow `since`.
        only: what a line must hold; to parse the others is what takes the time.
        agents: whether subagents' entries count, as in an agent's own transcript.
        mask: changes each line's JSON value before it is read.
    """
    lines = _lines(*_window(path, since, most, newest=newest), only)
    return typed(((at, mask(value)) for at, value in lines) if mask else lines, agents=agents)


class Transcripts(client.Transcripts):
    """The reader of Claude Code's transcripts."""

    TAIL_BYTES = TAIL_BYTES

    def size(self, path: str) -> int:
        with _open(path) as file:
            return 0 if file is None else os.fstat(file).st_size

    def trail(self, *paths: str, mask: Mask | None = None) -> Trail:
        return trail.trail(chain.from_iterable(read(path, mask=mask) for path in paths))

    def work(self, path: str) -> Sequence[Work]:
        return trail.work(read(path))

    def edited_since(self, path: str, since: str) -> bool:
        begun, main = clock.parse(since), Path(path)
        if not path or begun is None:
            return False
        for file in (main, *main.with_suffix("").glob("subagents/**/agent-*.jsonl")):
            with suppress(OSError):
                if clock.from_mtime(file.stat().st_mtime) <= begun:
                    continue
                done = list(read(str(file), agents=True))
                first = next((at for each in done if (at := clock.parse(each.line.at))), None)
                if file.stat().st_size > TAIL_BYTES and (first is None or first > begun):
                    return True  # nobody knows what came before
                if any(each.path and (clock.parse(each.at) or begun) > begun for each in trail.work(done)):
                    return True
        return False

    def reading(self, path: str, awaited: int | None, *, since: int = 0, files: bool = True) -> Reading:
        present, boundary, boundaries, last = list[Noted](), None, 0, 0
        start, data = _window(path, since)
        for entry in typed(_lines(start, data, _FILES if files else _BOUNDARY)):
            if isinstance(entry, Boundary):
                last = entry.line.offset
                if last >= (awaited or 0):
                    present = []
                    boundary, boundaries = entry.line.uuid, boundaries + 1
            elif isinstance(entry, Attachment) and entry.kind == "file":
                cut = entry.fields.get("truncated") is True
                present.append(Noted("shown", entry.fields.get("content"), cut=cut))
            elif isinstance(entry, Result) and not entry.failed:
                present.append(Noted("shown", entry.response))
            elif isinstance(entry, Result) and entry.call.tool == "Read" and entry.call.line.offset >= last:
                # A Read that was asked for before a compaction says nothing about the present context.
                present += [Noted("refused", place)] if (place := text(entry.call.input, "file_path")) else []
        if awaited is not None and boundary is None:
            present = []
        return Reading(present, boundary, boundaries, start + data.rfind(b"\n") + 1)

    def notices(self, path: str, *, most: int = TAIL_BYTES) -> Iterator[tuple[TaskNotification, str]]:
        for notice in entries.of(entries.Notice, read(path, most=most, only=_NOTICE, agents=True)):
            if notice.genuine:
                yield notice.notification, notice.line.at

    def returned(self, path: str, calls: Iterable[str], *, most: int) -> Iterator[CallResult]:
        for result in entries.of(Result, read(path, most=most, only=_mentions(calls))):
            response = result.response
            if not result.failed and isinstance(response, dict):
                yield CallResult(result.call.id, agent_result(response))
            elif result.failed and isinstance(response, str) and response.startswith(_ERROR):
                yield CallResult(result.call.id, AgentResult("other"), response.removeprefix(_ERROR))

    def agent_prompt(self, path: str, agent: str) -> str:
        if not path.endswith(".jsonl") or not _SAFE.fullmatch(agent):
            return ""
        file = f"{path.removesuffix('.jsonl')}/subagents/agent-{agent}.jsonl"
        first = entries.of(entries.Prompt, read(file, most=_BEGINNING_BYTES, newest=False, agents=True))
        return next((each.text for each in first), "")

    def reached(self, path: str, mark: str, since: int, after: str = "") -> Reached:
        at_rest, found = _after(path, since, after, re.compile(re.escape(mark.encode()) + b"|" + _BOUNDARY.pattern))
        if any(each.kind == _CONTEXT for each in entries.of(Attachment, found)):
            return "confirmed"
        return "absent" if _compacted(path, found, at_rest=at_rest) else "unknown"

    def compacted(self, path: str, since: int, after: str = "") -> bool:
        """Return whether a transcript notes a compaction with all that hooks said of it.

        It does where the model has answered after it, or where nothing was written for `REST_S`: the client writes the
        boundary and what hooks said in one go, after they have answered (seen on 2.1.329 and 2.1.197). A person who
        compacts by hand says something before the model does.
        """
        at_rest, found = _after(path, since, after, _BOUNDARY)
        return _compacted(path, found, at_rest=at_rest)

    def shares(self, path: str, other: str) -> bool:
        """Return whether one session goes on where the other was (client fact §2.5).

        A forked session's transcript begins with the entries it goes on from, under their old ids; one whose id changed
        with a compaction names the last entry before it in `logicalParentUuid`.
        """
        first = list(read(path, most=_BEGINNING_BYTES, newest=False, agents=True))
        ids = {each.line.uuid for each in first} | {each.parent for each in entries.of(Boundary, first)}
        data = _window(other, 0)[1]
        return any(b'"uuid":"%b"' % id.encode() in data for id in ids if 16 <= len(id) <= 64 and id.isascii())

    def tool_calls(self, root: Path) -> list[tuple[str, datetime]]:
        """Return the tool calls in the newest transcripts of a project's sessions; agents' own are left out.

        The client keeps them in a folder named after the project's root (client fact).
        """
        folder = claude_dir() / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
        files = sorted(folder.glob("*.jsonl"), key=lambda each: each.stat().st_mtime)[-_NEWEST_SESSIONS:]
        made = chain.from_iterable(read(str(file), only=_TOOL_CALL, agents=True) for file in files)
        return [(each.tool, at) for each in entries.of(Call, made) if (at := clock.parse(each.line.at))]


def _after(path: str, since: int, after: str, only: Pattern[bytes]) -> tuple[bool, list[Entry]]:
    """Return whether nothing has been written to a transcript for a while, and its entries from byte `since` on.

    Those that the client made before the UTC stamp `after` are left out.
    """
    with _open(path) as file:
        at_rest = file is not None and time.time() - os.fstat(file).st_mtime > REST_S  # before it is read
    moment = clock.parse(after)
    found = read(path, since=since, newest=False, only=only, agents=True)
    return at_rest, [each for each in found if not (moment and (made := clock.parse(each.line.at)) and made < moment)]


def _compacted(path: str, found: Iterable[Entry], *, at_rest: bool) -> bool:
    """Return whether one of the entries is a compaction whose end was written too (`Transcripts.compacted`)."""
    begun = next((each.line.offset for each in entries.of(Boundary, found)), None)
    if begun is None or at_rest:
        return begun is not None
    later = read(path, since=begun, newest=False, only=_ANSWER, agents=True)
    return any(isinstance(each, (entries.Statement, Call)) for each in later)


def _mentions(calls: Iterable[str]) -> Pattern[bytes]:
    """Return the content of these calls' lines, and of their results' lines."""
    ids = b"|".join(re.escape(each.encode()) for each in sorted(calls))
    return re.compile(b'"(?:tool_use_id|id)":"(?:%b)"' % ids)


def _find(path: str) -> str:
    """Return a transcript's path, or that of its namesake in a sibling folder: the name is the session's id.

    Older clients name a folder that doesn't exist once they enter a worktree.
    """
    if not path or os.path.lexists(path):
        return path
    place = Path(path)
    try:
        found = [each / place.name for each in place.parent.parent.iterdir() if (each / place.name).is_file()]
        return str(max(found, key=lambda each: each.stat().st_mtime)) if found else ""
    except OSError:
        return ""


@contextmanager
def _open(path: str) -> Iterator[int | None]:
    """Open a transcript for reading; None where that cannot be done. A pipe, a folder or a link is none."""
    try:
        place = _find(path)
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC) if place else None
    except (OSError, ValueError):
        descriptor = None
    try:
        yield descriptor if descriptor is not None and stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _window(path: str, since: int, most: int = TAIL_BYTES, *, newest: bool = True) -> tuple[int, bytes]:
    """Return bytes of a transcript, and where they begin (`read` has the rules)."""
    with _open(path) as file:
        if file is None:
            return 0, b""
        if not newest:
            return since, _bytes(file, since, most)
        start = end = os.fstat(file).st_size
        first, data, counted = max(since, end - READ_BYTES, 0), b"", 0
        while start > first and counted < most // 2:
            begin = max(first, start - most)
            part = _bytes(file, begin, start - begin)
            start, data = begin, part + data
            counted += sum(len(_without_images(line)) for line in part.split(b"\n"))
        return start, data


def _bytes(file: int, start: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0:
        try:
            part = os.pread(file, min(count, 1 << 20), start)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
        start, count = start + len(part), count - len(part)
    return b"".join(parts)


def _lines(start: int, data: bytes, only: Pattern[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of the lines that hold something, each with its first byte."""
    begin = 0
    while begin < len(data) and (found := only.search(data, begin)):
        begin, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
        end = len(data) if end < 0 else end
        line, place = data[begin:end], start + begin
        begin = end + 1
        if not line.startswith(b"{") or _NOISE.search(line, 0, _HEAD_BYTES):
            continue
        with suppress(ValueError, RecursionError):
            value = json.loads(_without_images(line))
            if isinstance(value, dict):
                yield place, value


def _without_images(line: bytes) -> bytes:
    """Return a line without its images; empty if it is far too long all the same."""
    if len(line) >= LONG_LINE_BYTES:
        line = _IMAGE.sub(b"", line)
    return line if len(line) <= LINE_LIMIT_BYTES else b""
