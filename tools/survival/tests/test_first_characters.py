"""Every fact of the score's ordinary workflow stands in the first 2,000 characters of the guidance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from holdfast.process.run_program import CompletedProgram
from holdfast.testing import HoldfastProject
from holdfast.testkit import place
from holdfast.testkit.place import Hook, Place
from tests.commandline import holdfast
from tools.survival import findings, scene, score, workflow_files
from tools.survival.conversation import Conversation
from tools.survival.rows.plain import warm
from tools.survival.samples import FORMATS
from tools.survival.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.survival.score import Expected, Reading

FIRST = 2_000
FACTS = 29
CYCLES = 4  # of the score's ten: phases are completed, and values and the last request change


class Indoors(Conversation):
    """A session of the score whose hooks and commands run in this process."""

    def run(
        self, command: str, payload: Mapping[str, Any], limit_s: float | None = None, **variables: str
    ) -> CompletedProgram:
        """Answer an event."""
        assert command == "here"
        fired = HoldfastProject(self.root, self.session).send(dict(payload))
        assert fired.faults == []
        return CompletedProgram(fired.exit_code, fired.stdout, "", 0.0)

    def cli(self, *arguments: str) -> CompletedProgram:
        """Run a command."""
        return CompletedProgram(0, holdfast(*arguments, root=self.root, session=self.session).out, "", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_all_29_facts_stand_first(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """After each compaction of the row `warm`, in which nothing goes wrong; nothing is lost or false there."""
    judged: list[tuple[Expected, Reading, str]] = []

    def judge(expected: Expected, told: Sequence[str], lengths: Sequence[int]) -> Reading:
        (text,) = filter(None, map(score.guidance, told))
        judged.append((expected, score.judge(expected, told, lengths), text))
        return judged[-1][1]

    monkeypatch.setattr(scene, "Conversation", Indoors)
    monkeypatch.setattr(Place, "hooks", lambda self, payload, root: [Hook("here")])
    monkeypatch.setattr(workflow_files, "install", lambda *made: None)
    monkeypatch.setattr(findings, "judge", judge)

    with place.opened() as made, Scene(made, 0, name, FACTS, CYCLES) as row:
        warm(row)
        assert row.found.faults == []

    assert len(judged) == CYCLES + 1
    for expected, reading, text in judged:
        assert len(expected.facts) >= FACTS
        assert (reading.lost, reading.false, reading.over) == ((), (), ())
        first = text.encode("utf-16-le")[: 2 * FIRST].decode("utf-16-le", "ignore")
        late = [fact for fact in expected.facts if fact.needle not in first]
        assert late == [], text
