"""The page is complete, loads and runs nothing, and never treats foreign text as markup."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from holdfast.memory.rows import Cost
from holdfast.report.gather import gather
from holdfast.report.page import brief, moment, render
from holdfast.workflow.model import Phase
from tests.handmade import ME, OTHER, workspace
from tests.played import SECRET
from tests.report.pages import Page, page
from tests.storied import compaction, delivery, entry, happening, report, run, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.testing import HoldfastProject

STYLE = files("holdfast.report").joinpath("page.css").read_text("utf-8")
LOADING = {"src", "srcset", "data", "action", "background", "poster", "formaction", "ping", "manifest"}


def written(project: HoldfastProject) -> str:
    there = workspace(project.root)
    text = render(gather(there))
    there.close()
    return text


def test_page_is_well_formed(days: HoldfastProject) -> None:
    """Every element is closed, every name is there once, every link leads to one."""
    text = written(days)
    read = Page(text)

    assert text.startswith("<!doctype html>\n<html")
    assert read.open == []
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"]) for name, attributes in read.elements if name == "a"]
    assert links
    assert {each.removeprefix("#") for each in links} <= set(ids)
    sections = {"sessions", "compactions", "workflows", "agents", "context", "happened"}
    assert {name for name, attributes in read.elements if attributes.get("id") in sections} == {"section"}


def test_page_loads_and_runs_nothing(days: HoldfastProject) -> None:
    """No element that could, and a policy that would not let one."""
    read = Page(written(days))

    names = {name for name, _ in read.elements}
    assert not names & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "svg", "video", "audio"}
    attributes = {key for _, given in read.elements for key in given}
    assert not attributes & LOADING
    assert not any(key.startswith("on") for key in attributes)
    assert not re.search(r"url\(|@import|https?:", STYLE)
    policy = [given["content"] for name, given in read.elements if given.get("http-equiv")]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]
    assert {str(given["href"])[0] for name, given in read.elements if name == "a"} == {"#"}


def test_page_shows_foreign_markup_as_text(days: HoldfastProject) -> None:
    """Markup in a title is shown, what turns the direction of reading and secrets are not."""
    text = written(days)
    said = "".join(Page(text).text)

    assert 'Say </title><script>document.title="owned"</script>' in said
    assert "<b>One</b>" in said
    assert "\u202e" not in text
    assert SECRET not in text
    assert "Built, with key [redacted]" in said


def test_page_states_numbers_compactions_and_agents(days: HoldfastProject) -> None:
    """Numbers, compactions, agents, costs, and the log's own sentences."""
    said = Page(written(days)).words

    for wanted in (
        "3 sessions 2 live 3 compactions 3 of 3 restored 12/12 facts restored Claude's summaries kept 4",
        "3 phases completed 2 workflows 6 agents 1 running, 1 failed, 1 interrupted",
        "3 Mar 2026 08:10:00 11111111 manual Calculator 3/4 Test it Restored, not confirmed",
        "characters with SessionStart; never arrived Calculator :",
        "Claude's summary kept 2 of 6, Holdfast restored all 6",
        "builder 11111111 Build it failed, 14m 00s API Error: 529 Overloaded.",
        "interrupted, 40m 00s",
        "active, phase 4/4, 75%",
        'phase failed: "Calculator", phase 2 "Build it"; API Error: 529 Overloaded.',
        "Made 3 Mar 2026 09:00:00 by Holdfast",
    ):
        assert wanted in said


def test_every_kind_of_event_has_a_box_and_a_rule_that_hides_it() -> None:
    """One that the log learns to tell has to be added here."""
    kinds = ["session", "compaction", "delivery", "phase", "agent"]
    kinds += ["decision", "owner", "generation", "archive"]
    drawn = page(report(events=tuple(happening(kind=kind) for kind in kinds)))
    boxes = [attributes["id"] for name, attributes in drawn.elements if name == "input"]
    assert boxes == [f"show-{kind}" for kind in kinds]
    for kind in kinds:
        assert f".log:has(#show-{kind}:not(:checked)) .kind-{kind}" in STYLE


def test_an_empty_project_has_a_page(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """It says how to fill it, and leads to no section that is not there."""
    read = Page(written(holdfast_project({})))
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
    runs = tuple(run(status=each) for each in ("running", "failed", "failed", "used", "interrupted"))
    statuses: tuple[Literal["completed", "failed", "active"], ...] = ("completed", "failed", "active", "completed")
    phases = tuple(Phase(f"p{number}", number, "Build", each) for number, each in enumerate(statuses, 1))
    drawn = report(
        sessions=(session(status="live", runs=runs), session(id=OTHER)),
        compactions=compactions,
        workflows=(entry(workflow=replace(entry().workflow, phases=phases)),),
        omitted_sessions=1_200,
    )
    said = page(drawn).words
    for wanted in (
        "1,202 sessions 1 live",
        "5 compactions 2 of 4 restored",
        "9/9 facts restored Claude's summaries kept 3",
        "2 phases completed 1 workflow ",
        "5 agents 1 running, 2 failed, 1 interrupted",
        "1,200 older sessions not shown. Made 1 Mar 2026 09:20:00 by Holdfast",
    ):
        assert wanted in said
    idle = report(compactions=(compaction(workflows=()), compaction(workflows=())))
    nothing = page(idle).words
    assert "2 compactions nothing to restore Compactions" in nothing
    assert "not shown" not in nothing


def test_foreign_text_is_cleaned_wherever_it_appears() -> None:
    """Secrets, control characters, half characters and markup: in titles, names, paths and attributes."""
    odd = f"a\x1b[31m\u202e \udc80 <b class='x'>{SECRET}"
    phases = (Phase("p", 1, odd, odd),)  # type: ignore[arg-type]
    text = render(
        report(
            root=Path(f"/{odd}"),
            sessions=(session(worktree=odd, runs=(run(result=odd, agent_type=odd, description=odd),)),),
            compactions=(compaction(trigger=odd, deliveries=(delivery(title=odd),)),),
            workflows=(entry(workflow=replace(entry().workflow, title=odd, phases=phases), worktree=odd),),
            costs=(Cost(ME, odd, odd, agent=False, characters=1, replies=1, last_at=""),),
            events=(happening(title=odd, detail=odd, worktree=odd),),
        )
    )
    assert text.encode().count(b"[redacted]") >= 14
    assert not [part for part in (SECRET, "\x1b", "\u202e", "\udc80", "<b class") if part in text]


def test_words_of_others_keep_their_own_direction() -> None:
    """So that an Arabic title does not turn the line it stands in."""
    assert "<bdi>عنوان</bdi>" in render(report(compactions=(compaction(deliveries=(delivery(title="عنوان"),)),)))


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine nine hours ahead."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_every_moment_is_utc() -> None:
    """The page says so, wherever it was made."""
    assert moment("2026-03-01T23:05:09.000000Z") == "1 Mar 2026 23:05:09"


def test_a_secret_is_masked_before_its_words_are_cut() -> None:
    """Half of it would look like none."""
    assert "ghp_" not in brief(f"{'x' * 50} ghp_{'a1B2c3D4e5' * 4}", 60)
