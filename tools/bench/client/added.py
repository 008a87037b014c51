"""Measure what each way of registration adds to a tool call of the real client.

All clients run at the same time, but they make their calls one after another.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.bench import place as places
from tools.bench import server
from tools.bench.client import ways
from tools.bench.client.driven import Configured, Driven, Step
from tools.bench.race import WrongAnswerError

if TYPE_CHECKING:
    from tools.bench.client.ways import Way
    from tools.bench.place import Place

CALLS = 50
FIRST = 5  # uncounted calls before, until the clients reach their full speed
REST = 0.06  # seconds between two calls, for what a client still does after one, and the server for the next
_CLIENTS = Path(os.environ.get("HOLDFAST_CLIENTS", Path(__file__).parents[3] / ".clients"))


def binary(version: str) -> Path | None:
    """Return the program of a client that `make clients` fetched, or None if there is none."""
    program = _CLIENTS / version / "package" / "claude"
    return program if program.exists() else None


def measure(program: Path, top: Path, calls: int = CALLS) -> dict[str, Any]:
    """Measure every way on one client.

    Args:
        program: the client.
        top: an empty folder.
        calls: how many calls of each way count.

    Returns:
        Under `ways`, name, note and figures in milliseconds of each way; under `warm`, whether a server answered.

    Raises:
        WrongAnswerError: a way doesn't do the job.
    """
    place = places.make(top)
    (place.root / "a.txt").write_text("one\n")
    (place.root / "printenv.txt").write_text("two\n")
    with ExitStack() as stack:
        stack.callback(server.stop, place)
        warm = places.warm_up(place)
        them = [*ways.floors(), *(ways.warm(place) if warm else []), ways.cold()]
        them += ways.alternatives(place, stack, server=warm)
        driven = {each.name: drive(place, program, each, stack) for each in them}
        before = places.answered(place)
        steps = _race(driven, place, calls)
        asked = (FIRST + calls) * sum(each.asks for each in them)
        counted = {"asked": asked, "answered": places.answered(place) - before}
        for each in them:
            _check(each, driven[each.name], place)
        if warm:
            places.still_warm(place)
    base = steps[ways.NONE]
    return {"calls": calls, "warm": warm, **counted, "ways": [_row(each, steps[each.name], base) for each in them]}


def drive(place: Place, program: Path, way: Way, stack: ExitStack) -> Driven:
    """Start a client whose hook is registered in the given way; it ends when `stack` is closed."""
    name = Path(tempfile.mkdtemp(prefix=".claude-", dir=place.home)).name
    client = Configured(program, "", place.home, place.root, extra=way.environ, name=name)
    client.prepare()
    (client.config / "settings.json").write_text(json.dumps(way.settings()))
    state = client.config / ".claude.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"mcpServers": way.servers}))
    driven = Driven(client)
    stack.callback(driven.close)
    return driven


def _race(driven: dict[str, Driven], place: Place, calls: int) -> dict[str, list[Step]]:
    steps: dict[str, list[Step]] = {name: [] for name in driven}
    for number in range(FIRST + calls):
        order = list(driven)
        random.Random(number).shuffle(order)
        for name in order:
            step = driven[name].step(ways.TOOL, file_path=str(place.root / "a.txt"))
            if ways.REFUSED in step.result:
                raise WrongAnswerError(f"{name} refused what it should not")
            if number >= FIRST:
                steps[name].append(step)
            time.sleep(REST)
    return steps


def _check(way: Way, driven: Driven, place: Place) -> None:
    result = driven.step(ways.TOOL, file_path=str(place.root / "printenv.txt")).result
    if way.does != (ways.REFUSED in result):
        raise WrongAnswerError(f"{way.name} on the client: {result[:300]!r}")


def _row(way: Way, steps: list[Step], base: list[Step]) -> dict[str, Any]:
    """Return one way's figures: medians of a call's time, and of its excess over the round's call without a hook."""
    added = [step.call_ms - bare.call_ms for step, bare in zip(steps, base, strict=True)]
    requests = [step.request_ms - bare.request_ms for step, bare in zip(steps, base, strict=True)]
    low, _, high = statistics.quantiles(added, n=4)
    return {
        "name": way.name,
        "kind": way.kind,
        "note": way.note,
        "call_ms": round(statistics.median(step.call_ms for step in steps), 1),
        "added_ms": round(statistics.median(added), 1),
        "quartiles_ms": [round(low, 1), round(high, 1)],
        "request_ms": round(statistics.median(requests), 1),
    }
