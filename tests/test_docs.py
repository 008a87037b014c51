"""README and docs/ hang together: links, navigation, commands and tables."""

from __future__ import annotations

import re
import shlex
import tomllib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click
import pytest

from holdfast import cli
from holdfast.clients.claude import transcripts
from holdfast.dispatch import reply_log
from holdfast.memory import log
from holdfast.sessions import contents, conversations, offers
from holdfast.trail import text as trail
from holdfast.workflow import briefs, guidance, search, text_file
from tests import context_costs
from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"
SURFACE = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
TEMPLATES = sorted((ROOT / ".github").rglob("*.*"))  # of issues and pull requests
PAGES = [*SURFACE, *TEMPLATES, *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"`[^`\n]*`")
ALLOWED = re.compile(r"[^\w\- ]")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site both make them."""
    found = re.findall(r"^#+ +(.+?) *$", prose(page), re.MULTILINE)
    return {ALLOWED.sub("", words.replace("`", "").lower()).replace(" ", "-") for words in found}


def links(page: Path) -> Iterator[tuple[str, str, str]]:
    for shown, words, place in LINK.findall(CODE.sub("x", prose(page))):
        if not re.match(r"https?://|mailto:", place):
            yield shown, words, place


def broken(page: Path) -> Iterator[str]:
    for _, _, place in links(page):
        path, _, anchor = place.partition("#")
        target = (page.parent / path).resolve() if path else page
        outside = page.is_relative_to(DOCS) and not target.is_relative_to(DOCS)
        if outside or not target.exists() or (anchor and anchor not in anchors(target)):
            yield place


def calls(page: Path) -> Iterator[str]:
    """Yield what a page shows of `holdfast …`, in code."""
    text = page.read_text("utf-8")
    inline = [each for each in CODE.findall(FENCE.sub("", text)) if each.startswith("`holdfast ")]
    yield from (each.strip("`") for each in inline)
    for _, block in FENCE.findall(text):
        yield from re.findall(r"^(?:\$ )?(holdfast .+)$", block.replace("\\\n", " "), re.MULTILINE)


def fault(call: str) -> str:
    """Return what a call names that there is not; empty if it names only what exists."""
    words = shlex.split(re.split(r" *(?:#|>>|\|) ", call)[0].replace("…", ""))[1:]
    command: click.Command = cli.holdfast
    context = click.Context(command, **cli.holdfast.context_settings)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return "" if words[0].isupper() else f"no command {words[0]!r}"
        command, words = found, words[1:]
    parameters = command.get_params(context)
    known = {option for each in parameters for option in (*each.opts, *each.secondary_opts)} | {"-h", "--help"}
    unknown = [word for word in words if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known]
    return f"no option {unknown[0]}" if unknown else ""


def test_the_readme_is_short() -> None:
    """It fits on two screens; everything else is in docs/."""
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 600


@each_row("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files and headings; a page of the site leads to no file outside it."""
    assert list(broken(page)) == []


@each_row("page", PAGES, ids=named)
def test_every_picture_says_what_it_shows(page: Path) -> None:
    """In words, for whoever can't see it."""
    assert [
        words for shown, words, _ in links(page) if shown and len(words) <= 40 and page.name != "benchmarks.md"
    ] == []


@each_row("page", PAGES, ids=named)
def test_every_command_it_shows_exists(page: Path) -> None:
    """With its options; the changelog also names commands that are gone."""
    former = {call for call in calls(page) if page.name == "CHANGELOG.md" and cli.former(call.split()[1:])}
    assert {call: said for call in calls(page) if call not in former and (said := fault(call))} == {}


def test_every_page_is_in_the_navigation() -> None:
    """And nothing else is."""

    def files(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for each in entry.values() if isinstance(entry, dict) else entry:
                yield from files(each)

    site = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))
    assert sorted(files(site["project"]["nav"])) == sorted(
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")
    )


@each_row("page", [page for page in PAGES if page.is_relative_to(DOCS)], ids=named)
def test_a_page_has_one_title(page: Path) -> None:
    """It is the first line, so that the site and GitHub show the same."""
    assert [line for line in prose(page).splitlines() if line.startswith("# ")] == [
        page.read_text("utf-8").split("\n")[0]
    ]


COMPACTION, HISTORY = "guides/compaction.md", "guides/history.md"


@each_row(
    "page, sentence, limit",
    [
        (COMPACTION, "The guidance has at most {} characters.", guidance.LIMIT_UNITS),
        (COMPACTION, "Claude gets at most {} characters about an unfinished workflow", offers.LIMIT_CHARS),
        (COMPACTION, "within the last {} minutes", conversations.LIVE_WINDOW // timedelta(minutes=1)),
        (COMPACTION, "from the last {} MB of the session's own transcript", transcripts.TAIL_BYTES >> 20),
        (COMPACTION, "The trail has at most {} characters", trail.LIMIT_UNITS),
        (COMPACTION, "A state file of more than {} MB", search.LIMIT_BYTES >> 20),
        (COMPACTION, "`freshness_days`, {} KB of each", text_file.LIMIT_BYTES >> 10),
        ("guides/subagents.md", "in at most {} characters", briefs.START_LIMIT_UNITS),
        (HISTORY, "Reasons are cut at {} characters", reply_log.REASON_LIMIT_CHARS),
        (HISTORY, "The last {} events of each kind stay", log.LIMIT),
        (HISTORY, "Holdfast keeps the last {} contents", contents.MOST),
    ],
)
def test_the_limits_that_a_page_names_are_those_that_hold(page: str, sentence: str, limit: int) -> None:
    """So that neither is changed without the other."""
    assert sentence.format(f"{limit:,}") in " ".join((DOCS / page).read_text("utf-8").split())


@pytest.mark.slow
def test_the_table_of_what_the_context_costs_is_current(tmp_path: Path) -> None:
    """`python -m tests.context_costs --write` writes it anew."""
    page = context_costs.PAGE.read_text("utf-8")
    assert page == context_costs.written(page, context_costs.table(tmp_path))


def test_the_readme_says_the_score() -> None:
    """With the numbers of its page, which `make score` writes."""
    page = (DOCS / "survival-score.md").read_text("utf-8")
    score = re.search(r"`--cycles .+?`: 100 % of (\S+) facts kept, 0 false, in (\d+) scenarios\.\n", page)
    assert score
    said = f"In {score[2]} [failure scenarios](docs/survival-score.md), all {score[1]} planted facts came back"
    assert said in " ".join((ROOT / "README.md").read_text("utf-8").split())
