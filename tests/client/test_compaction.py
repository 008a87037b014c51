"""A workflow survives the client's own compactions: whole, exactly once, in the very next request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, fail, say

if TYPE_CHECKING:
    from tests.client.world import World

HEADING = "⚠️ WORKFLOW RESTORED AFTER COMPACTION ⚠️"
SUMMARY = "The summary should keep these workflows"
PHASES = [f"Phase-title-{n}" for n in range(1, 6)]
READING = [f"docs/reading-{n}.md" for n in range(1, 6)]
REMINDERS = [f"Reminder-{n}: never forget" for n in range(1, 6)]
CONTEXT = {f"key{n}": f"value-{n}" for n in range(1, 6)}
FACTS = ["Title of the work", *PHASES, *READING, *REMINDERS, *CONTEXT, *CONTEXT.values()]
AUTO = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
FULL = 90_000


def begin(world: World, form: str) -> None:
    """Start a workflow with 26 facts, by hand, before the session."""
    for path in READING:
        (world.project / path).parent.mkdir(exist_ok=True)
        (world.project / path).write_text("Read.\n")
    options = [part for phase in PHASES for part in ("--phase", phase)]
    options += [part for path in READING for part in ("--read", path)]
    options += [part for text in REMINDERS for part in ("--remind", text)]
    options += [part for key, value in CONTEXT.items() for part in ("--set", f"{key}={value}")]
    world.holdfast("start", "Title of the work", "--format", form, "--type", "implementation", *options)
    world.holdfast("next")


@pytest.mark.scenario(2)
@pytest.mark.parametrize("form", ["compaction", "hybrid"])
def test_manual(world: World, form: str) -> None:
    """`/compact` in the middle of a workflow."""
    begin(world, form)
    session = world.client.session()
    session.prompt("Begin.")
    session.prompt("Work.")  # the older client does not compact a single exchange
    session.prompt("/compact keep the weather")
    session.prompt("Go on.")
    session.prompt("And on.")
    _, before, after, later = world.model.of("main")
    assert HEADING not in before.text
    assert after.text.count(HEADING) == 1
    assert later.text.count(HEADING) == 1, "the context stays in the conversation once, it is not sent again"
    assert not [fact for fact in FACTS if fact not in guidance(after.text)]
    (summary,) = world.model.of("summary")
    assert SUMMARY in summary.last and "keep the weather" in summary.last
    assert "Title of the work" in summary.last.split("Additional Instructions:")[1]
    assert not world.complaints


@pytest.mark.scenario(2)
@pytest.mark.parametrize("form", ["compaction", "hybrid"])
@pytest.mark.parametrize("when", ["between turns", "mid-turn"])
def test_automatic(world: World, form: str, when: str) -> None:
    """The context is full, between two turns or while a turn still calls tools."""
    begin(world, form)
    world.client.extra = AUTO
    world.model.turns = (
        [say("Zero."), bash("echo one"), say("One.", tokens=FULL), say("Two."), say("Three.")]
        if when == "between turns"
        else [say("Zero."), bash("echo one", tokens=FULL), bash("echo two"), say("Two."), say("Three.")]
    )
    session = world.client.session()
    for prompt in ("Begin.", "Work.", "Go on.", "And on."):
        session.prompt(prompt)
    (summary,) = world.model.of("summary")
    assert SUMMARY in summary.last
    following = next(q for q in world.model.of("main") if q.number > summary.number)
    assert following.text.count(HEADING) == 1
    assert not [fact for fact in FACTS if fact not in guidance(following.text)]
    assert world.model.of("main")[-1].text.count(HEADING) == 1
    assert not world.complaints


@pytest.mark.scenario(2)
def test_prompt_too_long(world: World) -> None:
    """The API refuses the request as too long; the newer client compacts and goes on."""
    begin(world, "compaction")
    world.model.turns = [
        say("One."),
        say("Two."),
        fail(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    ]
    session = world.client.session()
    for prompt in ("Begin.", "Go on.", "Now."):
        session.prompt(prompt)
    if not world.model.of("summary"):
        pytest.skip("this client gave up")
    assert world.model.of("main")[-1].text.count(HEADING) == 1
    assert not world.complaints


@pytest.mark.scenario(7)
def test_resumed(world: World) -> None:
    """`/compact` in a resumed session, and another process after it."""
    begin(world, "compaction")
    first = world.client.session()
    first.prompt("Begin.")
    first.prompt("Work.")
    first.close()
    second = world.client.session("--resume", first.id)
    second.prompt("/compact")
    second.close()
    third = world.client.session("--resume", first.id)
    third.prompt("Go on.")
    third.close()
    assert world.model.of("main")[-1].text.count(HEADING) == 1
    assert SUMMARY in world.model.of("summary")[0].last
    assert not world.complaints


@pytest.mark.scenario(3)
def test_many_in_a_row(world: World) -> None:
    """Ten compactions with a phase completed between them by the model's own Bash, in default permission mode."""
    titles = [f"Phase-title-{number}" for number in range(1, 11)]
    world.holdfast("start", "Title of the work", *(part for title in titles for part in ("--phase", title)))
    session = world.client.session()
    session.prompt("Begin.")
    session.prompt("Work.")
    for number, title in enumerate(titles, start=1):
        session.prompt("/compact")
        session.prompt(f"Round {number}.")
        after = world.model.of("main")[-1]
        assert after.text.count(HEADING) == 1
        assert after.text.count("Phase: ") == 1 and f"Phase: {number}/10 - {title}" in after.text
        assert number == 1 or f"handover-{number - 1}" in guidance(after.text)
        world.model.turns = [bash(f"holdfast done --note 'handover-{number}'"), say("Completed.")]
        session.prompt("Complete it.")
    session.prompt("/compact")
    session.prompt("Anything left?")
    assert HEADING not in world.model.of("main")[-1].text
    assert SUMMARY not in world.model.of("summary")[-1].last
    assert not world.complaints


@pytest.mark.scenario(2)
def test_without_a_workflow(world: World) -> None:
    """Nothing stands anywhere."""
    session = world.client.session()
    session.prompt("Begin.")
    session.prompt("Work.")
    session.prompt("/compact")
    session.prompt("Go on.")
    assert not [q.number for q in world.model.requests if HEADING in q.text or SUMMARY in q.text]
    assert not world.complaints


@pytest.mark.scenario(2)
def test_memory_file(world: World) -> None:
    """A CLAUDE.local.md alone is enough."""
    (world.project / "CLAUDE.local.md").write_text(
        "# Current Workflow State\n\nWorkflow: Page Orchestration - Case Studies\nPhase: 4/10 - SEO Generation\n\n"
        "@CLAUDE/PageOrchestration.md\n@CLAUDE/Sitemap/case-studies.md\n"
    )
    session = world.client.session()
    session.prompt("Begin.")
    session.prompt("Work.")
    session.prompt("/compact")
    session.prompt("Go on.")
    after = world.model.of("main")[-1].text
    assert after.count(HEADING) == 1
    for fact in (
        "Page Orchestration - Case Studies",
        "Phase: 4/10 - SEO Generation",
        "@CLAUDE/Sitemap/case-studies.md",
    ):
        assert fact in guidance(after)
    assert SUMMARY in world.model.of("summary")[0].last
    assert not world.complaints


def guidance(text: str) -> str:
    """Return the guidance in a request: from its heading to the end of the reminder."""
    return text[text.index(HEADING) :].split("</system-reminder>")[0]
