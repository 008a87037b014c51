"""An independent judge: compaction-conformance-kit plants canaries and draws survival curves.

The conversation's own compaction is the kit's worst one, which keeps the last third. What the model puts into a
workflow as it is told (each statement as a context variable, under one name) comes back through Holdfast.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from compaction_kit.canaries import CanaryType, seeded_canaries
from compaction_kit.compacted import CompactedContext
from compaction_kit.compactors import LossyTruncationCompactor
from compaction_kit.corpus import build_random_session
from compaction_kit.report import build_report
from compaction_kit.runner import run_conformance
from compaction_kit.session import build_seeded_session

from holdfast.dispatch.budget import LIMIT_UNITS, units
from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Callable

    from compaction_kit.session import Turn

    from holdfast.testing import HoldfastProject

ROUNDS = 5
_TYPED = re.compile(r"(SAFETY RULE|HARD CONSTRAINT|FACT|GOAL STATE|USER PREFERENCE): (?P<words>.*)", re.DOTALL)
_NAME = re.compile(r"\b[A-Za-z]+\b")


class Kept:
    """The conversation's compaction, with or without Holdfast beside it."""

    def __init__(self, project: HoldfastProject | None, form: str = "compaction") -> None:
        self.name = f"holdfast-{form}" if project else "alone"
        self._project = project
        self._form = form
        self._own = LossyTruncationCompactor()

    def compact(self, turns: list[Turn], round_num: int = 1) -> CompactedContext:
        """Compact once, as the kit asks for it."""
        if self._project and round_num == 1:
            self._keep(self._project, turns)
        summary = self._own.compact(turns, round_num).text
        guidance = self._compacted(self._project, summary) if self._project else ""
        return CompactedContext(f"{summary}\n{guidance}", self.name, round_num)

    def _keep(self, project: HoldfastProject, turns: list[Turn]) -> None:
        """Do what a diligent model does while it listens; what is said anew under one name replaces what was."""
        holdfast("start", "Kit", "--format", self._form, "--phase", "Listen", "--phase", "Act", root=project.root)
        for said in turns:
            if typed := _TYPED.fullmatch(said.text):
                words = typed["words"]
                name = "-".join(_NAME.findall(words)[:4])
                holdfast("update", "--set", f"{typed[1]} {name}={words}", root=project.root)

    def _compacted(self, project: HoldfastProject, summary: str) -> str:
        project.fire("PreCompact", "PreCompact-auto")
        project.fire("SubagentStop", "SubagentStop-compaction", last_assistant_message=summary)
        guidance = project.fire("SessionStart", "SessionStart-compact").context
        assert units(guidance) <= LIMIT_UNITS
        return guidance


def curves(session: Any, canaries: Any, compactor: Kept) -> dict[str, list[float]]:
    run = run_conformance(session, compactor, rounds=ROUNDS, canaries=canaries)
    return {finding.canary_type: finding.curve for finding in build_report(run, canaries=canaries).findings}


ALL = {kind.value: [1.0] * ROUNDS for kind in CanaryType}


@pytest.mark.parametrize("form", ["compaction", "hybrid"])
def test_of_the_seeded_session_everything_survives(holdfast_project: Callable[..., HoldfastProject], form: str) -> None:
    """Five rounds, five types; the same compaction alone has lost every safety rule after the second."""
    session, canaries = build_seeded_session(), seeded_canaries()
    assert curves(session, canaries, Kept(holdfast_project({}), form)) == ALL
    alone = curves(session, canaries, Kept(None))
    assert alone["safety_rule"][1:] == [0.0] * (ROUNDS - 1), "else the judge could not fail"


@pytest.mark.parametrize("seed", range(1, 9))
def test_of_random_sessions_everything_survives_and_nothing_stale(
    holdfast_project: Callable[..., HoldfastProject], seed: int
) -> None:
    """A cap and a deadline are said anew in each: what is given back last is what holds, and only that."""
    session, canaries = build_random_session(seed)
    compactor = Kept(holdfast_project({}))
    run = run_conformance(session, compactor, rounds=ROUNDS, canaries=canaries)
    assert [sum(each.survived.values()) for each in run.rounds] == [len(canaries)] * ROUNDS
    last = run.rounds[-1].context.text
    stale = [token for canary in canaries for token in canary.superseded_tokens if token in last]
    assert stale == []
