"""The complete example of each document, moved from start to end by commands, by agents and by hand.

After each step the guidance, `status`, `show`, the to-do list, the state file and the Markdown view agree with each
other and with what was done. The tables below show what moves each format, and what a step leaves in its files.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.requirements import document_002
from tests.witnesses import Seen, at, desk, disagreements, over, plain, recent, witnesses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.witnesses import Desk

pytestmark = pytest.mark.slow
DATA = Path(__file__).parent / "data"


class Step(NamedTuple):
    """A step of a workflow: what is done, and where the workflow is then."""

    name: str
    act: Callable[[Desk], object]
    then: Seen


@dataclass(frozen=True)
class Example:
    """A document's complete example.

    Attributes:
        title: the workflow's title.
        write: writes the example's files.
        start: where the workflow is then.
        file: reads the state file as the document describes it.
        ways: the steps to the end, by commands, by agents and by hand.
        view: reads the Markdown view or list.
        branch: the git branch that the example names.
    """

    title: str
    write: Callable[[Desk], None]
    start: Seen
    file: Callable[[Desk], Seen]
    ways: dict[str, Sequence[Step]]
    view: Callable[[Desk], Seen] | None = None
    branch: str = "main"


def run(command: str) -> Callable[[Desk], object]:
    """Return a step that runs a command."""
    return lambda desk: desk.run(*command.split())


def agent(description: str, kind: str = "general-purpose", words: str = "Done.") -> Callable[[Desk], object]:
    """Return a step in which an agent does the work."""
    return lambda desk: desk.agent(description, kind, words)


def shell(script: str, folder: str = "", **variables: str) -> Callable[[Desk], object]:
    """Return a step by hand."""
    return lambda desk: desk.shell(script, folder, **variables)


def data(path: str) -> str:
    return (DATA / path).read_text("utf-8")


def lines(text: str, pattern: str) -> list[str]:
    """Return the titles of the lines that match."""
    return [plain(title) for title in re.findall(pattern, text, re.MULTILINE)]


# Document 000: `.claude/state/workflow.json` with its view. Agents move phases; the document's Python does so by hand.

HYBRID = ".claude/state/workflow.json"
CREATE, TEST = "Create calculator module", "Write and run tests"
HANDOVER = "Created calculator.py at /path with 4 functions"
CREATED = f"The module is there.\n\nDELIVERABLES:\n- /path/to/calculator.py\n\nCONTEXT_FOR_NEXT: {HANDOVER}"
PYTHON = """python3 - <<'END'
import json
read_json = lambda path: json.load(open(path))
write_json = lambda path, data: json.dump(data, open(path, "w"), indent=2)
Task = lambda **call: None
{code}
END"""


def python(code: str) -> Callable[[Desk], object]:
    """Return a step that runs Python as the document writes it."""
    return shell(PYTHON.format(code=code))


def set_phase(number: int, status: str, **more: str) -> Callable[[Desk], object]:
    """Return a step in which a worker writes its phase, as the document's `update_phase_status` does."""
    code = [f"workflow = read_json({HYBRID!r})", f"phase = workflow['phases'][{number}]"]
    code += [f"phase.update({ ({'status': status} | more)!r})"]
    code += ["workflow.update(status='active', current_phase='phase_0')"] if status == "active" else []
    return python("\n".join([*code, f"write_json({HYBRID!r}, workflow)"]))


def hybrid_file(desk: Desk) -> Seen:
    state = desk.json(HYBRID)
    titles = {status: [each["title"] for each in state["phases"] if each["status"] == status] for status in STATUSES}
    active = [each["title"] for each in state["phases"] if each["id"] == state["current_phase"]]
    running = "".join(titles["active"])
    assert state["status"] == "completed" or not running or active == [running], state
    return Seen(state["status"] == "completed", running, frozenset(titles["completed"]))


STATUSES = ("pending", "active", "completed", "failed")


def hybrid_view(desk: Desk) -> Seen:
    text = desk.text(".claude/workflow_state_system.md")
    found = re.search(r"^Status: (\w+) \| Current Phase: (.*)$", text, re.MULTILINE)
    if not found:
        return Seen(None, "(no view)")
    done = lines(text, r"^- \[x\] Phase \d+: (.*?)(?: → .*)?$")
    return Seen(found[1] == "completed", "" if found[2] == "none" or found[2] in done else found[2], frozenset(done))


EXAMPLES = {
    "000 hybrid": Example(
        title="Create calculator.py with tests and verify they pass",
        write=lambda desk: desk.put(HYBRID, data("document_000/fresh-state.json")),
        start=at("", due=CREATE),
        file=hybrid_file,
        view=hybrid_view,
        ways={
            "commands": [
                Step("next", run("next"), at(CREATE)),
                Step("done", lambda desk: desk.run("done", "--note", HANDOVER), at(TEST, CREATE)),
                Step("done", run("done"), over(CREATE, TEST)),
            ],
            "agents": [
                Step("create", agent(CREATE, words=CREATED), at(TEST, CREATE)),
                Step("test", agent(TEST, "task-completion-verifier"), over(CREATE, TEST)),
            ],
            "hand": [
                Step("phase 0 begins", set_phase(0, "active"), at(CREATE)),
                Step("phase 0 ends", set_phase(0, "completed", context_for_next=HANDOVER), at("", CREATE, due=TEST)),
                Step("transition", python(data("document_000/transition.py.txt")), at(TEST, CREATE)),
                Step("phase 1 ends", set_phase(1, "completed"), over(CREATE, TEST)),
            ],
        },
    ),
}


# Document 001: one file per workflow that only its owner moves, and that names only the current phase.

COMPACTION = "untracked/workflow-state/feature-implementation/state-feature-implementation-20251209_143052.json"
PHASES = ("Design", "Build Components", "Testing", "Deploy", "Review")


def here(number: int, title: str) -> Seen:
    """Return the position in a file that names only its current phase."""
    return Seen(False, title, None, title, f"{number}/5")


def compaction_file(desk: Desk) -> Seen:
    phase = desk.json(COMPACTION).get("phase")
    if not phase or phase["status"] == "completed":
        return Seen(True)
    return Seen(False, phase["name"], None, None, f"{phase['current']}/{phase['total']}")


def go_to(number: int) -> str:
    """Return the `sed` that writes the next phase, as an agent updates its file."""
    return (
        f's/"current": {number - 1}, /"current": {number}, /; s/"name": "{PHASES[number - 2]}"/'
        f'"name": "{PHASES[number - 1]}"/'
    )


def update(script: str) -> Callable[[Desk], object]:
    """Return a step in which the model edits the file, which a hook sees."""

    def act(desk: Desk) -> None:
        desk.shell(f"sed -i '{script}' {COMPACTION}")
        desk.edited(COMPACTION)

    return act


def by_hand(script: str) -> Callable[[Desk], object]:
    return shell(f"sed -i '{script}' {COMPACTION}")


COMPLETED = 's/"status": "in_progress"/"status": "completed"/'
REMOVED = shell("rm -rf ./untracked/workflow-state/feature-implementation/")


def compaction_start(desk: Desk) -> None:
    desk.put(COMPACTION, recent(data("document_001/example-1-start.json")))


EXAMPLES["001 compaction"] = Example(
    title="Feature Implementation (User Auth)",
    write=compaction_start,
    start=here(1, "Design"),
    file=compaction_file,
    ways={
        "commands": [
            *(Step(f"done {n - 1}", run(f"done --note {n}"), here(n, f"Phase {n}")) for n in range(2, 6)),
            Step("done 5", run("done"), Seen(True)),
        ],
        "agents": [
            Step("an agent designs: only its owner moves the file", agent("Design"), here(1, "Design")),
            *(Step(f"edit {n}", update(go_to(n)), here(n, PHASES[n - 1])) for n in range(2, 6)),
            Step("edit completed", update(COMPLETED), Seen(True)),
        ],
        "hand": [
            *(Step(f"sed {n}", by_hand(go_to(n)), here(n, PHASES[n - 1])) for n in range(2, 6)),
            Step("sed completed", by_hand(COMPLETED), Seen(True)),
            Step("rm -rf", REMOVED, Seen(True)),
        ],
    },
)


# Document 001 again: `CLAUDE.local.md`, from which the file is derived. The workflow ends with its lines.

MEMORY = "CLAUDE.local.md"
GENERATION = "SEO Generation"


def memory_file(desk: Desk) -> Seen:
    found = re.search(r"^Phase: (\d+/\d+) - (.*)$", desk.text(MEMORY), re.MULTILINE)
    return Seen(False, found[2], None, found[2], found[1]) if found else Seen(True)


def noted(number: int, title: str) -> Seen:
    return Seen(False, title, None, title, f"{number}/10")


EXAMPLES["001 memory file"] = Example(
    title="Page Orchestration - Case Studies",
    write=lambda desk: desk.put(MEMORY, data("document_001/memory-file.md")),
    start=noted(4, GENERATION),
    file=memory_file,
    ways={
        "hand": [
            Step("phase 5", shell(f"sed -i 's/4.10 - {GENERATION}/5\\/10 - Images/' {MEMORY}"), noted(5, "Images")),
            Step("phase 10", shell(f"sed -i 's/5.10 - Images/10\\/10 - Publish/' {MEMORY}"), noted(10, "Publish")),
            Step("the lines go", shell(f"sed -i '/^Workflow:/d; /^Phase:/d' {MEMORY}"), Seen(True)),
            Step("the file goes", shell(f"rm {MEMORY}"), Seen(True)),
        ],
    },
)


# Document 001, its second source: a plan. It ends with its status, or with the file.

PLAN = "CLAUDE/Plan/001-user-auth/PLAN.md"
PLANNED = """# Plan 001: User auth

**Status**: 🔄 In Progress

## Phases

- [x] Phase 1: Design
- [ ] Phase 2: Build
- [ ] Phase 3: Test
"""


def plan_file(desk: Desk) -> Seen:
    text = desk.text(PLAN)
    phases = re.findall(r"^- \[([ x])\] Phase \d: (.*)$", text, re.MULTILINE)
    left = [title for mark, title in phases if mark == " "]
    if "In Progress" not in text or not left:
        return Seen(True)
    return Seen(False, None, None, left[0], f"{len(phases) - len(left) + 1}/{len(phases)}")


def of_plan(number: int, title: str) -> Seen:
    return Seen(False, None, None, title, f"{number}/3")


TICKED = Step("phase 2 is ticked", shell(f"sed -i 's/. . Phase 2/[x] Phase 2/' {PLAN}"), of_plan(3, "Test"))
EXAMPLES["001 plan"] = Example(
    title="User auth",
    write=lambda desk: desk.put(PLAN, PLANNED),
    start=of_plan(2, "Build"),
    file=plan_file,
    ways={
        "completed by hand": [
            TICKED,
            Step("status", shell(f"sed -i 's/🔄 In Progress/✅ Complete/' {PLAN}"), Seen(True)),
        ],
        "moved by hand": [
            TICKED,
            Step("moved", shell("mkdir Completed && mv 001-user-auth Completed/", "CLAUDE/Plan"), Seen(True)),
        ],
        "deleted by hand": [TICKED, Step("deleted", shell("rm -r CLAUDE/Plan"), Seen(True))],
    },
)


# Document 002: a session folder with a file for each task. A main task with subtasks is a container.

SESSION = ".workflow/WFS-user-auth"
DESIGN, JWT, PROTECT = "Design the authentication", "Implement JWT authentication", "Protect the endpoints"


def wfs_start(desk: Desk) -> None:
    tasks = [
        document_002.alone("IMPL-1", title="Authentication", status="container"),
        document_002.alone("IMPL-1.1", title=DESIGN),
        document_002.example(),
        document_002.alone("IMPL-2", title=PROTECT),
    ]
    tasks[1]["context"]["parent"] = "IMPL-1"
    tasks[3]["context"]["depends_on"] = ["IMPL-1.2"]
    for task in tasks:
        task["context"].pop("artifacts")
        desk.put(f"{SESSION}/.task/{task['id']}.json", task)
    progress = {"completed_phases": ["PLAN"], "current_tasks": ["IMPL-1.1"]}
    state: dict[str, Any] = {"session_id": "WFS-user-auth", "project": "User auth", "type": "simple"}
    desk.put(
        f"{SESSION}/workflow-session.json",
        state | {"current_phase": "IMPLEMENT", "status": "active", "progress": progress},
    )
    desk.shell(
        "echo '# Implementation Plan' > IMPL_PLAN.md; echo '# Tasks' > TODO_LIST.md; touch ../.active-WFS-user-auth",
        SESSION,
    )


def wfs_file(desk: Desk) -> Seen:
    state = desk.json(f"{SESSION}/workflow-session.json")
    tasks = [json.loads(path.read_text()) for path in sorted((desk.root / SESSION / ".task").glob("*.json"))]
    titles = {status: [each["title"] for each in tasks if each["status"] == status] for status in STATUSES}
    return Seen(state["status"] == "completed", ", ".join(titles["active"]), frozenset(titles["completed"]))


def wfs_list(desk: Desk) -> Seen:
    done = lines(desk.text(f"{SESSION}/TODO_LIST.md"), r"^ *- \[x\] \*\*IMPL-[\d.]+\*\*: (.*?) → ")
    return Seen(completed=frozenset(done))


def task(id_: str, status: str) -> Callable[[Desk], object]:
    """Return the document's two operations: `jq` for a task's status, and the list generated from the task files."""

    def act(desk: Desk) -> None:
        desk.shell(f"jq '.status = \"{status}\"' .task/{id_}.json > temp && mv temp .task/{id_}.json", SESSION)
        desk.run("doctor", "wfs", "--fix")

    return act


END = """jq '.status = "completed"' workflow-session.json > temp && mv temp workflow-session.json
rm ../.active-WFS-user-auth"""

EXAMPLES["002 wfs"] = Example(
    title="User auth",
    write=wfs_start,
    start=at("", due=DESIGN),
    file=wfs_file,
    view=wfs_list,
    ways={
        "commands": [
            Step("next", run("next"), at(DESIGN)),
            Step("done", run("done --note 1"), at(JWT, DESIGN)),
            Step("done", run("done --note 2"), at(PROTECT, DESIGN, JWT)),
            Step("done", run("done --note 3"), over(DESIGN, JWT, PROTECT)),
        ],
        "agents": [
            Step("IMPL-1.1", agent(f"IMPL-1.1: {DESIGN}", "code-developer"), at("", DESIGN, due=JWT)),
            Step("IMPL-1.2", agent(f"IMPL-1.2: {JWT}", "code-developer"), at("", DESIGN, JWT, due=PROTECT)),
            Step(
                "IMPL-2",
                agent(f"IMPL-2: {PROTECT}", "code-developer"),
                Seen(False, "", frozenset({DESIGN, JWT, PROTECT})),
            ),
            Step("done --all", run("done --all"), over(DESIGN, JWT, PROTECT)),
        ],
        "hand": [
            Step("IMPL-1.1 active", task("IMPL-1.1", "active"), at(DESIGN)),
            Step("IMPL-1.1 completed", task("IMPL-1.1", "completed"), at("", DESIGN, due=JWT)),
            Step("IMPL-1.2 active", task("IMPL-1.2", "active"), at(JWT, DESIGN)),
            Step("IMPL-1.2 completed", task("IMPL-1.2", "completed"), at("", DESIGN, JWT, due=PROTECT)),
            Step("IMPL-2 active", task("IMPL-2", "active"), at(PROTECT, DESIGN, JWT)),
            Step("IMPL-2 completed", task("IMPL-2", "completed"), Seen(False, "", frozenset({DESIGN, JWT, PROTECT}))),
            Step("session completed", shell(END, SESSION), over(DESIGN, JWT, PROTECT)),
        ],
    },
)


# Document 003: one file with lists of active agents, completed and pending tasks, in any order.

ORCHESTRATOR = ".claude/agent-state.json"
MODEL, TOKENS = "Update User model and database schema", "Implement JWT authentication"
ROUTES, ROLES, GUARD = "Create auth endpoints", "Add role-based access control", "Protect existing endpoints"
BEFORE = (MODEL, TOKENS)


def orchestrator_file(desk: Desk) -> Seen:
    """A task is in one list; of two the document counts the one further on."""
    state = desk.json(ORCHESTRATOR)
    done = {each["task"]: each["name"] for each in state["completed_tasks"]}
    names = {each["task"]: each["name"] for each in state["pending_tasks"]}
    at_work = [each["task"] for each in state["active_agents"] if each["task"] not in done]
    active = [names.get(each, desk.names.get(each, each)) for each in at_work]
    desk.names.update(names)
    return Seen(state["orchestrator"]["status"] == "completed", ", ".join(active), frozenset(done.values()))


def push(id_: str, name: str, current: str) -> Callable[[Desk], object]:
    """Return the document's update of the state: the current task, and the completed one pushed onto its list."""
    entry = {"task": id_, "name": name, "completed": "2026-01-15T12:40:00Z", "iterations": 1, "time_elapsed": "9m 0s"}
    entry |= {"cost": "$0.20", "files_modified": [], "success_criteria_met": {}}
    edit = f'.orchestrator.current_task = "{current}" | .completed_tasks += [{json.dumps(entry)}]'
    return shell(f"jq '{edit}' {ORCHESTRATOR} > temp && mv temp {ORCHESTRATOR}")


def start_agent(id_: str, *, pending: bool) -> Callable[[Desk], object]:
    """Return a step that lists an agent. Its task leaves the pending ones, or stays there as in the example."""
    entry = {"type": "task-executor", "task": id_, "started": "2026-01-15T12:31:00Z", "iteration": 1}
    edit = f".active_agents = [{json.dumps(entry | {'status': 'in_progress'})}]"
    edit += "" if pending else f' | .pending_tasks = [.pending_tasks[] | select(.task != "{id_}")]'
    return shell(f"jq '{edit}' {ORCHESTRATOR} > temp && mv temp {ORCHESTRATOR}")


STALE = shell(f"jq '.active_agents = []' {ORCHESTRATOR} > temp && mv temp {ORCHESTRATOR}")
ENDED = shell(
    f'jq \'.orchestrator.status = "completed" | .orchestrator.end_time = "2026-01-15T13:00:00Z"\' {ORCHESTRATOR} '
    f"> temp && mv temp {ORCHESTRATOR}"
)
ALL = (*BEFORE, ROUTES, ROLES, GUARD)
ALL_DONE = Seen(False, "", frozenset(ALL))


def orchestrator_start(desk: Desk) -> None:
    desk.put(ORCHESTRATOR, recent(data("document_003/complete-example.json")))


def orchestrator_with_document(desk: Desk) -> None:
    """Start a run of a task document that lies where the example has it: in ~/.claude/tasks."""
    document = Path.home() / ".claude" / "tasks" / "user-auth.md"
    document.parent.mkdir(parents=True)
    document.write_text(data("document_003/user-auth.md"), "utf-8")
    desk.run("start", str(document), "--format", "orchestrator")
    desk.run("orchestrator", "approve")


def orchestrator_by_hand(*, pending: bool) -> list[Step]:
    """Return the steps by hand. With `pending`, a task that is begun stays in the pending ones too."""
    return [
        Step("2.1's agent is stale", STALE, at("", *BEFORE, due=ROUTES)),
        Step("2.1 begins", start_agent("2.1", pending=pending), at(ROUTES, *BEFORE)),
        Step("2.1 is pushed", push("2.1", ROUTES, "1/2"), at("", *BEFORE, ROUTES, due=ROLES)),
        Step("2.2 begins", start_agent("2.2", pending=pending), at(ROLES, *BEFORE, ROUTES)),
        Step("2.2's agent is stale", STALE, at("", *BEFORE, ROUTES, due=ROLES)),
        Step("2.2 is pushed", push("2.2", ROLES, "2/2"), at("", *BEFORE, ROUTES, ROLES, due=GUARD)),
        Step("3.1 is pushed", push("3.1", GUARD, "1/1"), ALL_DONE),
        Step("end", ENDED, over(*ALL)),
    ]


EXAMPLES["003 orchestrator"] = Example(
    title="user-auth",
    write=orchestrator_start,
    start=at(ROUTES, *BEFORE),
    file=orchestrator_file,
    ways={
        "commands": [
            Step("done 2.1", run("done --note 1"), at(ROLES, *BEFORE, ROUTES)),
            Step("done 2.2", run("done --note 2"), at(GUARD, *BEFORE, ROUTES, ROLES)),
            Step("done 3.1", run("done --note 3"), over(*ALL)),
        ],
        "agents": [
            Step("2.1", agent(f"2.1: {ROUTES}", "task-executor"), at("", *BEFORE, ROUTES, due=ROLES)),
            Step("2.2", agent(f"Task 2.2: {ROLES}", "task-executor"), at("", *BEFORE, ROUTES, ROLES, due=GUARD)),
            Step("3.1", agent(GUARD, "task-executor"), ALL_DONE),
            Step("complete", run("done --all"), over(*ALL)),
        ],
        "hand": orchestrator_by_hand(pending=True),
    },
)
EXAMPLES["003 with a task document"] = replace(
    EXAMPLES["003 orchestrator"],
    title="User auth",
    write=orchestrator_with_document,
    start=at("", due=MODEL),
    ways={
        "hand": [
            Step("1.1 is pushed", push("1.1", MODEL, "1/2"), at("", MODEL, due=TOKENS)),
            Step("1.2 is pushed", push("1.2", TOKENS, "2/2"), at("", *BEFORE, due=ROUTES)),
            *orchestrator_by_hand(pending=False),
        ]
    },
)


# Document 004: a file for each run of a skill. `current_phase` says where it is; /dev's tasks are steps of one phase.

SNIPPETS = {path.stem: path.read_text("utf-8") for path in (DATA / "document_004").glob("*.sh")}
SKILLS = DATA.parents[1] / "formats" / "skills" / "data"
EVENTS = "Implement EventId value object"
OUTBOX, TESTS = "Implement OutboxPublisher", "Add integration tests"
LOADED = ("Load feature", "Create branch", EVENTS)
ACTIVE = ".claude/workflow-state/active"


def skill_start(skill: str, id_: str) -> Callable[[Desk], None]:
    """Return what writes an example, and the index that names it."""

    def write(desk: Desk) -> None:
        text = recent((SKILLS / f"{skill}.json").read_text("utf-8"))
        state = json.loads(text)
        entry = {"id": id_, "skill": skill, "feature": state["context"]["feature_file"]}
        entry |= {"started_at": state["workflow"]["created_at"], "last_activity": state["workflow"]["updated_at"]}
        desk.put(f"{ACTIVE}/{id_}.json", text)
        index = {"schema_version": "1.0", "updated_at": entry["last_activity"], "active_workflows": [entry]}
        desk.put(".claude/workflow-state/index.json", index)
        desk.shell("mkdir .claude/workflow-state/completed")

    return write


def snippet(name: str, id_: str, *, instead: tuple[str, str] = ("", ""), **variables: str) -> Callable[[Desk], object]:
    """Return a step that runs one of the document's snippets, with its variables and one word replaced."""
    script = SNIPPETS[name].replace(*instead)
    return shell(script, STATE_FILE=f"{ACTIVE}/{id_}.json", WORKFLOW_ID=id_, LINT_PASSED="true", **variables)


def to_phase(id_: str, name: str) -> Callable[[Desk], object]:
    """Return the document's phase transition."""
    return snippet("update-state", id_, instead=("green", name))


def skill_file(id_: str, labels: dict[str, str]) -> Callable[[Desk], Seen]:
    """Return what reads a skill's file: phases before the current one are completed (document 004, "Resume")."""

    def read(desk: Desk) -> Seen:
        done, state = desk.json(f".claude/workflow-state/completed/{id_}.json"), desk.json(f"{ACTIVE}/{id_}.json")
        if done.get("workflow", {}).get("status") == "completed" or not state:
            return Seen(True)
        machine = state["state_machine"]
        names = [each["name"] for each in machine["phases"]]
        before = names[: names.index(machine["current_phase"])]
        found = [labels[each] for each in before if each != "task_execution"]
        found += [each["description"] for each in state.get("tasks", []) if each["status"] == "completed"]
        here = labels.get(machine["current_phase"])
        current = next(each for each in machine["phases"] if each["name"] == machine["current_phase"])
        if here and current["status"] == "completed":
            return Seen(False, None, frozenset([*found, here]))
        return Seen(False, here, frozenset(found), here)

    return read


DEV, TDD = "dev-evt-infra-a1b2", "tdd-auth-login-b2c3"
DEV_LABELS = {"load_feature": "Load feature", "create_branch": "Create branch", "verification": "Verification"}
DEV_LABELS |= {"pr_creation": "PR creation"}
CHECKED = [f"skills checkpoint {name} --passed" for name in ("lint", "test", "security_review", "code_simplifier")]
DONE = (*LOADED, OUTBOX, TESTS)


def all_of(*commands: str) -> Callable[[Desk], object]:
    return lambda desk: [desk.run(*command.split()) for command in commands]


def checkpoints(desk: Desk) -> None:
    for name in ("lint", "test", "security_review", "code_simplifier"):
        snippet("record-checkpoint", DEV, instead=("lint", name))(desk)


EXAMPLES["004 dev"] = Example(
    title="Event Infrastructure",
    write=skill_start("dev", DEV),
    start=at(OUTBOX, *LOADED),
    file=skill_file(DEV, DEV_LABELS),
    branch="feat/event-infrastructure",
    ways={
        "commands": [
            Step("done 2", run("done --note 2"), at(TESTS, *LOADED, OUTBOX)),
            Step("done 3", run("done --note 3"), at("Verification", *DONE)),
            Step("checkpoints", all_of(*CHECKED), at("Verification", *DONE)),
            Step("done", run("done --note 4"), at("PR creation", *DONE, "Verification")),
            Step(
                "pr",
                all_of("skills checkpoint pr --passed --set pr_number=7", "done"),
                over(*DONE, "Verification", "PR creation"),
            ),
        ],
        "agents": [
            Step("task 2", agent(OUTBOX), at(TESTS, *LOADED, OUTBOX)),
            Step("task 3", agent(TESTS), at("Verification", *DONE)),
            Step("checkpoints", all_of(*CHECKED), at("Verification", *DONE)),
            Step("verification", agent("Verification"), at("PR creation", *DONE, "Verification")),
            Step(
                "pr",
                all_of("skills checkpoint pr --passed --set pr_number=7", "done"),
                over(*DONE, "Verification", "PR creation"),
            ),
        ],
        "hand": [
            Step(
                "task 2",
                snippet("complete-task", DEV, TASK_INDEX="2", COMMIT_SHA="172c0b1"),
                Seen(False, None, frozenset({*LOADED, OUTBOX}), TESTS),
            ),
            Step(
                "task 3",
                snippet("complete-task", DEV, TASK_INDEX="3", COMMIT_SHA="172c0b2"),
                Seen(False, None, frozenset(DONE)),
            ),
            Step("verification", to_phase(DEV, "verification"), at("Verification", *DONE)),
            Step("checkpoints", checkpoints, at("Verification", *DONE)),
            Step(
                "pr_creation",
                to_phase(DEV, "pr_creation"),
                at("PR creation", *DONE, "Verification"),
            ),
            Step("completed", snippet("complete-workflow", DEV), Seen(True)),
        ],
    },
)

EXAMPLES["004 tdd"] = Example(
    title="Add login method to AuthService",
    write=skill_start("tdd", TDD),
    start=at("GREEN", "RED"),
    file=skill_file(TDD, {name: name.upper() for name in ("red", "green", "refactor", "commit")}),
    branch="feat/user-auth",
    ways={
        "commands": [
            Step("done", run("done --note 2"), at("REFACTOR", "RED", "GREEN")),
            Step("done", run("done --note 3"), at("COMMIT", "RED", "GREEN", "REFACTOR")),
            Step("done", run("done --note 4"), over("RED", "GREEN", "REFACTOR", "COMMIT")),
        ],
        "agents": [
            Step("green", agent("GREEN"), at("REFACTOR", "RED", "GREEN")),
            Step("refactor", agent("REFACTOR"), at("COMMIT", "RED", "GREEN", "REFACTOR")),
            Step("commit", agent("COMMIT"), Seen(False, "", frozenset({"RED", "GREEN", "REFACTOR", "COMMIT"}))),
            Step("complete", run("done"), over("RED", "GREEN", "REFACTOR", "COMMIT")),
        ],
        "hand": [
            Step("refactor", to_phase(TDD, "refactor"), at("REFACTOR", "RED", "GREEN")),
            Step("commit", to_phase(TDD, "commit"), at("COMMIT", "RED", "GREEN", "REFACTOR")),
            Step("completed", snippet("complete-workflow", TDD), Seen(True)),
        ],
    },
)


@pytest.mark.parametrize(("name", "way"), [(name, way) for name, each in EXAMPLES.items() for way in each.ways])
def test_all_views_of_a_complete_example_agree_at_each_step(
    name: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step of an example, all witnesses agree with each other and with what was done."""
    if "hand" in way and shutil.which("jq") is None:
        pytest.skip("jq isn't installed")
    example = EXAMPLES[name]
    project = desk(tmp_path, example.title, monkeypatch, example.branch)
    wrong = []
    for step in (Step("start", example.write, example.start), *example.ways[way]):
        try:
            step.act(project)
            seen = witnesses(project, file=example.file, view=example.view)
        except (AssertionError, KeyError, TypeError) as fault:
            wrong.append(f"{step.name}: {type(fault).__name__}: {fault}")
            continue
        wrong += [f"{step.name}: {each}" for each in disagreements({"done": step.then, **seen})]
    assert not wrong, "\n" + "\n".join(wrong)
