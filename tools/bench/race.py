"""Time whole processes in turns, round after round, so that noise affects all of them alike."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.process.run_program import run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

REST_S = 0.06
"""Time between two turns, in which the server forks its next worker, as in a session."""
_TIMEOUT_S = 60.0


class WrongAnswerError(Exception):
    """A contestant didn't do its job, so its time means nothing."""


@dataclass(frozen=True)
class Contestant:
    """One command that is timed.

    Attributes:
        name: its name in the table.
        kind: its part of the table: floor, cold, warm, status or peer.
        command: its arguments.
        stdin: its input, or a function that prepares one run and returns the input.
        says: a text that its answer must contain; empty if it must be silent, None if any answer is right.
        code: its expected exit code.
        environ: additional variables for its environment.
    """

    name: str
    kind: str
    command: tuple[str, ...]
    stdin: bytes | Callable[[], bytes] = b""
    says: str | None = ""
    code: int = 0
    environ: Mapping[str, str] = field(default_factory=dict)


def run(contestants: Sequence[Contestant], environ: Mapping[str, str], rounds: int) -> dict[tuple[str, str], float]:
    """Run every contestant once per round, each round in a new random order; a first round only warms the caches.

    Args:
        contestants: the contestants; (kind, name) is unique.
        environ: the environment of all.
        rounds: how many of their times count.

    Returns:
        (kind, name) → the median in milliseconds.

    Raises:
        WrongAnswerError: a contestant gave a wrong answer.
    """
    times: dict[tuple[str, str], list[float]] = {(each.kind, each.name): [] for each in contestants}
    for number in range(rounds + 1):
        order = list(contestants)
        random.Random(number).shuffle(order)
        for each in order:
            took_ms = _turn(each, environ)
            time.sleep(REST_S)
            if number:
                times[each.kind, each.name].append(took_ms)
    return {who: statistics.median(of_all_rounds) for who, of_all_rounds in times.items()}


def _turn(each: Contestant, environ: Mapping[str, str]) -> float:
    data = each.stdin() if callable(each.stdin) else each.stdin
    done = run_program(each.command, data, {**environ, **each.environ}, Path.cwd(), _TIMEOUT_S)
    right = each.says is None or (each.says in done.stdout if each.says else not done.stdout)
    if done.exit_code != each.code or not right:
        raise WrongAnswerError(f"{each.kind} {each.name} ended with {done.exit_code} and said {done.stdout[:400]!r}")
    return done.seconds * 1000
