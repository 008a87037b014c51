"""Read what a hook of the client prints, as the client does; the reverse of `replies.merge` for one handler."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.hookspecs import EVENTS
from holdfast.clients.claude.replies import LAST_VALUE, PLAIN_EVENTS, PRECEDENCE, SWITCHES
from holdfast.errors import did_you_mean
from holdfast.plugins import outcomes
from holdfast.plugins.outcomes import Outcome, OutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_REFUSED = 2  # the exit code by which a hook refuses (client fact §1.3)
_REFUSALS = ("deny", "block", "force_turn")
_CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion")  # plain text is context (§1.3)
_VALUES: dict[str, Callable[[Any], Outcome]] = {
    **{key: getattr(outcomes, kind) for kind, key in LAST_VALUE.items()},
    "updatedInput": outcomes.change_input,
    "initialUserMessage": outcomes.initial_message,
    "classifierContext": outcomes.classify,
    "watchPaths": outcomes.watch,
}
_BESIDE = ("hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext", "decision")
_SPECIFIC = (*_VALUES, *SWITCHES.values(), *_BESIDE, "action", "content")
_TOP = ("continue", "stopReason", "decision", "reason", "systemMessage", "terminalSequence", "suppressOutput")


def read(event: str, exit_code: int, stdout: str, stderr: str) -> list[Outcome]:
    """Return the outcomes of a hook's process.

    Args:
        event: the event's name.
        exit_code: 0, or 2 to refuse with a reason on stderr.
        stdout: JSON; or plain text where the client reads that; without white space around it.
        stderr: the reason of a refusal.

    Raises:
        OutcomeError: the process failed, or its output isn't what the client reads.
    """
    if exit_code == _REFUSED:
        return [_refusal(event, stderr or "refused with exit code 2, without a reason on stderr")]
    if exit_code:
        last = f": {stderr.splitlines()[-1]}" if stderr else ""
        raise OutcomeError(f"ended with exit code {exit_code}{last}")
    if not stdout:
        return []
    if not stdout.startswith("{"):
        return [_plain(event, stdout)]
    try:
        body = json.loads(stdout)
    except ValueError as error:
        raise OutcomeError(f"printed something that begins like JSON and isn't: {error}") from None
    _check_keys(body, (*_TOP, "hookSpecificOutput"))
    specific = body.get("hookSpecificOutput") or {}
    if not isinstance(specific, dict):
        raise OutcomeError("printed a hookSpecificOutput that isn't an object")
    _check_keys(specific, _SPECIFIC)
    return [*_top(event, body), *_specific(event, specific)]


def _refusal(event: str, reason: str) -> Outcome:
    accepts = EVENTS[event].accepts
    kind = next((kind for kind in _REFUSALS if kind in accepts), "tell_user")
    return Outcome(kind, reason)


def _plain(event: str, text: str) -> Outcome:
    if event in PLAIN_EVENTS:
        return Outcome(PLAIN_EVENTS[event], text)
    if event in _CONTEXT_EVENTS:
        return outcomes.advise(text)
    raise OutcomeError(f"printed plain text, which {event} ignores: print JSON, or write to stderr")


def _top(event: str, body: Mapping[str, Any]) -> list[Outcome]:
    found = []
    if body.get("continue") is False:
        found.append(outcomes.stop(str(body.get("stopReason") or "stopped by a hook")))
    if body.get("decision") == "block":
        found.append(_refusal(event, str(body.get("reason") or "blocked by a hook")))
    elif body.get("decision") == "approve":
        found.append(outcomes.allow(str(body.get("reason") or "")))
    if message := body.get("systemMessage"):
        found.append(outcomes.tell_user(message))
    if sequence := body.get("terminalSequence"):
        found.append(outcomes.terminal(sequence))
    return found


def _specific(event: str, body: Mapping[str, Any]) -> list[Outcome]:
    found = []
    if decision := body.get("permissionDecision"):
        if decision not in PRECEDENCE:
            raise OutcomeError(f"printed permissionDecision {decision!r}; it is one of {', '.join(PRECEDENCE)}")
        found.append(getattr(outcomes, decision)(body.get("permissionDecisionReason") or f"{decision} by a hook"))
    if permission := body.get("decision"):
        found += _permission(permission)
    if context := body.get("additionalContext"):
        advises = "advise" in EVENTS[event].accepts
        found.append(outcomes.advise(context) if advises else outcomes.force_turn(context))
    if action := body.get("action"):
        found.append(outcomes.answer(action, body.get("content")))
    found += [make(body[key]) for key, make in _VALUES.items() if body.get(key) is not None]
    return found + [Outcome(kind) for kind, key in SWITCHES.items() if body.get(key)]


def _permission(decision: Mapping[str, Any]) -> list[Outcome]:
    """Return the outcomes of PermissionRequest's `decision`."""
    if decision.get("behavior") == "deny":
        reason = decision.get("message") or "denied by a hook"
        return [outcomes.deny(reason, interrupt=bool(decision.get("interrupt")))]
    found = [outcomes.allow(permissions=decision.get("updatedPermissions") or ())]
    return found + ([outcomes.change_input(changed)] if (changed := decision.get("updatedInput")) else [])


def _check_keys(body: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in body:
        if key not in known:
            hint = did_you_mean(key, known) or f"; Claude Code reads {', '.join(known)}"
            raise OutcomeError(f"printed the key {key!r}{hint}")
