"""Write a run's results as the page `docs/benchmarks.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.bench import firing, floors, mix
from tools.bench.figures import Results, growth, medians

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEAD = """# Benchmarks

Written by `make bench`; run it again and this page is written anew. Milliseconds are medians. What is compared was
measured side by side in one run. All take turns, in an order drawn anew for each round and with 60 ms of rest between
them. Noise meets them alike, so the ratios are what counts. Milliseconds of two runs or two machines say little about
each other.

[The warm server](guides/warm-server.md#what-makes-it-fast) says what makes it fast.
"""
_RACE = """## Whole processes

From starting a process to its end, as the client would start it: payload on a pipe, a clean environment, `/bin/sh -c`
around the registered command. *Cold* is `HOLDFAST_SERVER=off`, *warm* asks the server, which each event finds running.
The trivial job refuses Bash commands that hold `printenv`; who does it is asked about one that does, and every answer
is looked at. The cold floor is a program of the same environment that imports pydantic, pluggy, platformdirs, sqlite3,
json and hashlib, defines one small model and validates one value. *One question* starts no process: it is what a server
of that kind takes to answer, without the client around it.
"""
_CLIENT = """## On the real client

One client per way, all in one home, driven against a scripted model on loopback in a network of their own. All take
turns, one `Read` of a small file at a time, with a hook on PreToolUse(Read) and 60 ms of rest after each call, because
a model thinks for longer between two. *A call* is from the client's line with the call to its line with the result.
*Added* is the median of what a call took longer than the call without a hook of the same round; beside it stands the
middle half of these differences. *As the model sees it* is the same from the model's reply to the client's next
request. That each does the job is tried at the end, with a file to be refused.
"""
_KILLED = """A hook that refuses is lost where nobody answers in its server's place. A call that has
to be refused, after the server was killed in the middle of a session:
"""
_LONG = """## Growth

Each range from its smallest size to its largest, all sizes taking turns. *Growth* is the slowest size over the smallest
in the same round, the median of all rounds. *cold* is the registered command as a whole process without a server,
*warm* the same with one. The table has the event of each range that grows most; the picture has all. What is called
`holdfast …` is a command that looks at every task, no event.
"""


def text(results: Results) -> str:
    """Return the whole page.

    Args:
        results: the figures by part: `machine`, `race`, `server`, `client`, `growth`. Parts may be missing; a part that
            couldn't be measured has the reason under `why`.
    """
    parts = [_HEAD, _session(results), _server(results), _race(results), _client(results), _growth(results)]
    return "\n".join([*parts, _machine(results)])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is left-aligned, the others are right-aligned figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in line)} |\n" for line in lines)


def _session(results: Results) -> str:
    race = results.get("race") or {}
    rows = []
    for name, each in (
        ("the shipped handlers", mix.MIX),
        ("and a handler on every Bash command", {**mix.MIX, **mix.BASH}),
    ):
        found = [mix.seconds(medians(race, kind), each) for kind in ("warm", "cold")]
        rows.append((name, *("–" if one is None else f"{one:.1f} s" for one in found)))
    return f"Hook time of a session: {mix.TOLD}.\n\n{table(('', 'warm', 'cold'), rows)}"


def _server(results: Results) -> str:
    server = results.get("server") or {}
    if not server.get("processes"):
        return f"The server's memory and CPU: {_absent(server)}\n"
    memory = f"{server['pss_mb']:.1f} MB of memory (PSS of {server['processes']} processes)"
    return (
        f"The server takes {memory}. Idle for {server['seconds']:.0f} s, it took {server['idle_ticks']} clock ticks.\n"
    )


def _race(results: Results) -> str:
    race = results.get("race") or {}
    if "rows" not in race:
        return f"{_RACE}\n{_absent(race)}\n"
    floor = medians(race, "floor")
    warm, cold = medians(race, "warm"), medians(race, "cold")

    def ratios(ms: float) -> tuple[str, ...]:
        return f"{ms:.1f}", f"{ms / floor[floors.BARE]:.2f}", f"{ms / floor[floors.COLD]:.2f}"

    head = ("ms", "× bare Python", "× cold floor")
    plain = table(("floor", *head), [(f"`{name}`", *ratios(ms)) for name, ms in floor.items()])
    events = [
        (
            event.name,
            *(ratios(warm[event.name])[:2] if event.name in warm else ("–", "–")),
            *ratios(cold[event.name])[::2],
        )
        for event in firing.EVENTS
        if event.name in cold
    ]
    ours = table(("Holdfast", "warm, ms", "× bare Python", "cold, ms", "× cold floor"), events)
    others = [(firing.MATCHED + ", Holdfast warm", *ratios(warm[firing.MATCHED]))] if warm else []
    others.append((firing.MATCHED + ", Holdfast cold", *ratios(cold[firing.MATCHED])))
    others += [(_versioned(name, race), *ratios(ms)) for name, ms in medians(race, "peer").items()]
    others += [(name, "not installed", "", "") for name in race.get("missing", ())]
    peers = table(("the trivial job", *head), others)
    why = "" if warm else "No server came up, so nothing was measured warm.\n\n"
    told = f"{race['rounds']} rounds, {_when(race)}.{_counted(race)}"
    unshipped = [(name, *ratios(ms)) for name, ms in medians(race, "way").items()]
    ways = table(("the trivial job, by relay and in ways not shipped", *head), unshipped)
    picture = "![Whole processes](benchmarks-processes.svg)\n\n"
    return f"{_RACE}\n{told}\n\n{why}{picture}{plain}\n{ours}\n{peers}\n{ways}"


def _client(results: Results) -> str:
    client = results.get("client") or {}
    if "ways" not in client:
        return f"{_CLIENT}\n{_absent(client)}\n"
    rows = []
    for way in client["ways"]:
        low, high = way["quartiles_ms"]
        name = f"{way['name']} ({way['note']})" if way["note"] else way["name"]
        figures = (f"{way['added_ms']:.1f}", f"{low:.1f} … {high:.1f}", f"{way['request_ms']:.1f}")
        rows.append((name, f"{way['call_ms']:.1f}", *figures))
    lines = table(("hook", "a call, ms", "added, ms", "middle half", "as the model sees it"), rows)
    told = f"Claude Code {client['version']}, {client['calls']} calls of each way, {_when(client)}.{_counted(client)}"
    killed = [(each["name"], *map(_guarded, each["refused"])) for each in client.get("killed", ())]
    dead = table(("whose server was killed", "next call", "the one after", "the third"), killed)
    return f"{_CLIENT}\n{told}\n\n![On the real client](benchmarks-client.svg)\n\n{lines}\n{_KILLED}\n{dead}"


def _guarded(refused: bool) -> str:
    return "refused" if refused else "**let through**"


def _growth(results: Results) -> str:
    part = results.get("growth") or {}
    if not part.get("points"):
        return f"{_LONG}\n{_absent(part)}\n"
    sizes: dict[tuple[str, str, str], list[tuple[float, float, str]]] = {}
    for point in part["points"]:
        curve = sizes.setdefault((point["range"], point["event"], point["mode"]), [])
        curve.append((point["size"], point["ms"], point["label"]))
    worst: dict[tuple[str, str], tuple[str, ...]] = {}
    for name, ratio in sorted(growth(part["points"]).items(), key=lambda item: item[1]):
        (_, first, low), (_, last, high) = min(sizes[name]), max(sizes[name])
        row = (*name, f"{low} … {high}", f"{first:.1f} → {last:.1f}", f"{ratio:.2f} ×")
        worst[name[0], name[2]] = row  # the last one of a range and a mode grows most
    rows = [worst[each] for each in sorted(worst)]
    lines = table(("range", "event", "mode", "sizes", "ms", "growth"), rows)
    later = "".join(f" The range {name}: {_when(told)}." for name, told in (part.get("later") or {}).items())
    return f"{_LONG}\nMeasured {_when(part)}.{later}\n\n![Growth](benchmarks-growth.svg)\n\n{lines}"


def _machine(results: Results) -> str:
    lines = [f"- {name}: {told}" for name, told in results.get("machine", {}).items()]
    return "\n".join(["## The machine", "", *lines, "- Command: `make bench`", ""])


def _versioned(name: str, race: dict[str, Any]) -> str:
    known = race.get("peers", {})
    package = name.split(" ")[0]
    return name.replace(package, f"{package} {known[package]}", 1) if package in known else name


def _when(part: Results) -> str:
    return f"{part.get('at', '')}, commit {part.get('revision', '')}, load {part.get('load', '')}"


def _counted(part: Results) -> str:
    """Return a sentence on how many of the events that should ask the server were answered by it; others went cold."""
    return f" The server answered {part['answered']} of {part['asked']} that asked it." if part.get("asked") else ""


def _absent(part: Results) -> str:
    return f"Not measured: {part.get('why', 'this part was not run')}."
