"""Variables in the texts of a `wfs` task: `[name]` stands for a step's output or a property (R002-30)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# Brackets with "(" after them are a link.
_VARIABLE = re.compile(r"(?<!\\)\[([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?)\](?!\()")
ALIASES = {"shared": "shared_context"}
"""Short names of properties (I002-10)."""


class Resolved(NamedTuple):
    """A text with its variables filled in.

    Attributes:
        text: the result, in which unknown variables stay as they are.
        unknown: the names of the unknown variables, in their order.
    """

    text: str
    unknown: tuple[str, ...]


def properties(context: Mapping[str, Any], summaries: Sequence[str]) -> dict[str, str]:
    """Return the properties of a task's context as texts.

    Paths are separated by spaces, as commands take them; sentences by `; `.

    Args:
        context: the task's context, with what it inherits.
        summaries: the paths of its dependencies' summaries, for `[depends_on]` (I002-10).
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
    """Return a text with its variables filled in. Inserted values are data and not searched for variables.

    Args:
        text: the text.
        known: the variables' values by name.
        declared: the names that steps give their output; such a name may be any text.
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
