"""A conversation keeps what belongs to it, under whichever session ids the client lets it go on."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import claude
from holdfast.memory import costs, rows
from holdfast.memory.rows import Compaction, Conversation, Read, SessionId, Told
from holdfast.memory.store import new_id
from holdfast.process import liveness
from holdfast.sessions import agents, conversations, messages, owners
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD, workflow, workspace
from tests.signals import Agent, begin, compacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.sessions.workspace import Workspace
    from holdfast.testing import HoldfastProject

TRANSCRIPTS = Path(__file__).parent / "transcripts"
HERE, ELSEWHERE, GONE = str(os.getpid()), str(os.getppid()), str(2**22 + 1)


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The client process that sends the events, alone in a list that a test changes."""
    made = [HERE]
    monkeypatch.setattr(claude, "process", lambda environ: made[0])
    return made


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], process: list[str]) -> HoldfastProject:
    """A project whose session has a workflow, a finished agent and one that runs."""
    made = holdfast_project({})
    made.session = ME
    begin(made, "startup")
    made.fire("UserPromptSubmit", prompt="Do it.", prompt_id="first")
    holdfast("start", "Check", "--phase", "One", root=made.root, session=ME)
    Agent(made, "Review", number=1, background=True).at_work().stopped("All is well.")
    Agent(made, "Measure", number=2, background=True).at_work()
    return made


def owner(project: HoldfastProject) -> str:
    (row,) = holdfast("status", "--json", root=project.root).json["workflows"]
    return str(row["owner"])


def relaunched(project: HoldfastProject, name: str) -> str:
    """Launch an agent again: why it is refused; empty if it isn't."""
    fired = Agent(project, name, number=9).about_to()
    return fired.stdout if "permissionDecision" in fired.stdout else ""


def test_a_compaction_that_changes_the_id_loses_nothing(project: HoldfastProject) -> None:
    """Finished agents aren't run again, and reports under the earlier id count."""
    assert "Workflow: Check" in compacted(project, OTHER).context
    assert owner(project) == OTHER
    assert {each["session"] for each in holdfast("agents", "--json", root=project.root).json} == {OTHER}
    assert ME[:8] not in holdfast("status", root=project.root).out
    cells = re.findall('data-label="Session"[^>]*>([^<]*)<', holdfast("report", "-", root=project.root).out)
    assert {*cells} - {"–"} == {OTHER[:8]}
    assert "All is well." in relaunched(project, "Review")
    assert "is running already" in relaunched(project, "Measure")

    Agent(project, "Measure", number=2, session=ME).stopped("Fast enough.")
    assert "Fast enough." in compacted(project, THIRD).context
    rows = holdfast("status", "--json", root=project.root).json
    assert [each["id"] for each in rows["sessions"]] == [THIRD]
    assert {each["session"] for each in rows["agents"]} == {THIRD}
    for beginning in (ME[:8], OTHER[:8], THIRD[:8]):  # any of its ids names it
        assert "session began" in holdfast("log", "--session", beginning, root=project.root).out


def test_what_both_ids_have_cost_is_added_up(project: HoldfastProject) -> None:
    """A handler's replies under the new id came before Holdfast knew whose it is."""
    there = workspace(project.root)
    for session, characters in ((ME, 1_000), (OTHER, 200)):
        costs.note(there, session, "Stop", {"user/mine": characters}, agent=False)
    for _ in range(2):  # another process of the same event may have done it
        conversations.adopt(there, ME, OTHER)
    assert conversations.get(there, ME).first_seen
    (cost,) = [each for each in costs.totals(there) if each.event == "Stop"]
    assert (cost.conversation, cost.characters, cost.replies) == (ME, 1_200, 2)


def test_the_end_of_an_earlier_id_ends_nothing(project: HoldfastProject) -> None:
    """It may come late: the session goes on under the next one."""
    compacted(project, OTHER)
    project.fire("SessionEnd", "SessionEnd-other", session_id=ME)
    assert "session ended" not in holdfast("log", root=project.root).out
    project.fire("SessionEnd", "SessionEnd-other")
    assert "session ended" in holdfast("log", root=project.root).out


def test_an_earlier_id_resumed_in_the_same_process_goes_on(project: HoldfastProject) -> None:
    """`/clear`, then `/resume` of what came before."""
    project.session = OTHER
    begin(project, "clear")
    project.session = ME
    begin(project, "resume")

    there = workspace(project.root)
    assert [conversations.of(there, each) for each in (ME, OTHER)] == [ME, ME]
    assert owner(project) == ME
    assert "is running already" in relaunched(project, "Measure")


def test_another_session_resumed_in_the_same_process_is_another_one(
    project: HoldfastProject, process: list[str]
) -> None:
    """`/resume` of a session that was somewhere else before takes nothing over, unlike `/clear`."""
    project.session, process[0] = OTHER, ELSEWHERE
    begin(project, "startup")
    process[0] = HERE
    begin(project, "resume")

    assert conversations.of(workspace(project.root), OTHER) == OTHER
    assert owner(project) == ME


def test_what_the_old_id_launches_afterwards_stays_its_own(project: HoldfastProject, process: list[str]) -> None:
    """Resumed in another process, it is a conversation of its own, which owns nothing."""
    project.session = OTHER
    begin(project, "clear")
    project.session, process[0] = ME, ELSEWHERE
    begin(project, "resume")
    made = Agent(project, "Fix", number=7)
    made.about_to()
    made.launched()
    made.started()

    there = workspace(project.root)
    new = conversations.of(there, ME)
    assert (conversations.of(there, OTHER), conversations.session_id(there, new)) == (ME, ME)
    assert new != ME
    assert [each.description for each in agents.list_launched(there, new)] == ["Fix"]
    assert {each.description for each in agents.list_launched(there, ME)} == {"Review", "Measure"}
    assert owner(project) == OTHER


@pytest.mark.parametrize(("known", "shared"), [("fork", True), ("resume", True), ("fork", False)])
def test_a_fork_beside_its_original_owns_nothing_of_it(
    project: HoldfastProject, process: list[str], known: str, shared: bool
) -> None:
    """It is a conversation of its own that knows which one it was forked from, as soon as its transcript shows that."""
    path = str(TRANSCRIPTS / "worked-2.1.329-tasks.jsonl")
    project.fire("UserPromptSubmit", prompt="Go on.", prompt_id="second", transcript_path=path)
    project.session, process[0] = OTHER, ELSEWHERE
    begin(project, known, transcript_path=str(project.root / "not yet.jsonl"))
    there = workspace(project.root)
    fork = conversations.get(there, OTHER)
    assert fork is not None
    assert fork.forked_from is None
    path = str(TRANSCRIPTS / f"{'fork' if shared else 'clear'}-2.1.329.jsonl")
    project.fire("UserPromptSubmit", prompt="Try it.", prompt_id="third", transcript_path=path)

    fork = conversations.get(there, OTHER)
    assert fork is not None
    assert (fork.id, fork.forked_from) == (OTHER, ME if shared else "")
    assert owner(project) == ME
    assert "Workflow: Check" not in begin(project, "compact", transcript_path=path).context
    assert owner(project) == ME


def test_a_fork_has_the_results_that_its_original_had(project: HoldfastProject, process: list[str]) -> None:
    """What the original is told later, while it goes on, is its own."""
    path = str(TRANSCRIPTS / "worked-2.1.329-tasks.jsonl")
    project.fire("UserPromptSubmit", prompt="Go on.", prompt_id="second", transcript_path=path)
    project.session, process[0] = OTHER, ELSEWHERE
    begin(project, "fork", transcript_path=str(TRANSCRIPTS / "fork-2.1.329.jsonl"))
    Agent(project, "Measure", number=2, session=ME).stopped("Fast enough.")

    assert "All is well." in relaunched(project, "Review")
    assert not relaunched(project, "Measure")


@pytest.fixture
def there(tmp_path: Path) -> Workspace:
    """An empty project."""
    return workspace(tmp_path)


def test_no_row_has_to_move(there: Workspace) -> None:
    """Each table that knows whose a row is says it by the conversation, so another session id changes none of them."""
    tables = [row for row in rows.TABLES if "conversation" in {each.name for each in fields(row)} and row != SessionId]
    assert Told in tables
    for row in tables:
        values = {each.name: 1 if "int" in str(each.type) else ME for each in fields(row)}
        there.ledger.table(row).put(row(**values | ({"id": new_id()} if "id" in values else {})))
    owners.own(there, workflow(there.root), ME)
    conversations.note_event(there, ME)
    conversations.adopt(there, ME, OTHER)

    assert conversations.of(there, OTHER) == ME
    assert [row.TABLE for row in tables if not there.ledger.table(row).count(conversation=ME)] == []
    assert owners.owned(there, ME) == [workflow(there.root).key]
    assert conversations.session_id(there, ME) == OTHER


def test_what_a_new_id_has_before_it_turns_out_to_be_known_is_merged_once(there: Workspace) -> None:
    """Of what both have, the later counts, and the earlier where the later says nothing."""
    read = there.ledger.table(Read)
    for session, content in ((ME, "old"), (OTHER, "new")):
        conversations.note_event(there, session, transcript=f"/{session}")
        messages.tell(there, session, "both", "key", content)
        messages.tell(there, session, content)
        read.put(Read(session, "a.md", content, in_context=True))
        agents.record_launch(there, session, "toolu_1", "builder", "a" if session == ME else "", "")
        conversations.change(there, session, epoch=2, prompt=content)
    agents.name_run(there, OTHER, "toolu_1", "run")
    read.put(Read(ME, "b.md", "old", in_context=True))
    compaction = there.ledger.table(Compaction)
    compaction.put(Compaction("1", "", ME, "auto", "[]", "", restored_in=OTHER))
    for each in (OTHER, THIRD):
        owners.own(there, workflow(there.root), each)
    conversations.adopt(there, ME, OTHER)
    agents.join_duplicates(there, ME)

    assert messages.last_value(there, ME, "both", "key") == "new"
    assert [row.restored_in for row in compaction.where()] == [ME]
    assert messages.was_told(there, ME, "old")
    assert messages.was_told(there, ME, "new")
    assert owners.changes_since(there, ME, messages.OFFERED) == {workflow(there.root).key: True}
    assert {row.path: (row.content, row.in_context) for row in read.where()} == {
        "a.md": ("new", True),
        "b.md": ("old", False),
    }
    (agent,) = agents.list_launched(there, ME)
    assert (agent.run, agent.workflow) == ("run", "a")
    (row,) = there.ledger.table(Conversation).where()
    assert (row.id, row.session, row.epoch, row.prompt, row.transcript) == (ME, OTHER, 4, "new", f"/{OTHER}")


def test_all_ids_of_a_conversation_go_along(there: Workspace) -> None:
    """Of one that turns out to be a continuation after its own id had changed, and what was forked from it."""
    for session in (ME, OTHER, THIRD):
        conversations.note_event(there, session)
    conversations.note_event(there, "fork")
    conversations.change(there, "fork", forked_from=OTHER)
    conversations.adopt(there, OTHER, THIRD)
    conversations.adopt(there, ME, THIRD)

    assert [conversations.of(there, each) for each in (ME, OTHER, THIRD)] == [ME] * 3
    assert conversations.all_ids(there, ME) == {ME, OTHER, THIRD}
    assert {row.id: row.forked_from for row in conversations.every(there)} == {ME: "", "fork": ME}


def test_agents_end_with_the_process_of_the_earlier_id(project: HoldfastProject, process: list[str]) -> None:
    """A client that died took them along: nobody is told that they run already."""
    project.fire("PreCompact", "PreCompact-auto")
    there = workspace(project.root)
    there.ledger.run("UPDATE conversations SET process = ?", liveness.identity(int(GONE)))
    project.session, process[0] = OTHER, ELSEWHERE
    begin(project, "compact")

    assert [each for each in agents.list_launched(there, ME) if each.status == "running"] == []
