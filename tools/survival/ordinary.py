"""Plant an ordinary session: one without a workflow, with 29 facts in its transcript that a successor must know."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tools.survival.truth import Fact

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.survival.worklog import Worked

PLANTED, GOAL = 29, 27  # facts, and how many of them are enough
CLIENTS_OWN = (
    *("ran out of context", "DO NOT respond", "task-notification", "<command", "local-command", "interrupted by user"),
)
Tool = Literal["TodoWrite", "Task tools", "neither"]


@dataclass
class Ordinary:
    """The present state of what was planted in a session.

    Attributes:
        mark: a word that is part of all of the session's own words.
        facts: what a successor must know.
        stale: words that were true once.
        machine: words that look like the session's own but aren't, such as a subagent's.
        failing: the failing command and its test; both are facts.
        asked: the last request; it is a fact.
    """

    mark: str
    facts: list[Fact]
    stale: set[str]
    machine: set[str]
    failing: tuple[str, str]
    asked: str

    @property
    def words(self) -> frozenset[str]:
        """Words that another session must not get."""
        return frozenset(
            {self.mark, _name(self.mark), _job(self.mark), *(_id(self.mark, place) for place in (1, 2, 3))}
        )

    def fail(self, command: str, test: str) -> None:
        """Make the failing command succeed and another one fail."""
        self.stale |= set(self.failing)
        self.facts = [fact for fact in self.facts if fact.needle not in self.failing] + _all("command", command, test)
        self.failing = command, test

    def ask(self, request: str) -> None:
        """Make this the last request; the one before may still be mentioned among the earlier ones."""
        self.facts = [fact for fact in self.facts if fact.needle != self.asked] + _all("request", request)
        self.asked = request


def plant(
    work: Worked, tool: Tool, between: Callable[[int], None] = lambda part: None, *, mark: str, branch: str
) -> Ordinary:
    """Let an ordinary session do its work in four parts, and return what a successor must know of it.

    Args:
        work: writes the session's transcript.
        tool: the tool for the session's to-dos.
        between: called after each part with the part's number.
        mark: the word that is part of all of the session's own words.
        branch: the branch it works on.
    """
    name, job = _name(mark), _job(mark)
    failing, asked = (f"{mark}-FAILING-COMMAND", f"test_{name}_fails"), f"{mark}-LAST-REQUEST"
    facts = [
        *_all("request", f"{mark}-FIRST-REQUEST", f"{mark}-RULE always tabs", f"{mark}-MIDDLE-REQUEST"),
        *_all("request", f"{mark}-TYPED-MEANWHILE", asked),
        *_all("file", f"src/{name}_created.py (created", f"src/{name}_often.py (written 3 times)"),
        *_all("file", f"src/{name}_other.py", *(f"src/{name}_part_{number}.py" for number in range(4))),
        *_all("command", *failing),
        *_all("command", f"{mark}-RUNNING-COMMAND", job, f"{work.tasks}/{job}.output"),
        *_all("request", f"{mark}-THIRD-REQUEST", f"{mark}-FOURTH-REQUEST"),
        *_all("plan", f"{mark}-plan.md", f"{mark} plan title"),
        *_all("branch", branch),
        *_all("decision", f"{mark}-DECISION", f"{mark}-ANSWER", f"{mark}-CHOICE"),
    ]
    machine = {f"{mark}-{word}" for word in ("SIDECHAIN", "EXPANSION", "QUEUED-BY-A-MACHINE")}
    planted = Ordinary(mark, facts, {f"{mark}-OLD-TODO", f"{mark}-FIXED"}, machine, failing, asked)
    plan_file = f"/home/user/plans/{mark}-plan.md"

    work.say(f"{mark}-FIRST-REQUEST: build the parser, please.")
    work.read(f"{work.home}/docs/{name}_read.md")
    work.attach(type="plan_mode", reminderType="full", planFilePath=plan_file, planExists=True)
    plan = {"plan": f"# {mark} plan title\n\n1. Parse.", "filePath": plan_file, "isAgent": False}
    work.call("ExitPlanMode", {"plan": f"# {mark} plan title"}, plan, "approved")
    planted.facts += _todos(work, tool, mark, name)
    between(1)

    work.say(f"{mark}-RULE always tabs, never spaces.")
    work.edit(f"{work.home}/src/{name}_created.py", create=True)
    work.edit(f"{work.home}/src/{name}_often.py")
    work.edit(f"{work.home}/src/{name}_other.py")
    for number in range(4):
        work.edit(f"{work.home}/src/{name}_part_{number}.py")
    work.answer(f"I looked around. {mark}-DECISION: we will use SQLite because it is one file. Now the tests.")
    answers = {f"Which name ({mark}-ANSWER)?": "parser"}
    work.call("AskUserQuestion", {"questions": []}, {"questions": [], "answers": answers}, "answered")
    between(2)

    work.say(f"{mark}-MIDDLE-REQUEST: also write the tests.")
    work.agent(f"{mark}-AGENT-THAT-ENDED", _id(mark, 2))
    work.run(f"pytest -q {mark}-FIXED", "FAILED tests/test_fixed.py::test_it", failed=True)
    work.edit(f"{work.home}/src/{name}_often.py")
    work.run(f"pytest -q {mark}-FIXED", "1 passed")
    work.queue(f"{mark}-TYPED-MEANWHILE: mind the empty file.")
    work.queue(f"{mark}-QUEUED-BY-A-MACHINE", mode="task-notification")
    work.notify(_id(mark, 2), f'Agent "{mark}-AGENT-THAT-ENDED" finished', result=f"{mark}-AGENT-RESULT")
    between(3)

    work.edit(f"{work.home}/src/{name}_often.py")
    _fails(work, *failing)
    work.background(f"{mark}-RUNNING-COMMAND --serve", job)
    work.agent(f"{mark}-AGENT-IN-FLIGHT", _id(mark, 1), f"{mark}-reviewer")
    work.answer(f"{mark}-CHOICE: I chose pytest because it is there.")
    work.say(f"{mark}-THIRD-REQUEST: name the tests well.")
    work.say(f"{mark}-FOURTH-REQUEST: keep them short.")
    work.aside("isSidechain", f"{mark}-SIDECHAIN")
    work.aside("isMeta", f"{mark}-EXPANSION")
    work.interrupt()
    work.say(f"{asked}: make that test pass.")
    between(4)
    return planted


def go_on(work: Worked, planted: Ordinary, number: int) -> None:
    """Work between two compactions: the failing test passes, another one fails, and the user has a new request.

    Args:
        work: writes the session's transcript.
        planted: what was planted; it is updated.
        number: the number of this call, from which its words are made.
    """
    work.run(f"pytest -q {planted.failing[0]}", "1 passed")
    planted.fail(f"{planted.mark}-FAILING-{number}-COMMAND", f"test_{_name(planted.mark)}_{number}_fails")
    _fails(work, *planted.failing)
    planted.ask(f"{planted.mark}-LAST-{number}-REQUEST")
    work.say(f"{planted.asked}: and now that one.")


def _todos(work: Worked, tool: Tool, mark: str, name: str) -> list[Fact]:
    """Plant to-dos with the session's tool; without a tool, plant other facts instead."""
    old, one, two, three = (f"{mark}-{word}" for word in ("OLD-TODO", "TODO-ONE", "TODO-TWO", "TODO-THREE"))
    if tool == "neither":
        work.say(f"{mark}-SECOND-REQUEST: read the standard first.")
        work.edit(f"{work.home}/docs/{name}_standard.md", create=True)
        work.edit(f"{work.home}/{name}_notes.md", create=True)
        work.answer(f"- **Decision:** {mark}-SECOND-DECISION, no recursion.")
        return [
            *(Fact("request", f"{mark}-SECOND-REQUEST"), Fact("decision", f"{mark}-SECOND-DECISION")),
            *_all("file", f"docs/{name}_standard.md", f"{name}_notes.md"),
        ]
    if tool == "TodoWrite":
        work.todos((old, "pending"))
        work.todos((old, "completed"), (one, "in_progress"), (two, "pending"), (three, "pending"))
    else:
        work.task("1", old, "completed")
        work.task("2", one, "in_progress")
        work.task("3", two)
        work.task("4", three)
    opened = _all("open to-do", f"[ ] {one} (in progress)", f"[ ] {two}", f"[ ] {three}")
    return [*opened, Fact("finished to-do", "(1 completed)")]


def _fails(work: Worked, command: str, test: str) -> None:
    output = f"FFF.\nE   assert 1 == 2\nFAILED tests/test_parser.py::{test} - assert 1 == 2\n1 failed in 0.1s"
    work.run(f"pytest -q {command}", output, failed=True)


def _all(kind: str, *needles: str) -> list[Fact]:
    return [Fact(kind, needle) for needle in needles]


def _name(mark: str) -> str:
    """Return a mark as it is spelled in the names of files and tests."""
    return mark.lower().replace("-", "_")


def _id(mark: str, number: int) -> str:
    """Return an agent's id as the client makes them: `a` and 16 hexadecimal digits."""
    return f"a{uuid.uuid5(uuid.NAMESPACE_OID, f'{mark}:{number}').hex[:16]}"


def _job(mark: str) -> str:
    """Return the id of a background command: `b` and eight hexadecimal digits."""
    return f"b{_id(mark, 0)[1:9]}"
