"""Document 000, the four functions, the view and the patterns of §6: R000-16, R000-18 to -25, with resolutions."""

from __future__ import annotations

import copy
import inspect
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.hybrid.functions import create_workflow_state, get_workflow_state, update_phase_status
from holdfast.formats.hybrid.markdown_view import generate_markdown
from tests.requirements.document_000 import (
    CREATE,
    DELIVERED,
    HANDOVER,
    PHASES,
    REPORT,
    STATE,
    TASK,
    TEST,
    VIEW,
    example,
)
from tests.signals import Agent
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.requirements.document_000 import Calculator

THREE = [*PHASES, ("Document the module", "writer")]


def pattern(name: str, **given: Any) -> dict[str, Any]:
    """Run one of the document's code patterns with the names it takes for granted, and return all it leaves."""
    names = dict(given)
    exec(compile(example(f"{name}.py.txt"), name, "exec"), names)
    return names


def reader(root: Path) -> Callable[[str], Any]:
    """Return the patterns' `read_json`."""
    return lambda place: json.loads((root / place).read_bytes())


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is written to files, in order, as the system is told."""
    pieces: list[bytes] = []
    really = os.write

    def write(descriptor: int, data: Any) -> int:
        pieces.append(bytes(data))
        return really(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    return pieces


def test_the_four_functions_have_the_documents_parameters() -> None:
    """I000-21: built although the document calls itself deprecated, as §7 lists them; what is added has a default."""
    documented: dict[Callable[..., Any], list[str]] = {
        create_workflow_state: ["task", "phases"],
        update_phase_status: ["workflow_id", "phase_id", "status", "deliverables"],
        get_workflow_state: ["workflow_id"],
        generate_markdown: ["workflow"],
    }
    for function, names in documented.items():
        parameters = list(inspect.signature(function).parameters.values())
        assert [each.name for each in parameters[: len(names)]] == names
        assert all(each.default is not each.empty for each in parameters[len(names) :])


def test_creating_writes_state_and_view_and_returns_the_id(calculator: Calculator) -> None:
    """R000-16, R000-22, I000-18: (title, agent) pairs in; the id comes back; the view has the document's own name."""
    made = create_workflow_state(TASK, list(PHASES), root=calculator.root)

    assert made == calculator.state["id"]
    assert [(phase["title"], phase["agent"]) for phase in calculator.state["phases"]] == list(PHASES)
    assert (calculator.root / ".claude" / "workflow_state_system.md").read_text("utf-8") == calculator.view
    assert calculator.view == generate_markdown(calculator.state)


def test_updating_changes_that_phase_and_keeps_what_is_omitted(calculator: Calculator) -> None:
    """R000-18, I000-3: of the named phase alone; four positional arguments, five, or `context_for_next=`."""
    calculator.create(phases=THREE)
    id_, root, before = calculator.id, calculator.root, calculator.state["phases"]
    update_phase_status(id_, "phase_1", "completed", DELIVERED, HANDOVER, advance=False, root=root)
    after = calculator.state["phases"]
    assert after[1] == before[1] | {"status": "completed", "deliverables": DELIVERED, "context_for_next": HANDOVER}
    assert (after[0], after[2]) == (before[0], before[2])
    assert f"- [x] Phase 1: {TEST} → {', '.join(DELIVERED)}" in calculator.view

    update_phase_status(id_, "phase_1", "completed", root=root)
    update_phase_status(id_, "phase_0", "completed", ["a.py"], root=root)
    update_phase_status(id_, "phase_2", "completed", context_for_next="the end", root=root)
    handed = [(phase["deliverables"], phase["context_for_next"]) for phase in calculator.state["phases"]]
    assert handed == [(["a.py"], ""), (DELIVERED, HANDOVER), ([], "the end")]


def test_updating_leaves_the_todo_list_to_the_hook(calculator: Calculator) -> None:
    """R000-18: no direct sync: the list that changed is told by the next event, not by the function."""
    calculator.create()
    Agent(calculator.project, CREATE).about_to().assert_advised(f"[>] {CREATE}")
    calculator.update("phase_0", "completed")

    prompt = calculator.project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")
    prompt.assert_advised(f"[x] {CREATE}", f"[>] {TEST}")


def test_getting_returns_what_the_file_says(calculator: Calculator) -> None:
    """R000-19: a dict equal to the JSON; it is the caller's own."""
    calculator.create()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    got = get_workflow_state(calculator.id, root=calculator.root)

    assert type(got) is dict
    assert got == calculator.state
    got["phases"].clear()
    assert get_workflow_state(calculator.id, root=calculator.root) == calculator.state


def test_generating_is_a_pure_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R000-20: text from the state alone: nothing is read, written or changed, and twice gives the same."""
    monkeypatch.chdir(tmp_path)
    state = json.loads(example("fresh-state.json"))
    before = copy.deepcopy(state)
    first = generate_markdown(state)
    monkeypatch.setenv("HOLDFAST_NOW", "2031-01-01T00:00:00Z")

    assert type(first) is str
    assert generate_markdown(state) == first
    assert state == before
    assert list(tmp_path.iterdir()) == []


def test_an_update_is_a_single_write(calculator: Calculator, written: list[bytes]) -> None:
    """R000-21: the whole new state, then the view; the same update again writes nothing, so an Edit still fits."""
    calculator.create()
    before = calculator.read(STATE)
    with (calculator.root / STATE).open(encoding="utf-8") as reading:
        written.clear()
        calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
        files = [piece.decode() for piece in written if b"calculator.py" in piece and piece[:1] in b"{#"]
        assert reading.read() == before
    assert files == [calculator.read(STATE), calculator.view]
    assert not list((calculator.root / ".claude").rglob("*.tmp"))

    once = (calculator.root / STATE).stat()
    written.clear()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    twice = (calculator.root / STATE).stat()
    assert (twice.st_ino, twice.st_mtime_ns) == (once.st_ino, once.st_mtime_ns)
    assert not [piece for piece in written if b"calculator.py" in piece]


def test_the_view_is_the_template_filled_in(calculator: Calculator) -> None:
    """R000-23: the document's template, word for word, with the state's values in it."""
    calculator.create()
    calculator.update("phase_0", "completed", ["calculator.py"])

    filled = example("view-template.md").replace("Phase 0: {title}", f"Phase 0: {CREATE}")
    for name, value in {
        "{title}": TEST,
        "{task}": TASK,
        "{status}": "active",
        "{current_phase_title}": TEST,
        "{deliverables}": "calculator.py",
    }.items():
        filled = filled.replace(name, value)
    assert calculator.view == filled


def test_the_number_in_the_view_is_the_ids() -> None:
    """R000-23: N as in the id, not the position, where the two differ."""
    phases = [{"id": f"phase_{number}", "title": "T", "status": "pending"} for number in (7, 0, 12)]
    view = generate_markdown({"task": "t", "status": "pending", "current_phase": None, "phases": phases})

    assert view.splitlines()[-3:] == ["- [ ] Phase 7: T", "- [ ] Phase 0: T", "- [ ] Phase 12: T"]


def test_the_view_follows_every_change(calculator: Calculator) -> None:
    """R000-24: whoever changes the state, command, function or hook: the view is the one of the new state."""
    seen: list[str] = []

    def follows() -> None:
        assert calculator.view == generate_markdown(calculator.state)
        assert calculator.view not in seen[-1:]
        seen.append(calculator.view)

    calculator.run("start", TASK, "--format", "hybrid", "--phase", CREATE, "--phase", f"{TEST} @tester")
    follows()
    calculator.run("next")
    follows()
    calculator.run("update", "--phase", "phase_0", "--deliverable", "a.py", "--status", "completed")
    follows()
    calculator.run("reopen", "phase_0")
    follows()
    calculator.run("update", "--rename", "Create it all")
    follows()
    calculator.run("done")
    follows()
    agent = Agent(calculator.project, TEST, "tester")
    agent.about_to()
    agent.failed("boom")
    follows()
    update_phase_status(calculator.state["id"], "phase_1", "active", root=calculator.root)
    follows()
    again = Agent(calculator.project, TEST, "tester", number=2)
    again.about_to()
    again.returned("DELIVERABLES: tests.py")
    follows()


def test_the_view_is_never_read_back(calculator: Calculator) -> None:
    """R000-24: what somebody writes into it moves nothing, and the next change replaces it."""
    calculator.create()
    before = calculator.read(STATE)
    (calculator.root / VIEW).write_text(calculator.view.replace("[ ]", "[x]").replace("pending", "completed"))

    assert calculator.run("status", "--json").json["current"]["status"] == "pending"
    assert [todo["status"] for todo in calculator.run("status", "--todos", "--json").json] == ["pending", "pending"]
    assert calculator.read(STATE) == before
    calculator.update("phase_0", "active")
    assert calculator.view == generate_markdown(calculator.state)


def test_a_phase_is_found_by_its_id(calculator: Calculator) -> None:
    """I000-2: §6.2's `phases[current_phase]` cannot work; the id decides, also where the order was changed by hand."""
    calculator.create()
    calculator.update("phase_0", "active")
    with pytest.raises(TypeError, match="list indices must be integers"):
        pattern("worker", read_json=reader(calculator.root))

    state = calculator.state
    state["phases"].reverse()
    calculator.project.write({STATE: state})
    calculator.update("phase_0", "completed", ["calculator.py"], advance=False)
    assert [phase["deliverables"] for phase in calculator.state["phases"]] == [[], ["calculator.py"]]


def test_completing_advances_once(calculator: Calculator) -> None:
    """I000-7: one place advances; hook, worker and §6.3 after each other move on by one phase, not by three."""
    calculator.create(phases=THREE)
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    agent.returned(REPORT)
    calculator.update("phase_0", "completed")
    calculator.update("phase_1", "active")
    calculator.run("next")

    assert calculator.summary() == ("active", "phase_1", ["completed", "active", "pending"])


def test_completing_without_advancing(calculator: Calculator) -> None:
    """I000-7: the switch completes only; the next phase waits for whoever moves on."""
    calculator.create()
    calculator.update("phase_0", "completed", advance=False)
    assert calculator.summary() == ("active", "phase_0", ["completed", "pending"])

    calculator.update("phase_1", "active")
    assert calculator.summary() == ("active", "phase_1", ["completed", "active"])


@pytest.mark.parametrize("report", ["Done.", "DELIVERABLES: other.py\nCONTEXT_FOR_NEXT: other words"])
def test_a_second_completion_is_no_change(calculator: Calculator, report: str) -> None:
    """I000-8: the agent wrote at its end, the hook comes after: nothing it wrote is cleared, replaced or rewritten."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    given = ("--status", "completed", *(f"--deliverable={each}" for each in DELIVERED), "--context", HANDOVER)
    calculator.run("update", "--phase", "phase_0", *given)
    before = (calculator.read(STATE), (calculator.root / STATE).stat().st_mtime_ns)

    agent.returned(report)
    calculator.update("phase_0", "completed", [], "")
    calculator.update("phase_0", "completed", ["other.py"], "other words")
    assert (calculator.read(STATE), (calculator.root / STATE).stat().st_mtime_ns) == before
    assert calculator.state["phases"][0]["deliverables"] == DELIVERED
    assert calculator.state["phases"][0]["context_for_next"] == HANDOVER


@each_row(
    "phase, line",
    [
        ({"status": "completed", "deliverables": ["a.py", "4 functions"]}, "- [x] Phase 0: T → a.py, 4 functions"),
        ({"status": "completed", "deliverables": []}, "- [x] Phase 0: T"),
        ({"status": "failed", "deliverables": ["a.py"]}, "- [ ] Phase 0: T ✗ failed"),
        ({"status": "active", "deliverables": ["a.py"]}, "- [ ] Phase 0: T"),
    ],
)
def test_the_views_open_points(phase: dict[str, Any], line: str) -> None:
    """I000-13: no phase is current: none; deliverables joined with ", ", no arrow without; a failed phase says so."""
    state = {
        "task": "t",
        "status": "active",
        "current_phase": None,
        "phases": [{"id": "phase_0", "title": "T", **phase}],
    }

    assert generate_markdown(state).splitlines()[2:] == [
        "Status: active | Current Phase: none",
        "",
        "## Phases",
        "",
        line,
    ]


def test_the_orchestrators_pattern_makes_the_same_state(
    calculator: Calculator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R000-16, R000-17: §6.1 run as it stands writes what create_workflow_state writes, view included."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-05T14:30:22Z")
    calculator.create()
    written: dict[str, Any] = {}

    pattern(
        "orchestrator",
        timestamp=lambda: "20250105_143022",
        user_task=TASK,
        phases=PHASES,
        write_json=written.__setitem__,
        generate_markdown=lambda place, workflow: written.__setitem__(place, generate_markdown(workflow)),
        TodoWrite=lambda todos: written.__setitem__("todos", todos),
    )

    assert written == {STATE: calculator.state, VIEW: calculator.view, "todos": [...]}
    assert list(written[STATE]) == list(calculator.state)


def test_the_workers_pattern_runs_on_our_functions(calculator: Calculator) -> None:
    """R000-18, I000-2: §6.2 as it stands, but that `phases[…]` looks up by id, updates its phase."""

    class ById(list[Any]):
        def __getitem__(self, wanted: Any) -> Any:
            return next(phase for phase in self if phase["id"] == wanted)

    calculator.create()
    calculator.update("phase_0", "active")
    state = calculator.state

    pattern(
        "worker",
        read_json=lambda place: state | {"phases": ById(state["phases"])},
        update_phase_status=lambda *given, **named: update_phase_status(*given, **named, root=calculator.root),
    )

    first = calculator.state["phases"][0]
    assert (first["status"], first["deliverables"], first["context_for_next"]) == ("completed", DELIVERED, HANDOVER)
    assert calculator.state["current_phase"] == "phase_1"


def test_the_transitions_pattern_advances_as_we_do(calculator: Calculator) -> None:
    """R000-35, I000-7: §6.3 run on a phase that was completed only leaves what completing with advancing leaves."""
    calculator.create()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER, advance=False)
    only_completed = calculator.read(STATE)
    written: list[Any] = []
    asked: list[dict[str, str]] = []
    pattern(
        "transition",
        read_json=reader(calculator.root),
        write_json=lambda place, workflow: written.append((place, copy.deepcopy(workflow))),
        Task=lambda **call: asked.append(call),
    )
    assert calculator.read(STATE) == only_completed

    step = calculator.run("next", "--json").json["next"]
    assert written == [(STATE, calculator.state)]
    assert asked == [{"agent": step["agent"], "task": step["prompt"]}]


def test_the_end_of_the_workflow_is_saved(calculator: Calculator) -> None:
    """I000-10: §6.3 completes the workflow in memory only; ours writes the same into state and view."""
    calculator.create()
    calculator.update("phase_0", "completed")
    calculator.update("phase_1", "active")
    names = pattern("transition", read_json=reader(calculator.root), write_json=None, Task=None)
    meant = names["workflow"]
    assert (meant["status"], meant["current_phase"]) == ("completed", None)

    calculator.update("phase_1", "completed")
    assert {key: calculator.state[key] for key in ("status", "current_phase")} == {
        key: meant[key] for key in ("status", "current_phase")
    }
    assert "Status: completed | Current Phase: none" in calculator.view
