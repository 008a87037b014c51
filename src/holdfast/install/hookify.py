"""Turn rule files of the plugin hookify (`.claude/hookify.NAME.local.md`) into rules of Holdfast."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EVENTS = {
    "bash": ("PreToolUse", "Bash"),
    "file": ("PreToolUse", "Edit|Write"),
    "prompt": ("UserPromptSubmit", None),
    "stop": ("Stop", None),
}
# The field of a condition, by the event that has it -> the key of our condition.
_FIELDS = {
    "bash": {"command": "input.command"},
    "file": {
        "file_path": "input.file_path",
        **dict.fromkeys(("new_text", "new_string", "content"), 'input."new_string|content"'),
        **dict.fromkeys(("old_text", "old_string"), "input.old_string"),
    },
    "prompt": dict.fromkeys(("user_prompt", "prompt", "content"), "field.prompt"),
    "stop": {"transcript": "field.transcript", "content": "field.last_assistant_message"},
}
_USUAL_FIELD = {"bash": "command", "file": "new_text"}
_ANSWERS = {
    ("PreToolUse", "block"): "deny",
    ("PreToolUse", "ask"): "ask",
    ("PreToolUse", "warn"): "advise",
    ("UserPromptSubmit", "block"): "block",
    ("UserPromptSubmit", "warn"): "advise",
    ("Stop", "block"): "block",
    ("Stop", "warn"): "tell_user",  # advice there would force another turn
}


class Imported(NamedTuple):
    """A rule made of one of hookify's: the name of its file without `.toml`, and its text."""

    name: str
    text: str


def rules(source: str) -> list[Imported]:
    """Return the rules that do what a rule file of hookify does; several if it is for several events.

    Args:
        source: the file's text: front matter between `---`, then the message.

    Raises:
        HoldfastError: it is no such file, or it has a condition that no event knows.
    """
    head, message = _parts(source)
    name = re.sub(r"\W+", "_", str(head.get("name", ""))).strip("_") or "hookify"
    kind, action = str(head.get("event", "all")), str(head.get("action", "warn"))
    kinds = list(_EVENTS) if kind == "all" else [kind]
    if not set(kinds) <= set(_EVENTS):
        raise HoldfastError(f"event: {kind!r} is none of {', '.join(_EVENTS)}, all")
    conditions = list(_conditions(head, kind))
    found = []
    for each in kinds:
        if all(field in _FIELDS[each] for field, _, _ in conditions):
            text = _rule(each, action, message, conditions, enabled=head.get("enabled") != "false")
            found.append(Imported(name if len(kinds) == 1 else f"{name}_{each}", text))
    if not found:
        fields = ", ".join(field for field, _, _ in conditions)
        raise HoldfastError(f"no event of {kind!r} has all of its fields: {fields}")
    return found


def _rule(kind: str, action: str, message: str, conditions: Sequence[tuple[str, str, str]], *, enabled: bool) -> str:
    event, match = _EVENTS[kind]
    by_key: dict[str, list[str]] = {}
    for field, operator, pattern in conditions:
        by_key.setdefault(_FIELDS[kind][field], []).append(_regex(operator, pattern))
    when = ", ".join(f"{key} = {{ regex = {_quoted(_joined(parts))} }}" for key, parts in by_key.items())
    lines = [
        f"event = {_quoted(event)}",
        *([f"match = {_quoted(match)}"] if match else []),
        *([f"when = {{ {when} }}"] if when else []),
        f"answer = {_quoted(_ANSWERS.get((event, action)) or _ANSWERS[event, 'warn'])}",
        f"text = {_quoted(message)}",
        *([] if enabled else ["off_by_default = true"]),
    ]
    return "\n".join(lines) + "\n"


def _joined(parts: Sequence[str]) -> str:
    """Return a regular expression for texts that all of some fit."""
    return parts[0] if len(parts) == 1 else "(?s)^" + "".join(f"(?=.*(?:{part}))" for part in parts)


def _regex(operator: str, pattern: str) -> str:
    plain = re.escape(pattern)
    known = {
        "regex_match": f"(?i:{pattern})",  # hookify ignores case there, and there only
        "contains": plain,
        "equals": rf"\A{plain}\Z",
        "not_contains": rf"\A(?!(?s:.*){plain})",
        "starts_with": rf"\A{plain}",
        "ends_with": rf"{plain}\Z",
    }
    if operator not in known:
        raise HoldfastError(f"operator: {operator!r} is none of {', '.join(known)}")
    return known[operator]


def _conditions(head: dict[str, Any], kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield field, operator and pattern of each condition."""
    listed = head.get("conditions")
    if isinstance(listed, list) and listed:
        for each in listed:
            yield each.get("field", ""), each.get("operator", "regex_match"), each.get("pattern", "")
    elif pattern := head.get("pattern"):
        yield _USUAL_FIELD.get(kind, "content"), "regex_match", pattern


def _parts(source: str) -> tuple[dict[str, Any], str]:
    """Return the front matter and the message. The front matter is the part of YAML that hookify itself reads."""
    found = re.match(r"---\s*\n(.*?)\n---\s*\n(.*)", source, re.DOTALL)
    if not found:
        raise HoldfastError("it doesn't begin with front matter between lines of ---")
    head: dict[str, Any] = {}
    items: list[dict[str, str]] = []
    for line in found[1].splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("- "):
            items.append({})
            text = text[2:]
        key, _, value = text.partition(":")
        (items[-1] if line[0] in " -" and items else head)[key.strip()] = _unquoted(value.strip())
    return (head | {"conditions": items} if items else head), found[2].strip()


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _quoted(text: str) -> str:
    """Return a text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
