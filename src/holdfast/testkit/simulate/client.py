"""One session of the client on the stage: it sends events, writes its transcript, and cuts what hooks say."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.dispatch.budget import units
from holdfast.testkit import recorded
from holdfast.testkit.simulate.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from holdfast.process.trial import Ended
    from holdfast.testkit.simulate.world import Heard, World

CAP = 10_000  # UTF-16 units of a string that pass whole (client fact §1.9)
PREVIEW = 2_000  # characters of a longer one
_PROJECT = "HOLDFAST_PROJECT_DIR"
UNTOLD = (
    f"no handler gave the model's commands {_PROJECT} at SessionStart, so they cannot find the project: one that"
    " replaces restore_workflow has to return environment(...) as that one does"
)


class Told(NamedTuple):
    """A string that reached the model, whole or cut, and the event it came with."""

    event: str
    text: str
    units: int


@dataclass
class Client:
    """A session in a project.

    Attributes:
        world: where.
        root: the project's folder.
        session: the session's id.
        process: the client's process, named to hooks; empty for a client that does not name it.
        keeps_transcript: whether the session has a transcript; a diskless one says `""` for its path.
        told: all that reached the model, in order.
        asides: what reached subagents instead.
        failed: hooks that did not end with 0, and what else failed the session.
        agents: the ids of the agents that run in the background.
        arrives: whether what hooks say reaches the model.
    """

    world: World
    root: Path
    session: str
    process: str
    keeps_transcript: bool = True
    told: list[Told] = field(default_factory=list)
    asides: list[Told] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    arrives: bool = True
    _uses: Iterator[int] = field(default_factory=lambda: count(1))
    _late: list[tuple[str, str, Sequence[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.transcript = Transcript(self.transcript_of(self.session), self.session, str(self.root))
        self.before_compaction: str | None = None
        self.first = self.session
        self._calls: dict[str, tuple[dict[str, str], str]] = {}

    def transcript_of(self, session: str) -> Path:
        """Return where a session's transcript lies."""
        return self.world.home / ".claude" / "projects" / "-project" / f"{session}.jsonl"

    @property
    def environ(self) -> dict[str, str]:
        """What hooks and the Bash tool get from this client."""
        given = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.session}
        return self.world.environ(self.root) | given | ({"CLAUDE_PID": self.process} if self.process else {})

    @property
    def env_file(self) -> Path:
        """What SessionStart leaves for the Bash tool."""
        return self.world.home / f"env-{self.root.name}.sh"

    def payload(self, name: str, **changes: Any) -> dict[str, Any]:
        """Return a recorded payload as if it came from this session."""
        path = str(self.transcript.path) if self.keeps_transcript else ""
        return recorded.load(
            name, **{"session_id": self.session, "cwd": str(self.root), "transcript_path": path, **changes}
        )

    def fire(self, name: str, **changes: Any) -> Heard:
        """Send a recorded event; what it says to the model is noted."""
        heard = self.world.fire(self.payload(name, **changes), self.environ, self.env_file)
        self.hear(heard, name.partition("-")[2])
        return heard

    def fire_aside(self, name: str, **changes: Any) -> None:
        """Send an event of a subagent, marked as one or not: what it says reaches the subagent."""
        heard = self.world.fire(self.payload(name, **changes), self.environ, self.env_file)
        self.hear(heard, aside=True)

    def hear(self, heard: Heard, source: str = "", *, aside: bool = False) -> None:
        """Take in what was said to an event."""
        self.failed += [f"{heard.event} ended with {code}" for code in heard.codes if code != 0]
        if not self.arrives:
            return
        texts = [as_delivered(text) for text in heard.told]
        (self.asides if aside else self.told).extend(
            Told(heard.event, text, units(whole)) for text, whole in zip(texts, heard.told, strict=True)
        )
        if texts and not aside:
            self._late.append((heard.event, source, texts))

    def cli(self, *arguments: str) -> Ended:
        """Run the command line as the model's Bash tool does.

        Where no hook told it the project, that is noted once, and the stage tells it, so that the rest can be judged.
        """
        known = self.env_file.is_file() and _PROJECT in self.env_file.read_text("utf-8", "replace")
        if not known and UNTOLD not in self.failed:
            self.failed.append(UNTOLD)
        return self.world.command_line(arguments, self.environ, self.env_file if known else None)

    def starts(self, source: str = "startup") -> Heard:
        """SessionStart."""
        return self.fire(f"SessionStart-{source}")

    def asks(self, words: str = "Go on.") -> Heard:
        """The user's prompt."""
        heard = self.fire("UserPromptSubmit", prompt=words)
        if self.keeps_transcript:
            self.transcript.asked(words)
        self._write_late()
        return heard

    def rests(self, words: str = "Done so far.") -> Heard:
        """The model answers and its turn is over."""
        if self.keeps_transcript:
            self.transcript.answered(words)
        listed = [{"id": agent, "type": "subagent", "status": "running", "description": "x"} for agent in self.agents]
        return self.fire("Stop", last_assistant_message=words, background_tasks=listed)

    def ends(self, reason: str = "other") -> Heard:
        """SessionEnd."""
        return self.fire(f"SessionEnd-{reason}")

    def precompact(self, trigger: str = "auto") -> Heard:
        """PreCompact; from here on nothing is added to the conversation before the compaction."""
        self.before_compaction = self.transcript.last
        return self.fire(f"PreCompact-{trigger}")

    def summarised(self, summary: str) -> Heard:
        """The compaction's own agent has written its summary."""
        return self.fire("SubagentStop-compaction", last_assistant_message=summary)

    def restarted(self) -> Heard:
        """SessionStart(compact)."""
        self.before_compaction = self.before_compaction or self.transcript.last
        return self.fire("SessionStart-compact")

    def postcompacted(self, summary: str, trigger: str = "auto") -> Heard:
        """PostCompact."""
        return self.fire(f"PostCompact-{trigger}", compact_summary=summary)

    def goes_on(self, summary: str, trigger: str = "auto") -> None:
        """The client writes down the compaction and what hooks said; the model answers; the user asks again."""
        self.writes_down(summary, trigger)
        self.asks()

    def writes_down(self, summary: str, trigger: str = "auto") -> None:
        """The client writes down the compaction and what hooks said; the model answers, and its turn is over."""
        if self.keeps_transcript:
            self.transcript.compacted(trigger, summary, self.before_compaction)
        self._write_late()
        self.before_compaction = None
        self.rests()

    def becomes(self, session: str, *, forked: bool = False) -> None:
        """The compaction changes the session's id.

        The new transcript names the old one's last entry once the compaction is written down; `forked`, it begins as a
        copy of the old one.
        """
        self.before_compaction = self.transcript.last
        self.session = session
        path = self.transcript_of(session)
        self.transcript = self.transcript.forked(path, session) if forked else Transcript(path, session, str(self.root))

    def launches(self, name: str, prompt: str = "Look.") -> str:
        """Launch an agent in the background; return its id."""
        agent, use = self._call()
        call = {"description": "side work", "prompt": prompt, "subagent_type": name, "run_in_background": True}
        self.fire("PreToolUse-Agent-background", tool_input=call, tool_use_id=use)
        response = recorded.load("PostToolUse-Agent-background")["tool_response"]
        response |= {
            "agentId": agent,
            "description": "side work",
            "prompt": prompt,
            "outputFile": f"/tmp/{agent}.output",
        }
        self.fire("PostToolUse-Agent-background", tool_input=call, tool_response=response, tool_use_id=use)
        self.fire_aside("SubagentStart", agent_id=agent, agent_type=name)
        self.agents.append(agent)
        return agent

    def delegates(self, name: str, prompt: str, report: str) -> None:
        """Have a foreground agent do something and return."""
        self.ends_agent(self.begins_agent(name, prompt), name, report)

    def begins_agent(self, name: str, prompt: str) -> str:
        """Launch an agent and wait for it; return its id."""
        agent, use = self._call()
        self._calls[agent] = {"description": prompt, "prompt": prompt, "subagent_type": name}, use
        self.fire("PreToolUse-Agent", tool_input=self._calls[agent][0], tool_use_id=use)
        self.fire_aside("SubagentStart", agent_id=agent, agent_type=name)
        return agent

    def ends_agent(self, agent: str, name: str, report: str) -> None:
        """The agent that was waited for returns."""
        call, use = self._calls.pop(agent)
        self.fire_aside("SubagentStop", agent_id=agent, agent_type=name, last_assistant_message=report)
        response = recorded.load("PostToolUse-Agent")["tool_response"]
        said = {"agentId": agent, "agentType": name, "content": [{"type": "text", "text": report}]}
        response |= {**said, "prompt": call["prompt"]}
        self.fire("PostToolUse-Agent", tool_input=call, tool_response=response, tool_use_id=use)

    def _call(self) -> tuple[str, str]:
        number = next(self._uses)
        made = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.first}:{number}").hex
        return f"a{made[:16]}", f"toolu_{made[8:32]}"

    def _write_late(self) -> None:
        """Write down what hooks said: the client does that only after they were answered (client-rig)."""
        if self.keeps_transcript:
            for event, source, texts in self._late:
                self.transcript.told(event, source, texts)
        self._late.clear()


def as_delivered(text: str) -> str:
    """Return a string as the client hands it to the model: whole, or a preview of it (client fact §1.9)."""
    if units(text) <= CAP:
        return text
    head = text[:PREVIEW]
    cut = head.rfind("\n")
    head = head[:cut] if cut > PREVIEW // 2 else head
    lead = "Output too large. Full output saved to a file\n\nPreview (first 2KB):"
    return f"<persisted-output>\n{lead}\n{head}\n...\n</persisted-output>"
