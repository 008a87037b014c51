"""Scripts that are cut off again and again on the real client: how many finished agents run again.

After each cut, the client alone resumes a copy of the same state, with the run named. The seed is fixed. Agents answer
at once, up to a random number of them; the others get no answer until the client is killed.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.runner import Client
from tests.client.test_script_runs import SKIP, Fleet, finished, fleet, launch
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.model import Reply, Request
    from tests.client.world import World

__all__ = ["fleet"]

SEED = 44
AT_ONCE = 2  # agents that the client runs at a time
HEAD = "export const meta = {name: 'cut', description: 'cut off', phases: [{title: 'Work'}]}\n"
KINDS = {
    "parallel": "return await parallel(ITEMS.map(i => () => agent('AGENT-' + i + ' do item')))\n",
    "sequence": "const r = []\nfor (const i of ITEMS) r.push(await agent('AGENT-' + i + ' do item'))\nreturn r\n",
    "pipeline": "return await pipeline(ITEMS, i => agent('AGENT-' + i + 'a do item'),\n"
    "  (r, i) => agent('AGENT-' + i + 'b do item after ' + r),\n"
    "  (r, i) => agent('AGENT-' + i + 'c do item after ' + r))\n",
}
SESSIONS = ("new", "--resume", "--continue", "--fork-session")
WAYS = random.Random(SEED).sample([*itertools.product(SESSIONS, ("script", "scriptPath", "name"), (True, False))], 24)
"""How the next session begins, how the script is launched in it, and whether the call names the run."""


class Cuts:
    """A script that is cut off again and again.

    Attributes:
        fleet: answers for its agents.
        again: how many finished agents ran again after each cut, with Holdfast and with the client alone.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.again = fleet, list[tuple[int, int]]()
        fleet.world.client.extra = {"CLAUDE_CODE_WORKFLOW_MAX_CONCURRENT_AGENTS": str(AT_ONCE)}
        fleet.world.model.fleet = self._answer
        self._left, self._held, self._answered = 0, 0, set[str]()
        self._lock = threading.Lock()

    def _answer(self, request: Request) -> Reply | None:
        reply = self.fleet.answer(request)
        if reply is None:
            return None
        name = str(reply.content[0]["text"]).split("-")[1]
        with self._lock:
            if self._left:
                self._left -= 1
                self._answered.add(name)
                return reply
            self._held += 1
        return replace(reply, held=threading.Event())

    def run(self, world: World, most: int, waiting: int, *arguments: str, **given: Any) -> int:
        """Run the script until so many agents have answered and others wait; then kill the client.

        Return how many agents asked that had finished before.
        """
        before = finished(world)
        self._left, self._held, self._answered = most, 0, set()
        self.fleet.again()
        session = world.client.session(SKIP, *arguments)
        launch(world, session, "Do it.", **given)
        until(lambda: not self._left and self._held >= waiting and self._answered <= finished(world))
        session.kill()
        return sum(number for name, number in self.fleet.again().items() if name in before)

    def alone(self, folder: Path, most: int, waiting: int, script: str) -> int:
        """Let the client alone resume a copy of what the last cut left; return how many finished agents ran again."""
        world, last = self.fleet.world, self.last
        home = folder / f"alone-{len(self.again)}"
        client = Client(world.client.binary, world.model.url, home, world.project, extra=world.client.extra)
        shutil.copytree(world.client.config, client.config)
        (client.config / "settings.json").unlink()  # it has Holdfast's hooks
        client.prepare()
        copied = replace(world, client=client)
        given = {"script": script, "resumeFromRunId": last["run"]}
        ran = self.run(copied, most, waiting, "--resume", last["conversation"], **given)
        client.close()
        return ran

    @property
    def last(self) -> dict[str, Any]:
        """The last run that started."""
        return next(row for row in reversed(self.fleet.world.scripts) if row["run"])

    def cut(self, folder: Path, most: int, waiting: int, script: str, way: tuple[str, str, bool]) -> None:
        """Relaunch the script in one way, and cut it off once more."""
        how, form, named = way
        alone = self.alone(folder, most, waiting, script)
        last, world = self.last, self.fleet.world
        arguments = {"new": (), "--continue": (how,)}.get(how, ("--resume", last["conversation"]))
        if how == "--fork-session":
            arguments = (*arguments, how)
        file = world.project / ".claude" / "workflows" / "cut.js"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script)
        given = {form: {"script": script, "scriptPath": str(file), "name": "cut"}[form]}
        if named:
            given["resumeFromRunId"] = last["run"]
        ran = self.run(world, most, waiting, *arguments, **given)
        self.again.append((ran, alone))


def script(kind: str, items: list[Any]) -> str:
    """Return a script of one kind with an agent, or a line of agents, for each item."""
    return f"{HEAD}const ITEMS = {json.dumps(items)}\n{KINDS[kind]}"


def cut_again_and_again(fleet: Fleet, folder: Path, kind: str, items: int, ways: list[tuple[str, str, bool]]) -> Cuts:
    """Cut an unchanged script off once and after each relaunch, and return what ran again."""
    stages, waiting = 3 if kind == "pipeline" else 1, 1 if kind == "sequence" else AT_ONCE
    ends = sorted(random.Random(SEED).sample(range(1, (items - AT_ONCE) * stages), len(ways) + 1))
    made, text = Cuts(fleet), script(kind, [*range(1, items + 1)])
    made.run(fleet.world, ends[0], waiting, script=text)
    for (before, end), way in zip(itertools.pairwise(ends), ways, strict=True):
        made.cut(folder, end - before, waiting, text, way)
    return made


@pytest.mark.scenario(16)
@pytest.mark.parametrize(
    ("kind", "items", "part"),
    [
        ("parallel", 24, 0),
        pytest.param("sequence", 24, 1, marks=pytest.mark.nightly),
        pytest.param("pipeline", 8, 2, marks=pytest.mark.nightly),
    ],
)
def test_an_unchanged_script(fleet: Fleet, tmp_path: Path, kind: str, items: int, part: int) -> None:
    """No finished agent runs again, however it is launched, in whichever session."""
    made = cut_again_and_again(fleet, tmp_path, kind, items, WAYS[part::3])
    assert not any(ran for ran, _ in made.again), made.again


@pytest.mark.scenario(16)
def test_an_edited_script(fleet: Fleet, tmp_path: Path) -> None:
    """Never more than with the client alone, which serves results up to the first changed call, until one failed."""
    chance, items = random.Random(SEED), [str(number) for number in range(1, 41)]
    made = Cuts(fleet)
    made.run(fleet.world, 20, AT_ONCE, script=script("parallel", items))
    for number in range(5):
        at = chance.randrange(len(items))
        change = chance.choice(("edit", "insert", "append", "swap"))
        if change == "swap":
            items[at], items[-1] = items[-1], items[at]
        else:
            at = len(items) if change == "append" else at
            items[at : at + (change == "edit")] = [f"new{number}"]
        made.cut(tmp_path, chance.randrange(2, 6), AT_ONCE, script("parallel", items), chance.choice(WAYS))
    assert all(ran <= alone for ran, alone in made.again), made.again


@pytest.mark.scenario(16)
def test_a_stage_that_waits_for_its_turn(fleet: Fleet, tmp_path: Path) -> None:
    """It is as with the client alone, whose cache ends there: what finished behind it runs again."""
    made, released, world = Cuts(fleet), threading.Event(), fleet.world

    def answer(request: Request) -> Reply | None:
        reply = fleet.answer(request)
        return replace(reply, held=released) if reply and "AGENT-1a do" in request.text else reply

    text, cutting, world.model.fleet = script("pipeline", [1, 2, 3]), world.model.fleet, answer
    fleet.stuck = {"3b", "2c"}
    session = world.client.session(SKIP)
    launch(world, session, "Do it.", script=text)
    until(lambda: "2b" in finished(world) and fleet.asked["3b"])
    released.set()  # both places are taken before 1b has its turn
    until(lambda: "1a" in finished(world) and fleet.asked["2c"])
    session.kill()
    assert not fleet.asked["1b"]
    fleet.stuck, world.model.fleet = set(), cutting
    made.cut(tmp_path, 4, AT_ONCE, text, ("new", "script", False))
    assert made.again == [(1, 1)]
