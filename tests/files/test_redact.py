"""Secrets are masked, prose stays."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.files import redact as redaction
from holdfast.files import secretnames, tokenshapes
from holdfast.files.redact import MASK, beginning, ending, redact, redact_value, secret_name
from holdfast.files.tokenshapes import SHAPES
from tests.planted import PLANTED, TOKENS, Planted, Token, made_up, readable

if TYPE_CHECKING:
    from collections.abc import Callable

_ANTHROPIC = TOKENS[0].whole

_KINDS = [pytest.param(each, id=each.kind) for each in PLANTED]
_TOKENS = [pytest.param(each, id=f"{each.service} {each.prefix[:4]}") for each in TOKENS]
# What text comes wrapped in: quotations, escapes that other programs made of its line breaks, encodings, colours.
_WRAPPED: dict[str, Callable[[str], str]] = {
    "alone": str,
    "brackets": lambda text: f"({text})",
    "lines": lambda text: f"a\n{text}\nb",
    "JSON": lambda text: json.dumps({"a": f"x\n{text}\ny"}),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": f"x\n{text}"})),
    "repr": lambda text: repr(f"x\n{text}\n'"),
    "repr of bytes": lambda text: repr(f"x\r\n{text}".encode()),
    **{
        escape: lambda text, escape=escape: f"x{escape}{text}"  # type: ignore[misc]
        for escape in (
            *(r"\n", r"\t", r"\r", r"\\n", r"\u000a", r"\x0a", "%0A", "%20", "=0A", "=", ":", "\0"),
            *("\x1b[0m", "[32m", "\x1b[01;31m\x1b[K", r"\x1b[0m", r"\u001b[32m", r"\033[0m"),
        )
    },
}


@pytest.mark.parametrize("planted", _KINDS)
def test_no_secret_is_left_however_its_text_comes(planted: Planted) -> None:
    """Neither quoting, nor escapes, nor encodings, nor colours in front of a secret hide it."""
    for name, wrap in _WRAPPED.items():
        text = redact(wrap(planted.text))

        assert MASK in text, name
        assert not readable(planted.secret, text), name


@pytest.mark.parametrize("token", _TOKENS)
def test_tokens_of_known_services_go(token: Token) -> None:
    """A token of a known service is replaced wherever it stands, and the text around it stays."""
    for around in ("{}", "use {} now", "key={};", '"{}"', "a\n{}\nb", "({})", "https://x/?t={}&a=1"):
        text = redact(around.format(token.whole))

        before, _, after = around.partition("{}")
        assert text.startswith(before)
        assert text.endswith(after)
        assert not readable(token.rest, text)


def test_every_shape_is_tried() -> None:
    """No service's rule is without a token here."""
    assert {each.service for each in TOKENS} == {each for each, *_ in SHAPES}


@pytest.mark.parametrize("token", [each for each in TOKENS if each.prefix], ids=lambda token: token.prefix)
def test_what_only_begins_like_a_token_stays(token: Token) -> None:
    """A prefix that is spoken of, or that a short word follows, is none."""
    for text in (
        f"tokens begin with {token.prefix} here",
        f"see {token.prefix}{token.rest[:5]} there",
        f"{token.prefix}, and {token.prefix}x",
    ):
        assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [redacted]"),
        ("curl -H 'Authorization: token 12345abc' x", "curl -H 'Authorization: token [redacted]' x"),
        ('{"Authorization": "Bearer abcdef"}', '{"Authorization": "Bearer [redacted]"}'),
        ("got bearer abcdefgh12345678== back", "got bearer [redacted] back"),
        ("postgres://joe:hunter2@db.example.org/x", "postgres://joe:[redacted]@db.example.org/x"),
        ("redis://:hunter2@localhost:6379/0", "redis://:[redacted]@localhost:6379/0"),
        ("https://joe:p@ss:w0rd@example.org", "https://joe:[redacted]@example.org"),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijkl",
            "https://hooks.slack.com/services/[redacted]",
        ),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted]"),
        ("export API_KEY='hunter two' && run", "export API_KEY='[redacted]' && run"),
        ('GITHUB_TOKEN="hunter2" make', 'GITHUB_TOKEN="[redacted]" make'),
        ("AWS_SECRET_ACCESS_KEY=wJalr/XUtn+FEMI", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("https://x.org/?a=1&access_token=hunter2&b=2", "https://x.org/?a=1&access_token=[redacted]&b=2"),
        ("//registry/:_authToken=hunter2", "//registry/:_authToken=[redacted]"),
        ('{"api_key": "hunter2", "n": 1}', '{"api_key": "[redacted]", "n": 1}'),
        (r"{\"clientSecret\": \"hunter2\", \"n\": 1}", r"{\"clientSecret\": \"[redacted]\", \"n\": 1}"),
        ("password = 'hunter2'", "password = '[redacted]'"),
        ("  password: hunter2", "  password: [redacted]"),
        ("user: joe\ndb.password: hunter2 # old\nport: 1", "user: joe\ndb.password: [redacted] # old\nport: 1"),
        ("mysql --password hunter2 -e x", "mysql --password [redacted] -e x"),
        ("tool --api-key=hunter2 x", "tool --api-key=[redacted] x"),
        ("curl -s -u joe:hunter2 https://x", "curl -s -u joe:[redacted] https://x"),
        ("http -a joe:hunter2 example.org", "http -a joe:[redacted] example.org"),
        ("https -a joe:hunter2 example.org", "https -a joe:[redacted] example.org"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted] psql"),
        ("SECRET_KEY_BASE=hunter2", "SECRET_KEY_BASE=[redacted]"),
        ("DB_PWD=hunter2", "DB_PWD=[redacted]"),
        ("TOKEN_2=hunter2", "TOKEN_2=[redacted]"),
        ("x-api-key: swordfish", "x-api-key: [redacted]"),
        ("curl -H 'X-Api-Key: swordfish' https://x", "curl -H 'X-Api-Key: [redacted]' https://x"),
        ("the password: hunter2 works", "the password: [redacted] works"),
        ("the password is hunter2.", "the password is [redacted]"),
        ("API_TOKEN: swordfish", "API_TOKEN: [redacted]"),
        ("tool -password swordfish x", "tool -password [redacted] x"),
        ('tool --token "two words" x', 'tool --token "[redacted]" x'),
        ("Cookie: a=1; b=2\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("mysqldump -h db -uroot -phunter2 shop", "mysqldump -h db -uroot -p[redacted] shop"),
        ("mysql -p'hunter 2' shop", "mysql -p'[redacted] 2' shop"),
        ("sshpass -phunter2 ssh x", "sshpass -p[redacted] ssh x"),
        ("zip -P hunter2 a.zip a", "zip -P [redacted] a.zip a"),
        ("openssl rsa -passin pass:hunter2", "openssl rsa -passin pass:[redacted]"),
        ("Server=x;Uid=sa;Pwd=hunter2;", "Server=x;Uid=sa;Pwd=[redacted];"),
        ("https://x/?sv=2&sig=abcdefghijklmnopqrst%3D", "https://x/?sv=2&sig=[redacted]"),
        ('"auths": {"x": {"auth": "am9lOmh1bnRlcjI="}}', '"auths": {"x": {"auth": "[redacted]"}}'),
        ("<b:Password>hunter2</b:Password>", "<b:Password>[redacted]</b:Password>"),
        ("https://abcdefghij0123456789@host/x", "https://[redacted]@host/x"),
        ("secret: 'keyboard cat'", "secret: '[redacted]'"),
        ("config%5Bpassword%3Dhunter2", "config%5Bpassword%3D[redacted]"),
        ("AWS Secret Access Key [None]: abcd1234EFGH", "AWS Secret Access Key [None]: [redacted]"),
        ("user=joe pass=hunter2", "user=joe pass=[redacted]"),
        ("db password = hunter2", "db password = [redacted]"),
        ("password\thunter2", "password\t[redacted]"),
        ("  client_secret: swordfish", "  client_secret: [redacted]"),
        ("ENV API_KEY swordfish", "ENV API_KEY [redacted]"),
        ("os.environ['API_KEY'] = 'swordfish'", "os.environ['API_KEY'] = '[redacted]'"),
        ("config.set('password', 'hunter2')", "config.set('password', '[redacted]')"),
        *(
            (text.format("swordfish"), text.format("[redacted]"))
            for text in (
                "echo {} | docker login -u me --password-stdin ghcr.io",
                "echo -n '{}' | podman login --password-stdin",
                "printf '%s\\n' \"{}\" | helm registry login -u x --password-stdin",
                "docker login --password-stdin h <<< '{}'",
                "echo {} | sudo -S apt update",
                "echo {} | gh auth login --with-token",
                "echo 'root:x y' && htpasswd -b .htpasswd user {}",
                "htpasswd -nbB user '{}' > file",
                "lftp -u 'user,{}' ftp.example.org",
                "kubectl create secret generic db --from-literal=user=[redacted] \\\n  --from-literal=pw='{}' -n x",
                "openssl enc -aes-256-cbc -k {} -in f",
                "smbclient //h/s -U 'user%{}'",
                "keytool -list -storepass {} -keypass [redacted]",
                "plink -ssh x -pw {}",
                "sqlcmd -S h -U sa -P {}",
                "xfreerdp /u:me /p:{} /v:h",
                "rdesktop -u me -p {} h",
                "unrar x -p{} a.rar",
                "aws configure set aws_secret_access_key {}",
                "gh secret set NAME --body {}",
                "nmcli dev wifi connect SSID password {}",
                "wpa_passphrase SSID {}",
                "rabbitmqctl add_user me {}",
                "redis-cli AUTH {}",
                "requirepass {}",
                "ALTER USER me WITH PASSWORD '{}';",
                "CREATE USER 'a'@'b' IDENTIFIED BY '{}';",
                "define('DB_PASSWORD', '{}');",
                '{{"name": "DB_PASSWORD", "value": "{}"}}',
                "dsn = user:{}@tcp(localhost:3306)/db",
                "pwd={}",
                "Pwd={};Server=db",
                'conn = "Uid=sa Pwd={};"',
                "Passwort: {}",
                "passwort={}",
                '{{"passwort": "{}"}}',
                "Kennwort: {}",
                "CONTRASEÑA={}",
                "contraseña: {}",
                "mot de passe : {}",
                "mot_de_passe={}",
                "senha: {}",
                "minha_senha={}",
                "hasło: {}",
                "Пароль: {}",
                "密码：{}",
                "パスワード: {}",
                "비밀번호={}",
                "wachtwoord: {}",
                "lösenord: {}",
                "şifre: {}",
                "heslo: {}",
            )
        ),
        ("token:\n  q7Zk3v9QpLm2xT\nnext: 1", "token:\n  [redacted]\nnext: 1"),
        ("  api_token: |\n    q7Zk3v9QpLm2xT", "  api_token: |\n    [redacted]"),
        (r'"x: 1\ntoken: >-\n  q7Zk3v9QpLm2xT"', r'"x: 1\ntoken: >-\n  [redacted]"'),
        (
            "| user | token |\n|---|---|\n| joe | `q7Zk3v9QpLm2xT` |\n| ann | none |",
            "| user | token |\n|---|---|\n| joe | `[redacted]` |\n| ann | none |",
        ),
        ("pulumi config set --secret dbUser swordfish", "pulumi config set --secret [redacted] [redacted]"),
        ("cargo login q7Zk3v9QpLm2xT0123456789", "cargo login [redacted]"),
        ("EAACEdEose0cBA" + "aB3dE5fG7h" * 4, "[redacted]"),
    ],
)
def test_values_in_secret_places_go(text: str, expected: str) -> None:
    """Headers, URLs, assignments and flags lose the secret and nothing else."""
    assert redact(text) == expected


def _key_block(kind: str) -> str:
    return f"-----BEGIN {kind}-----\nMIIEpAIBAAKCAQEA\nabc+/=\n-----END {kind}-----"


@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_private_keys_go(kind: str) -> None:
    """A private key block goes as a whole, also when its end is missing."""
    block = _key_block(kind)

    assert redact(f"before\n{block}\nafter") == "before\n[redacted]\nafter"
    assert redact(f"before\n{block[:50]}") == "before\n[redacted]"
    assert redact(json.dumps({"a": block})) == '{"a": "[redacted]"}'


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_prose_hashes_and_counts_stay(text: str) -> None:
    """Ordinary text, hashes, ids, paths and counts of tokens are not touched."""
    assert redact(text) == text


def test_redacting_twice_changes_nothing_more() -> None:
    """What is redacted stays as it is."""
    for text in (
        "DB_PASSWORD=hunter2",
        "Authorization: Bearer abcdef",
        '{"api_key": "hunter2"}',
        "  password: hunter2",
    ):
        assert redact(redact(text)) == redact(text)


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    """No text breaks it, and a second pass changes nothing."""
    assert redact(redact(text)) == redact(text)


_HOSTILE = sorted(
    {
        *(word for _, words, *_ in SHAPES for word in words.split()),
        *(word for words, *_ in redaction._RULES for word in words),
        *(each.around.partition("{}")[0] for each in PLANTED),
        *(each.text[:-3] for each in PLANTED),
        *(
            "a",
            "A1_",
            "a.",
            "a-",
            "token",
            "x=",
            "://a:",
            "password:",
            "password ",
            "token='",
            'token="',
            "token is ",
            '"',
        ),
        *(
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "\\",
            "\\n",
            "curl ",
            "curl -u ",
            "--a",
            "--token ",
            " ",
            "key",
        ),
        *(
            "echo a | ",
            "echo a a",
            "htpasswd -b a ",
            "lftp -u a",
            "create secret \\\n",
            "kubectl create secret a ",
            "pwd=a/",
        ),
        *(
            "token:\n  a1",
            "token: |\n",
            "| token |\n|---|\n",
            "|--",
            "密码：",
            "mot de ",
            "rar x -",
            '"name":"',
            "a:a@tcp",
        ),
        *("MII\n", "A" * 40 + " AKIA" + "A" * 16 + " ", "eyJaaaaaaaa.", "\x1b[0m", "%0A", "secret_key_", "<token>"),
    }
    - {""}
)


@pytest.mark.parametrize("piece", _HOSTILE)
def test_long_texts_take_linear_time(piece: str) -> None:
    """Four times the text takes about four times as long, not sixteen: nothing in it backtracks without bound."""

    def took(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        start = time.process_time()
        redact(text)
        return time.process_time() - start

    took(100)  # compiles
    for _ in range(3):  # what else the machine does may slow one of them down
        short, long = took(5_000), took(20_000)
        if long <= 9 * short + 0.01:
            break
    else:
        pytest.fail(f"{short:.4f} s became {long:.4f} s")


@pytest.mark.parametrize("token", [_ANTHROPIC, "password: hunter2", "https://joe:hunter2@example.org/"])
def test_half_a_secret_is_never_left(token: str) -> None:
    """Where a text is cut, also one of which only a part is looked at, secrets were masked before."""
    secret = token.rpartition(" ")[2][-30:] if "sk-" in token else "hunter2"
    for fill in (0, 3_000, 63_000, 69_900, 70_000):
        for limit in range(1, 40, 3):
            before, after = "b" * fill + " " + token, token + " " + "b" * fill
            assert not readable(secret, beginning(before + " x" * 40_000, limit + fill), 4)
            assert not readable(secret, ending("x " * 40_000 + after, limit + fill), 4)


def test_what_is_cut_is_as_long_as_asked() -> None:
    """The beginning and the end of a text without secrets are its own."""
    text = " ".join(str(number) for number in range(30_000))
    for limit in (1, 100, 60_000, 100_000):
        assert beginning(text, limit) == text[:limit]
        assert ending(text, limit) == text[-limit:]
    assert beginning("short", 100) == ending("short", 100) == "short"


def test_the_end_of_a_key_block_is_recognised() -> None:
    """Of a long key whose beginning was cut away, nothing is left either."""
    lines = [made_up(64, seed=str(number)) for number in range(300)]
    block = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----", "done"])

    assert ending("x " * 40_000 + block, 500).endswith("done")
    assert not readable(lines[-1], ending("x " * 40_000 + block, 500))
    assert not readable(lines[-1], redact(block[9_000:]))


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


@pytest.mark.parametrize(
    "arguments",
    [
        ["deploy", "--password", "swordfish", "now"],
        ["mysql", "-u", "root", "-pswordfish"],
        ["sshpass", "-p", "swordfish", "ssh"],
        ["curl", "-u", "joe:swordfish", "https://x"],
        ["X-Api-Key", "swordfish"],
    ],
)
def test_arguments_of_a_command_are_redacted(arguments: list[str]) -> None:
    """A list hides what the command line would."""
    found = redact_value({"args": arguments})["args"]

    assert "swordfish" not in str(found)
    assert [each for each in found if each != "[redacted]" and "redacted" not in each] == [
        each for each in arguments if "swordfish" not in each
    ]


@pytest.mark.parametrize("items", [["-v", "--password-file", "x"], ["mkdir", "-p", "src"], ["token", "secret", "key"]])
def test_other_lists_stay(items: list[str]) -> None:
    """Ordinary arguments and lists of words are not touched."""
    assert redact_value(items) == items


def test_endless_nesting_is_cut() -> None:
    """Nesting beyond any real payload ends in a mask, not in an exception."""
    value: Any = _ANTHROPIC
    for _ in range(3000):
        value = [value]

    assert "ant-api03" not in str(redact_value(value))


@pytest.mark.parametrize(
    "name", ["password", "DB_PASSWORD", "apiKey", "api-key", "X-Api-Key", "access_token", "TOKEN", "Cookie", "ssh_key"]
)
def test_secret_names(name: str) -> None:
    """Names that end in the word for a secret are secret."""
    assert secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["key", "tokens", "max_tokens", "token_count", "PWD", "session_id", "secretary", "password_file", "keyboard"],
)
def test_ordinary_names(name: str) -> None:
    """Names that only contain such a word are not."""
    assert not secret_name(name)


ODD = {"s": "ſ", "k": "\u212a", "i": "ı"}


@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "PASSWORD",
                    "passwd",
                    "Api",
                    "_",
                    "-",
                    "key",
                    "token",
                    "=",
                    ": ",
                    '"',
                    "'",
                    " ",
                    "\n",
                    "--",
                    "x1y2z3w4",
                ),
                *(
                    "authorization",
                    "Bearer ",
                    "basic ",
                    "curl -u ",
                    "u:p",
                    "https://",
                    "a:b@c",
                    "-----BEGIN ",
                    "sk-ant-",
                ),
                *(
                    "PRIVATE KEY-----",
                    "secret",
                    "credentials",
                    "cookie",
                    "pwd",
                    "ghp_",
                    "a" * 40,
                    "A1" * 20,
                    "eyJ",
                    ".",
                ),
                *(word for _, words, *_ in SHAPES for word in words.split()),
                *(word for words, *_ in redaction._RULES for word in words),
                *("hooks.slack.com/services/", "ssh", "client", "passphrase", "AKIA", "xoxb-", *ODD.values()),
            ]
        ),
        max_size=14,
    ),
    st.sampled_from([None, *ODD]),
)
@settings(derandomize=True, database=None, deadline=None, max_examples=1_000)
def test_looking_for_words_first_changes_nothing(pieces: list[str], swapped: str | None) -> None:
    """Every rule is skipped only where it would find nothing."""
    text = "".join(pieces)
    text = text.replace(swapped, ODD[swapped]) if swapped else text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "_RUN", re.compile(r"(?s:.+)"))
        patch.setattr(tokenshapes, "_words", lambda: tuple(("", number, True) for number in range(len(SHAPES))))
        patch.setattr(redaction, "_RULE_WORDS", tuple(("", number) for number in range(len(redaction._RULES))))
        patch.setattr(secretnames, "_WORDS", ("",))
        patch.setattr(secretnames, "_names", lambda lower, present: secretnames._FOUND.finditer(lower))
        plain = redact(text)
    assert redact(text) == plain
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "_LONG_CHARS", 0)
        assert redact(text) == plain
        patch.setattr(redaction, "_PIECE_CHARS", 7)
        assert redaction._words(text) == set(text.split())
        assert redact(text) == plain
