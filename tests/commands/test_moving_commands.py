"""`holdfast next`, `done` and `update` move a workflow, in each format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions import agents
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs
from tests.agentry import launch_agent
from tests.commandline import holdfast
from tests.formats.known import KNOWN
from tests.handmade import ME

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow


@pytest.fixture(params=KNOWN)
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A project with a workflow of three phases, once in each format."""
    phases = [item for title in ("Draft", "Review", "Publish") for item in ("--phase", title)]
    holdfast("start", "Book", "--format", request.param, *phases, root=tmp_path)
    return tmp_path


def only(root: Path) -> Workflow:
    (workflow,) = registry.all_found(Workspace.open(root)).workflows
    return workflow


def test_update_renames_the_current_phase(root: Path) -> None:
    """An unknown title is no new name: renaming has an option of its own."""
    holdfast("next", root=root)
    said = holdfast("update", "--phase", "Draft it ²", root=root, code=1).err
    assert '"Book" has no' in said and 'did you mean "Draft"?' in said

    said = holdfast("update", "--rename", "Draft it ²", root=root).out

    assert only(root).phase == "Draft it ²"
    assert '"Draft" to "Draft it ²". To undo this: holdfast update --phase 1 --rename Draft\n' in said

    said = holdfast("update", "Book", "--phase", "Publish", "--rename", "Print", root=root).out
    assert "To undo this: holdfast update --phase 3 --rename Publish Book\n" in said
    assert (only(root).phases[2].title, only(root).phase) == ("Print", "Draft it ²"), "it is renamed, not begun"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to change"),
        (("--phase", "9"), "from 1 on"),
        (("--phase", "0"), "from 1 on"),
        (("--phase", "9" * 30), "from 1 on"),
    ],
)
def test_an_update_that_cannot_be_is_refused(root: Path, arguments: tuple[str, ...], words: str) -> None:
    """One sentence, exit 1, and the file as it was."""
    before = only(root).raw

    assert words in holdfast("update", *arguments, root=root, code=1).err

    assert only(root).raw == before


def test_an_update_says_which_file_cannot_be_read(tmp_path: Path) -> None:
    """It is required all the same: it may come."""
    holdfast("start", "Book", "--phase", "Draft", root=tmp_path)
    assert '"notes.md" doesn\'t exist' in holdfast("update", "--read", "notes.md", root=tmp_path).err


@pytest.mark.parametrize(("completed", "due"), [(1, "Publish"), (2, "Draft")])
def test_next_begins_the_phase_that_status_names(tmp_path: Path, completed: int, due: str) -> None:
    """Also if somebody completed a phase by hand, and skipped an earlier one, which comes after the last."""
    phases = [item for title in ("Draft", "Review", "Publish") for item in ("--phase", title)]
    holdfast("start", "Book", "--format", "hybrid", *phases, root=tmp_path)
    path = only(tmp_path).path
    state = json.loads(path.read_text("utf-8"))
    state["current_phase"], state["phases"][completed]["status"] = state["phases"][completed]["id"], "completed"
    path.write_text(json.dumps(state), "utf-8")

    named = verbs.due(only(tmp_path))
    holdfast("next", root=tmp_path)

    assert named and only(tmp_path).phase == named.title == due


def test_what_an_agent_has_reported_counts_before_a_move(tmp_path: Path) -> None:
    """No event has come since it ended, so the command is the first to see it."""
    holdfast("start", "Book", "--format", "hybrid", "--phase", "Draft", "--phase", "Review", root=tmp_path)
    project = Workspace.open(tmp_path)
    launch_agent(project, "c1", "writer", "Draft")
    agents.record_report(project, ME, "run", "completed", "Drafted.")
    agents.name_run(project, ME, "c1", "run")
    assert only(tmp_path).current == 1

    holdfast("next", root=tmp_path, session=ME)

    assert [phase.status for phase in only(tmp_path).phases] == ["completed", "active"]


def test_done_says_what_it_completed(tmp_path: Path) -> None:
    """R001-12: a phase that was completed by an update is not announced as another's end."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", "--phase", "Publish", root=tmp_path)
    holdfast("update", "--status", "completed", root=tmp_path)
    assert 'Phase "Draft" was completed before; "Review" begins.' in holdfast("done", root=tmp_path).out
    assert 'Completed phase 2/3 "Review".' in holdfast("done", root=tmp_path).out
    over = 'Completed phase "Publish". The workflow is complete. Its file was put away'
    assert holdfast("done", root=tmp_path).out.startswith(over)


def test_a_note_stays_with_the_current_phase(root: Path) -> None:
    """Where its format keeps one, else in the context; a second one is added."""
    holdfast("next", root=root)
    for note in ("half of it is written", "the rest is planned"):
        holdfast("update", "--note", note, root=root)

    both, workflow = "half of it is written\nthe rest is planned", only(root)
    assert workflow.phases[0].handover == both or workflow.context[f"{workflow.unit}_notes"] == {
        "1" if workflow.in_order else "IMPL-1": both
    }
    assert (workflow.phase, workflow.phase_status) == ("Draft", "active")


def test_a_note_on_what_is_being_completed_is_handed_over(tmp_path: Path) -> None:
    """In a format that stores a hand-over of completed phases alone."""
    holdfast("start", "Book", "--format", "hybrid", "--phase", "Draft", "--phase", "Review", root=tmp_path)
    holdfast("update", "--status", "completed", "--note", "four chapters", root=tmp_path)

    assert only(tmp_path).phases[0].handover == "four chapters"
    assert only(tmp_path).context == {}


def test_of_several_each_command_is_printed_ready_to_copy(tmp_path: Path) -> None:
    """With all that was given, and a short name that leads to the workflow."""
    for title in ("Payments", "User auth"):
        holdfast("start", title, "--phase", "Draft", "--phase", "Review", root=tmp_path)

    said = holdfast("done", "--note", "all built", root=tmp_path, code=1).err

    assert said.splitlines() == [
        "holdfast: 2 workflows are unfinished; name one:",
        """  "User auth", active, phase 1/2  holdfast done --note 'all built' --workflow user-auth""",
        """  "Payments", active, phase 1/2   holdfast done --note 'all built' --workflow payments""",
    ]
    holdfast("done", "--note", "all built", "user-auth", root=tmp_path)
    assert "holdfast next user-auth\n" in holdfast("next", "user-aut", root=tmp_path, code=1).err
    assert (
        "holdfast done pay --workflow payments\n"
        in holdfast("done", "pay", "--workflow", "pay", root=tmp_path, code=1).err
    )
    assert "holdfast forget --workflow=payments\n" in holdfast("forget", "--workflow=pay", root=tmp_path, code=1).err
    assert (
        "  holdfast restore --diff 1 --workflow payments\n"
        in holdfast("restore", "--diff", "1", root=tmp_path, code=1).err
    )


def test_a_title_that_two_phases_have_is_not_the_name_of_one(tmp_path: Path) -> None:
    """The command that is printed names the current one by its number, so that it completes nothing else."""
    holdfast("start", "Book", "--phase", "Review @editor", "--phase", "Review", "--phase", "Ship", root=tmp_path)
    said = holdfast("done", "--note", "read", root=tmp_path).out
    assert "phase 2/3" in said
    refused = holdfast("done", "--note", "read", root=tmp_path, code=1).err
    assert "`holdfast done 2 --note …`" in refused
    assert "Ship" in holdfast("done", "2", root=tmp_path).out
    assert "is completed already" in holdfast("done", "2", root=tmp_path, code=1).err


def test_of_two_phases_with_one_title_the_one_that_is_left_is_meant(tmp_path: Path) -> None:
    """The first one is completed, and a phase between them is current."""
    holdfast("start", "Book", "--phase", "Review", "--phase", "Ship", "--phase", "Review", root=tmp_path)
    holdfast("done", "1", root=tmp_path)
    refused = holdfast("done", "Review", root=tmp_path, code=1).err
    assert 'phase 1/3 "Review" is completed already; if phase 3/3 is done too: `holdfast done 3`' in refused

    holdfast("update", "--phase", "Review", "--rename", "Look back", root=tmp_path)

    assert [each.title for each in only(tmp_path).phases] == ["Review", "Ship", "Look back"]


def test_next_prints_what_a_phases_agent_is_told(tmp_path: Path) -> None:
    """It begins nothing; the name may be a workflow's, too."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build @a", "--phase", "Test @b", root=tmp_path)
    holdfast("done", "--note", "Mind the gap", root=tmp_path)

    said = holdfast("next", "Test", root=tmp_path).out
    row = holdfast("next", "Test", "--json", root=tmp_path).json

    assert said == "phase 2/2: Test (active)\nHanded over to it: Mind the gap\n"
    assert (row["title"], row["status"]) == ("Test", "active")
    assert "Next: go on with" in holdfast("next", "tool", root=tmp_path).out


def test_of_its_own_workflows_a_session_means_the_last_with_a_phase_of_that_name(tmp_path: Path) -> None:
    """Without a session, each could be meant; then the commands are printed."""
    for title in ("Payments", "User auth"):
        holdfast("start", title, "--phase", "Draft", "--phase", "Review", root=tmp_path, session=ME)
    assert 'several workflows have a phase "Draft"' in holdfast("done", "Draft", root=tmp_path, code=1).err

    holdfast("done", "Draft", root=tmp_path, session=ME)

    found = registry.all_found(Workspace.open(tmp_path)).workflows
    assert {each.title: each.current for each in found} == {"User auth": 2, "Payments": 1}


def test_what_nobody_completed_is_named_up_to_five(tmp_path: Path) -> None:
    """Of more, it is said that there are more."""
    named = '2 "B", 3 "C", 4 "D", 5 "E", 6 "F"'
    for titles, ending in (("ABCDEF", "."), ("ABCDEFG", ", ….")):
        holdfast("start", titles, *(f"--phase={title}" for title in titles), root=tmp_path)
        assert f"Not completed: {named}{ending} " in holdfast("done", "--all", root=tmp_path).out


def test_what_is_handed_over_may_be_said_with_a_status(tmp_path: Path) -> None:
    """Also of a phase that goes on, where its format keeps that."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", root=tmp_path)
    holdfast("update", "--status", "blocked", "--context", "Ann has the keys", root=tmp_path)
    assert (only(tmp_path).phase_status, only(tmp_path).phases[0].handover) == ("blocked", "Ann has the keys")


@pytest.mark.parametrize(
    ("format_", "completed", "words"),
    [
        ("compaction", 0, 'no phase of "Book" is completed; name the one to begin'),
        ("wfs", 1, "name the task to reopen"),
    ],
)
def test_reopen_needs_to_know_what(tmp_path: Path, format_: str, completed: int, words: str) -> None:
    """Where nothing is completed, or no order says what was the last."""
    holdfast("start", "Book", "--format", format_, "--phase", "Draft", "--phase", "Review", root=tmp_path)
    for _ in range(completed):
        holdfast("done", root=tmp_path)
    assert words in holdfast("reopen", root=tmp_path, code=1).err
