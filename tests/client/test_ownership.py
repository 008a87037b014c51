"""Whose workflow it is: each compaction restores it to its owner, and nothing to anyone else."""

from __future__ import annotations

import os
import shlex
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.process import liveness
from tests.client.model import bash, say
from tests.client.terminal import TMUX, Terminal
from tests.client.test_compaction import HEADING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.client.runner import Session
    from tests.client.world import World

TITLE = "Title-canary-4711"
START = ("start", TITLE, "--phase", "Design", "--phase", "Build")
BUSY = "esc to interrupt"
OFFER = "Unfinished workflow in this project."
LOST = "Another session continues this workflow now."
REFUSED = "could belong to another live session"


class People:
    """Sessions that a person sits at, each in a terminal of its own, and jobs that nobody sits at."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._terminals: dict[str, Terminal] = {}
        self._jobs: dict[str, Session] = {}
        self._processes: dict[str, int] = {}

    def open(self, name: str, *arguments: str, elsewhere: bool = False) -> None:
        """Start `claude` in a terminal; `elsewhere` in another project."""
        client = self.world.client
        if elsewhere:
            client = replace(client, project=client.project.with_name("other"))
            client.prepare()
        known = self.world.session_ids
        there = self._terminals[name] = Terminal(client, *arguments)
        there.until(lambda: self.world.session_ids > known)
        (row,) = (row for row in self.world.rows("conversations") if row["id"] not in known)
        self._processes[name] = int(row["process"].split(" ")[-2])
        there.until(lambda: "❯" in there.screen and BUSY not in there.screen)

    def job(self, name: str) -> None:
        """Start `claude -p`, which a program sends its prompts."""
        self._jobs[name] = self.world.client.session()

    def start(self) -> None:
        """Start a workflow in a plain terminal."""
        self.world.holdfast(*START)

    def ask(self, name: str, text: str, *commands: str) -> str:
        """Send a prompt, upon which the model runs commands; return what the model was told in this conversation."""
        prompt = f"{name}: {text}"
        self.world.model.turns = [*map(bash, commands), say("Done.")]
        if job := self._jobs.get(name):
            job.prompt(prompt)
        else:
            there = self._terminals[name]
            there.prompt(prompt)
            there.until(lambda: any(prompt in each.text for each in self.world.model.of("main")))
            there.until(lambda: not self.world.model.turns and BUSY not in there.screen)
        return next(each.text for each in reversed(self.world.model.of("main")) if prompt in each.text)

    def slash(self, name: str, command: str, met: Callable[[], object]) -> None:
        """Type a slash command and wait for what it does."""
        there = self._terminals[name]
        there.prompt(command)
        there.until(met)
        there.until(lambda: BUSY not in there.screen)

    def compact(self, name: str) -> str:
        """Compact a session and return what its model is told afterwards."""
        self.ask(name, "work")
        before = len(self.world.model.of("summary"))
        if job := self._jobs.get(name):
            job.prompt("/compact")
        else:
            self.slash(name, "/compact", lambda: len(self.world.model.of("summary")) > before)
        return self.ask(name, "go on")

    def kill(self, name: str) -> None:
        """End a session as a crash does."""
        os.kill(self._processes[name], signal.SIGKILL)
        self._terminals[name].until(lambda: not liveness.runs(self._processes[name]))

    def close(self) -> None:
        """End all."""
        for each in self._terminals.values():
            each.close()


Fact = tuple[str, bool]


def one_session(people: People) -> Iterator[Fact]:
    """It is open as the workflow is started in a terminal."""
    people.open("A")
    people.start()
    people.ask("A", "hello")
    yield "A is offered it once", people.ask("A", "and?").count(OFFER) == 1
    yield "A gets it back", HEADING in people.compact("A")


def two_sessions(people: People) -> Iterator[Fact]:
    """Both are open, and one acts."""
    people.open("A")
    people.open("B")
    people.start()
    yield "A is offered it", OFFER in people.ask("A", "hello")
    yield "B is offered it", OFFER in people.ask("B", "hello")
    people.ask("A", "continue", "holdfast next")
    yield "B gets nothing", TITLE not in people.compact("B")
    yield "A gets it back", HEADING in people.compact("A")


def three_sessions(people: People) -> Iterator[Fact]:
    """All are open, and none acts."""
    for name in "ABC":
        people.open(name)
    people.start()
    for name in "ABC":
        told = people.compact(name)
        yield f"{name} gets nothing", HEADING not in told
        yield f"{name} is told why", REFUSED in told


def job_beside_a_person(people: People) -> Iterator[Fact]:
    """The workflow was started in a terminal; it is the person's, who needs not even act."""
    people.open("A")
    people.job("J")
    people.start()
    yield "J is not offered it", OFFER not in people.ask("J", "review")
    told = people.compact("J")
    yield "J gets nothing", HEADING not in told and REFUSED in told
    yield "A gets it back", HEADING in people.compact("A")


def owner_killed(people: People) -> Iterator[Fact]:
    """The next session is told, and gets it."""
    people.open("A")
    people.ask("A", "start", shlex.join(("holdfast", *START)))
    people.kill("A")
    people.open("B")
    yield "B is offered it once", people.ask("B", "hello").count(OFFER) == 1
    yield "B gets it back", HEADING in people.compact("B")


def strangers(people: People) -> Iterator[Fact]:
    """The model starts it. One session was there before, one begins later, one is in another project."""
    people.open("A")
    people.open("B")
    people.ask("A", "start", shlex.join(("holdfast", *START)))
    people.open("C")
    people.open("D", elsewhere=True)
    for name in "BCD":
        yield f"{name} hears nothing of it", TITLE not in people.ask(name, "hello")
        yield f"{name} gets nothing", TITLE not in people.compact(name)
    yield "A gets it back", HEADING in people.compact("A")


def started_before(people: People) -> Iterator[Fact]:
    """A terminal start, then plain `claude`; after `/clear` its model is told again."""
    people.start()
    people.open("A")
    told = people.ask("A", "continue", "holdfast next")
    yield "A is offered it once", told.count(OFFER) == 1
    yield "nothing is restored without a compaction", HEADING not in told
    people.open("B")
    yield "B hears nothing of it", TITLE not in people.ask("B", "hello")
    yield "A gets it back", HEADING in people.compact("A")
    known = len(people.world.session_ids)
    people.slash("A", "/clear", lambda: len(people.world.session_ids) > known)
    told = people.ask("A", "where was I?")
    yield "A is told after /clear", OFFER in told and HEADING not in told
    yield "A gets it back again", HEADING in people.compact("A")


def handed_over(people: People) -> Iterator[Fact]:
    """`claude "$(holdfast claim)"` beside its live owner."""
    people.open("A")
    people.ask("A", "start", shlex.join(("holdfast", *START)))
    people.open("B", people.world.holdfast("claim").strip())
    people.ask("A", "hello")
    yield "A is told once", people.ask("A", "and?").count(LOST) == 1
    yield "A gets nothing", HEADING not in people.compact("A")
    yield "B gets it back", people.compact("B").count(HEADING) == 1


CASES = (
    *(one_session, two_sessions, three_sessions, job_beside_a_person, owner_killed, strangers),
    *(started_before, handed_over),
)


@pytest.mark.scenario(14)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_whose_workflow_it_is(world: World, case: Callable[[People], Iterator[Fact]]) -> None:
    """Its owner gets it back after a compaction, and each session is told what it has to know."""
    if world.version == "2.1.197":
        pytest.skip("this client doesn't say whether somebody sits at a session")
    if TMUX is None:
        pytest.skip("needs tmux, for the client's terminal")
    people = People(world)
    try:
        wrong = [what for what, holds in case(people) if not holds]
    finally:
        people.close()
    assert not wrong
    assert not [each for each in world.complaints_after_a_kill if REFUSED not in each]
