"""The row of agents at work: what a compaction and a crash leave of them, and that none runs twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.testkit import reply

if TYPE_CHECKING:
    from holdfast.testkit.agent import Agent
    from holdfast.testkit.reply import Heard
    from tools.survival.conversation import Conversation
    from tools.survival.scene import Scene

_RUN = "wf_0a1b2c3d-4e5"
_SCRIPT = (
    "export const meta = {name: 'sweep', description: 'x', phases: [{title: 'Work'}]}\nreturn await agent('One')\n"
)
_TOOL = "PreToolUse-Bash"  # recorded of another tool; the fields that tell which one are set


class _Fleet(NamedTuple):
    """The agents of a row.

    Attributes:
        running: runs in the background of the judged session.
        cut: was interrupted with an earlier session.
        script: the words about a script's run that was interrupted with it.
    """

    running: Agent[Heard]
    cut: Agent[Heard]
    script: tuple[str, ...]


def agents(scene: Scene) -> None:
    """Agents: some run, some were cut off by a crash, some have finished unused; what is launched again is known.

    Every second compaction changes the session's id, and so does `/clear` at the end, after which one still runs. A
    fork beside the living session has what was finished before it, and the other's running agents aren't its own.
    """
    client, planted = scene.begin()
    fleet = _plant(scene, client)
    for number in range(scene.cycles):
        scene.advance(client, planted, number, scene.cycles)
        words, used = scene.word("report"), scene.word("used")
        done = finished(client, "finder", words)
        client.delegates("reader", "Read it", used)
        heard = len(client.told)
        scene.compact(client, planted, renamed=number % 2 == 1)
        told = "".join(each.text for each in client.told[heard:])
        known = (done.run, words, fleet.cut.run, *fleet.script)
        for each in known:
            scene.found.note(each not in told, f"nothing was said of {each} after compaction {number + 1}")
        scene.found.note('(launched for "Read it"); transcript: ' not in told, "a finished agent wasn't named")
        scene.found.note(used in told, f"{used} was told again, which was used before compaction {number + 1}")
        again(scene, client, done, words)
        again(scene, client, fleet.running, "running already")
        again(scene, client, fleet.cut, f"SendMessage with to: '{fleet.cut.run}'")
        given = _launch(client, f"toolu_script_{number}").changed_input
        scene.found.note(given.get("resumeFromRunId") != _RUN, f"the script would have run all of its agents: {given}")
    scene.found.note(_carried(client).count('"result":') != 2, "the script's results weren't carried on")
    _forked(scene, client, fleet)
    client.ends("clear")
    client.becomes(scene.session())
    client.starts("clear")
    client.asks()
    scene.found.note(fleet.running.run not in client.told[-1].text, "nothing was said of a running agent after /clear")
    again(scene, client, fleet.running, "running already")


def _forked(scene: Scene, client: Conversation, fleet: _Fleet) -> None:
    """Fork the session, which goes on beside its fork; another agent finishes before that, and one after it."""
    words, later = scene.word("report"), scene.word("report")
    done = finished(client, "finder", words)
    heir = scene.fork(client)
    heir.asks()
    new = finished(client, "finder", later)
    again(scene, heir, done, words)
    for agent, what in ((fleet.running, "an agent that runs in the session it comes from"), (new, "a later agent")):
        scene.found.note(bool(_refusals(heir, agent)), f"the fork wasn't allowed to start {what}")
    scene.kill(heir.process)


def _plant(scene: Scene, client: Conversation) -> _Fleet:
    """Launch an agent that goes on running, and let a session crash with an agent and a script at work."""
    earlier = scene.client()
    earlier.starts()
    earlier.asks("Look around.")
    cut = _launched(earlier, "walker")
    _write(earlier, f"agent-{cut.run}.jsonl", {"type": "user", "message": {"role": "user", "content": _prompt(cut)}})
    _launch(earlier, "toolu_script")
    folder = earlier.transcript.path.with_suffix("") / "subagents" / "workflows" / _RUN
    for number in range(3):
        about = {"key": f"v2:{number:064x}", "agentId": f"a{number:016x}"}
        _write(earlier, f"workflows/{_RUN}/journal.jsonl", {"type": "started", **about})
        if number < 2:
            _write(earlier, f"workflows/{_RUN}/journal.jsonl", {"type": "result", **about, "result": f"Part {number}"})
    response = {"status": "async_launched", "taskId": "wsweep", "workflowName": "sweep", "runId": _RUN}
    response |= {"transcriptDir": str(folder), "scriptPath": str(folder / "sweep.js")}
    earlier.fire("PostToolUse-Bash", **_call("toolu_script"), tool_response=response)
    scene.kill(earlier.process)
    running = _launched(client, "watcher")
    client.agents.append(running.run)
    return _Fleet(running, cut, (_RUN, "2 of 3 agents finished"))


def _launched(client: Conversation, kind: str) -> Agent[Heard]:
    """Launch an agent in the background."""
    made = client.agent(kind, f"{kind} of it", f"Be the {kind}.", background=True)
    made.about_to()
    made.launched()
    made.started()
    return made


def finished(client: Conversation, kind: str, words: str) -> Agent[Heard]:
    """Let an agent in the background end, and its result not reach the conversation before the compaction."""
    made = client.agent(kind, f"{kind} of {words}", f"Find {words}.", background=True)
    made.about_to()
    made.launched()
    made.started()
    made.stopped(f"The answer is {words}.")
    return made


def again(scene: Scene, client: Conversation, agent: Agent[Heard], why: str) -> None:
    """Launch an agent again, which must be refused for a reason with these words."""
    reasons = _refusals(client, agent)
    scene.found.note(not any(why in each for each in reasons), f"{agent.run} would have run twice; {why} was not said")


def _refusals(client: Conversation, agent: Agent[Heard]) -> list[str]:
    """Launch an agent again and return why that was refused; nothing if it was not."""
    repeated = client.agent("", "", "", background=True)
    heard = repeated.fire("PreToolUse-Agent-background", **agent.call | {"tool_use_id": repeated.use})
    specific = [reply.specific(hook.stdout) for hook in heard.hooks]
    return [str(each["permissionDecisionReason"]) for each in specific if each.get("permissionDecision") == "deny"]


def _launch(client: Conversation, use: str) -> Heard:
    """Send PreToolUse for the script."""
    return client.fire(_TOOL, **_call(use))


def _call(use: str) -> dict[str, Any]:
    return {"tool_name": "Workflow", "tool_input": {"script": _SCRIPT}, "tool_use_id": use}


def _prompt(agent: Agent[Heard]) -> str:
    return str(agent.arguments["prompt"])


def _write(client: Conversation, name: str, line: dict[str, Any]) -> None:
    """Add a line to one of the client's own files about a session's agents."""
    file = client.transcript.path.with_suffix("") / "subagents" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def _carried(client: Conversation) -> str:
    file = client.transcript.path.with_suffix("") / "subagents" / "workflows" / _RUN / "journal.jsonl"
    return file.read_text("utf-8") if file.exists() else ""
