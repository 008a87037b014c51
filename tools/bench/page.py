"""Write a run's results as the page `docs/benchmarks.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.bench import firing, peers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_HEAD = """# Benchmarks

`make bench` writes this page. Times are medians in milliseconds. Everything in a table was measured in turns, so load
on the machine affects all of it alike: trust the ratios.

[The warm server](guides/warm-server.md#what-makes-it-fast) says what makes it fast.
"""
_PROCESSES = """## Whole processes

Each time runs from the start of the process to its end, as the client starts it. *Cold* is without the server, *warm*
with it. The trivial job refuses Bash commands that contain `printenv`. The cold floor imports what Holdfast imports,
and validates one value.
"""
_CLIENT = """## On the real client

How much longer a `Read` takes with a hook on it than without one, from the model's call to the client's next request.
"""
_GROWTH = """## Growth

Holdfast is built for the middle size of each range. *Growth* compares a size with the smallest one of the same round.
The table has the event of each range that grows most.
"""


def text(results: Mapping[str, Any]) -> str:
    """Return the whole page.

    Args:
        results: the figures by part: `machine`, `processes`, `client`, `growth`. Parts may be missing; a part that
            couldn't be measured has the reason under `why`.
    """
    sections = [_HEAD]
    for head, part, write in (
        (_PROCESSES, "processes", _processes),
        (_CLIENT, "client", _client),
        (_GROWTH, "growth", _growth),
    ):
        found = results.get(part, {"why": "this part was not run"})
        sections.append(f"{head}\n" + (f"Not measured: {found['why']}.\n" if "why" in found else write(found)))
    machine = [f"- {name}: {words}" for name, words in results.get("machine", {}).items()]
    return "\n".join([*sections, "## The machine", "", *machine, ""])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is left-aligned, the others are right-aligned figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in line)} |\n" for line in lines)


def _processes(part: Mapping[str, Any]) -> str:
    medians: dict[str, dict[str, float]] = {}
    for row in part["rows"]:
        medians.setdefault(row["kind"], {})[row["name"]] = row["ms"]
    warm, cold, floor = medians["warm"], medians["cold"], medians["floor"]

    def figures(ms: float) -> tuple[str, ...]:
        return f"{ms:.1f}", f"{ms / floor[peers.BARE]:.2f}", f"{ms / floor[peers.COLD]:.2f}"

    whole = [
        (name, *(f"{firing.session_s(each, times):.1f} s" for each in (warm, cold)))
        for name, times in (("the shipped handlers", 0), ("and a handler on every Bash command", firing.BASH_TIMES))
    ]
    jobs = {f"Holdfast, {kind}": medians[kind][firing.MATCHED] for kind in ("warm", "cold")} | medians.get("peer", {})
    head = ("ms", "× bare Python", "× cold floor")
    floors = [(f"`{name}`", *figures(ms)) for name, ms in floor.items()]
    events = [(name, f"{warm[name]:.1f}", f"{cold[name]:.1f}") for name in warm]
    rivals = [(name, *figures(ms)) for name, ms in jobs.items()]
    rivals += [(name, "not installed", "", "") for name in part["missing"]]
    memory = f"The server and its children take {part['memory_mb']:.0f} MB of memory."
    return "\n".join(
        [
            f"{part['rounds']} rounds, {part['when']}. {memory}\n",
            table(("floor", *head), floors),
            table(("Holdfast", "warm, ms", "cold, ms"), events),
            table(("the trivial job", *head), rivals),
            f"Hook time of a session: {firing.SESSION}.\n",
            table(("", "warm", "cold"), whole),
        ]
    )


def _client(part: Mapping[str, Any]) -> str:
    rows = [(way, f"{added:.1f}", f"{low:.1f} … {high:.1f}") for way, (added, low, high) in part["ways"].items()]
    lines = table(("hook", "added, ms", "middle half"), rows)
    return f"Claude Code {part['version']}, {part['calls']} calls of each, {part['when']}.\n\n{lines}"


def _growth(part: Mapping[str, Any]) -> str:
    curves: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for point in part["points"]:
        curves.setdefault((point["range"], point["event"], point["mode"]), []).append(point)
    worst: dict[tuple[str, str], tuple[float, tuple[str, ...]]] = {}
    for (range_name, event, mode), points in curves.items():
        sizes = " … ".join(f"{point['size']:,}" for point in points)
        times = " → ".join(f"{point['ms']:.1f}" for point in points)
        growth = ", ".join(f"{point['ratio']:.2f} ×" for point in points[1:])
        row = max(point["ratio"] for point in points), (range_name, event, mode, sizes, times, growth)
        worst[range_name, mode] = max(row, worst.get((range_name, mode), row))
    lines = table(("range", "event", "mode", "sizes", "ms", "growth"), [row for _, row in worst.values()])
    return f"{part['when']}.\n\n{lines}"
