"""Mask values given to secret-like names: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `X-Api-Key: …`.

A name is found first, which is cheap. Only then are its surroundings judged: an assignment in a shell or an .env file,
a line of YAML, a header or an option holds a secret, while a type, a call or another variable's name is code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.files.tokenshapes import ESCAPE, MASK
from holdfast.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# How names of secrets end: DB_PASSWORD, accessToken, client-secret; not max_tokens, PASSWORD_FILE, secretary.
_KEYS = (
    "api|app|application|access|private|signing|encryption|account|master|service|auth|ssh|license|client|consumer"
    "|subscription|shared|storage|deploy|functions|secret|write"
)
_FOREIGN = (  # passwords in other languages
    "passwort|kennwort|contrase[ñn]a|mot[ _-]de[ _-]passe|wachtwoord|lösenord|salasana|jelszó|пароль|密码|密碼"
    "|パスワード|비밀번호|(?<![a-z])(?:senha|has[łl]o|heslo|şifre)"
)
_OTHERS = rf"passw(?:or)?d|passphrase|passcode|[_-]pwd|[_-]pass|secret|credentials?|cookie|token|{_FOREIGN}"
_NUMBER = r"(?:[_-]?\d{1,3})?"
_WHOLE = regex(rf"(?:authorization|{_OTHERS}|(?:{_KEYS})[_-]?key(?:[_-]base)?){_NUMBER}\Z", re.IGNORECASE)
_KEY = "|".join(f"(?<={of}key)|(?<={of}[ _-]key)" for of in _KEYS.split("|"))  # looking for `key` first is fast
_FOUND = regex(rf"(?:{_OTHERS}|pass(?==)|key(?:{_KEY})(?:[_-]base)?){_NUMBER}(?![a-z0-9])")  # in lower case
_WORDS = (  # every name contains one of them
    *("pass", "pwd", "secret", "key", "credential", "cookie", "token", "kennwort", "contrase", "wachtwoord"),
    *("lösenord", "salasana", "jelszó", "пароль", "密", "パスワード", "비밀번호", "senha", "hasło", "haslo", "heslo"),
    "şifre",
)
_WORD_OFFSET_CHARS = 8  # characters of a name before the word in it, at most: `mot de passe`
_NAME_CHARS = 64  # more characters than a name has from there on
_OF_OTHERS = regex(_FOREIGN)

_COLOUR = r"(?:(?:\x1b|\\+(?:x1b|u001b|e|033))?\[[0-9;]{0,12}[mK])?"
_AFTER = regex(
    rf"(?P<shut>\\{{0,8}}[\"'`]|&quot;)?(?:\]|[ \t]\[[^\]\n]{{0,24}}\](?=:))?{_COLOUR}(?P<gap>[ \t]*)"
    rf"(?P<sign>=>|:=|={{1,3}}|!={{1,2}}|:|：|%3[AaDd]|,|(?:is|was)(?=[ \t]))?{_COLOUR}(?P<space>\s{{0,64}}){_COLOUR}"
)
_QUOTED = regex(r"(?P<quote>\\{0,8}[\"'`]|&quot;)(?P<value>(?:(?!(?P=quote))[^\n]){1,4096}+)(?P=quote)")
_WIDE = regex(
    r"(?:[^\s\"'`\\]|\\(?![abefnrtvux0\"'\\])){1,4096}"
)  # up to the next space, as in a shell or an .env file
_NARROW = regex(r"[^\s\"'`&;,|)\\]{1,4096}")
_NEXT_LINE = regex(  # a block of YAML
    r"[ \t]*(?:[|>][+-]?\d?)?[ \t]*(?:\r?\n|\\+n)[ \t]+"
    r"(?P<value>(?=[^\s\"'`]{0,40}[A-Za-z])[^\s\"'`:/\\]{12,4096})[ \t]*(?=\r?\n|\\+[nr]|\\*\"|\Z)"
)
_REST = regex(r"[^\"'\r\n\\]{1,4096}")
_LINE_BEFORE = regex(
    rf"(?:\A|[\r\n]|{ESCAPE.pattern})[ \t]*(?:[-+>#*|][ \t]+)?(?:(?:export|set|setx|env|ENV|ARG)[ \t]+)?\Z"
)
_LINE_AFTER = regex(r"[ \t]*(?:#[^\r\n]*)?(?:\Z|[\r\n]|\\[nr]|[\"'`](?:\Z|[\s,}\])]))")
_SETTER = regex(r"(?:ENV|ARG|[Ss]etx)[ \t]\Z")
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-"
_STEM_CHARS = 64  # characters before a name that are looked at
_LONG_CHARS = 12  # the fewest characters of a secret in a table
_SHORTEST_CHARS = 4  # the fewest characters of a secret in quotes that is no password
_ESCAPE_LIMIT_CHARS = 10  # characters of an escape at most
_AWS_SECRET_CHARS = 40  # length of an AWS secret, which may begin with a slash
_CLOSERS = (",", ")", ";")

# Texts in place of a value, or about its kind: a placeholder, a type, a setting, a count.
_PLAIN = regex(
    r"(?:true|false|null|none|nil|undefined|yes|no|on|off|required|optional|string|str|text|char|varchar|unknown"
    r"|erforderlich|obligator[ioa]{1,2}|obrigat[óo]ri[oa]|requise?|verplicht|wymagane|обязател[а-я]{2,5}|必填|必須"
    r"|missing|invalid|expired|unset|empty|changed|any|object|bytes|bool(?:ean)?|number|integer|date(?:time)?|uuid|list|dict|include|omit|same-origin|inherit|prompt|read|write|\d{1,6}"
    r"|(?:u?int|float|bytes|sha|md|utf|base|aes|hs|rs|es|ed|x|str)[-_]?\d{1,4}|[~^]?v?\d+(?:\.\d+){1,3}|…|[*.]{3,}|x{3,}|\[redacted\]?)(?![\w+/=-])"
    r"|\$|[<{*(%]|\[(?!redacted)|&[a-z]",
    re.IGNORECASE,
)
_CHAIN = regex(r"[A-Za-z_$][\w$]{0,40}(?:(?:\.|::|\?\.|->)[A-Za-z_$][\w$]{0,40})*+")  # a variable, an attribute, a type
_CALL = regex(r"[&*!]?[A-Za-z_$][\w$.:]{0,80}(?:[(<]|\[(?![0-9;]{0,12}m))")  # not the bracket of a colour code
_DIGIT = regex(r"[0-9]")
_DATE = regex(r"\d{4}-\d\d-\d\d")
_PATH = regex(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@~/\\ -]*|https?://\S*|@\S*")


def secret_name(name: str) -> bool:
    """Return whether a key or variable of this name holds a secret."""
    return _WHOLE.search(name) is not None


def lowered(text: str) -> str:
    """Return `text` in lower case, letter for letter: only İ would become two, and is taken for an `i`."""
    return text.replace("İ", "i").lower()


def masked_values(text: str, words: str) -> str:
    """Return `text` with `[redacted]` in place of each value given to a secret-like name.

    Args:
        text: the text.
        words: every word in it, in lower case (`lowered`).
    """
    present = [word for word in _WORDS if word in words]
    if not present:
        return text
    lower = lowered(text)
    parts: list[str] = []
    done = 0
    for name in _names(lower, present):
        if name.start() < done:
            continue
        if place := _value(_Given(text, name.start(), name.end(), name[0])):
            parts += (text[done : place[0]], MASK)
            done = place[1]
    text = "".join((*parts, text[done:])) if parts else text
    return _masked_columns(text) if "|" in text and "--" in text else text


def _names(lower: str, present: Sequence[str]) -> Iterator[re.Match[str]]:
    """Yield the names that `_FOUND.finditer` finds, in a tenth of its time: it tries the pattern only around words.

    Args:
        lower: the text, in lower case.
        present: the words of names that are in it.
    """
    end = 0
    for at in sorted({at for word in present for at in _places(lower, word)}):
        if at < end:
            continue
        found = _FOUND.search(lower, max(end, at - _WORD_OFFSET_CHARS), at + _NAME_CHARS)
        if found and found.start() <= at:  # else it belongs to a later word, and may be longer
            yield found
            end = found.end()


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _masked_columns(text: str) -> str:
    """Return `text` with `[redacted]` for values that look like secrets in table columns with a secret-like name."""
    lines, secret = text.split("\n"), frozenset[int]()
    for number, line in enumerate(lines):
        cells = line.split("|")
        if number and len(cells) > 1 and not line.strip(" \t\r:|-"):
            names = enumerate(lines[number - 1].split("|"))
            secret = frozenset(place for place, name in names if secret_name(name.strip()))
        elif len(cells) == 1:
            secret = frozenset()
        elif secret:
            lines[number] = "|".join(_cell(cell) if place in secret else cell for place, cell in enumerate(cells))
    return "\n".join(lines)


def _cell(cell: str) -> str:
    said = cell.strip().strip("`")
    mixed = (
        len(said) >= _LONG_CHARS
        and " " not in said
        and not said.isdecimal()
        and _random(said)
        and not _PATH.match(said)
    )
    return cell.replace(said, MASK) if mixed else cell


class _Given:
    """A secret-like name in a text, and the sign that gives it a value.

    Attributes:
        text: the whole text.
        begin: the offset at which the whole word begins that ends with the name.
        at: the offset at which the value begins.
        behind: the offset after the sign.
        word: the whole word: `--db-password`, `X-Api-Key`.
        name: its secret-like end in lower case: `password`, `key`.
        sign: the sign between name and value: `=`, `:`, …; empty for none.
        shut: whether a quotation ends after the name.
        blank: the white space around the sign.
    """

    __slots__ = ("at", "begin", "behind", "blank", "name", "shut", "sign", "text", "word")

    def __init__(self, text: str, start: int, end: int, name: str) -> None:
        """Look around the name between offsets `start` and `end`."""
        after = _AFTER.match(text, end)
        assert after is not None  # it matches the empty text
        before = text[max(0, start - _STEM_CHARS) : start]
        begin = start - len(before) + len(before.rstrip(_WORD))
        for escape in ESCAPE.finditer(text, max(0, begin - _ESCAPE_LIMIT_CHARS), start):
            begin = max(begin, escape.end())  # the letters of an escape don't belong to the word
        self.text, self.name = text, name
        self.begin, self.at, self.behind = begin, after.end(), after.start("space")
        self.word = text[begin:end]
        self.sign = (after["sign"] or "").lower().replace("：", ":")
        self.shut = bool(after["shut"])
        self.blank = after["gap"] + after["space"]

    @property
    def password(self) -> bool:
        """Whether the name leaves no doubt, so that even a plain word is a secret; a token could be a parser's."""
        known = self.name.startswith("pass") or self.name[1:5] in ("pwd", "pass")
        return known or _OF_OTHERS.match(self.name) is not None

    @property
    def sure(self) -> bool:
        """Whether the name belongs to a setting: a password's, or one written like a variable or a header."""
        return self.password or self.word.isupper() or "-" in self.word.strip("-")


def _value(given: _Given) -> tuple[int, int] | None:
    """Return the span of the secret given to the name, None if there is none."""
    text, at = given.text, given.at
    if given.sign in ("", ","):
        return _argument(given)
    if quoted := _QUOTED.match(text, at):
        return quoted.span("value") if _is_secret(quoted, given) else None
    if given.sign == ":" and (block := _NEXT_LINE.match(text, given.behind)):
        line = _LINE_BEFORE.search(text, max(0, given.begin - _STEM_CHARS), given.begin)
        return block.span("value") if line and _random(block["value"]) and "." not in block["value"] else None
    if "\n" in given.blank or text[at : at + 1] in ("", '"', "'", "`"):
        return None
    if given.sign not in ("=", "%3d") or given.blank:
        return _after_colon(given)
    alone = given.begin == 0 or text[given.begin - 1].isspace() or given.word.isupper() or given.word.startswith("-")
    bare = (_WIDE if alone else _NARROW).match(text, at)
    if bare is None or _PLAIN.match(bare[0]) or _names_a_path(bare[0], given):
        return None
    if not given.word.isupper() and (_code(given) or (given.name == "pass" and not _random(bare[0]))):
        return None
    return bare.span()


def _argument(given: _Given) -> tuple[int, int] | None:
    """Return the span of a value that follows the name as a separate argument: `--token x`, `"--token", "x"`."""
    if given.shut != (given.sign == ",") or not (given.sign or given.blank):
        return None
    quoted = _QUOTED.match(given.text, given.at)
    if quoted and (not given.sign or (quoted["quote"] != "`" and "\n" not in given.blank)):
        place = quoted.span("value")
    elif not given.sign and "\n" not in given.blank and (bare := _WIDE.match(given.text, given.at)):
        place = bare.span()
    else:
        return None
    said = given.text[slice(*place)]
    if said.startswith(("-", "|", "&", ";", ">")) or _PLAIN.match(said) or _names_a_path(said, given):
        return None
    if given.word.startswith("-"):
        return place if given.word.startswith("--") or given.password or _random(said) else None
    setting = given.word.isupper() and _SETTER.search(
        given.text, max(0, given.begin - _ESCAPE_LIMIT_CHARS), given.begin
    )
    return place if setting or (_random(said) and (given.sign or given.password)) else None


def _is_secret(quoted: re.Match[str], given: _Given) -> bool:
    """Return whether a quoted value is a secret."""
    said = quoted["value"]
    plain = _PLAIN.match(said)
    if plain and (not said[plain.end() :].strip() or said[0] in "$<{*(%["):
        return False
    if not given.password and (len(said) < _SHORTEST_CHARS or _names_a_path(said, given)):
        return False
    if given.name in said.lower() and said.replace("-", "_").isidentifier() and not _has_digit(said):
        return False  # another name, as in `token: "ACCESS_TOKEN"`
    if quoted["quote"] == "`" or given.sign in ("is", "was"):
        return _random(said)
    if given.sign in ("==", "===", "!=", "!=="):
        return _random(said) or (given.sure and " " not in said)
    return True


def _after_colon(given: _Given) -> tuple[int, int] | None:
    """Return the span of an unquoted value after `: ` or ` = `, on its own line, in a header or in a sentence."""
    text, begin, at = given.text, given.begin, given.at
    opened = text[begin - 1 : begin]
    if given.sure and given.sign == ":" and not given.shut and opened and opened in "\"'":  # -H 'X-Api-Key: x'
        whole = _REST.match(text, at)
        if (
            whole
            and not _PLAIN.match(whole[0])
            and text[whole.end() : whole.end() + _ESCAPE_LIMIT_CHARS].lstrip("\\").startswith(opened)
        ):
            return whole.span()
    bare = _NARROW.match(text, at)
    if bare is None or _PLAIN.match(bare[0]) or _names_a_path(bare[0], given) or _code(given):
        return None
    line = _LINE_BEFORE.search(text, max(0, begin - _STEM_CHARS), begin) and _WIDE.match(text, at)
    if line and _LINE_AFTER.match(text, line.end()):
        variable = bare[0].isidentifier() and not bare[0].islower()
        plain = line[0].islower() and line[0].replace("-", "").isalpha()
        compound = given.sign == ":" and plain and len(given.word) > len(given.name)  # `client_secret: …`
        sure = given.sure and (given.sign == ":" or (given.sign == "=" and not variable))
        return line.span() if _random(line[0]) or sure or compound else None
    return bare.span() if (given.sign != "=" or given.password) and _random(bare[0]) else None


def _code(given: _Given) -> bool:
    """Return whether an unquoted value is code: a call, another variable, an attribute, a type."""
    value = _NARROW.match(given.text, given.at)
    if value is None:
        return False
    said = value[0]
    if _CALL.match(said):
        return True
    if not _CHAIN.fullmatch(said):
        return False
    if "." in said or "::" in said or "->" in said or (given.name in said.lower() and not _has_digit(said)):
        return True
    return said.isidentifier() and given.text[value.end() : value.end() + 1] in _CLOSERS and not _random(said)


def _random(said: str) -> bool:
    """Return whether a value alone looks like a secret: letters and digits, but neither a date nor a type."""
    if len(said) < 6 or said.isalpha() or _PLAIN.match(said) or _DATE.match(said):
        return False
    return _has_digit(said)


def _has_digit(said: str) -> bool:
    return _DIGIT.search(said) is not None


def _names_a_path(said: str, given: _Given) -> bool:
    """Return whether a value is the path of a key, a cookie or credentials; a password may begin with a slash."""
    return not given.password and len(said) != _AWS_SECRET_CHARS and _PATH.fullmatch(said) is not None
