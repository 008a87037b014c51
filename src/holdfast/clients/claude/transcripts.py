"""Reading a session's transcript: bounded, from its end or from a place that was noted, and never trusted.

The client writes one JSON value a line, and late: there is no file yet at a session's first events, and what a
compaction adds (`compact_boundary`, the summary, what hooks said) is written only after SessionStart(compact) and
PostCompact were answered.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast import clock
from holdfast.clients.claude import shell_runs
from holdfast.clients.claude import usage as token_usage
from holdfast.clients.claude.entries import blocks, plain, text
from holdfast.clients.claude.events.agents import Returned, TaskNotification
from holdfast.clients.claude.scopes import claude_dir
from holdfast.clients.claude.trail import read as read_trail
from holdfast.clients.claude.trail.work import read as read_work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from re import Pattern

    from holdfast.files.transcript import Reached, Run, Tokens, Trail, Work

TAIL_BYTES = 4 << 20  # bytes of a transcript's end that are parsed; one of hours has hundreds of megabytes
READ_BYTES = 32 << 20  # bytes of it that are read at most, to make up for what isn't parsed
# Lines of it that are parsed, the newest: the client's have some 150 bytes at least, and to parse millions of tiny ones
# would take seconds. A count and not a time: a machine that stalls must not cost a session its requests.
TAIL_LINES = TAIL_BYTES // 128
REST_S = 2.0  # seconds after its last write in which a client writes no more of a compaction; it takes a tenth of one
LINE_LIMIT_BYTES = 1 << 20  # bytes of a line that is still parsed; what hooks and people say is far shorter
LONG_LINE_BYTES = 1 << 16  # bytes of a line from which on it is parsed without its images
BOUNDARY = b'"subtype":"compact_boundary"'
_BOUNDARIES = re.compile(BOUNDARY)
_FILES = re.compile(rb'"(?:filePath|Read|is_error|compact_boundary)"')  # one alternative in quotes is found fastest
_TOOL_CALL = re.compile(rb'"type":\s?"tool_use"')
_NOTICE = re.compile(rb"task-notification")  # stands in every entry that notes one (client fact §3.4)
_IMAGE = re.compile(rb"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{4096,}")  # base64; what is read may begin in the middle
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,128}")
# What the client notes for itself: requests and prompts as it sent them, hundreds of kilobytes a turn, and no news.
_NOISE = re.compile(
    rb'\{"type":"(?:api-request|atis-latch|cost-state|queue-)'
    rb'|"attachment":\{"type":"(?:prompt_snapshot|total_tokens|skill_listing|deferred_tools|agent_listing)'
)
_LOOKS, _PAUSE_S = 10, 0.02  # at an agent's transcript, whose last answer may come after the agent's end was told
_HEAD_BYTES = 400  # bytes of a line in which its kind stands
_CHUNK_BYTES = 1 << 16
_NEWEST_SESSIONS = 10  # sessions of a project in which tool calls are looked for
_BEGINNING_BYTES = _CHUNK_BYTES * 8  # bytes of a transcript in which its first entries are looked for


class Noted(NamedTuple):
    """An entry about a compaction or a file (`holdfast.files.transcript.Noted`)."""

    kind: Literal["boundary", "shown", "refused"]
    value: Any
    attached: bool = False
    cut: bool = False


def find(path: str) -> str:
    """Return the path of a transcript: the given one, or if that is missing, its namesake in a sibling project folder.

    The name is the session's id. Older clients name a folder that doesn't exist once they enter a worktree. Empty if
    there is no such file.
    """
    if not path or os.path.lexists(path):
        return path
    place = Path(path)
    try:
        found = [each / place.name for each in place.parent.parent.iterdir() if (each / place.name).is_file()]
        return str(max(found, key=lambda each: each.stat().st_mtime)) if found else ""
    except OSError:
        return ""


def size(path: str) -> int:
    """Return a transcript's size in bytes; 0 where there is none, or it is no ordinary file."""
    with _open(path) as descriptor:
        return 0 if descriptor is None else os.fstat(descriptor).st_size


def tail(path: str, *, most: int = TAIL_BYTES, only: Pattern[bytes] | None = None) -> list[dict[str, Any]]:
    """Return the entries of a transcript's last `most` bytes, oldest first; empty where there is none.

    What is no entry is left out: half a line, broken JSON, a line that is far too long, the client's notes of its own
    requests. Images and lines that are far too long don't count: where they take more than half of the bytes, more is
    read, up to READ_BYTES. Of more lines than the client fits into so many bytes, the newest are read (`TAIL_LINES`).

    Args:
        path: the transcript.
        most: how many bytes are read.
        only: what a line must hold; to parse the others is what takes the time.
    """
    return _divided(path, 0, 0, most, only)[1]


def reading(path: str, at: int, *, since: int = 0, files: bool = True) -> tuple[Sequence[Noted], Sequence[Noted], int]:
    """Return which files the main conversation was shown, and its compactions, divided at byte `at`.

    The third value is the byte after the last whole line. A later call that starts there sees only what is new.
    """
    before, after, end = _divided(path, at, since, TAIL_BYTES, _FILES if files else _BOUNDARIES)
    return list(_noted(before)), list(_noted(after)), end


def tool_calls(root: Path) -> list[tuple[str, datetime]]:
    """Return the tool calls in the newest transcripts of a project's sessions: the tool's name, and the time.

    The client keeps them in a folder named after the project's root (client fact). Agents' own are left out.
    """
    folder = claude_dir() / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
    newest = sorted(folder.glob("*.jsonl"), key=lambda each: each.stat().st_mtime)[-_NEWEST_SESSIONS:]
    return [
        (text(block, "name"), at)
        for path in newest
        for entry in tail(str(path), only=_TOOL_CALL)
        if (at := clock.parse(text(entry, "timestamp")))
        for block in blocks(entry)
        if block.get("type") == "tool_use"
    ]


def notices(path: str, *, most: int = TAIL_BYTES) -> Iterator[tuple[TaskNotification, object]]:
    """Yield the notifications of ended agents, each with the time of its entry."""
    for entry in tail(path, most=most, only=_NOTICE):
        if notice := TaskNotification.noted(entry):
            yield notice, entry.get("timestamp")


def returned(path: str, calls: Iterable[str], *, most: int) -> Iterator[Returned]:
    """Yield what calls returned."""
    wanted = re.compile(b'"tool_use_id":"(?:%b)"' % b"|".join(re.escape(each.encode()) for each in sorted(calls)))
    for entry in tail(path, most=most, only=wanted):
        if answer := Returned.noted(entry):
            yield answer


def agent_prompt(path: str, agent: str) -> str:
    """Return the first prompt in an agent's own transcript, which the client keeps in a folder beside the main one."""
    if not path.endswith(".jsonl") or not _SAFE.fullmatch(agent):
        return ""
    entries = _head(f"{path.removesuffix('.jsonl')}/subagents/agent-{agent}.jsonl")
    return next((said for each in entries if each.get("type") == "user" and (said := plain(blocks(each)))), "")


def _divided(
    path: str, at: int, since: int, most: int, only: Pattern[bytes] | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Return the entries of a transcript's end that begin before byte `at`, those from there on, and where it ends."""
    with _open(path) as descriptor:
        if descriptor is None:
            return [], [], 0
        end = start = os.fstat(descriptor).st_size
        first, data, parsed = max(since, end - READ_BYTES, 0), b"", 0
        while start > first and parsed < most // 2:
            begin = max(first, start - most)
            part = _read(descriptor, begin, start - begin)
            start, data = begin, part + data
            parsed += sum(len(_without_images(line)) for line in part.split(b"\n"))
    end = start + data.rfind(b"\n") + 1
    if start:  # what comes before the first line break may be half a line
        start += data.find(b"\n") + 1 or len(data)
        data = data.partition(b"\n")[2]
    cut = max(at - start, 0)
    cut = cut if data[:cut].endswith(b"\n") or not cut else len(data) - len(data[cut:].partition(b"\n")[2])
    newest = islice(_backwards(data[cut:], only), TAIL_LINES), islice(_backwards(data[:cut], only), TAIL_LINES)
    after, before = (_entries(lines)[::-1] for lines in newest)
    return before, after, end


def _head(path: str) -> list[dict[str, Any]]:
    """Return the entries of a transcript's beginning, oldest first; see `tail`."""
    with _open(path) as descriptor:
        return [] if descriptor is None else _entries(_read(descriptor, 0, _BEGINNING_BYTES).split(b"\n"))


def reached(path: str, mark: str, since: int, after: str = "", *, most: int = TAIL_BYTES) -> Reached:
    """Return whether a text with this mark has reached the model.

    Args:
        path: the transcript.
        mark: words that stand in no other text.
        since: the transcript's size when the text was given to the client.
        after: UTC stamp; entries that the client made before it are skipped. They stand after `since` too: the client
            writes late, and 2.1.197 writes its whole history again at each compaction.
        most: how many bytes from there on are looked at.

    Returns:
        `confirmed` if the client noted it as context from a hook; `absent` if a whole compaction is noted from there
        on (`compacted`), and the text is not; else `unknown`, for the client writes late.
    """
    lines, rests = _since(path, since, most, mark.encode())
    if any(_is_context(line, after) for line in lines if mark.encode() in line):
        return "confirmed"
    return "absent" if _whole(lines, after, rests=rests) else "unknown"


def compacted(path: str, since: int, after: str = "") -> bool:
    """Return whether a transcript notes a compaction whole from a place on, with all that hooks said of it.

    Compactions before the UTC stamp `after` are skipped, as in `reached`.

    It does where the model has answered after it, or where nothing was written for `REST_S`: the client writes the
    boundary and what hooks said in one go, after they have answered (seen on 2.1.329 and 2.1.197). A person who
    compacts by hand says something before the model does.
    """
    lines, rests = _since(path, since, TAIL_BYTES, BOUNDARY)
    return _whole(lines, after, rests=rests)


def shares(path: str, other: str) -> bool:
    """Return whether two transcripts share entries: one session goes on where the other was (client fact §2.5).

    A forked session's transcript begins with the entries it goes on from, under their old ids; one whose id changed
    with a compaction names the last entry before it in `logicalParentUuid`.
    """
    ids = {id for entry in _head(path) for id in _ids(entry)}
    if not ids:
        return False
    with _open(other) as descriptor:
        if descriptor is None:
            return False
        end = os.fstat(descriptor).st_size
        data = _read(descriptor, max(0, end - TAIL_BYTES), TAIL_BYTES)
    return any(b'"uuid":"%b"' % id.encode() in data for id in ids)


def trail(entries: Sequence[dict[str, Any]]) -> Trail:
    """Return what a session did, by the entries of its transcript (`Transcripts.trail`)."""
    return read_trail(entries)


def work(entries: Sequence[dict[str, Any]]) -> Sequence[Work]:
    """Return what a session ran and edited, by the entries of its transcript (`Transcripts.work`)."""
    return read_work(entries)


def edited(path: str) -> Sequence[str]:
    """Return the files that an agent edited, by its own transcript, whose entries all are a subagent's."""
    return [each.path for each in reversed(trail(_as_own(path)).edits)]


def edited_since(path: str, since: str) -> bool:
    """Return whether a session or one of its agents edited a file after a UTC stamp (`Transcripts.edited_since`)."""
    begun, main = clock.parse(since), Path(path)
    if not path or begun is None:
        return False
    for file in (main, *main.with_suffix("").glob("subagents/**/agent-*.jsonl")):
        with suppress(OSError):
            if clock.from_mtime(file.stat().st_mtime) <= begun:
                continue
            entries = _as_own(str(file))
            first = next((at for each in entries if (at := clock.parse(str(each.get("timestamp") or "")))), None)
            if file.stat().st_size > TAIL_BYTES and (first is None or first > begun):  # nobody knows what came before
                return True
            if any(each.path and (clock.parse(each.at) or begun) > begun for each in work(entries)):
                return True
    return False


def _as_own(path: str) -> list[dict[str, Any]]:
    """Return a transcript's entries, those of subagents as if they were the session's own."""
    return [{**each, "isSidechain": False} for each in tail(path) if isinstance(each, dict)]


def usage(path: str, since: str = "") -> Mapping[str, Tokens] | None:
    """Return the tokens that each model used in an agent's transcript (`Transcripts.usage`)."""
    data = _content(path, token_usage.LIMIT_BYTES)
    for _ in range(_LOOKS):
        if data is None or token_usage.ended(next(_backwards(data, token_usage.TURN), None)):
            break
        time.sleep(_PAUSE_S)
        data = _content(path, token_usage.LIMIT_BYTES)
    return None if data is None else token_usage.counted(list(_backwards(data, token_usage.MENTIONED)), since)


def _content(path: str, limit: int) -> bytes | None:
    """Return a transcript's bytes; None if it can't be read, or has more than `limit`."""
    with _open(path) as descriptor:
        size = 0 if descriptor is None else os.fstat(descriptor).st_size
        return None if descriptor is None or size > limit else _read(descriptor, 0, size)


def runs(path: str, commands: Pattern[str], *, aside: bool = False) -> Sequence[Run]:
    """Return the runs of shell commands that match (`Transcripts.runs`)."""
    calls = shell_runs.calls(tail(path, only=shell_runs.CALL), commands, aside=aside)
    if not calls:
        return ()
    wanted = re.compile(b'"tool_use_id":"(?:%b)"' % b"|".join(re.escape(each.encode()) for each in sorted(calls)))
    return shell_runs.results(tail(path, only=wanted), calls)


@contextmanager
def _open(path: str) -> Iterator[int | None]:
    """Open a transcript for reading; None where that cannot be done. A pipe, a folder or a link is none."""
    try:
        place = find(path)
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC) if place else None
    except (OSError, ValueError):
        descriptor = None
    try:
        yield descriptor if descriptor is not None and stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _read(descriptor: int, start: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0:
        try:
            part = os.pread(descriptor, min(count, 1 << 20), start)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
        start, count = start + len(part), count - len(part)
    return b"".join(parts)


def _backwards(data: bytes, only: Pattern[bytes] | None) -> Iterator[bytes]:
    """Yield lines, the last one first; where `only` is given, those that hold it: the others are not even cut out."""
    if only is None:
        yield from reversed(data.split(b"\n"))
        return
    places, end = [], 0
    for found in only.finditer(data):
        if found.start() >= end:
            begin, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
            end = len(data) if end < 0 else end
            places.append((begin, end))
    for start, end in reversed(places):
        yield data[start:end]


def _entries(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Return the entries that lines are."""
    found: list[dict[str, Any]] = []
    for line in lines:
        if not line.startswith(b"{") or _NOISE.search(line, 0, _HEAD_BYTES):
            continue
        try:
            entry = json.loads(_without_images(line))
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def _without_images(line: bytes) -> bytes:
    """Return a line without its images; empty if it is far too long all the same."""
    if len(line) >= LONG_LINE_BYTES:
        line = _IMAGE.sub(b"", line)
    return line if len(line) <= LINE_LIMIT_BYTES else b""


def _is_context(line: bytes, after: str) -> bool:
    """Return whether a line notes what a hook gave to the model; its own stdout is noted too and proves nothing."""
    return any(
        isinstance(entry.get("attachment"), dict)
        and entry["attachment"].get("type") == "hook_additional_context"
        and not _is_older(entry, after)
        for entry in _entries([line])
    )


def _is_older(entry: Mapping[str, Any], after: str) -> bool:
    """Return whether the client made an entry before a UTC stamp; not if either has no time."""
    made, moment = clock.parse(str(entry.get("timestamp", ""))), clock.parse(after)
    return made is not None and moment is not None and made < moment


def _since(path: str, since: int, most: int, mark: bytes) -> tuple[list[bytes], bool]:
    """Return a transcript's lines from a place on, and whether nothing has been written to it for a while.

    No lines where neither a mark nor a boundary stands in any: to cut them takes longer than to look for that.
    """
    with _open(path) as descriptor:
        if descriptor is None:
            return [], False
        rests = time.time() - os.fstat(descriptor).st_mtime > REST_S  # before it is read
        data = _read(descriptor, since, most)
        return data.split(b"\n") if mark in data or BOUNDARY in data else [], rests


def _whole(lines: Sequence[bytes], after: str, *, rests: bool) -> bool:
    """Return whether lines note a compaction with all that belongs to it, and not one before the UTC stamp `after`."""
    begun = next(
        (
            number
            for number, line in enumerate(lines)
            if BOUNDARY in line[:_HEAD_BYTES] and not any(_is_older(entry, after) for entry in _entries([line]))
        ),
        None,
    )
    return begun is not None and (rests or any(_answers(line) for line in lines[begun:]))


def _answers(line: bytes) -> bool:
    return b'"type":"assistant"' in line and any(entry.get("type") == "assistant" for entry in _entries([line]))


def _noted(entries: Iterable[dict[str, Any]]) -> Iterator[Noted]:
    """Yield the compactions and files in entries of the main conversation."""
    asked: dict[str, str] = {}
    for entry in entries:
        if entry.get("isSidechain"):
            continue
        if entry.get("subtype") == "compact_boundary":
            asked.clear()
            yield Noted("boundary", str(entry.get("uuid", "")))
        attached = entry.get("attachment")
        if isinstance(attached, dict) and attached.get("type") == "file":
            yield Noted("shown", attached.get("content"), attached=True, cut=attached.get("truncated") is True)
        elif "toolUseResult" in entry:
            yield Noted("shown", entry["toolUseResult"])
        for block in blocks(entry):
            kind, given = block.get("type"), block.get("input")
            failed = kind == "tool_result" and block.get("is_error") is True
            if kind == "tool_use" and block.get("name") == "Read" and isinstance(given, dict):
                asked[str(block.get("id"))] = str(given.get("file_path", ""))
            elif failed and (place := asked.get(str(block.get("tool_use_id")))):
                yield Noted("refused", place)


def _ids(entry: dict[str, Any]) -> Iterator[str]:
    for name in ("uuid", "logicalParentUuid"):
        value = entry.get(name)
        if isinstance(value, str) and 16 <= len(value) <= 64 and value.isascii():
            yield value
