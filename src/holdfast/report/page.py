"""Render a report as one HTML file that loads nothing, runs no scripts and is readable on a phone."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from holdfast import clock
from holdfast.files.redact import beginning, redact
from holdfast.memory import costs
from holdfast.sessions import timeline
from holdfast.version import version
from holdfast.workflow.wording import LOOKED_AT_CHARS, VALUE_LIMIT_CHARS, clean, count, one_line, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.report.gather import Report


def render(report: Report) -> str:
    """Return the page of a report. Foreign text in it is redacted, cleaned and escaped, wherever it appears."""
    environment = Environment(
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else redact(clean(str(value))),
        loader=FileSystemLoader(Path(__file__).parent),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"brief": brief, "count": count, "moment": moment, "plural": plural}
    names = timeline.names_of(each.workflow for each in reversed(report.workflows))
    runs = [run for session in report.sessions for run in session.runs]
    return environment.get_template("page.html.j2").render(
        report=report,
        numbers=list(_numbers(report)),
        runs=sorted(runs, key=lambda run: run.began_at, reverse=True),
        phases={
            (each.workflow.key, phase.id): phase.title
            for each in reversed(report.workflows)
            for phase in each.workflow.phases
        },
        costs=[(session, list(parts)) for session, parts in groupby(report.costs, key=lambda cost: cost.conversation)],
        kinds={each.kind for each in report.events},
        sentence=lambda event: timeline.sentence(event, names),
        duration=duration,
        tokens=costs.tokens,
        token_rule=costs.RULE,
        version=version(),
    )


def _numbers(report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield the numbers on top of the page, each with what it counts and a detail; none for what there is none of."""
    if sessions := len(report.sessions) + report.omitted_sessions:
        live = sum(each.status == "live" for each in report.sessions)
        yield f"{sessions:,}", plural(sessions, "session"), f"{live} live" if live else "none live"
    if happened := [each for each in report.compactions if each.came_at or each.missed]:
        due = [each for each in happened if each.ending != "nothing"]
        restored = sum(each.restored for each in due)
        more = f"{restored} of {len(due)} restored" if due else "nothing to restore"
        yield f"{len(happened):,}", plural(len(happened), "compaction"), more
    if total := sum(each.row.facts for each in happened):
        restored = sum(each.row.facts for each in happened if each.restored)
        summarised = sum(each.row.facts_kept for each in happened)
        yield f"{restored}/{total}", f"{plural(total, 'fact')} restored", f"Claude's summaries kept {summarised}"
    if report.workflows:
        done = sum(phase.status == "completed" for each in report.workflows for phase in each.workflow.phases)
        yield f"{done:,}", f"{plural(done, 'phase')} completed", count(len(report.workflows), "workflow")
    if statuses := [run.status for session in report.sessions for run in session.runs]:
        words = ("running", "failed", "interrupted")
        counts = [f"{statuses.count(each)}\u00a0{each}" for each in words if each in statuses]
        yield f"{len(statuses):,}", plural(len(statuses), "agent"), ", ".join(counts) or "finished"
    if characters := sum(each.characters for each in report.costs):
        tokens = count(costs.tokens(characters), "token")
        yield f"{characters:,}", f"{plural(characters, 'character')} added to the context", f"about {tokens}"


def moment(stamp: str | None) -> str:
    """Return a stamp as `21 Nov 2026 14:05:09`; a dash if there is none."""
    at = clock.parse(stamp) if stamp else None
    return f"{at.day} {at:%b %Y %H:%M:%S}" if at else "–"


def duration(begin: str, end: str) -> str:
    """Return the time between two stamps in its two largest units."""
    first, last = clock.parse(begin), clock.parse(end)
    return clock.duration((last - first).total_seconds() if first and last else 0)


def brief(text: str, limit: int = VALUE_LIMIT_CHARS) -> str:
    """Return foreign text on one line, cut to `limit` characters.

    Secrets are masked before it is cut, because half a secret isn't recognised as one.
    """
    return one_line(beginning(text, LOOKED_AT_CHARS), limit)
