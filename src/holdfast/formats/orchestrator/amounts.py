"""Money and time as the orchestrator's texts have them: `$0.75`, `2h`, `34m 8s`, `0h 34m 8s`. Sums are exact."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN = "unknown"
"""The cost of a task that nobody knows. It is never guessed, and left out of each sum."""

_MONEY = re.compile(r"\$?\s*(\d{1,3}(?:,\d{3})+|\d{1,12})(\.\d{1,9})?")
_UNIT = r"(?:(\d{{1,9}})\s*+{}\s*+)?"  # blanks are never tried twice: a text of thousands would take seconds
_TIME = re.compile("".join(map(_UNIT.format, ("d", "h", "m(?:in)?", "s"))))
_CENT = Decimal("0.01")


def money(text: Any) -> Decimal | None:
    """Return an amount such as `$0.20` as a number, None if it is none (I003-10)."""
    match = _MONEY.fullmatch(text.strip()) if isinstance(text, str) else None
    return Decimal(match[1].replace(",", "") + (match[2] or "")) if match else None


def as_money(amount: Decimal) -> str:
    """Return a number as `$0.20`: at least two digits behind the point, and more if it has more."""
    fine = amount.normalize()
    exponent = fine.as_tuple().exponent
    return f"${fine if isinstance(exponent, int) and exponent < -2 else amount.quantize(_CENT):f}"


def asked_money(text: str) -> Decimal:
    """Return an amount that a person gave. Raises HoldfastError if it is none."""
    amount = money(text)
    if amount is None:
        raise HoldfastError(f"{text!r} isn't an amount of money; give one such as $0.20 or 0.20")
    return amount


def seconds(text: Any) -> int | None:
    """Return a time such as `2h`, `15m 23s`, `0h 34m 8s` or `1d` in seconds, None if it is none (I003-10)."""
    match = _TIME.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, rest = (int(each or 0) for each in match.groups())
    return days * 86_400 + hours * 3600 + minutes * 60 + rest


def as_time(total: int, *, hours: bool = False) -> str:
    """Return seconds as `15m 23s`, from one hour on (or always, with `hours`) as `1h 15m 23s`."""
    minutes, rest = divmod(max(total, 0), 60)
    whole, minutes = divmod(minutes, 60)
    return f"{whole}h {minutes}m {rest}s" if hours or whole else f"{minutes}m {rest}s"


def asked_time(text: str) -> int:
    """Return a time that a person gave in seconds. Raises HoldfastError if it is none."""
    time = seconds(text)
    if time is None:
        raise HoldfastError(f"{text!r} isn't a time; give one such as 1d, 2h, 90m or 1h 30m")
    return time


def sum_money(texts: Iterable[Any]) -> Decimal:
    """Return the exact sum of the amounts that are known."""
    return sum((each for each in map(money, texts) if each is not None), Decimal(0))


def sum_seconds(texts: Iterable[Any]) -> int:
    """Return the sum of the times that are known, in seconds."""
    return sum(each for each in map(seconds, texts) if each is not None)
