"""A call of the Agent tool is noted once, judged once, and known by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import launches
from holdfast.sessions.workspace import Workspace
from tests.agentry import CALL, RUN, launch
from tests.handmade import ME, OTHER, together

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def test_a_launch_that_is_known_keeps_what_it_has(project: Workspace) -> None:
    """PostToolUse notes a launch again in case PreToolUse never fired; the first note stands."""
    launch(project, phase="phase_0")
    launch(project, phase="phase_3")

    found = launches.find(project, ME, CALL)
    assert found is not None
    assert (found.phase, found.workflow, found.agent_type) == ("phase_0", "hybrid:x#1", "builder")
    assert launches.find(project, OTHER, CALL) is None


def test_the_prompt_is_kept_in_bounds(project: Workspace) -> None:
    """Of a launch's prompt 4,000 characters are kept; a lone surrogate costs nothing."""
    launch(project, description="odd \ud83d", prompt="x" * 5_000)

    found = launches.find(project, ME, CALL)
    assert found is not None
    assert (found.description, found.prompt) == ("odd ?", "x" * 4_000)


def test_a_secret_is_masked_where_the_prompt_is_cut(project: Workspace) -> None:
    """Half of it would look like none."""
    launch(project, prompt=f"{'x' * 3_990} ghp_{'a1B2c3D4e5' * 4}")

    found = launches.find(project, ME, CALL)
    assert found is not None
    assert "ghp_" not in found.prompt


def test_of_many_judges_at_once_one_judges(project: Workspace) -> None:
    """Three agents of one batch may bring three processes to the same launch."""
    launch(project)
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(launches.judged(project, {ME!r}, {CALL!r}, 'completed'))",
        before="from holdfast.sessions.agents import launches",
    )

    assert sorted(said) == ["False", "False", "True"]


def test_foreground_launches_that_never_returned_are_given_up(project: Workspace) -> None:
    """At the prompt no foreground agent can run; one in the background goes on, and a verdict stands."""
    launch(project, "foreground")
    launch(project, "background")
    launches.named(project, ME, "background", RUN)
    launch(project, "judged")
    launches.judged(project, ME, "judged", "failed")

    launches.abandon_open(project, ME)

    states = {}
    for call in ("foreground", "background", "judged"):
        found = launches.find(project, ME, call)
        assert found is not None
        states[call] = found.verdict
    assert states == {"foreground": "abandoned", "background": None, "judged": "failed"}


def test_calls_without_an_id_are_told_apart_by_what_was_asked() -> None:
    """Older clients send no tool_use_id; the input of PreToolUse and PostToolUse is the same."""
    asked = {"prompt": "Build it", "description": "build"}

    assert launches.call_id(CALL, asked) == CALL
    assert launches.call_id(None, asked) == launches.call_id("", dict(reversed(asked.items())))
    assert launches.call_id(None, asked) != launches.call_id(None, asked | {"prompt": "Test it"})
    assert launches.call_id(None, {"odd": "\ud83d"}).startswith("asked:")


def test_of_two_calls_that_name_a_run_the_later_is_meant(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may be sent on with a call of its own, for another phase."""
    for minute, call in ((10, "first"), (20, "second")):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute}:00Z")
        launch(project, call, phase=call)
        launches.named(project, ME, call, RUN)
    found = launches.of_run(project, ME, RUN)
    assert found is not None
    assert found.phase == "second"


def test_only_what_was_judged_completed_is_doubted_and_once(project: Workspace) -> None:
    """A failure is no surprise, and a doubt is told once."""
    for call, verdict in (("c1", "completed"), ("c2", "failed"), ("c3", None)):
        launch(project, call)
        if verdict:
            assert launches.judged(project, ME, call, verdict)

    assert [launches.dispute(project, ME, call) for call in ("c1", "c1", "c2", "c3")] == [True, False, False, False]


def test_a_call_has_returned_once_its_run_is_named_or_it_is_judged(project: Workspace) -> None:
    """Of the others the transcript is asked at each event; the first launched comes first."""
    for call in ("judged", "named", "second", "first"):
        launch(project, call)
    project.ledger.run("UPDATE launches SET launched_at = '2026' WHERE tool_use_id = 'first'")
    launches.named(project, ME, "named", RUN)
    launches.judged(project, ME, "judged", "failed")

    assert [each.tool_use_id for each in launches.unanswered(project, ME)] == ["first", "second"]
    assert launches.unanswered(project, OTHER) == []


def test_a_verdict_that_waits_to_be_written_is_told_once_and_still_judged(project: Workspace) -> None:
    """Of many events on a full disk the first tells of it; the one that finds room again ends it."""
    launch(project)
    assert [launches.unwritten(project, ME, CALL) for _ in range(2)] == [True, False]
    assert [launches.judged(project, ME, CALL, "completed") for _ in range(2)] == [True, False]
    assert not launches.unwritten(project, ME, CALL)


def test_what_the_user_keeps_out_of_capture_is_kept_of_no_launch(tmp_path: Path) -> None:
    """Neither of its description nor of its prompt, which guidance and reports quote."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text('exclude_patterns = ["Workspace [A-Z]+"]\n')
    project = Workspace.open(tmp_path, trusted=True)
    launch(project, description="Build Workspace ORION", prompt="Workspace ORION is ours.")

    found = launches.find(project, ME, CALL)
    assert found is not None
    assert (found.description, found.prompt) == ("Build [excluded]", "[excluded] is ours.")
