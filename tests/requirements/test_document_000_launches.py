"""I000-15: which launches move a unit, in every format that agents work on."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from holdfast.formats import WITH_AGENTS
from holdfast.formats.hybrid.markdown_view import generate_markdown
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from holdfast.workflow.model import Start
from tests.requirements.document_000 import CREATE, HANDOVER, REPORT, STATE, TASK, TEST, VIEW
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired, HoldfastProject
    from holdfast.workflow.model import Phase
    from tests.requirements.document_000 import Calculator

OWN, OTHER = "the unit's own kind", "somebody-else"
UNITS = (("Implement JWT authentication", "code-developer"), ("Design the login page", "designer"), ("Audit it", "x"))

# {id} and {title} are the first unit's, which is due; {other} is the second one's id.
ORDERS = (
    ("Execute task: {id}", "**EXECUTE TASK FROM JSON**\n\n## Task JSON Location\n.workflow/x.json", OWN),
    ("Implement: {id}", "Implement task {id}: {title}\n\n[FLOW_CONTROL]", OWN),
    ("JWT", "Execute task: {title}\n\n**Task Objectives**\nTokens.", OWN),
    ("Run step {id}", "Do it.", OWN),
    ("Start work on {title}", "Do it.", OWN),
    ("{title} task", "Do it.", OWN),
    ("JWT", '{{"task": {{"id": "{id}", "context": {{"depends_on": ["{other}"]}}}}, "workflow": {{}}}}', OWN),
    ("JWT", '```json\n{{\n  "task": {{\n    "id": "{id}"\n  }}\n}}\n```', OWN),
    ("JWT", "Phase ID: {id}\nAgent: code-developer\nOutput File: /tmp/out.md", OTHER),
    ("Task {id}", "Do it.", OTHER),
    ("{title}", "Do it.", "Explore"),
)
NO_ORDERS = (
    ("Execute task: {id}", "Do it.", OTHER),
    ("Execute task: {id}", "Do it.", "Explore"),
    ("Execute task: {id}", "{other} is done; build on it.", OWN),
    ("Compare {other}", '{{"task": {{"id": "{id}"}}}}', OWN),
    ("JWT", '{{"task": {{"id": "{id}"}}}}', "code-reviewer"),
    ("Execute task: {id} and {other}", "Do both.", OWN),
    ("Execute task: {title} again", "Do it.", OWN),
)
REVIEWS = (
    ("Review {id}", "Check the diff for correctness. Change nothing.", OWN),
    ("Review {title}", "Read the last three commits. Report problems by severity.", OWN),
    ("Review implementation: {title}", "Review implementation: {title}\n\nPlan and report are below.", OWN),
    ("Verify implementation", "Verify implementation: {title}\n\nDo the tests pass?", OWN),
    ("Code review", "Review the code that came of {id} for security, speed and style. End with a verdict.", OWN),
    ("Quality review", "You are reviewing task {id}. Compare it with the plan.", OWN),
    ("Spec compliance: {id}", "Does it do what the specification says, and nothing more?", OWN),
    ("Final check of {title}", "Check every acceptance criterion.", OWN),
    ("Check task {id} status", "Is it done? Answer yes or no.", OWN),
    ("Look at {id}", "Tell me in five lines what it does.", OWN),
    ("Look at step {id}", "What is left?", OWN),
    ("Look into {title}", "Why does it take so long?", OWN),
    ("Explain {id}", "Explain it to somebody who is new.", OWN),
    ("Explain", "Explain {title} in simple words.", OWN),
    ("Compare {id} and {other}", "Which is riskier?", OWN),
    ("Compare approaches", "Compare two ways to do task {id}.", OWN),
    ("Summarize {title}", "Three sentences for the weekly report.", OWN),
    ("Research for {id}", "Find out which libraries there are.", OWN),
    ("Explore before {title}", "Which files are relevant?", OWN),
    ("Analyze {id} dependencies", "List what it needs.", OWN),
    ("Plan {title}", "Write a plan. Don't implement anything.", OWN),
    ("Plan task {id}", "Break it down.", OWN),
    ("Debug {id}", "The last agent stopped. Read its output and say why.", OWN),
    ("Investigate why {title} failed", "Read the log.", OWN),
    ("Validate {id}", "Validate the JSON of the task.", OWN),
    ("Document {id}", "Write down what was decided.", OWN),
    ("Estimate {title}", "How many hours?", OWN),
    ("Test plan for {id}", "Which cases should be tested?", OWN),
    ("Find usages", "Before we execute task {id}, find every caller.", OWN),
    ("Prepare {title}", "List open questions.", OWN),
    ("Second opinion on {id}", "Is the approach sound?", OWN),
    ("Audit {id} for secrets", "Search for keys.", OWN),
    ("Start a review of {id}", "Begin with the tests.", OWN),
    ("Run a review of {title}", "Use the checklist.", OWN),
    ("Do a code review of task {id}", "Use the checklist.", OWN),
    ("Work on the review of {id}", "Go on with the comments.", OWN),
    ("Code review", "Review the working tree for bugs and needless complexity.", "code-reviewer"),
    ("Map the code", "Find all files that have to do with authentication.", "Explore"),
    ("Task {id} review", "Read it.", "code-reviewer"),
    ("Critique", "The plan:\n1. {other}\n2. {title}\nIs it sound?", "Plan"),
)


@pytest.mark.parametrize("name", WITH_AGENTS)
def test_orders_move_a_unit_and_reviews_do_not(name: str, holdfast_project: Callable[..., HoldfastProject]) -> None:
    """An order counts for the unit's own kind of agent if it names no other id; what else mentions the unit doesn't."""
    project = holdfast_project({})
    records, adapter, numbers = Workspace.open(project.root), registry.get(name), iter(range(1, 1_000))
    adapter.start(records, Start("Ship the login", phases=UNITS))

    def phases() -> tuple[Phase, ...]:
        return adapter.find(records).workflows[0].phases

    unit, other = phases()[:2]
    words = {"id": unit.id, "title": unit.title, "other": other.id}

    def launch(description: str, prompt: str, kind: str) -> list[str]:
        kind = (unit.agent or "general-purpose") if kind == OWN else kind
        Agent(project, description.format(**words), kind, prompt.format(**words), next(numbers)).about_to()
        return [each.id for each in phases() if each.status != "pending"]

    for_ids = [each for each in NO_ORDERS if unit.id != unit.title or "{other}" not in "".join(each)]
    wrong = [f"{each} moved {moved}" for each in (*for_ids, *REVIEWS) if (moved := launch(*each))]
    assert len(REVIEWS) == 40 and not wrong, "\n".join(wrong)

    workflow = adapter.find(records).workflows[0]
    missed = [
        (description, prompt, kind)
        for description, prompt, own in ORDERS
        for kind in [(unit.agent or "general-purpose") if own == OWN else own]
        if adapter.match_phase(workflow, f"{description}\n{prompt}".format(**words), kind) != unit
    ]
    assert not missed
    assert launch(*ORDERS[0]) == [unit.id]


def test_a_launch_inside_an_agent_counts_if_that_works_for_the_workflow(calculator: Calculator) -> None:
    """I000-15: else the agent that launches it is told; its own phase ends with itself, whoever helps."""
    calculator.create()
    project = calculator.project

    def inside(launcher: Agent, inner: Agent, name: str) -> Fired:
        response = {"status": "completed", "agentId": inner.run, "content": [{"type": "text", "text": REPORT}]}
        outer = {"agent_id": launcher.run, "agent_type": launcher.kind}
        answered = {"tool_response": response} if name.startswith("PostToolUse") else {}
        return project.fire(name.partition("-")[0], name, **inner.call, **outer, **answered)

    for number, description, kind, title, statuses in (
        (1, "Look around", "scout", CREATE, ["pending", "pending"]),
        (3, f"Lead the work on {TASK}", "leader", CREATE, ["completed", "active"]),
        (5, TEST, "verifier", TEST, ["completed", "active"]),
    ):
        launcher, inner = Agent(project, description, kind, number=number), Agent(project, title, number=number + 1)
        launcher.about_to()
        launcher.started()
        inside(launcher, inner, "PreToolUse-Agent").assert_silent("reuse_agents")
        told = inside(launcher, inner, "PostToolUse-Agent")
        if kind == "scout":
            told.assert_advised(f'Phase 1/2 "{CREATE}" is pending (this launch moves nothing', "say in your result")
        else:
            told.assert_silent("track_agents")
        project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")
        assert calculator.statuses == statuses, description


def test_a_worker_gets_the_hand_over_at_its_start(calculator: Calculator) -> None:
    """R000-34, I000-4: what the phase before left, whatever the prompt says; the first phase has none."""
    calculator.create()
    first, second = Agent(calculator.project, CREATE), Agent(calculator.project, TEST, number=2)
    first.about_to()
    first.started().assert_silent("track_agents")
    first.returned(REPORT)
    second.about_to()
    second.started().assert_advised(f'phase 2/2 "{TEST}"', f"Handed over by the phase before: {HANDOVER}")


def test_the_files_follow_the_last_phase_that_is_completed_by_hand(calculator: Calculator) -> None:
    """R000-06, R000-24: file, view and status say completed at the next event; a state made by hand has a view."""
    calculator.create()
    Agent(calculator.project, CREATE).about_to()
    (calculator.root / VIEW).unlink()
    calculator.project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")
    assert calculator.view == generate_markdown(calculator.state), "a missing view is written"

    state = calculator.state
    for phase in state["phases"]:
        phase["status"] = "completed"
    before = (calculator.root / VIEW).stat().st_mtime_ns
    (calculator.root / STATE).write_text(json.dumps(state))
    os.utime(calculator.root / STATE, ns=(before - 10**9, before - 10**9))
    calculator.project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")

    assert calculator.summary() == ("completed", None, ["completed", "completed"])
    assert "Status: completed | Current Phase: none" in calculator.view
    assert "completed, 2/2" in calculator.run("status").out


def test_a_default_agent_beside_a_named_one_is_reported(calculator: Calculator) -> None:
    """R000-09: the document requires an agent; without any named one, there is nothing to report."""
    start = ("start", "--format", "hybrid", "--replace")
    mixed = calculator.run(*start, "Ship", "--phase", "Build @builder", "--phase", "Test")
    plain = calculator.run(*start, "Ship it", "--phase", "Build", "--phase", "Test")

    assert [each["agent"] for each in calculator.state["phases"]] == ["general-purpose"] * 2
    assert 'each hybrid phase needs an agent, so "Test" got general-purpose' in mixed.out + mixed.err
    assert "needs an agent" not in plain.out + plain.err
