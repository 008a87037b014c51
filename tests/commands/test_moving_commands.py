"""`holdfast next`, `done` and `update` move a workflow, in each format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.sessions.agents import lifecycle, progress
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.formats.known import KNOWN
from tests.handmade import ME, OTHER, THIRD

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


def test_next_begins_what_is_due_and_says_it(root: Path) -> None:
    """Asking again changes nothing."""
    said = holdfast("next", "--json", root=root).json

    assert (said["status"], said["current"], said["phase"]) == ("active", 1, "Draft")
    assert said["next"]["title"] == "Draft"
    before = only(root).raw
    assert holdfast("next", root=root).out == holdfast("next", root=root).out
    assert only(root).raw == before


def test_done_completes_and_moves_on(root: Path) -> None:
    """R001-12, R000-35: the current phase, the next one, and what was left for it."""
    holdfast("next", root=root)

    said = holdfast("done", "--note", "four chapters", root=root).out

    now = only(root)
    assert f'Completed {now.named(now.phases[0])} "Draft".' in said
    assert f'{now.named(now.phases[1])} "Review"' in said
    assert "four chapters" in said
    assert (only(root).current, only(root).phase, only(root).phase_status) == (2, "Review", "active")


def test_the_last_done_completes_the_workflow(root: Path) -> None:
    """R000-13, R001-19."""
    holdfast("next", root=root)
    for _ in range(2):
        holdfast("done", root=root)

    said = holdfast("done", root=root).out

    assert "The workflow is complete." in said
    assert "Next:" not in said
    assert all(workflow.finished for workflow in registry.all_found(Workspace.open(root)).workflows)
    assert "no workflow is unfinished" in holdfast("done", root=root, code=1).err


def test_done_all_ends_it_at_once(root: Path) -> None:
    """The way out of a workflow nobody goes on with."""
    said = holdfast("done", "--all", "--json", root=root).json

    assert (said["status"], said["next"]) == ("completed", None)


def test_update_adds_to_what_is_there(root: Path) -> None:
    """Readings, reminders and context only grow; what is not named stays."""
    holdfast("update", "--read", "a.md", "--remind", "one", "--set", "x=1", root=root)
    said = holdfast("update", "--read", "@b.md", "--remind", "two", "--set", "y=z", "--json", root=root)

    assert said.json["title"] == "Book"
    workflow = only(root)
    assert (workflow.reading, workflow.reminders) == (("@a.md", "@b.md"), ("one", "two"))
    assert {key: workflow.context[key] for key in ("x", "y")} == {"x": 1, "y": "z"}


@pytest.mark.parametrize("phase", ["2", "٢"])
def test_update_jumps_to_a_phase_by_number(root: Path, phase: str) -> None:
    """People may know better where the work is."""
    holdfast("update", "--phase", phase, root=root)

    assert (only(root).current, only(root).phase) == (2, "Review")


def test_update_renames_the_current_phase(root: Path) -> None:
    """An unknown title is no new name: renaming has an option of its own."""
    holdfast("next", root=root)
    said = holdfast("update", "--phase", "Draft it ²", root=root, code=1).err
    assert '"Book" has no' in said and 'did you mean "Draft"?' in said

    said = holdfast("update", "--rename", "Draft it ²", root=root).out

    assert only(root).phase == "Draft it ²"
    assert '"Draft" to "Draft it ²". To undo this: holdfast update --phase 1 --rename Draft\n' in said

    holdfast("update", "--phase", "Publish", "--rename", "Print", root=root)
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


@pytest.mark.parametrize("verb", ["next", "done", "update"])
def test_a_workflow_of_nobody_becomes_the_sessions_that_moves_it(root: Path, verb: str) -> None:
    """Survival, step 1: what a model works on is its session's."""
    more = ("--remind", "x") if verb == "update" else ()
    holdfast(verb, *more, root=root, session=ME)

    assert owners.owner(Workspace.open(root), only(root)) == ME


def test_what_an_agent_has_reported_counts_before_a_move(tmp_path: Path) -> None:
    """No event has come since it ended, so the command is the first to see it."""
    holdfast("start", "Book", "--format", "hybrid", "--phase", "Draft", "--phase", "Review", root=tmp_path)
    project = Workspace.open(tmp_path)
    progress.launch(project, ME, "c1", "writer", "Draft", "Do it.")
    lifecycle.reported(project, ME, "run", "", "completed", "Drafted.")
    lifecycle.named(project, ME, "c1", "run")
    assert only(tmp_path).current == 1

    holdfast("next", root=tmp_path, session=ME)

    assert [phase.status for phase in only(tmp_path).phases] == ["completed", "active"]


def test_a_live_sessions_workflow_is_taken_only_by_its_name(root: Path) -> None:
    """A command that names none takes nothing from another session that lives."""
    project = Workspace.open(root)
    owners.own(project, only(root), OTHER)
    sessions.note_event(project, OTHER)
    holdfast("next", root=root, session=ME, code=1)
    assert owners.owner(project, only(root)) == OTHER

    holdfast("next", "Book", root=root, session=ME)
    assert owners.owner(project, only(root)) == ME


def test_a_person_takes_nothing(root: Path) -> None:
    """A command in a terminal belongs to no session."""
    holdfast("next", root=root)

    assert owners.owner(Workspace.open(root), only(root)) is None


def test_looking_makes_nobody_an_owner(root: Path) -> None:
    """`list`, `show`, `explain` and `status` only read."""
    before = only(root).raw
    for verb in ("list", "show", "explain", "status"):
        holdfast(verb, root=root, session=ME)

    assert owners.owner(Workspace.open(root), only(root)) is None
    assert only(root).raw == before


def test_of_several_the_sessions_own_is_moved(tmp_path: Path) -> None:
    """Two sessions work in one folder, each on its own."""
    holdfast("start", "Mine", "--phase", "A", "--phase", "B", root=tmp_path, session=ME)
    holdfast("start", "Theirs", "--phase", "A", "--phase", "B", root=tmp_path, session=OTHER)

    holdfast("done", root=tmp_path, session=ME)

    found = {each.title: each.current for each in registry.all_found(Workspace.open(tmp_path)).workflows}
    assert found == {"Mine": 2, "Theirs": 1}
    assert "2 workflows are unfinished" in holdfast("done", root=tmp_path, session=THIRD, code=1).err
    assert "2 workflows are unfinished" in holdfast("done", root=tmp_path, code=1).err


def test_a_phase_is_moved_to_by_its_title(root: Path) -> None:
    """R001-12: the title of another phase means that phase; two of one title would be of no use to anybody."""
    holdfast("next", root=root)
    if only(root).format == "hybrid":  # one phase at a time (R000-15)
        assert 'phase 1 "Draft" is active' in holdfast("update", "--phase", "Review", root=root, code=1).err
        holdfast("hybrid", "phase", "1", "--status", "completed", root=root)
    if only(root).format == "wfs":  # what comes first is done first
        assert "IMPL-2 depends on IMPL-1" in holdfast("update", "--phase", "Review", root=root, code=1).err
        holdfast("wfs", "task", "complete", "IMPL-1", root=root)
    holdfast("update", "--phase", "Review", root=root)
    after = only(root)
    assert (after.current, [phase.title for phase in after.phases]) == (2, ["Draft", "Review", "Publish"])


def test_the_command_that_ends_what_is_in_the_way_means_nothing_else(tmp_path: Path) -> None:
    """The id is named where the short name could be another workflow's."""
    holdfast("start", "Book", "--phase", "Draft", root=tmp_path)
    second = ("start", "Book", "--format", "hybrid", "--phase", "Draft")
    id_ = holdfast(*second, "--json", root=tmp_path).json["id"]
    assert f"`holdfast done --all {id_}`" in holdfast(*second, root=tmp_path, code=1).err


def test_a_workflow_in_the_way_goes_when_asked(tmp_path: Path) -> None:
    """What is left unfinished stays in the archive, as it was."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", root=tmp_path)
    said = holdfast("start", "Book", "--phase", "New", root=tmp_path, code=1).err
    assert "end it with `holdfast done --all book`, or add --replace" in said

    holdfast("start", "Book", "--phase", "New", "--replace", root=tmp_path)
    assert only(tmp_path).phase == "New"
    (row,) = holdfast("list", "--archive", "--json", root=tmp_path).json
    assert (row["status"], row["current"], row["total"]) == ("active", 1, 2)


def test_done_says_what_it_completed(tmp_path: Path) -> None:
    """R001-12: a phase that was completed by an update is not announced as another's end."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", "--phase", "Publish", root=tmp_path)
    holdfast("update", "--status", "completed", root=tmp_path)
    assert 'Phase "Draft" was completed before; "Review" begins.' in holdfast("done", root=tmp_path).out
    assert 'Completed phase 2/3 "Review".' in holdfast("done", root=tmp_path).out
    assert "The workflow is complete. Its file is in the archive" in holdfast("done", root=tmp_path).out


def test_warnings_are_called_so(tmp_path: Path) -> None:
    """Who starts a workflow sees what is odd in it; the answers to later moves don't repeat that to the model."""
    said = holdfast("start", "Book", "--type", "planning", "--phase", "Draft", root=tmp_path).out
    assert "warning: a planning workflow usually has 6 phases" in said
    assert "usually has 6 phases" not in holdfast("next", root=tmp_path).out
    assert "usually has 6 phases" in holdfast("doctor", root=tmp_path, code=1).out


def test_a_workflow_is_named_by_id_title_or_path(root: Path) -> None:
    """Every verb takes a name."""
    workflow = only(root)
    for name in (workflow.id, "Book", workflow.place, workflow.ref):
        assert holdfast("next", name, "--json", root=root).json["id"] == workflow.id
    assert 'no workflow is named "Nope"' in holdfast("next", "Nope", root=root, code=1).err


def test_a_hybrid_phase_keeps_deliverables_and_handover(tmp_path: Path) -> None:
    """R000-18: what the current phase delivered, and what it leaves for the next."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "A", "--phase", "B", root=tmp_path)
    holdfast("next", root=tmp_path)
    holdfast("update", "--status", "completed", "--deliverable", "a.py", "--context", "it works", root=tmp_path)

    (first, _) = json.loads((tmp_path / ".claude" / "state" / "workflow.json").read_bytes())["phases"]
    assert (first["deliverables"], first["context_for_next"]) == (["a.py"], "it works")


def test_the_compaction_format_says_that_it_keeps_no_deliverables(tmp_path: Path) -> None:
    """What a format has no place for is refused and not lost."""
    holdfast("start", "Book", "--phase", "A", root=tmp_path)

    assert "deliverables" in holdfast("update", "--deliverable", "a.py", root=tmp_path, code=1).err


@pytest.mark.parametrize("kind", ["compaction", "hybrid"])
def test_the_documents_own_words_are_statuses(tmp_path: Path, kind: str) -> None:
    """R001-07: `in_progress` and `not_started`, in every format."""
    holdfast("start", "Book", "--format", kind, "--phase", "A", "--phase", "B", root=tmp_path)
    holdfast("update", "--status", "in_progress", root=tmp_path)
    assert only(tmp_path).phase_status == "active"
    if kind == "compaction":
        holdfast("update", "--status", "not_started", root=tmp_path)
        assert only(tmp_path).phase_status == "pending"


def test_an_update_of_the_status_is_kept(tmp_path: Path) -> None:
    """R001-07: blocked is a status of this format."""
    holdfast("start", "Book", "--phase", "A", root=tmp_path)
    said: dict[str, Any] = holdfast("update", "--status", "blocked", "--json", root=tmp_path).json

    assert said["status"] in ("blocked", "active")
    assert only(tmp_path).phase_status == "blocked"


def test_what_nobody_worked_on_is_not_completed_by_an_end(root: Path) -> None:
    """Not in the message, not in what is recorded, not in the times: it stays what it was."""
    holdfast("next", root=root)
    unit, done = only(root).unit, 1  # the active one

    said = holdfast("done", "--all", root=root).out

    assert f"Ended the workflow with {done} of 3 {unit}s completed. Not completed: " in said
    assert '"Review"' in said and '"Publish"' in said
    shown = holdfast("show", "book", "--json", root=root).json
    assert [each["status"] for each in shown["phases"]][1:] == ["pending", "pending"]
    assert [each["history"] for each in shown["phases"]][1:] == [None, None], "there is no time of it"
    assert (shown["status"], shown["percent"]) == ("completed", 100 * done // 3)
    assert f"{done}/3" in holdfast("show", "Book", root=root).out
    assert f" {done}/3 " in holdfast("list", "--archive", root=root).out


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


@pytest.mark.parametrize("name", ["BOOK", "book"])
def test_names_match_in_any_case(root: Path, name: str) -> None:
    """A workflow's, a phase's title, and its id."""
    holdfast("next", name, root=root)
    holdfast("done", name, root=root)
    assert only(root).phase == "Review"
    holdfast("update", name, "--phase", only(root).phases[1].id.upper(), root=root)
    assert [each.title for each in only(root).phases] == ["Draft", "Review", "Publish"], "none is renamed"


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
    assert "holdfast forget --workflow=payments\n" in holdfast("forget", "--workflow=pay", root=tmp_path, code=1).err
    assert (
        "  holdfast log diff 1 now --workflow payments\n"
        in holdfast("log", "diff", "1", "now", root=tmp_path, code=1).err
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
