"""Time whole processes in turns, round after round, so that noise affects all of them alike."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    took_ms, code, answer = once(each.command, data, {**environ, **each.environ})
    text = answer.decode("utf-8", "replace")
    right = each.says is None or (each.says in text if each.says else not text)
    if code != each.code or not right:
        raise WrongAnswerError(f"{each.kind} {each.name} ended with {code} and said {text[:400]!r}")
    return took_ms


def once(command: Sequence[str], data: bytes, environ: Mapping[str, str]) -> tuple[float, int, bytes]:
    """Run one process on pipes, as the client does, until it has ended and no process holds its stdout open.

    Args:
        command: its arguments.
        data: its input, at most what a pipe holds, so that writing it isn't part of the time.
        environ: its environment.

    Returns:
        Milliseconds, exit code, and what it wrote to stdout.

    Raises:
        subprocess.TimeoutExpired: it didn't end.
    """
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environ)
    ) as process:
        os.close(reading)
        try:
            answer, _ = process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return (time.perf_counter() - began) * 1000, process.returncode, answer
