"""Document 003 in folders that can't be written: commands say which file and why, hooks go on, and nothing is lost."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from tests.commandline import holdfast
from tests.requirements.document_003 import DOCUMENT, state
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.testing import HoldfastProject

REASON = os.strerror(errno.EROFS)
OWN = ("approve", "task", "supervise", "learn", "checkpoint", "bounds")
START, BEGIN = "start auth.md --format orchestrator", "update --phase {} --status active"
CLAUDE, STATE = "/.claude/", "/state/holdfast"


@contextmanager
def read_only(part: str) -> Iterator[None]:
    """Make files read-only whose path has a part in it. Permissions would not do: root may write anything."""
    opened = os.open

    def open(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if part in os.fsdecode(path) and flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, REASON, path)
        return opened(path, flags, *rest, **named)

    def refuse(path: Any, *rest: Any, **named: Any) -> None:
        raise OSError(errno.EROFS, REASON, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", open)
        for name in ("rename", "replace", "mkdir") if part == CLAUDE else ():
            patch.setattr(os, name, refuse)
        yield


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project with a run whose first task is at work, and whose second one failed."""
    made = holdfast_project({"auth.md": DOCUMENT})
    monkeypatch.chdir(made.root)
    failed = "update --phase 1.2 --status failed --error No"
    for line in (START, BEGIN.format("1.2"), failed, BEGIN.format("1.1"), "checkpoint"):
        run(made, line)
    return made


def run(project: HoldfastProject, line: str, code: int = 0) -> Any:
    """Run a command of the format, or a general one."""
    words = line.split()
    given = ["orchestrator", *words] if words[0] in OWN else words
    return holdfast(*given, root=project.root, session=project.session, code=code)


def files(project: HoldfastProject) -> dict[str, bytes]:
    """What the run's files hold."""
    return {each.name: each.read_bytes() for each in (project.root / ".claude").iterdir() if each.is_file()}


COMMANDS = (
    *(BEGIN.format("2.1"), BEGIN.format("1.2"), "update --phase 1.1 --status pending", "task 1.1 --cost 0.20"),
    *("update --phase 1.1 --status failed --error Broken", "task 2.1 --skip", "task 1.2 --iterate"),
    "supervise post_task --conflict api --severity high --action auto_fix --resolution Old",
    *("learn insight Look", "checkpoint", "bounds --cost 5", "task 1.1 --iterate; checkpoint --restore"),
    *(f"cancel; {START}", f"{START} --replace", "done --all", "cancel"),
    *("task 1.2 --skip; done 1.1", "done --note Works", "update --status failed --error Broke"),
    "update --remind Look",
)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_that_cannot_write_is_whole_or_nothing(project: HoldfastProject, line: str) -> None:
    """It names the file and the reason, and changes nothing. Once the folder can be written, the same command works."""
    *before, last = line.split("; ")
    for each in before:
        run(project, each)
    there = files(project)
    with read_only(CLAUDE):
        said = run(project, last, code=1).err
    assert ".claude/" in said and REASON in said and "Traceback" not in said
    assert files(project) == there
    run(project, last)
    assert files(project) != there


def test_what_only_reads_works_in_a_read_only_folder(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same is said."""
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp())  # the time that a task took goes on
    for line in ("bounds", "bounds --json"):
        said = run(project, line).out
        for part in (CLAUDE, STATE):
            with read_only(part):
                assert run(project, line).out == said, (line, part)


def test_what_lies_beside_the_state_costs_only_itself(project: HoldfastProject) -> None:
    """The change was made, so the command succeeds; what failed is told, and made up for the next time."""
    for part, line, listed in (
        (".checkpoint-", "checkpoint", "checkpoints"),
        (".checkpoint.json.", "checkpoint", "checkpoints"),
        ("/learnings.jsonl", "learn insight Look", "learnings"),
    ):
        known = len(state(project)[listed])
        with read_only(part):
            said = run(project, line)
        assert REASON in said.out + said.err, part
        assert len(state(project)[listed]) == known + 1, part
        run(project, line)
    newest = max(each for each in files(project) if each.startswith("checkpoint-"))
    assert files(project)[newest] == files(project)["checkpoint.json"]
    assert len((project.root / ".claude/learnings.jsonl").read_text().splitlines()) == 2
    with read_only(STATE):
        run(project, "done 1.1")
    assert [each["task"] for each in state(project)["completed_tasks"]] == ["1.1"]


def test_hooks_go_on_in_a_read_only_folder_and_the_report_counts_later(project: HoldfastProject) -> None:
    """A launch passes, the guidance comes back after a compaction, and the agent's end is applied once that can be."""
    agent = Agent(project, "Task 1.1", "task-executor", "Do it.")
    before = files(project)
    with read_only(CLAUDE):
        assert agent.about_to().faults == []
        assert agent.started().faults == []
        agent.stopped("It is done.")
        agent.returned("It is done.")
        project.fire("PreCompact", "PreCompact-auto")
        restored = project.fire("SessionStart", "SessionStart-compact")
        assert restored.faults == []
        assert "task 1/2 of phase 1/2 Foundation" in restored.context
    assert files(project) == before

    project.fire("UserPromptSubmit")
    assert [each["task"] for each in state(project)["completed_tasks"]] == ["1.1"]
