"""What an agent reported while nothing could be written is applied at a later event."""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files import atomic
from holdfast.memory import connection
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from holdfast.workflow import holdfast_folder, registry
from tests.commandline import holdfast
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import Fired, HoldfastProject

REFUSED = "User rejected tool use"
MEMORY = "# Current Workflow State\n\nWorkflow: Page Orchestration\nPhase: 2/4 - Draft\n\n@CLAUDE/Page.md\n"


@dataclass
class Work:
    """A workflow of two phases, an agent for the first one, and what can go wrong."""

    project: HoldfastProject
    patch: pytest.MonkeyPatch
    agent: Agent

    @property
    def statuses(self) -> list[str]:
        """What the phases' files say."""
        project = Workspace.open(self.project.root)
        (workflow,) = registry.all_found(project).workflows
        project.close()
        return [phase.status for phase in workflow.phases]

    @property
    def transcript(self) -> Path:
        """Where the main session's transcript lies."""
        return self.project.root / "transcript.jsonl"

    def note(self, entry: dict[str, Any]) -> None:
        """Add an entry to the transcript, as the client writes it."""
        with self.transcript.open("a") as file:
            file.write(json.dumps({"type": "user", "isSidechain": False} | entry, separators=(",", ":")) + "\n")

    def note_result(self, result: dict[str, Any] | str) -> None:
        """Note what the agent's call returned."""
        block = {"tool_use_id": self.agent.call["tool_use_id"], "type": "tool_result", "content": "x"}
        block |= {"is_error": True} if isinstance(result, str) else {}
        self.note({"message": {"role": "user", "content": [block]}, "toolUseResult": result})

    def ends(self, words: str = "It is built.") -> Fired:
        """Let the call return, and the transcript say so."""
        result = recorded.load("PostToolUse-Agent")["tool_response"]
        self.note_result(result | {"agentId": self.agent.run, "content": [{"type": "text", "text": words}]})
        return self.agent.returned(words)

    def prompt(self, event: str = "UserPromptSubmit", **changes: Any) -> Fired:
        """Let the main conversation go on."""
        fired = self.project.fire(event, transcript_path=str(self.transcript), **changes)
        assert fired.faults == []
        return fired

    @contextmanager
    def full_disk(self, *, ledger: bool = True) -> Iterator[None]:
        """Have writes of files fail, and the ledger's."""

        def fail(*arguments: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with self.patch.context() as patch:
            patch.setattr(atomic, "_fill", fail)
            if ledger:
                patch.setattr(connection, "_prepare", fail)
            yield


@pytest.fixture(params=["hybrid", "wfs"])
def work(
    request: pytest.FixtureRequest, holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> Work:
    """The workflow, with the agent of its first phase launched, in each format whose phases agents work on."""
    project = holdfast_project({})
    phases = ("--phase", "Build the tool @builder", "--phase", "Write the tests @tester")
    holdfast("start", "Ship it", "--format", request.param, *phases, root=project.root, session=project.session)
    project.fire("UserPromptSubmit", prompt="go on")
    made = Work(project, monkeypatch, Agent(project, "Build the tool"))
    made.agent.about_to()
    assert made.statuses == ["active", "pending"]
    return made


@pytest.mark.parametrize("event", ["PreToolUse", "PreCompact", "SessionStart"])
def test_every_event_of_the_main_conversation_catches_up(work: Work, event: str) -> None:
    """Also in the middle of a turn, before a compaction and after it."""
    with work.full_disk():
        work.ends()
    names = {"PreToolUse": "PreToolUse-Agent", "PreCompact": "PreCompact-auto", "SessionStart": "SessionStart-compact"}
    work.prompt(event, recorded=names[event])
    assert work.statuses[0] == "completed"


def test_it_is_told_once_while_it_cannot_be_written(work: Work) -> None:
    """And that it will be."""
    with work.full_disk(ledger=False):
        fired = work.ends()
        fired.assert_advised("No space left on device; tried again at the next event")
        assert "No space left" not in work.prompt().context
    work.prompt().assert_advised("is completed")
    assert "is completed" not in work.prompt().context


def test_a_call_that_a_person_refused_has_not_failed(work: Work) -> None:
    """It moves nothing."""
    work.note_result(REFUSED)
    work.prompt()
    assert work.statuses[0] == "active"


def test_the_end_of_a_background_agent_is_caught_up_with(work: Work) -> None:
    """Its stop and its notification were lost; that the client lists it no more is no failure."""
    work.agent.launched()
    work.agent.started()
    with work.full_disk():
        work.agent.stopped()
        work.agent.notified()
    notice = (
        f"<task-notification>\n<task-id>{work.agent.run}</task-id>\n<status>completed</status>\n"
        "<summary>Agent ended</summary>\n<result>It is built.</result>\n</task-notification>"
    )
    work.note({"origin": {"kind": "task-notification"}, "message": {"role": "user", "content": notice}})
    work.prompt("Stop", background_tasks=[])
    work.prompt()
    assert work.statuses[0] == "completed"


def test_the_name_of_a_background_agent_is_caught_up_with(work: Work) -> None:
    """Its launch returned when nothing could be written."""
    response = recorded.load("PostToolUse-Agent-background")["tool_response"] | {"agentId": work.agent.run}
    work.note_result(response)
    with work.full_disk():
        work.agent.launched()
    work.prompt()
    work.agent.stopped()
    work.prompt()
    assert work.statuses[0] == "completed"


def test_a_state_that_cannot_be_read_now_costs_no_end(work: Work) -> None:
    """Somebody is in the middle of saving it, or has broken it: what was reported waits until it is whole."""
    project = Workspace.open(work.project.root)
    (workflow,) = registry.all_found(project).workflows
    project.close()
    whole = workflow.path.read_bytes()
    workflow.path.write_bytes(b'{"broken')
    work.ends()
    workflow.path.write_bytes(whole)
    assert work.statuses[0] == "active"
    work.prompt()
    assert work.statuses[0] == "completed"


def test_what_a_memory_file_says_is_saved_later(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compaction format: a save that fails costs no compaction, and the next one makes up for it."""
    project = holdfast_project({"CLAUDE.local.md": MEMORY})
    work = Work(project, monkeypatch, Agent(project))
    with work.full_disk():
        assert project.fire("PreCompact").faults == []
        assert not list(project.root.glob("untracked/workflow-state/*/state-*.json"))
    assert project.fire("PreCompact").faults == []
    assert len(list(project.root.glob("untracked/workflow-state/*/state-*.json"))) == 1


def test_guidance_is_given_without_its_sidecar_and_writes_it_later(work: Work) -> None:
    """After a compaction on a full disk."""
    project = Workspace.open(work.project.root)
    (workflow,) = registry.all_found(project).workflows
    place = holdfast_folder.sidecar_place(project.root, workflow)
    project.close()
    for free in (False, True):
        work.project.fire("PreCompact")
        if free:
            fired = work.prompt("SessionStart", recorded="SessionStart-compact")
        else:
            with work.full_disk():
                fired = work.prompt("SessionStart", recorded="SessionStart-compact")
        fired.assert_advised("WORKFLOW RESTORED")
        assert place.exists() == free
