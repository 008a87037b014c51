"""A client's process is told from a later one with its number, and from one of the same number in another container."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude import claude
from holdfast.process import liveness
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.signals import Agent, begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

RUN, RESTORED = "wf_0a1b2c3d-4e5", "WORKFLOW RESTORED AFTER COMPACTION"
SCRIPT = "export const meta = {name: 'sweep', description: 'x', phases: [{title: 'P'}]}\nreturn await agent('One')\n"
ABOVE, OWN, NONE = str(os.getppid()), str(os.getpid()), "999999999"  # no process has the last number
# A session's process, what else is noted of it, and whether it is gone for another session, whose process is OWN.
NOTED: dict[str, tuple[str, dict[str, str], bool]] = {
    "that process": (ABOVE, {}, False),
    "no such process": (NONE, {}, True),
    "a later one of that number": (ABOVE, {"start": "1"}, True),
    "a later one, which asks": (OWN, {"start": "1"}, True),
    "where its start can't be read": (ABOVE, {"start": "-"}, False),
    "one of another container": (NONE, {"namespace": "pid:[1]"}, False),
    "one of that number in another container": (OWN, {"namespace": "pid:[1]"}, False),
    "one of another host": (NONE, {"host": "elsewhere.example"}, False),
}


@pytest.mark.parametrize("what", NOTED)
@pytest.mark.skipif(liveness.started_at(os.getpid()) is None, reason="only Linux tells when a process started")
def test_whoever_asks_gets_the_same_answer(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Its workflow, its unused result, and what it has at work: another session gets them only once it is gone.

    A workflow is also free after an hour of silence, for then nobody can tell.
    """
    number, noted, gone = NOTED[what]
    processes = {ME: number, OTHER: OWN}
    project = holdfast_project({})
    monkeypatch.setattr(claude, "process", lambda environ: processes[project.session])
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    begin(project, "startup")
    holdfast("start", "Theirs", "--phase", "One", root=project.root, session=ME)
    call: dict[str, Any] = {"tool_name": "Workflow", "tool_input": {"script": SCRIPT}, "tool_use_id": "toolu_9"}
    project.fire("PreToolUse", **call)
    project.fire("PostToolUse", **call, tool_response={"runId": RUN, "transcriptDir": "/nowhere"})
    ended, running = (Agent(project, each, number=number) for number, each in enumerate(("Review", "Watch")))
    for agent in (ended, running):
        agent.about_to()
        agent.started()
        agent.launched()
    ended.stopped("All is well.")
    parts = dict(zip(("host", "namespace", "number", "start"), liveness.identity(int(number)).split(" "), strict=True))
    with Workspace.open(project.root).ledger as ledger:
        for table in ("conversations", "agents"):
            ledger.run(f"UPDATE {table} SET process = ?", " ".join((parts | noted).values()))

    project.session = OTHER
    begin(project, "startup")
    listed = holdfast("agents", root=project.root).out
    found = {
        "script": re.search(f"{RUN} +no journal", listed) is not None,
        "agent": re.search(f"{running.run} +interrupted", listed) is not None,
        "result": "has finished already" in Agent(project, "Review", number=3).about_to().stdout,
        "workflow": RESTORED in begin(project, "compact").context,
    }
    assert found == dict.fromkeys(found, gone)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T11:01:00Z")
    assert RESTORED in begin(project, "compact").context


@pytest.mark.skipif(liveness.started_at(os.getpid()) is None, reason="only Linux tells what became of a process")
def test_a_process_that_nobody_has_waited_for_is_gone() -> None:
    """In a container, nobody may ever wait for it."""
    child = subprocess.Popen(["sleep", "60"])
    assert liveness.runs(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not liveness.runs(child.pid)
    child.wait()
