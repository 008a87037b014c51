"""Document 000, hook and to-do list: R000-26 to -32, with the resolutions about them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude import versions
from holdfast.clients.claude.matchers import matches, valid
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.formats.hybrid.markdown_view import generate_markdown
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import todos
from tests.requirements.document_000 import (
    CREATE,
    DELIVERED,
    HANDOVER,
    PHASES,
    REPORT,
    STATE,
    TEST,
    VIEW,
    example,
)
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.requirements.document_000 import Calculator

OURS = ".local/share/holdfast/run"
PYTHON_HOOK, SEEDS_HOOK = json.loads(example("settings.json"))["hooks"]["PostToolUse"]


def prompt(calculator: Calculator) -> Any:
    """Let the main thread have an event that has nothing to do with agents."""
    return calculator.project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")


def install(calculator: Calculator, settings: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Any]]:
    """Install into a settings file; return its text and its hooks afterwards."""
    monkeypatch.setattr(versions, "version", lambda: None)  # as on a machine whose client says nothing
    path = calculator.root / ".claude" / "settings.json"
    path.write_text(settings, "utf-8")
    calculator.run("install", "--settings", str(path))
    text = path.read_text("utf-8")
    return text, json.loads(text)["hooks"]


def selected(groups: list[dict[str, Any]], tool: str, event: str = "PostToolUse") -> list[str]:
    """Return the commands that the client runs for a tool."""
    chosen = [group for group in groups if matches(group.get("matcher"), tool, event)]
    return [hook["command"] for group in chosen for hook in group["hooks"]]


@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_the_hook_goes_from_launch_and_result_to_state_view_and_todos(calculator: Calculator, tool: str) -> None:
    """R000-26, R000-28, R000-32, R000-14, R000-35, I000-6, I000-11, I000-16: under the tool's new name and its old.

    No hook can call TodoWrite: the list is context, told at the start and when it changed, for every to-do tool.
    """
    calculator.create()
    agent = Agent(calculator.project, CREATE, tool=tool)
    agent.about_to().assert_advised(f"[>] {CREATE}", f"[ ] {TEST}")
    assert calculator.summary() == ("active", "phase_0", ["active", "pending"])
    told = agent.returned(REPORT)

    assert calculator.summary() == ("active", "phase_1", ["completed", "active"])
    first = calculator.state["phases"][0]
    assert (first["deliverables"], first["context_for_next"]) == (DELIVERED, HANDOVER)
    assert calculator.view == generate_markdown(calculator.state)
    assert f"- [x] Phase 0: {CREATE} → {', '.join(DELIVERED)}" in calculator.view
    told.assert_advised(f"[x] {CREATE}: completed", f"[>] {TEST}: in_progress", "TodoWrite", "TaskCreate", "TaskUpdate")
    told.assert_advised(PHASES[1][1], f"{TEST}\n\nContext: {HANDOVER}")
    assert told.context.index("is completed") < told.context.index("in your to-do list")
    assert (set(told.reply), set(told.specific)) == ({"hookSpecificOutput"}, {"hookEventName", "additionalContext"})
    prompt(calculator).assert_silent("require_reading", "restore_workflow", "sync_todos", "track_agents")
    for said in (told.context, calculator.run("next").out):
        assert all(name in said for name in ("subagent_type", "description", "prompt"))
        assert "agent=" not in said and "task=" not in said
    printed = calculator.run("status", "--todos").out
    assert f"[x] {CREATE}: completed" in printed and "TaskUpdate" in printed


def test_the_hook_is_registered_for_the_task_tool(calculator: Calculator) -> None:
    """R000-26: what `holdfast install --print` registers on PostToolUse is run for Task and for Agent."""
    hooks = calculator.run("install", "--print").json["hooks"]

    for tool in ("Task", "Agent"):
        (command,) = selected(hooks["PostToolUse"], tool)
        assert OURS in command


def test_without_a_state_file_the_hook_does_nothing(calculator: Calculator) -> None:
    """R000-27: no file, no word and no trace in the project, whatever an agent reports."""
    before = sorted(calculator.root.rglob("*"))
    agent = Agent(calculator.project, CREATE)
    for fired in (agent.about_to(), agent.returned(REPORT), agent.failed("boom")):
        fired.assert_silent("sync_todos")

    assert sorted(calculator.root.rglob("*")) == before


def test_the_state_counts_before_view_and_todos(calculator: Calculator) -> None:
    """R000-28: a view that cannot be written costs neither the state, which comes first, nor the list."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    (calculator.root / VIEW).unlink()
    (calculator.root / VIEW).mkdir()

    agent.returned(REPORT).assert_advised(f"[x] {CREATE}: completed")
    assert calculator.state["phases"][0]["deliverables"] == DELIVERED
    assert calculator.update("phase_1", "completed")["status"] == "completed"


def test_other_hooks_stay_byte_for_byte(calculator: Calculator, monkeypatch: pytest.MonkeyPatch) -> None:
    """R000-29: into the document's own settings ours is added as a group of the same form, and goes without a trace."""
    text, hooks = install(calculator, example("settings.json"), monkeypatch)

    lines = example("settings.json").splitlines(keepends=True)
    assert "".join(lines[3:10]) in text  # the first group whole, the second to its last but one line
    assert hooks["PostToolUse"][:2] == [PYTHON_HOOK, SEEDS_HOOK]
    (ours,) = hooks["PostToolUse"][2:]
    assert set(ours) == {"matcher", "hooks"}
    (command,) = ours["hooks"]
    assert command["type"] == "command"
    assert OURS in command["command"]

    calculator.run("uninstall", "--settings", str(calculator.root / ".claude" / "settings.json"))
    assert calculator.read(".claude/settings.json") == example("settings.json")


def test_both_hooks_run_for_a_tool_both_want(calculator: Calculator, monkeypatch: pytest.MonkeyPatch) -> None:
    """R000-29: a second hook on the Task tool runs beside ours, and theirs on PreToolUse is unchanged and runs."""
    settings = json.loads(example("settings.json"))
    settings["hooks"]["PostToolUse"][1]["matcher"] = "Task|Agent"
    settings["hooks"]["PreToolUse"] = [{"matcher": "*", "hooks": [{"type": "command", "command": "delegate.sh"}]}]
    _, hooks = install(calculator, json.dumps(settings, indent=2), monkeypatch)

    theirs, ours = selected(hooks["PostToolUse"], "Agent")
    assert theirs == SEEDS_HOOK["hooks"][0]["command"]
    assert OURS in ours
    assert hooks["PreToolUse"][0] == settings["hooks"]["PreToolUse"][0]
    assert selected(hooks["PreToolUse"], "Bash", "PreToolUse")[0] == "delegate.sh"


@pytest.mark.parametrize("agent", ["general-purpose", "helper"])
def test_a_task_somebody_calls_by_hand_counts_too(calculator: Calculator, agent: str) -> None:
    """R000-30, I000-6: a call nobody orchestrated starts and completes the phase that it names at once."""
    calculator.create()

    Agent(calculator.project, "by hand", agent, f"{CREATE}\n\nPlease.").returned(REPORT)
    assert calculator.summary() == ("active", "phase_1", ["completed", "active"])
    assert calculator.state["phases"][0]["context_for_next"] == HANDOVER


@pytest.mark.parametrize("status", ["pending", "active", "completed", "failed"])
def test_each_phase_is_a_todo(calculator: Calculator, status: Any) -> None:
    """R000-31, I000-12: §5.3's own list, run on the state, is ours: title, activeForm, status; failed is pending."""
    calculator.create(phases=[*PHASES, ("Document the module", "writer")])
    if status != "pending":
        calculator.update("phase_0", status)
    names: dict[str, Any] = {"load_workflow_json": lambda: calculator.state}
    exec(compile(example("todos.py.txt"), "todos", "exec"), names)

    (workflow,) = hybrid.find(Workspace.open(calculator.root)).workflows
    assert todos.todo_list(workflow) == names["todos"]
    assert calculator.run("status", "--todos", "--json").json == names["todos"]
    first = {"pending": "pending", "active": "in_progress", "completed": "completed", "failed": "pending"}[status]
    assert names["todos"][0] == {"content": CREATE, "status": first, "activeForm": f"Working on {CREATE}"}


def test_todos_never_move_the_workflow(calculator: Calculator) -> None:
    """R000-32: one way: neither a TodoWrite nor a TaskUpdate that says otherwise changes the state."""
    calculator.create()
    Agent(calculator.project, CREATE).about_to()
    before = calculator.read(STATE)
    claims = [{"content": title, "status": "completed", "activeForm": title} for title, _ in PHASES]
    calculator.project.fire("PreToolUse", "PreToolUse-TodoWrite", tool_input={"todos": claims})
    calculator.project.fire("PostToolUse", "PostToolUse-TodoWrite", tool_input={"todos": claims})
    created = {"task": {"id": "1", "subject": CREATE}}
    calculator.project.fire("PostToolUse", "PostToolUse-TaskCreate", tool_response=created)
    calculator.project.fire("PostToolUse", "PostToolUse-TaskUpdate-completed")
    prompt(calculator)

    assert calculator.read(STATE) == before


def test_todos_of_phases_with_one_title_are_corrected_in_their_order(calculator: Calculator) -> None:
    """R000-31: a finished check doesn't finish the next one of the same name; the model is told what was corrected."""
    calculator.create(phases=[("Run QA", "a"), ("Fix", "b"), ("Run QA", "a")])
    calculator.update("phase_0", "completed")
    claims = [
        {"content": title, "status": "completed", "activeForm": title} for title in ("Run QA", "Run QA", "Buy milk")
    ]
    fired = calculator.project.fire("PreToolUse", "PreToolUse-TodoWrite", tool_input={"todos": claims})

    assert [each["status"] for each in fired.specific["updatedInput"]["todos"]] == ["completed", "pending", "completed"]
    fired.assert_advised("Holdfast set the status of these to-dos", "- Run QA\n")


def test_the_documents_matchers_would_never_run(calculator: Calculator) -> None:
    """I000-1: `*Task*` isn't a regular expression and `*.py` no tool; ours selects Task and Agent."""
    for matcher in (PYTHON_HOOK["matcher"], SEEDS_HOOK["matcher"]):
        assert not valid(matcher, "PostToolUse")
        assert not any(matches(matcher, tool, "PostToolUse") for tool in ("Task", "Agent", "Edit", "x.py", "TaskList"))
    for tool in ("Edit", "Write", "MultiEdit"):
        assert matches("Edit|Write|MultiEdit", tool, "PostToolUse")


def test_the_task_list_tools_complete_no_phase(calculator: Calculator) -> None:
    """I000-1: TaskCreate and TaskUpdate have "Task" in their names; whatever they say moves nothing."""
    calculator.create()
    asked = {"subject": CREATE, "description": f"phase_0: {CREATE}", "taskId": "1", "status": "completed"}
    for tool in ("TaskCreate", "TaskUpdate-completed"):
        calculator.project.fire("PreToolUse", f"PreToolUse-{tool}", tool_input=asked).assert_not_called("sync_todos")
        calculator.project.fire("PostToolUse", f"PostToolUse-{tool}", tool_input=asked).assert_silent("sync_todos")

    assert calculator.summary() == ("pending", None, ["pending", "pending"])


def test_a_failed_phase_is_pending_in_the_list_and_failed_in_the_view(calculator: Calculator) -> None:
    """I000-12: to-dos know no failure; the view says it."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    agent.failed("boom").assert_advised(f"[ ] {CREATE}: pending")

    assert [todo["status"] for todo in calculator.run("status", "--todos", "--json").json] == ["pending", "pending"]
    assert f"- [ ] Phase 0: {CREATE} ✗ failed" in calculator.view


@pytest.mark.parametrize(
    ("words", "deliverables", "handover"),
    [
        (REPORT, DELIVERED, HANDOVER),
        ("Made it.\nIt works.\n\nMore words.", [], "Made it. It works."),
        ("**Deliverables:**\n- `a.py`\n\n**Context for next:** use a", ["a.py"], "use a"),
        ("DELIVERABLES: a.py, b.py", ["a.py", "b.py"], ""),
        ("many words " * 500, [], f"{'many words ' * 27}…".replace(" …", "…")),
    ],
)
def test_the_result_is_read_from_the_text_blocks(
    calculator: Calculator, words: str, deliverables: list[str], handover: str
) -> None:
    """I000-14: marker lines in the text of the result, else its first paragraph."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    thought = {"type": "thinking", "thinking": "DELIVERABLES: thought.py"}
    blocks = [thought, {"type": "text", "text": words}, {"type": "image", "source": {"data": "AAAA"}}]
    agent.returned(tool_response={"status": "completed", "agentId": agent.run, "totalTokens": 9, "content": blocks})

    first = calculator.state["phases"][0]
    assert (first["deliverables"], first["context_for_next"]) == (deliverables, handover)


def test_a_failure_beats_the_completion_of_the_same_run(calculator: Calculator) -> None:
    """I000-14: API error without tokens, failed call, StopFailure before or after a stop, notification."""
    ends: dict[str, Callable[[Agent], object]] = {
        "api error": lambda agent: agent.returned_api_error(),
        "failed call": lambda agent: agent.failed(),
        "died": lambda agent: (agent.launched(), agent.stopped("Done."), agent.died(), prompt(calculator)),
        "notified": lambda agent: (agent.launched(), agent.stopped("Done."), agent.notified("failed")),
        "died first": lambda agent: (agent.launched(), agent.died(), agent.stopped("Done."), agent.notified()),
    }
    for number, (name, end) in enumerate(ends.items(), 1):
        calculator.run(
            "start", f"Job {number}", "--format", "hybrid", "--replace", "--phase", CREATE, "--phase", "Then"
        )
        agent = Agent(calculator.project, CREATE, number=number)
        agent.about_to()
        end(agent)
        assert calculator.summary() == ("failed", "phase_0", ["failed", "pending"]), name


def test_a_background_launch_is_no_completion(calculator: Calculator) -> None:
    """I000-14: only `status: "completed"` counts; a launch that returns at once leaves the phase running."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    agent.launched()
    assert calculator.statuses == ["active", "pending"]
    prompt(calculator)
    assert calculator.statuses == ["active", "pending"]

    agent.notified("completed", REPORT)
    assert calculator.statuses == ["completed", "active"]


@pytest.mark.parametrize(
    ("description", "text", "kind", "statuses"),
    [
        ("look around", "Where are the tests?", "Explore", ["active", "pending"]),
        ("look around", "Where are the tests?", "task-completion-verifier", ["active", "pending"]),
        ("phase_0", "Go.", "Explore", ["completed", "active"]),
        ("go", f"{CREATE}\n\nContext: none", "Explore", ["completed", "active"]),
        ("go", f"Phase 1: {CREATE}\n\nContext: none", "", ["completed", "active"]),
        ("go", "Go.", "general-purpose", ["active", "pending"]),
        ("version", "What is the latest numpy version?", "general-purpose", ["active", "pending"]),
        ("Find where the phase 1 tests live", "Go.", "Explore", ["active", "pending"]),
        ("roadmap", "The roadmap says 'Phase 2: Kubernetes'. Summarise it.", "Explore", ["active", "pending"]),
        ("Review the diff of phase 1", "Review phase_0 before we go on.", "code-reviewer", ["active", "pending"]),
        ("list", f"Before we {CREATE}, list the files.", "Explore", ["active", "pending"]),
        ("plan", f"The plan:\n1. {CREATE}\n2. {TEST}\nIs it sound?", "Plan", ["active", "pending"]),
        ("go", "Phase ID: phase_0\nGo.", "Explore", ["completed", "active"]),
    ],
)
def test_only_the_agent_of_a_phase_completes_it(
    calculator: Calculator, description: str, text: str, kind: str, statuses: list[str]
) -> None:
    """I000-15: a reference decides; a mention, or a generic kind of agent by itself, is no evidence."""
    calculator.create()
    calculator.update("phase_0", "active")
    agent = Agent(calculator.project, description, kind, text)
    agent.about_to()
    agent.returned(REPORT)

    assert calculator.statuses == statuses


def test_a_name_that_two_unfinished_phases_have_decides_nothing(calculator: Calculator) -> None:
    """I000-15: which of them was meant nobody knows, so it is left alone."""
    calculator.create(phases=[(CREATE, "builder"), (TEST, "builder")])
    calculator.update("phase_0", "active")
    agent = Agent(calculator.project, "go", "builder")
    agent.about_to()
    agent.returned(REPORT)

    assert calculator.statuses == ["active", "pending"]


def test_a_specific_agent_of_the_phase_that_is_due_completes_it(calculator: Calculator) -> None:
    """I000-15: nobody else would launch it; the first phase's end makes the second one due."""
    calculator.create()
    verifier = Agent(calculator.project, "go", PHASES[1][1])
    verifier.returned("All is well.")
    assert calculator.statuses == ["pending", "pending"]
    Agent(calculator.project, CREATE, number=2).returned(REPORT)
    Agent(calculator.project, "go", PHASES[1][1], number=3).returned("All is well.")
    assert calculator.statuses == ["completed", "completed"]
    calculator.create(phases=[(CREATE, "@builder"), (TEST, "@general-purpose")])
    for kind in ("builder", "general-purpose"):  # people write an @; a generic kind is no evidence with it either
        Agent(calculator.project, "go", kind, number=4).returned(REPORT)
    assert calculator.statuses == ["completed", "active"]


def test_a_failed_phase_is_not_retried_by_a_mere_kind_of_agent(calculator: Calculator) -> None:
    """I000-9, I000-15: whoever retries it names it."""
    calculator.create()
    Agent(calculator.project, CREATE).returned(REPORT)
    Agent(calculator.project, TEST, PHASES[1][1], number=2).failed("no disk space")
    Agent(calculator.project, "go", PHASES[1][1], number=3).returned("All is well.")
    assert calculator.statuses == ["completed", "failed"]


@pytest.mark.parametrize("sign", [{"is_error": True}, {"isError": True}, {"error": "2 tests FAILED"}])
def test_any_sign_of_failure_beats_completed(calculator: Calculator, sign: dict[str, Any]) -> None:
    """I000-14: a result that says completed and carries an error fails the phase."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    said = {"status": "completed", "agentId": agent.run, "content": [{"type": "text", "text": "2 tests FAILED"}]}
    fired = agent.returned(tool_response=said | sign)
    assert calculator.statuses == ["failed", "pending"]
    fired.assert_advised("2 tests FAILED")


@pytest.mark.parametrize("content", [None, [], [{"type": "text", "text": " "}]])
def test_an_agent_that_returns_nothing_completes_nothing(calculator: Calculator, content: list[Any] | None) -> None:
    """I000-14: no words show no work; the model is told how to complete the phase."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    said: dict[str, Any] = {"status": "completed", "agentId": agent.run, "content": content}
    if content is None:
        del said["content"]
    agent.returned(tool_response=said).assert_advised("its agent returned no result", "`holdfast done ")
    assert calculator.statuses == ["active", "pending"]


def test_agent_that_moved_nothing_is_told_once_how_to(calculator: Calculator) -> None:
    """I000-15: caution costs nothing where the model is told the words."""
    calculator.create()
    first, second = (Agent(calculator.project, "look around", "Explore", number=number) for number in (1, 2))
    for agent in (first, second):
        agent.about_to().assert_silent("reuse_agents", "sync_todos")
    said = first.returned(REPORT)
    said.assert_advised(f'Due: phase 1/2 "{CREATE}"', f'holdfast done "{CREATE}"')
    second.returned(REPORT).assert_silent("sync_todos", "track_agents")

    calculator.run("done")
    calculator.run("done")
    Agent(calculator.project, "look around", "Explore", number=3).returned(REPORT).assert_silent(
        "sync_todos", "track_agents"
    )


def test_a_wrong_completion_is_undone_by_people_only(calculator: Calculator) -> None:
    """I000-15: `hybrid reopen` does; no launch, result or failure of an agent revives what is finished."""
    calculator.create()
    calculator.update("phase_0", "completed", DELIVERED)
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    agent.failed("boom")
    assert calculator.statuses == ["completed", "active"]

    calculator.run("reopen", "phase_0")
    assert calculator.summary() == ("active", "phase_0", ["active", "pending"])
    assert calculator.state["phases"][0]["deliverables"] == DELIVERED


def test_the_model_may_not_reopen_unasked(calculator: Calculator, monkeypatch: pytest.MonkeyPatch) -> None:
    """I000-15: what `install --yes` lets the model call leaves reopening out."""
    monkeypatch.setattr(versions, "version", lambda: None)
    calculator.run("install", "--scope", "project", "--yes")
    allowed = json.loads(calculator.read(".claude/settings.json"))["permissions"]["allow"]

    assert (calculator.root / ".claude/skills/holdfast/SKILL.md").is_file()
    assert any("holdfast update" in rule for rule in allowed)
    assert not any("reopen" in rule for rule in allowed)
    of_people = ("handlers", "install", "uninstall", "forget", "config", "restore", "cancel", "formats")
    assert not [rule for rule in allowed for name in of_people if rule.startswith(f"Bash(holdfast {name}")]


def test_the_project_is_the_payloads_not_the_directorys(
    calculator: Calculator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I000-19: wherever the hook's program and process are, and wherever the session has gone, the project counts."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".claude").mkdir(parents=True)
    inner = calculator.root / "src" / "deep"
    inner.mkdir(parents=True)
    calculator.create()
    monkeypatch.chdir(elsewhere)
    agent = Agent(calculator.project, CREATE)
    agent.about_to(cwd=str(inner))
    agent.returned(REPORT, cwd=str(elsewhere))

    assert calculator.statuses == ["completed", "active"]
    assert list((elsewhere / ".claude").iterdir()) == list(inner.iterdir()) == []
