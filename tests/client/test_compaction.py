"""A workflow survives the client's own compactions: complete, exactly once, in the next request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, fail, say

if TYPE_CHECKING:
    from tests.client.world import World

HEADING = "WORKFLOW RESTORED AFTER COMPACTION\nIgnore earlier copies"  # the skill names the first line too
SUMMARY = "Keep these workflows and their phases"
PHASES = [f"Phase-title-{n}" for n in range(1, 6)]
READING = [f"docs/reading-{n}.md" for n in range(1, 6)]
REMINDERS = [f"Reminder-{n}: never forget" for n in range(1, 6)]
CONTEXT = {f"key{n}": f"value-{n}" for n in range(1, 6)}
FACTS = ["Title of the work", *PHASES, *READING, *REMINDERS, *CONTEXT, *CONTEXT.values()]
AUTO = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
FULL = 90_000
TOO_LONG = fail(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")


def begin(world: World, form: str) -> None:
    """Start a workflow with 26 facts, by hand, before the session."""
    for path in READING:
        (world.project / path).parent.mkdir(exist_ok=True)
        (world.project / path).write_text("Read.\n")
    options = [part for phase in PHASES for part in ("--phase", phase)]
    options += [part for path in READING for part in ("--read", path)]
    options += [part for text in REMINDERS for part in ("--remind", text)]
    options += [part for key, value in CONTEXT.items() for part in ("--set", f"{key}={value}")]
    kind = "complex" if form == "wfs" else "implementation"
    world.holdfast("start", "Title of the work", "--format", form, "--type", kind, *options)
    world.holdfast("next")


@pytest.mark.scenario(2)
@pytest.mark.parametrize("form", ["hybrid", pytest.param("compaction", marks=pytest.mark.nightly), "wfs"])
def test_slash_compact_in_mid_workflow_restores_it(world: World, form: str) -> None:
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
    assert after.text.count(f"@{READING[0]}") == 1, "no reminder of the reading comes in the same request"
    assert later.text.count(HEADING) == 1, "the context stays in the conversation once, it is not sent again"
    assert not [fact for fact in FACTS if fact not in guidance(after.text)]
    (summary,) = world.model.of("summary")
    assert SUMMARY in summary.last and "keep the weather" in summary.last
    assert "Title of the work" in summary.last.split("Additional Instructions:")[1]
    assert not world.complaints


@pytest.mark.scenario(2)
@pytest.mark.parametrize(
    ("when", "form"),
    [
        ("between turns", "compaction"),
        ("mid-turn", "hybrid"),
        ("mid-turn", "wfs"),
        pytest.param("between turns", "hybrid", marks=pytest.mark.nightly),
        pytest.param("between turns", "wfs", marks=pytest.mark.nightly),
        pytest.param("mid-turn", "compaction", marks=pytest.mark.nightly),
    ],
)
def test_a_full_context_restores_the_workflow(world: World, form: str, when: str) -> None:
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
@pytest.mark.parametrize(
    "form", ["wfs", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("compaction", "hybrid"))]
)
def test_prompt_too_long(world: World, form: str) -> None:
    """The API refuses the request as too long; the client compacts and goes on in the same turn."""
    begin(world, form)
    world.model.turns = [say("One."), say("Two."), TOO_LONG, say("Three."), say("Four.")]
    session = world.client.session()
    said = [session.prompt(prompt).result for prompt in ("Begin.", "Go on.", "Now.", "And on.")]
    assert said == ["One.", "Two.", "Three.", "Four."]
    (summary,) = world.model.of("summary")
    assert SUMMARY in summary.last
    following, later = (q for q in world.model.of("main") if q.number > summary.number)
    assert following.text.count(HEADING) == 1
    assert not [fact for fact in FACTS if fact not in guidance(following.text)]
    assert later.text.count(HEADING) == 1
    assert not world.complaints


@pytest.mark.scenario(2)
def test_prompt_too_long_again(world: World) -> None:
    """Such a compaction keeps the latest messages as they are, an earlier guidance with them: the current one is last.

    The client says so in `compact_metadata`; which of the two is in force must be seen from their order alone.
    """
    begin(world, "hybrid")
    session = world.client.session()
    for handover in ("", "handover-1"):
        world.model.turns = [*[say("Talk. " * 40)] * 4, TOO_LONG]
        for prompt in ("Begin.", "Work.", "Work on.", "Go on.", "Now."):
            session.prompt(prompt)
        text = world.model.of("main")[-1].text
        newest = guidance(text[text.rindex(HEADING) :])
        assert f"Phase: {'2/5 - Phase-title-2' if handover else '1/5 - Phase-title-1'}" in newest
        assert handover in newest
        assert not [fact for fact in FACTS if fact not in newest]
        world.holdfast("done", "--again", "--note", "handover-1")
        world.holdfast("next")
    assert len(world.model.of("summary")) == 2
    assert not world.complaints


@pytest.mark.scenario(7)
def test_slash_compact_in_a_resumed_session_restores_it(world: World) -> None:
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
def test_to_the_end_of_a_workflow(world: World) -> None:
    """To the end, with a phase completed between compactions by the model's own Bash, in default permission mode."""
    titles = [f"Phase-title-{number}" for number in range(1, 4)]
    world.holdfast("start", "Title of the work", *(part for title in titles for part in ("--phase", title)))
    session = world.client.session()
    session.prompt("Begin.")
    session.prompt("Work.")
    for number, title in enumerate(titles, start=1):
        session.prompt("/compact")
        session.prompt(f"Round {number}.")
        after = world.model.of("main")[-1]
        assert after.text.count(HEADING) == 1
        assert after.text.count("Phase: ") == 1 and f"Phase: {number}/3 - {title}" in after.text
        assert number == 1 or f"handover-{number - 1}" in guidance(after.text)
        world.model.turns = [bash(f"holdfast done --note 'handover-{number}'"), say("Completed.")]
        session.prompt("Complete it.")
    session.prompt("/compact")
    session.prompt("Anything left?")
    assert HEADING not in world.model.of("main")[-1].text
    assert SUMMARY not in world.model.of("summary")[-1].last
    assert not world.complaints


@pytest.mark.scenario(2)
@pytest.mark.parametrize("how", ["manual", pytest.param("automatic", marks=pytest.mark.nightly), "too long"])
def test_without_a_workflow(world: World, how: str) -> None:
    """Nothing stands anywhere: not in the summariser's request, nor in the next one, and no hook answered."""
    world.configure("trail = false\n")
    world.client.extra = AUTO
    full = {"manual": say("Full."), "automatic": say("Full.", tokens=FULL), "too long": TOO_LONG}[how]
    world.model.turns = [say("Zero."), say("One."), full]
    session = world.client.session()
    for prompt in ("Begin.", "Work.", "Work on.", "/compact" if how == "manual" else "Go.", "Go on.", "And on."):
        session.prompt(prompt)
    (summary,) = world.model.of("summary")
    assert [q for q in world.model.of("main") if q.number > summary.number]
    assert "Additional Instructions:" not in summary.last
    ours = [(q.number, q.kind) for q in world.model.requests if HEADING in q.text or SUMMARY in q.text]
    assert not ours
    assert not [a for a in world.hooks(session) if a.get("stdout") or a.get("stderr")]
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


def units(text: str) -> int:
    """Return a text's length as the client counts it: in UTF-16 units, of which an emoji has two."""
    return len(text.encode("utf-16-le")) // 2


def guidance(text: str) -> str:
    """Return the guidance in a request: from its heading to the end of the reminder."""
    return text[text.index(HEADING) :].split("</system-reminder>")[0]
