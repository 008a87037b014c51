"""How the client reads what the hooks of an event print."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import replies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.dispatch.output import Reply
    from holdfast.process.run_program import CompletedProgram

_TEXT_EVENTS = frozenset({"SessionStart", "UserPromptSubmit"})  # plain text reaches the model (client fact §1.3)


@dataclass(frozen=True, slots=True)
class Heard:
    """The client's view of one event's replies.

    Attributes:
        event: the event's name.
        hooks: how each of its hooks ended; empty if none is registered for it.
    """

    event: str
    hooks: tuple[CompletedProgram, ...] = ()

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


def audiences(event: str, reply: Reply) -> dict[str, str]:
    """Return a reply's texts for the `model`, the `user` and the `client`; an audience without one is left out.

    The client gets what neither of the others reads: a decision, a changed input, variables.
    """
    body = parsed(reply.stdout)
    inner = body.pop("hookSpecificOutput", {})
    permission = inner.get("decision") or {}
    texts: dict[str, list[Any]] = {"model": [], "user": []}

    def give(kind: str, text: Any) -> None:
        texts["model" if event in replies.REASONED[kind] else "user"].append(text)

    texts["model"] += [inner.pop(key, "") for key in ("additionalContext", "initialUserMessage", "updatedToolOutput")]
    texts["user"] += [body.pop(key, "") for key in ("systemMessage", "stopReason")]
    if (reason := inner.pop("permissionDecisionReason", "")) or "permissionDecision" in inner:
        denied = inner["permissionDecision"] == "deny"
        give("deny", reason) if denied else texts["user"].append(reason)
    give("deny", permission.pop("message", ""))
    give("block", body.pop("reason", ""))
    texts["model" if reply.exit_code else "user"].append(reply.stderr)  # with exit code 2, the agent goes on with it
    rest = {**body, **{key: each for key, each in inner.items() if key != "hookEventName"}}
    rest |= {"variables": dict(reply.variables)} if reply.variables else {}
    rest |= {"path": list(reply.path)} if reply.path else {}
    plain = reply.stdout if reply.stdout and not reply.stdout.startswith("{") else ""
    if event == "PreCompact":
        texts["model"].append(plain)
    elif event in replies.PLAIN_EVENTS and event != "WorktreeCreate":
        texts["user"].append(plain)
    else:
        rest |= {"text": plain} if plain else {}
    shown = {who: "\n".join(_shown(each) for each in parts if each) for who, parts in texts.items()}
    shown["client"] = json.dumps(rest, ensure_ascii=False) if rest else ""
    return {who: text for who, text in shown.items() if text}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _told(event: str, stdout: str) -> str:
    if stdout.startswith("{"):
        with suppress(ValueError):  # the client treats broken JSON as text
            return str(specific(stdout).get("additionalContext", ""))
    return stdout.strip() if event in _TEXT_EVENTS else ""
