"""Document 004: workflows that its own commands move, complete and leave, and that no verb of ours began."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.formats.skills import moves
from holdfast.formats.skills.schema import State
from holdfast.testing import Fired, HoldfastProject
from tests.commandline import holdfast
from tests.formats.skills import documents

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = ".claude/workflow-state"
FEATURE = "features/login.md"
BOXES = "# User login\n\n- [x] Add model\n- [ ] Add login\n"


def now() -> str:
    """Return the time as `date -Iseconds` prints it."""
    return clock.stamp()[:19] + "+00:00"


def compact(project: HoldfastProject) -> Fired:
    """Let a compaction happen; return what comes after it."""
    project.fire("PreCompact", "PreCompact-auto")
    return project.fire("SessionStart", "SessionStart-compact")


class Handmade:
    """A project with one state file, which is changed as the document's commands change it."""

    def __init__(self, root: Path, name: str, **changes: Any) -> None:
        self.project, self.root = HoldfastProject(root), root
        self.file = self.root / TOP / "active" / f"{name}-1.json"
        data = documents.state(name) | changes
        data["workflow"] |= {"branch": None, "created_at": now(), "updated_at": now()}
        for each in data["state_machine"]["phases"]:
            each["status"] = "pending"
        self.file.parent.mkdir(parents=True)
        (self.root / TOP / "completed").mkdir()
        self.write(data)

    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found

    def write(self, data: dict[str, Any]) -> None:
        self.file.write_text(json.dumps(data, indent=2))

    def move(self, phase: str) -> None:
        """Move to a phase as "Update State" does: the current phase, the time and the history, and nothing else."""
        data, at = self.data(), now()
        data["state_machine"]["current_phase"] = phase
        data["workflow"]["updated_at"] = at
        data["history"].append({"at": at, "event": "phase_started", "phase": phase})
        self.write(data)

    def task(self, number: int) -> None:
        """Complete a task as "Complete Task" does."""
        data = self.data()
        data["tasks"][number - 1] |= {"status": "completed", "commit_sha": f"abc{number}"}
        data["workflow"]["updated_at"] = now()
        self.write(data)

    def complete(self) -> None:
        """Complete the workflow as "Complete Workflow" does, which leaves the file in active/."""
        data = self.data()
        data["workflow"] |= {"status": "completed", "completed_at": now()}
        (self.root / TOP / "completed" / self.file.name).write_text(json.dumps(data, indent=2))

    def run(self, *words: str, code: int = 0) -> str:
        said = holdfast(*words, root=self.root, code=code, session=self.project.session)
        return said.out + said.err

    def guidance(self) -> dict[str, str]:
        """Return what a compaction gives back, by the words before the colon."""
        lines = [each.removeprefix("- ") for each in compact(self.project).context.splitlines() if ": " in each]
        return dict(each.split(": ", 1) for each in lines)

    def statuses(self) -> list[str]:
        return [each["status"] for each in self.data()["state_machine"]["phases"]]


@pytest.fixture
def handmade(holdfast_project: Callable[..., HoldfastProject], tmp_path: Path) -> Callable[..., Handmade]:
    holdfast_project({})  # with a home of its own

    def make(name: str, **changes: Any) -> Handmade:
        made = Handmade(tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}", name, **changes)
        made.run("claim")  # the session takes it, and nothing is written
        return made

    return make


def two_tasks() -> list[dict[str, Any]]:
    return [{"index": n, "description": each, "status": "pending"} for n, each in enumerate(("One", "Two"), 1)]


def test_the_current_phase_decides(handmade: Callable[..., Handmade]) -> None:
    """R004-25: guidance, list and file agree after each move of the document, forward, back and into the next round."""
    dev, tdd, wrong = handmade("dev", tasks=two_tasks()), handmade("tdd"), list[str]()
    moves: tuple[tuple[Handmade, str, int, str, str], ...] = (
        (dev, "load_feature", 0, "1/6 - Load feature (in_progress)", 'go on with "Load feature"'),
        (dev, "create_branch", 0, "2/6 - Create branch (in_progress)", 'go on with "Create branch"'),
        (dev, "task_execution", 0, "3/6 - One (pending)", 'Start task 1/2: "One"'),
        (dev, "", 1, "4/6 - Two (pending)", 'Start task 2/2: "Two"'),
        (dev, "", 2, "5/6 - Verification (pending)", "All tasks complete. Pending: lint, test"),
        (dev, "verification", 0, "5/6 - Verification (in_progress)", 'go on with "Verification"'),
        (dev, "pr_creation", 0, "6/6 - PR creation (in_progress)", "go on with pr_creation"),
        (dev, "verification", 0, "5/6 - Verification (in_progress)", 'go on with "Verification"'),
        (tdd, "red", 0, "1/4 - RED (in_progress)", "go on with red"),
        (tdd, "green", 0, "2/4 - GREEN (in_progress)", "go on with green: make tests pass"),
        (tdd, "red", 0, "1/4 - RED (in_progress)", "go on with red"),
        (tdd, "commit", 0, "4/4 - COMMIT (in_progress)", "go on with commit"),
        (tdd, "red", 0, "1/4 - RED (in_progress)", "go on with red"),
        (tdd, "commit", 0, "4/4 - COMMIT (in_progress)", "go on with commit"),
    )
    for made, phase, task, position, step in moves:
        if phase:
            made.move(phase)
        if task:
            made.task(task)
        restored = made.guidance()  # which also writes the file: the history has each compaction
        current = made.data()["state_machine"]["current_phase"]
        names = [each["name"] for each in made.data()["state_machine"]["phases"]]
        at = names.index(current)
        agreed = ["completed"] * at + ["in_progress"] + ["pending"] * (len(names) - at - 1)
        shown = made.run("status")
        place, _, title = position.partition(" - ")
        if restored["Step"] != position or not restored["Next step"].startswith(step):
            wrong.append(f"{phase or task}: {restored['Step']}, {restored['Next step']}")
        if made.statuses() != agreed or not (place in shown and title.partition(" (")[0] in shown):
            wrong.append(f"{phase or task}: {made.statuses()}, {shown}")
    assert not wrong, "\n".join(wrong)


def test_a_verb_after_a_move_by_hand_leaves_one_phase_in_progress(handmade: Callable[..., Handmade]) -> None:
    """The phases that the document's commands left pending are written as what they are."""
    dev = handmade("dev", tasks=two_tasks())
    dev.move("task_execution")
    dev.task(1)
    dev.run("done")
    assert dev.statuses() == ["completed", "completed", "completed", "in_progress", "pending"]
    assert dev.data()["state_machine"]["current_phase"] == "verification"

    tdd = handmade("tdd")
    tdd.move("green")
    tdd.run("done")
    assert tdd.statuses() == ["completed", "completed", "in_progress", "pending"]

    dev.move("pr_creation")
    data = dev.data()
    data["tasks"][1]["status"] = "pending"
    dev.write(data)
    assert "1 of 2 tasks not completed, although pr_creation has begun" in dev.run("next")


def test_the_results_of_tests_reach_the_model(handmade: Callable[..., Handmade]) -> None:
    """R004-20 to R004-22, R004-37: failing test, command, error and files; short in the guidance, whole beside it."""
    made = handmade("tdd")
    data, error = made.data(), "no method named `login` found\n" + "at src/main.rs\n" * 100 + "the end"
    data["state_machine"]["phases"][1]["last_error"] = error
    made.write(data)
    made.move("green")
    restored = made.guidance()
    assert restored["failing_tests"] == '["test_login_with_valid_credentials"]'
    assert restored["test_command"] == "cargo test login"
    assert restored["files_modified"] == '["tests/auth_service_test.rs", "src/services/auth_service.rs"]'
    assert restored["last_error"].startswith("no method named `login` found at src/main.rs")
    assert len(restored["last_error"]) < len(error)
    whole = Path(restored["Full version"].partition(" (sha256")[0])
    assert error in whole.read_text()


def test_the_completed_copy_wins(handmade: Callable[..., Handmade]) -> None:
    """R004-28: nothing is restored, and `doctor` removes the file that the document leaves. A later save counts."""
    made = handmade("tdd")
    made.move("commit")
    made.complete()
    copy = made.root / TOP / "completed" / made.file.name
    finished = copy.read_bytes()
    assert compact(made.project).context == ""
    assert "completed" in made.run("status")
    assert "active/tdd-1.json is outdated: completed/ has the later copy" in made.run("doctor", code=1)
    assert made.file.exists()
    assert "active/tdd-1.json is gone" in made.run("doctor", "--fix", code=1)
    assert (made.file.exists(), copy.read_bytes() == finished) == (False, True)

    made.file.write_bytes(finished)
    data = made.data()
    over = json.loads(finished)
    over["workflow"]["completed_at"] = clock.stamp(clock.now() - timedelta(minutes=1))  # times are whole seconds
    copy.write_text(json.dumps(over))
    data["workflow"] |= {"status": "in_progress", "updated_at": now()}
    made.write(data)
    assert "4/4" in made.guidance()["Step"]
    made.run("skills", "phase", "commit", "--done")
    assert made.guidance()["Next step"] == "All phases complete. To end the workflow: `holdfast done`"


def test_what_was_completed_can_be_restored(handmade: Callable[..., Handmade]) -> None:
    """An earlier content counts, although `completed/` had a later one."""
    made = handmade("tdd")
    made.run("skills", "phase", "red")
    made.run("update", "--remind", "Be kind")
    made.run("done", "--all")
    made.run("restore", "1", "--workflow", str(made.file))
    assert "active" in made.run("status") and "Be kind" in made.run("status")
    assert not (made.root / TOP / "completed" / made.file.name).exists()


def test_phases_that_the_file_lacks_come_from_the_machine(handmade: Callable[..., Handmade]) -> None:
    """As the original's own library writes a state: no phases, no tasks, and the feature as its `source`."""
    said = "the state file lists no phases; they are those of the machine dev, with 2 tasks from the feature file"
    empty = {"state_machine": {"current_phase": "init", "phases": []}, "tasks": [], "context": {"source": FEATURE}}
    made = handmade("dev", **empty)
    (made.root / FEATURE).parent.mkdir()
    (made.root / FEATURE).write_text(BOXES)
    assert said in made.run("doctor", code=1)
    assert said in compact(made.project).context
    made.move("task_execution")
    assert made.guidance()["Step"] == "4/6 - Add login (pending)"
    made.run("done")
    assert made.statuses() == ["completed", "completed", "completed", "in_progress", "pending"]
    assert [each["status"] for each in made.data()["tasks"]] == ["completed", "completed"]

    unknown = handmade("dev", **empty, _schema={"skill": "other"})
    restored = unknown.guidance()
    assert restored["Next step"] == 'go on with "init"; the state file lists no phases'
    assert "lists no steps" in unknown.run("done", code=1)


def test_both_starts_are_one(tmp_path: Path) -> None:
    """The general one and the skill's own: same file, title, tasks and ticks. A first phase may be called init."""
    found = []
    for words in (
        ("start", FEATURE, "--format", "skills", "--type", "dev"),
        ("skills", "start", "dev", FEATURE),
    ):
        root = tmp_path / words[0]
        HoldfastProject(root).write({FEATURE: BOXES})
        holdfast(*words, root=root)
        holdfast("next", root=root)
        (path,) = (root / TOP / "active").glob("*.json")
        data = json.loads(path.read_text())
        found.append((path.name, data["context"], data["tasks"], data["state_machine"]["current_phase"]))
    assert found[0] == found[1]
    assert [each["status"] for each in found[0][2]] == ["completed", "pending"]

    root = tmp_path
    (root / ".claude").mkdir()
    holdfast("start", "Go", "--format", "skills", "--phase", "init", "--phase", "build", root=root)
    assert '"init"' in holdfast("next", root=root).out
    assert "2/2  Go - build" in holdfast("done", root=root).out


def test_keys_of_the_index_that_are_not_ours_stay(handmade: Callable[..., Handmade]) -> None:
    """R004-07: of the file and of a row, whose `context` is the original's own key."""
    made = handmade("tdd")
    row = {"id": "tdd-1", "context": "x", "prio": 3}
    (made.root / TOP / "index.json").write_text(json.dumps({"mine": [1], "active_workflows": [row]}))
    made.run("skills", "phase", "red")
    index = json.loads((made.root / TOP / "index.json").read_text())
    (now,) = index["active_workflows"]
    assert (index["mine"], now["context"], now["prio"], now["skill"]) == ([1], "x", 3, "tdd")


def test_cleanup_is_reported_in_one_line(handmade: Callable[..., Handmade]) -> None:
    """R004-38: however many files it were."""
    made = handmade("tdd")
    data = made.data() | {"workflow": made.data()["workflow"] | {"updated_at": "2025-01-01T00:00:00Z"}}
    for name in ("a", "b", "c"):
        made.file.with_name(f"tdd-{name}.json").write_text(json.dumps(data | {"context": {"task_description": name}}))
    lines = [each for each in made.run("skills", "start", "tdd", "New").splitlines() if "emoved" in each]
    assert len(lines) == 1, lines
    assert "and 2 more" in lines[0]


@pytest.mark.parametrize("unit", ["create_branch", "task-1"])
def test_a_completed_unit_can_be_reopened_by_a_person(handmade: Callable[..., Handmade], unit: str) -> None:
    """Whatever the machine allows; later phases are pending again, and completed tasks keep their commits."""
    made = handmade("dev", tasks=two_tasks())
    made.task(1)
    made.task(2)
    made.move("pr_creation")
    state = State.read(made.root, made.file, made.data())
    moves.reopen_unit(state, unit)
    at = 1 if unit == "create_branch" else 2
    wanted = ["completed"] * at + ["in_progress"] + ["pending"] * (4 - at)
    assert [each["status"] for each in state.phases.values()] == wanted
    assert moves.due(state) == unit
