"""Which session gets which workflow, whatever happens to sessions: each row is a scene of events and commands.

A scene is a list of steps, `WHO VERB WORDS -> EXPECTED`: a session A to F, or `person` for a terminal, or `all` for
nobody in particular; a method of `Scene`; its arguments; and what the step must bring. A minute passes after each step.
A compaction brings `FULL + LINE + LINE`: the workflow restored in full, then those named in a line; `-` is nothing.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.testkit.agent import Agent as Launch
from tests import processes
from tests.commandline import holdfast
from tests.signals import Agent
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired, HoldfastProject
    from tests.processes import Ended

TRANSCRIPTS = Path(__file__).parents[1] / "sessions" / "transcripts"
RECORDED = {"worked": "worked-2.1.329-tasks", "fork": "fork-2.1.329", "clear": "clear-2.1.329"}
OTHERS = "Other workflows of this project:\n"


def session_id(letter: str) -> str:
    """Return the id of session A, B, …; each begins with other characters."""
    return "11111111-1111-4111-8111-111111111111".replace("1", str("ABCDEF".index(letter) + 1))


def named(text: str) -> str:
    """Return the titles at the beginnings of lines."""
    return ", ".join(re.findall(r'^"(.*?)" \(', text, re.MULTILINE)) or "-"


class Scene:
    """A project in which sessions come and go; each method is a verb of the scenes below."""

    def __init__(self, project: HoldfastProject, patch: pytest.MonkeyPatch) -> None:
        self.project, self.patch = project, patch
        self.now = datetime(2026, 3, 1, 9, tzinfo=UTC)
        self.transcripts: dict[str, str] = {}
        self.wait("0")

    def play(self, scene: str) -> list[str]:
        """Play a scene; return what each step that expects something brought instead."""
        differences = []
        for step in filter(None, (each.strip() for each in scene.split(";"))):
            deed, _, expected = (part.strip() for part in step.partition("->"))
            who, verb, *rest = deed.split(" ", 2)
            found = getattr(self, verb)(*([] if who == "all" else [who]), *rest)
            self.wait("1")
            if expected and found != expected:
                differences.append(f"{deed}: {expected!r} was expected, not {found!r}")
        return differences

    def wait(self, minutes: str) -> None:
        self.now += timedelta(minutes=float(minutes))
        self.patch.setenv("HOLDFAST_NOW", self.now.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def branch(self, name: str) -> None:
        self.project.write({".git/HEAD": f"ref: refs/heads/{name}\n"})

    def fire(self, who: str, recorded: str, **changes: str) -> Fired:
        path = self.transcripts.get(who, "")
        event = recorded.partition("-")[0]
        return self.project.fire(event, recorded, session_id=session_id(who), transcript_path=path, **changes)

    def run(self, who: str, *command: str) -> str:
        """Run a command in a session's shell, or in a terminal; what it refuses is "refused"."""
        said = holdfast(*command, root=self.project.root, session="" if who == "person" else session_id(who), code=None)
        return "refused" if said.code else "done"

    def writes(self, who: str, name: str) -> None:
        """Have a session write into a transcript that a client recorded."""
        self.transcripts[who] = str(TRANSCRIPTS / f"{RECORDED[name]}.jsonl")

    def starts(self, who: str, title: str) -> str:
        return self.run(who, "start", title, "--phase", "One", "--phase", "Two")

    def starts_paused(self, who: str, title: str) -> None:
        self.run(who, "start", title, "--format", "wfs", "--phase", "One")
        self.run(who, "cancel")

    def current(self, who: str) -> str:
        """Show the workflow that a command without a name is about."""
        said = holdfast(
            "status", "--json", root=self.project.root, session="" if who == "person" else session_id(who), code=None
        )
        current = said.json["current"]
        return str(current["title"]) if current else "refused"

    def moves(self, who: str, title: str = "") -> str:
        return self.run(who, "done", *filter(None, [title]))

    def completes(self, who: str, title: str) -> str:
        return self.run(who, "done", title, "--all")

    def takes(self, who: str, title: str) -> str:
        return self.run(who, "claim", title)

    def gives(self, who: str, title: str) -> str:
        """Have a person give a workflow to a session."""
        return self.run("person", "claim", title, "--session", session_id(who))

    def takes_anyway(self, who: str, title: str) -> str:
        return self.run(who, "resume", title, "--anyway")

    def gives_anyway(self, who: str, title: str) -> str:
        return self.run("person", "claim", title, "--session", session_id(who), "--anyway")

    def begins(self, who: str, how: str = "startup") -> str:
        """Begin, resume or clear a session: the workflow of which it is told."""
        text = self.fire(who, f"SessionStart-{how}").context
        return (
            self.restored(text)
            if "RESTORED" in text
            else ", ".join(re.findall(r'^"(.*?)" \(', text, re.MULTILINE)) or "-"
        )

    def prompts(self, who: str) -> str:
        """Give a prompt: the workflows of which the session's model is told."""
        return named(self.fire(who, "UserPromptSubmit", prompt="Go on.").context)

    def ends(self, who: str, why: str = "other") -> None:
        self.fire(who, f"SessionEnd-{why}")

    def saves(self, who: str) -> str:
        """Announce a compaction: the workflows that the summary is to keep."""
        return named(self.fire(who, "PreCompact-auto").stdout)

    def restores(self, who: str) -> str:
        """Come out of a compaction: the workflow in full, and those in a line; or how many were refused."""
        return self.restored(self.fire(who, "SessionStart-compact").context)

    def restored(self, text: str) -> str:
        if refused := re.search(r"restored no workflow: (\d+) here", text):
            return f"{refused[1]} refused"
        full = re.findall(r"^Workflow: (.*)$", text, re.MULTILINE)
        lines = re.findall(r'^- "(.*?)" \(', text.partition(OTHERS)[2], re.MULTILINE)
        return " + ".join([*full, *lines]) or "-"

    def owner(self, title: str) -> str:
        rows = json.loads(holdfast("status", "--json", root=self.project.root).out)["workflows"]
        owner = next(each["owner"] for each in rows if each["title"] == title)
        return "ABCDEF"[int(owner[0]) - 1] if owner else "nobody"


BOTH = "A begins; B begins; A starts Mine; B starts Theirs;"
SCENES = {
    "a session gets what it started": f"{BOTH} all owner Mine -> A; A restores -> Mine; A restores -> Mine",
    "what it saved goes before a newer one": "person starts Had; A saves -> Had; person starts Newer;"
    " A restores -> Had + Newer",
    "compactions of two sessions interleave": f"{BOTH} A saves -> Mine; B saves -> Theirs; B restores -> Theirs;"
    " A restores -> Mine; B restores -> Theirs",
    "a session alone gets all in a line each": "person starts Old; person starts New; A restores -> New + Old",
    "the newest of a session's own is in full": "B begins; A starts Old; A starts New; A restores -> New + Old",
    "its own goes before a newer one of nobody": "A starts Mine; person starts Free; A saves -> Mine, Free;"
    " A restores -> Mine + Free; all owner Free -> nobody",
    "its own goes before one of nobody beside another": "B begins; A starts Mine; person starts Free; A saves -> Mine;"
    " A restores -> Mine",
    "a terminal gives nobody a workflow": "A begins; B begins; person starts Free; person moves Free;"
    " all owner Free -> nobody; A restores -> 1 refused; A saves -> -",
    "a session that moves what is nobody's has it": "A begins; B begins; person starts Free; A moves Free;"
    " all owner Free -> A; A restores -> Free; B restores -> -",
    "beside another it moves nothing unnamed": "A begins; B begins; B starts Theirs; A moves -> refused;"
    " all owner Theirs -> B",
    "one that moves another's by name has it": "A begins; B begins; B starts Theirs; A moves Theirs;"
    " all owner Theirs -> A; B restores -> -",
    "what the session before left goes to who is alone": "B begins; B starts Theirs; B ends; A restores -> Theirs;"
    " all owner Theirs -> A",
    "an hour of silence ends a session": "B begins; B starts Theirs; all wait 62; A restores -> Theirs",
    "less than an hour does not": "B begins; B starts Theirs; all wait 57; A restores -> -",
    "a prompt shows that a session lives": "B begins; B starts Theirs; all wait 50; B prompts; all wait 50;"
    " A restores -> -",
    "a session that ended and is resumed lives": "B begins; B starts Theirs; B ends; B begins resume; A restores -> -",
    "the next of two live sessions isn't guessed": "C begins; C starts Orphan; C ends; A begins; B begins;"
    " A restores -> 1 refused; B restores -> 1 refused; A takes Orphan; A restores -> Orphan; B restores -> -",
    "a new id is found by what was saved": f"{BOTH} A saves -> Mine; C restores -> Mine; all owner Mine -> C;"
    " B restores -> Theirs",
    "also after it was saved twice": f"{BOTH} A saves; A saves -> Mine; C restores -> Mine; B restores -> Theirs",
    "the end of the old id is not the session's": "A begins; A starts Mine; A saves; C restores -> Mine; A ends;"
    " B restores -> -; C restores -> Mine",
    "the old id is no other session": "A starts Mine; person starts Second; A saves; C restores -> Mine + Second",
    "a snapshot restores once": f"{BOTH} A saves -> Mine; C restores -> Mine; D restores -> -",
    "a restore that nobody got is given again": f"{BOTH} A saves; C restores -> Mine; C restores -> Mine",
    "of two saved it isn't guessed which one has a new id": f"{BOTH} A saves; B saves; C restores -> -;"
    " A restores -> Mine; B restores -> Theirs",
    "a restored one stands in nobody's way": f"{BOTH} A saves; B saves; B restores -> Theirs; C restores -> Mine",
    "a known session takes no other's snapshot": f"{BOTH} C begins; A saves -> Mine; C restores -> -;"
    " A restores -> Mine",
    "a session keeps what it saved for days": "A begins; A starts Mine; A saves -> Mine; all wait 4000;"
    " A restores -> Mine",
    "a new session takes a snapshot for a day": f"{BOTH} A saves -> Mine; all wait 1435; B prompts; C restores -> Mine",
    "and no longer": f"{BOTH} A saves -> Mine; all wait 1445; B prompts; C restores -> 1 refused",
    "what was given away since it was saved stays away": f"{BOTH} A saves; B gives_anyway Mine; A restores -> -;"
    " B restores -> Theirs + Mine",
    "a live session's workflow isn't given away unasked": f"{BOTH} B gives Mine; all owner Mine -> A;"
    " B gives_anyway Mine; all owner Mine -> B",
    "what it was given is told once": f"{BOTH} A gives_anyway Theirs; A prompts -> Theirs; A prompts -> -;"
    " B prompts -> Theirs",
    "what is over by then isn't told": "A begins; B begins; person starts Free; B gives Free; person completes Free;"
    " B prompts -> -",
    "a person can't set it free": f"{BOTH} person takes_anyway Mine; all owner Mine -> A; B restores -> Theirs",
    "a finished workflow isn't restored": "A begins; A starts Mine; A saves -> Mine; A completes Mine; A restores -> -",
    "after a week only a line is left": "A begins; person starts Old; all wait 10100; A starts New;"
    " A restores -> New + Old",
    "and alone nothing": "A begins; person starts Old; all wait 10100; A restores -> -; A saves -> -",
    "its own is restored after a week": "A begins; A starts Mine; all wait 10100; A restores -> Mine",
    "without a name a command is about the session's own": f"{BOTH} A current -> Mine; B current -> Theirs;"
    " C current -> refused",
    "what is paused gives way to what isn't": "A starts_paused Paused; A current -> Paused; A starts Open;"
    " A current -> Open; A restores -> Open + Paused",
    "for a person, too": "person starts_paused Paused; person current -> Paused; person starts Open;"
    " person current -> Open",
    "a session is told of what it could go on with": "A starts Mine; A ends; B begins -> Mine",
    "and not of another live session's": "A begins; A starts Mine; B begins -> -",
    "it hears of it once": "person starts Free; A begins -> Free; A begins resume -> -",
    "after /clear the same process is told again": "A begins; A starts Mine; A ends clear; A begins clear -> Mine;"
    " all owner Mine -> A",
    "the branch decides between what others left": "all branch one; A begins; A starts First; all branch two;"
    " A starts Second; A ends; all branch one; B restores -> First + Second",
    "on a third branch the newest counts": "all branch one; A begins; A starts First; all branch two;"
    " A starts Second; A ends; all branch three; B restores -> Second + First",
    "its own is restored on any branch": "all branch one; A begins; A starts Mine; all branch two; B starts Theirs;"
    " B ends; A restores -> Mine + Theirs",
    "a new id is found by its transcript": "A writes worked; A begins; A starts Mine; C begins; C starts Theirs;"
    " B writes fork; B restores -> Mine; all owner Mine -> B; C restores -> Theirs",
    "one transcript is one session": "A writes clear; A begins; A starts Mine; C begins; B writes clear;"
    " B restores -> Mine",
    "another transcript proves nothing": "A writes worked; A begins; A starts Mine; B writes clear; B restores -> -",
    "a fork beside its live original gets nothing": "A writes worked; A begins; A starts Mine; B writes fork; B begins;"
    " A prompts; B restores -> -; A restores -> Mine",
}


@each_row("name", SCENES, ids=str)
def test_workflow_goes_to_the_session_it_belongs_to(
    holdfast_project: Callable[[], HoldfastProject], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each scene: what every session is told to keep, gets back, is refused, and owns afterwards."""
    (tmp_path / ".claude").mkdir()
    scene = Scene(type(holdfast_project())(tmp_path), monkeypatch)
    assert scene.play(SCENES[name]) == []


def test_agents_stay_with_a_session_whose_id_changes_twice(
    holdfast_project: Callable[[], HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they report counts under whichever of its ids the client sends it, and for nobody else."""
    scene = Scene(holdfast_project(), monkeypatch)
    assert scene.play("A begins; B begins; A starts Mine") == []
    late, early = (Agent(scene.project, each, number=n, session=session_id("A")) for n, each in enumerate("xy", 1))
    for agent in (late, early):
        agent.about_to()
        agent.started()
        agent.launched()
    assert scene.play("A saves -> Mine") == []
    early.stopped("The first part is reviewed.")
    first = scene.fire("C", "SessionStart-compact").context
    assert f"({early.run}) has finished" in first
    assert f"{late.run}) has" not in first

    late.stopped("The rest is reviewed.")  # under the id of two compactions ago
    assert scene.play("C saves -> Mine") == []
    second = scene.fire("D", "SessionStart-compact").context
    for agent, words in ((early, "The first part is reviewed."), (late, "The rest is reviewed.")):
        assert f"({agent.run}) has finished; its result is still unused" in second
        assert words in second
    assert late.run not in scene.fire("B", "SessionStart-compact").context


@pytest.mark.slow
def test_after_clear_a_running_agent_goes_on_and_an_ended_one_may_run_again(tmp_path: Path) -> None:
    """A person starts over in the same process, under another id: only the launch of what runs is refused."""
    place = processes.make(tmp_path)
    (place.home / ".config/holdfast/holdfast.toml").unlink()
    environ = place.environ(CLAUDE_PID=str(os.getpid()))

    def fire(who: str, name: str, **changes: Any) -> Ended:
        payload = place.payload(name, session_id=session_id(who), **changes)
        return place.fire(payload, environ=environ)

    def calls(who: str, begins: str, number: int) -> list[Launch[Ended]]:
        fire(who, f"SessionStart-{begins}")
        fire(who, "UserPromptSubmit", prompt="Do it.", prompt_id=who)
        asked = [{"description": each, "prompt": each, "subagent_type": "builder"} for each in ("Design", "Look")]
        send = partial(fire, who)
        return [Launch(send, send, each, f"a{n}", f"toolu_{n}") for n, each in enumerate(asked, number)]

    running, ended = calls("A", "startup", 1)
    for each in (running, ended):
        each.arguments["run_in_background"] = True  # type: ignore[index]
        each.about_to()
        each.launched()
        each.started()
    ended.stopped("There is nothing to see.")
    fire("A", "SessionEnd-clear")

    same, again = calls("B", "clear", 11)
    assert "is running already: builder a1" in same.about_to().specific.get("permissionDecisionReason", "")
    assert "permissionDecision" not in again.about_to().specific


def test_a_script_that_never_ran_is_launched(holdfast_project: Callable[[], HoldfastProject], tmp_path: Path) -> None:
    """Nothing is said of it, by no handler."""
    (tmp_path / "session.jsonl").touch()
    asked = {"script": "export const meta = {name: 'review', description: 'x'}\nawait agent('Look at it.')\n"}
    project = holdfast_project()
    path = str(tmp_path / "session.jsonl")
    fired = project.fire("PreToolUse", tool_name="Workflow", tool_input=asked, tool_use_id="t1", transcript_path=path)
    assert (fired.stdout, fired.faults) == ("", [])
