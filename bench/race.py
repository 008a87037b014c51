"""Timing whole processes that take turns, round after round, so that noise meets all of them alike."""

from __future__ import annotations

import os
import random
import select
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

REST = 0.06  # seconds between two turns: a session leaves the server moments to fork its next child, and so do we
PATIENCE = 60.0  # seconds after which a process that says nothing more is a failure

Stdin = bytes | Callable[[], bytes]


class WrongAnswerError(Exception):
    """A contestant did not do its job, so that its time would mean nothing."""


@dataclass(frozen=True)
class Contestant:
    """One command that is timed.

    Attributes:
        name: what the table calls it.
        kind: its part of the table: floor, cold, warm, way or peer.
        command: its arguments; empty where `ask` is given.
        stdin: what it reads, or what sets the scene for one run and returns that.
        says: a text that its answer must hold; empty where it must say nothing, None where both are right.
        code: its exit code.
        environ: what its environment has beside the race's own.
        ask: what asks a process that lives on, where no process is started.
        asks: whether the warm server is to answer it.
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
    """Let every contestant run once a round, in an order drawn anew for each; a first round only warms the caches.

    Args:
        contestants: who takes part; kind and name together are unique.
        environ: the environment of all.
        rounds: how many of their times count.

    Returns:
        The median in milliseconds by kind and name.

    Raises:
        WrongAnswerError: one of them answered something else than it should.
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
    """Run one process on pipes, as the client does, until it has ended and nobody holds its stdout any more.

    Args:
        command: its arguments.
        data: what it reads; no more than a pipe holds, so that writing it takes no part in the time.
        environ: its environment.
        cwd: its directory, if not ours.

    Returns:
        Milliseconds, exit code and what it wrote on stdout.

    Raises:
        TimeoutError: it did not end.
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
