"""Keep secrets out of recordings, logs and reports.

Redact before you cut, quote or escape: half a token, or one after an escape, is harder to recognise. `beginning` and
`ending` do it in that order. Text that is already escaped (JSON text, the `repr` of an exception) is recognised too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from holdfast.files.secretnames import lowered, masked_values, secret_name
from holdfast.files.tokenshapes import MASK, edged, masked_tokens
from holdfast.patterns import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

__all__ = ["MASK", "beginning", "ending", "redact", "redact_value", "secret_name"]

_DEEPEST = 200  # levels; anything deeper is masked as a whole
_WINDOW_CHARS = 5_000  # no secret with its name is longer, except key blocks: values have up to 4,096 characters
_LONG_CHARS = 8_192  # a text from which it is quicker to look for words among its different ones
_PIECE_CHARS = 8_192  # of such a text: memory for all its words at once takes longer than to find them
_COMMAND_CHARS = 200  # characters of each of a command's first words

_Rule: TypeAlias = "tuple[tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]]"

_BASE64_LINE = r"(?:(?:\s|\\+[nrt]|[\"'+,>])+[A-Za-z0-9+/=]{16,128}|\s*[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,80}\s)"
_KEY_BLOCK = regex(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,20000}+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"|{_BASE64_LINE}{{1,400}}+(?:(?:\s|\\+[nrt])+[A-Za-z0-9+/=]{{0,64}}\Z)?|\s[A-Za-z0-9+/=\s]{{0,64}}\Z)"
)
_KEY_BLOCK_END = regex(  # for a text whose beginning was cut off
    r"\A[A-Za-z0-9+/=]{0,128}(?:(?:\s|\\+[nr]){1,4}[A-Za-z0-9+/=]{4,128}){1,400}+(?:\s|\\+[nr]){1,4}"
    r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
)
_BLANK_CHAR = regex(r"\s")
_RUN = regex(r"[A-Za-z0-9_.:~-]{10,}")  # the runs that contain prefixes of tokens; ordinary text has few
_AWS_SECRET = regex(
    r"(?<![A-Za-z0-9/+=_-])(?=[A-Za-z0-9/+]{0,39}[A-Z])(?=[A-Za-z0-9/+]{0,39}[a-z])(?=[A-Za-z0-9/+]{0,39}[0-9])"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])"
)
_QUOTE = r"[\"'`\\]{0,4}"
_BLANK = r"(?:[ \t]|%20)"
_SPACE = r"(?:\s|\\+[nrt])"
_SCHEME = "(?:bearer|basic|token|digest|negotiate|bot|apikey|api-key|aws4-hmac-sha256)"
_VALUE = r"[^\s\"'\\]+"


def _option(command: str, option: str) -> _Rule:
    """Return the rule for a command's short option whose value is a password."""
    blank = "" if option == "-p" and command in _GLUED else r"(?:[ \t]+|=)?"
    return (
        (command,),
        regex(rf"({command}[^\n|;&]{{0,400}}?[ \t]{option}{blank}[\"']?)(?![ \t\"'\[$-]){_VALUE}"),
        rf"\1{MASK}",
    )


_GLUED = ("mysql", "mariadb", "7z")  # `-pPASSWORD`; after `-p` and a space, the command asks for the password
# Secrets given to commands: as an argument, through a pipe, in an SQL statement or in a definition of a program.
_ARGUMENT = r"(?![\[$`<-])[^\s\"'`|;&<>\\]++"
_WORDS_BETWEEN = r"[^\n|;&]{0,300}?"  # a command's words up to the one that is looked for
_OPENED = r"\\{0,4}[\"']?"
_GAP = r"[ \t]+"


def _before(words: tuple[str, ...], what: str, value: str = _ARGUMENT) -> _Rule:
    """Return the rule for a value after `what`; every text that matches contains one of the words."""
    return (words, regex(rf"({what}{_OPENED}){value}"), rf"\1{MASK}")


_TAKERS = (  # commands that read a secret from standard input
    rf"(?:--password-stdin|--with-token|passwd\b[^\n|;&]{{0,60}}?--stdin\b|chpasswd|sudo{_GAP}(?:-\w{{1,8}}{_GAP}){{0,4}}-\w{{0,8}}S"
    rf"|secret{_GAP}(?:put|set|create))"
)
_LITERAL = regex(rf"(--from-literal(?:=|{_GAP}){_OPENED}[\w.-]{{1,253}}={_OPENED}){_ARGUMENT}")
_COMMANDS: tuple[_Rule, ...] = (
    (
        ("echo", "printf"),
        regex(
            rf"((?:\becho(?:{_GAP}-[neE]{{1,3}})?|\bprintf(?:{_GAP}[\"']?%[^\s|]{{1,8}})?){_GAP}{_OPENED})"
            rf"(?![$`\[%-])[^\s\"'|\\](?:[^\"'|\n\\]{{0,512}}[^\s\"'|\\])?"
            rf"(?=(?:\\n)?{_OPENED}[ \t]*\|[^\n|;&]{{0,200}}?{_TAKERS})"
        ),
        rf"\1{MASK}",
    ),
    _before(("--password-stdin", "--with-token"), rf"(?:--password-stdin|--with-token){_WORDS_BETWEEN}<<<[ \t]*"),
    (
        ("htpasswd",),
        regex(
            rf"(htpasswd(?=[^\n|;&<>]{{0,200}}?[ \t]-[A-Za-z]{{0,6}}b[A-Za-z]{{0,6}}[ \t])"
            rf"[^\n|;&<>]{{0,300}}[ \t]{_OPENED})"
            rf"{_ARGUMENT}(?={_OPENED}[ \t]*(?:\Z|[\n|;&<>)\\,\"'\]}}]))"
        ),
        rf"\1{MASK}",
    ),
    _before(("lftp",), rf"lftp[^\n|&]{{0,300}}?[ \t](?:-u|--user)[ \t=]{{0,4}}{_OPENED}[^\s,\"']{{1,100}},"),
    (
        ("--from-literal",),
        regex(rf"create{_GAP}secret\b(?:\\\n|[^\n|;&]){{0,4000}}+"),
        lambda found: _LITERAL.sub(rf"\1{MASK}", found[0]),
    ),
    _before(("openssl",), rf"openssl{_GAP}enc{_WORDS_BETWEEN}[ \t]-k{_GAP}"),
    _before(
        ("smbclient", "rpcclient", "smbget"),
        rf"(?:smbclient|rpcclient|smbget){_WORDS_BETWEEN}[ \t](?:-U|--user)[ \t=]{{0,4}}{_OPENED}[^\s%\"']{{1,100}}%",
    ),
    _before(("storepass", "keypass"), rf"[ \t]-(?:src|dest)?(?:store|key)pass{_GAP}"),
    _before(("plink", "pscp", "psftp"), rf"(?:plink|pscp|psftp){_WORDS_BETWEEN}[ \t]-pw{_GAP}"),
    _before(("sqlcmd", "bcp"), rf"(?:sqlcmd|bcp){_WORDS_BETWEEN}[ \t]-P[ \t]{{0,4}}"),
    _before(
        ("rdesktop", "rar ", "rar\t"),
        rf"(?:rdesktop{_WORDS_BETWEEN}[ \t]-p{_GAP}|(?<![a-z])(?:un)?rar{_GAP}[a-z]{_WORDS_BETWEEN}[ \t]-h?p)",
    ),
    _before(("xfreerdp",), rf"xfreerdp{_WORDS_BETWEEN}[ \t]/p:"),
    _before(("configure set",), rf"configure set [\w.]{{0,60}}(?:secret_access_key|session_token){_GAP}"),
    _before(("secret set",), rf"secret set{_WORDS_BETWEEN}[ \t](?:-b|--body)[ \t=]{{1,4}}"),
    _before(("nmcli",), rf"nmcli{_WORDS_BETWEEN}[ \t]wifi{_WORDS_BETWEEN}[ \t]password{_GAP}"),
    _before(("wpa_passphrase",), rf"wpa_passphrase{_GAP}[^\s|;&]{{1,100}}{_GAP}"),
    _before(("rabbitmqctl",), rf"rabbitmqctl{_WORDS_BETWEEN}(?:add_user|change_password){_GAP}[^\s|;&]{{1,100}}{_GAP}"),
    _before(("redis-cli",), rf"redis-cli{_WORDS_BETWEEN}[ \t](?ai:auth){_GAP}"),
    _before(
        ("requirepass", "masterauth"),
        rf"(?:(?m:^)|(?ai:config set) )(?:requirepass|masterauth){_GAP}",
        rf"{_ARGUMENT}(?=[\"'][ \t]|[\"']?[ \t]*(?:\Z|\n))",
    ),
    _before(("cargo login", "_authtoken"), rf"(?:cargo login|_authToken){_GAP}", r"(?![\[$`<-])[\w.=+/-]{20,}"),
    _before(("pulumi config",), rf"pulumi config set{_WORDS_BETWEEN}--secret{_GAP}[\w:.-]{{1,100}}{_GAP}"),
    (
        ("identified by", "password '"),
        regex(r"((?ai:identified by|(?:with|encrypted|set) password) ')(?!\[)[^'\n]{1,512}(?=')"),
        rf"\1{MASK}",
    ),
    (
        ("define(",),
        regex(
            r"(define\(\s{0,4}[\"'][A-Z_]{0,60}(?:PASSWORD|SECRET|(?:AUTH|API|LOGGED_IN|NONCE)_KEY|TOKEN|SALT)[\"']\s{0,4},\s{0,9}[\"'])(?!\[)[^\"'\n]{1,512}"
        ),
        rf"\1{MASK}",
    ),
    (
        ('"value',),
        regex(
            r"(\\{0,8}\"(?:name|key)\\{0,8}\"\s{0,4}:\s{0,4}\\{0,8}\"[\w.-]{0,60}(?ai:password|passwd|secret|token|api_?key)"
            r"\\{0,8}\"\s{0,4},\s{0,40}\\{0,8}\"value\\{0,8}\"\s{0,4}:\s{0,4}\\{0,8}\")(?!\[|\$|\\{0,8}\")[^\"\n\\]{1,4096}"
        ),
        rf"\1{MASK}",
    ),
    (
        ("@tcp(", "@unix("),
        regex(r"(?<![\w.-])([\w.-]{1,64}:)(?!\[)[^\s:@\"'/]{1,256}(?=@(?:tcp|unix)\()"),
        rf"\1{MASK}",
    ),
)
# Secrets recognised by their surroundings. Each rule has words, one of which is (in lower case) in every text that the
# pattern matches; the pattern of the secret and its surroundings; the replacement.
_RULES: tuple[_Rule, ...] = (
    *_COMMANDS,
    (("://",), regex(r"(://[^\s/:@\"'?#]{0,256}:)(?!\[|[{<$*]|%s)[^\s/\"'?#]{1,512}@"), rf"\1{MASK}@"),
    (("://",), regex(r"://[A-Za-z0-9_~.-]{20,256}(?=@[\w.-])"), f"://{MASK}"),  # https://TOKEN@host
    (("1//0",), regex(r"1//0[\w-]{30,}"), MASK),  # Google's refresh tokens
    (
        ("sig=", "signature="),
        regex(r"([?&; ,](?ai:sig|x-(?:amz|goog)-signature|signature)=)[\w%+/=-]{20,}"),
        rf"\1{MASK}",
    ),
    (
        ("authorization",),
        regex(
            rf"(?ai)(authorization{_QUOTE}{_BLANK}*(?:=>|:=|={{1,2}}|:){_BLANK}*{_QUOTE}(?:{_SCHEME}{_BLANK}+)?+)"
            r"(?!\[|\$|[<{]|(?:true|false|null|none|required|optional|string|str)\b|[A-Za-z_]+[({\[})\]])[^\s\"'`\\,]{4,}"
        ),
        rf"\1{MASK}",
    ),
    (
        ("bearer", "basic"),
        regex(
            rf"((?:{edged('[Bb]earer')}|{edged('BEARER')}|{edged('[Bb]asic')}){_BLANK}+)"
            r"(?=[^\s\"']{0,200}\d)[\w.~+/-]{16,}=*"
        ),
        rf"\1{MASK}",
    ),
    (
        ("cookie",),
        regex(rf"((?ai:cookie){_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE})(?=[\w.%-]{{1,100}}=)[^\"'\r\n\\]{{3,}}"),
        rf"\1{MASK}",
    ),
    (
        ("curl", "http ", "https ", "wget"),
        regex(
            r"((?:curl|https?(?=[ \t])|wget)[^\n|;&]{0,400}?[ \t](?:-[uUa]|--(?:proxy-)?user|--auth)[ \t=]{0,4}[\"']?"
            r"[^\s:\"'/]{1,100}:)(?!\[)[^\s\"'\\]+"
        ),
        rf"\1{MASK}",
    ),
    *(_option(command, "-p") for command in (*_GLUED, "sshpass", " login", "mongo", "twine")),
    *(_option(command, option) for command, option in (("redis-cli", "-a"), ("ldap", "-w"), ("zip", "-P"))),
    (
        ("machine", "default"),
        regex(
            rf"((?:machine{_SPACE}+[^\s\\]{{1,256}}|default(?={_SPACE}+login))"
            rf"(?:{_SPACE}+(?:login|account){_SPACE}+[^\s\\]{{1,256}}){{0,2}}{_SPACE}+password{_SPACE}+)(?!\[){_VALUE}"
        ),
        rf"\1{MASK}",
    ),
    (  # in .npmrc and Docker's config.json: base64 of a name and a password
        ("_auth", '"auth', "'auth"),
        regex(
            r"((?:_auth\s{0,4}=|[\"']auth\\{0,8}[\"']\s{0,4}:)\s{0,4}\\{0,8}[\"']?)[A-Za-z0-9+/]{8,}={0,2}(?![\w.-])"
        ),
        rf"\1{MASK}",
    ),
    (
        ("</",),
        regex(r"(<([\w:.-]{0,60}(?ai:password|passwd|secret|token|api-?key))>)(?!\[)[^<>\s]{1,4096}(?=</\2>)"),
        rf"\1{MASK}",
    ),
    (("pwd=",), regex(r"([;\"'?&][ \t]?(?ai:pwd)=)(?![\[/~.$`<({])[^\s\"';&\\]+"), rf"\1{MASK}"),
    (  # neither a folder nor a call: `pwd=X`, but not `pwd=./build`
        ("pwd=",),
        regex(r"(?<![\w$.-])((?:pwd|Pwd)=[\"']?)(?![\[~.$%`<({*])(?![^\s\"';&]{0,512}[/\\(])[^\s\"';&\\]{1,512}"),
        rf"\1{MASK}",
    ),
    (("mailgun",), regex(r"(?<![0-9a-f])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])"), MASK),
    (("pass:",), regex(rf"([ \t]-pass(?:in|out)?[ \t=]pass:)(?!\[){_VALUE}"), rf"\1{MASK}"),  # openssl
)


# Looking for a word takes a hundredth of a pattern's time, and most texts have none of the words.
_RULE_WORDS = tuple((word, number) for number, rule in enumerate(_RULES) for word in rule[0] if word.split() == [word])
_SPACED_WORDS = tuple(
    (word, word.split(), number) for number, rule in enumerate(_RULES) for word in rule[0] if word.split() != [word]
)


def redact(text: str) -> str:
    """Return `text` with every secret in it replaced by `[redacted]`.

    It recognises the tokens and webhooks of common services, authorization headers, cookies, private key blocks,
    passwords in URLs and in commands, and values given to secret-like names (`DB_PASSWORD=…`, `"api_key": "…"`,
    `--token …`). Prose, code, hashes, ids and token counts stay.
    """
    if "PRIVATE KEY" in text:
        text = _KEY_BLOCK.sub(MASK, text)
        text = _KEY_BLOCK_END.sub(MASK, text)
    # A long text says most of its words again and again, and what is looked for first is within one of them.
    said = text if len(text) < _LONG_CHARS else " ".join(_words(text))
    if runs := " ".join(_RUN.findall(said)):
        if "AKIA" in runs or "ASIA" in runs:
            text = _AWS_SECRET.sub(MASK, text)  # recognised by the key id in the same text, so before that is masked
        text = masked_tokens(text, runs, said)
    lower, words = text.lower(), lowered(said)
    found = {number for word, number in _RULE_WORDS if word in words}
    for word, parts, number in _SPACED_WORDS:  # looked for in the whole text only if all parts are among its words
        if all(part in words for part in parts) and word in lower:
            found.add(number)
    for number in sorted(found):
        _, pattern, replacement = _RULES[number]
        text = pattern.sub(replacement, text)
    return masked_values(text, words)


def _words(text: str) -> set[str]:
    """Return the different words of a text, as `split` finds them."""
    found = set[str]()
    begin = 0
    while begin < len(text):
        blank = _BLANK_CHAR.search(text, begin + _PIECE_CHARS)
        end = blank.start() if blank else len(text)
        found.update(text[begin:end].split())
        begin = end
    return found


def beginning(text: str, limit: int) -> str:
    """Return the first `limit` characters of `text` after masking secrets, so never half a secret.

    Of a long text, only as much as needed is looked at.
    """
    looked_at = limit + 2 * _WINDOW_CHARS
    if len(text) <= looked_at:
        return redact(text)[:limit]
    return redact(text[:looked_at])[:-_WINDOW_CHARS][:limit]  # half a secret can only be at the very end


def ending(text: str, limit: int) -> str:
    """Return the last `limit` characters of `text` after masking secrets, so never half a secret."""
    looked_at = limit + 5 * _WINDOW_CHARS  # enough to see a whole key block at the end
    if len(text) <= looked_at:
        return redact(text)[-limit:]
    return redact(text[-looked_at:])[_WINDOW_CHARS:][-limit:]


def redact_value(value: Any) -> Any:
    """Return a copy of a JSON-like value with secrets replaced.

    They are looked for in its texts, under keys with secret-like names, and in lists of a command's arguments after
    such an option.
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
        hidden = frozenset() if secret else _hidden(value)
        return [_walk(item, secret=secret or number in hidden, depth=depth + 1) for number, item in enumerate(value)]
    return MASK if secret and isinstance(value, int | float) and not isinstance(value, bool) else value


def _hidden(items: Sequence[Any]) -> frozenset[int]:
    """Return the indexes of a list's values that are secret because of the values before them.

    They follow an option (`["--password", "x"]`), are paired with a header's name, or are secret in the command line
    that the list forms.
    """
    found = set[int]()
    for number, (option, item) in enumerate(pairwise(items), 1):
        if not isinstance(option, str) or not isinstance(item, str) or not item:
            continue
        if (option.startswith("-") or len(items) == 2) and secret_name(option):
            found.add(number)
        elif option.startswith("-") or item.startswith("-"):
            words = (*items[: min(2, number - 1)], option)  # `docker login`, and the word before the item
            line = " ".join(str(each)[:_COMMAND_CHARS] for each in words)
            if redact(f"{line} {item}").endswith(MASK) and not redact(item).endswith(MASK):
                found.add(number)
    return frozenset(found)
