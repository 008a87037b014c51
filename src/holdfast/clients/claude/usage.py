"""Count the tokens in an agent's transcript, exactly or not at all."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.clients.claude.entries import blocks, mapping, text
from holdfast.files.transcript import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIMIT_BYTES = 32 << 20  # bytes of a transcript that is counted; a longer one is not counted in part
MENTIONED = re.compile(rb'"(?:usage|toolUseResult)":\{')
TURN = re.compile(rb'"type":"(?:user|assistant)"')
_SYNTHETIC = "<synthetic>"  # the model of what the client says itself


def counted(lines: Sequence[bytes], since: str = "") -> Mapping[str, Tokens] | None:
    """Return the tokens of each model; None if they can't be counted.

    A message stands in several lines, one for each of its blocks, and its last line has the final numbers. Entries
    before the UTC stamp `since` belong to an earlier run of the agent.

    Args:
        lines: the lines that may hold usage, the last one first.
        since: when the run was launched or resumed.
    """
    begun = clock.parse(since)
    messages = dict[str, tuple[str, Tokens]]()
    for number, line in enumerate(lines):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(entry, dict):
            return None
        made = clock.parse(text(entry, "timestamp"))
        if begun and made and made < begun:
            continue
        if text(mapping(entry, "toolUseResult"), "agentId"):
            return None  # an agent of its own, whose tokens stand elsewhere
        message = mapping(entry, "message")
        said, model = mapping(message, "usage"), text(message, "model")
        if entry.get("type") != "assistant" or not said or model == _SYNTHETIC:
            continue
        tokens = _tokens(said)
        if tokens is None or not model:
            return None
        messages.setdefault(text(message, "id") or f"line {number}", (model, tokens))
    found = dict[str, Tokens]()
    for model, tokens in messages.values():
        found[model] = Tokens(*(sum(pair) for pair in zip(found.get(model, Tokens()), tokens, strict=True)))
    return found or None


def ended(last: bytes | None) -> bool:
    """Return whether an agent's last line is an answer after which it has nothing more to do, or is no entry at all."""
    try:
        entry = json.loads(last or b"null")
    except (ValueError, RecursionError):
        return True
    if not isinstance(entry, dict):
        return True
    return entry.get("type") == "assistant" and all(each.get("type") != "tool_use" for each in blocks(entry))


def _tokens(said: Mapping[str, Any]) -> Tokens | None:
    """Return a message's tokens; None if they have another price than usual (another tier, a fast mode, searches)."""
    cache = mapping(said, "cache_creation")
    usual = said.get("service_tier") in (None, "standard") and said.get("speed") in (None, "standard")
    if not usual or said.get("inference_geo") == "us" or any(mapping(said, "server_tool_use").values()):
        return None
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    given, put, written, read = (_count(said.get(name, 0)) for name in names)
    long = _count(cache.get("ephemeral_1h_input_tokens", 0))
    if given is None or put is None or written is None or long is None or read is None or long > written:
        return None
    return Tokens(given, put, written - long, long, read)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
