"""Invented secrets of all kinds, assembled at run time so that scanners don't report this file."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from holdfast import paths
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path

HEX = "0123456789abcdef"
UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ234567"
MIXED = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"


def made_up(length: int, letters: str = MIXED, *, seed: str = "") -> str:
    """Return so many letters that look random and are always the same; digits and letters of both cases begin it."""
    drawn = hashlib.shake_256(f"{seed}{length}{letters}".encode()).digest(length)
    return "".join(letters[each % len(letters)] for each in drawn)


def readable(secret: str, text: str, least: int = 10) -> bool:
    """Return whether a text shows a secret, or as many letters of it in a row."""
    return any(secret[at : at + least] in text for at in range(max(len(secret) - least, 0) + 1))


class Token(NamedTuple):
    """A service's token, by what makes it one and what is random in it."""

    service: str
    prefix: str
    rest: str

    @property
    def whole(self) -> str:
        """The token."""
        return self.prefix + self.rest


def _token(service: str, prefix: str, length: int, letters: str = MIXED, end: str = "") -> Token:
    return Token(service, prefix, made_up(length, letters, seed=prefix) + end)


TOKENS = (
    _token("Anthropic", "sk-ant-" + "api03-", 93, end="AA"),
    _token("OpenAI and OpenRouter", "sk-" + "proj-", 64),
    _token("OpenAI's early keys and others like them", "sk-", 48),
    *(_token("GitHub", f"gh{kind}" + "_", 36) for kind in "pousr"),
    _token("GitHub, fine-grained", "github" + "_pat_", 22, end="_" + made_up(59)),
    *(_token("GitLab", f"gl{kind}" + "-", 20) for kind in ("pat", "dt", "rt", "cbt", "ptt", "ft", "soat", "agent")),
    _token("GitLab runner registration", "GR13" + "48941", 20),
    _token("AWS key id", "AK" + "IA", 16, UPPER),
    _token("AWS key id", "AS" + "IA", 16, UPPER),
    _token("AWS Bedrock", "AB" + "SK", 110),
    _token("Google API key", "AI" + "zaSy", 33),
    _token("Google OAuth client", "GOC" + "SPX-", 28),
    _token("Google OAuth token", "ya" + "29.", 60),
    Token("Azure AD client", "aB" + "~8Q~", made_up(34)),
    _token("Slack", "xox" + "b-", 12, "0123456789", end="-1234567890123-" + made_up(24)),
    _token("Slack", "xox" + "p-", 12, "0123456789", end="-" + made_up(32)),
    _token("Slack configuration", "xoxe.xox" + "p-1-", 60),
    _token("Slack app", "xapp-1-" + "A0", 20),
    Token("Telegram bot", "7391582640:", "AA" + made_up(33)),
    Token("SendGrid", "SG" + ".", made_up(22) + "." + made_up(43)),
    _token("Brevo", "xkey" + "sib-", 64, HEX),
    _token("Twilio", "S" + "K", 32, HEX),
    _token("Stripe", "sk_" + "live_", 24),
    _token("Stripe", "rk_" + "test_", 24),
    _token("Stripe webhook and others", "whs" + "ec_", 32),
    *(_token("Shopify", f"shp{kind}" + "_", 32, HEX) for kind in ("at", "ca", "pa", "ss")),
    _token("Square", "sq0" + "atp-", 22),
    _token("npm", "np" + "m_", 36),
    _token("PyPI", "py" + "pi-AgE", 70),
    _token("RubyGems", "ruby" + "gems_", 48, HEX),
    _token("Docker", "dckr" + "_pat_", 27),
    _token("Artifactory", "AK" + "Cp", 69),
    _token("Vault", "hv" + "s.", 95),
    _token("Vault", "hv" + "b.", 140),
    *(_token("DigitalOcean", f"do{kind}" + "_v1_", 64, HEX) for kind in "por"),
    _token("Heroku", "HRKU" + "-AA", 58),
    _token("Databricks", "da" + "pi", 32, HEX),
    _token("Hugging Face", "h" + "f_", 34),
    _token("Groq", "gs" + "k_", 52),
    _token("xAI", "xa" + "i-", 80),
    _token("Perplexity", "ppl" + "x-", 48),
    _token("Replicate", "r" + "8_", 37),
    _token("NVIDIA", "nva" + "pi-", 64),
    Token("LangSmith", "lsv2" + "_pt_", made_up(32, HEX) + "_" + made_up(10, HEX)),
    _token("Pinecone", "pc" + "sk_", 64),
    _token("Atlassian", "ATA" + "TT3", 100),
    _token("Atlassian", "AT" + "BB", 32),
    _token("Bitbucket", "BB" + "DC-", 44),
    _token("Linear", "lin" + "_api_", 40),
    _token("Notion", "nt" + "n_", 46),
    _token("Figma", "fig" + "d_", 40),
    _token("Sentry", "sntr" + "yu_", 64, HEX),
    _token("Grafana", "gl" + "sa_", 32, end="_" + made_up(8, HEX)),
    _token("Grafana", "gl" + "c_", 60),
    _token("New Relic", "NR" + "AK-", 27, UPPER),
    _token("Doppler", "dp" + ".pt.", 43),
    _token("Fly", "fm" + "2_", 100),
    _token("Fly", "fo" + "1_", 43),
    _token("Cloudflare", "cf" + "ut_", 48),
    _token("Supabase", "sb" + "p_", 40, HEX),
    _token("PlanetScale", "pscale" + "_pw_", 43),
    _token("Netlify", "nf" + "p_", 40),
    _token("Vercel", "vc" + "p_", 32),
    _token("Tailscale", "tskey" + "-auth-", 24),
    _token("Pulumi", "pu" + "l-", 40, HEX),
    Token("Postman", "PM" + "AK-", made_up(24, HEX) + "-" + made_up(34, HEX)),
    Token("CircleCI", "CCI" + "PAT_", made_up(22) + "_" + made_up(40, HEX)),
    _token("OpenShift", "sha" + "256~", 43),
    _token("Sourcegraph", "sg" + "p_", 40, HEX),
    _token("Contentful", "CF" + "PAT-", 43),
    _token("PostHog", "ph" + "x_", 44),
    _token("Alibaba", "LT" + "AI", 20),
    _token("1Password service account", "ops" + "_eyJ", 250),
    _token("age", "AGE-SECRET" + "-KEY-1", 58, UPPER),
    Token("private key block in base64", "LS0tLS1CRUdJTiB" + "SU0EgUFJJ", made_up(200)),
    Token("JWT", "ey" + "J", f"{made_up(17)}.ey" + f"J{made_up(24)}.{made_up(43)}"),
    Token("Slack webhook", "https://hooks.slack.com/" + "services/", f"T00000000/B00000000/{made_up(24)}"),
    Token("Discord webhook", "https://discord.com/api/" + "webhooks/998877665544332211/", made_up(68)),
)


class Planted(NamedTuple):
    """A secret in a text: `around` with the secret in place of `{}`."""

    kind: str
    around: str
    secret: str

    @property
    def text(self) -> str:
        """The text with the secret in it."""
        return self.around.replace("{}", self.secret)


def _word(kind: str) -> str:
    """Return a password that only the text around it reveals as one."""
    return f"hunter{made_up(5, HEX, seed=kind)}x"


_AROUND = {
    "environment": "export DATABASE_PASSWORD={}",
    "environment dump": "HOME=/root\nSTRIPE_SECRET={}\nLANG=C",
    "environment, odd letters": "MAIL_PASSWORD=a,{}",
    "YAML": "host: db\npassword: {}\nport: 1",
    "YAML, escaped": r"host: db\npassword: {}\nport: 1",
    "sentence": "log in with the password: {} and go on",
    "JSON": '{"api_key": "{}", "n": 1}',
    "JSON in JSON": r'"{\"clientSecret\": \"{}\"}"',
    "Python": "secret = '{}'",
    "option": "deploy --token {} --now",
    "option with sign": "deploy --api-key={}",
    "option, quoted": "deploy --password '{} and more'",
    "arguments": '["deploy", "--password", "{}"]',
    "header": "curl -H 'X-Api-Key: {}' https://example.org",
    "header, escaped": r"curl -H \"X-Auth-Token: {}\" https://example.org",
    "bearer": "Authorization: Bearer {}",
    "basic": "authorization: basic {}",
    "cookie": "Cookie: session={}; theme=dark",
    "set cookie": "Set-Cookie: sid={}; HttpOnly",
    "URL": "postgres://joe:{}@db.example.org/x",
    "URL parameter": "https://example.org/?a=1&access_token={}&b=2",
    "connection string": "Server=db;User Id=sa;Pwd={};",
    "Azure connection string": "AccountName=x;AccountKey={}==;EndpointSuffix=core.windows.net",
    "curl": "curl -u joe:{} https://example.org",
    "MySQL": "mysql -u root -p{} shop",
    "sshpass": "sshpass -p {} ssh host",
    "docker login": "docker login -u joe -p {} registry.example.org",
    "redis": "redis-cli -a {} ping",
    "netrc": "machine example.org login joe password {}",
    "netrc, lines": "machine example.org\n  login joe\n  password {}\n",
    "npmrc": "//registry.npmjs.org/:_authToken={}",
    "XML": "<server><password>{}</password></server>",
    "coloured": "\x1b[36mtoken\x1b[0m: \x1b[32m{}\x1b[0m",
    "spoken of": "the password is {}",
}
_AWS = "wJalrXUtnFEMI/" + "K7MDENG+bPxRfiCYzEXAMPLE9x"
_KEY = "MIIEpAIBAAKCAQEA" + made_up(48)


def _block(kind: str, body: str = _KEY) -> str:
    return f"-----BEGIN {kind}" + f"-----\n{body}\n{body}\n-----END {kind}" + "-----"


PLANTED = (
    *(Planted(each.service, f"{each.prefix}{{}}", each.rest) for each in TOKENS),
    *(Planted(kind, around, _word(kind)) for kind, around in _AROUND.items()),
    Planted("AWS secret beside its id", f"{'AK' + 'IA'}{made_up(16, UPPER)} {{}}", _AWS),
    Planted("AWS secret in a file", f"x,{'AK' + 'IA'}{made_up(16, UPPER)},{{}}\n", _AWS),
    *(
        Planted(kind, _block(kind, "{}"), _KEY)
        for kind in ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
    ),
)


VERBATIM = {"contents": ("content",), "workflows": ("content", "fields")}  # the ledger's columns that hold files
SHOWING = (
    *(["log", "--limit", "9999"], ["log", "--json", "--limit", "9999"], ["status"], ["status", "--json"]),
    *(["report", "-"], ["export"]),
)
"""The commands that tell people and programs what happened."""


def found(text: str) -> list[str]:
    """Return the kinds of those planted secrets that a text shows."""
    return [each.kind for each in PLANTED if readable(each.secret, text)]


def assert_none_is_kept(root: Path) -> None:
    """Neither in the log, the recordings and the faults, nor in any row of the ledger."""
    for file in paths.state_dir().rglob("*"):
        if file.suffix in (".log", ".1", ".jsonl", ".json"):
            assert found(file.read_text("utf-8")) == [], file.name

    with closing(sqlite3.connect(Workspace.open(root).ledger_file)) as connection:
        connection.row_factory = sqlite3.Row
        tables = [row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
            for row in rows:
                for column in VERBATIM.get(table, ()):
                    del row[column]
            assert found("\n".join(str(value) for row in rows for value in row.values())) == [], table


def assert_none_is_printed(root: Path) -> None:
    """Whatever people and programs are told of what happened."""
    for arguments in SHOWING:
        seen = found(holdfast(*arguments, root=root).out)
        assert seen == [], (arguments, seen)
    assert found(holdfast("doctor", "-v", root=root, code=1).out) == []
