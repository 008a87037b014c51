"""Merge the outcomes of several handlers into the one reply that Claude Code reads; nothing here has side effects."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.hookspecs import EVENTS
from holdfast.dispatch.budget import Piece, fit, join_texts, of, units
from holdfast.dispatch.output import Reply
from holdfast.plugins.outcomes import CLASSIFIER_LIMIT_UNITS, TERMINAL_LIMIT_BYTES, Outcome, deny

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.clients.claude.events.event import Event
    from holdfast.dispatch.calls import Dropped

# Most restrictive first (client fact §1.3, PreToolUse).
PRECEDENCE = ("deny", "defer", "ask", "allow")
EXIT_CODE_EVENTS = frozenset(event for event, hook in EVENTS.items() if hook.reply == "exit code")
# Event → the kind of outcome that its plain text is made of.
PLAIN_EVENTS = {
    event: next(kind for kind in hook.accepts if kind != "block")
    for event, hook in EVENTS.items()
    if hook.reply == "text"
}
# Most restrictive first: one handler's refusal to answer an MCP server is not undone by another's answer.
ANSWERS = ("decline", "cancel", "accept")
# The events on which the model gets the reason; on others only the user sees it.
REASONED = {
    "deny": frozenset({"PreToolUse", "PreSkillShellCommand", "PermissionRequest"}),
    "block": EXIT_CODE_EVENTS
    | {"PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop", "TaskCreated"},
}
# Kinds of outcome whose text the model gets on every event that accepts them.
_FOR_MODEL = frozenset({"advise", "force_turn", "initial_message", "instruct_summary"})
# The key of `hookSpecificOutput` for kinds of which the last value counts, and for those without a value (client fact
# §1.6).
LAST_VALUE = {"change_output": "updatedToolOutput", "title": "sessionTitle", "display": "displayContent"}
SWITCHES = {"reload_skills": "reloadSkills", "retry": "retry", "suppress_prompt": "suppressOriginalPrompt"}
_LIKE_JSON = re.compile(r"[\s\ufeff]*\{")


def merge(event: str, outcomes: Sequence[Outcome]) -> Reply:
    """Merge outcomes into one reply.

    Decisions: deny > defer > ask > allow. Reasons are joined in handler order, and so is advice, which is fitted to
    the client's limit by priority. Of a changed value (input, output, title, display, form) the last change counts,
    because each handler saw the value as changed so far. Messages that start a session are joined.

    Args:
        event: the event's name.
        outcomes: in handler order; each must have passed `outcomes.check`.
    """
    if not outcomes:
        return Reply()
    variables, path = _environment(outcomes)
    advice, shares = _advice(outcomes), _shares(event, outcomes)
    if event in EXIT_CODE_EVENTS and of(outcomes, "block"):
        beside = _beside(event, outcomes)
        stdout = render(beside) if beside else ""
        return Reply(stdout, stderr=join_texts(outcomes, "block"), exit_code=2, shares=shares)
    if event in PLAIN_EVENTS and not of(outcomes, "block"):
        return Reply(_plain(event, outcomes), shares=shares)
    body = _top_level(event, outcomes)
    specific = _specific(event, outcomes, advice.text)
    if specific:
        body["hookSpecificOutput"] = {"hookEventName": event, **specific}
    positions = [i for i, outcome in enumerate(outcomes) if outcome.kind in ("advise", "force_turn")]
    whole = {positions[index] for index in advice.whole}
    return Reply(
        stdout=render(body) if body else "",
        delivered=tuple(i for i, outcome in enumerate(outcomes) if i in whole or outcome.kind == "tell_user"),
        variables=variables,
        path=path,
        shares=shares,
    )


# The event's field that each kind of outcome replaces.
_REPLACES = {
    "change_input": "tool_input",
    "change_output": "tool_response",
    "display": "delta",
    "title": "session_title",
}


def changed(event: Event, said: Sequence[Outcome]) -> Event:
    """Return the event with the values that a handler changed, as the next handler sees it."""
    values: dict[str, Any] = {}
    for outcome in said:
        if outcome.kind in _REPLACES:
            values[_REPLACES[outcome.kind]] = outcome.text if outcome.value is None else outcome.value
        elif outcome.kind == "answer":
            values |= {"action": outcome.text} | ({} if outcome.value is None else {"content": outcome.value})
    return event.replaced(values) if values else event


_MONITOR_INPUT = "Claude Code ignores it where a handler for Bash checks the command of Monitor"


def as_said(event: Event, called: Event, said: Sequence[Outcome]) -> tuple[tuple[Outcome, ...], Dropped]:
    """Return a handler's outcomes as the event knows them, and those to leave out.

    Args:
        event: the event as changed so far.
        called: the event as the handler got it (`as_called`).
        said: what the handler returned.

    Returns:
        The outcomes, in which blocking a call is denying it (client fact §1.3); and the kind of each dropped outcome
        with the reason.
    """
    drops = EVENTS[event.hook_event_name].drops if called is event else {"change_input": _MONITOR_INPUT}
    if any(outcome.kind == "change_input" for outcome in said) and "change_input" in drops:
        drops = {"allow": "it approves a changed input, which is dropped"} | drops
    dropped = tuple((outcome.kind, drops[outcome.kind]) for outcome in said if outcome.kind in drops)
    left = [outcome for outcome in said if outcome.kind not in drops]
    if event.hook_event_name in ("PreToolUse", "PreSkillShellCommand"):
        left = [deny(outcome.text) if outcome.kind == "block" else outcome for outcome in left]
    return tuple(left), dropped


def render(body: Mapping[str, Any]) -> str:
    """Return JSON on one line; characters stay unescaped (I001-19) unless UTF-8 can't encode one of them."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: JavaScript can split an emoji
        text = json.dumps(body)
    return text


def _shares(event: str, outcomes: Sequence[Outcome]) -> dict[int, int]:
    """Return the size of each outcome's text for the model, in UTF-16 units before it is cut to fit, by position."""
    kinds = _FOR_MODEL | {kind for kind, events in REASONED.items() if event in events}
    if of(outcomes, "block"):
        kinds -= {"instruct_summary"}  # no compaction comes
    shares = {position: units(outcome.text) for position, outcome in enumerate(outcomes) if outcome.kind in kinds}
    last = {outcome.kind: position for position, outcome in enumerate(outcomes)}
    if "change_output" in last:  # the last one includes the earlier changes
        value = outcomes[last["change_output"]].value
        shares[last["change_output"]] = units(
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )
    return shares


def _advice(outcomes: Sequence[Outcome]) -> Any:
    said = of(outcomes, "advise", "force_turn")
    return fit([Piece(outcome.text, outcome.must_keep, outcome.priority) for outcome in said])


def _environment(outcomes: Sequence[Outcome]) -> tuple[dict[str, str], tuple[str, ...]]:
    variables: dict[str, str] = {}
    path: list[str] = []
    for outcome in of(outcomes, "environment"):
        variables.update(outcome.value["variables"])
        path.extend(folder for folder in outcome.value["path"] if folder not in path)
    return variables, tuple(path)


def _plain(event: str, outcomes: Sequence[Outcome]) -> str:
    kind = PLAIN_EVENTS[event]
    if kind == "worktree":
        return next((outcome.text for outcome in reversed(of(outcomes, kind))), "")
    text = join_texts(outcomes, kind)
    # A text that begins like JSON would be parsed as JSON (client fact §1.5).
    return f"Note: {text}" if _LIKE_JSON.match(text) else text


def _top_level(event: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if of(outcomes, "block"):
        body |= {"decision": "block", "reason": join_texts(outcomes, "block")}
    if of(outcomes, "stop"):
        body |= {"continue": False, "stopReason": join_texts(outcomes, "stop")}
    return body | _beside(event, outcomes)


def _beside(event: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the keys that any decision may have beside it: the user's message and the terminal sequence."""
    body: dict[str, Any] = {}
    if event not in PLAIN_EVENTS and of(outcomes, "tell_user"):
        body["systemMessage"] = join_texts(outcomes, "tell_user")
    sequences = ""
    for outcome in of(outcomes, "terminal"):
        if len((sequences + outcome.text).encode("utf-8", "surrogatepass")) <= TERMINAL_LIMIT_BYTES:
            sequences += outcome.text
    if sequences:
        body["terminalSequence"] = sequences
    return body


def _specific(event: str, outcomes: Sequence[Outcome], advice: str) -> dict[str, Any]:
    if event == "PermissionRequest":
        return _permission(outcomes)
    body: dict[str, Any] = {}
    decision = next((kind for kind in PRECEDENCE if of(outcomes, kind)), None)
    if decision:
        body["permissionDecision"] = decision
        if reason := join_texts(outcomes, decision):
            body["permissionDecisionReason"] = reason
    changed = of(outcomes, "change_input")
    if changed and decision not in ("deny", "defer"):
        body["updatedInput"] = changed[-1].value
    if advice:
        body["additionalContext"] = advice
    return body | _replaced(outcomes) | _answer(outcomes) | _switches(outcomes)


def _permission(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return PermissionRequest's decision; a changed input counts only together with allow (client fact §1.3)."""
    if denials := of(outcomes, "deny"):
        decision: dict[str, Any] = {"behavior": "deny", "message": join_texts(outcomes, "deny")}
        if any(denial.value for denial in denials):
            decision["interrupt"] = True
        return {"decision": decision}
    if not of(outcomes, "allow"):
        return {}
    decision = {"behavior": "allow"}
    if changed := of(outcomes, "change_input"):
        decision["updatedInput"] = changed[-1].value
    if updates := [update for outcome in of(outcomes, "allow") for update in outcome.value or []]:
        decision["updatedPermissions"] = updates
    return {"decision": decision}


def _replaced(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the values that handlers changed; the last one counts, because it was made from the earlier ones."""
    body: dict[str, Any] = {
        LAST_VALUE[outcome.kind]: outcome.text if outcome.value is None else outcome.value
        for outcome in outcomes
        if outcome.kind in LAST_VALUE
    }
    if of(outcomes, "initial_message"):
        body["initialUserMessage"] = join_texts(outcomes, "initial_message")
    if notes := of(outcomes, "classify"):
        body["classifierContext"] = fit([Piece(note.text) for note in notes], CLASSIFIER_LIMIT_UNITS).text
    return body


def _answer(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the answer to an MCP server: the most restrictive action, with a form only for `accept`."""
    said = of(outcomes, "answer")
    action = next((action for action in ANSWERS if any(outcome.text == action for outcome in said)), None)
    if action is None:
        return {}
    forms = [outcome.value for outcome in said if outcome.value is not None] if action == "accept" else []
    return {"action": action, **({"content": forms[-1]} if forms else {})}


def _switches(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if watched := [path for outcome in of(outcomes, "watch") for path in outcome.value]:
        body["watchPaths"] = list(dict.fromkeys(watched))
    return body | {key: True for kind, key in SWITCHES.items() if of(outcomes, kind)}
