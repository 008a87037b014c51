"""Make an event's payload from what a person types: the event, a tool, a text and fields. The rest is recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.clients.claude import events, matchable, matchers
from holdfast.errors import EventError, did_you_mean
from holdfast.testkit import recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.plugins.scan import Route

_INPUT = "tool_input"
_USUAL_TOOL = "Bash"  # of an event about a tool call, if none is named
_OWN = frozenset(
    {"hook_event_name", "session_id", "transcript_path", "cwd"}
)  # in every payload, so never listed as recorded


class Draft(NamedTuple):
    """A payload to fire.

    Attributes:
        payload: the payload.
        source: where the rest of it comes from: the recorded payload's name.
        taken: the fields that come from there; one of a tool's input is `tool_input.NAME`.
    """

    payload: dict[str, Any]
    source: str
    taken: tuple[str, ...]


def event_name(text: str) -> str:
    """Return the event that a text names, in any case. Raises EventError, which names the nearest one."""
    known = {name.casefold(): name for name in events.EVENTS}
    name = known.get(text.casefold(), text)
    check_event(name)
    return name


def check_event(name: str) -> None:
    """Raise EventError unless an event has exactly this name."""
    if name not in events.EVENTS:
        raise EventError(f"there is no event {name!r}{did_you_mean(name, sorted(events.EVENTS), else_all=True)}")


def check_fields(event: str, names: Iterable[str]) -> None:
    """Raise EventError for a name that is no field of an event's payload; it names the nearest one."""
    known = events.model(event).model_fields
    for name in names:
        if name not in known:
            raise EventError(f"{event} has no field {name!r}{did_you_mean(name, sorted(known), else_all=True)}")


def draft(
    event: str,
    words: Sequence[str],
    fields: Mapping[str, Any],
    session: str,
    root: Path,
    base: Mapping[str, Any] | None = None,
    *,
    as_text: bool = False,
) -> Draft:
    """Return a payload as if a session sent it from a project.

    Args:
        event: the event's name.
        words: the tool, or the value that the event's matcher is compared with; and a text, such as the command.
        fields: more fields. A name that isn't the event's own is a field of the tool's input.
        session: the session's id.
        root: the project's folder.
        base: a whole payload, instead of a recorded one.
        as_text: the fields' values are texts that a person typed: JSON, unless the field holds a text.

    Raises:
        EventError: a word or a field means nothing on this event.
    """
    field = events.EVENTS[event].matcher
    named = str(fields.get(str(field), "")) or None
    value, text = _split(event, words, named)
    name, payload = ("", dict(base)) if base is not None else _recorded(event, named or value or None)
    payload |= {"hook_event_name": event, "session_id": session, "transcript_path": payload.get("transcript_path", "")}
    if base is None:
        payload |= {"cwd": str(root), "transcript_path": ""}
    changed: set[str] = set()
    if named or value:
        _set(event, payload, str(field), named or value, changed)
    if text is not None:
        _set(event, payload, _text_field(event, str(payload.get("tool_name", ""))), text, changed)
    for key, each in fields.items():
        _set(event, payload, key, _typed(payload, key, each) if as_text else each, changed)
    keys = [key for key in payload if key != _INPUT or not isinstance(payload[key], dict)]
    keys += [f"{_INPUT}.{key}" for key in payload[_INPUT]] if _INPUT not in keys and _INPUT in payload else []
    taken = tuple(sorted(key for key in keys if key not in _OWN | changed and key.partition(".")[0] not in changed))
    return Draft(payload, name, taken)


def of_example(route: Route, text: str, fields: Mapping[str, Any], session: str, root: Path) -> Draft:
    """Return the payload of one of a function's examples (`draft`).

    Args:
        route: the function.
        text: the example's text: a command or path of the first tool in `match`, or the event's own text.
        fields: the other fields.
        session: the session's id.
        root: the project's folder.

    Raises:
        EventError: the text or a field means nothing on this event.
    """
    event, match = route.event, route.match
    field = events.EVENTS[event].matcher
    first: list[str] = []
    if text and field and field != "tool_name" and _text_field(event) == field:
        pass  # the text is the value
    elif field and field not in fields and match:
        tools = [*matchable.TEXT_FIELDS, *sorted(matchable.TOOLS)] if field == "tool_name" else []
        listed = matchers.alternatives(match, event) or [each for each in tools if matchers.matches(match, each, event)]
        first = [each for each in listed if each][:1]
        if not first:
            raise EventError(f"match={match!r} names no value to try; add the field {field!r} to the example")
    elif field == "tool_name" and field not in fields:
        first = [_USUAL_TOOL]
    return draft(event, [*first, text] if text else first, fields, session, root)


def text_of(payload: Mapping[str, Any]) -> str:
    """Return the text that a payload is about, such as its command; empty if none is known."""
    try:
        field = _text_field(str(payload["hook_event_name"]), str(payload.get("tool_name", "")))
    except EventError:
        return ""
    return str(dict(flat(payload)).get(field) or "")


def flat(payload: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a payload's fields; those of an object as `tool_input.command`."""
    for name, value in payload.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", each) for key, each in value.items())
        else:
            yield name, value


def _typed(payload: Mapping[str, Any], name: str, text: str) -> Any:
    """Return the value that a person typed for a field: JSON, but as it is where the payload has a text."""
    known = dict(flat(payload))
    if isinstance(known.get(name, known.get(f"{_INPUT}.{name}")), str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _split(event: str, words: Sequence[str], named: str | None) -> tuple[str, str | None]:
    """Return the tool or value, or an empty string, and the text, or None. Raises EventError for other words."""
    hook, (first, *rest) = events.EVENTS[event], words or [""]
    if first and (named or (hook.matcher != "tool_name" and not rest and first not in hook.values and hook.text)):
        first, rest = "", [first, *rest]
    if len(rest) > 1 or (first and not hook.matcher):
        raise EventError(f"{event} doesn't take {len(words)} words; put a text with spaces into quotes")
    if first and hook.matcher == "tool_name" and first not in matchable.TOOLS and not first.startswith("mcp__"):
        hint = did_you_mean(first, sorted(matchable.TOOLS), else_all=True)
        raise EventError(f"there is no tool {first!r}{hint}; a newer one: tool_name={first}")
    return first, rest[0] if rest else None


def _text_field(event: str, tool: str = "") -> str:
    """Return the field that a text means; empty on an event that takes none. Raises EventError for an unknown tool."""
    hook = events.EVENTS[event]
    if hook.matcher == "tool_name":
        if tool in matchable.TEXT_FIELDS:
            return f"{_INPUT}.{matchable.TEXT_FIELDS[tool]}"
        raise EventError(f"a text means nothing for {tool or 'no tool'}; name the field, as in tool_input.NAME=VALUE")
    return hook.text or hook.matcher or ""


def _recorded(event: str, value: str | None) -> tuple[str, dict[str, Any]]:
    """Return the recorded payload that is nearest to an event with this tool or value, with its name."""
    field = events.EVENTS[event].matcher
    names = recorded.names_of(event) or (recorded.names_of("PreToolUse") if field == "tool_name" else [])
    if not names:
        return "", {}
    wanted = _USUAL_TOOL if field == "tool_name" and value is None else value
    found = {name: recorded.load(name) for name in names if "subagent" not in name}
    name = next((each for each, payload in found.items() if wanted and payload.get(str(field)) == wanted), "")
    if name or field != "tool_name" or value is None:
        name = name or next(iter(found))
        return name, found[name]
    name = next(iter(found))  # of another tool, so what concerns the tool is left out
    return name, {key: each for key, each in found[name].items() if not key.startswith(("tool_", "mcp_"))} | {
        _INPUT: {}
    }


def _set(event: str, payload: dict[str, Any], name: str, value: Any, changed: set[str]) -> None:
    """Set a field of a payload. Raises EventError for one that the event hasn't."""
    known, inner = events.model(event).model_fields, payload.get(_INPUT)
    head, _, key = name.partition(".")
    tool = str(payload.get("tool_name", ""))
    own = {*(inner if isinstance(inner, dict) else ()), matchable.TEXT_FIELDS.get(tool, _INPUT)}
    if head not in known and not key and _INPUT in known and (head in own or tool.startswith("mcp__")):
        head, key = _INPUT, head
    if head not in known:
        fields = sorted([*known, *own] if _INPUT in known else known)
        raise EventError(f"{event} has no field {name!r}{did_you_mean(name, fields, else_all=True)}")
    if not key:
        payload[head] = value
        changed.add(head)
        return
    whole = payload.get(head)
    payload[head] = {**(whole if isinstance(whole, dict) else {}), key: value}
    changed.add(f"{head}.{key}")
