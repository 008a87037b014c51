"""Two sessions of the `wfs` format from their start to their end: one of medium size, and a complex one.

    python examples/user_auth.py

Agents work on tasks one after another and in parallel; a task written by hand breaks rules, an agent dies, the
conversation is compacted. The tasks are validated at every step. Every event is a recorded payload of the real client,
sent through the registered command into a throw-away project. Exit code 1, with what was not shown, when a promise is
not kept.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.commands.demo import narrate
from holdfast.testkit import stage
from holdfast.testkit.acts import Panel, Shown, promise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.testkit.reply import Heard
    from holdfast.testkit.stage import Stage

TOPIC, SESSION = "User Auth System", "WFS-user-auth-system"
FOLDER = f".workflow/{SESSION}"
LIST = f"{FOLDER}/TODO_LIST.md"
CODER = "code-developer"
TOKENS = "Tokens are signed with ES256 and expire after 15 minutes."
ERROR = "API Error: 529 Overloaded. Try again in a moment."
SHOP, PARTS, LEAVES = "Rebuild the shop", ("Catalogue", "Basket", "Payment", "Delivery"), 4


def main() -> None:
    """Tell the story; exit code 1 if a promise is not kept."""
    with stage.opened() as throwaway:
        narrate(throwaway, story(throwaway), "Two sessions, 22 tasks, two compactions: all completed.")


def story(project: Stage) -> Iterator[Shown]:
    """Run both sessions, a step at a time, and check at each what document 002 promises."""
    project.install()
    yield start(project)
    yield plan(project)
    yield break_rules(project)
    yield from first_agent(project)
    yield compact(project)
    yield fail(project)
    yield finish(project)
    yield refuse(project)
    yield from shop(project)


def start(project: Stage) -> Shown:
    """A session begins with the least it needs."""
    printed = project.holdfast("start", TOPIC, "--format", "wfs")
    found = sorted(path.relative_to(project.root).as_posix() for path in (project.root / ".workflow").rglob("*"))
    wanted = [f"{FOLDER}/{name}" for name in (".task", "IMPL_PLAN.md", "TODO_LIST.md", "workflow-session.json")]
    promise(found == [f".workflow/.active-{SESSION}", FOLDER, *wanted], "exactly what a session needs is there")
    return Shown(
        "A session begins",
        f'holdfast start "{TOPIC}" --format wfs',
        [Panel("what it prints", printed), Panel(".workflow/", "\n".join(found))],
        "The marker file says by its name which session is active. Folders that are not needed yet are not made.",
    )


def plan(project: Stage) -> Shown:
    """Tasks are made, one is taken apart, and the list follows."""
    add(project, "Login with tokens", "--require", "no session cookies", "--focus", "src/auth")
    task(project, "decompose", "IMPL-1", "Choose the tokens", "Build the login", "Build the logout", "Write unit tests")
    for number in (2, 3):
        depends_on(project, f"IMPL-1.{number}", "IMPL-1.1")
    depends_on(project, "IMPL-1.4", "IMPL-1.2", "IMPL-1.3")
    add(project, "Update the README", "--after", "IMPL-1")
    valid(project)
    promise(state(project)["type"] == "medium", "five leaf tasks make a session of medium size")
    return Shown(
        "The work is planned",
        'holdfast wfs task add "Login with tokens" …, holdfast wfs task decompose IMPL-1 …',
        [project.file(LIST)],
        "A task with subtasks is a container: it is as far as they are. The list is generated from the tasks' files "
        "after every change.",
    )


def break_rules(project: Stage) -> Shown:
    """What somebody writes by hand is checked against the nine rules, all of it at once."""
    path = f"{FOLDER}/.task/IMPL-3.json"
    wrong = json.loads((project.root / FOLDER / ".task" / "IMPL-2.json").read_text("utf-8"))
    wrong |= {"id": "IMPL-3", "title": "Tell everybody", "status": "todo"}
    wrong["context"] |= {"focus_paths": ["./docs/*"], "depends_on": ["IMPL-9"]}
    project.write(path, json.dumps(wrong, indent=2))
    said = project.holdfast("doctor", "wfs")
    for rule in (4, 6, 8):
        promise(f"(rule {rule}: " in " ".join(said.split()), f"rule {rule} is named")
    (project.root / path).unlink()
    valid(project)
    return Shown(
        "A task written by hand breaks three rules",
        "holdfast doctor wfs",
        [Panel("what it prints", said)],
        "Each violation is named with file, field, value and remedy. The file is not touched; here somebody removes "
        "it again.",
    )


def first_agent(project: Stage) -> Iterator[Shown]:
    """An agent that is launched for a task makes it active; its end completes it, and hands over."""
    agent = project.agent(CODER, "IMPL-1.1 Choose the tokens", "Do it.")
    heard = agent.about_to()
    promise(status(project, "IMPL-1.1") == "active", "the task is active")
    promise(state(project)["current_phase"] == "IMPLEMENT", "the session has left PLAN")
    promise(state(project)["progress"]["current_tasks"] == ["IMPL-1.1"], "the session says who is at work")
    valid(project)
    yield Shown(
        "The first agent is launched, and its task begins",
        "PreToolUse (Agent)",
        [told(heard)],
        "Its id stands in the description. The session leaves its first phase, PLAN, for IMPLEMENT.",
    )
    agent.started()
    agent.stopped(TOKENS)
    heard = agent.returned(TOKENS)
    promise(status(project, "IMPL-1.1") == "completed", "the task is completed")
    promise(TOKENS in (project.root / FOLDER / ".summaries" / "IMPL-1.1-summary.md").read_text("utf-8"), "its summary")
    promise(TOKENS in heard.context, "what comes next is told with the summary of what it depends on")
    promise("IMPL-1.2" in heard.context and "task IMPL-1.3" in heard.context, "both tasks that can begin are named")
    given = project.holdfast("wfs", "task", "show", "IMPL-1.2")
    promise(TOKENS in given and "no session cookies" in given, "an agent gets what its task inherits")
    valid(project)
    yield Shown(
        "It returns, and two tasks can be worked on in parallel",
        "SubagentStart, SubagentStop, PostToolUse (Agent)",
        [told(heard), project.file(LIST)],
        "The agent's last words are the task's summary. Whoever works on a task that depends on it is given them.",
    )


def compact(project: Stage) -> Shown:
    """Two agents run in the background when the conversation is compacted."""
    first, other = (project.agent(CODER, id_, "Do it.", background=True) for id_ in ("IMPL-1.2", "IMPL-1.3"))
    for agent in (first, other):
        agent.about_to()
        agent.launched()
    promise([status(project, f"IMPL-1.{number}") for number in (2, 3)] == ["active"] * 2, "both are active")
    _, after = project.compact("auto")
    for fact in (TOPIC, "IMPL-1.2", "IMPL-1.3", TOKENS, "no session cookies", "ACTION REQUIRED"):
        promise(fact in after.context, f"{fact!r} comes back")
    other.stopped("The logout revokes tokens.")
    heard = other.notified(words="The logout revokes tokens.")
    promise(status(project, "IMPL-1.3") == "completed", "the one that ended first is completed")
    promise(status(project, "IMPL-1.2") == "active", "the other one goes on")
    valid(project)
    return Shown(
        "Two agents work in the background; the conversation is compacted",
        "PreToolUse and PostToolUse (Agent) twice, PreCompact, SessionStart (compact), UserPromptSubmit",
        [told(after), told(heard)],
        "The session and its current task come back with requirements, paths, acceptance and summaries. Then the "
        "second agent reports, and its own task is completed.",
    )


def fail(project: Stage) -> Shown:
    """An agent dies: its task is blocked until somebody begins it again."""
    task(project, "complete", "IMPL-1.2", "--summary", "Wrong passwords are refused.")
    agent = project.agent("test-fix-agent", "IMPL-1.4", "Write unit tests for IMPL-1.2 and IMPL-1.3.")
    agent.about_to()
    agent.died(ERROR)
    heard = agent.failed(ERROR)
    promise(status(project, "IMPL-1.4") == "blocked", "the task is blocked")
    said = project.holdfast("next")
    promise("no task can be begun" in said, "and next says that nothing can begin")
    valid(project)
    return Shown(
        "An agent dies of an API error",
        "PreToolUse (Agent), StopFailure, PostToolUseFailure (Agent), holdfast next",
        [told(heard), Panel("what next says", said)],
        "The prompt names three tasks; the one that is not done yet is meant. Nothing is lost, and nothing goes on "
        "by itself.",
    )


def finish(project: Stage) -> Shown:
    """It is tried again; the last task ends the work, and the session is completed."""
    for id_, words in (("IMPL-1.4", "12 tests pass."), ("IMPL-2", "The README says it.")):
        agent = project.agent(CODER, id_, "Do it.")
        agent.about_to()
        agent.returned(words)
        valid(project)
    promise(state(project)["current_phase"] == "REVIEW", "with all tasks completed the session is in REVIEW")
    promise("all 5 tasks are completed" in project.holdfast("doctor", "wfs"), "that it is not ended yet is said")
    printed = project.holdfast("done", "--all")
    promise(state(project)["progress"]["completed_phases"] == ["PLAN", "IMPLEMENT", "REVIEW"], "all phases are behind")
    promise(not list((project.root / ".workflow").glob(".active-*")), "no session is marked any more")
    return Shown(
        "The rest is done, and the session is completed",
        "PreToolUse and PostToolUse (Agent) twice, holdfast done --all",
        [Panel("what it prints", printed), project.file(LIST)],
        "A hook completes tasks, and never a session: that is left to whoever works in it.",
    )


def refuse(project: Stage) -> Shown:
    """Whoever comes late changes nothing."""
    before = (project.root / FOLDER / "workflow-session.json").read_bytes()
    said = project.holdfast("wfs", "task", "add", "One more thing", "--session", SESSION, code=1)
    promise("is completed" in said, "a late writer is refused")
    promise((project.root / FOLDER / "workflow-session.json").read_bytes() == before, "and nothing is written")
    return Shown(
        "Somebody comes late",
        'holdfast wfs task add "One more thing"',
        [Panel("what it says", said)],
        "A completed session takes no more changes until somebody opens it again.",
    )


def shop(project: Stage) -> Iterator[Shown]:
    """A complex session: tasks are taken apart on the way, agents work wave after wave."""
    project.holdfast("start", SHOP, "--format", "wfs")
    for part in PARTS:
        add(project, part)
    add(project, "Open the shop", *(word for number in range(1, 5) for word in ("--after", f"IMPL-{number}")))
    for number, part in enumerate(PARTS, 1):
        task(project, "decompose", f"IMPL-{number}", *(f"{part}, part {each}" for each in range(1, LEAVES + 1)))
        for each in range(2, LEAVES + 1):
            depends_on(project, f"IMPL-{number}.{each}", f"IMPL-{number}.{each - 1}", session="WFS-rebuild-the-shop")
    valid(project)
    promise(state(project, "WFS-rebuild-the-shop")["type"] == "complex", "17 leaf tasks make a complex session")
    yield Shown(
        "A second, complex session is planned",
        f'holdfast start "{SHOP}" --format wfs, holdfast wfs task decompose IMPL-1 … and three more',
        [project.file(".workflow/WFS-rebuild-the-shop/TODO_LIST.md", 12)],
        "It was simple with its first tasks and is upgraded as they are taken apart; it never goes down again.",
    )
    waves = [work(project, wave) for wave in range(1, LEAVES // 2 + 1)]
    _, after = project.compact("manual")
    promise(
        SHOP in after.context and "Tasks: 8/17 completed" in after.context, "the compaction gives back where it stands"
    )
    waves += [work(project, wave) for wave in range(LEAVES // 2 + 1, LEAVES + 1)]
    promise(waves == [4] * LEAVES, "four agents work side by side in each wave")
    promise(work(project, LEAVES + 1) == 1, "and one opens the shop")
    project.holdfast("done", "--all")
    shown = project.holdfast("status", "WFS-rebuild-the-shop")
    promise("100%" in shown, "it is completed")
    yield Shown(
        "Wave after wave is worked on, with a compaction in the middle",
        "17 agents, PreCompact (manual), SessionStart (compact), holdfast done --all",
        [told(after), Panel("what status prints", shown)],
        "In each wave the tasks that wait for nothing are worked on side by side.",
    )


def work(project: Stage, wave: int) -> int:
    """Let an agent work on each task that can begin; return how many did."""
    tasks = json.loads(project.holdfast("wfs", "task", "show", "--json"))
    leaves = [each for each in tasks if each["status"] != "container"]
    ready = [each for each in leaves if each["progress"] == "pending" and not each["waits_for"]]
    agents = [project.agent(CODER, each["id"], f"Do {each['id']} of the shop.") for each in ready]
    for agent in agents:
        agent.about_to()
    for agent in agents:
        agent.returned(f"Done in wave {wave}.")
    valid(project)
    return len(agents)


def add(project: Stage, title: str, *more: str) -> None:
    """Make a task."""
    task(project, "add", title, *more)


def task(project: Stage, *arguments: str) -> str:
    """Run a command on tasks of the active session."""
    return project.holdfast("wfs", "task", *arguments)


def depends_on(project: Stage, id_: str, *others: str, session: str = SESSION) -> None:
    """Write by hand what a task depends on, as a planning agent does."""
    path = f".workflow/{session}/.task/{id_}.json"
    data = json.loads((project.root / path).read_text("utf-8"))
    data["context"]["depends_on"] = list(others)
    project.write(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def valid(project: Stage) -> None:
    """Promise that no task of the active session breaks a rule."""
    promise("(rule " not in project.holdfast("doctor", "wfs"), "no task breaks a rule")


def state(project: Stage, session: str = SESSION) -> dict[str, Any]:
    """Return a session's state."""
    found: dict[str, Any] = json.loads(
        (project.root / ".workflow" / session / "workflow-session.json").read_text("utf-8")
    )
    return found


def status(project: Stage, id_: str) -> str:
    """Return a task's status as its file has it."""
    return str(json.loads((project.root / FOLDER / ".task" / f"{id_}.json").read_text("utf-8"))["status"])


def told(heard: Heard) -> Panel:
    """Return what reached the model."""
    return Panel("what the model is told", heard.context)


if __name__ == "__main__":
    main()
