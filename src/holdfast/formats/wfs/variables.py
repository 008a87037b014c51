"""Variables in a task's texts in the `wfs` format: `[name]` stands for a step's output or a property (R002-30)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.patterns import regex
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_VARIABLE = regex(r"(?<!\\)\[([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?)\](?!\()")  # behind a link's text comes a (
ALIASES = {"shared": "shared_context"}
"""Short for a property (I002-10)."""


class Resolved(NamedTuple):
    """A text with its variables filled in.

    Attributes:
        text: what it comes to; a variable nobody knows stands as it stood.
        unknown: the names that could not be filled in, in their order.
    """

    text: str
    unknown: tuple[str, ...]


def properties(context: Mapping[str, Any], summaries: Sequence[str]) -> dict[str, str]:
    """Return what the properties of a task's context come to as texts.

    Paths are divided by blanks, as commands take them; sentences by `; `.

    Args:
        context: the task's, with what it inherits.
        summaries: the paths of the summaries of what it depends on, which is what `[depends_on]` stands for (I002-10).
    """
    shared = context.get("shared_context")
    shared = shared if isinstance(shared, dict) else {}
    inherited = context.get("inherited")
    handed = inherited.get("context") if isinstance(inherited, dict) else inherited
    found = {
        "requirements": "; ".join(values.texts(context.get("requirements"), "", [])),
        "focus_paths": " ".join(values.texts(context.get("focus_paths"), "", [])),
        "acceptance": "; ".join(values.texts(context.get("acceptance"), "", [])),
        "parent": values.text(context.get("parent")),
        "depends_on": " ".join(summaries),
        "inherited": "; ".join(values.texts(handed, "", [])),
        "shared_context": "; ".join(f"{name}: {values.text(value)}" for name, value in shared.items()),
    }
    found = {name: values.text(value) for name, value in context.items() if name not in found} | found
    found |= {f"shared_context.{name}": values.text(value) for name, value in shared.items()}
    return {name: text for name, text in found.items() if text}


def resolve(text: str, known: Mapping[str, str], declared: Collection[str] = ()) -> Resolved:
    """Return a text with its variables filled in; what is filled in is data, and is not looked at again.

    Args:
        text: with variables.
        known: what they stand for.
        declared: names that steps put their output to; such a name may be any text.
    """
    unknown: dict[str, None] = {}

    def fill(match: re.Match[str]) -> str:
        name = match[match.lastindex or 1]
        head, dot, tail = name.partition(".")
        value = known.get(f"{ALIASES.get(head, head)}{dot}{tail}")
        if value is None:
            unknown[name] = None
            return match[0]
        return value

    odd = [name for name in {*known, *declared} if not _VARIABLE.fullmatch(f"[{name}]")]
    pattern = _VARIABLE
    if odd:
        listed = "|".join(map(re.escape, sorted(odd, key=len, reverse=True)))
        pattern = re.compile(rf"{_VARIABLE.pattern}|\[(?P<odd>{listed})\]")
    return Resolved(pattern.sub(fill, text), tuple(unknown))
