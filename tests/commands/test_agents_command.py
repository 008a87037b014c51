"""`holdfast agents`: where each agent and each run of a script stands, and which one a name means."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import claude
from holdfast.commands import agents as command
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handlers.test_reuse_scripts import GONE, NEXT, PROMPTS, RUN, SECOND, launches, script
from tests.handmade import OTHER
from tests.signals import Agent, begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject
    from tests.handlers.test_reuse_scripts import Launches

__all__ = ["launches"]


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project with a session of a client that is gone."""
    made = holdfast_project({})
    monkeypatch.setattr(claude, "process", lambda environ: GONE)
    begin(made, "startup")
    return made


def launched(project: HoldfastProject, number: int, description: str) -> Agent:
    """Launch an agent in the background."""
    return Agent(project, description, prompt=f"{description}.", number=number, background=True).at_work()


def statuses(project: HoldfastProject) -> dict[str, str]:
    """Return where each agent stands, by what it was launched for."""
    listed = holdfast("agents", "--json", root=project.root).json
    return {each["about"].partition(": ")[2]: each["status"] for each in listed}


def test_each_agent_stands_where_it_does(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a client that is gone doesn't run any more; one that has ended is used once the conversation has it."""
    monkeypatch.setattr(claude, "process", lambda environ: str(os.getpid()))
    project.session = OTHER
    begin(project, "startup")
    launched(project, 1, "At work")
    launched(project, 2, "Done").stopped("All is well.")
    used = launched(project, 3, "Used")
    used.stopped("All is well.")
    used.notified(words="All is well.")
    launched(project, 4, "Broken").died()
    rerun = launched(project, 5, "Once more")
    rerun.stopped("All is well.")
    said = holdfast("agents", "--rerun", rerun.run, root=project.root).out
    assert said == f"The results of {rerun.run} won't be used again. The next launch runs it from the start.\n"
    assert "name an agent or a run" in holdfast("agents", "--rerun", root=project.root, code=2).err
    assert statuses(project) == {
        "At work": "running",
        "Done": "finished",
        "Used": "used",
        "Broken": "failed",
        "Once more": "to run again",
    }


def test_every_command_says_the_same_of_an_agent_that_was_cut_off(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that the client doesn't list any more at a Stop was interrupted, and `status` shows it once."""
    monkeypatch.setattr(claude, "process", lambda environ: str(os.getpid()))
    project.session = OTHER
    begin(project, "startup")
    holdfast("start", "Login", "--phase", "Write", root=project.root, session=OTHER)
    lost = launched(project, 1, "Look around")
    project.fire("Stop", background_tasks=[])
    assert statuses(project) == {"Look around": "interrupted"}
    page = holdfast("status", root=project.root).out
    assert page.count(lost.run) == 1 and f"{lost.run:<24}  interrupted  " in page and "failed" not in page
    (told,) = holdfast("status", "--json", root=project.root).json["agents"]
    assert (told["status"], told["output"]) == ("interrupted", f"/tmp/{lost.run}.output")
    assert f"output: /tmp/{lost.run}.output\n" in holdfast("agents", lost.run, root=project.root).out
    assert "interrupted, " in holdfast("report", "-", root=project.root).out


def test_status_of_a_workflow_lists_its_own_agents(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that runs in the foreground, but none of another checkout's; without a name all are listed."""
    monkeypatch.setattr(claude, "process", lambda environ: str(os.getpid()))
    project.session = OTHER
    begin(project, "startup")
    holdfast("start", "Login", "--format", "hybrid", "--phase", "Write @builder", root=project.root, session=OTHER)
    Agent(project, "Write", number=1).about_to()
    launched(project, 2, "Look around")

    (own,) = holdfast("status", "Login", "--json", root=project.root).json["agents"]
    assert (own["about"], own["phase"], own["status"]) == ("builder: Write", "phase_0", "running")
    assert len(holdfast("status", "--json", root=project.root).json["agents"]) == 2
    ledger = Workspace.open(project.root).ledger
    ledger.run("UPDATE agents SET worktree = '/elsewhere'")
    ledger.close()
    assert holdfast("status", "Login", "--json", root=project.root).json["agents"] == []


def test_a_script_that_runs_is_shown_so(launches: Launches) -> None:
    """From any terminal, whichever client runs it, and by `status` too."""
    launches.begin(SECOND, str(os.getpid()))
    launches.ran(done=PROMPTS[:2])
    shown = f"{RUN:<24}  running      review: 2 of 3 agents finished"
    assert listed(launches) == [shown]
    assert f"Agents\n  {shown}\n" in holdfast("status", root=launches.project.root).out
    launches.ended()
    assert listed(launches) == [shown.replace("running    ", "partial    ")]


def test_a_name_that_several_begin_with_means_none(project: HoldfastProject) -> None:
    """What is forgotten is gone, so it has to be clear which one is meant."""
    first, second = launched(project, 1, "One"), launched(project, 2, "Two")
    refused = holdfast("forget", "--agent", first.run[:5], "--yes", root=project.root, code=1).err
    assert "several agents or runs begin with 'a0000'; name one with more characters: " in refused
    assert first.run in refused and second.run in refused
    assert len(statuses(project)) == 2
    assert "Forgotten." in holdfast("forget", "--agent", first.run, "--yes", root=project.root).out
    assert "Forgotten." in holdfast("forget", "--agent", second.run[:5], "--yes", root=project.root).out
    assert holdfast("agents", root=project.root).out == "No agents are known here.\n"


def test_what_a_run_is_shown_with(launches: Launches) -> None:
    """Each agent with its result, and how a session uses them again, as long as it can."""
    launches.ran(done=PROMPTS[:2])
    root = launches.project.root
    shown = holdfast("agents", "review", root=root).out
    assert shown == (
        f"{RUN}  interrupted  review: 2 of 3 agents finished\n\n"
        "Review part 1: finished\nResult of Review part 1\n\n"
        "Review part 2: finished\nResult of Review part 2\n\n"
        "Review part 3: started\n\n"
        f"To use these results in a session, name {RUN} in your prompt, and ask to resume it.\n"
    )
    said = holdfast("agents", "--rerun", RUN[:6], root=root).out
    assert said == f"The results of {RUN} won't be used again. The next launch runs it from the start.\n"
    assert "To use these results" not in holdfast("agents", RUN, root=root).out


def test_a_run_whose_journal_the_client_has_deleted(launches: Launches) -> None:
    """It isn't said to have finished 0 of 0, and nothing offers results that are gone."""
    shutil.rmtree(launches.ran())
    launches.ended()
    assert listed(launches) == [f"{RUN:<24}  no journal   review: its journal is gone"]
    shown = holdfast("agents", RUN, root=launches.project.root).out
    assert shown == f"{RUN}  no journal  review: its journal is gone\n"
    assert RUN not in launches.begin(SECOND, str(os.getpid())).context
    launches.launch().assert_silent("reuse_agents")


def test_a_run_is_named_by_the_beginning_of_its_id(launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list has the latest first, and says that older ones are left out."""
    launches.ran(done=PROMPTS[:2])
    launches.ran(NEXT, script("Else", name="other"), ())
    assert [each.split()[0] for each in listed(launches)] == [NEXT, RUN]
    monkeypatch.setattr(command, "_LISTED", 1)
    latest = holdfast("agents", root=launches.project.root)
    assert RUN not in latest.out and NEXT in latest.out
    assert latest.err == "holdfast: older ones are left out; `holdfast agents --json` lists all\n"
    assert len(holdfast("agents", "--json", root=launches.project.root).json) == 2
    assert RUN in holdfast("agents", RUN[:6], root=launches.project.root).out


def listed(launches: Launches) -> list[str]:
    """Return the lines of the list."""
    return holdfast("agents", root=launches.project.root).out.splitlines()
