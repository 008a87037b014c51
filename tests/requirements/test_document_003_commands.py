"""`holdfast orchestrator …` and the general verbs move a run from its start to its archive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.install.install import ALLOW_RULES
from tests.commandline import Said, holdfast
from tests.requirements.document_003 import DOCUMENT, DRIFTED, EXAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., Said]

JQ = {
    "status": ".orchestrator.status",
    "progress": "{phase: .orchestrator.current_phase, task: .orchestrator.current_task, status: .orchestrator.status}",
    "cost": ".safety_bounds | {cost: .cost_so_far, time: .elapsed_time, max_cost, max_time}",
    "completed": ".completed_tasks[] | {task, name, iterations, time: .time_elapsed}",
    "interventions": ".supervisor.interventions[]",
    "learnings": ".learnings[] | {task, type, lesson}",
}
"""The document's six queries, word for word."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a task document."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "auth.md").write_text(DOCUMENT)
    return tmp_path / "project"


@pytest.fixture
def run(root: Path) -> Command:
    """Run `holdfast orchestrator …` in the project."""

    def command(*words: str, code: int = 0) -> Said:
        return holdfast("orchestrator", *words, root=root, code=code)

    return command


@pytest.fixture
def started(root: Path, run: Command) -> Command:
    """The same, with a run of the document."""
    run("start", str(root / "auth.md"))
    return run


def state(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / ".claude/agent-state.json").read_bytes())
    return found


def test_a_run_from_start_to_archive(root: Path, started: Command) -> None:
    """R003-19 and R003-32: each verb says what it did and what is next; the state is valid after each."""
    assert "approve" in started("approve", code=0).err + started("--help").out
    steps: list[tuple[tuple[str, ...], str]] = [
        (("task", "start", "1.1"), "Task 1.1 is active."),
        (("task", "iterate", "1.1"), "Task 1.1 begins its next iteration."),
        (("learn", "pattern", "Reuse the stack", "--pattern", "Look first"), "learning is recorded"),
        (("task", "finish", "1.1", "--cost", "0.20", "--file", "a.py", "--met", "tested", "--unmet", "fast"), "1.2"),
        (("task", "fail", "1.2", "--reason", "No disk"), "task skip 1.2"),
        (("task", "retry", "1.2"), "Task 1.2 is active."),
        (("task", "finish", "1.2", "--cost", "$0.10"), 'start task 2.1 "Create the endpoints"'),
        (("phase", "finish", "1", "--issue-url", "https://x/1"), "Phase 1 is finished."),
        (("task", "skip", "2.1"), "review the whole run"),
        (("review",), "outer review has begun"),
        (("complete",), "The run is completed."),
        (("archive",), ".claude/archive/run_"),
    ]
    for words, said in steps:
        out = started(*words).out
        assert said in out, (words, out)
        if words != ("archive",):
            assert started("check").out == "The state and its task document agree.\n"

    assert not (root / ".claude/agent-state.json").exists()
    (folder,) = (root / ".claude/archive").iterdir()
    kept = json.loads((folder / "agent-state.json").read_bytes())
    assert kept["orchestrator"]["status"] == "completed"
    assert next((each["name"], each["issue_url"]) for each in kept["milestones"]) == ("Foundation", "https://x/1")
    assert kept["completed_tasks"][0]["success_criteria_met"] == {"tested": True, "fast": False}
    assert [each["cost"] for each in kept["completed_tasks"]] == ["$0.20", "unknown"]
    assert (folder / "learnings.jsonl").read_bytes() == (root / ".claude/learnings.jsonl").read_bytes()
    assert (folder / "checkpoint-001.json").exists()
    assert not list((root / ".claude").glob("checkpoint*"))
    holdfast("orchestrator", "start", str(root / "auth.md"), root=root)


def test_each_verb_prints_json(started: Command) -> None:
    """And nothing else."""
    for line in (
        *("approve", "task start 1.1", "task show 1.1", "learn insight x", "supervise on_demand", "checkpoint"),
        *("bounds", "bounds extend --cost 5", "query progress", "check", "repair", "repair --dry-run"),
        *("agents prune", "task skip 2.1", "fail Budget"),
    ):
        assert started(*line.split(), "--json").json is not None, line


def test_a_run_that_was_ended_early_is_no_inconsistency(root: Path, started: Command) -> None:
    """`holdfast done --all` said which tasks are left; a state in which nobody said so is named."""
    holdfast("next", root=root)
    assert "Not completed: 1.2" in holdfast("done", "--all", root=root).out
    assert "the run is completed" not in started("check").out
    assert "the run is completed" not in holdfast("doctor", root=root, code=1).out
    (root / ".claude" / "agent-state.extra.json").unlink()
    assert "the run is completed, and 1.2, 2.1 are not" in started("check", code=1).out


def test_what_contradicts_itself_says_what_to_do(root: Path, started: Command) -> None:
    """What `repair` can't decide has its own way; `doctor` names the same."""
    started("task", "finish", "1.1")
    data = state(root)
    data["orchestrator"] |= {"status": "planning", "current_phase": 7}
    data["supervisor"]["interventions"] = [{"action": "pass"}]
    (root / ".claude/agent-state.json").write_text(json.dumps(data))

    said = started("check", code=1).out
    assert "some of its tasks are completed; `holdfast orchestrator approve` begins it" in said
    assert 'current_phase is 7, and the run has 2 phases, counted from 0; correct "orchestrator.current_phase"' in said
    assert "interventions are listed; `holdfast orchestrator repair` repairs it" in said
    doctor = holdfast("doctor", root=root, code=1).out
    assert all(f"fix: {way}" in doctor for way in ("`holdfast orchestrator approve`", "holdfast orchestrator repair\n"))


REFUSED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("start", "none.md"), "no such file; name a Markdown file with a heading such as `#### Task 1.1: Name`"),
    (("start", "/"), "is a folder; name a Markdown file"),
    (("start", "auth\0.md"), "isn't a path"),
    (("task", "start", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("task", "finish", "1.1", "--cost", "ten"), "such as $0.20"),
    (("task", "finish", "1.1", "--met", "a", "--unmet", "a"), "not both: a"),
    (("task", "iterate", "1.1"), "task start 1.1"),
    (("task", "retry", "1.1"), "only retry one that failed or was skipped; `holdfast orchestrator task start 1.1`"),
    (("phase", "finish", "9"), "phase 9 has no tasks; those with tasks are 1, 2"),
    (("supervise", "pre_task", "--conflict", "api"), "needs --severity"),
    (("supervise", "pre_task", "--severity", "low"), "--conflict"),
    (("supervise", "pre_task", "--conflict", "api", "--severity", "low", "--action", "pass"), "resolution"),
    (("learn", "insight", "  "), "needs a lesson"),
    (("bounds", "extend"), "--cost, --time or --iterations"),
    (("bounds", "extend", "--time", "long"), "such as 1d, 2h"),
    (("bounds", "extend", "--time", "0h"), "'0h' can't be a bound; give one of more than 0"),
    (("bounds", "extend", "--cost", "$0.00"), "more than 0"),
    (("start", "auth.md", "--max-cost", "0"), "more than 0"),
    (("start", "auth.md", "--max-time", "0m"), "more than 0"),
    (("review",), "are not completed"),
    (("phase", "finish", "1"), "leave one out with `holdfast orchestrator task skip ID`"),
    (("archive",), "end it first"),
    (("restore",), "no checkpoint"),
    (("restore", "../agent-state.json"), "isn't a checkpoint"),
    (("restore", "checkpoint-099.json"), "without a name, the newest checkpoint is restored"),
    (("agents", "prune", "--older", "x"), "such as 1d, 2h"),
    (("agents", "prune", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("supervise", "pre_task", "--task", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("learn", "insight", "Look first", "--task", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("checkpoint", "--task", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("import",), "is a run already; `holdfast orchestrator check`"),
)


def test_what_cannot_be_done_is_refused_with_a_way_on(root: Path, started: Command) -> None:
    """And changes nothing."""
    before = (root / ".claude/agent-state.json").read_bytes()
    wrong = list[str]()
    for words, said in REFUSED:
        told = started(*words, code=1).err
        if said not in told or (root / ".claude/agent-state.json").read_bytes() != before:
            wrong.append(f"{words}: {told}")
    assert wrong == []


BIG = "# Many\n### Phase 1: A\n" + "".join(f"#### Task 1.{number}: t\n" for number in range(1, 9))
SUMS, AT_WORK, DONE = "safety_bounds", "active_agents.0", "completed_tasks.0"
STORIES: dict[str, tuple[str, ...]] = {
    "each attempt costs, and the pause between them doesn't": (
        "12:00:00 task start 1.1",
        f"= {AT_WORK}.type task-executor; {AT_WORK}.started 2026-01-15T12:00:00Z; {AT_WORK}.iteration 0",
        f"= {AT_WORK}.status in_progress; pending_tasks.0.task 1.2",
        "12:10:00 task fail 1.1 --reason Disk --cost 0.30",
        f"= {AT_WORK}.status blocked; {SUMS}.cost_so_far $0.30; completed_tasks []",
        "13:00:00 task retry 1.1",
        "13:05:00 task finish 1.1 --cost 0.10",
        f"= {DONE}.cost $0.40; {DONE}.time_elapsed 15m 0s; {DONE}.iterations 2",
        f"= {SUMS}.cost_so_far $0.40; {SUMS}.elapsed_time 0h 15m 0s",
    ),
    "an unknown cost stays unknown, and its known part in the sum": (
        "12:00:00 task finish 1.1 --cost 0.20",
        "12:00:00 task fail 1.2 --reason Disk --cost 0.10",
        "12:00:00 task retry 1.2",
        "12:00:00 task finish 1.2",
        f"= completed_tasks.1.cost unknown; {SUMS}.cost_so_far $0.30; {SUMS}.warnings []",
    ),
    "a skipped attempt takes time, ends its phase, and comes back by a retry": (
        "12:00:00 task start 1.1",
        "12:10:00 task skip 1.1",
        f"= active_agents []; {SUMS}.elapsed_time 0h 10m 0s; pending_tasks.0.task 1.2",
        *("12:10:00 task start 1.2", "12:10:00 task iterate 1.2", "12:10:00 task finish 1.2"),
        "= milestones.0.name Foundation; pending_tasks.0.task 2.1",
        "12:10:00 task retry 1.1",
        f"= {AT_WORK}.task 1.1",
    ),
    "bounds warn once at 75 and at 100 percent, and an extension takes that back": (
        "12:00:00 task finish 1.1 --cost 0.75",
        f"= {SUMS}.warnings.0 Cost at 75% of limit",
        "12:00:00 task start 1.2",
        *("12:46:00 task iterate 1.2",) * 3,
        "= orchestrator.ralph_iteration 3",
        f"= {SUMS}.warnings.1 Time at 75% of limit; {SUMS}.warnings.2 Iterations of task 1.2 at 75% of limit",
        "13:00:01 task iterate 1.2",
        f"= {SUMS}.warnings.3 Time at 100% of limit; {SUMS}.warnings.4 Iterations of task 1.2 at 100% of limit",
        "13:00:01 bounds extend --cost 10 --time 3h --iterations 30",
        f"= {SUMS}.warnings []",
    ),
    "every fifth task makes a checkpoint, and a skipped one after it none": (
        "12:00:00 fail Enough",
        "12:00:00 start big.md",
        *(f"12:00:00 task finish 1.{number}" for number in range(1, 6)),
        "12:00:00 task skip 1.6",
        "12:00:00 task finish 1.7",
        "12:00:00 task finish 1.8",
        "= checkpoints.0.task 1.5; checkpoints.0.state_snapshot checkpoint-001.json; checkpoints.1.task 1.8",
    ),
}


def at(data: Any, place: str) -> Any:
    """Return the value at a place such as `completed_tasks.0.cost`."""
    for name in place.split("."):
        data = data[int(name)] if isinstance(data, list) else data[name]
    return data


@pytest.mark.parametrize("story", STORIES)
def test_lists_and_sums_move_together(root: Path, run: Command, monkeypatch: pytest.MonkeyPatch, story: str) -> None:
    """R003-08, R003-15, I003-10 and I003-11: at each time a command; after `=`, what the state holds at some places."""
    (root / "big.md").write_text(BIG)
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-01-15T12:00:00Z")
    run("start", "auth.md")
    wrong = list[str]()
    for line in STORIES[story]:
        when, _, words = line.partition(" ")
        if when != "=":
            monkeypatch.setenv("HOLDFAST_NOW", f"2026-01-15T{when}Z")
            run(*words.split())
            continue
        for place, _, value in (each.partition(" ") for each in words.split("; ")):
            if str(at(state(root), place)) != value:
                wrong.append(f"{place} is {at(state(root), place)}, not {value}")
    assert wrong == []
    assert run("check").out == "The state and its task document agree.\n"


def test_what_is_yours_in_a_run_stays(root: Path, started: Command) -> None:
    """A warning of your own outlives an extension, and another program's checkpoint the archive."""
    started("task", "finish", "1.1", "--cost", "0.80")
    path = root / ".claude/agent-state.json"
    data = state(root)
    data["safety_bounds"]["warnings"].append("Ask Ann before you spend more")
    path.write_text(json.dumps(data))
    started("bounds", "extend", "--cost", "10")
    assert state(root)["safety_bounds"]["warnings"] == ["Ask Ann before you spend more"]

    path.with_name("checkpoint.json").write_text('{"mine": 1}')
    assert "checkpoint.json: is another program's checkpoint" in holdfast("doctor", root=root, code=1).out
    started("fail", "Enough")
    started("archive")
    assert path.with_name("checkpoint.json").read_text() == '{"mine": 1}'
    (folder,) = (root / ".claude/archive").iterdir()
    assert sorted(each.name for each in folder.iterdir()) == ["agent-state.extra.json", "agent-state.json"]


def test_headings_of_another_level_are_no_tasks_and_it_is_said(root: Path, run: Command) -> None:
    """The format's document has three # for a phase and four for a task."""
    (root / "flat.md").write_text("## Phase 1: Design\n\n### Task 1.1: Draw it\n")
    said = run("start", str(root / "flat.md"), code=1).err
    assert "names no task; give it a heading such as `#### Task 1.1: Name`, with four #\n" in said


def test_without_a_run_each_verb_says_how_to_begin_one(run: Command) -> None:
    """With the command."""
    for words in (("approve",), ("query", "status"), ("check",), ("bounds",), ("checkpoint",), ("archive",)):
        assert "holdfast orchestrator start TASK_DOC" in run(*words, code=1).err


def test_learnings_are_in_the_state_and_in_the_log(root: Path, started: Command) -> None:
    """R003-18: the log is only ever appended to, whatever its last writer left."""
    log = root / ".claude/learnings.jsonl"
    log.write_text('{"lesson": "mine"}')
    started("task", "start", "1.1")
    started("learn", "antipattern", "Never hard-code\nsecrets", "--pattern", "p", "--context", "c")
    started("learn", "insight", "Später", "--task", "1.2")

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0] == {"lesson": "mine"}
    assert lines[1:] == state(root)["learnings"]
    assert [(each["task"], each["type"]) for each in lines[1:]] == [("1.1", "antipattern"), ("1.2", "insight")]
    shown = started("task", "show", "1.1").out
    assert "Never hard-code" in shown
    assert "- model updated" in shown


def test_a_plan_is_approved_before_its_first_task(root: Path, run: Command) -> None:
    """Until then that is the next step."""
    wanted = "Next: approve the plan with `holdfast orchestrator approve`, then start task 1.1"
    assert wanted in run("start", str(root / "auth.md")).out
    assert 'Next: start task 1.1 "Update the model".' in run("approve").out


def test_bounds_show_shares_and_what_these_dont_say(root: Path, started: Command) -> None:
    """R003-31: a mark that was passed is seen from the share; an unknown cost is not."""
    started("task", "finish", "1.1", "--cost", "0.84")
    started("task", "finish", "1.2")
    assert "Cost at 75% of limit" in state(root)["safety_bounds"]["warnings"]

    said = started("bounds").out

    assert " 84%  Cost: $0.84 of $1.00\n" in said
    assert "75%" not in said
    assert "Cost is unknown for 1 task" in said


def test_a_restore_is_shown_first_and_never_runs_git(root: Path, started: Command) -> None:
    """R003-29 and I003-9: the sha is advice, with the warning."""
    sha = "0123456789abcdef0123456789abcdef01234567"
    (root / ".git/refs/heads").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/refs/heads/main").write_text(f"{sha}\n")
    started("checkpoint")
    started("task", "finish", "1.1")
    before = state(root)

    dry = started("restore", "--dry-run").out
    assert "Would restore .claude/checkpoint-001.json: planning" in dry
    assert "`holdfast orchestrator restore` does it." in dry
    assert f"git reset --hard {sha}" in dry
    assert "uncommitted changes" in dry
    assert state(root) == before

    assert started("restore", "checkpoint-001", "--json").json["git_sha"] == sha
    assert state(root)["completed_tasks"] == []


def test_a_drifted_state_is_taken_over_on_request_only(root: Path, run: Command) -> None:
    """Texts for tasks, numbers for money; the original is kept, and what can't be taken over is said."""
    path = root / ".claude/agent-state.json"
    path.parent.mkdir()
    drifted = {**DRIFTED, "orchestrator": {**DRIFTED["orchestrator"], "own": "x"}}
    data = drifted | {"completed_tasks": ["1.2: Set up", {"id": "1.3", "cost": 0.2}], "learnings": ["x"], "mine": 1}
    path.write_text(json.dumps(data))
    assert "holdfast orchestrator import" in run("check", code=1).err
    assert "--task-doc" in run("import", code=1).err

    said = run("import", "--task-doc", str(root / "auth.md")).out

    made = state(root)
    pending = [(each["task"], each["name"]) for each in made["pending_tasks"]]
    assert pending == [("1.1", "Fetch prices"), ("2.1", "Create the endpoints")]
    assert "repaired: task 2.1 was in no list, so it is pending now" in said
    assert [(each["task"], each["cost"]) for each in made["completed_tasks"]] == [("1.2", "unknown"), ("1.3", "$0.2")]
    assert (made["safety_bounds"]["max_cost"], made["safety_bounds"]["max_time"]) == ("$10", "2h")
    assert made["safety_bounds"]["cost_so_far"] == "$0.20"
    assert made["safety_bounds"]["warnings"] == []
    assert made["orchestrator"]["current_task"] == "2/3"
    assert (made["mine"], made["orchestrator"]["own"]) == (1, "x")
    assert 'left out: "learnings[0]" is not an object' in said
    assert [json.loads(each.read_bytes()) for each in path.parent.glob("*.kept-*")] == [data]
    assert "state" not in run("import", str(root / "auth.md"), code=1).out


@pytest.mark.parametrize("spoil", ["gone", "a folder", "no task"])
def test_a_task_document_that_names_nothing_is_reported(root: Path, started: Command, spoil: str) -> None:
    """What to do is said too; once the run is over, nobody needs it."""
    doc = root / "auth.md"
    doc.unlink()
    if spoil == "a folder":
        doc.mkdir()
    elif spoil == "no task":
        doc.write_text("# Empty\n")

    said = started("check", code=1).out
    assert ("put its headings back" if spoil == "no task" else 'correct "orchestrator.task_doc"') in said
    told = started("task", "show", "1.1").out
    assert ("The task document can't be read: auth.md: " in told) is (spoil != "no task")
    started("fail", "given up")
    assert started("check").out == "The state and its task document agree.\n"


def test_an_import_keeps_what_it_understood(root: Path, run: Command) -> None:
    """A status in other words isn't left out, a task that an agent works on has its name, and phases are counted."""
    path = root / ".claude/agent-state.json"
    path.parent.mkdir()
    agent = {
        "type": "task-executor",
        "task": "1.1",
        "started": "2026-01-15T12:00:00Z",
        "iteration": 1,
        "status": "in_progress",
    }
    head = {"status": "in_progress", "task_doc": "auth.md", "total_phases": 1}
    path.write_text(json.dumps({"orchestrator": head, "active_agents": [agent], "pending_tasks": ["1.1: By hand"]}))

    said = run("import").out

    assert "left out" not in said
    assert '"By hand"' in said
    assert state(root)["orchestrator"]["total_phases"] == 2
    assert "no such file; name the file that holds the state" in run("import", "nope.json", code=1).err


def test_repair_mends_what_has_one_answer(root: Path, run: Command) -> None:
    """After a look at it, and not what a person has to decide."""
    path = root / ".claude/agent-state.json"
    path.parent.mkdir()
    data = json.loads(EXAMPLE)
    data["orchestrator"]["task_doc"] = str(root / "auth.md")
    data["safety_bounds"]["cost_so_far"] = "$0.5"
    data["supervisor"]["re_plans_triggered"] = 0
    data["pending_tasks"].append(data["pending_tasks"][1])
    path.write_text(json.dumps(data))
    before = path.read_bytes()

    told = run("repair", "--dry-run", "--json").json
    assert path.read_bytes() == before
    assert run("repair", "--json").json[: len(told)] == told
    assert len(told) == 6
    assert run("repair").out == "Nothing to repair.\n"
    assert state(root)["safety_bounds"]["cost_so_far"] == "$0.75"
    assert [each["task"] for each in state(root)["pending_tasks"]] == ["2.2", "3.1"]


def test_agents_that_are_gone_are_removed_and_their_tasks_start_again(root: Path, started: Command) -> None:
    """R003-30 and I003-8: one whose task failed waits for a decision instead."""
    started("task", "start", "1.1")
    started("task", "start", "1.2")
    started("task", "fail", "1.2")

    assert "none was started 1h ago or earlier" in started("agents", "prune", "--older", "1h").out
    assert "the state lists none of these tasks" in started("agents", "prune", "2.1").out
    assert started("agents", "prune").out.startswith("Removed task-executor of task 1.1.\nTasks without an agent")
    assert "`holdfast orchestrator task retry 1.2` tries again" in started("agents", "prune").out
    assert [each["task"] for each in state(root)["pending_tasks"]] == ["1.1", "2.1"]
    assert [each["task"] for each in state(root)["active_agents"]] == ["1.2"]


def test_the_general_verbs_work_too(root: Path) -> None:
    """They write a task document where there is none, and the last one completes the run."""
    words = ("--format", "orchestrator", "--phase", "Build @builder", "--phase", "Ship")
    holdfast("start", "Release", *words, root=root)
    assert "Agent: builder" in (root / ".claude/tasks/release.md").read_text()
    assert holdfast("next", "--json", root=root).json["next"]["title"] == "Build"
    holdfast("done", "--note", "Use make", root=root)
    assert "Use make" in holdfast("next", root=root).out
    holdfast("done", root=root)
    assert state(root)["orchestrator"]["status"] == "completed"
    holdfast("start", "auth.md", "--format", "orchestrator", root=root)
    assert holdfast("status", "--json", root=root).json["current"]["title"] == "User auth"


def test_the_model_may_run_what_is_safe_for_it(run: Command) -> None:
    """`install --allow-cli` allows it; what releases a bound, or gives up work, is for people."""
    for_people = {"agents", "approve", "archive", "bounds", "fail", "import", "locks", "repair", "restore"}
    _, _, listed = run("--help").out.partition("Commands:\n")
    verbs = {line.split()[0] for line in listed.splitlines() if line[:3].strip() and line.startswith("  ")}
    assert len(verbs) > len(for_people)

    for verb in verbs:
        rule = f"Bash(holdfast orchestrator {verb}:*)"
        assert (rule in ALLOW_RULES) == (verb not in for_people), verb
