"""A report's page: one file that loads nothing, runs no scripts and is readable on a phone."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from holdfast.report import cards, markup, tables, wording
from holdfast.report.markup import foreign_text, tag
from holdfast.report.wording import brief
from holdfast.version import version
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from xml.etree.ElementTree import Element

    from holdfast.report.story import Story

# Nothing may be loaded or run, whatever a workflow's text contains; the style sheet is inside the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class Section(NamedTuple):
    """A section: its id, its title, its name in the links on top, and what fills it, for a report that lacks it."""

    id: str
    title: str
    link: str
    draw: Callable[[Story], Element]
    filled_by: tuple[str, ...]  # every second part is code


SECTIONS = (
    Section(
        *("sessions", "Sessions", "Sessions", tables.sessions),
        ("It grows as you work with Claude Code in this project.",),
    ),
    Section(
        *("compactions", "Compactions", "Compactions", tables.compactions),
        ("Claude Code compacts a session when its context is full, or when you type ", "/compact", "."),
    ),
    Section(
        *("workflows", "Workflows", "Workflows", tables.workflows),
        ("Start one with ", 'holdfast start "Title" --phase "First step"', "."),
    ),
    Section(
        *("agents", "Agents", "Agents", tables.agents),
        ("They appear when a session launches a subagent.",),
    ),
    Section(
        *("context", "Added to the model's context", "Context", tables.costs),
        ("This lists what Holdfast tells the model, such as the workflow after a compaction.",),
    ),
    Section(
        *("happened", "Everything that happened", "Log", tables.happened),
        ("Each event is listed here, newest first.",),
    ),
)
_FIRST_STEPS = (
    ("Register the hooks, once: ", "holdfast install", ". To check them: ", "holdfast doctor", "."),
    ("Start a workflow: ", 'holdfast start "What you work on" --phase "First step" --phase "Second step"', "."),
    ("Work with Claude Code in this project. Then run ", "holdfast report", " again."),
)


def render(story: Story) -> str:
    """Return the page that tells a story."""
    name = brief(story.root.name or str(story.root), 80)
    bodies = [(section, section.draw(story)) for section in SECTIONS]
    shown = [(section, body) for section, body in bodies if len(body)]
    missing = [section for section, body in bodies if not len(body)]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"Holdfast: {name}"),
        markup.style(files("holdfast.report").joinpath("page.css").read_text("utf-8")),
    )
    links = tag("nav", [tag("a", each.link, href=f"#{each.id}") for each, _ in shown], aria_label="Sections")
    parts: list[Element | str] = [links if shown else "", tag("main", *_main(story, shown, missing))]
    body = tag("body", _header(story, name), parts, _footer(story))
    return markup.html(tag("html", head, body, lang="en"))


def _main(story: Story, shown: Sequence[tuple[Section, Element]], missing: Sequence[Section]) -> Iterator[Element]:
    if story.empty:
        yield _nothing(story)
        return
    if tiles := cards.tiles(story):
        yield tag("ul", tiles, class_="numbers")
    yield from (_section(each.id, each.title, body) for each, body in shown)
    if missing:
        lines = [tag("li", tag("b", each.title), ": ", _with_code(each.filled_by)) for each in missing]
        yield _section("missing", "Not in this report", tag("ul", lines, class_="note"))


def _section(name: str, title: str, *body: Element) -> Element:
    return tag("section", tag("h2", title, id=f"{name}-title"), *body, id=name, aria_labelledby=f"{name}-title")


def _nothing(story: Story) -> Element:
    """Return what an empty report says instead: how to fill it, or how to see more than was asked for."""
    if story.session or story.since:
        more = ("Without ", "--session", " and ", "--since", ", ", "holdfast report", " shows everything.")
        return _section("nothing", "Nothing was found", tag("p", _with_code(more)))
    steps = tag("ol", [tag("li", _with_code(each)) for each in _FIRST_STEPS])
    later = (
        "This page then shows your sessions, what each compaction lost and what Holdfast restored, "
        "your workflows and agents, and what was added to the model's context."
    )
    return _section("nothing", "Nothing has happened here yet", steps, tag("p", later))


def _with_code(parts: Sequence[str]) -> list[Element | str]:
    """Return text in which every second part is code, whose words aren't broken."""
    return [markup.code(part) if number % 2 else part for number, part in enumerate(parts)]


def _header(story: Story, name: str) -> Element:
    asked = [
        f"session {wording.session(story.session)}" if story.session else "",
        f"since {wording.moment(story.since)}" if story.since else "",
    ]
    about = ", ".join(filter(None, asked))
    parts: list[Element | str] = [foreign_text(str(story.root)), f", {about}" if about else ""]
    return tag("header", tag("h1", "What happened in ", foreign_text(name)), tag("p", parts))


def _footer(story: Story) -> Element:
    left = f"{count(story.unseen, 'older session')} not shown. " if story.unseen else ""
    made = f"Made {wording.moment(story.made_at)} by Holdfast {version()}. All times are UTC. "
    return tag("footer", tag("p", f"{left}{made}Secrets are masked. This page loads nothing and sends nothing."))
