"""What a format refuses, with what to do instead: nothing of a refused command is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path

TASKS = "# Tasks: Auth\n\n### Phase 1: Model\n\n#### Task 1.1: Write it\n\n#### Task 1.2: Test it\n"
BOXES = "# Login\n\n- [ ] Add a model\n- [ ] Add a method\n"
SCENES: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "hybrid": (
        ["start T --format hybrid --phase A --phase B"],
        [
            ("start U --format hybrid", 'the hybrid format needs a phase: --phase "TITLE"'),
            ("update --total 5", "the workflow lists 2 phases, and --total can't change that"),
            ("update --phase 7", "there is no phase 7; the workflow has 2 phases, from 1 on"),
        ],
    ),
    "compaction": (
        ["start T --format compaction --total 3", "update --phase 2"],
        [
            ("update --total 1", "the workflow is at phase 2; go back first with --phase"),
            ("update --deliverable a.md", "no phase of this workflow keeps deliverables; --note stores a text"),
        ],
    ),
    "wfs": (
        ["start T --format wfs", "wfs task add A"],
        [
            (
                "update --phase IMPL-1 --deliverable a.md",
                "no task of this workflow keeps deliverables; --note stores a text",
            ),
            ("update --total 9", "a session lists each task; `holdfast wfs task add TITLE` adds one"),
        ],
    ),
    "orchestrator": (
        [
            "start tasks.md --format orchestrator",
            "update --phase 1.1 --status completed",
            "update --phase 1.2 --status failed --error Disk",
            "reopen 1.2",
            "update --phase 1.2 --status failed --error Disk",
        ],
        [
            ("done 1.2", "start it again first: `holdfast update --phase 1.2 --status active`"),
            ("update --phase 1.1 --status completed", "task 1.1 is completed already"),
            ("update --phase 1.1 --status active", "task 1.1 is completed; it can't be started again"),
            ("update --phase 1.1 --status failed --error X", "task 1.1 is completed, so it can't fail"),
            ("update --phase 1.1 --status pending", "a task that ended doesn't become pending again"),
            ("orchestrator task 1.1 --skip", "task 1.1 is completed, so it can't be skipped"),
            ("update --phase 1.2 --rename X", "a task is named in its task document"),
        ],
    ),
    "orchestrator, over": (
        ["start tasks.md --format orchestrator", "done --all"],
        [("orchestrator bounds --iterations 5", "the run is completed, so its bounds stay as they are")],
    ),
    "skills": (
        ["skills start dev login.md", "skills phase create_branch", "skills task 1 --done"],
        [
            ("skills task 1 --start", "task 1 is completed; start another one"),
            ("skills task 2 --start --commit x", "--commit needs --done"),
            ("update --phase verification --status blocked --error X", "verification is not the current phase"),
            ("update --phase task_2 --status pending", "can't become pending again; block it instead"),
            ("update --phase verification --rename X", "dev have the names that its machine gives them"),
            ("update --deliverable a.md", "no step of this workflow keeps deliverables; --note stores a text"),
        ],
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_what_a_format_refuses_is_said_and_not_written(tmp_path: Path, name: str) -> None:
    """In words of the format, with what to do instead."""
    (tmp_path / "tasks.md").write_text(TASKS)
    (tmp_path / "login.md").write_text(BOXES)
    before, refused = SCENES[name]
    for each in before:
        holdfast(*each.split(), root=tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    for command, said in refused:
        assert said in holdfast(*command.split(), root=tmp_path, code=1).err, command
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
