"""Measure whether the time of one event grows with what is there: workflows, tasks, handlers, transcript, ledger.

The middle size of each range is what Holdfast is built for, where an event takes at most 1.5 times as long as with the
smallest. The largest still has to work. All sizes take turns, round after round, so that noise meets them alike.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.memory import log
from holdfast.memory.rows import TABLES, Row
from holdfast.testkit.client import encoded
from tests import warmth
from tools.bench import place as places
from tools.bench.race import REST_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.bench.place import Place

EVENTS = (
    *("PreCompact-auto", "SessionStart-compact", "UserPromptSubmit"),
    *("PreToolUse-Bash", "PreToolUse-Agent", "PostToolUse-Agent", "Stop"),
)
_ROUNDS = 11
_SLOW_S = 5.0  # a size that takes longer than this for an event isn't measured a third time
_OLD_S = 40 * 86_400  # a workflow changed so long ago has no owner any more


class Point(NamedTuple):
    """What an event took at one size: the median in milliseconds, and relative to the smallest of the same round."""

    range: str
    event: str
    mode: str
    size: int
    ms: float
    ratio: float


def measure() -> Iterator[Point]:
    """Yield the points of all ranges, each event cold and warm."""
    for name, (fill, sizes) in RANGES.items():
        with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
            homes = {size: places.make(Path(folder).resolve() / str(size)) for size in sizes}
            try:
                for size, place in homes.items():
                    fill(place, size)
                for event in EVENTS:
                    yield from _points(name, event, homes)
            finally:
                for place in homes.values():
                    warmth.end(place.home)


def _points(name: str, event: str, homes: dict[int, Place]) -> Iterator[Point]:
    """Measure an event in all sizes in turns; the first two rounds only warm the caches."""
    for mode in ("cold", "warm"):
        times: dict[int, dict[int, float]] = {size: {} for size in homes}
        for place in homes.values():
            if mode == "warm":
                del place.place.variables["HOLDFAST_SERVER"]
                places.warm_up(place)
            else:
                place.place.variables |= places.COLD
        for number in range(_ROUNDS + 2):
            for size, place in homes.items():
                if times[size] and max(times[size].values()) > _SLOW_S * 1000:
                    continue
                took_ms = _fire(place, event, f"{mode}{number}")
                if number > 1:
                    times[size][number] = took_ms
        for place in homes.values() if mode == "warm" else ():
            places.still_warm(place)
        for (size, took), ratio in zip(times.items(), ratios(times), strict=True):
            yield Point(name, event, mode, size, statistics.median(took.values()), ratio)


def ratios(times: dict[int, dict[int, float]]) -> list[float]:
    """Return each size's time relative to the first size's of the same round: the median of its rounds.

    Args:
        times: by size, the times by round. A round may lack the larger sizes.
    """
    first = next(iter(times.values()))
    return [statistics.median(ms / first[number] for number, ms in each.items()) for each in times.values()]


def _fire(place: Place, event: str, about: str) -> float:
    """Fire an event and return the milliseconds that it took.

    Each agent is about work of its own; its launch comes before its end, and isn't counted in.
    """
    agent = place.agent("developer", f"Work {about}", f"Do {about}.")
    if event == "PostToolUse-Agent":
        agent.about_to()
    time.sleep(REST_S)
    if event.endswith("-Agent"):
        heard = agent.about_to() if event == "PreToolUse-Agent" else agent.returned()
    else:
        heard = place.fire(event)
    return heard.hooks[0].seconds * 1000


def _workflows(place: Place, count: int) -> None:
    """Copy an unfinished state file to others without an owner, in the format that has one file per workflow."""
    places.start(place, "compaction")
    (file,) = (place.root / "untracked/workflow-state").glob("*/*.json")
    for number in range(count - 1):
        copy = file.parents[1] / f"old-{number}" / file.name.replace("bench", f"old-{number}")
        copy.parent.mkdir()
        _write_old(copy, file.read_text().replace("Bench", f"Old {number}"))


def _skills(place: Place, count: int) -> None:
    """The same for states of skills, all of them listed in their index."""
    places.start(place, "skills")
    (file,) = (place.root / ".claude/workflow-state/active").glob("*.json")
    index = file.parents[1] / "index.json"
    listed = json.loads(index.read_text())
    for number in range(count - 1):
        name = f"other-{number:08}"
        _write_old(file.with_name(f"{name}.json"), file.read_text().replace(file.stem, name))
        listed["active_workflows"].append(listed["active_workflows"][0] | {"id": name, "feature": f"Old {number}"})
    index.write_text(json.dumps(listed))


def _write_old(file: Path, text: str) -> None:
    file.write_text(re.sub(r'"20\d\d-[^"]*"', '"2025-01-01T00:00:00Z"', text))
    moment = time.time() - _OLD_S
    os.utime(file, (moment, moment))


def _plans(place: Place, count: int) -> None:
    """Write plans, none of which is in progress."""
    text = "\n\n**Status**: Complete\n\n## Tasks\n\n- [x] one\n- [x] two\n\n" + "Words. " * 200
    for number in range(count):
        place.place.write(f"CLAUDE/Plan/{number:05}-old/PLAN.md", f"# Plan {number}: old{text}", place.root)


def _tasks(place: Place, count: int) -> None:
    """Copy the second task of a `wfs` session, each depending on the one before it."""
    places.start(place, "wfs")
    (file,) = (place.root / ".workflow").glob("WFS-*/.task/IMPL-2.json")
    for number in range(3, count + 1):
        text = file.read_text().replace("IMPL-1", f"IMPL-{number - 1}").replace("IMPL-2", f"IMPL-{number}")
        file.with_name(f"IMPL-{number}.json").write_text(text.replace("Write it", f"Work {number}"))


def _run(place: Place, count: int) -> None:
    """Give an orchestrator's run its tasks."""
    places.start(place, "orchestrator")
    file = place.root / ".claude/agent-state.json"
    state = json.loads(file.read_text())
    state["orchestrator"] |= {"status": "executing", "current_task": f"0/{count}"}
    state["pending_tasks"] = [{"phase": 0, "task": f"1.{each}", "name": f"Work {each}"} for each in range(1, count + 1)]
    file.write_text(json.dumps(state, indent=2) + "\n")


def _handlers(place: Place, count: int) -> None:
    """Write handler files, each for a tool of its own."""
    text = (places.JOBS / "holdfast_handler.py").read_text()
    for number in range(count):
        (place.handlers / f"h{number:05}.py").write_text(text.replace("Bash|Read", f"Tool{number}"))


def _transcript(place: Place, size: int) -> None:
    """Write a transcript of so many bytes, of which the last 4 MB hold entries; the others are a hole in the file."""
    content = [{"type": "text", "text": "word " * 180}]
    entry = {"type": "assistant", "sessionId": place.session, "message": {"role": "assistant", "content": content}}
    lines = b"".join(encoded(entry | {"uuid": f"u{number}"}) + b"\n" for number in range(4_000))[-min(size, 1 << 22) :]
    with (place.home / "transcript.jsonl").open("wb") as file:
        file.write(b"\n")
        file.seek(max(size - len(lines), 0))
        file.write(lines)


def _ledger(place: Place, count: int) -> None:
    """Copy a row of each table that the events use, so that the ledger has about as many rows of other sessions.

    No table gets more than Holdfast keeps of it.
    """
    place.place.variables |= places.COLD
    for event in EVENTS:
        _fire(place, event, "before")
    (file,) = (place.home / ".local/state/holdfast").rglob("*.db")
    with closing(sqlite3.connect(file)) as ledger, ledger:
        for table in TABLES:
            limit = log.LIMIT if table.TABLE == "events" else table.RETENTION[1] if table.RETENTION else count
            ledger.execute(_copies(table), (min(count // 5, limit),))


def _copies(table: type[Row]) -> str:
    """Return the statement that copies a table's first row a number of times, over the last 300 days."""
    names, values = [column.name for column in fields(table)], []
    for name in names:
        if name == "at" or name.endswith(("_at", "_seen")):
            values.append("strftime('%Y-%m-%dT%H:%M:%SZ', 'now', (-nth * 300.0 / last) || ' days', '-1 hour')")
        elif name in ("session", "conversation"):
            values.append("printf('%08x-0000-4000-8000-000000000000', nth / 50)")
        elif name in table.KEY and name != "worktree":
            values.append(f"{name} || nth")  # '1' || 2 is 12, so numbers are unique too
        else:
            values.append(name)
    return (
        "WITH RECURSIVE copies(nth, last) AS "
        "(SELECT 1, ?1 UNION ALL SELECT nth + 1, last FROM copies WHERE nth < last) "
        f"INSERT OR IGNORE INTO {table.TABLE} ({', '.join(names)}) "
        f"SELECT {', '.join(values)} FROM (SELECT * FROM {table.TABLE} LIMIT 1), copies"
    )


RANGES: dict[str, tuple[Callable[[Place, int], None], tuple[int, ...]]] = {
    "workflows": (_workflows, (1, 100, 1_000)),
    "skills": (_skills, (5, 500, 5_000)),
    "plans": (_plans, (1, 100, 1_000)),
    "tasks": (_tasks, (10, 100, 1_000)),
    "run": (_run, (6, 60, 600)),
    "handlers": (_handlers, (5, 50, 500)),
    "transcript": (_transcript, (1 << 10, 1 << 24, 1 << 30)),
    "ledger": (_ledger, (1_000, 100_000, 1_000_000)),
}
"""What grows: how a place is filled, and its sizes (files, tasks, bytes or rows)."""
