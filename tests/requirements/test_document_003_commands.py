"""The general verbs and those of `holdfast orchestrator` move a run from its start to its archive."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.orchestrator.format import FORMAT
from holdfast.install import skill
from tests.commandline import Said, holdfast
from tests.handmade import workspace
from tests.requirements.document_003 import DOCUMENT, DRIFTED, EXAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.workflow.findings import Finding

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
OWN = ("approve", "task", "supervise", "learn", "checkpoint", "bounds")
START = ("start", "auth.md", "--format", "orchestrator")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a task document."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "auth.md").write_text(DOCUMENT)
    return tmp_path / "project"


@pytest.fixture
def run(root: Path) -> Command:
    """Run a command of the format in the project, or a general one."""

    def command(*words: str, code: int = 0) -> Said:
        return holdfast(*(("orchestrator",) if words[0] in OWN else ()), *words, root=root, code=code)

    return command


@pytest.fixture
def started(root: Path, run: Command) -> Command:
    """The same, with a run of the document."""
    run(*START)
    return run


def state(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / ".claude/agent-state.json").read_bytes())
    return found


def findings(root: Path) -> list[Finding]:
    """Return what `holdfast doctor` says of the run beyond what it says of every format."""
    return list(FORMAT.findings(workspace(root)))


def test_a_run_from_start_to_archive(root: Path, started: Command) -> None:
    """R003-19 and R003-32: each verb says what it did and what is next; the state is valid after each."""
    steps: list[tuple[str, str]] = [
        ("approve", 'start task 1.1 "Update the model"'),
        ("update --phase 1.1 --status active", "go on with task 1.1"),
        ("task 1.1 --iterate", "Task 1.1 begins its next iteration."),
        ("learn pattern Reuse --pattern Look", "learning is recorded"),
        ("task 1.1 --cost 0.20 --met migration_tested --unmet model_updated", "Task 1.1 is recorded."),
        ("update --phase 1.1 --deliverable a.py", "Updated."),
        ("done 1.1", "go on with task 1.2"),
        ("update --phase 1.2 --status failed --error Disk", "retry task 1.2"),
        ("update --phase 1.2 --status active", "go on with task 1.2"),
        ("done 1.2", 'go on with task 2.1 "Create the endpoints"'),
        ("task 1.2 --issue-url https://x/1", "Task 1.2 is recorded."),
        ("task 2.1 --skip", "review the whole run"),
        ("done --all", "The workflow is complete."),
    ]
    for line, told in steps:
        out = started(*line.split()).out
        assert told in out, (line, out)
        assert findings(root) == [], line
    ended = state(root)
    assert ended["orchestrator"]["status"] == "completed"
    assert [(each["name"], each["issue_url"]) for each in ended["milestones"]] == [("Foundation", "https://x/1")]
    assert ended["completed_tasks"][0]["success_criteria_met"] == {"migration_tested": True, "model_updated": False}
    assert ended["completed_tasks"][0]["files_modified"] == ["a.py"]
    assert [each["cost"] for each in ended["completed_tasks"]] == ["$0.20", "unknown"]

    started(*START)
    (folder,) = (root / ".claude/archive").iterdir()
    assert json.loads((folder / "agent-state.json").read_bytes()) == ended
    assert (folder / "learnings.jsonl").read_bytes() == (root / ".claude/learnings.jsonl").read_bytes()
    assert (folder / "checkpoint-001.json").exists()
    assert not list((root / ".claude").glob("checkpoint*"))
    assert state(root)["completed_tasks"] == []


def test_each_verb_prints_json(started: Command) -> None:
    """And nothing else."""
    for line in (
        *("approve", "task 1.1 --cost 0.1", "learn insight x", "supervise on_demand", "checkpoint"),
        *("checkpoint --restore", "bounds", "bounds --cost 5", "task 2.1 --skip"),
    ):
        assert started(*line.split(), "--json").json is not None, line


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq isn't installed")
def test_the_six_queries_answer(root: Path, started: Command) -> None:
    """R003-25: on the document's example and on a new state."""
    path, answers = root / ".claude/agent-state.json", dict[str, list[str]]()
    for raw in (EXAMPLE, path.read_bytes()):
        path.write_bytes(raw)
        for name, query in JQ.items():
            done = subprocess.run(["jq", "-c", query, str(path)], capture_output=True, text=True, check=True)
            answers.setdefault(name, []).append(done.stdout)
    assert answers["status"] == ['"executing"\n', '"planning"\n']
    assert answers["progress"][1] == '{"phase":0,"task":"0/2","status":"planning"}\n'
    assert answers["cost"][0] == '{"cost":"$0.75","time":"0h 34m 8s","max_cost":"$10","max_time":"2h"}\n'
    assert [answers[name][0].count("\n") for name in ("completed", "interventions", "learnings")][::2] == [2, 2]


def test_a_run_that_was_ended_early_is_no_inconsistency(root: Path, started: Command) -> None:
    """`holdfast done --all` said which tasks are left; a state in which nobody said so is named."""
    started("next")
    assert "Not completed: 1.2" in started("done", "--all").out
    assert findings(root) == []
    (root / ".claude" / "agent-state.extra.json").unlink()
    assert [each.text.partition(": ")[2] for each in findings(root)] == ["the run is completed, but 1.2, 2.1 are not"]


def test_what_contradicts_itself_says_what_to_do(root: Path, started: Command) -> None:
    """What has one answer is repaired; the rest has its own way."""
    started("done", "1.1")
    data = state(root)
    data["orchestrator"] |= {"status": "planning", "current_phase": 7}
    data["supervisor"]["interventions"] = [{"action": "pass"}]
    (root / ".claude/agent-state.json").write_text(json.dumps(data))

    found = {each.code: each for each in findings(root)}
    assert found["planning"].remedy == "`holdfast orchestrator approve` begins it"
    assert found["position"].text.endswith("current_phase is 7, but the run has 2 phases, counted from 0")
    assert found["position"].remedy == 'correct "orchestrator.current_phase", or start a task'
    assert found["counters"].text.endswith("conflicts_detected is 0, not 1 (so many interventions are listed)")
    assert found["counters"].fix is not None
    doctor = holdfast("doctor", root=root, code=1).out
    assert all(f"fix: {each.remedy}" in doctor for each in found.values())


REFUSED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("task", "9.9", "--skip"), "there are 1.1, 1.2, 2.1"),
    (("task", "1.1"), "nothing to record"),
    (("task", "1.1", "--cost", "ten"), "such as $0.20"),
    (("task", "1.1", "--met", "a", "--unmet", "a"), "not both: a"),
    (("task", "1.1", "--iterate"), "`holdfast update --phase 1.1 --status active` starts it"),
    (("task", "1.1", "--skip", "--iterate"), "either skipped or iterated"),
    (("task", "1.1", "--issue-url", "https://x"), "or leave it out with `holdfast orchestrator task 1.1 --skip`"),
    (("supervise", "pre_task", "--conflict", "api"), "needs --severity"),
    (("supervise", "pre_task", "--severity", "low"), "--conflict"),
    (("supervise", "pre_task", "--conflict", "api", "--severity", "low", "--action", "pass"), "--resolution"),
    (("supervise", "pre_task", "--task", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("learn", "insight", "  "), "needs a lesson"),
    (("learn", "insight", "Look first", "--task", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("bounds", "--time", "long"), "such as 1d, 2h"),
    (("bounds", "--time", "0h"), "'0h' can't be a bound; give one of more than 0"),
    (("bounds", "--cost", "$0.00"), "more than 0"),
    (("checkpoint", "--task", "9.9"), "there are 1.1, 1.2, 2.1"),
    (("checkpoint", "checkpoint-001.json"), "add --restore"),
    (("checkpoint", "--restore"), "no checkpoint"),
    (("checkpoint", "../agent-state.json", "--restore"), "isn't a checkpoint"),
    (("checkpoint", "checkpoint-099.json", "--restore"), "without a name, the newest checkpoint is restored"),
    (("start", "auth.md", "--format", "orchestrator"), "already exists"),
    (("start", "none.md", "--format", "orchestrator", "--replace"), "there is no none.md"),
    (("start", ".", "--format", "orchestrator", "--replace"), "the path of a task document"),
    (("start", "flat.md", "--format", "orchestrator", "--replace"), "names no task; give it a heading such as"),
    (("update", "--phase", "1.1", "--rename", "Else"), "a task is named in its task document"),
)


def test_what_cannot_be_done_is_refused_with_a_way_on(root: Path, started: Command) -> None:
    """And changes nothing."""
    (root / "flat.md").write_text("## Phase 1: Design\n\n### Task 1.1: Draw it\n")
    before = {each: each.read_bytes() for each in (root / ".claude").iterdir()}
    wrong = list[str]()
    for words, said in REFUSED:
        told = started(*words, code=1).err
        if said not in told or {each: each.read_bytes() for each in (root / ".claude").iterdir()} != before:
            wrong.append(f"{words}: {told}")
    assert wrong == []


BIG = "# Many\n### Phase 1: A\n" + "".join(f"#### Task 1.{number}: t\n" for number in range(1, 9))
SUMS, AT_WORK, DONE = "safety_bounds", "active_agents.0", "completed_tasks.0"
STORIES: dict[str, tuple[str, ...]] = {
    "each attempt takes time, and the pause between them doesn't": (
        "12:00:00 update --phase 1.1 --status active",
        f"= {AT_WORK}.type task-executor; {AT_WORK}.started 2026-01-15T12:00:00Z; {AT_WORK}.iteration 0",
        f"= {AT_WORK}.status in_progress; pending_tasks.0.task 1.2",
        "12:05:00 task 1.1 --cost 0.30",
        "12:10:00 update --phase 1.1 --status failed --error Disk",
        f"= {AT_WORK}.status blocked; {SUMS}.cost_so_far $0.30; completed_tasks []",
        "12:55:00 supervise on_demand",
        f"= {SUMS}.warnings []",
        "13:00:00 update --phase 1.1 --status active",
        "13:05:00 task 1.1 --cost 0.40",
        "13:05:00 done 1.1",
        f"= {DONE}.cost $0.40; {DONE}.time_elapsed 15m 0s; {DONE}.iterations 2",
        f"= {SUMS}.cost_so_far $0.40; {SUMS}.elapsed_time 0h 15m 0s",
    ),
    "a cost is unknown until it is named, and can be corrected": (
        "12:00:00 task 1.1 --cost 0.20",
        "12:00:00 done 1.1",
        "12:00:00 done 1.2",
        f"= completed_tasks.1.cost unknown; {SUMS}.cost_so_far $0.20; {SUMS}.warnings []",
        "12:00:00 task 1.2 --cost 0.15",
        "12:00:00 task 1.1 --cost 0.1",
        f"= {DONE}.cost $0.10; completed_tasks.1.cost $0.15; {SUMS}.cost_so_far $0.25",
    ),
    "a skipped attempt takes time, ends its phase, and comes back by a retry": (
        "12:00:00 update --phase 1.1 --status active",
        "12:10:00 task 1.1 --skip",
        f"= active_agents []; {SUMS}.elapsed_time 0h 10m 0s; pending_tasks.0.task 1.2",
        *("12:10:00 update --phase 1.2 --status active", "12:10:00 task 1.2 --iterate", "12:10:00 done 1.2"),
        "= milestones.0.name Foundation; active_agents.0.task 2.1",
        "12:10:00 task 1.1 --iterate",
        "= active_agents.1.task 1.1",
    ),
    "a failed task that is skipped counts once": (
        "12:00:00 update --phase 1.1 --status active",
        "12:10:00 update --phase 1.1 --status failed --error Disk",
        "12:30:00 task 1.1 --skip",
        f"= active_agents []; {SUMS}.elapsed_time 0h 10m 0s",
    ),
    "a failed task of a run that is given up counts once": (
        "12:00:00 update --phase 1.1 --status active",
        "12:10:00 update --phase 1.1 --status failed --error Disk",
        "12:30:00 cancel",
        f"= active_agents []; {SUMS}.elapsed_time 0h 10m 0s",
    ),
    "bounds warn once at 75 and at 100 percent, and another bound takes that back": (
        "12:00:00 task 1.1 --cost 0.75",
        "12:00:00 done 1.1",
        f"= {SUMS}.warnings.0 Cost at 75% of limit; {AT_WORK}.task 1.2",
        *("12:46:00 task 1.2 --iterate",) * 3,
        "= orchestrator.ralph_iteration 3",
        f"= {SUMS}.warnings.1 Time at 75% of limit; {SUMS}.warnings.2 Iterations of task 1.2 at 75% of limit",
        "13:00:01 task 1.2 --iterate",
        f"= {SUMS}.warnings.3 Time at 100% of limit; {SUMS}.warnings.4 Iterations of task 1.2 at 100% of limit",
        "13:00:01 bounds --cost 10 --time 3h --iterations 30",
        f"= {SUMS}.warnings []",
    ),
    "every fifth task makes a checkpoint, and a skipped one after it none": (
        "12:00:00 cancel",
        "12:00:00 start big.md --format orchestrator",
        *(f"12:00:00 done 1.{number}" for number in range(1, 6)),
        "12:00:00 task 1.6 --skip",
        "12:00:00 done 1.7",
        "12:00:00 done 1.8",
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
    run(*START)
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
    assert findings(root) == []


def test_what_is_yours_in_a_run_stays(root: Path, started: Command) -> None:
    """A warning of your own outlives another bound, and another program's checkpoint the archive."""
    started("task", "1.1", "--cost", "0.80")
    started("done", "1.1")
    path = root / ".claude/agent-state.json"
    data = state(root)
    data["safety_bounds"]["warnings"].append("Ask Ann before you spend more")
    path.write_text(json.dumps(data))
    started("bounds", "--cost", "10")
    assert state(root)["safety_bounds"]["warnings"] == ["Ask Ann before you spend more"]

    path.with_name("checkpoint.json").write_text('{"mine": 1}')
    assert "checkpoint.json: is another program's checkpoint" in holdfast("doctor", root=root, code=1).out
    started("cancel")
    started(*START)
    assert path.with_name("checkpoint.json").read_text() == '{"mine": 1}'
    (folder,) = (root / ".claude/archive").iterdir()
    assert sorted(each.name for each in folder.iterdir()) == ["agent-state.extra.json", "agent-state.json"]


def test_without_a_run_each_verb_says_how_to_begin_one(run: Command) -> None:
    """With the command."""
    for words in (("approve",), ("task", "1.1", "--skip"), ("bounds",), ("checkpoint",), ("learn", "insight", "x")):
        assert "holdfast start TASK_DOC --format orchestrator" in run(*words, code=1).err


def test_learnings_are_in_the_state_and_in_the_log(root: Path, started: Command) -> None:
    """R003-18: the log is only ever appended to, whatever its last writer left."""
    log = root / ".claude/learnings.jsonl"
    log.write_text('{"lesson": "mine"}')
    started("update", "--phase", "1.1", "--status", "active")
    started("learn", "antipattern", "Never hard-code\nsecrets", "--pattern", "p", "--context", "c")
    started("learn", "insight", "Später", "--task", "1.2")

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0] == {"lesson": "mine"}
    assert lines[1:] == state(root)["learnings"]
    assert [(each["task"], each["type"]) for each in lines[1:]] == [("1.1", "antipattern"), ("1.2", "insight")]
    assert "Never hard-code" in brief(root, "1.1")
    assert "- model updated" in brief(root, "1.1")


def brief(root: Path, task: str) -> str:
    """Return what a task's agent is told."""
    project = workspace(root)
    workflow = FORMAT.find(project).workflows[0]
    told = FORMAT.brief(project, workflow, next(each for each in workflow.phases if each.id == task))
    assert told is not None
    return "\n".join(told.lines)


def test_a_plan_is_approved_before_its_first_task(root: Path, run: Command) -> None:
    """Until then that is the next step."""
    wanted = "Next: approve the plan with `holdfast orchestrator approve`, then start task 1.1"
    assert wanted in run(*START).out
    assert 'Next: start task 1.1 "Update the model".' in run("approve").out


def test_bounds_show_shares_and_what_these_dont_say(root: Path, started: Command) -> None:
    """R003-31: a mark that was passed is seen from the share; an unknown cost is not."""
    started("task", "1.1", "--cost", "0.84")
    started("done", "1.1")
    started("done", "1.2")
    assert "Cost at 75% of limit" in state(root)["safety_bounds"]["warnings"]

    said = started("bounds").out

    assert " 84%  Cost: $0.84 of $1.00\n" in said
    assert "75%" not in said
    assert "Cost is unknown for 1 task" in said


def test_a_restore_never_runs_git(root: Path, started: Command) -> None:
    """R003-29 and I003-9: the sha is advice, with the warning."""
    sha = "0123456789abcdef0123456789abcdef01234567"
    (root / ".git/refs/heads").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/refs/heads/main").write_text(f"{sha}\n")
    started("checkpoint")
    started("done", "1.1")

    out = started("checkpoint", "--restore").out
    assert "Restored .claude/checkpoint-001.json: planning" in out
    assert f"git reset --hard {sha}" in out
    assert "uncommitted changes" in out
    assert state(root)["completed_tasks"] == []
    assert started("checkpoint", "checkpoint-001", "--restore", "--json").json["git_sha"] == sha


def test_a_skipped_task_is_skipped_in_the_log_and_has_its_title(root: Path, started: Command) -> None:
    """Neither one that had begun nor one that hadn't was completed."""
    started("update", "--phase", "1.1", "--status", "active")
    started("task", "1.1", "--skip")
    started("task", "1.2", "--skip")

    said = started("log").out

    assert 'task began: "User auth", task 1.1 "Update the model"' in said
    assert 'task skipped: "User auth", task 1.1 "Update the model"' in said
    assert 'task skipped: "User auth", task 1.2 "Write the middleware"' in said
    assert said.count("task skipped") == 2 and "completed" not in said
    assert started("log").out.count("task skipped") == 2, "it is noted once"


def test_only_a_criterion_of_the_document_can_be_met(started: Command) -> None:
    """In any spelling; a task without criteria takes any."""
    refused = started("task", "1.1", "--met", "nonsense", code=1).err
    assert "task 1.1 has no criterion 'nonsense'" in refused
    assert '"model updated", "migration tested"' in refused
    started("task", "1.1", "--met", "Migration tested")
    started("task", "1.2", "--met", "anything")


@pytest.mark.parametrize("more", [(), ("--phase", "A")])
def test_a_path_of_no_document_is_refused(root: Path, run: Command, more: tuple[str, ...]) -> None:
    """Nothing is started, and no document is written under that name."""
    assert "there is no docs/typo.md" in run("start", "docs/typo.md", "--format", "orchestrator", *more, code=1).err
    assert not (root / ".claude/tasks").exists() and not (root / ".claude/agent-state.json").exists()


def test_a_wrong_word_is_named_with_those_that_are_allowed(root: Path, started: Command) -> None:
    """To correct it comes first, because an earlier content would drop the edit by hand."""
    path = root / ".claude/agent-state.json"
    path.write_text(path.read_text().replace('"planning"', '"nonsense"'))

    assert '"orchestrator.status" is not one of planning, executing' in started("approve", code=1).err
    said = started("doctor", "orchestrator", code=1).out
    assert f'correct "orchestrator.status" in {path}' in said and "holdfast restore 1" not in said
    assert "holds something else" not in started("status").out


def test_a_drifted_state_is_left_alone_and_each_deviation_named(root: Path, run: Command) -> None:
    """R003-26: nothing is migrated; what to correct is said field by field."""
    path = root / ".claude/agent-state.json"
    path.parent.mkdir()
    path.write_text(json.dumps({**DRIFTED, "completed_tasks": ["1.2: Set up"], "learnings": ["x"]}))
    before = path.read_bytes()
    assert "left alone" in run("approve", code=1).err
    named = {each.field for each in findings(root)}
    assert {"safety_bounds.max_cost", "pending_tasks[0]", "learnings[0]", "orchestrator.task_doc"} <= named
    assert path.read_bytes() == before


@pytest.mark.parametrize("spoil", ["gone", "a folder", "no task"])
def test_a_task_document_that_names_nothing_is_reported(root: Path, started: Command, spoil: str) -> None:
    """What to do is said too; once the run is over, nobody needs it."""
    doc = root / "auth.md"
    doc.unlink()
    if spoil == "a folder":
        doc.mkdir()
    elif spoil == "no task":
        doc.write_text("# Empty\n")

    (found,) = findings(root)
    assert found.remedy.startswith("put its headings back" if spoil == "no task" else "put it back")
    assert ("The task document can't be read: auth.md: " in brief(root, "1.1")) is (spoil != "no task")
    started("next")
    started("cancel")
    assert findings(root) == []


def test_repair_mends_what_has_one_answer(root: Path, started: Command) -> None:
    """And not what a person has to decide."""
    path = root / ".claude/agent-state.json"
    data = json.loads(EXAMPLE)
    data["orchestrator"]["task_doc"] = str(root / "auth.md")
    data["safety_bounds"]["cost_so_far"] = "$0.5"
    data["supervisor"]["re_plans_triggered"] = 0
    data["pending_tasks"].append(data["pending_tasks"][1])
    data["active_agents"][0]["started"] = "2099-01-15T12:30:00Z"
    path.write_text(json.dumps(data))
    codes = [each.code for each in findings(root)]
    assert codes == ["extras", "lists", "sums", "counters"]  # the run that was begun is not this one

    done = " ".join(holdfast("doctor", "--fix", root=root, code=1).out.split())
    assert "re_plans_triggered was 0, and now is 1; pending_tasks listed 2.1, 2.2, 3.1, 2.2, and now lists 2.2" in done
    assert "corrected the run: cost_so_far was $0.5, and now is $0.75" in done
    assert findings(root) == []
    assert state(root)["safety_bounds"]["cost_so_far"] == "$0.75"
    assert [each["task"] for each in state(root)["pending_tasks"]] == ["2.2", "3.1"]
    done_twice = state(root)["completed_tasks"] * 2
    path.write_text(json.dumps(state(root) | {"completed_tasks": done_twice}))
    holdfast("doctor", "--fix", root=root, code=None)
    assert (state(root)["completed_tasks"], findings(root)) == (done_twice[:2], [])


def test_repair_says_all_that_it_changed(root: Path, started: Command) -> None:
    """Also what follows from a correction, such as a phase that the doctor would have left to you."""
    path = root / ".claude/agent-state.json"
    data = json.loads(path.read_bytes())
    data["orchestrator"]["current_phase"] = 9
    data["completed_tasks"] = [{"task": "1.1"}]
    path.write_text(json.dumps(data))
    assert "orchestrator.current_phase" in {each.field for each in findings(root)}

    done = " ".join(holdfast("doctor", "orchestrator", "--fix", root=root).out.split())

    assert "corrected the run: current_phase was 9, and now is 0" in done
    assert "pending_tasks listed 1.1, 1.2, 2.1, and now lists 1.2, 2.1" in done
    assert state(root)["orchestrator"]["current_phase"] == 0


def test_agents_that_are_gone_are_removed_and_their_tasks_start_again(
    root: Path, started: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R003-30 and I003-8: one whose task failed waits for a decision instead."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-01-15T12:00:00Z")
    for line in ("1.1 --status active", "1.2 --status active", "2.1 --status active", "1.2 --status failed"):
        started("update", "--phase", *line.split())
    started("update", "--phase", "2.1", "--status", "pending")
    assert [each["task"] for each in state(root)["pending_tasks"]] == ["2.1"]
    assert findings(root) == []

    monkeypatch.setenv("HOLDFAST_NOW", "2026-01-16T12:00:01Z")
    (found,) = findings(root)
    assert "active_agents lists 1.1, 1.2, not 1.2" in found.text
    holdfast("doctor", "--fix", root=root, code=1)
    assert [each["task"] for each in state(root)["pending_tasks"]] == ["1.1", "2.1"]
    assert [each["task"] for each in state(root)["active_agents"]] == ["1.2"]
    assert started("update", "--phase", "1.2", "--status", "pending", code=1).err


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
    """The skill allows it; what approves a plan or releases a bound is for people."""
    for_people, tools = {"approve", "bounds"}, skill.shipped().decode().split("---")[1]
    for verb in OWN:
        assert (f"Bash(holdfast orchestrator {verb}:*)" in tools) == (verb not in for_people), verb
