"""Tolerant reading of values that people and models keep by hand: what can be understood is, the rest is warned of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def text(value: Any) -> str:
    """Return a value as text: a string as it is, nothing as empty, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def texts(value: Any, name: str, warnings: list[str]) -> tuple[str, ...]:
    """Return a list's values as non-empty texts; a single text counts as a list of one, and a warning names `name`.

    Of an object each member counts.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        warnings.append(f'"{name}" is not a list')
        value = [_member(*each) for each in value.items()] if isinstance(value, dict) else [value]
    elif not all(isinstance(item, str) for item in value):
        warnings.append(f'"{name}" holds values that are not texts')
    return tuple(item for item in map(text, value) if item.strip())


def entries(value: Any, name: str, warnings: list[str]) -> tuple[str, ...]:
    """Return required reading as entries with `@`, each once, as `texts` reads them.

    A text may hold several, one a line; of an object its path counts: that of a "path" or "file", else a key or value
    that looks like one.
    """
    if isinstance(value, str):
        warnings.append(f'"{name}" is not a list')
        value = value.splitlines()
    elif isinstance(value, dict):
        warnings.append(f'"{name}" is not a list')
        value = [_path(value)] if "path" in value or "file" in value else [_path({each: value[each]}) for each in value]
    elif isinstance(value, list):
        if not all(isinstance(item, str) for item in value):
            warnings.append(f'"{name}" holds values that are not texts')
        value = [_path(item) if isinstance(item, dict) else text(item) for item in value]
    return tuple(dict.fromkeys(map(at, texts(value, name, warnings))))


def number(value: Any) -> int | None:
    """Return a whole number, also from text or a whole float, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) < 10 and value.strip().isdecimal():
        return int(value)
    return None


def mapping(value: Any, name: str, warnings: list[str]) -> Mapping[str, Any]:
    """Return an object as it is and anything else under its own name, with a warning."""
    if isinstance(value, dict):
        return value
    if value in (None, "", []):
        return {}
    warnings.append(f'"{name}" is not an object')
    return {name: value}


def members(value: Any) -> dict[str, Any]:
    """Return the members of an object, a copy of its own; of anything else none."""
    return dict(value) if isinstance(value, dict) else {}


def added(existing: Any, new: tuple[str, ...]) -> Any:
    """Return a list with the new texts at its end that it did not have; what is no list is made one.

    A reading counts as there whether or not it has its `@`.
    """
    if existing is None:
        existing = []
    before = existing if isinstance(existing, list) else [existing]
    known = {item.strip().removeprefix("@") for item in before if isinstance(item, str)}
    fresh = [item for item in dict.fromkeys(new) if item.strip().removeprefix("@") not in known]
    return [*before, *fresh] if fresh else existing


def _member(key: str, value: Any) -> str:
    """Return a member of an object as `key: value`; a key that is merely ticked off stands for itself."""
    return key if value is None or value is True or value == "" else f"{key}: {text(value)}"


def _path(item: Mapping[str, Any]) -> str:
    """Return the path an object names, or the object as text."""
    named = [item.get("path"), item.get("file"), *item.values(), *item]
    for each in named:
        if isinstance(each, str) and each.strip() and not each.strip().count(" ") and ("/" in each or "." in each):
            return each
    return text(item)


def at(entry: str) -> str:
    """Return a reading entry with `@` in front (R001-08)."""
    entry = entry.strip()
    return entry if entry.startswith("@") else f"@{entry}"
