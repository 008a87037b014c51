"""A canary: each version of the client writes the files of its Workflow tool as Holdfast reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.client import run_files
from tests.client.test_script_runs import SIX, SKIP, finish, fleet, launch, results
from tests.waiting import until

if TYPE_CHECKING:
    from tests.client.test_script_runs import Fleet

__all__ = ["fleet"]

LABELS = {f"a{number}" for number in range(1, 7)}


@pytest.mark.scenario(16)
def test_the_clients_own_files_are_as_known(fleet: Fleet) -> None:
    """Of a run that has ended, and of one that was cut off with a failed agent. It says in a line what changed."""
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=SIX)
    finish(fleet.world, session)
    failing = SIX.replace("'six'", "'cut'")
    fleet.failing, fleet.stuck = {"2"}, {"6"}
    launch(fleet.world, session, "Do another.", script=failing)
    until(lambda: results(fleet.world) == 6 + 4)
    session.kill()
    found = []
    for run, script, ended in zip(fleet.world.scripts, (SIX, failing), (True, False), strict=True):
        assert run["transcript"].endswith(f"/{session.id}/subagents/workflows/{run['run']}"), run["transcript"]
        transcript = Path(run["transcript"]).parents[2].with_suffix(".jsonl")
        found += run_files.changes(transcript, run["run"], script, LABELS, ended=ended)
    if found:
        pytest.fail(f"client {fleet.world.version}: {'; '.join(found)}", pytrace=False)
