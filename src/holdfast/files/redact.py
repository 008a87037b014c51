"""Mask secrets in texts before they are recorded, logged or shown; `secrets.toml` has the rules.

Redact before you cut, quote or escape: half a token is harder to recognize. `beginning` and `ending` cut a long text
first, mask what is left of it, and then drop the part in which the cut could have left half a secret. Escaped text
(JSON, the `repr` of an exception) is recognized too.
"""

from __future__ import annotations

import re
import string
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARGIN_CHARS", "MASK", "beginning", "ending", "redact", "redact_value", "secret_name"]

MASK = "[redacted]"
MARGIN_CHARS = 10_000
"""Characters at a cut in which half a secret can be; only exotic key blocks are longer."""

_DEEPEST = 200  # levels of a structure; anything deeper is masked as a whole
_BEFORE_CHARS = 64  # characters before a match that are looked at: escapes, and the beginning of a name
_VALUE_CHARS = 100  # characters of a value without quotes that decide whether it is a secret
_SHORTEST_CHARS = 6  # the fewest characters of a secret, unless its name leaves no doubt
_LETTERS = f"{string.ascii_letters}{string.digits}_-"

_COLOUR = r"(?:\x1b|\\++(?:x1b|u001b|e|033))?+\[[0-9;]*+[mK]"  # cleaned text lacks the escape character
# What ends in a letter or digit but isn't part of the word after it: \n, \u000a, %0A, a terminal's colour.
_ESCAPE = re.compile(rf"{_COLOUR}|\\(?:[abefnrtv0]|x[0-9a-f]{{2}}|u[0-9a-f]{{4}})|%[0-9A-F]{{2}}")
_BLANK = rf"(?:[ \t]|{_COLOUR})*+"
# What follows a name: a closing quote, an operator, and the value in quotes, in escaped quotes, or up to a space.
_ASSIGNED = re.compile(
    rf"(?i)(?P<close>\\*+[\"'`])?+\]?+"
    rf"(?P<sign>{_BLANK}(?P<operator>=>|:=|!?={{1,3}}|[:：,>]|%3[AD]|is\b|was\b)?+{_BLANK})"
    r"(?:(?P<quote>[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\\\n]|\\[^nr])*+)|\\++[\"'`](?P<escaped>[^\"'`\\\n]*+)"
    rf"|(?P<bare>[^\s\"'`\\\x1b]{{1,{_VALUE_CHARS}}}+))"
)
_RUN = re.compile(r"(?:[^\s\"'`\\\x1b]|\\(?![abefnrtvux0\"'\\]))*+")
# The end of a value after `=`, and after another operator.
_ENDS = {True: re.compile(f"[,<&;|)]|{_COLOUR}"), False: re.compile(f"[,<]|{_COLOUR}")}
_TOKENS = {"alphanumeric": r"[A-Za-z0-9]{16,}+[\w+/=-]*+", "dashed": r"[\w-]{16,}+[\w.+/=-]*+"}
_MIXED = re.compile(r"\d|\w[!$%^]++\w")  # unlike a word in any language


class _Rule(NamedTuple):
    """One of the rules in `secrets.toml`, which explains the fields. `command` matches the whole rest of a line."""

    pattern: re.Pattern[str]
    edge: bool
    command: re.Pattern[str] | None
    requires: re.Pattern[str] | None

    def mask(self, text: str) -> str:
        """Return a text with the secrets that the rule finds masked."""
        if self.requires and not self.requires.search(text):
            return text
        if self.command:
            return self.command.sub(lambda line: self.pattern.sub(self._masked, line[0]), text)
        return self.pattern.sub(self._masked, text)

    def _masked(self, found: re.Match[str]) -> str:
        group, start = self.pattern.groups, found.start()
        if not found[group] or _rules().plain.fullmatch(found[group]):
            return found[0]
        if self.edge and _before(found.string, start).endswith(tuple(_LETTERS)):
            return found[0]
        return found[0][: found.start(group) - start] + MASK + found[0][found.end(group) - start :]


class _Rules(NamedTuple):
    """The content of `secrets.toml`."""

    all: tuple[_Rule, ...]
    name: re.Pattern[str]
    """The names of secrets in a text in lower case."""
    plain: re.Pattern[str]
    """Values that aren't secrets."""
    code: re.Pattern[str]
    """Values without quotes that are code."""


@cache
def _rules() -> _Rules:
    data = tomllib.loads(Path(__file__).with_name("secrets.toml").read_text("utf-8"))
    rules = [_rule(**each) for each in data["rules"].values()]
    for kind, prefixes in data["prefixes"].items():
        rules.append(_rule(f"(?:{'|'.join(map(re.escape, prefixes))}){_TOKENS[kind]}", edge=True))
    names = [*(f"{key}[_-]?key(?:[_-]base)?" for key in data["keys"]), *data["names"]]  # SECRET_KEY before SECRET
    plain, code = (re.compile("|".join(data[kind]), re.IGNORECASE | re.DOTALL) for kind in ("plain", "code"))
    return _Rules(tuple(rules), re.compile(rf"(?:{'|'.join(names)})(?:[_-]?[0-9]{{1,3}})?(?![a-z0-9])"), plain, code)


def _rule(pattern: Sequence[str], *, edge: bool = False, command: str = "", requires: str = "") -> _Rule:
    return _Rule(
        pattern=re.compile("".join(pattern)),
        edge=edge,
        command=re.compile(rf"(?:{command})[^\n|;]*+") if command else None,
        requires=re.compile(requires, re.IGNORECASE) if requires else None,
    )


def secret_name(name: str) -> bool:
    """Return whether a key or variable of this name holds a secret."""
    return any(found.end() == len(name) for found in _rules().name.finditer(_lower(name)))


def redact(text: str) -> str:
    """Return a text with every secret in it replaced by `[redacted]`.

    Secrets are the tokens of common services, private key blocks, passwords in URLs, headers and commands, and the
    values of secret-like names (`DB_PASSWORD=…`, `"api_key": "…"`, `--token …`). Prose, code, hashes, ids and token
    counts stay, and so does a plain word as a value, unless a variable or an option gets it: `DB_PASSWORD=word`.
    """
    for rule in _rules().all:
        text = rule.mask(text)
    return _with_values_masked(text)


def beginning(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text after masking secrets, so never half a secret.

    Of a long text, only as much as needed is looked at.
    """
    looked_at = limit + 2 * MARGIN_CHARS
    if len(text) <= looked_at:
        return redact(text)[:limit]
    return redact(text[:looked_at])[:-MARGIN_CHARS][:limit]  # half a secret can only be at the very end


def ending(text: str, limit: int) -> str:
    """Return the last `limit` characters of a text after masking secrets, so never half a secret."""
    looked_at = limit + 2 * MARGIN_CHARS
    if len(text) <= looked_at:
        return redact(text)[-limit:]
    return redact(text[-looked_at:])[MARGIN_CHARS:][-limit:]


def redact_value(value: Any) -> Any:
    """Return a copy of a JSON-like value with secrets replaced.

    They are looked for in its texts, under keys with secret-like names, and after such an option in a list of a
    command's arguments.
    """
    return _walk(value, secret=False, depth=0)


def _walk(value: Any, *, secret: bool, depth: int) -> Any:
    if isinstance(value, str):
        return MASK if secret and value else redact(value)
    if isinstance(value, dict | list | tuple) and depth >= _DEEPEST:
        return MASK
    if isinstance(value, dict):
        named = secret_name(str(value.get("name", value.get("key", ""))))  # {"name": "API_KEY", "value": "…"}
        return {
            redact(key) if isinstance(key, str) else key: _walk(
                item,
                secret=secret or secret_name(str(key)) or (named and key == "value"),
                depth=depth + 1,
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        pairs = pairwise((None, *value))
        return [_walk(each, secret=secret or _secret_option(before), depth=depth + 1) for before, each in pairs]
    return MASK if secret and isinstance(value, int | float) and not isinstance(value, bool) else value


def _before(text: str, start: int) -> str:
    """Return the text before an offset, with spaces for escapes."""
    return _ESCAPE.sub(" ", text[max(0, start - _BEFORE_CHARS) : start])


def _secret_option(argument: Any) -> bool:
    return isinstance(argument, str) and argument.startswith("-") and secret_name(argument)


def _lower(text: str) -> str:
    """Return a text in lower case, character by character: Python makes two of İ."""
    return text.replace("İ", "i").lower()


def _with_values_masked(text: str) -> str:
    """Return a text with the values of secret-like names masked."""
    parts: list[str] = []
    done, lower, names = 0, _lower(text), _rules().name
    name = names.search(lower)
    while name:
        resume = name.end()
        if value := _ASSIGNED.match(text, name.end()):
            resume = value.start(str(value.lastgroup))  # a value that is no secret may contain other names
            if secret := _secret(name, value):
                parts += (text[done:resume], MASK)
                done = resume = resume + len(secret)
        name = names.search(lower, resume)
    return "".join((*parts, text[done:]))


def _secret(name: re.Match[str], found: re.Match[str]) -> str:
    """Return the secret that a name is assigned, or "" if its value is none."""
    text, operator, value = found.string, found["operator"], found[str(found.lastgroup)]
    before = _before(text, name.start())
    stem = before[len(before.rstrip(f"{_LETTERS}.$")) :]
    option, variable = stem.startswith("-"), (stem + text[name.start() : name.end()]).isupper()
    quoted = found["bare"] is None
    if operator == ":" and before.removesuffix(stem).endswith("/"):  # /etc/passwd: …
        return ""
    if not operator and not (found["sign"] and (option or variable or quoted)):
        return ""
    if operator == "," and not (found["close"] and quoted):
        return ""
    # A variable of a shell or an .env file, or an option: any value counts, even a plain word.
    sure = (option and quoted) or (found["sign"] == "=" and (option or variable) and found["quote"] != "`")
    if not quoted and not sure:
        value = _ENDS[operator == "="].split(value, 1)[0].rstrip(".:;!?)]}>")
        if _rules().code.fullmatch(value) or (name[0] in value.lower() and value.isidentifier()):
            return ""
    mixed = len(value) >= _SHORTEST_CHARS and len(value.split()) == 1 and _MIXED.search(value)
    if not value or _rules().plain.fullmatch(value) or not (sure or mixed):
        return ""
    longer = not quoted and (sure or len(value) == _VALUE_CHARS) and _RUN.match(text, found.start("bare"))
    return longer[0] if longer else value
