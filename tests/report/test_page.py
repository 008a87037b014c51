"""The page is complete, loads and runs nothing, and never treats foreign text as markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

import pytest

from holdfast.report import page, story, tables
from holdfast.workflow.model import Phase
from tests.handmade import OTHER, workspace
from tests.played import SECRET, Days
from tests.storied import compaction, delivery, run, session, told
from tests.storied import story as story_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

STYLE = files("holdfast.report").joinpath("page.css").read_text("utf-8")
LOADING = {"src", "srcset", "data", "action", "background", "poster", "formaction", "ping", "manifest"}
VOID = {"meta", "input", "br", "hr", "img", "link"}


class Read(HTMLParser):
    """A page as a browser reads it: its elements with their attributes, its text, and what was never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def played(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> HoldfastProject:
    """Three days of work."""
    project = holdfast_project({})
    Days(project, monkeypatch, tmp_path).play()
    return project


def render(project: HoldfastProject) -> str:
    there = workspace(project.root)
    text = page.render(story.gather(there))
    there.close()
    return text


def test_page_is_well_formed(played: HoldfastProject) -> None:
    """Every element is closed, every name is there once, every link leads to one."""
    text = render(played)
    read = Read(text)

    assert text.startswith("<!doctype html>\n<html")
    assert read.open == []
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"]) for name, attributes in read.elements if name == "a"]
    assert links
    assert {each.removeprefix("#") for each in links} <= set(ids)
    sections = {each.id for each in page.SECTIONS}
    assert {name for name, attributes in read.elements if attributes.get("id") in sections} == {"section"}


def test_page_loads_and_runs_nothing(played: HoldfastProject) -> None:
    """No element that could, and a policy that would not let one."""
    read = Read(render(played))

    names = {name for name, _ in read.elements}
    assert not names & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "svg", "video", "audio"}
    attributes = {key for _, given in read.elements for key in given}
    assert not attributes & LOADING
    assert not any(key.startswith("on") for key in attributes)
    assert not re.search(r"url\(|@import|https?:", STYLE)
    policy = [given["content"] for name, given in read.elements if given.get("http-equiv")]
    assert policy == [page.POLICY]
    assert set(page.POLICY.split("; ")) == {
        *("default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'")
    }
    assert {str(given["href"])[0] for name, given in read.elements if name == "a"} == {"#"}


def test_page_shows_foreign_markup_as_text(played: HoldfastProject) -> None:
    """Markup in a title is shown, what turns the direction of reading and secrets are not."""
    text = render(played)
    said = "".join(Read(text).text)

    assert 'Say </title><script>document.title="owned"</script>' in said
    assert "<b>One</b>" in said
    assert "\u202e" not in text
    assert SECRET not in text
    assert "Built, with key [redacted]" in said


def test_page_states_numbers_compactions_and_agents(played: HoldfastProject) -> None:
    """Numbers, compactions, agents, costs, and the log's own sentences."""
    said = " ".join(" ".join(Read(render(played)).text).split())

    for wanted in (
        "3 sessions 2 live 3 compactions 3 of 3 restored 4/12 facts kept by summaries",
        "3 phases completed 2 workflows 6 agents 1 running, 1 failed, 1 unfinished",
        "3 Mar 2026 08:10:00 11111111 manual Calculator 3/4 Test it Restored, not confirmed",
        "characters with SessionStart; never arrived Calculator :",
        "2 of 6 facts, word for word",
        "builder 11111111 Build it failed, 14 min API Error: 529 Overloaded.",
        "unfinished when its session ended, 40 min",
        "active, phase 4/4, 75%",
        'phase failed: "Calculator", phase 2 "Build it"; API Error: 529 Overloaded.',
        "Made 3 Mar 2026 09:00:00 by Holdfast",
    ):
        assert wanted in said


def test_every_kind_of_happening_has_a_box_and_a_rule_that_hides_it() -> None:
    """One that the log learns to tell has to be added here."""
    for kind in tables.KINDS:
        assert f".log:has(#show-{kind}:not(:checked)) .kind-{kind}" in STYLE


def test_an_empty_project_has_a_page(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """It says how to fill it, and leads to no section that is not there."""
    read = Read(render(holdfast_project({})))
    assert read.open == []
    said = "".join(read.text)
    assert "Nothing has happened here yet" in said
    for command in ("holdfast install", "holdfast doctor", "holdfast start", "holdfast report"):
        assert command in said
    names = [name for name, _ in read.elements]
    assert names.count("section") == 1
    assert not {"nav", "table"} & set(names)


def test_the_numbers_count_what_was_owed_and_what_came_back() -> None:
    """No compaction that did not come, nor one with nothing to restore; one that nobody answered is no success."""
    compactions = (
        compaction(deliveries=(delivery(),), facts=9, facts_kept=3),
        compaction(deliveries=(delivery(state="delivered"),)),
        compaction(deliveries=(delivery(state="absent"),)),
        compaction(restored_at=None, missed=True),
        compaction(workflows=()),
        compaction(restored_at=None),
    )
    runs = tuple(run(outcome=each) for each in ("running", "failed", "failed", "completed", "left"))
    statuses: tuple[Literal["completed", "failed", "active"], ...] = ("completed", "failed", "active", "completed")
    phases = tuple(Phase(f"p{number}", number, "Build", each) for number, each in enumerate(statuses, 1))
    drawn = story_of(
        sessions=(session(standing="live", runs=runs), session(id=OTHER)),
        compactions=compactions,
        workflows=(told(workflow=replace(told().workflow, phases=phases)),),
        unseen=1_200,
    )
    said = " ".join(" ".join(Read(page.render(drawn)).text).split())
    for wanted in (
        "1,202 sessions 1 live",
        "5 compactions 2 of 4 restored",
        "3/9 facts kept by summaries",
        "2 phases completed 1 workflow ",
        "5 agents 1 running, 2 failed, 1 unfinished",
        "1,200 older sessions not shown. Made 1 Mar 2026 09:20:00 by Holdfast",
    ):
        assert wanted in said
    idle = story_of(compactions=(compaction(workflows=()), compaction(workflows=())))
    nothing = " ".join(" ".join(Read(page.render(idle)).text).split())
    assert "2 compactions nothing to restore Compactions" in nothing
    assert "not shown" not in nothing


COLOURS = re.compile(r"--([\w-]+):\s*(#[0-9a-f]{6})")


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(scheme: int) -> None:
    """At least 4.5 to 1, as WCAG asks; 3 to 1 for the signs of compactions."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    colours = dict(COLOURS.findall(blocks[scheme]))
    assert len(blocks) == 2
    texts = [(text, behind) for text in ("text", "quiet", "link") for behind in ("page", "panel", "stripe")]
    texts += [("work", "panel"), ("bad", "panel")]
    for text, behind in texts:
        assert _contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    for sign in ("good", "given", "bad", "idle"):
        assert _contrast(colours[sign], colours["panel"]) >= 3, sign


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
