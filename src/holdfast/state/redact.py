"""Keep secrets out of recordings, logs and reports."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from holdfast.patterns import regex

MASK = "[redacted]"
_DEEPEST = 200  # levels; what lies deeper is masked whole

# How the name of a secret ends: DB_PASSWORD, accessToken, client-secret; not max_tokens, PASSWORD_FILE, secretary.
_NAME = (
    r"(?:passw(?:or)?d|passphrase|secret(?:[_-]?(?:key|token)(?:[_-]?base)?)?|credentials?|(?:set-)?cookie"
    r"|(?:api|access|private|signing|encryption|account|master|service|auth|ssh|license|client)[_-]?key"
    r"|api[_-]?secret|token|[_-]pwd)"
)
_SECRET_NAME = regex(rf"(?:authorization|{_NAME}(?:[_-]?\d{{1,3}})?)\Z", re.IGNORECASE)
_PLAIN = (
    r"(?:true|false|null|none|undefined|yes|no|required|optional|string|str|text|unknown|missing|invalid|expired|unset"
    r"|changed|\d{1,6}|\[redacted\])(?![\w.+/=-])|[$<{*(]"
)

_TOKENS = (
    r"sk-ant-[\w-]{8,}",
    r"sk-(?:proj|svcacct|admin|or)-[\w-]{16,}",
    r"sk-[A-Za-z0-9]{32,}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_\w{20,}",
    r"glpat-[\w-]{16,}",
    r"xox[abeoprs]-[\w-]{10,}",
    r"xapp-[\w-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    r"AIza[\w-]{35}",
    r"GOCSPX-[\w-]{20,}",
    r"ya29\.[\w-]{20,}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[\w-]{40,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
)


def redact(text: str) -> str:
    """Return `text` with every secret in it replaced by `[redacted]`.

    Known are the tokens of common services, bearer and basic headers, private key blocks, passwords in URLs, and
    values given to secret-like names (`DB_PASSWORD=…`, `"api_key": "…"`, `--token …`). Prose, hashes, ids and counts
    of tokens stay.
    """
    folded = text.casefold()
    odd = "ı" in text or "İ" in text  # a pattern that ignores case takes these for an i, and folding does not
    there = {needed: any(word in folded for word in needed) for needed in set(_NEEDED)}
    if not (there[_NAMED] or "key" not in folded):
        there[_NAMED] = any(word in folded for word in _KEYS)
    for needed, (pattern, replacement) in zip(_NEEDED, _rules(), strict=True):
        if odd or there[needed]:
            text = pattern.sub(replacement, text)
    return text


def redact_value(value: Any) -> Any:
    """Return a copy of a JSON-like value with secrets replaced in its texts and under keys with secret-like names."""
    return _walk(value, secret=False, depth=0)


def secret_name(name: str) -> bool:
    """Tell whether a key or variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


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
        return [_walk(item, secret=secret, depth=depth + 1) for item in value]
    return MASK if secret and isinstance(value, int | float) and not isinstance(value, bool) else value


_KEYED = ("api", "access", "private", "signing", "encryption", "account", "master", "service", "auth", "ssh", "license")
_KEYS = tuple(f"{of}{sign}key" for of in (*_KEYED, "client") for sign in ("", "_", "-"))
_NAMED = ("passwd", "password", "passphrase", "secret", "credential", "cookie", "token", "_pwd", "-pwd")  # or `_KEYS`
# For each of the rules, words one of which stands, with case folded, in every text in which it finds something. Looking
# for words takes a hundredth of the time, and most of what tools and agents say has none.
_NEEDED: tuple[tuple[str, ...], ...] = (
    ("-----begin ",),
    (
        *("sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        *("github_pat_", "glpat-", "xox", "xapp-", "akia", "asia", "abia", "acca", "aiza", "gocspx-", "ya29."),
        *("npm_", "pypi-", "hf_", "eyj"),
    ),
    ("https://hooks.slack.com/services/",),
    ("://",),
    ("authorization",),
    ("bearer", "basic"),
    _NAMED,
    _NAMED,
    _NAMED,
    _NAMED,
    ("curl",),
)


@cache
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the patterns with their replacements, in the order they are applied; compiled at first use only."""
    name = rf"(?:{_NAME})(?:[_-]?\d{{1,3}})?"
    sign = r"\s*(?:=>|:=|={1,2}|:)\s*"
    quoted = r"(?P<quote>\\{0,8}[\"'])(?!(?:\$|\[redacted\]))(?:(?!(?P=quote))[^\n]){1,4096}(?P=quote)"
    bare = rf"(?!{_PLAIN})[^\s\"'&;,|)\\]{{1,4096}}"
    edge, scheme = r"[\"'\\]{0,4}", "(?:bearer|basic|token|digest)"
    rules = (
        (r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----.{0,20000}?(?:-----END \1-----|\Z)", MASK),
        (rf"(?<![A-Za-z0-9_-])(?:{'|'.join(_TOKENS)})", MASK),
        (r"(https://hooks\.slack\.com/services/)[\w/]{20,}", rf"\1{MASK}"),
        (r"([a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@\"'?#]{0,256}:)[^\s/\"'?#]{1,512}@", rf"\1{MASK}@"),
        (rf"(?i)(authorization{edge}{sign}{edge}(?:{scheme}[ \t]+)?+)(?!\[)[^\s\"'\\,]{{4,}}", rf"\1{MASK}"),
        (r"(?i)(\b(?:bearer|basic)[ \t]+)(?=[^\s\"']*\d)[\w.~+/-]{16,}=*", rf"\1{MASK}"),
        (rf"(?i)((?<![\w-])--[\w-]{{0,40}}{name}(?:[ \t]+|=))(?!-){bare}", rf"\1{MASK}"),
        (rf"(?i)({name}\\{{0,8}}[\"']?{sign}){quoted}", rf"\1\g<quote>{MASK}\g<quote>"),
        (rf"(?i)({name}=){bare}", rf"\1{MASK}"),
        (rf"(?im)^([ \t]*(?:-[ \t]+)?[\w.-]{{0,64}}{name}[ \t]*[:=][ \t]+){bare}(?=[ \t]*(?:#.*)?$)", rf"\1{MASK}"),
        (r"(\bcurl\b[^\n|;&]{0,400}?[ \t](?:-u|--user)[ \t=]{0,4}[\"']?[^\s:\"']{1,100}:)[^\s\"']+", rf"\1{MASK}"),
    )
    return tuple((re.compile(text, re.DOTALL if "BEGIN" in text else 0), replacement) for text, replacement in rules)
