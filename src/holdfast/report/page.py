"""A report's page: one file that loads nothing, runs no scripts and is readable on a phone."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from holdfast.ledger import context_costs
from holdfast.report import chart, markup, tables, wording
from holdfast.report.markup import said, tag
from holdfast.report.wording import brief
from holdfast.version import version

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from holdfast.report.story import Story

# Nothing may be loaded or run, whatever a workflow's text contains; the style sheet is inside the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
SECTIONS = (
    ("timeline", "Timeline"),
    ("compactions", "Compactions"),
    ("workflows", "Workflows"),
    ("agents", "Agents"),
    ("context", "Put into the model's context"),
    ("happened", "Everything that happened"),
)


def render(story: Story) -> str:
    """Return the page that tells a story."""
    name = brief(story.root.name or str(story.root), 80)
    bodies = {
        "timeline": chart.draw(story),
        "compactions": tables.compactions(story),
        "workflows": tables.workflows(story),
        "agents": tables.agents(story),
        "context": tables.costs(story),
        "happened": tables.happened(story),
    }
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
    links = tag("nav", [tag("a", title, href=f"#{place}") for place, title in SECTIONS], aria_label="Sections")
    sections = [
        tag("section", tag("h2", title, id=f"{place}-title"), bodies[place], id=place, aria_labelledby=f"{place}-title")
        for place, title in SECTIONS
    ]
    body = tag("body", _header(story, name), links, tag("main", _numbers(story), sections), _footer(story))
    return markup.html(tag("html", head, body, lang="en"))


def _header(story: Story, name: str) -> Element:
    asked = [
        f"session {wording.session(story.session)}" if story.session else "",
        f"since {wording.moment(story.since)}" if story.since else "",
    ]
    about = ", ".join(filter(None, asked))
    parts: list[Element | str] = [said(str(story.root)), f", {about}" if about else ""]
    return tag("header", tag("h1", "What happened in ", said(name)), tag("p", parts))


def _numbers(story: Story) -> Element:
    live = sum(each.standing == "live" for each in story.sessions)
    came = [each for each in story.compactions if each.came_at or each.missed]
    owed = [each for each in came if each.ending != "nothing"]
    good = sum(each.ending in ("confirmed", "given") for each in owed)
    kept, total = (sum(getattr(loss, name) for each in came for loss in each.losses) for name in ("kept", "total"))
    runs = [each for session in story.sessions for each in session.runs]
    failed, running = (sum(each.outcome == outcome for each in runs) for outcome in ("failed", "running"))
    done = sum(each.outcome == "completed" for each in story.attempts)
    units = sum(each.units for each in story.costs)
    numbers = (
        (len(story.sessions) + story.unseen, "sessions", f"{live} live"),
        (len(came), "compactions", f"{good} of {len(owed)} restored" if owed else "nothing was owed"),
        (f"{kept}/{total}" if total else "–", "facts kept by summaries", "word for word"),
        (done, "phases completed", wording.count(len(story.workflows), "workflow")),
        (len(runs), "agents", f"{running} running, {failed} failed"),
        (f"{units:,}", "characters put into the context", f"about {context_costs.tokens(units):,} tokens"),
    )
    tiles = [
        tag("li", tag("b", f"{number:,}" if isinstance(number, int) else number), tag("span", what), tag("small", more))
        for number, what, more in numbers
    ]
    return tag("ul", tiles, class_="numbers")


def _footer(story: Story) -> Element:
    left = f"{wording.count(story.unseen, 'older session')} not shown. " if story.unseen else ""
    made = f"Made {wording.moment(story.made_at)} by Holdfast {version()}. All times are UTC. "
    return tag("footer", tag("p", f"{left}{made}Secrets are masked. This page loads nothing and sends nothing."))
