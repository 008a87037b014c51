"""How the client reads what the hooks of an event print."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.process.trial import Ended

_TEXT_EVENTS = frozenset({"SessionStart", "UserPromptSubmit"})  # plain text reaches the model (client fact §1.3)


@dataclass(frozen=True, slots=True)
class Heard:
    """The client's view of one event's replies.

    Attributes:
        event: the event's name.
        hooks: how each of its hooks ended; empty if none is registered for it.
    """

    event: str
    hooks: tuple[Ended, ...] = ()

    @property
    def stdout(self) -> str:
        """What the hooks printed."""
        return "".join(hook.stdout for hook in self.hooks)

    @property
    def told(self) -> tuple[str, ...]:
        """The texts for the model, before the client cuts them."""
        return tuple(text for hook in self.hooks if (text := _told(self.event, hook.stdout)))

    @property
    def context(self) -> str:
        """The texts for the model of all hooks, joined."""
        return "\n\n".join(self.told)

    @property
    def changed_input(self) -> Mapping[str, Any]:
        """The changed input of a tool call; empty if it wasn't changed."""
        changed: dict[str, Any] = {}
        for hook in self.hooks:
            changed |= specific(hook.stdout).get("updatedInput", {})
        return changed


def parsed(stdout: str) -> dict[str, Any]:
    """Return the JSON object that a hook printed; empty if it printed nothing or plain text.

    Raises ValueError if the text begins with `{` but isn't JSON.
    """
    return json.loads(stdout) if stdout.startswith("{") else {}


def specific(stdout: str) -> dict[str, Any]:
    """Return the `hookSpecificOutput` that a hook printed; empty if there is none. Raises as `parsed` does."""
    found: dict[str, Any] = parsed(stdout).get("hookSpecificOutput", {})
    return found


def _told(event: str, stdout: str) -> str:
    if stdout.startswith("{"):
        with suppress(ValueError):  # the client treats broken JSON as text
            return str(specific(stdout).get("additionalContext", ""))
    return stdout.strip() if event in _TEXT_EVENTS else ""
