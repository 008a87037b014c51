"""The shapes of the tokens, keys and webhooks that services hand out.

The facts come from the public rule sets of gitleaks, TruffleHog and detect-secrets and from the services' own
documentation. Lengths are lower bounds: a service that lengthens its tokens stays covered.
"""

from __future__ import annotations

import re
from functools import cache

from holdfast.patterns import regex

MASK = "[redacted]"

# Texts that end in a letter or digit but aren't part of the word after them: an escape (\n, \u000a, \x0a), a character
# in percent or quoted-printable encoding, a terminal's colour (ESC[0m).
_ESCAPES = (r"\\[abefnrtv0]", r"\\u[0-9A-Fa-f]{4}", r"\\x[0-9A-Fa-f]{2}", "[%=][0-9A-Fa-f]{2}", r"[\[;0-9][mK]")
ESCAPE = regex(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[abefnrtv0])|%[0-9A-Fa-f]{2}|\[[0-9;]{0,12}[mK]")

_MIXED = r"(?=[A-Za-z0-9]{0,24}[0-9])(?=[A-Za-z0-9]{0,24}[A-Z])(?=[A-Za-z0-9]{0,24}[a-z])"  # unlike a name in a program


def edged(first: str) -> str:
    """Return a pattern for a prefix at the beginning of a word: `sk-`, but not in `desk-`.

    Args:
        first: a pattern of fixed width. It comes first in the result, which makes the search fast.
    """
    before = "|".join(f"(?<={escape}{first})" for escape in _ESCAPES)
    return rf"{first}(?:(?<![A-Za-z0-9_-]{first})|{before})"


# Each shape has a service's name; words, one of which is in each of its secrets, within a run of 10 or more letters,
# digits, `_`, `.`, `:`, `~` and `-` unless slashes may follow; the secret's prefix, if ordinary words can end with it
# too (`edged`); the rest of the pattern. Text that a group in parentheses matches is kept. These are constants, because
# the hook path imports them and hardly any is ever compiled.
SHAPES: tuple[tuple[str, str, str, str], ...] = (
    ("Anthropic", "sk-ant-", "", r"sk-ant-[\w-]{16,}"),
    ("OpenAI and OpenRouter", "sk-", "", r"sk-(?:proj|svcacct|service|admin|or)-[\w-]{16,}"),
    ("OpenAI's early keys and others like them", "sk-", "sk-", "[A-Za-z0-9]{32,}"),
    ("OpenAI's marker", "T3BlbkFJ", "", r"sk-[\w-]{10,200}?T3BlbkFJ[\w-]{10,}"),
    ("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", "", r"gh[pousr]_(?:\d{1,12}_)?[A-Za-z0-9]{20,}\w*(?:\.[\w-]{20,}){0,2}"),
    ("GitHub, fine-grained", "github_pat_", "", r"github_pat_\w{20,}"),
    (
        "GitLab",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-",
        "",
        r"gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[\w-]{16,}(?:\.[0-9a-z.]{7,20})?",
    ),
    ("GitLab runner registration", "GR1348941", "", r"GR1348941[\w-]{16,}"),
    ("AWS key id", "AKIA ASIA ABIA ACCA", "", "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("AWS Bedrock", "ABSK", "ABSK", "[A-Za-z0-9+/]{60,}={0,2}"),
    ("AWS Bedrock, short-lived", "bedrock-api-key-", "", r"bedrock-api-key-[\w+/=-]{20,}"),
    ("Google API key", "AIza", "AIza", r"[\w-]{35}"),
    ("Google OAuth client", "GOCSPX-", "", r"GOCSPX-[\w-]{20,}"),
    ("Google OAuth token", "ya29.", "", r"ya29\.[\w.-]{20,}"),
    ("Azure AD client", "Q~", "", r"[\w~.-]{3}\dQ~[\w~.-]{31,34}"),
    (
        "Azure identifiable keys",
        "JQQJ9 AZDO",
        "",
        "(?<![A-Za-z0-9])[A-Za-z0-9]{50,80}(?:JQQJ9|AZDO)[A-Za-z0-9+/=]{4,40}",
    ),
    (
        "Slack",
        "xox",
        "",
        r"xox[a-eoprs]-(?=[\w%-]{0,12}\d)[\w%-]{10,}",
    ),
    ("Slack configuration", "xoxe.xox", "", r"xoxe\.xox[bp]-[\w-]{10,}"),
    ("Slack app", "xapp-", "", r"xapp-\d-[\w-]{10,}"),
    ("Discord bot", ".", "[MNO]", r"[\w-]{22,28}\.[\w-]{6}\.[\w-]{27,50}(?![\w-])"),
    ("Telegram bot", ":A", "", r"(?<!\d)(\d{6,16}:)A[\w-]{32,35}(?![\w-])"),
    ("SendGrid", "SG.", "SG[.]", r"[\w-]{16,}\.[\w-]{16,}"),
    ("Brevo", "xkeysib- xsmtpsib-", "", r"(?:xkeysib|xsmtpsib)-[\w-]{30,}"),
    ("Twilio", "SK", "SK", "[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Mailgun", "key-", "key-", "[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Mailchimp", "-us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9", "", r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    ("Stripe", "k_live_ k_test_ k_prod_", "", "[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    ("Stripe webhook and others", "whsec_", "", "whsec_[A-Za-z0-9+/=]{20,}"),
    ("Shopify", "shpat_ shpca_ shppa_ shpss_ shpua_ shltm_", "", r"sh(?:p(?:at|ca|pa|ss|ua)|ltm)_[\w-]{30,}"),
    ("Square", "sq0", "", r"sq0[a-z]{3}-[\w-]{20,}"),
    ("Square access token", "EAAA", "EAAA", r"[\w-]{56,}"),
    ("Facebook", "EAA", "EAA", r"(?=[A-Z][a-z0-9A-Z]{0,24}\d)(?=\w{0,40}[a-z])[A-Z][A-Za-z0-9]{40,}"),
    ("npm", "npm_", "", "npm_[A-Za-z0-9]{30,}"),
    ("PyPI", "pypi-", "", r"pypi-(?=[\w-]{0,40}[A-Z])[\w-]{40,}"),
    ("RubyGems", "rubygems_", "", "rubygems_[0-9a-f]{40,}"),
    ("Clojars", "CLOJARS_", "", "CLOJARS_[A-Za-z0-9]{40,}"),
    ("Docker", "dckr_pat_ dckr_oat_", "", r"dckr_[po]at_[\w-]{20,}"),
    ("Artifactory", "AKCp", "AKCp", "[A-Za-z0-9]{55,}"),
    ("Vault", "hvs. hvb. hvr.", "", r"hv[sbr]\.[\w-]{20,}"),
    (
        "Vault's early tokens",
        "s.",
        "s[.]",
        _MIXED + r"[A-Za-z0-9]{24}(?![\w.(-])",
    ),
    ("Terraform Cloud", ".atlasv1.", "", r"(?<![A-Za-z0-9])[A-Za-z0-9]{10,32}\.atlasv1\.[\w=-]{40,}"),
    ("DigitalOcean", "doo_v1_ dop_v1_ dor_v1_", "", "do[opr]_v1_[0-9a-fA-F]{40,}"),
    ("Heroku", "HRKU-", "", r"HRKU-[\w-]{30,}"),
    ("Databricks", "dapi", "dapi", r"[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])"),
    ("Hugging Face", "hf_ api_org_", "", "(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("Groq", "gsk_", "", "gsk_[A-Za-z0-9]{40,}"),
    ("xAI", "xai-", "xai-", "[A-Za-z0-9_]{60,}"),
    ("Perplexity", "pplx-", "", "pplx-[A-Za-z0-9]{40,}"),
    ("Replicate", "r8_", "r8_", "[A-Za-z0-9]{37}"),
    ("NVIDIA", "nvapi-", "", r"nvapi-[\w-]{50,}"),
    ("LangSmith", "lsv2_", "", r"lsv2_[a-z]{2}_[0-9a-f]{32}\w*"),
    ("Pinecone", "pcsk_", "pcsk_", r"\w{40,}"),
    ("Atlassian", "ATATT3 ATCTT3 ATBB", "AT", r"(?:[AC]TT3[\w=-]{40,}|BB[A-Za-z0-9_=.-]{28,})"),
    ("Bitbucket", "BBDC-", "", "BBDC-[A-Za-z0-9+/@_-]{30,}"),
    ("Linear", "lin_api_ lin_oauth_", "", "lin_(?:api|oauth)_[A-Za-z0-9]{20,}"),
    ("Notion", "ntn_", "", "ntn_[A-Za-z0-9]{30,}"),
    (
        "Notion's early tokens",
        "secret_",
        "secret_",
        _MIXED + r"[A-Za-z0-9]{43}(?!\w)",
    ),
    ("Airtable", "pat", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{60,}"),
    ("HubSpot", "pat-", "pat-", r"(?:na|eu)\d-[0-9a-fA-F-]{36}"),
    ("Figma", "figd_ figo_ figp_ figu_", "fig", r"[dopu]_[\w-]{30,}"),
    ("Typeform", "tfp_", "tfp_", r"[\w.=-]{40,}"),
    ("Sentry", "sntrys_ sntryu_ sntryi_ sntrya_", "", r"sntry[suia]_[\w+/=]{20,}"),
    ("Grafana", "glc_ glsa_", "gl", r"(?:c|sa)_[\w+/=]{32,}"),
    ("Grafana's early keys", "eyJrIjoi", "", r"eyJrIjoi[\w+/]{40,}={0,3}"),
    ("New Relic", "NRAK- NRII- NRIQ- NRRA- NRSP- NRJS- NRBR-", "", r"NR(?:AK|II|IQ|RA|SP|JS|BR)-[\w-]{16,}"),
    ("New Relic license", "NRAL", "", r"(?<![0-9a-z])[0-9a-z]{28,44}(?:FFFF)?NRAL(?!\w)"),
    ("Dynatrace", "dt0", "", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{40,}"),
    ("Doppler", "dp.", "dp[.]", r"(?:pt|ct|st|sa|said|scim|audit)\.[\w.-]{20,}"),
    ("Fly", "fm1 fm2_ fo1_", "f[mo][12]", "[ar]?_[A-Za-z0-9+/=,_-]{40,}"),
    ("Cloudflare", "cfut_ cfat_ cfk_", "", "cf(?:ut|at|k)_[A-Za-z0-9]{40,}"),
    ("Cloudflare origin", "v1.0-", "v1[.]0-", "[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("Supabase", "sbp_ sb_secret_", "", r"sb(?:p_[0-9a-f]{40}|_secret_[\w-]{20,})"),
    ("PlanetScale", "pscale_", "", r"pscale_(?:tkn|oauth|pw)_[\w.=-]{30,}"),
    ("Netlify", "nfp_ nfc_ nfo_ nfu_", "", "nf[pcou]_[A-Za-z0-9]{36,}"),
    ("Vercel", "vcp_ vci_ vca_ vcr_ vck_", "", "vc[piark]_[A-Za-z0-9]{24,}"),
    ("Tailscale", "tskey-", "", r"tskey-[a-z]{2,20}-[\w-]{10,}"),
    ("Pulumi", "pul-", "pul-", "[0-9a-f]{40}"),
    ("Prefect", "pnu_ pnb_", "", "pn[ub]_[A-Za-z0-9]{36}"),
    ("Postman", "PMAK-", "", "PMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    ("ReadMe", "rdme_", "", "rdme_[a-z0-9]{60,}"),
    ("Buildkite", "bkua_ bkct_", "", "bk(?:ua|ct)_[a-z0-9]{40}"),
    ("CircleCI", "CCIPAT_ CCIPRJ_", "", r"CCIP(?:AT|RJ)_\w{40,}"),
    ("Octopus Deploy", "API-", "API-", "[A-Z0-9]{25,}"),
    ("Harness", "pat. sat.", "[ps]at[.]", r"[\w-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}"),
    ("OpenShift", "sha256~", "", r"sha256~[\w-]{40,}"),
    ("Sourcegraph", "sgp_", "", "sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}"),
    ("Contentful", "CFPAT-", "", r"CFPAT-[\w-]{40,}"),
    ("PostHog", "phx_", "", "phx_[A-Za-z0-9_]{40,}"),
    ("EasyPost", "EZAK EZTK", "", "EZ[AT]K[A-Za-z0-9]{50,}"),
    ("Shippo", "shippo_", "", "shippo_(?:live|test)_[0-9a-fA-F]{40}"),
    ("Duffel", "duffel_", "", r"duffel_(?:test|live)_[\w=-]{40,}"),
    ("Flutterwave", "FLWSECK", "", "FLWSECK(?:_TEST)?-[0-9A-Za-z]{12,}(?:-X)?"),
    ("Frame.io", "fio-u-", "", r"fio-u-[\w=-]{60,}"),
    ("Infracost", "ico-", "ico-", "[A-Za-z0-9]{32}"),
    ("Alibaba", "LTAI", "LTAI", "[A-Za-z0-9]{16,}"),
    ("Yandex", "AQVN", "AQVN", r"[\w-]{35,}"),
    ("Salesforce", "00D", "", r"00D[A-Za-z0-9]{12,15}![\w.]{80,}"),
    ("MaxMind", "_mmk", "", "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("1Password service account", "ops_eyJ", "", r"ops_eyJ[\w+/-]{60,}={0,3}"),
    ("1Password secret key", "A3-", "A3-", "[A-Z0-9]{6}-[A-Z0-9]{5,11}(?:-[A-Z0-9]{5,6}){3,4}"),
    ("age", "AGE-SECRET-KEY-", "", "AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{30,}"),
    (
        "private key block in base64",
        "LS0tLS1CRUdJTiB",
        "",
        "LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJVkFUR|FQyBQUklWQVRF|FTkNSWVBURUQg|PUEVOU1NIIFBS|EU0EgUFJJVkFUR)[A-Za-z0-9+/=]{20,}",
    ),
    ("JWT", "eyJ", "eyJ", r"[\w-]{8,}={0,2}(?:\.[\w-]{8,}={0,2}|(?<!\.)\.(?=\.)){1,4}"),
    ("Slack webhook", "hooks.slack", "", r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/+-]{20,}"),
    (
        "Discord webhook",
        "discord.com discordapp.com",
        "",
        r"(discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{5,25}/)[\w-]{20,}",
    ),
    ("Microsoft Teams webhook", ".office.com", "", r"(\.webhook\.office\.com/webhookb?2?/)[\w@/-]{30,}"),
    ("Zapier webhook", "hooks.zapier", "", r"(hooks\.zapier\.com/hooks/catch/)[\w/]{8,}"),
)


def masked_tokens(text: str, runs: str, words: str) -> str:
    """Return `text` with `[redacted]` in place of each token.

    Args:
        text: the text.
        runs: every run in it of 10 or more letters, digits, `_`, `.`, `:`, `~` and `-`.
        words: every word in it.
    """
    for number in sorted({number for word, number, slashed in _words() if word in (words if slashed else runs)}):
        pattern = _pattern(number)
        text = pattern.sub(rf"\1{MASK}" if pattern.groups else MASK, text)
    return text


@cache
def _words() -> tuple[tuple[str, int, bool], ...]:
    """Return each word, the number of its shape, and whether a slash may come before a run is long enough."""
    return tuple(
        (word, number, "/" in rest) for number, (_, words, _, rest) in enumerate(SHAPES) for word in words.split()
    )


@cache
def _pattern(number: int) -> re.Pattern[str]:
    _, _, begin, rest = SHAPES[number]
    return re.compile((edged(begin) if begin else "") + rest, re.ASCII)
