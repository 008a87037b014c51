"""The story of `holdfast demo`: from an empty project to a finished workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.formats import RECORDS, WITH_AGENTS
from holdfast.testkit.stage import NotShown, Panel, Shown, promise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.testkit.stage import Stage

MEMORY = """# Current Workflow State

Workflow: Page Orchestration - Case Studies
Phase: 4/10 - SEO Generation

@CLAUDE/PageOrchestration.md
@CLAUDE/Sitemap/case-studies.md
"""
READING = ("CLAUDE/PageOrchestration.md", "CLAUDE/Sitemap/case-studies.md")
TASK = "Create calculator.py with tests and verify they pass"
PHASES = ("Create calculator module @general-purpose", "Write and run tests @task-completion-verifier")
FORMAT = WITH_AGENTS[0]
VIEW = RECORDS[FORMAT].VIEWS[0]
REPORT = """The module is written.

DELIVERABLES:
- calculator.py
- add, subtract, multiply, divide
CONTEXT_FOR_NEXT: calculator.py lies at the project root and has four functions"""
TESTED = "DELIVERABLES: test_calculator.py\n\nAll tests pass."


def story(stage: Stage) -> Iterator[Shown]:
    """Run the demo on an empty stage and yield each step.

    Raises:
        NotShown: something the story promises didn't happen.
    """
    yield _installed(stage)
    yield from _compaction(stage)
    yield from _agents(stage)
    yield from _second_compaction(stage)
    yield _last_phase(stage)


def _installed(stage: Stage) -> Shown:
    registered = stage.install().partition("\nPrograms:")[0].partition("\nSkill:")[0].partition("\n")[2]
    panel = Panel("the events that Claude Code now sends, and for which tools", registered)
    return Shown("Installed in an empty project", "holdfast install --scope project", [panel])


def _compaction(stage: Stage) -> Iterator[Shown]:
    stage.write("CLAUDE.local.md", MEMORY)
    for name in READING:
        stage.write(name, "What has to be known about these pages.\n")
    before, after = stage.compact("manual")
    patterns = (pattern for record in RECORDS.values() for pattern in record.STATES)
    state = next((file for pattern in patterns for file in stage.root.glob(pattern)), None)
    if state is None:
        raise NotShown("not shown: PreCompact writes a state file")
    instructions = before.stdout
    plain = "Page Orchestration" in instructions and not instructions.startswith("{")
    promise(plain, "the summariser gets plain text")
    yield Shown(
        "Saved before the compaction, from CLAUDE.local.md",
        "PreCompact (manual)",
        [Panel("what the summariser gets", instructions), stage.file(state, lines=8)],
    )
    for fact in ("Page Orchestration - Case Studies", "4/10", "@CLAUDE/Sitemap/case-studies.md", "ACTION REQUIRED"):
        promise(fact in after.context, f"{fact!r} is in the guidance")
    yield Shown(
        "Restored after it, into Claude's context", "SessionStart (source: compact)", [_guidance_panel(after.context)]
    )
    stage.holdfast("done", "--all")
    (stage.root / "CLAUDE.local.md").unlink()


def _agents(stage: Stage) -> Iterator[Shown]:
    phases = [argument for phase in PHASES for argument in ("--phase", phase)]
    output = stage.holdfast("start", TASK, "--format", FORMAT, *phases)
    yield Shown(
        "A workflow with agents",
        f"holdfast start {TASK!r} --format {FORMAT} …",
        [Panel("what it prints", output), stage.file(VIEW)],
    )
    agent = stage.agent("general-purpose", "Create calculator module", "Write it.")
    before = agent.about_to().context
    yield Shown(
        "Its first phase begins when its agent is launched",
        "PreToolUse (Agent)",
        [_guidance_panel(before), stage.file(VIEW)],
    )
    agent.started()
    agent.stopped(REPORT)
    after = agent.returned(REPORT).context
    view = stage.file(VIEW)
    done = [line for line in view.text.splitlines() if "[x]" in line and "Create calculator module" in line]
    promise(any("calculator.py" in line for line in done), "the view shows the deliverables")
    promise("task-completion-verifier" in after and "TodoWrite" in after, "the next agent and the list are named")
    yield Shown(
        "The agent finished: the phase, the view and the to-do list move on",
        "PostToolUse (Agent)",
        [_guidance_panel(after), view],
    )


def _second_compaction(stage: Stage) -> Iterator[Shown]:
    before, after = stage.compact("auto")
    yield Shown(
        "Another compaction, this time automatic",
        "PreCompact (auto)",
        [Panel("what the summariser gets", before.stdout)],
    )
    for fact in (TASK, "2/2", "Write and run tests", "four functions"):
        promise(fact in after.context, f"{fact!r} is in the guidance")
    yield Shown(
        "The current state comes back, not an older one",
        "SessionStart (source: compact)",
        [_guidance_panel(after.context)],
    )


def _last_phase(stage: Stage) -> Shown:
    agent = stage.agent("task-completion-verifier", "Write and run tests", "Test it.")
    agent.about_to()
    agent.started()
    agent.stopped(TESTED)
    guidance = agent.returned(TESTED).context
    view = stage.file(VIEW)
    promise(view.text.count("[x]") == len(PHASES), "the workflow is completed")
    return Shown(
        "The last agent finished, and so did the workflow", "PostToolUse (Agent)", [_guidance_panel(guidance), view]
    )


def _guidance_panel(text: str) -> Panel:
    return Panel("what Claude gets", text)
