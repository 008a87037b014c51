"""A launch is noted once and judged once; what its run reports is kept until the launch names it, in any order."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import agent_status, lifecycle
from holdfast.sessions.workspace import Workspace
from tests.agentry import CALL, RUN, launch, report
from tests.handmade import ME, together
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents.lifecycle import State

# A launch is noted at its PostToolUse at the latest, before it is named there.
ORDERS = [
    order
    for order in permutations(("launched", "named", "running", "stopped"))
    if order.index("launched") < order.index("named")
]


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def verdicts(project: Workspace, session: str = ME) -> list[tuple[str, str, str]]:
    return [(due.tool_use_id, due.outcome, due.words) for due in agent_status.due(project, session)]


def test_the_prompt_is_kept_in_bounds(project: Workspace) -> None:
    """Of a launch's prompt 4,000 characters are kept; a lone surrogate costs nothing."""
    launch(project, description="odd \ud83d", prompt="x" * 5_000)

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert (found.description, found.prompt) == ("odd ?", "x" * 4_000)


def test_a_secret_is_masked_where_the_prompt_is_cut(project: Workspace) -> None:
    """Half of it would look like none."""
    launch(project, prompt=f"{'x' * 3_990} ghp_{'a1B2c3D4e5' * 4}")

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert "ghp_" not in found.prompt


def test_a_secret_is_masked_where_a_result_is_cut(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the cut is."""
    monkeypatch.setattr(lifecycle, "RESULT_LIMIT_CHARS", 500)
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    for start in range(360, 500, 5):
        report(project, "completed", f"{'x ' * (start // 2)}ghp_{'a1B2c3D4e5' * 4}{' y' * 500}")
        found = agent_status.find(project, ME, CALL)
        assert found is not None
        assert "ghp_" not in found.words


def test_only_one_of_several_processes_judges_a_launch(project: Workspace) -> None:
    """Three agents of one batch may bring three processes to the same launch."""
    launch(project)
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(lifecycle.judged(project, {ME!r}, {CALL!r}, 'completed'))",
        before="from holdfast.sessions.agents import lifecycle",
    )

    assert sorted(said) == ["False", "False", "True"]


def test_calls_without_an_id_are_told_apart_by_what_was_asked() -> None:
    """Older clients send no tool_use_id; the input of PreToolUse and PostToolUse is the same."""
    asked = {"prompt": "Build it", "description": "build"}

    assert lifecycle.call_id(CALL, asked) == CALL
    assert lifecycle.call_id(None, asked) == lifecycle.call_id("", dict(reversed(asked.items())))
    assert lifecycle.call_id(None, asked) != lifecycle.call_id(None, asked | {"prompt": "Test it"})
    assert lifecycle.call_id(None, {"odd": "\ud83d"}).startswith("asked:")


def test_a_verdict_that_waits_to_be_written_is_told_once_and_still_judged(project: Workspace) -> None:
    """Of many events on a full disk the first tells of it; the one that finds room again ends it."""
    launch(project)
    assert [lifecycle.unwritten(project, ME, CALL) for _ in range(2)] == [True, False]
    assert [lifecycle.judged(project, ME, CALL, "completed") for _ in range(2)] == [True, False]
    assert not lifecycle.unwritten(project, ME, CALL)


def test_excluded_patterns_are_masked_in_launches(tmp_path: Path) -> None:
    """Neither of its description nor of its prompt, which guidance and reports quote."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text('exclude_patterns = ["Workspace [A-Z]+"]\n')
    project = Workspace.open(tmp_path, trusted=True)
    launch(project, description="Build Workspace ORION", prompt="Workspace ORION is ours.")

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert (found.description, found.prompt) == ("Build [excluded]", "[excluded] is ours.")


@each_row("order", ORDERS)
def test_signals_may_come_in_any_order(tmp_path: Path, order: tuple[str, ...]) -> None:
    """Client facts §3.4: SubagentStart and SubagentStop may be handled before the launch's PostToolUse."""
    project = Workspace.open(tmp_path)
    steps = {
        "launched": lambda: launch(project),
        "named": lambda: lifecycle.named(project, ME, CALL, RUN),
        "running": lambda: report(project, "running"),
        "stopped": lambda: report(project, "stopped", "Words."),
    }
    for step in order:
        steps[step]()

    assert verdicts(project) == [(CALL, "completed", "Words.")]


@each_row("order", list(permutations(("running", "stopped", "completed", "failed"))))
def test_failure_beats_every_other_report_of_the_run(tmp_path: Path, order: tuple[State, ...]) -> None:
    """A failure signal beats "completed" from the same run, whichever comes first."""
    project = Workspace.open(tmp_path)
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "failed", "said failed")]


@each_row("order", list(permutations(("running", "stopped", "completed"))))
def test_a_verdict_beats_a_bare_stop(tmp_path: Path, order: tuple[State, ...]) -> None:
    """The words of the verdict stay, whatever else is said later."""
    project = Workspace.open(tmp_path)
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "completed", "said completed")]


@each_row("state", ["stopped", "completed", "failed"])
def test_a_missing_agents_own_word_counts_more(tmp_path: Path, state: State) -> None:
    """Its last event may only have been on its way."""
    project = Workspace.open(tmp_path)
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "running")
    lifecycle.still_there(project, ME, set())
    report(project, state, "its own words")

    expected = "failed" if state == "failed" else "completed"
    assert verdicts(project) == [(CALL, expected, "its own words")]


def test_a_late_failure_is_told_by_one_of_many(project: Workspace) -> None:
    """Three events that come at once do not tell it three times."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    lifecycle.judged(project, ME, CALL, "completed")
    report(project, "failed")
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(len(progress.contradicted(project, {ME!r})))",
        before="from holdfast.sessions.agents import progress",
    )

    assert sorted(said) == ["0", "0", "1"]
