"""The numbers on top of a report: a card for each thing that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.memory import costs
from holdfast.report.markup import tag
from holdfast.workflow.wording import count, plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from holdfast.report.story import Story

_UNFINISHED = (("running", "running"), ("failed", "failed"), ("left", "unfinished"))


def tiles(story: Story) -> list[Element]:
    """Return the cards. What there is none of has no card."""
    return [
        tag("li", tag("b", number), tag("span", what), tag("small", more)) for number, what, more in _counted(story)
    ]


def _counted(story: Story) -> Iterator[tuple[str, str, str]]:
    """Yield numbers, each with what it counts and a detail."""
    if sessions := len(story.sessions) + story.unseen:
        live = sum(each.standing == "live" for each in story.sessions)
        yield f"{sessions:,}", plural(sessions, "session"), f"{live} live" if live else "none live"
    if came := [each for each in story.compactions if each.came_at or each.missed]:
        owed = [each for each in came if each.ending != "nothing"]
        good = sum(each.ending in ("confirmed", "given") for each in owed)
        more = f"{good} of {len(owed)} restored" if owed else "nothing to restore"
        yield f"{len(came):,}", plural(len(came), "compaction"), more
    kept, total = sum(each.row.facts_kept for each in came), sum(each.row.facts for each in came)
    if total:
        yield f"{kept}/{total}", f"{plural(total, 'fact')} kept by summaries", "word for word"
    if story.workflows:
        done = sum(phase.status == "completed" for each in story.workflows for phase in each.workflow.phases)
        yield f"{done:,}", f"{plural(done, 'phase')} completed", count(len(story.workflows), "workflow")
    if runs := [run for session in story.sessions for run in session.runs]:
        counts = {word: sum(run.outcome == outcome for run in runs) for outcome, word in _UNFINISHED}
        more = ", ".join(f"{number}\u00a0{word}" for word, number in counts.items() if number)
        yield f"{len(runs):,}", plural(len(runs), "agent"), more or "completed"
    if characters := sum(each.characters for each in story.costs):
        tokens = count(costs.tokens(characters), "token")
        yield f"{characters:,}", f"{plural(characters, 'character')} added to the context", f"about {tokens}"
