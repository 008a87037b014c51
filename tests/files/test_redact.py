"""Secrets are masked, prose and code stay."""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.files import redact as redaction
from holdfast.files.redact import beginning, ending, redact, redact_value, secret_name
from tests.planted import PLANTED, TOKENS, made_up, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_ANTHROPIC = TOKENS[0].whole
# What text comes wrapped in: quotations, escapes that other programs made of its line breaks, encodings, colours.
WRAPPED: dict[str, Callable[[str], str]] = {
    "alone": str,
    "brackets": lambda text: f"({text})",
    "JSON": lambda text: json.dumps({"a": f"x\n{text}\ny"}),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": f"x\n{text}"})),
    "repr": lambda text: repr(f"x\n{text}\n'"),
    "code of a line break": lambda text: f"x\\u000a{text}",
    "URL": lambda text: f"x%0A{text}",
    "colour": lambda text: f"x \x1b[01;31m{text}",
    "colour without its escape": lambda text: f"x [01;31m{text}".replace("\x1b", ""),
}
# What is masked is between «…».
MASKED = (
    "Authorization: Bearer «abc.def-ghi»",
    "authorization: basic «dXNlcjpwYXNz»",
    "curl -H 'Authorization: token «12345abc»' x",
    '{"Authorization": "Bearer «abcdef»"}',
    "got bearer «abcdefgh12345678==» back",
    "postgres://joe:«hunter2»@db.example.org/x",
    "redis://:«hunter2»@localhost:6379/0",
    "https://joe:«p@ss:w0rd»@example.org",
    "https://«abcdefghij0123456789»@host/x",
    "https://hooks.slack.com/services/«T00000000/B00000000/abcdefghijkl»",
    "https://x/?sv=2&sig=«abcdefghijklmnopqrst%3D»",
    "https://x.org/?a=1&access_token=«hunter2»&b=2",
    "//registry/:_authToken=«hunter2»",
    '"auths": {"x": {"auth": "«am9lOmh1bnRlcjI=»"}}',
    "machine h login joe password «swordfish»",
    "db.example.org:5432:shop:joe:«swordfish»",
    "CREATE USER 'a'@'b' IDENTIFIED BY '«swordfish»';",
    "Cookie: «a=1; b=2»\nHost: x",
    # A variable or an option: any value, even a plain word.
    "DB_PASSWORD=«swordfish»",
    "export API_KEY='«two words»' && run",
    'GITHUB_TOKEN="«swordfish»" make',
    "AWS_SECRET_ACCESS_KEY=«wJalr/XUtn+FEMI»",
    "PGPASSWORD=«swordfish» psql",
    "SECRET_KEY_BASE=«swordfish»",
    "x\\nDB_PWD=«a,b;c»\\ny",
    "tool --api-key=«swordfish» x",
    'tool --token "«two words»" x',
    # Other names: a value that is no word.
    '{"api_key": "«hunter2»", "n": 1}',
    r"{\"clientSecret\": \"«hunter2»\", \"n\": 1}",
    "password = '«hunter2»'",
    '"password": "«correct!horse»"',
    "user: joe\ndb.password: «hunter2» # old\nport: 1",
    "mysql --password «hunter2» -e x",
    "TOKEN_2=«hunter2»",
    "x-api-key: «sword1fish»",
    "curl -H 'X-Api-Key: «sword1fish»' https://x",
    "the password: «hunter2» works",
    "the password is «hunter2».",
    '["--password", "«hunter2»"]',
    "<b:Password>«hunter2»</b:Password>",
    "config%5Bpassword%3D«hunter2»",
    "user=joe pass=«hunter2»",
    "Server=x;Uid=sa;Pwd=«hunter2»;",
    "ENV API_KEY «swordfish1»",
    "os.environ['API_KEY'] = '«sword1fish»'",
    "config.set('password', '«hunter2»')",
    "Passwort: «hunter2»",
    "contraseña: «hunter2»",
    "Пароль: «hunter2»",
    "密码：«hunter2»",
    "secret: «password=hunter2»",
    # Commands.
    "curl -s -u joe:«hunter2» https://x",
    "http -a joe:«hunter2» example.org",
    "mysqldump -h db -uroot -p«hunter2» shop",
    "sshpass -p«hunter2» ssh x",
    "docker login -u joe -p «hunter2» registry",
    "redis-cli -p 6379 -a «hunter2» ping",
)
STAYS = (
    '{"password": "Passwort", "token": "Zugangscode", "secret": "Geheimes Wort"}',
    'password: Passwort\nPASSWORD: "Passwort"',
    "/etc/passwd: root:x:0:0:root:/root:/bin/bash",
    "cat /etc/passwd: r00t.x1y2z3",
    '"password_reset_url": "https://example.org/reset/1a2b3c", token_count: 5, "api_key": "str"',
    "password = get_password1()\napi_key: str\npassword = password1",
    "tool --token TEXT, or --password then a prompt; the --api-key option",
    "src/a.py:120: password = x; nginx:8080:80 listens",
    "The token was consumed, so the parser reads the next token: it is a comma.",
    "Reset the password before the secret meeting; the secretary keeps the key.",
    "used 12,345 tokens (max_tokens=4096, total_tokens: 99, tokenCount=7)",
    '{"usage": {"input_tokens": 5, "output_tokens": 6}}',
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bcd22cd15d6c15b0f00a08",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b on main",
    "id 550e8400-e29b-41d4-a716-446655440000 and /tmp/a/b-1234567890abcdef",
    "PWD=/home/joe/project OLDPWD=/",
    "PASSWORD_FILE=/run/secrets/x TOKEN=$GITHUB_TOKEN KEY=value",
    "password=${DB_PASSWORD} token=<your token> secret=***",
    "ssh://git@example.org/repo.git https://example.org:8080/a@b git@example.org:a/b.git",
    "docker run -u 1000:1000 image",
    "the bearer of good tidings, a basic understanding-of-everything",
    "task-force-abcdefghijklmnopqrstuvwxyz0123456789 and desk-abcdefghijklmnopqrstuvwxyz0123456789abcd",
    "Authorization is checked first. Cookies are eaten.",
    "token = lexer.next(stream)",
    "if token == other.token: return",
    "| password | required | the user's password |",
    "- token: string\n- secret: optional\nPassword: required",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\nMIIE",
    "phase 2/5: implement the token bucket; secrets are rotated by the ops team",
    "password = get_password()\ntoken: str\nsecret: str | None = None",
    "def password(self): ...\ndef login(user: str, password: str, token: Token) -> None:",
    "client(password=password, token=self.token, api_key=settings.API_KEY)",
    "    password=password,\n    token=token,\n)",
    "self.password = password\n  password: credentials.password,\n  token: accessToken,",
    "secret: process.env.SECRET_1 and token: items[0], key: value1",
    "if token == ')' or token == 'NAME': token = tokens[index]",
    'kind = {"token": "(", "password": "<password>", "secret": "${SECRET}"}',
    "password: {{ vault.password }}\npassword: %(password)s\nDB_PASSWORD=$(cat x) TOKEN=`x`",
    "permissions:\n  id-token: write\n  contents: read",
    "tough-cookie: 2.5.0\ncookie: ^0.7.1\nalgorithm of the token: sha256",
    "mkdir -p src/a; ssh -p 22 host; docker run -p 8080:80 -project x; cc -pthread",
    "mysql -p shop; mysql --protocol=tcp; docker login --password-stdin",
    "GOOGLE_APPLICATION_CREDENTIALS=/home/joe/key.json ssh_key: ~/.ssh/id_ed25519 --private-key ./x.pem",
    "private_key: /etc/ssl/private/server.key\nsecret: https://example.org/docs/1",
    "-----BEGIN PRIVATE KEY----- opens a key block in a file; what follows is prose.",
    "if line.startswith('-----BEGIN RSA PRIVATE KEY-----'):\n    return found",
    "clientSecret: process.env.CLIENT_SECRET!,\nclientSecret: CLIENT_SECRET\nnext_token: accessToken",
    'names = ["password", "token", "secret"]; bypass=yes; the password field, the token type',
    "highs_and_lows_of_the_stock_market_today conf_timinginfo_requestedurl_initiatortype_global_cachemode",
    "default password for encrypted files; the login form password reset; machine learning",
    "data:image/png;base64," + made_up(2_000, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
    "desk-abcdefghijklmnopqrstuvwxyz0123456789abcdef MSG.aaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbb",
    "self.s.SomeVeryLongAttributeName1 = classes.SomeVeryLongAttributeName1",
    "TASK0123456789abcdef0123456789abcdef cache-key-0123456789abcdef0123456789abcdef",
    "fetch(url, { credentials: 'include' }); cookies: 2; the cookie is: eaten",
    "Authorization: required\nheaders = {'Authorization': auth_header}",
    "http://{user}:{password}@host and http://$USER:$PASS@host and 12:30@noon",
    "PWD=/some/path OLDPWD=~/x pwd && ls; cd $PWD; PWD=$(pwd) pwd=./build pwd=os.getcwd() pwd: command not found",
    "echo hello | docker build - && echo y | sudo apt install x && echo done | tee log; echo hi | cat",
    'echo "$CR_PAT" | docker login -u me --password-stdin; docker login --password-stdin < file',
    "htpasswd -c file user; htpasswd --help; lftp -u user host; openssl enc -d -k",
    "kubectl create configmap x --from-literal=mode=abc; kubectl create secret generic x --from-file=a=b",
    "the token: see below\ntoken: see below\ntoken:\n  the one from the parser\ntoken: |\n  words of prose",
    "token:\n  type: string\n\ntoken:\n  - a1b2c3d4e5f6g7\npassword:\n  type: string\n  minLength: 8",
    "token:\n  /home/joe/.token-2024-a1\ncommit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "| token | count |\n|---|---|\n| 12 | 30 |\n| see docs/token-v2.md | 1 |\n\n| file | 9f86d081884c7d659a2f |",
    "Das Passwort muss lang sein; das Passwort: siehe unten\nPasswort: erforderlich\ncontraseña: obligatoria",
    "mot de passe : requis\nsenha: obrigatória\nпароль: обязателен\n密码: 必填\no desenha: linhas\nIt has: words",
    "echo content | git hash-object --stdin; bcp in my-Package; a library a -php; set requirepass in redis.conf",
    "define('CACHE_KEY', 'homepage'); nmcli asks for a password again",
    "ALTER TABLE users ADD password text; EAACH is a word; user:group@host",
    "token: 2026-11-21T14:05:09Z; password changed: yes; pass: 5, fail: 2; fds_to_pass = []",
)


def _masked(text: str) -> tuple[str, str]:
    """Return a text of `MASKED` without its marks, and the text that is wanted of it."""
    before, _, rest = text.partition("«")
    secret, _, after = rest.partition("»")
    return before + secret + after, f"{before}{redaction.MASK}{after}"


def test_secrets_are_masked_and_nothing_else() -> None:
    """Headers, URLs, assignments, options and commands lose the secret; a second pass changes nothing."""
    wrong = []
    for marked in MASKED:
        text, wanted = _masked(marked)
        if (found := redact(text)) != wanted or redact(found) != found:
            wrong.append(f"{text!r} became {found!r}")
    assert not wrong, "\n".join(wrong)


def test_ordinary_text_stays() -> None:
    """Prose, code, translations, hashes, ids, paths and counts of tokens aren't touched."""
    wrong = [f"{text!r} became {redact(text)!r}" for text in STAYS if redact(text) != text]
    for token in TOKENS:
        if token.prefix:  # one that is mentioned, or that a short word follows
            text = f"tokens begin with {token.prefix} here, see {token.prefix}{token.rest[:5]} and {token.prefix}x"
            wrong += [f"{text!r} became {redact(text)!r}"] if redact(text) != text else []
    assert not wrong, "\n".join(wrong)


def test_no_secret_is_left_however_its_text_comes() -> None:
    """Neither quoting, nor escapes, nor encodings, nor colours in front of a secret hide it."""
    wrong = []
    for planted in PLANTED:
        for name, wrap in WRAPPED.items():
            text = redact(wrap(planted.text))
            if redaction.MASK not in text or readable(planted.secret, text):
                wrong.append(f"{planted.kind}, {name}: {text!r}")
    assert not wrong, "\n".join(wrong)


def test_every_prefix_is_known() -> None:
    """Each prefix of the data file makes 40 letters and digits behind it a secret."""
    data = tomllib.loads(Path(redaction.__file__).with_name("secrets.toml").read_text("utf-8"))
    prefixes = [prefix for of_kind in data["prefixes"].values() for prefix in of_kind]
    text = made_up(40)
    assert [prefix for prefix in prefixes if redact(f"use {prefix}{text} now") != "use [redacted] now"] == []


def test_text_around_a_private_key_stays() -> None:
    """A private key block goes as a whole, also when its end is missing, and a mention of one stays."""
    for kind in ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
        block = f"-----BEGIN {kind}-----\nMIIEpAIBAAKCAQEA\nabc+/=\n-----END {kind}-----"
        assert redact(f"before\n{block}\nafter") == "before\n[redacted]\nafter"
        assert redact(f"before\n{block.partition('+/=')[0]}") == "before\n[redacted]"
        assert redact(json.dumps({"a": block})) == '{"a": "[redacted]"}'


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    """No text breaks it, and a second pass changes nothing."""
    assert redact(redact(text)) == redact(text)


def test_no_pattern_backtracks_twice() -> None:
    """Of a pattern's long repeats at most one can give back what it took, so its time is linear in the text."""
    rules = redaction._rules()
    patterns = [rules.name, rules.plain, rules.code, redaction._ASSIGNED, redaction._RUN]
    patterns += [each for rule in rules.all for each in (rule.pattern, rule.command) if each]
    parse = import_module("re._parser").parse
    wrong = [each.pattern for each in patterns if _long_repeats(parse(each.pattern, each.flags)) > 1]
    assert _long_repeats(parse("nmcli[^|]{0,300}?wifi[^|]{0,300}?password")) == 2
    assert not wrong, "\n".join(wrong)


def _long_repeats(parsed: Iterable[tuple[object, Any]]) -> int:
    """Return how many repeats of a parsed pattern can backtrack far; of alternatives, only one is tried at a time."""
    count = 0
    for operation, argument in parsed:
        match str(operation):
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inside = argument
                count += (int(most) > max(20, least)) + _long_repeats(inside)
            case "BRANCH":
                count += max(map(_long_repeats, argument[1]))
            case "SUBPATTERN" | "POSSESSIVE_REPEAT" | "ASSERT" | "ASSERT_NOT":
                count += _long_repeats(argument[-1])
            case "ATOMIC_GROUP":
                count += _long_repeats(argument)
    return count


def test_half_a_secret_is_never_left() -> None:
    """Where a text is cut, secrets are masked, also if only a part of the text is looked at."""
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *(made_up(64, seed=str(n)) for n in range(50)), "-----END RSA"])
    for whole, secret in (
        (_ANTHROPIC, _ANTHROPIC[-30:]),
        ("password: hunter2", "hunter2"),
        ("https://joe:hunter2@example.org/", "hunter2"),
        (f"{key} PRIVATE KEY-----", key[40:]),
    ):
        for fill in (0, 9_000, 20_000):
            before, after = "b " * fill + whole, whole + " b" * fill
            for limit in range(1, len(whole) + 1, 1 + len(whole) // 12):
                assert not readable(secret, beginning(before + " x" * 40_000, limit + 2 * fill), 4)
                assert not readable(secret, ending("x " * 40_000 + after, limit + 2 * fill), 4)


def test_half_a_secret_is_not_left_where_masking_makes_a_text_much_shorter() -> None:
    """What is left of it is then shorter than asked, and begins or ends at the cut."""
    keys = [made_up(293, seed=str(number)) for number in range(200)]
    text = "\n".join(f"API_KEY={key}" for key in keys)
    for limit in (8_000, 8_100, 8_200):
        shown = beginning(text, limit) + ending(text, limit)
        assert not any(half in shown for key in keys for half in (key[:8], key[-8:]))


def test_a_cut_text_is_as_long_as_asked() -> None:
    """The beginning and the end of a text without secrets are its own."""
    text = " ".join(str(number) for number in range(30_000))
    for limit in (1, 100, 60_000, 100_000):
        assert (beginning(text, limit), ending(text, limit)) == (text[:limit], text[-limit:])
    assert beginning("short", 100) == ending("short", 100) == "short"


def test_structures_are_redacted_by_key() -> None:
    """Values under secret-like keys go, whatever they look like; others are searched; the value given stays."""
    value: dict[str, Any] = {
        "command": "export TOKEN=hunter2",
        "password": "simple",
        "pin": {"clientSecret": ["a", {"b": "c"}], "ok": "plain"},
        "headers": {"Authorization": "Basic x", "Accept": "text"},
        "env": [{"name": "API_KEY", "value": "simple"}, {"name": "HOME", "value": "/home/joe"}],
        "accessToken": 1234567,
        "secretKey": 1234567.5,
        "max_tokens": 4096,
        "token": None,
        "secret": True,
        "credentials": "",
    }
    before = json.dumps(value)

    assert redact_value(value) == {
        "command": "export TOKEN=[redacted]",
        "password": "[redacted]",
        "pin": {"clientSecret": ["[redacted]", {"b": "[redacted]"}], "ok": "plain"},
        "headers": {"Authorization": "[redacted]", "Accept": "text"},
        "env": [{"name": "API_KEY", "value": "[redacted]"}, {"name": "HOME", "value": "/home/joe"}],
        "accessToken": "[redacted]",
        "secretKey": "[redacted]",
        "max_tokens": 4096,
        "token": None,
        "secret": True,
        "credentials": "",
    }
    assert json.dumps(value) == before


def test_arguments_after_an_option_are_redacted() -> None:
    """In a list of a command's arguments; ordinary arguments and lists of words stay."""
    arguments = ["deploy", "--password", "swordfish", "now", "--token=swordfish"]
    assert redact_value(arguments) == ["deploy", "--password", "[redacted]", "now", "--token=[redacted]"]
    for items in (["-v", "--password-file", "x"], ["mkdir", "-p", "src"], ["token", "secret", "key"]):
        assert redact_value(items) == items


def test_endless_nesting_is_cut() -> None:
    """Nesting beyond any real payload ends in a mask, not in an exception."""
    value: Any = _ANTHROPIC
    for _ in range(3000):
        value = [value]

    assert "ant-api03" not in str(redact_value(value))


def test_names_of_secrets() -> None:
    """Names that end in the word for a secret are secret; names that only contain it aren't."""
    secret = (
        "password",
        "DB_PASSWORD",
        "apiKey",
        "X-Api-Key",
        "access_token",
        "TOKEN_2",
        "Cookie",
        "ssh_key",
        "İ_secret",
    )
    ordinary = (
        "key",
        "max_tokens",
        "token_count",
        "PWD",
        "secretary",
        "password_file",
        "keyboard",
        "pass",
        "PRIMARY_KEY",
    )
    assert [name for name in secret if not secret_name(name)] == []
    assert [name for name in ordinary if secret_name(name)] == []
