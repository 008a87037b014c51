"""Answers a changed script's calls from what earlier runs finished: one line in it takes the place of `agent`.

A call is answered only if its prompt and its options are exactly those of the earlier call: together with the state
before that call they have to give the key under which the client noted its result (`chain`). Of identical calls each
gets a result of its own, in order. Every other call starts an agent as before.
"""

from __future__ import annotations

import hashlib
import json
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.workflow_runs import journals, scripts
from holdfast.clients.claude.workflow_runs.chain import NO_OPTIONS, Call, Places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.files.agent_runs import ScriptAgent

_MODELS = ("haiku", "sonnet", "opus", "fable")
_OPTIONS = (NO_OPTIONS, *(json.dumps({"model": each}, separators=(",", ":")) for each in _MODELS))
_ROOM_CHARS = 6_000  # for the line itself, beside the table


def in_stages(folder: Path, script: str) -> bool:
    """Return whether a run's agents start others in turn, so that the client's cache may end before its results.

    The client's cache ends at the first call that never started. In stages, a finished call may come after one.
    """
    journal = journals.journal(folder)
    if "pipeline" in script:
        return True
    return journal is not None and _places(folder, journal.agents)[0].staged


def answered(script: str, folders: Sequence[Path]) -> tuple[str, int, int] | None:
    """Return a script that answers the calls that earlier runs finished, how many it knows, and how many don't fit.

    Args:
        script: the script as it was written.
        folders: the runs' folders, the latest first.

    Returns:
        None if nothing is known, or if the script has no place for the line.
    """
    calls: dict[str, list[list[Any]]] = {}
    states: list[tuple[str, ...]] = []
    size, room, count, left_out = 0, scripts.LIMIT_CHARS - len(script) - _ROOM_CHARS, 0, 0
    for folder in folders:
        journal = journals.journal(folder)
        if journal is None or not journal.known:
            continue
        places, prompts = _places(folder, journal.agents)
        for agent in journal.agents:
            if not agent.useful or agent.key not in prompts:
                continue
            possible = places.possible(agent.key)
            place: str | int = possible[0]
            if len(possible) > 1:
                if possible not in states:
                    states.append(possible)
                    size += 70 * len(possible)
                place = states.index(possible)
            entry = [agent.key, place, json.dumps(agent.result)]
            needed = len(json.dumps(json.dumps(entry))) + 80
            if size + needed > room:
                left_out += 1
                continue
            size, count = size + needed, count + 1
            digest = hashlib.sha256(prompts[agent.key].encode("utf-8", "replace")).hexdigest()
            calls.setdefault(digest, []).append(entry)
    if not calls:
        return None
    table = json.dumps(json.dumps({"calls": calls, "states": states}, separators=(",", ":")))
    code = Path(__file__).with_name("answers.js").read_text("utf-8")
    line = code.replace("KCONST", ",".join(map(str, _constants()))).replace("\n", " ").replace("TABLE", table)
    made = scripts.with_line(script, line)
    return (made, count, left_out) if made is not None and len(made) <= scripts.LIMIT_CHARS else None


def _places(folder: Path, agents: Sequence[ScriptAgent]) -> tuple[Places, dict[str, str]]:
    """Return where a run's calls stood, and the prompt of each by key as far as its transcript tells."""
    prompts = {each.key: said for each in agents if (said := journals.prompt(folder, each.agent_id)) is not None}
    return Places([Call(each, said) for each, said in prompts.items()], _OPTIONS), prompts


def _constants() -> list[int]:
    """Return the constants of SHA-256: the first 32 bits of the fractional parts of the cube roots of 64 primes."""
    primes = [number for number in range(2, 312) if all(number % each for each in range(2, isqrt(number) + 1))]
    return [_cube_root(prime << 96) & 0xFFFFFFFF for prime in primes]


def _cube_root(number: int) -> int:
    """Return the whole part of a cube root."""
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle - 1)
    return low
