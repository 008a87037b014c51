"""The report in a real browser: it loads and runs nothing, and is readable in light and dark, on screen and phone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import PHONE, WIDE
from tests.commandline import holdfast
from tests.played import Days

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from holdfast.testing import HoldfastProject
    from tests.browser.conftest import Opened

SIZES = {"screen": WIDE, "phone": PHONE}
_BOXES = """(found) => found.map((each) => {
    const box = each.getBoundingClientRect()
    return {left: box.left, right: box.right, top: box.top, bottom: box.bottom, name: each.className,
            text: each.textContent}
})"""


def boxes(page: Page, selector: str) -> list[dict[str, Any]]:
    """Return where elements are drawn."""
    found: list[dict[str, Any]] = page.eval_on_selector_all(selector, _BOXES)
    return found


@pytest.mark.parametrize("size", SIZES)
def test_it_asks_for_nothing_and_nothing_is_forbidden(opened: Callable[..., Opened], report: Path, size: str) -> None:
    """One file, no network, no word of the browser's about it; a hostile title changes nothing."""
    found = opened(SIZES[size])

    assert found.requests == [report.as_uri()]
    assert found.messages == []
    assert found.page.title() == "Holdfast: project"
    assert "document.title" in found.page.inner_text("#workflows")
    assert found.page.locator("script, img, iframe, link").count() == 0


def test_it_says_the_same_without_scripts(opened: Callable[..., Opened]) -> None:
    """For it has none."""
    with_scripts, without = (opened(java_script_enabled=each).page.inner_text("body") for each in (True, False))
    assert with_scripts == without


def test_it_is_light_or_dark_as_the_reader_likes(opened: Callable[..., Opened]) -> None:
    """Paper and ink change places, in the form fields too."""
    shades = []
    for scheme in ("light", "dark"):
        page = opened(color_scheme=scheme).page
        paper, ink = (
            page.eval_on_selector("body", f"(body) => getComputedStyle(body).{name}")
            for name in ("backgroundColor", "color")
        )
        shades.append((_brightness(paper) > 128, _brightness(ink) > 128))
        assert page.eval_on_selector("html", "(html) => getComputedStyle(html).colorScheme") == "light dark"
    assert shades == [(True, False), (False, True)]


def _brightness(colour: str) -> float:
    red, green, blue = (int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
    return (red + green + blue) / 3


@pytest.mark.parametrize("size", SIZES)
def test_nothing_sticks_out_of_the_window(opened: Callable[..., Opened], size: str) -> None:
    """Every text is large enough to read."""
    page = opened(SIZES[size]).page

    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    assert (
        page.evaluate("""Math.min(...[...document.querySelectorAll("body *")].filter((each) =>
        [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
        .map((each) => parseFloat(getComputedStyle(each).fontSize)))""")
        >= 12
    )
    inside = boxes(page, "main > section > table, main > section > div, .numbers li, footer")
    assert inside
    assert all(each["left"] >= 0 and each["right"] <= SIZES[size][0] for each in inside)


def test_on_a_phone_a_row_is_a_block_that_names_its_parts(opened: Callable[..., Opened]) -> None:
    """The head of the table is there for those who listen, and each cell says what it is."""
    page = opened(PHONE).page
    head = page.locator("#compactions thead")
    assert head.evaluate("(head) => head.getBoundingClientRect().height") <= 1
    cells = page.locator("#compactions tbody tr:first-child td")
    said = [cells.nth(number).evaluate("(cell) => getComputedStyle(cell, '::before').content") for number in range(6)]
    assert said[0] == '"When"'
    tops = [each["top"] for each in boxes(page, "#compactions tbody tr:first-child td")]
    assert tops == sorted(set(tops))


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_box_hides_its_kind_of_happening(opened: Callable[..., Opened], scripts: bool) -> None:
    """Only that, and shows it again."""
    page = opened(java_script_enabled=scripts).page
    kinds = [str(each.get_attribute("id")).removeprefix("show-") for each in page.locator(".boxes input").all()]
    assert kinds == ["session", "compaction", "delivery", "phase", "agent", "owner", "generation"]
    rows = page.locator(".log tbody tr")
    whole = rows.count()

    def shown() -> int:
        return sum(row.is_visible() for row in rows.all())

    assert shown() == whole
    for kind in kinds:
        box = page.locator(f"#show-{kind}")
        box.uncheck()
        of_kind = page.locator(f".log .kind-{kind}")
        assert of_kind.count()
        assert not any(row.is_visible() for row in of_kind.all())
        assert shown() == whole - of_kind.count()
        box.check()
    assert shown() == whole


_LOOKS = """(found) => found.map((each) => {
    const style = getComputedStyle(each)
    return [style.backgroundColor, style.backgroundImage, style.borderTopColor, style.borderTopStyle].join(" ")
})"""
_MARKS = ("confirmed", "given", "lost", "nothing", "open")
_ADD = """(names) => {
    const cell = document.querySelector("#compactions td")
    cell.replaceChildren(...names.map((name) => {
        const sign = document.createElement("i")
        sign.className = `mark ${name}`
        return sign
    }))
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_means_another_thing_looks_another_way(opened: Callable[..., Opened], scheme: str) -> None:
    """Each sign of how a compaction ended, in either light."""
    page = opened(color_scheme=scheme).page
    page.evaluate(_ADD, _MARKS)
    signs = page.eval_on_selector_all("#compactions tr:first-child .mark", _LOOKS)
    assert len(set(signs)) == len(signs) == len(_MARKS)


def test_the_bar_on_top_covers_what_scrolls_under_it(opened: Callable[..., Opened]) -> None:
    """Else two texts lie over each other."""
    page = opened().page
    shade, paper = (
        page.eval_on_selector(each, "(found) => getComputedStyle(found).backgroundColor") for each in ("nav", "body")
    )
    assert shade == paper
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert boxes(page, "nav")[0]["top"] == 0


def test_it_can_be_printed(opened: Callable[..., Opened]) -> None:
    """What is for the screen alone stays away."""
    page = opened((700, 900)).page
    page.emulate_media(media="print")
    assert not page.locator("nav, .boxes").first.is_visible()
    assert not page.locator(".boxes").is_visible()


@pytest.mark.parametrize("size", SIZES)
def test_a_word_without_an_end_widens_nothing(opened: Callable[..., Opened], size: str) -> None:
    """As a path or a key in a title, wherever others' words stand."""
    page = opened(SIZES[size]).page
    page.eval_on_selector_all("bdi", "(found) => found.forEach((each) => { each.textContent = 'x'.repeat(400) })")
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]


def test_on_a_phone_what_is_empty_takes_no_room(opened: Callable[..., Opened]) -> None:
    """A sum has no event and no handler of its own; a happening is a line, without the names of its parts."""
    page = opened(PHONE).page
    empty = page.locator("#context td:empty")
    assert empty.count()
    assert not any(each.is_visible() for each in empty.all())
    named = "(cell) => getComputedStyle(cell, '::before').content"
    assert page.locator(".log td").first.evaluate(named) == "none"


_CONTRASTS = """() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number)
    const luminance = (colour) => parts(colour).slice(0, 3).map((each) => each / 255)
        .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
        .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0)
    const behind = (each) => {
        for (; each; each = each.parentElement) {
            const colour = getComputedStyle(each).backgroundColor
            if ((parts(colour)[3] ?? 1) === 1) return colour
        }
        throw new Error("nothing opaque behind a text")
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const found = []
    while (texts.nextNode()) {
        const each = texts.currentNode.parentElement
        if (!texts.currentNode.textContent.trim()) continue
        const [dark, light] = [getComputedStyle(each).color, behind(each)].map(luminance).sort((a, b) => a - b)
        found.push([(light + 0.05) / (dark + 0.05), texts.currentNode.textContent])
    }
    return found
}"""


@pytest.fixture
def pages(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, report: Path
) -> dict[str, Path]:
    """The report of three days, of a few seconds two days later, of a workflow without a session, and of nothing."""
    short = Days(holdfast_project({}), monkeypatch, tmp_path)  # the same project
    short.at("05T09:00:00")
    short.fire("SessionStart", "SessionStart-startup-tui", **short.mine)
    short.at("05T09:00:09")
    roots = {"short": short.project.root} | {name: tmp_path / name for name in ("workflow", "empty")}
    for name in ("workflow", "empty"):
        roots[name].mkdir()
    holdfast("start", "Calculator", "--phase", "Build it", root=roots["workflow"])
    written = {name: tmp_path / f"{name}.html" for name in roots}
    for name, root in roots.items():
        since = ("--since", "2026-03-05T09:00:00Z") if name == "short" else ()
        holdfast("report", str(written[name]), *since, root=root)
    return written | {"days": report}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_report_fits_and_every_text_stands_out(
    opened: Callable[..., Opened], pages: dict[str, Path], size: str, scheme: str
) -> None:
    """The fullest as the emptiest: at least 4.5 to 1 against what is behind it, as WCAG asks."""
    for name, place in pages.items():
        found = opened(SIZES[size], place=place, color_scheme=scheme)
        assert found.messages == []
        assert found.page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0], name
        contrasts = found.page.evaluate(_CONTRASTS)
        assert contrasts
        assert [each for each in contrasts if each[0] < 4.5] == [], name


def test_on_a_phone_no_word_covers_another(opened: Callable[..., Opened]) -> None:
    """The name of a part may be longer than the part: then the row is as high as the name."""
    page = opened(PHONE).page
    cell = page.locator("#compactions td").last
    cell.evaluate("(cell) => { cell.dataset.label = 'One of many words that need two lines'; cell.textContent = '–' }")
    lines = cell.evaluate(
        "(cell) => cell.getBoundingClientRect().height / parseFloat(getComputedStyle(cell).lineHeight)"
    )
    assert lines > 2
