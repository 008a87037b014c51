"""Document 000, what is not in its schema, its size and its documentation: R000-38 to -40."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from holdfast.cli import holdfast as program
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.sessions import phases
from holdfast.sessions.workspace import Workspace
from tests.requirements.document_000 import (
    CREATE,
    DELIVERED,
    HANDOVER,
    KEYS,
    PHASE_KEYS,
    PHASES,
    STATE,
    TASK,
    TEST,
)
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.sessions.phases import History
    from holdfast.workflow.model import Status, Workflow
    from tests.requirements.document_000 import Calculator

ROOT = Path(__file__).resolve().parents[2]
EXTRA = ".claude/state/workflow.extra.json"
FORMATS = ROOT / "src" / "holdfast" / "formats"
# The document's functions, and the three modules with the format's rules.
COUNTED = ("functions.py", "schema.py", "moves.py", "markdown_view.py")
HEAD = re.compile(r"^#{1,3} +(.+?) *$", re.MULTILINE)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set the time of day, UTC."""
    return lambda time: monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}:00Z")


def workflow(calculator: Calculator) -> Workflow:
    (found,) = hybrid.find(Workspace.open(calculator.root)).workflows
    return found


def seen(calculator: Calculator) -> History:
    """Return what the ledger saw of the workflow."""
    return phases.of(Workspace.open(calculator.root), workflow(calculator))


def keys(value: Any) -> set[str]:
    """Return every key in a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def commands(text: str) -> list[str]:
    """Return what a text calls with `holdfast …`, in code."""
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^ *(holdfast .+)$", text, re.MULTILINE)
    return [each for each in code if each.startswith("holdfast ")]


def parsed(called: str) -> click.Command:
    """Return the command that a call names; options it does not have are an assertion's failure."""
    command: click.Command = program
    context = click.Context(command)
    given = called.split()[1:]
    while given and isinstance(command, click.Group):
        found = command.get_command(context, given[0])
        assert found is not None, called
        command, given = found, given[1:]
    known = {option for parameter in command.get_params(context) for option in parameter.opts} | {"--help"}
    assert {word.split("=")[0] for word in given if word.startswith("--")} <= known, called
    return command


def test_no_key_but_the_schemas_ever_gets_into_the_file(calculator: Calculator, at: Callable[[str], None]) -> None:
    """R000-38: start, read, remind, set, type, failure, retry, reopening, agents: workflow.json keeps its keys."""
    at("10:00")
    failed = Agent(calculator.project, CREATE, number=1)
    steps: list[Callable[[], object]] = [
        lambda: calculator.run(
            *("start", TASK, "--format", "hybrid", "--type", "implementation"),
            *(f"--phase={title} @{agent}" for title, agent in PHASES),
            *("--read", "docs/a.md", "--remind", "Run the tests", "--set", "ticket=42"),
        ),
        failed.about_to,
        lambda: failed.failed("no disk space"),
        lambda: calculator.run("update", "--phase", "phase_0", "--status", "active"),
        lambda: calculator.run("update", "--phase", "phase_0", "--status", "failed", "--error", "no disk space"),
        lambda: calculator.run("reopen", "phase_0"),
        lambda: calculator.run("update", "--read", "docs/b.md", "--remind", "Be brief", "--set", "owner=me"),
        lambda: calculator.run("update", "--phase", "phase_0", "--status", "completed", "--deliverable", "a.py"),
        lambda: calculator.project.fire("PreCompact", "PreCompact-auto"),
        lambda: calculator.project.fire("SessionStart", "SessionStart-compact"),
        lambda: calculator.run("status"),
        lambda: calculator.run("done", "--note", "all pass", "--deliverable", "tests.py"),
        lambda: calculator.run("reopen", "phase_1"),
        lambda: calculator.run("done"),
    ]
    for number, step in enumerate(steps):
        at(f"11:{number:02}")
        step()
        assert list(calculator.state) == KEYS
        assert [list(phase) for phase in calculator.state["phases"]] == [PHASE_KEYS] * 2
        assert keys(calculator.state) == {*KEYS, *PHASE_KEYS}
        assert "2026-03-01" not in calculator.read(STATE)
        assert "no disk space" not in calculator.read(STATE)
    assert calculator.state["status"] == "completed"
    assert [phase["deliverables"] for phase in calculator.state["phases"]] == [["a.py"], ["tests.py"]]

    beside = json.loads(calculator.read(EXTRA))
    assert beside == {
        "id": calculator.state["id"],
        "workflow_type": "implementation",
        "required_reading": ["@docs/a.md", "@docs/b.md"],
        "key_reminders": ["Run the tests", "Be brief"],
        "context": {"ticket": 42, "owner": "me"},
    }
    shown = calculator.run("status", beside["id"], "--json").json
    assert {name: shown[name] for name in ("required_reading", "key_reminders", "context")} == {
        name: beside[name] for name in ("required_reading", "key_reminders", "context")
    }
    assert shown["type"] == "implementation"


def test_times_and_durations_come_from_the_ledger(calculator: Calculator, at: Callable[[str], None]) -> None:
    """R000-38: started, ended and seconds of each phase, all attempts together, and of the workflow."""
    at("10:00")
    calculator.create()
    assert (seen(calculator).phases, seen(calculator).started_at) == ({}, "")
    way: dict[str, Status] = {"10:01": "active", "10:04": "failed", "10:10": "active", "10:12": "completed"}
    for time, status in way.items():
        at(time)
        calculator.update("phase_0", status)
    at("10:13")
    running = seen(calculator).phases["phase_1"]
    assert (running.started_at, running.ended_at, running.seconds) == ("2026-03-01T10:12:00.000000Z", None, 60)
    assert seen(calculator).ended_at is None
    at("10:20")
    calculator.run("done")

    whole = seen(calculator)
    first, second = whole.phases["phase_0"], whole.phases["phase_1"]
    assert (first.started_at, first.ended_at) == ("2026-03-01T10:01:00.000000Z", "2026-03-01T10:12:00.000000Z")
    assert (first.attempts, first.seconds) == (2, 180 + 120)
    assert (second.attempts, second.seconds, second.ended_at) == (1, 480, "2026-03-01T10:20:00.000000Z")
    assert (whole.started_at, whole.ended_at) == (first.started_at, second.ended_at)
    assert whole.seconds == 19 * 60


def test_attempts_and_errors_come_from_the_ledger(calculator: Calculator) -> None:
    """R000-38: what an agent's or a person's failure said, until a retry completes; reopening is an attempt too."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    agent.failed("no disk space")
    assert "no disk space" in seen(calculator).phases["phase_0"].error

    calculator.update("phase_0", "active")
    calculator.run("update", "--phase", "phase_0", "--status", "failed", "--error", "the compiler crashed")
    phase = seen(calculator).phases["phase_0"]
    assert (phase.attempts, phase.error) == (2, "the compiler crashed")
    calculator.update("phase_0", "active")
    calculator.update("phase_0", "completed")
    assert (seen(calculator).phases["phase_0"].attempts, seen(calculator).phases["phase_0"].error) == (3, "")
    calculator.run("update", "--status", "failed", "--error", "wrong branch")
    assert seen(calculator).phases["phase_1"].error == "wrong branch"

    calculator.run("reopen", "phase_0")
    assert seen(calculator).phases["phase_0"].attempts == 4


def test_percentages_are_worked_out(calculator: Calculator) -> None:
    """R000-38: completed phases of all; "2 of 5 phases = 40%"."""
    calculator.create(phases=[(f"Step {number}", "general-purpose") for number in range(5)])
    percents = [workflow(calculator).percent]
    for number in range(5):
        calculator.update(f"phase_{number}", "completed")
        percents.append(workflow(calculator).percent)

    assert percents == [0, 20, 40, 60, 80, 100]


def test_completed_workflows_are_archived(calculator: Calculator) -> None:
    """R000-38: after the next workflow took the file, the completed one is listed and shown with its last content."""
    first = calculator.create()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    assert calculator.run("status", "--all", "--json").json["archive"] == []
    calculator.update("phase_1", "completed", ["tests.py"])
    calculator.create("Another")

    assert [each["id"] for each in calculator.run("status", "--all", "--json").json["archive"]] == [first]
    assert TASK in calculator.run("status", "--all").out
    shown = calculator.run("status", first, "--json").json
    assert (shown["title"], shown["status"]) == (TASK, "completed")
    assert [phase["deliverables"] for phase in shown["phases"]] == [DELIVERED, ["tests.py"]]
    assert calculator.state["task"] == "Another"


def test_a_workflow_can_be_made_from_a_template(calculator: Calculator) -> None:
    """R000-38: the built-in ones, and the phases and agents of an earlier workflow; nothing else is taken over."""
    listed = calculator.run("start", "T", "--template", "no such", code=1).err
    for name in ("planning", "qa-loop", "implementation"):
        assert name in listed
        calculator.run("start", f"From {name}", "--format", "hybrid", "--template", name)
        assert calculator.state["task"] == f"From {name}"
        assert len(calculator.state["phases"]) > 1
        assert set(calculator.statuses) == {"pending"}
        calculator.run("done", "--all")

    first = calculator.create()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    calculator.run("done", "--all")
    calculator.run("start", "Again", "--format", "hybrid", "--template", first)
    state = calculator.state
    assert (state["task"], state["status"], list(state)) == ("Again", "pending", KEYS)
    assert [(phase["title"], phase["agent"]) for phase in state["phases"]] == list(PHASES)
    assert [(phase["deliverables"], phase["context_for_next"]) for phase in state["phases"]] == [([], "")] * 2


def test_an_unknown_template_is_refused(calculator: Calculator) -> None:
    """R000-38: with the names there are, and nothing is started."""
    said = calculator.run("start", "X", "--format", "hybrid", "--template", "no-such", code=1)

    assert "no-such" in said.err
    assert "planning" in said.err
    assert not (calculator.root / STATE).exists()


def test_nothing_is_retried_by_itself(calculator: Calculator) -> None:
    """R000-38: no retry logic: a failed phase waits for whoever decides, through prompts and a compaction."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    agent.failed("boom")
    before = calculator.read(STATE)
    for event in ("UserPromptSubmit", "PreCompact", "SessionStart", "Stop"):
        calculator.project.fire(event, "SessionStart-compact" if event == "SessionStart" else None)

    assert calculator.read(STATE) == before


def test_no_schema_is_enforced_on_what_people_wrote(calculator: Calculator) -> None:
    """R000-38: a hand-kept file with other words and missing keys is read as it is meant."""
    phases = [{"title": CREATE, "status": "done"}, {"title": TEST, "status": "In Progress", "agent": "me"}]
    calculator.project.write({STATE: {"id": "mine", "task": TASK, "status": "active", "phases": phases}})

    shown = calculator.run("status", "--json").json["current"]
    assert [phase["status"] for phase in shown["phases"]] == ["completed", "active"]
    assert (shown["current"], shown["phase"]) == (2, TEST)


def test_a_long_context_is_kept_whole(calculator: Calculator) -> None:
    """R000-38: no size limit on the string field."""
    calculator.create()
    calculator.update("phase_0", "completed", context_for_next="word " * 40_000)

    assert calculator.state["phases"][0]["context_for_next"] == "word " * 40_000


def test_one_phase_is_tracked_at_a_time(calculator: Calculator) -> None:
    """R000-38: no parallel tracking: two agents at once, and current_phase is one id."""
    calculator.create()
    for number, (title, kind) in enumerate(PHASES):
        Agent(calculator.project, title, kind, number=number).about_to()

    assert calculator.summary() == ("active", "phase_0", ["active", "pending"])


def code_lines(source: str) -> int:
    """Count the lines that hold code: no blank ones, comments or docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            text = node.body[0]
            lines -= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines.discard(source.count("\n") + 1)  # the end marker
    return len(lines)


def test_lines_are_counted_as_the_document_counts() -> None:
    """R000-39: what the count below takes for code."""
    head = '"""Doc.\n\nMore.\n"""\n\nimport os  # why\n\n# a comment\n'
    source = head + 'x = """two\nlines"""\n\n\ndef f():\n    """Doc."""\n    return os\n'

    assert code_lines(source) == 5


def test_the_implementation_is_small() -> None:
    """R000-39: the document's functions and the format's rules are under 500 lines, as the page of functions says."""
    counted = {name: code_lines((FORMATS / "hybrid" / name).read_text("utf-8")) for name in COUNTED}

    assert sum(counted.values()) < 500, counted


def test_the_agent_protocol_is_printed(calculator: Calculator) -> None:
    """R000-40: `holdfast status --protocol` has "Workflow State Protocol": how to read, phase start, phase end."""
    printed = calculator.run("status", "--protocol").out

    assert "Workflow State Protocol" in HEAD.findall(printed)
    section = printed.split("Workflow State Protocol", 1)[1]
    for said in (STATE, "holdfast next", "holdfast done", "holdfast update --phase", "context"):
        assert said in section
    assert re.search(r"start", section, re.IGNORECASE)
    assert re.search(r"\bend", section, re.IGNORECASE)
    for called in commands(printed):
        parsed(called)


def test_the_skill_says_the_protocol_too(calculator: Calculator) -> None:
    """R000-40: it is the body of the skill, which is what stands in CLAUDE.md's place."""
    skill = (ROOT / "skills" / "holdfast" / "SKILL.md").read_text("utf-8")

    assert calculator.run("status", "--protocol").out.strip() == skill.split("---\n", 2)[2].strip()


def test_the_orchestrators_agent_creates_the_state(calculator: Calculator) -> None:
    """R000-40: examples/agents/delegation-orchestrator.md: after the phase analysis state, view and to-dos are made."""
    text = (ROOT / "examples" / "agents" / "delegation-orchestrator.md").read_text("utf-8")

    assert re.match(r"---\n(?:.+\n)*?name: delegation-orchestrator\n(?:.+\n)*?---\n", text)
    called = commands(text)
    start = next(each for each in called if each.startswith("holdfast start"))
    assert "--format hybrid" in start
    assert re.search(r"phase.*after .{0,20}analysis", text[: text.index(start)], re.DOTALL)
    assert any(each.startswith("holdfast status --todos") for each in called)
    assert ".claude/workflow_state_system.md" in text
    for each in called:
        parsed(each)


def test_the_guide_helps_when_something_is_wrong() -> None:
    """R000-40: the troubleshooting guide: a table of questions, every command in it exists."""
    guide = (ROOT / "docs" / "guides" / "troubleshooting.md").read_text("utf-8")
    assert "When something is not as expected" in HEAD.findall(guide)
    section = guide.split("## When something is not as expected\n", 1)[1].split("\n## ", 1)[0]

    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 5
    called = commands(section)
    assert {parsed(each).name for each in called} >= {"status", "reopen"}
