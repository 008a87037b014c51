"""Count the tokens in an agent's transcript, exactly or not at all."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.clients.claude.entries import Call, Result, Usage, mapping, text, typed
from holdfast.clients.client import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT_BYTES = 32 << 20  # bytes of a transcript that is counted; a longer one is not counted in part
_MENTIONED = re.compile(rb'"(?:usage|toolUseResult)":\{')
_TURN = re.compile(rb'"type":"(?:user|assistant)"')
_SYNTHETIC = "<synthetic>"  # the model of what the client says itself


def counted(data: bytes, since: str = "") -> Mapping[str, Tokens] | None:
    """Return the tokens of each model in a whole transcript; None if they can't be counted.

    Entries before the UTC stamp `since`, at which the run was launched or resumed, belong to an earlier run.
    """
    try:
        lines = [(at, json.loads(line)) for at, line in enumerate(data.split(b"\n")) if _MENTIONED.search(line)]
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(value, dict) for _, value in lines):
        return None
    begun = clock.parse(since)
    messages = dict[str, tuple[str, Tokens]]()
    for entry in typed(lines, agents=True):
        made = clock.parse(entry.line.at)
        if begun and made and made < begun:
            continue
        if isinstance(entry, Result) and text(entry.data, "agentId"):
            return None  # an agent of its own, whose tokens stand elsewhere
        if isinstance(entry, Usage) and entry.model != _SYNTHETIC:
            tokens = _tokens(entry.counts)
            if tokens is None or not entry.model:
                return None
            messages[entry.message or f"line {entry.line.offset}"] = (entry.model, tokens)
    found = dict[str, Tokens]()
    for model, tokens in messages.values():
        found[model] = Tokens(*(sum(pair) for pair in zip(found.get(model, Tokens()), tokens, strict=True)))
    return found or None


def ended(data: bytes) -> bool:
    """Return whether a transcript ends in an answer after which an agent has nothing more to do, or in no entry."""
    last = next((line for line in reversed(data.split(b"\n")) if _TURN.search(line)), b"null")
    try:
        value = json.loads(last)
    except (ValueError, RecursionError):
        return True
    if not isinstance(value, dict):
        return True
    return value.get("type") == "assistant" and not any(isinstance(e, Call) for e in typed([(0, value)], agents=True))


def _tokens(counts: Mapping[str, Any]) -> Tokens | None:
    """Return a message's tokens; None if they have another price than usual (another tier, a fast mode, searches)."""
    usual = counts.get("service_tier") in (None, "standard") and counts.get("speed") in (None, "standard")
    if not usual or counts.get("inference_geo") == "us" or any(mapping(counts, "server_tool_use").values()):
        return None
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    read, written, cached, hit = (_count(counts.get(name, 0)) for name in names)
    long = _count(mapping(counts, "cache_creation").get("ephemeral_1h_input_tokens", 0))
    if read is None or written is None or cached is None or hit is None or long is None or long > cached:
        return None
    return Tokens(read, written, cached - long, long, hit)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
