"""Whatever is reported of an agent, in whichever order: one row, the strongest report, and one status."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.rows import Agent, Event
from holdfast.sessions import agents, conversations
from holdfast.sessions.workspace import Workspace
from tests.agentry import CALL, RUN, begin, launch, only, report
from tests.handmade import ME, OTHER, together

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.sessions.agents import State

ENDED = ("stopped", "completed", "failed")
signal = st.tuples(st.sampled_from(agents.STATES[1:]), st.booleans())


def send(project: Workspace, step: str, call: str = CALL, run: str = RUN) -> None:
    """Record one signal."""
    if step == "called":
        agents.record_call(project, ME, call, fingerprint="same")
    elif step == "launched":
        launch(project, call)
    elif step == "named":
        agents.name_run(project, ME, call, run)
    else:
        report(project, step, "" if step in ("running", "missing") else f"said {step}", run)  # type: ignore[arg-type]


def orders() -> list[tuple[str, ...]]:
    """Return every order of up to five signals in which the call comes before the client names its run."""
    found = []
    for ends in ((), ("stopped",), ("stopped", "completed"), ("completed", "failed"), ("missing", "stopped")):
        for order in permutations(("called", "launched", "named", "running", *ends)):
            call, launched, named = (order.index(each) for each in ("called", "launched", "named"))
            if call < launched < named:
                found.append(order)
    return found


def test_signals_in_any_order_give_the_same_agent(project: Workspace) -> None:
    """Client facts §3.4: SubagentStart and SubagentStop may come before the launch's PostToolUse."""
    wrong = []
    for number, order in enumerate(orders()):
        call, run = f"toolu_{number}", f"a{number:016}"
        for step in order:
            send(project, step, call, run)
        strongest = max((each for each in order if each in ENDED), key=agents.STATES.index, default="running")
        rows = project.ledger.table(Agent).where("call = ? OR run = ?", call, run)
        found = [(each.call, each.run, each.phase, each.fingerprint, each.state, each.result) for each in rows]
        words = f"said {strongest}" if strongest != "running" else ""
        if "missing" in order and strongest == "running":
            continue
        if found != [(call, run, "phase_0", "same", strongest, words)]:
            wrong.append(f"{order}: {found}")
    assert not wrong, "\n".join(wrong)


@given(st.lists(signal, max_size=8))
def test_status_follows_from_the_reports_alone(steps: list[tuple[State, bool]]) -> None:
    """A weaker report never replaces a stronger one; only an agent that is sent on runs again."""
    agent = Agent("row", ME, "", call=CALL, state="launched", launched_at="00")
    for number, (state, used) in enumerate(steps, 1):
        before, at = agent, f"{number:02}"
        agent = agents.report(before, state, at, f"{state} {at}", used=used and state not in agents.BEGUN)
        restarted = state == "running" and (before.state == "missing" or bool(before.used_at))
        assert agent.resumed == (restarted or (before.resumed and state in agents.BEGUN)), (before, state)
        if restarted:
            assert (agent.status, agent.ended_at) == ("running", "")
        elif not before.resumed:
            assert agents.STATES.index(agent.state) >= agents.STATES.index(before.state)
            assert bool(agent.used_at) >= bool(before.used_at)
        if agent.status == "running":
            assert agent.resumed or agent.state in agents.BEGUN
        else:
            assert agent.failed == (agent.state in ("missing", "failed"))
            assert agent.status == ("used" if agent.used_at else "failed" if agent.failed else "finished")
        assert agents.is_open(agent), "nobody has judged it"
        assert agents.is_open(replace(agent, verdict="abandoned")) == (
            agent.unused or agent.resumed or agent.state == "missing"
        )


@given(st.lists(signal, max_size=5), st.integers(0, 5))
def test_a_run_that_is_named_late_is_as_if_named_at_once(steps: list[tuple[State, bool]], named: int) -> None:
    """What was reported before comes with it, a use of the result included."""
    launched = Agent("call", ME, "", call=CALL, agent_type="builder", phase="p", state="launched")
    launched = replace(launched, launched_at="00", since="00")
    at_once, late, bare = replace(launched, run=RUN), launched, Agent("run", ME, "", run=RUN, state="launched")
    bare = replace(bare, launched_at="01", since="01")
    for number, (state, used) in enumerate(steps, 1):
        told = (state, f"{number:02}", f"{state} {number}")
        used = used and state not in agents.BEGUN
        at_once = agents.report(at_once, *told, used=used)
        if number <= named:
            bare = agents.report(bare, *told, used=used)
        else:
            late = agents.merge(late, bare) if not late.run else late
            late = agents.report(late, *told, used=used)
    late = agents.merge(late, bare) if not late.run else late
    for name in ("state", "status", "result", "changed_at", "resumed", "phase", "agent_type", "run", "call"):
        assert getattr(late, name) == getattr(at_once, name), name
    assert bool(late.used_at) == bool(at_once.used_at)
    assert late.since in ((at_once.since,) if late.resumed else ("00", at_once.since))


def test_a_missing_agent_that_goes_on_is_judged_again(project: Workspace) -> None:
    """Its last event may only have been on its way; and whoever repeats its call gets its result."""
    for number, state in enumerate(("running", "stopped", "completed")):
        call, run = f"toolu_{number}", f"a{number:016}"
        begin(project, call, run)
        report(project, "running", run=run)
        agents.mark_missing(project, ME, ())
        assert agents.judge(project, only(project, call), "failed")
        report(project, state, run=run)  # type: ignore[arg-type]
        found = only(project, call)
        assert (found.verdict, found.judged) == ("unwritten", False)
        assert found.status == ("running" if state == "running" else "finished")


def test_an_agent_that_is_sent_on_and_brings_nothing_keeps_its_result(project: Workspace) -> None:
    """The client no longer lists it, and its first result was used."""
    begin(project)
    report(project, "completed", "First.", used=True)
    report(project, "running")
    assert only(project).status == "running"
    agents.mark_missing(project, ME, ())
    assert (only(project).status, only(project).result) == ("used", "First.")


@pytest.mark.parametrize("alive", [True, False])
def test_an_agent_moves_to_the_session_that_continues_it_only_if_its_own_is_over(
    project: Workspace, alive: bool
) -> None:
    """A fork may send a message to an agent of a session that lives; that one keeps its own."""
    conversations.note_event(project, OTHER, process=str(os.getppid()) if alive else "999999999")
    launch(project, session=OTHER)
    agents.name_run(project, OTHER, CALL, RUN)
    report(project, "running", session=OTHER)
    report(project, "running", session=ME)
    launched = agents.of_call(project, OTHER if alive else ME, CALL)
    assert launched and launched.resumed is not alive
    assert len(project.ledger.table(Agent).where(run=RUN)) == (2 if alive else 1)


def test_of_contended_signals_the_stronger_wins(project: Workspace) -> None:
    """Three processes report 60 agents at once, each something else and in another order."""
    runs = [f"a{number:016}" for number in range(60)]
    for number, run in enumerate(runs):
        launch(project, f"toolu_{number}")
        if number % 2:
            agents.name_run(project, ME, f"toolu_{number}", run)
    project.close()
    deed = f"""
runs = {runs!r}
for run in reversed(runs) if me == "completed" else runs:
    agents.record_report(project, {ME!r}, run, me, me)
    agents.name_run(project, {ME!r}, f"toolu_{{int(run[1:])}}", run)
print(len(runs))
"""
    names = ["stopped", "completed", "failed"]
    assert together(project.root, names, deed=deed, before="from holdfast.sessions import agents") == ["60"] * 3
    rows = Workspace.open(project.root).ledger.table(Agent).where()
    assert {(each.state, each.result) for each in rows} == {("failed", "failed")}
    assert sorted(each.run for each in rows) == runs


@pytest.mark.parametrize(
    ("deed", "before", "failed"),
    [
        ("agents.judge(project, agents.of_call(project, me, call), 'completed')", "", False),
        ("bool(progress.contradicted(project, me))", "completed", True),
    ],
)
def test_only_one_of_several_processes_judges_an_agent(
    project: Workspace, deed: str, before: str, failed: bool
) -> None:
    """Events that come at once tell neither its end nor a late failure twice."""
    begin(project)
    if before:
        agents.judge(project, only(project), before)
    report(project, "failed" if failed else "stopped")
    project.close()
    begun = f"from holdfast.sessions import agents, progress\nme, call = {ME!r}, {CALL!r}"
    assert sorted(together(project.root, ["one", "two", "three"], deed=f"print({deed})", before=begun)) == [
        *("False", "False", "True")
    ]


def test_open_agents_are_those_with_something_left(project: Workspace) -> None:
    """The index finds what a look at all finds, and nothing else asks what an agent is at."""
    for number, (state, used, verdict) in enumerate(
        (state, used, verdict)
        for state in ("launched", "running", "missing", "stopped", "completed", "failed")
        for used in (False, True)
        for verdict in ("", "unwritten", "completed", "failed", "abandoned", "disputed")
    ):
        call, run = f"toolu_{number:03}", f"a{number:016}"
        begin(project, call, run)
        if state != "launched":
            report(project, state, run=run, used=used)  # type: ignore[arg-type]
        agents.change(project, only(project, call), verdict=verdict)
    everyone = agents.list_launched(project, ME)
    assert len(everyone) == 72
    assert agents.waiting(project, ME) == [each for each in everyone if each.status != "used"]
    unjudged = [each for each in everyone if not each.judged]
    assert [each for each in agents.launched(project, ME) if not each.judged] == unjudged
    missing = [each for each in everyone if each.state == "missing"]
    assert [each for each in agents.launched(project, ME) if each.state == "missing"] == missing
    settled = len(everyone) - len(agents.launched(project, ME))
    assert settled > len(everyone) // 4, "what is over is not read"


def test_words_of_a_launch_are_bounded_and_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4,000 characters of a prompt are kept; a cut halves no secret, what the user excludes is masked."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text('exclude_patterns = ["Workspace [A-Z]+"]\n')
    project = Workspace.open(tmp_path, trusted=True)
    launch(project, "long", description="odd \ud83d", prompt="x" * 5_000)
    launch(project, "secret", prompt=f"{'x' * 3_990} ghp_{'a1B2c3D4e5' * 4}")
    launch(project, "mine", description="Build Workspace ORION", prompt="Workspace ORION is ours.")
    assert (only(project, "long").description, only(project, "long").prompt) == ("odd ?", "x" * 4_000)
    assert "ghp_" not in only(project, "secret").prompt
    assert (only(project, "mine").description, only(project, "mine").prompt) == (
        "Build [excluded]",
        "[excluded] is ours.",
    )

    monkeypatch.setattr(agents, "RESULT_LIMIT_CHARS", 500)
    for length, whole in ((500, True), (501, False)):
        begin(project, f"of {length}", f"of {length}")
        report(project, "completed", "x" * length, f"of {length}")
        result = only(project, f"of {length}").result
        assert (len(result), result == "x" * length) == (500, whole)
    for start in range(360, 500, 5):
        begin(project, f"c{start}", f"r{start}")
        report(project, "completed", f"{'x ' * (start // 2)}ghp_{'a1B2c3D4e5' * 4}{' y' * 500}", f"r{start}")
        assert "ghp_" not in only(project, f"c{start}").result


def test_the_log_has_each_launch_and_end_once(project: Workspace) -> None:
    """With the phase, also if the run ended before the client named it; a stronger report replaces a weaker one."""

    def logged() -> list[tuple[str, str, str]]:
        rows = project.ledger.table(Event).where(kind="agent", order="at, what DESC")
        return [(each.what, each.phase, json.loads(each.data)["last_message"]) for each in rows]

    def log(steps: Sequence[str]) -> list[tuple[str, str, str]]:
        for step in steps:
            send(project, step)
        return logged()

    assert log(["running", "launched"]) == [("agent launched", "phase_0", "")]
    assert ("agent stopped", "", "said stopped") in log(["stopped"])
    last = log(["named", "completed"])
    assert sorted(last) == [("agent completed", "phase_0", "said completed"), ("agent launched", "phase_0", "")]
