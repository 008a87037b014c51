"""Folders that can't be written: each command says which file and why, hooks go on, and nothing is lost."""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.formats.orchestrator import schema
from tests.commandline import holdfast
from tests.formats.orchestrator.conftest import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.testing import HoldfastProject

REASON = os.strerror(errno.EROFS)
GENERAL = ("next", "done", "update")
CLAUDE, STATE, CHECKPOINTS, LOG = "/.claude/", "/state/holdfast", "/checkpoint-", "/learnings.jsonl"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a run whose first task is at work, and whose second one failed."""
    made = holdfast_project({"auth.md": DOCUMENT})
    for words in (
        ("start", str(made.root / "auth.md")),
        ("task", "start", "1.2"),
        ("task", "fail", "1.2", "--reason", "No idea"),
        ("task", "start", "1.1"),
        ("checkpoint",),
    ):
        run(made, *words)
    return made


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Make files read-only whose path has a part in it. Permissions would not do: root may write anything."""
    opened = os.open

    @contextmanager
    def made(part: str) -> Iterator[None]:
        def open(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            if part in os.fsdecode(path) and flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                raise OSError(errno.EROFS, REASON, path)
            return opened(path, flags, *rest, **named)

        def refuse(path: Any, *rest: Any, **named: Any) -> None:
            raise OSError(errno.EROFS, REASON, path)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", open)
            for name in ("rename", "replace", "mkdir") if part == CLAUDE else ():
                patch.setattr(os, name, refuse)
            yield

    return made


def run(project: HoldfastProject, *words: str, code: int = 0) -> Any:
    given = words if words[0] in GENERAL else ("orchestrator", *words)
    return holdfast(*given, root=project.root, session=project.session, code=code)


def files(project: HoldfastProject) -> dict[str, bytes]:
    """What the run's files hold."""
    folder = schema.state_path(project.root).parent
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def data(project: HoldfastProject) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(schema.state_path(project.root).read_bytes())
    return found


CONFLICT = ("--conflict", "api", "--severity", "high", "--action", "auto_fix", "--resolution", "Used the old one")


@pytest.mark.parametrize(
    "words",
    [
        ("task", "start", "2.1"),
        ("task", "iterate", "1.1"),
        ("task", "finish", "1.1", "--cost", "0.20"),
        ("task", "fail", "1.1", "--reason", "It broke"),
        ("task", "retry", "1.2"),
        ("task", "skip", "2.1"),
        ("supervise", "pre_task"),
        ("supervise", "post_task", *CONFLICT),
        ("learn", "insight", "Look first"),
        ("checkpoint",),
        ("bounds", "extend", "--cost", "5"),
        ("agents", "prune"),
        ("fail", "No budget"),
    ],
)
def test_a_command_that_cannot_write_says_so_and_changes_nothing(
    project: HoldfastProject, read_only: Callable[[str], Any], words: tuple[str, ...]
) -> None:
    """It names the file and the reason. Once the folder can be written, the same command works."""
    before = files(project)
    with read_only(CLAUDE):
        said = run(project, *words, code=1)

    assert ".claude/agent-state" in said.err, said
    assert REASON in said.err
    assert "Traceback" not in said.err
    assert files(project) == before

    run(project, *words)
    assert data(project) != json.loads(before["agent-state.json"])


FINISHED = (("task", "retry", "1.2"), *(("task", "finish", each) for each in ("1.1", "1.2", "2.1")))
LOCKS = {
    "locks": [{"path": "auth.md", "owner": "a1", "acquired": "2026-01-15T12:00:00Z", "expires": "2099-01-01T00:00:00Z"}]
}
OLD = {"orchestrator": {"status": "executing"}, "pending_tasks": ["1.1: A"], "completed_tasks": [], "safety_bounds": {}}


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ((("fail", "No budget"), ("archive",)), ("start", "auth.md")),
        ((("fail", "No budget"),), ("start", "auth.md")),
        ((), ("start", "auth.md", "--replace")),
        ((("fail", "No budget"), ("archive",)), ("import", "old.json", "--task-doc", "auth.md")),
        ((), ("import", "old.json", "--task-doc", "auth.md", "--replace")),
        (FINISHED, ("phase", "finish", "1", "--issue-url", "https://example.org/1")),
        (FINISHED, ("review",)),
        (FINISHED, ("complete",)),
        ((), ("locks", "release", "--all")),
        ((), ("update", "--status", "failed", "--error", "It broke")),
    ],
    ids=lambda words: " ".join(words) if words and isinstance(words[0], str) else None,
)
def test_a_command_of_the_run_as_a_whole_is_whole_or_nothing(
    project: HoldfastProject,
    read_only: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    before: tuple[tuple[str, ...], ...],
    words: tuple[str, ...],
) -> None:
    """As above, and nothing lies about afterwards that wasn't there."""
    monkeypatch.chdir(project.root)
    project.write({"old.json": json.dumps(OLD), ".claude/locks.json": json.dumps(LOCKS)})
    for each in before:
        run(project, *each)
    there = files(project)
    with read_only(CLAUDE):
        said = run(project, *words, code=1)

    assert ".claude/" in said.err, said
    assert said.err.endswith(f"{REASON}; make its folder writable, then run the command again\n")
    assert files(project) == there

    run(project, *words)
    assert files(project) != there


@pytest.mark.parametrize("words", [("archive",), ("restore",), ("repair",)])
def test_what_moves_files_leaves_them_where_they_are(
    project: HoldfastProject, read_only: Callable[[str], Any], words: tuple[str, ...]
) -> None:
    """Nothing is half done."""
    if words == ("archive",):
        run(project, "fail", "No budget")
    elif words == ("restore",):
        run(project, "task", "iterate", "1.1")
    else:
        path = schema.state_path(project.root)
        path.write_bytes(path.read_bytes().replace(b'"cost_so_far": "$0.00"', b'"cost_so_far": "$9.00"'))
    before = files(project)
    with read_only(CLAUDE):
        said = run(project, *words, code=1)

    assert REASON in said.err, said
    assert files(project) == before


@pytest.mark.parametrize("part", [CLAUDE, STATE])
@pytest.mark.parametrize(
    "words",
    [("query", "progress"), ("check",), ("bounds",), ("task", "show", "1.1"), ("restore", "--dry-run"), ("locks",)],
)
def test_what_only_reads_works_in_a_read_only_folder(
    project: HoldfastProject,
    read_only: Callable[[str], Any],
    words: tuple[str, ...],
    part: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same is said."""
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp())  # the time that a task took goes on
    said = holdfast("orchestrator", *words, root=project.root, session=project.session)
    with read_only(part):
        assert run(project, *words).out == said.out


def test_a_run_goes_on_without_holdfasts_own_folder(project: HoldfastProject, read_only: Callable[[str], Any]) -> None:
    """Only what that folder is for is missing: earlier contents and owners."""
    with read_only(STATE):
        run(project, "task", "finish", "1.1", "--cost", "0.20")

    assert [each["task"] for each in data(project)["completed_tasks"]] == ["1.1"]


@pytest.mark.parametrize("part", [CHECKPOINTS, "/checkpoint.json", LOG])
def test_what_lies_beside_the_state_costs_only_itself(
    project: HoldfastProject, read_only: Callable[[str], Any], part: str
) -> None:
    """The change was made, so the command succeeds; what failed is told, and made up for the next time."""
    beside = ".checkpoint-" if part == CHECKPOINTS else f".{part[1:]}." if part == "/checkpoint.json" else part
    words = ("learn", "insight", "Look first") if part == LOG else ("checkpoint",)
    with read_only(beside):
        said = run(project, *words)

    assert REASON in said.out + said.err, said
    name = "learnings" if part == LOG else "checkpoints"
    assert len(data(project)[name]) == (1 if part == LOG else 2)

    run(project, *words)
    if part == LOG:
        assert len((project.root / ".claude/learnings.jsonl").read_text().splitlines()) == 2
    else:
        assert files(project)["checkpoint-003.json"] == files(project)["checkpoint.json"]
