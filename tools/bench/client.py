"""Measure what a hook adds to a tool call of the real client, which `make clients` fetched, with a scripted model."""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.install import register
from tests.client import model as scripted
from tests.client.runner import Client
from tools.bench import place as places
from tools.bench.race import REST_S, WrongAnswerError

if TYPE_CHECKING:
    from tests.client.runner import Session
    from tools.bench.place import Place

NONE = "no hook"
TRUE = "/bin/true"
WARM = "the registered command, warm"
COLD = "the registered command, cold"
WAYS = (NONE, TRUE, WARM, COLD)
REFUSED = "would print secrets"
_FIRST = 5  # uncounted calls before, until the clients reach their full speed
_CLIENTS = Path(os.environ.get("HOLDFAST_CLIENTS", Path(__file__).parents[2] / ".clients"))


def binary(version: str) -> Path | None:
    """Return the program of a client that `make clients` fetched, or None if there is none."""
    program = _CLIENTS / version / "package" / "claude"
    return program if program.exists() else None


def measure(place: Place, program: Path, calls: int) -> dict[str, list[float]]:
    """Time a small `Read` with each hook on it, all in turns.

    Args:
        place: the place whose registered command is tried.
        program: the client.
        calls: how many calls of each count.

    Returns:
        Way → the milliseconds that each call took longer than the call without a hook of the same round, as the model
        sees it: from one request to the next.

    Raises:
        WrongAnswerError: a hook doesn't do the job.
    """
    (place.root / "a.txt").write_text("one\n")
    (place.root / "printenv.txt").write_text("two\n")
    places.warm_up(place)
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    with ExitStack() as stack:
        driven = {way: _Driven(place, program, way, stack) for way in WAYS}
        for number in range(_FIRST + calls):
            order = list(driven)
            random.Random(number).shuffle(order)
            for way in order:
                took_ms, text = driven[way].read("a.txt")
                if REFUSED in text:
                    raise WrongAnswerError(f"{way} refused what it should not")
                if number >= _FIRST:
                    took[way].append(took_ms)
                time.sleep(REST_S)
        for way, each in driven.items():
            if (REFUSED in each.read("printenv.txt")[1]) != (way in (WARM, COLD)):
                raise WrongAnswerError(f"{way} on the client did not do the job")
        places.still_warm(place)
    bare = took.pop(NONE)
    return {way: [ms - without for ms, without in zip(each, bare, strict=True)] for way, each in took.items()}


def quartiles(added: list[float]) -> tuple[float, float, float]:
    """Return the median of differences, and the ends of their middle half."""
    low, middle, high = statistics.quantiles(added, n=4)
    return middle, low, high


@dataclass
class _Client(Client):
    """A client with its own configuration folder in a home that it shares with other clients."""

    folder: Path = Path()

    @property
    def config(self) -> Path:
        """The client's configuration folder."""
        return self.folder


class _Driven:
    """A running client with one way of registration, in a place; it ends when `stack` is closed."""

    def __init__(self, place: Place, program: Path, way: str, stack: ExitStack) -> None:
        commands = {TRUE: "/bin/true", WARM: register.command("PreToolUse"), COLD: register.command("PreToolUse")}
        hooks = [{"type": "command", "command": commands[way]}] if way in commands else []
        self._root, self._model = place.root, stack.enter_context(scripted.serve(scripted.Model()))
        client = _Client(
            program,
            self._model.url,
            place.home,
            place.root,
            extra=places.COLD if way == COLD else {},
            folder=Path(tempfile.mkdtemp(prefix=".claude-", dir=place.home)),
        )
        client.prepare()
        settings = {"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": hooks}]}} if hooks else {}
        (client.config / "settings.json").write_text(json.dumps(settings))
        stack.callback(client.close)
        self._session: Session = client.session()

    def read(self, name: str) -> tuple[float, str]:
        """Let the client read a file of the project. Return the milliseconds that took it, and what the model got."""
        requests: list[tuple[float, str]] = []

        def reply(request: scripted.Request) -> scripted.Reply:
            requests.append((time.perf_counter(), request.last))
            return scripted.say("Done.") if requests[1:] else scripted.call("Read", file_path=str(self._root / name))

        self._model.requests.clear()
        self._model.turns = [reply, reply]
        self._session.prompt("Go on.")
        (asked, _), (answered, text) = requests
        return (answered - asked) * 1000, text
