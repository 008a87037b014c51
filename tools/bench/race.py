"""Time whole processes in turns, round after round, so that noise affects all of them alike."""

from __future__ import annotations

import os
import random
import select
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

REST = 0.06  # seconds between two turns, in which the server forks its next worker, as in a session
PATIENCE = 60.0  # seconds after which a silent process has failed

Stdin = bytes | Callable[[], bytes]


class WrongAnswerError(Exception):
    """A contestant didn't do its job, so its time means nothing."""


@dataclass(frozen=True)
class Contestant:
    """One command that is timed.

    Attributes:
        name: its name in the table.
        kind: its part of the table: floor, cold, warm, way or peer.
        command: its arguments; empty if `ask` is given.
        stdin: its input, or a function that prepares one run and returns the input.
        says: a text that its answer must contain; empty if it must be silent, None if any answer is right.
        code: its expected exit code.
        environ: additional variables for its environment.
        ask: asks a long-lived process instead of starting one.
        asks: whether the warm server should answer it.
    """

    name: str
    kind: str
    command: tuple[str, ...] = ()
    stdin: Stdin = b""
    says: str | None = ""
    code: int = 0
    environ: Mapping[str, str] = field(default_factory=dict)
    ask: Callable[[bytes], bytes] | None = None
    asks: bool = False


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
            took = _turn(each, environ)
            time.sleep(REST)
            if number:
                times[each.kind, each.name].append(took)
    return {who: statistics.median(all_of_it) for who, all_of_it in times.items()}


def _turn(each: Contestant, environ: Mapping[str, str]) -> float:
    data = each.stdin() if callable(each.stdin) else each.stdin
    if each.ask:
        began = time.perf_counter()
        answer, code = each.ask(data), each.code
        took = (time.perf_counter() - began) * 1000
    else:
        took, code, answer = once(each.command, data, {**environ, **each.environ})
    text = answer.decode("utf-8", "replace")
    right = each.says is None or (each.says in text if each.says else not text)
    if code != each.code or not right:
        raise WrongAnswerError(f"{each.kind} {each.name} ended with {code} and said {text[:400]!r}")
    return took


def once(
    command: Sequence[str], data: bytes, environ: Mapping[str, str], cwd: str | None = None
) -> tuple[float, int, bytes]:
    """Run one process on pipes, as the client does, until it has ended and no process holds its stdout open.

    Args:
        command: its arguments.
        data: its input, at most what a pipe holds, so that writing it isn't part of the time.
        environ: its environment.
        cwd: its working directory; by default this process's.

    Returns:
        Milliseconds, exit code, and what it wrote to stdout.

    Raises:
        TimeoutError: it didn't end.
    """
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=reading, stdout=subprocess.PIPE, stderr=nowhere, env=dict(environ), cwd=cwd
        )
        answer = _read(process)
        code = process.wait(PATIENCE)
        return (time.perf_counter() - began) * 1000, code, answer
    finally:
        os.close(reading)
        os.close(nowhere)


def _read(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    parts: list[bytes] = []
    with process.stdout as stdout:
        while True:
            if not select.select([stdout], [], [], PATIENCE)[0]:
                process.kill()
                raise TimeoutError(f"{process.args!r} does not end")
            part = os.read(stdout.fileno(), 1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)
