"""The table that a run on the real clients ends with."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCENARIOS = {
    0: "Tests whose own process ended",
    1: "A session, from its start to its end",
    2: "Compactions, manual and automatic, in each format",
    3: "Phases moved by the model's own Bash",
    4: "Agents: foreground, background, failed, stopped",
    5: "Three ways of keeping a to-do list in step",
    6: "Handlers that deny, ask, allow, change and block",
    7: "Clear, resume, fork, two sessions, a crash",
    8: "The plugin, and the plugin beside settings",
    9: "Handlers that crash, hang or print",
    10: "Holdfast broken or removed in mid-session",
    11: "A worktree, a subfolder, a cloud container",
    12: "A subagent's own compaction",
    13: "The Python Agent SDK",
    14: "Hooks that do not fire or do not deliver",
    15: "The warm server, and its death",
    16: "Agents and scripts of agents that are launched again",
    17: "The status line in the terminal",
}
UNSEEN = ("PreCompact", "PostCompact", "SessionEnd")  # the client sends them to hooks, but not to its stream
COMPACTIONS = "compactions"
_NOTE = (
    "events are what the client's stream shows, compactions its compact_boundary lines; "
    f"{', '.join(UNSEEN)} are not in it and counted only where a test had Holdfast record them"
)
_PARTS = re.compile(r"::(?P<test>\w+)\[(?P<version>\d+\.\d+\.\d+)")


@dataclass
class Row:
    """What was seen of one scenario on one client."""

    results: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


def lines(reports: Iterable[Any]) -> Iterator[str]:
    """Return the table's lines from pytest's reports of all phases of all tests."""
    rows: dict[tuple[int, str], Row] = {}
    for report in reports:
        given, parts = dict(report.user_properties), _PARTS.search(report.nodeid)
        row = rows.setdefault((given.get("scenario", 0), parts["version"] if parts else "-"), Row())
        row.seen.update(given.get("seen", {}))
        if report.when == "call" or report.outcome != "passed":
            row.results[report.outcome] += 1
            row.failed += [report.nodeid.split("::")[-1]] if report.outcome == "failed" else []
    yield f"{'scenario':<52} {'client':<8} result"
    for (number, version), row in sorted(rows.items()):
        result = ", ".join(f"{count} {outcome}" for outcome, count in sorted(row.results.items()))
        yield f"{number:>2} {SCENARIOS[number]:<49} {version:<8} {result}"
        events = [f"{name} {count}" for name, count in sorted(row.seen.items()) if name != COMPACTIONS]
        yield f"   events: {', '.join(events) or 'none'}; {COMPACTIONS}: {row.seen[COMPACTIONS]}"
        yield from (f"   failed: {each}" for each in row.failed)
    yield _NOTE
