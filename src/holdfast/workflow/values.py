"""Tolerant reading of values written by hand: whatever can be understood is used, the rest gives warnings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Deviation(str):
    """A sentence about a value in a state file, and the field that it is about, as in `phases[0].title`."""

    __slots__ = ("field",)
    field: str

    def __new__(cls, text: str, field: str = "") -> Self:
        """Return the sentence of a field."""
        made = super().__new__(cls, text)
        made.field = field
        return made


def deviation(field: str, words: str) -> Deviation:
    """Return the sentence that begins with a field's name in quotes: `"phases[0].title" is not a text`."""
    return Deviation(f'"{field}" {words}', field)


def text(value: Any) -> str:
    """Return a value as text: a string as it is, None as empty, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def texts(value: Any, name: str, warnings: list[str]) -> tuple[str, ...]:
    """Return a list's values as non-empty texts. Anything that isn't a list of texts gives a warning with `name`.

    A single value counts as a list of one, and each member of an object counts.
    """
    if value is None:
        return ()
    if isinstance(value, list) and set(map(type, value)) <= {str}:  # as nearly always
        return tuple([item for item in value if item.strip()])
    if not isinstance(value, list):
        warnings.append(deviation(name, "is not a list"))
        value = [member(*each) for each in value.items()] if isinstance(value, dict) else [value]
    else:
        warnings.append(deviation(name, "holds values that are not texts"))
    return tuple(item for item in map(text, value) if item.strip())


def entries(value: Any, name: str, warnings: list[str]) -> tuple[str, ...]:
    """Return required reading as entries with `@`, each once, read as in `texts`.

    A text may hold several entries, one a line. An object stands for its path: the value of "path" or "file", else a
    key or value that looks like a path.
    """
    if isinstance(value, str):
        warnings.append(deviation(name, "is not a list"))
        value = value.splitlines()
    elif isinstance(value, dict):
        warnings.append(deviation(name, "is not a list"))
        value = [_path(value)] if "path" in value or "file" in value else [_path({each: value[each]}) for each in value]
    elif isinstance(value, list):
        if not all(isinstance(item, str) for item in value):
            warnings.append(deviation(name, "holds values that are not texts"))
        value = [_path(item) if isinstance(item, dict) else text(item) for item in value]
    return tuple(dict.fromkeys(map(at, texts(value, name, warnings))))


def number(value: Any) -> int | None:
    """Return a value as an integer, from text or a whole float too, or None."""
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
    """Return an object as it is, and any other value as `{name: value}`, with a warning."""
    if isinstance(value, dict):
        return value
    if value in (None, "", []):
        return {}
    warnings.append(deviation(name, "is not an object"))
    return {name: value}


def members(value: Any) -> dict[str, Any]:
    """Return a copy of an object, and an empty one for anything else."""
    return dict(value) if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, whatever else is in it; none of another value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def added(existing: Any, new: tuple[str, ...]) -> Any:
    """Return a list with those new texts at its end that it didn't have; any other value becomes a list first.

    A leading `@` makes no difference to whether a text is there already.
    """
    if existing is None:
        existing = []
    before = existing if isinstance(existing, list) else [existing]
    known = {item.strip().removeprefix("@") for item in before if isinstance(item, str)}
    fresh = [item for item in dict.fromkeys(new) if item.strip().removeprefix("@") not in known]
    return [*before, *fresh] if fresh else existing


def assigned(assignments: Iterable[str]) -> dict[str, Any]:
    """Return `K=V` pairs as an object; a value that is JSON is parsed, any other is text.

    Raises HoldfastError for a pair without `=` or without a name.
    """
    found: dict[str, Any] = {}
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        if not sign or not name.strip():
            raise HoldfastError(f"{assignment!r} isn't K=V, such as ticket=42")
        found[name.strip()] = _parsed(value)
    return found


def _parsed(text: str) -> Any:
    """Return a text parsed as JSON, or the text itself if it isn't strict JSON (Python alone would accept NaN)."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False, indent=2)
    except (ValueError, RecursionError):
        return text
    return value


def member(key: str, value: Any) -> str:
    """Return a member of an object as `key: value`; only the key if the value is None, true or empty."""
    return key if value is None or value is True or value == "" else f"{key}: {text(value)}"


def _path(item: Mapping[str, Any]) -> str:
    """Return the path in an object, or the object as text."""
    named = [item.get("path"), item.get("file"), *item.values(), *item]
    for each in named:
        if isinstance(each, str) and each.strip() and not each.strip().count(" ") and ("/" in each or "." in each):
            return each
    return text(item)


def at(entry: str) -> str:
    """Return a reading entry with a leading `@` (R001-08)."""
    entry = entry.strip()
    return entry if entry.startswith("@") else f"@{entry}"
