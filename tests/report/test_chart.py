"""The timeline draws each thing in its lane and length, and says what it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.report import chart, tables, wording
from tests.handmade import ME, OTHER
from tests.storied import at, attempt, compaction, delivery, markup, run, session, story, told, words

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from holdfast.report.story import Story

TITLES = {(told().workflow.key, "one"): "Build"}


def lanes(drawn: Story) -> list[Element]:
    return [each for each in chart.draw(drawn).iter("div") if each.get("class") == "lane"]


def placed(element: Element, name: str = "bar") -> list[tuple[str, float, float]]:
    """Return what is drawn as `name`: what it says itself, where it begins and how wide it is, in percent."""
    found = []
    for each in element.iter():
        if str(each.get("class")).split(" ")[0] == name:
            sizes = dict(re.findall(r"(left|width):([\d.]+)%", str(each.get("style"))))
            found.append((each.text or "", float(sizes["left"]), float(sizes.get("width", 0))))
    return found


def rows(*runs: Any) -> list[list[str]]:
    (lane,) = lanes(story(sessions=(session(runs=runs),)))
    return [[bar[0] for bar in placed(each)] for each in lane.iter("div") if each.get("class") == "track thin"]


def titles(drawn: Story) -> list[str]:
    return [str(each.get("title")) for each in chart.draw(drawn).iter() if each.get("title")]


def test_what_lasts_is_drawn_up_to_now() -> None:
    """A session that lives and a phase that is active; what is over is as long as it was."""
    drawn = story(
        sessions=(session(), session(id=OTHER, standing="live")),
        workflows=(told(),),
        attempts=(attempt(), attempt(number=2, began_at=at("09:10"), ended_at=None, outcome="active")),
        phases=TITLES,
    )
    live, over, phases = lanes(drawn)
    assert placed(live) == [("", 0, 100)]
    assert placed(over) == [("", 0, 50)]
    assert placed(phases) == [("1 Build", 0, 50), ("1 Build", 50, 50)]
    assert placed(lanes(story(workflows=(told(),), attempts=(attempt(),)))[0]) == [("1 one", 0, 100)]
    alone = story(sessions=(session(standing="live"),), compactions=(compaction(),))
    assert placed(lanes(alone)[0], "mark") == [("", 50, 0)]


def test_what_began_before_what_is_asked_for_begins_at_the_edge() -> None:
    """The line is not squeezed by what is older."""
    drawn = story(
        since=at("09:00"),
        sessions=(session(first_at=at("08:00"), standing="live"),),
        workflows=(told(),),
        attempts=(attempt(began_at=at("07:00")),),
        phases=TITLES,
    )
    assert [placed(each) for each in lanes(drawn)] == [[("", 0, 100)], [("1 Build", 0, 50)]]
    assert placed(chart.draw(drawn), "break") == []


def test_agents_lie_in_a_row_until_one_would_cover_another() -> None:
    """Those that run at once lie below each other, also those that are too short to be seen so."""
    one, two, three = (
        run(began, ended, agent_type=name)
        for name, began, ended in (("one", "09:00", "09:04"), ("two", "09:04", "09:10"), ("three", "09:03", "09:05"))
    )
    assert rows(one, two) == [["one", "two"]]
    assert rows(three, two, one) == [["one", "two"], ["three"]]
    short = [run("09:05", "09:05", agent_type=name) for name in ("one", "two")]
    assert rows(*short) == [["one"], ["two"]]
    assert rows(run(agent_type="", agent_id="a23b")) == [["a23b"]]


def test_the_sign_of_a_compaction_lies_where_it_went_on_and_leads_to_its_own_row() -> None:
    """A compaction may change the session's id; then it is in the lane of the new one. It says what became of it."""
    moved = compaction(restored_in=OTHER, given=(delivery(),))
    lost = compaction(announced_at=at("09:04"), came_at=at("09:05"))
    drawn = story(sessions=(session(id=OTHER), session()), compactions=(moved, lost))
    mine, others = lanes(drawn)
    signs = [list(lane.iter("a")) for lane in (mine, others)]

    assert [[each.get("class") for each in lane] for lane in signs] == [["mark lost"], ["mark confirmed"]]
    listed = {str(each.get("id")): words(each) for each in tables.compactions(drawn).iter("tr") if each.get("id")}
    for (sign,), time in zip(signs, ("09:05:00", "09:10:00"), strict=True):
        assert time in listed[str(sign.get("href")).removeprefix("#")]
        assert time in str(sign.get("title"))
        assert sign.get("aria-label") == sign.get("title")
    assert "not restored" in str(signs[0][0].get("title"))


def test_what_lies_in_another_checkout_is_told_apart() -> None:
    """A session says so, and a workflow has the phases of its own checkout alone."""
    drawn = story(
        sessions=(session(), session(id=OTHER, worktree="/elsewhere")),
        workflows=(told(), told(worktree="/elsewhere")),
        attempts=(attempt(), attempt(worktree="/elsewhere", outcome="failed")),
    )
    found = [markup(each) for each in lanes(drawn)]
    assert ["/elsewhere" in each for each in found[:2]] == [True, False]
    assert [("bar completed" in each, "bar failed" in each) for each in found[2:]] == [(True, False), (False, True)]


def test_a_bar_says_what_it_is_and_how_it_went() -> None:
    """For there is little room in it."""
    drawn = story(
        sessions=(session(runs=(run(outcome="left"),)),),
        workflows=(told(),),
        attempts=(attempt(), attempt(number=2, ended_at=None, outcome="active"), attempt(phase="gone")),
        phases=TITLES,
    )
    assert titles(drawn) == [
        f"Session {ME}: 1 Mar 2026 09:00:00 to 1 Mar 2026 09:10:00, ended",
        "Agent builder, 1 Mar 2026 09:00:00: left, 10 min",
        "Phase Build, 1 Mar 2026 09:00:00: completed, 10 min",
        "Phase Build, attempt 2, 1 Mar 2026 09:00:00: running, 20 min",
        "Phase gone, 1 Mar 2026 09:00:00: completed, 10 min",
    ]


def test_it_can_be_reached_and_scrolled_by_keys() -> None:
    """It is wider than a phone, and has a name for those who listen."""
    (scroll,) = [each for each in chart.draw(story(sessions=(session(),))).iter() if each.get("class") == "scroll"]
    assert (scroll.get("tabindex"), scroll.get("role")) == ("0", "region")
    assert scroll.get("aria-label")


def test_every_sign_and_bar_that_is_drawn_stands_in_the_legend() -> None:
    """So that nobody has to guess what one means, nor looks for one that is not there."""
    assert keys(story(sessions=(session(),))) == ["key session"]
    everything = story(
        sessions=(session(runs=(run(), run(outcome="failed"), run(outcome="left"))),),
        compactions=(
            compaction(given=(delivery(),)),
            compaction(given=(delivery(state="delivered"),)),
            compaction(came_at=at("09:10")),
            compaction(workflows=()),
            compaction(came_at=None),
        ),
        apart=(delivery(),),
        workflows=(told(),),
        attempts=(attempt(ended_at=None, outcome="active"), attempt(outcome="blocked")),
    )
    assert keys(everything) == [
        *(f"mark {name}" for name in (*wording.ENDINGS, "apart")),
        *(f"key {name}" for name in ("session", "running", "completed", "failed", "left", "blocked")),
    ]


def keys(drawn: Story) -> list[str]:
    (legend,) = [each for each in chart.draw(drawn).iter("ul") if each.get("class") == "legend"]
    return [str(each.get("class")) for each in legend.iter("i")]


def test_what_still_runs_reaches_to_now_without_a_session() -> None:
    """Else a phase that was just started from a terminal has no length."""
    drawn = story(workflows=(told(),), attempts=(attempt(ended_at=None, outcome="active"),))
    assert placed(lanes(drawn)[0]) == [("1 one", 0, 100)]


def test_with_nothing_to_draw_there_is_no_chart() -> None:
    """A workflow whose phases nobody began is in its table alone."""
    assert len(chart.draw(story())) == len(chart.draw(story(workflows=(told(),)))) == 0
