"""What tokens cost, so that the cost of an agent is known from its transcript.

If a model has no price here, its cost is `unknown`. It is never guessed.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from holdfast.formats.orchestrator import amounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.clients.client import Tokens
    from holdfast.config import Config, Price

TAKEN = "2026-11-25"
"""When PRICES were taken from https://platform.claude.com/docs/en/about-claude/pricing."""
PRICES = {
    "claude-opus-5": ("5", "25"),
    "claude-opus-4-8": ("5", "25"),
    "claude-opus-4-7": ("5", "25"),
    "claude-opus-4-6": ("5", "25"),
    "claude-opus-4-5": ("5", "25"),
    "claude-opus-4-1": ("15", "75"),
    "claude-opus-4": ("15", "75"),
    "claude-sonnet-5": ("2", "10"),
    "claude-sonnet-4-6": ("3", "15"),
    "claude-sonnet-4-5": ("3", "15"),
    "claude-sonnet-4": ("3", "15"),
    "claude-haiku-4-5": ("1", "5"),
    "claude-3-5-haiku": ("0.80", "4"),
}
"""Dollars for a million tokens of input and of output, by model."""
# What the cache costs, as parts of the price of input; it is the same for all of PRICES.
_CACHE = (Decimal("1.25"), Decimal(2), Decimal("0.1"))
_DATE = re.compile(r"-\d{8}$")  # a model's name may end with the date of its release
_DIGITS = Decimal("0.0001")  # the share of a dollar to which a cost is rounded


def cost(usage: Mapping[str, Tokens] | None, config: Config) -> str | None:
    """Return what tokens cost as `$0.0431`; None if they can't be counted, or a model has no price."""
    if not usage:
        return None
    total = Decimal(0)
    for model, tokens in usage.items():
        rates = _rates(model, config.prices)
        if rates is None:
            return None
        total += sum((rate * count for rate, count in zip(rates, tokens, strict=True)), Decimal(0)) / 1_000_000
    return amounts.as_money(total.quantize(_DIGITS, ROUND_HALF_UP))


def _rates(model: str, configured: Mapping[str, Price]) -> tuple[Decimal, ...] | None:
    """Return a model's prices in the order of `Tokens`; your own go before Holdfast's."""
    name = _DATE.sub("", model)
    mine = configured.get(model) or configured.get(name)
    if mine is not None:
        given = Decimal(str(mine.input))
        cache = (mine.cache_write, mine.long_cache_write, mine.cache_read)
        shares = [given * share for share in _CACHE]
        own = [usual if each is None else Decimal(str(each)) for each, usual in zip(cache, shares, strict=True)]
        return (given, Decimal(str(mine.output)), *own)
    if name not in PRICES:
        return None
    given, put = map(Decimal, PRICES[name])
    return (given, put, *(given * share for share in _CACHE))
