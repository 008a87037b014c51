"""The general verbs on the workflows of skills: files, index, scenarios, and crashes between two writes."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, TransitionError
from holdfast.files import atomic
from holdfast.files.lock import locked
from holdfast.formats.skills import adapter as skills
from holdfast.formats.skills import folder, index, inspection, lookup, places, record, store, transitions
from holdfast.sessions.history import archive, generations
from holdfast.workflow import definitions, guidance, verbs
from holdfast.workflow import places as kept_at
from holdfast.workflow.model import Changes, Start
from tests.formats.skills import documents
from tests.formats.skills.documents import DEV, TDD

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.record import Record
    from holdfast.formats.skills.machine import Machine
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.adapter import AgentFormat
    from holdfast.workflow.model import Workflow

# mypy holds them to what a format has to offer.
RECORD: Record = record
ADAPTER: AgentFormat = skills
KEY = "features/auth/user-login.md"


def start(project: Workspace, *tasks: str) -> Workflow:
    """Start /dev for a feature file."""
    return skills.start(project, Start(KEY, kind="dev", phases=tuple((each, "") for each in tasks)))


def document(project: Workspace, name: str, **workflow: Any) -> Workflow:
    """Put one of the document's states into the project, with other values of its `workflow`."""
    data = documents.state(name)
    data["workflow"] |= workflow
    return put(project, name, data)


def put(project: Workspace, name: str, data: dict[str, Any]) -> Workflow:
    path = documents.put(project, f"{name}-{places.hashed(KEY)}", json.dumps(data, indent=2).encode())
    (found,) = [each for each in skills.find(project).workflows if each.path == path]
    return found


def data(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def listed(project: Workspace) -> list[str]:
    return [each.id for each in index.entries(project)]


def test_a_start_writes_the_file_and_lists_it(project: Workspace) -> None:
    """R004-05 to R004-08: named after the key, with exactly the document's keys in the index."""
    made = start(project, "Add model", "Add login")

    assert made.path == places.state(project, "dev", KEY)
    assert data(made.path)["workflow"]["id"] == made.path.stem
    entry = data(places.index(project))["active_workflows"][0]
    assert list(entry) == ["id", "skill", "feature", "started_at", "last_activity"]
    assert (entry["id"], entry["skill"], entry["feature"]) == (made.path.stem, "dev", KEY)
    assert sorted(path.name for path in places.top(project).iterdir()) == [".gitignore", "active", "index.json"]


def test_a_restore_leaves_another_programs_file_alone(project: Workspace) -> None:
    """It may have taken the path since."""
    made = start(project)
    made.path.write_text('{"jobs": []}')

    with pytest.raises(SchemaMismatch):
        skills.restore(project, made.path, made.raw, why="log restore", replace=True)

    assert made.path.read_text() == '{"jobs": []}'


def test_extras_never_lie_among_the_states(project: Workspace) -> None:
    """Other programs take each file of `active/` for a workflow."""
    made = start(project, "Add model")
    verbs.update(project, made, Changes(reminders=("Small commits",), reading=("docs/a.md",), context={"ticket": 7}))

    assert [path.name for path in places.active(project).iterdir()] == [made.path.name]
    (now,) = skills.find(project).workflows
    assert (now.reminders, now.reading, now.context["ticket"]) == (("Small commits",), ("@docs/a.md",), 7)
    assert data(made.path)["context"]["ticket"] == 7


def test_an_end_leaves_one_copy_that_is_not_listed(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """R004-28, I004-3: the copy says that it is completed, and the index when that was."""
    made = start(project, "Add model")
    before = data(places.index(project))["updated_at"]
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(minutes=1)))

    after = verbs.done(project, made, everything=True)

    copy = data(places.completed(project) / made.path.name)
    assert (copy["workflow"]["status"], copy["history"][-1]["event"]) == ("completed", "workflow_completed")
    assert after.finished
    assert not made.path.exists()
    assert listed(project) == []
    assert data(places.index(project))["updated_at"] > before
    assert [each.workflow.key for each in archive.entries(project)] == [made.key]
    with pytest.raises(MissingError):
        verbs.done(project, made)


def test_an_early_end_says_of_nothing_that_it_was_worked_on(project: Workspace) -> None:
    """The active phase is completed, or stays active while a checkpoint of it is open; the others stay pending."""
    after = verbs.done(project, verbs.begin(project, start(project, "Add model")), everything=True)
    assert [each.status for each in after.phases] == ["completed", *["pending"] * (after.total - 1)]
    assert after.finished

    state = documents.state("dev")
    state["tasks"] = []
    for each in state["state_machine"]["phases"]:
        each["status"] = {"verification": "in_progress", "pr_creation": "pending"}.get(each["name"], "completed")
    state["state_machine"]["current_phase"] = "verification"
    after = verbs.done(project, put(project, "dev", state), everything=True)
    assert [each.status for each in after.phases] == ["completed"] * 3 + ["active", "pending"]
    assert after.finished
    assert inspection.findings(project) == []


@pytest.mark.parametrize("killed", ["copy", "removal", "index"])
def test_a_crash_between_two_writes_of_an_end_heals(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """I004-3: whatever was written last, the next call leaves one copy that is not listed."""
    made = start(project, "Add model")
    place, name = {
        "copy": (atomic, "write"),
        "removal": (atomic, "take"),
        "index": (index, "drop"),
    }[killed]
    with monkeypatch.context() as patch:
        patch.setattr(place, name, _die)
        with pytest.raises(KeyboardInterrupt):
            verbs.done(project, made, everything=True)

    found = skills.find(project).workflows
    assert [each.finished for each in found] == [True] * (killed != "index"), "it is never shown as unfinished"
    for each in found:
        verbs.done(project, each)
    with locked(places.top(project)):
        index.rebuild(project, index.from_files(project, folder.names(project)))
    assert [path.name for path in places.completed(project).glob("*.json")] == [made.path.name]
    assert list(places.active(project).glob("*.json")) == []
    assert listed(project) == []


def test_an_end_takes_the_extras_along_and_keeps_what_was_saved_at_that_moment(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next workflow of the feature has extras of its own; an editor's last save is no longer in force, but kept."""
    made = start(project, "Add model")
    made = verbs.update(project, made, Changes(reminders=("Small commits",)))
    assert kept_at.extras(project.root, made.path).exists()
    taken = atomic.take
    monkeypatch.setattr(atomic, "take", lambda path: taken(path) and b"their save")

    verbs.done(project, made, everything=True)

    assert not kept_at.extras(project.root, made.path).exists()
    assert [path.read_bytes() for path in places.completed(project).glob("*.kept-*")] == [b"their save"]


def test_a_finished_workflow_among_the_unfinished_is_meant_by_nobody(project: Workspace) -> None:
    """It waits to be moved; its key is free for the next one."""
    document(project, "dev", status="completed")

    assert lookup.named(project, KEY) == []


def test_a_run_that_others_completed_is_moved_and_kept(project: Workspace) -> None:
    """What the file held at its end is a generation, although no command of Holdfast wrote it (`holdfast log`)."""
    ended = document(project, "dev", status="completed")

    store.tidy(project, [ended])

    assert not ended.path.exists()
    assert generations.latest(project, ended.path) == ended.raw


def test_a_run_that_goes_on_meanwhile_is_not_moved(project: Workspace) -> None:
    """Somebody opened it again between the reading and the lock."""
    ended = document(project, "dev", status="completed")
    again = ended.raw.replace(b'"completed"', b'"in_progress"', 1)
    ended.path.write_bytes(again)

    store.tidy(project, [ended])

    assert ended.path.read_bytes() == again


def test_what_a_new_run_replaces_is_abandoned_and_kept(project: Workspace) -> None:
    """Asked for with `--replace`; who looks for it finds that it was given up."""
    made = start(project, "Add model")

    again = skills.start(project, Start(KEY, kind="dev", phases=(("Add login", ""),), replace=True))

    gone = data(places.completed(project) / made.path.name)["workflow"]
    assert (gone["status"], gone["abandon_reason"]) == ("abandoned", "replaced by a new workflow")
    assert [each.workflow.key for each in archive.entries(project)] == [made.key]
    assert again.key != made.key
    assert listed(project) == [again.path.stem]


def test_a_run_that_is_begun_again_is_listed_again(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever took it off the list; and what changes nothing leaves the list as it is."""
    made = start(project, "Add model")
    with locked(places.top(project)):
        index.drop(project, made.path, data(made.path))
    raw = places.index(project).read_bytes()
    assert not store.change(project, made, lambda *_: None, why="nothing")[1]
    assert places.index(project).read_bytes() == raw

    store.relist(project, made)
    raw = places.index(project).read_bytes()
    assert listed(project) == [made.path.stem]

    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(minutes=1)))
    store.relist(project, made)
    assert places.index(project).read_bytes() == raw


def test_a_run_keeps_its_place_in_the_list(project: Workspace) -> None:
    """People read it, and git shows what changed."""
    made = start(project, "Add model")
    skills.start(project, Start("features/other.md", kind="dev", phases=(("Add model", ""),)))
    before = listed(project)

    verbs.begin(project, made)

    assert listed(project) == before


def test_what_a_run_of_the_same_key_left_delists_nothing(project: Workspace) -> None:
    """A finished one lies in `completed/` for a day, under the name of the one that goes on."""
    verbs.done(project, start(project, "Add model"), everything=True)
    again = start(project, "Add model")

    store.tidy(project, skills.find(project).workflows)

    assert (places.completed(project) / again.path.name).exists()
    assert listed(project) == [again.path.stem]


def test_a_folder_is_no_beginning_of_another_ones_name(project: Workspace) -> None:
    """`features/auth` isn't about what lies in `features/authors`."""
    skills.start(project, Start("features/authors/list.md", kind="dev", phases=(("Add model", ""),)))

    assert lookup.named(project, "features/auth") == []
    assert len(lookup.named(project, "features/authors")) == 1


def test_a_workflow_about_a_folder_comes_before_those_of_its_files(project: Workspace) -> None:
    """In any spelling; those of its files are meant if there is none."""
    start(project, "Add model")
    assert [each.title for each in lookup.named(project, "./features/auth")] == [KEY]
    skills.start(project, Start("features/auth", kind="dev"))

    assert [each.title for each in lookup.named(project, "./features/auth")] == ["features/auth"]


def test_an_earlier_content_is_restored_and_listed(project: Workspace) -> None:
    """Also where another workflow is by now, but only on request."""
    made = start(project, "Add model")
    raw = made.path.read_bytes()
    made.path.unlink()
    with locked(places.top(project)):
        index.rebuild(project, index.from_files(project, folder.names(project)))
    assert listed(project) == []

    assert skills.restore(project, made.path, raw, why="restore", replace=False).changed
    assert listed(project) == [made.path.stem]

    state = documents.state("dev")
    made.path.write_text(json.dumps(state))
    with pytest.raises(TransitionError, match="add --replace"):
        skills.restore(project, made.path, raw, why="restore", replace=False)
    assert skills.restore(project, made.path, raw, why="restore", replace=True).workflow.id == made.id


def test_what_others_write_is_listed(project: Workspace) -> None:
    """A state file that another program wrote is in the index from then on."""
    seen = document(project, "dev")
    assert not places.index(project).exists()

    skills.written(project, seen, seen.path, why="edit")

    assert listed(project) == [seen.path.stem]


def _die(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_crash_before_the_index_heals_with_the_next_transition(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is the truth, the index follows."""
    with monkeypatch.context() as patch:
        patch.setattr(index, "put", _die)
        with pytest.raises(KeyboardInterrupt):
            start(project, "Add model")
    (made,) = skills.find(project).workflows
    assert not places.index(project).exists()

    verbs.begin(project, made)

    assert listed(project) == [made.path.stem]


def test_the_next_workflow_of_a_feature_is_another_one(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even in the same second, and its file has the same name."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-08T20:00:00Z")
    first = verbs.done(project, start(project, "Add model"), everything=True)
    second = start(project, "Add model")

    assert first.path == second.path
    assert first.id != second.id


def test_a_corrupted_file_is_set_aside_and_a_fresh_one_started(project: Workspace) -> None:
    """R004-40, I004-5: nothing is removed, there is one entry in the index, and the history tells it."""
    made = start(project, "Add model")
    made.path.write_bytes(b'{"workflow": ')

    again = start(project, "Add model")

    assert "⚠️ Corrupted state file detected. Starting fresh." in again.warnings[-1]
    (aside,) = places.active(project).glob("*.corrupt-*")
    assert aside.read_bytes() == b'{"workflow": '
    assert data(again.path)["history"][-1]["event"] == "corrupted_state"
    assert aside.name in data(again.path)["history"][-1]["note"]
    assert listed(project) == [again.path.stem]
    assert [each.workflow.key for each in archive.entries(project)] == [made.key]


def at_task_five(project: Workspace) -> Workflow:
    """Return a workflow as in the document's first scenario."""
    state = documents.state("dev")
    parts = {"red": "completed", "green": "in_progress", "refactor": "pending"}
    state["tasks"] = [
        {"index": number, "description": f"Part {number}", "status": "completed" if number < 5 else "pending"}
        for number in range(1, 8)
    ]
    state["tasks"][4] |= {"status": "in_progress", "tdd_phases": parts}
    return put(project, "dev", state)


def test_scenario_one_names_the_task_and_its_part(project: Workspace) -> None:
    """R004-33."""
    now = at_task_five(project)
    step = skills.step(now)

    assert step is not None
    assert step.text.startswith("Resuming task 5/7, currently in GREEN phase")
    assert "Resuming task 5/7, currently in GREEN phase" in guidance.build(now, root=project.root, sidecar=None).text


def test_scenario_two_names_what_is_pending(project: Workspace) -> None:
    """R004-34: in the order of the checkpoints, with the document's word for the last."""
    state = documents.state("dev")
    for each in state["tasks"]:
        each["status"] = "completed"
    now = put(project, "dev", state)
    step = skills.step(now)

    assert step is not None
    assert step.text == "All tasks complete. Pending: lint, test, security_review, code_simplifier, pr"

    del state["checkpoints"]["code_simplifier"]
    shown = guidance.build(put(project, "dev", state), root=project.root, sidecar=None).text
    assert "All tasks complete. Pending: lint, test, security_review, pr, then holdfast done" in shown


def test_scenario_three_asks_to_look_at_git(project: Workspace) -> None:
    """R004-35."""
    state = documents.state("dev")
    for each in (*state["tasks"], *state["state_machine"]["phases"][:4]):
        each["status"] = "completed"
    for name in ("lint", "test", "security_review", "code_simplifier"):
        state["checkpoints"][name] |= {"status": "completed", "passed": True}
    state["state_machine"]["phases"][4]["status"] = "in_progress"
    state["state_machine"]["current_phase"] = "pr_creation"
    step = skills.step(put(project, "dev", state))

    assert step is not None
    assert step.text == "go on with pr_creation: check git status; create the PR if the branch is pushed. Pending: pr"


def test_a_blocked_workflow_says_why(project: Workspace) -> None:
    """In its next step, whatever it was at; an abandoned one is over."""
    made = verbs.begin(project, start(project, "Add model"))
    blocked = verbs.update(project, made, Changes(status="blocked", error="No key"))
    step = skills.step(blocked)

    assert step is not None
    assert step.text == "Blocked: No key. Once this is solved: `holdfast skills unblock`"
    assert blocked.status == "blocked"
    gone = document(project, "dev", status="abandoned", abandon_reason="No use")
    assert (gone.finished, gone.resumable, skills.step(gone)) == (True, False, None)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Task 2\n\nDo it.", "task-2"),
        ("task 2/3\n\nDo it.", "task-2"),
        ("Task 2: Implement OutboxPublisher\n\nDo it.", "task-2"),
        ("Work\n\nTask 2/3", "task-2"),
        ("Implement OutboxPublisher\n\nDo it.", "task-2"),
        ("task-3\n\nDo it.", "task-3"),
        ("verification\n\nDo it.", "verification"),
        ("Task 2/7\n\nDo it.", None),
        ("Task 9\n\nDo it.", None),
        ("Task 2 is for another day\n\nLook around.", None),
        ("Look around\n\nTask 1 was done.", None),
    ],
)
def test_an_agent_is_for_the_task_that_its_launch_names(project: Workspace, text: str, unit: str | None) -> None:
    """Nothing from another one moves the workflow."""
    found = skills.match_phase(document(project, "dev"), text, "general-purpose")

    assert (found.id if found else None) == unit


def test_an_agent_gets_its_task_with_its_part(project: Workspace) -> None:
    """The phase of its TDD cycle, with what that asks for."""
    now = document(project, "dev")
    brief = skills.brief(project, now, now.phases[3])

    assert brief is not None
    assert brief.lines[:2] == ("Task 2/3: Implement OutboxPublisher", "Phase: GREEN (make tests pass)")
    assert skills.brief(project, now, now.phases[0]) is None


def test_done_does_nothing_if_somebody_completed_it_meanwhile(project: Workspace) -> None:
    """Not even begin the next task or write the note, which is about another one by then."""
    seen = document(project, "dev")

    def complete(state: dict[str, Any], rules: Machine, at: str) -> None:
        transitions.complete_task(state, 2, at, commit="abc1234")

    store.change(project, seen, complete, why="task 2 done")
    before = seen.path.read_bytes()

    now = verbs.done(project, seen, note="Use a stack")

    assert seen.path.read_bytes() == before
    assert now.phases[4].status == "pending"


def test_a_hook_never_ends_a_workflow(project: Workspace) -> None:
    """That is left to whoever works on it."""
    made = skills.start(project, Start("Ship", phases=(("Build", ""),)))
    judged = skills.judge(project, made, "Build", "completed", "It is built.")

    assert judged.changed
    assert not judged.workflow.finished
    step = skills.step(judged.workflow)
    assert step is not None
    assert "holdfast skills complete" in step.text
    assert verbs.done(project, judged.workflow).finished


def test_what_a_hook_may_not_do_is_remarked(project: Workspace) -> None:
    """A phase that can't begin yet stays as it is."""
    made = document(project, "dev")
    before = made.path.read_bytes()

    judged = skills.judge(project, made, "pr_creation", "active", "")

    assert (judged.changed, made.path.read_bytes()) == (False, before)
    assert "can't be followed by 'pr_creation'" in judged.remark


@pytest.mark.parametrize(("unit", "status"), [("task-1", "failed"), ("task-1", "active"), ("load_feature", "failed")])
def test_a_hook_on_what_is_completed_changes_nothing(project: Workspace, unit: str, status: Any) -> None:
    """It is late, or about something else: there is nothing to remark."""
    made = document(project, "dev")
    before = made.path.read_bytes()

    judged = skills.judge(project, made, unit, status, "It broke.")

    assert (judged.changed, judged.remark, made.path.read_bytes()) == (False, "", before)


def test_a_phase_of_ones_own_is_renamed_with_its_position(project: Workspace) -> None:
    """Phases of a machine keep their names."""
    made = verbs.begin(project, skills.start(project, Start("Ship", phases=(("Build", ""), ("Test", "")))))

    now = verbs.update(project, made, Changes(phase="Compile"))

    assert (now.phase, data(now.path)["state_machine"]["current_phase"]) == ("Compile", "Compile")
    assert verbs.done(project, now).phase == "Test"


def test_done_does_not_pass_a_failed_checkpoint(project: Workspace) -> None:
    """I004-8: not the phase, and not all of it."""
    made = document(project, "dev")
    state = data(made.path)
    state["checkpoints"]["lint"] |= {"status": "completed", "passed": False}
    made.path.write_text(json.dumps(state))
    (now,) = skills.find(project).workflows

    with pytest.raises(TransitionError, match="lint failed"):
        verbs.done(project, now, everything=True)


def test_a_start_by_its_general_verb_says_what_it_needs(project: Workspace) -> None:
    """Which skills there are, that a machine has its own phases, that names differ."""
    for given, said in (
        (Start("x", kind="release"), "there are dev, tdd"),
        (Start("x", kind="tdd", phases=(("red", ""),)), "has its own phases"),
        (Start("x", phases=(("a", ""), ("a", ""))), "the same name"),
        (Start("x", phases=(("a", ""),), total=3), "instead of --total"),
        (Start("x"), "phases of its own"),
    ):
        with pytest.raises(HoldfastError, match=said):
            skills.start(project, given)
    assert not places.top(project).exists() or not list(places.active(project).glob("*.json"))


def test_a_users_own_machine_moves_a_workflow(project: Workspace) -> None:
    """A third skill needs no code: phases, checkpoints, fields and transitions from its file."""
    definitions.user_folder("machines").mkdir(parents=True)
    (definitions.user_folder("machines") / "release.toml").write_text(
        'key = "version"\n[context]\nversion = ""\n[[phases]]\nname = "tag"\nrequires = ["signed"]\n'
        '[[phases]]\nname = "announce"\n[checkpoints]\nsigned = { last_run = "" }\n'
    )
    made = verbs.begin(project, skills.start(project, Start("2.0", kind="release")))

    assert (made.title, [each.id for each in made.phases]) == ("2.0", ["tag", "announce"])
    assert data(made.path)["context"] == {"version": "2.0"}
    with pytest.raises(TransitionError, match="signed pending"):
        verbs.done(project, made)

    def sign(state: dict[str, Any], rules: Machine, at: str) -> None:
        state["checkpoints"]["signed"] |= {"status": "completed", "passed": True}
        transitions.note(state, at, "checkpoint")

    now, _ = store.change(project, made, sign, why="sign")
    assert verbs.done(project, now).phase == "announce"


def test_other_files_are_left_alone(project: Workspace) -> None:
    """`feature-order.json` beside the index, another program's index, and a state of nobody's."""
    order = places.top(project) / "feature-order.json"
    order.parent.mkdir(parents=True)
    order.write_text('{"order": []}')
    places.index(project).write_text('{"mine": 1}')
    odd = documents.put(project, "dev-x", b'{"order": []}')

    made = start(project, "Add model")
    verbs.done(project, made, everything=True)

    assert order.read_text() == '{"order": []}'
    assert places.index(project).read_text() == '{"mine": 1}'
    assert odd.read_bytes() == b'{"order": []}'


def test_the_index_is_read_in_its_other_forms(project: Workspace) -> None:
    """I004-1: `context` for `feature`, and an id that is not the file's name. Another program's keys stay."""
    path = documents.put(project, f"dev-{places.hashed(KEY)}", DEV)
    other = {"id": "dev-evt-infra-a1b2", "skill": "dev", "context": "features/x.md", "mine": 1}
    places.index(project).write_text(json.dumps({"schema_version": "1.0", "active_workflows": [other]}))
    assert [each.feature for each in index.entries(project)] == ["features/x.md"]
    (found,) = skills.find(project).workflows

    verbs.done(project, found)

    (row,) = data(places.index(project))["active_workflows"]
    assert (row["id"], row["feature"], row["mine"]) == (path.stem, "features/foundation/event-infrastructure.md", 1)
    assert row["context"] == "features/x.md"


def test_a_broken_index_is_made_anew_from_the_files(project: Workspace) -> None:
    """And the broken one is kept."""
    made, other = start(project, "Add model"), documents.put(project, "tdd-a1b2c3d4", TDD)
    places.index(project).write_text("{")

    verbs.begin(project, made)

    assert sorted(listed(project)) == sorted([made.path.stem, other.stem])
    assert len(list(places.top(project).glob("index.json.corrupt-*"))) == 1


@pytest.mark.parametrize("planted", ["pipe", "link", "sparse file"])
def test_an_index_that_cannot_be_read_stops_no_workflow(project: Workspace, planted: str) -> None:
    """It is never the only source (R004-07): the state moves, nothing is written there, and `check` names it."""
    workflow = start(project, "One", "Two")
    place = places.index(project)
    place.unlink()
    if planted == "pipe":
        os.mkfifo(place)
    elif planted == "link":
        place.symlink_to(project.root.parent / "elsewhere.json")
    else:
        place.touch()
        os.truncate(place, 2 * 1024**3)
    before = place.lstat()

    begun = verbs.begin(project, workflow)
    assert begun.phase_status == "active"
    assert [each.id for each in lookup.named(project, "./" + KEY)] == [workflow.id]
    assert verbs.done(project, begun, everything=True).finished

    assert place.lstat().st_mtime_ns == before.st_mtime_ns
    assert not (project.root.parent / "elsewhere.json").exists()
    (finding,) = inspection.findings(project)
    assert finding.text.startswith("index.json ") and str(place) in finding.remedy
    assert inspection.repair(project) == []


def test_what_the_index_says_wrongly_is_named_and_mended(project: Workspace) -> None:
    """An entry without a file, one that is there twice, and a file that isn't listed."""
    made = start(project, "Add model")
    documents.put(project, "tdd-a1b2c3d4", TDD)
    said = data(places.index(project))
    own = said["active_workflows"][0] | {"note": "first"}
    said["active_workflows"] = [own, own | {"note": "second"}, {"id": "dev-00000000", "skill": "dev"}]
    places.index(project).write_text(json.dumps(said))

    with locked(places.top(project)):
        found = index.rebuild(project, index.from_files(project, folder.names(project)))

    assert found == [
        "dev-00000000 is listed, but has no state file",
        f"{made.path.stem} is listed 2 times",
        "tdd-a1b2c3d4 is not listed",
    ]
    assert sorted(listed(project)) == sorted([made.path.stem, "tdd-a1b2c3d4"])
    assert data(places.index(project))["active_workflows"][0] == own, "of two, the first stays"
    assert index.differences(project, index.from_files(project, folder.names(project))) == []
