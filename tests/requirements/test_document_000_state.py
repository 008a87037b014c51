"""Document 000, the state file: R000-01 to -15 and R000-17, with the resolutions about it."""

from __future__ import annotations

import json
import random
import re
import shutil
from typing import TYPE_CHECKING, Any, cast, get_args

import pytest

from holdfast import paths
from holdfast.errors import TransitionError
from holdfast.formats.hybrid import functions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.model import Status
from tests.hybrid_moves import reopen
from tests.requirements.document_000 import (
    CREATE,
    DELIVERED,
    HANDOVER,
    KEYS,
    PHASE_KEYS,
    PHASES,
    REPORT,
    STATE,
    TASK,
    TEST,
    VIEW,
    example,
)
from tests.signals import Agent

if TYPE_CHECKING:
    from tests.requirements.document_000 import Calculator

NOW = "2025-01-05T14:30:22Z"
TASKS = [
    "Build \"it\", then 'that'\n\n  - with a list\n\t- and tabs\\ ",
    "Größe prüfen – 日本語 и 🚀\u200d✅",
    " leading and trailing blanks ",
    "line\r\nends of Windows",
]


def test_the_file_has_the_documents_keys_in_their_order_to_the_end(calculator: Calculator) -> None:
    """R000-01, R000-02, R000-03, R000-07, R000-08: valid JSON at its path; five keys, six in a phase, an id."""
    minimal = json.loads(example("minimal-schema.json"))
    assert (list(minimal), [list(phase) for phase in minimal["phases"]]) == (KEYS, [PHASE_KEYS] * 2)
    assert re.fullmatch(r"wf_\d{8}_\d{6}", calculator.create())
    for moved in (False, True):
        if moved:
            calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
            calculator.update("phase_1", "completed")
        state = json.loads((calculator.root / ".claude" / "state" / "workflow.json").read_bytes())
        assert (list(state), state["task"]) == (KEYS, TASK)
        assert [list(phase) for phase in state["phases"]] == [PHASE_KEYS] * 2
        assert [(phase["title"], phase["agent"]) for phase in state["phases"]] == list(PHASES)

    calculator.create("Twelve", [(f"Step {number}", "general-purpose") for number in range(12)])
    assert [phase["id"] for phase in calculator.state["phases"]] == [f"phase_{number}" for number in range(12)]


def test_the_state_file_is_the_single_source_of_truth(calculator: Calculator) -> None:
    """R000-01: whatever answers reads the file: an edit counts at once, and neither view nor ledger is needed."""
    calculator.create()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    state = calculator.state
    state["phases"][1] |= {"title": "Check it by hand", "agent": "checker"}
    calculator.project.write({STATE: state})
    (calculator.root / VIEW).write_text("# Workflow Status: another\n")
    shutil.rmtree(paths.state_dir())

    assert functions.get_workflow_state(calculator.id, root=calculator.root) == state
    shown = calculator.run("status", "--json").json["current"]
    assert (shown["title"], shown["phase"]) == (TASK, "Check it by hand")
    assert calculator.run("next", "--json").json["next"]["agent"] == "checker"
    assert [todo["content"] for todo in calculator.run("status", "--todos", "--json").json] == [
        CREATE,
        "Check it by hand",
    ]
    assert "Check it by hand" in calculator.project.fire("SessionStart", "SessionStart-compact").context


@pytest.mark.parametrize("now", [NOW, "2025-01-05T16:30:22+02:00"])
def test_the_id_is_made_of_date_and_time(calculator: Calculator, monkeypatch: pytest.MonkeyPatch, now: str) -> None:
    """R000-03: the id is `wf_` with date and time, in UTC."""
    monkeypatch.setenv("HOLDFAST_NOW", now)

    assert calculator.create() == calculator.state["id"] == "wf_20250105_143022"
    assert json.loads(example("minimal-schema.json"))["id"] == calculator.id


@pytest.mark.parametrize("task", TASKS)
def test_the_task_is_the_users_request_verbatim(calculator: Calculator, task: str) -> None:
    """R000-04: line breaks, quotes, blanks and letters beyond ASCII are kept, by function and command."""
    calculator.create(task)
    calculator.update("phase_0", "completed")
    assert calculator.state["task"] == task

    calculator.run("start", task, "--format", "hybrid", "--replace", "--phase", f"{CREATE} @general-purpose")
    assert calculator.state["task"] == task
    assert "\\u" not in calculator.read(STATE)


def test_the_workflow_follows_its_phases(calculator: Calculator) -> None:
    """R000-05, R000-06, R000-10, R000-13: four words for both; the current phase is the running one, then null."""
    calculator.create()
    seen = [calculator.summary()]
    moves: list[tuple[str, Status]] = [
        *(("phase_0", "active"), ("phase_0", "failed"), ("phase_0", "active"), ("phase_0", "completed")),
        ("phase_1", "completed"),
    ]
    for phase, status in moves:
        calculator.update(phase, status)
        seen.append(calculator.summary())

    assert seen == [
        ("pending", None, ["pending", "pending"]),
        ("active", "phase_0", ["active", "pending"]),
        ("failed", "phase_0", ["failed", "pending"]),
        ("active", "phase_0", ["active", "pending"]),
        ("active", "phase_1", ["completed", "active"]),
        ("completed", None, ["completed", "completed"]),
    ]


def test_another_status_is_refused(calculator: Calculator) -> None:
    """R000-05, R000-10: a word that is none of the four, `blocked` of other formats too; nothing is written."""
    calculator.create()
    before, wrong = calculator.read(STATE), ("blocked", "done", "Completed", "in_progress", "", "pending|active")
    assert "blocked" in get_args(Status)
    for status in wrong:
        with pytest.raises(TransitionError, match="pending, active, completed, failed"):
            calculator.update("phase_0", cast("Any", status))
    said = calculator.run("update", "--status", "blocked", code=1)
    assert "it can be pending, active, completed, failed" in said.err
    assert calculator.read(STATE) == before


def test_titles_and_agents_are_kept_as_given(calculator: Calculator) -> None:
    """R000-09: a title people read; an agent's name, a built-in, one of the user's or a plugin's."""
    phases = [
        ('Tests schreiben: "alle"', "general-purpose"),
        ("Review @ home", "my_reviewer"),
        ("Ship", "plugin:ship-it"),
    ]
    calculator.create("Agents", phases)
    assert [(phase["title"], phase["agent"]) for phase in calculator.state["phases"]] == phases

    calculator.run("done", "--all")
    given = [option for title, agent in phases for option in ("--phase", f"{title} @{agent}")]
    calculator.run("start", "Agents", "--format", "hybrid", *given)
    assert [(phase["title"], phase["agent"]) for phase in calculator.state["phases"]] == phases


@pytest.mark.parametrize("title", ["", "  ", "\n"])
def test_a_phase_without_a_title_is_refused(calculator: Calculator, title: str) -> None:
    """R000-09: what nobody can read is no title; no file is made."""
    with pytest.raises(TransitionError, match="needs a title"):
        calculator.create(phases=[PHASES[0], (title, "general-purpose")])
    assert not (calculator.root / STATE).exists()


def test_deliverables_are_an_array_of_strings(calculator: Calculator) -> None:
    """R000-11: it starts empty; paths and outcomes are kept as they are."""
    calculator.create()
    assert [phase["deliverables"] for phase in calculator.state["phases"]] == [[], []]

    calculator.update("phase_0", "completed", DELIVERED)
    calculator.run(
        "update", "--phase", "phase_1", "--deliverable", "tests/test_calculator.py", "--deliverable", "12 pass"
    )
    delivered = [phase["deliverables"] for phase in calculator.state["phases"]]
    assert delivered == [DELIVERED, ["tests/test_calculator.py", "12 pass"]]


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_context_for_next_stays_empty_until_the_phase_completes(calculator: Calculator, outcome: str) -> None:
    """R000-12: a string, "" while a phase waits, runs or has failed; what a completed one hands over."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    assert [phase["context_for_next"] for phase in calculator.state["phases"]] == ["", ""]

    agent.returned(REPORT) if outcome == "completed" else agent.failed(REPORT)
    handed = HANDOVER if outcome == "completed" else ""
    assert [phase["context_for_next"] for phase in calculator.state["phases"]] == [handed, ""]


def test_context_for_next_is_refused_before_the_phase_completes(calculator: Calculator) -> None:
    """R000-12: from people and agents, too, by each command and function, while a phase waits, runs or has failed."""
    calculator.create()
    for status in ("pending", "active", "failed"):
        if status != "pending":
            calculator.update("phase_0", status)
        refused = f'phase 1 "Create calculator module" is {status}'
        assert refused in calculator.run("update", "--context", "too early", code=1).err
        if status == "pending":
            said = calculator.run("update", "--deliverable", "a.py", code=1).err
            assert "is pending, so it has delivered nothing" in said
    with pytest.raises(TransitionError, match='phase 1 "Create calculator module" is active'):
        functions.update_phase_status(calculator.id, "phase_0", "active", context_for_next="x", root=calculator.root)
    assert [phase["context_for_next"] for phase in calculator.state["phases"]] == ["", ""]

    calculator.update("phase_0", "active")
    calculator.run("update", "--phase", "1", "--status", "completed", "--context", "in time")
    assert [phase["context_for_next"] for phase in calculator.state["phases"]] == ["in time", ""]


@pytest.mark.parametrize(
    ("way", "refused", "words"),
    [
        (["active"], "pending", "can't go from active to pending"),
        (["active", "completed"], "pending", "`holdfast reopen 1` makes it active again"),
        (["active", "completed"], "active", "`holdfast reopen 1` makes it active again"),
        (["active", "completed"], "failed", "`holdfast reopen 1` makes it active again"),
        (["active", "failed"], "pending", "can't go from failed to pending"),
        (["active", "failed"], "completed", 'phase 1 "Create calculator module" failed; retry it with'),
    ],
)
def test_no_other_edge_is_taken(calculator: Calculator, way: list[Status], refused: Status, words: str) -> None:
    """R000-14: a finished phase stays finished, and nothing goes back to pending; the refusal says what to do."""
    calculator.create()
    for status in way:
        calculator.update("phase_0", status, advance=False)
    before = calculator.read(STATE)

    with pytest.raises(TransitionError, match=words):
        calculator.update("phase_0", refused)
    assert calculator.read(STATE) == before


def test_a_second_phase_does_not_become_active_beside_the_first(calculator: Calculator) -> None:
    """R000-15: refused with the phase that is active; an agent launched for it does not start it either."""
    calculator.create()
    calculator.update("phase_0", "active")

    with pytest.raises(
        TransitionError, match='phase 1 "Create calculator module" is active, and only one phase can be'
    ):
        calculator.update("phase_1", "active")
    Agent(calculator.project, TEST).about_to()
    assert calculator.summary() == ("active", "phase_0", ["active", "pending"])


def test_the_running_phase_stays_current_when_another_one_fails(calculator: Calculator) -> None:
    """R000-06: two agents at once; that the later phase's agent fails does not make the running phase another."""
    calculator.create()
    first, second = Agent(calculator.project, CREATE), Agent(calculator.project, TEST, number=2)
    first.about_to()
    second.about_to()
    second.failed("no disk space")

    assert calculator.summary() == ("failed", "phase_0", ["active", "failed"])


def test_whatever_is_tried_at_most_one_phase_is_active(calculator: Calculator) -> None:
    """R000-15, R000-06: after any moves one phase at most is active, and then it is the current one."""
    dice = random.Random(1)
    calculator.create(phases=[(f"Step {number}", "general-purpose") for number in range(4)])
    moves: list[Status] = ["active", "active", "completed", "failed"]
    refused = 0
    for _ in range(60):
        phase, status, advance = f"phase_{dice.randrange(4)}", dice.choice(moves), dice.random() < 0.5
        try:
            if dice.random() < 0.2:
                reopen(Workspace.open(calculator.root), phase)
            else:
                calculator.update(phase, status, advance=advance)
        except TransitionError:
            refused += 1
        state = calculator.state
        active = [each["id"] for each in state["phases"] if each["status"] == "active"]
        assert len(active) <= 1
        assert not active or active == [state["current_phase"]]
        assert (state["status"] == "completed") == all(each["status"] == "completed" for each in state["phases"])
    assert 0 < refused < 60


def test_a_fresh_state_is_the_example_before_its_start(calculator: Calculator, monkeypatch: pytest.MonkeyPatch) -> None:
    """R000-17, I000-5: nothing begun; the example's `a|b|c` and its current phase are notation."""
    monkeypatch.setenv("HOLDFAST_NOW", NOW)
    calculator.create()
    assert calculator.read(STATE) == example("fresh-state.json")

    meant = json.loads(example("minimal-schema.json"))
    for part in (meant, *meant["phases"]):
        assert set(part["status"].split("|")) <= {"pending", "active", "completed", "failed"}
        part["status"] = part["status"].split("|")[0]
    assert calculator.state | {"current_phase": "phase_0"} == meant


def test_a_file_with_the_notation_in_it_is_still_read(calculator: Calculator) -> None:
    """I000-5: somebody saved the example as it stands; it is shown with a warning and can be worked on."""
    calculator.project.write({STATE: example("minimal-schema.json")})

    shown = calculator.run("status", "--json").json["current"]
    assert [phase["title"] for phase in shown["phases"]] == [CREATE, TEST]
    assert any("pending|active|completed|failed" in warning for warning in shown["warnings"])
    calculator.run("done")
    assert calculator.statuses == ["completed", "active"]
