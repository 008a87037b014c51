"""A session of the simulated client whose conversation is kept: its transcript, and all that reached the model."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.clients.claude.output_schema import LIMIT_UNITS
from holdfast.dispatch.budget import units
from holdfast.survival.transcript import Transcript
from holdfast.testkit.client import Client

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.process.trial import Ended
    from holdfast.testkit.agent import Agent
    from holdfast.testkit.reply import Heard

PREVIEW_CHARS = 2_000  # characters of a string that is longer than the client's limit
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
class Conversation(Client):
    """A session in a project.

    Attributes:
        keeps_transcript: whether the session has a transcript; a diskless one says `""` for its path.
        told: all that reached the model, in order.
        asides: what reached subagents instead.
        failed: hooks that did not end with 0, and what else failed the session.
        agents: the ids of the agents that run in the background.
        arrives: whether what hooks say reaches the model.
    """

    keeps_transcript: bool = True
    told: list[Told] = field(default_factory=list)
    asides: list[Told] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    arrives: bool = True
    _late: list[tuple[str, str, Sequence[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.transcript = Transcript(self.transcript_of(self.session), self.session, str(self.root))
        self.before_compaction: str | None = None
        self.first = self.session

    def transcript_of(self, session: str) -> Path:
        """Return where a session's transcript lies."""
        return self.home / ".claude" / "projects" / "-project" / f"{session}.jsonl"

    @property
    def transcript_path(self) -> str:
        """Where this session's transcript lies; empty for a diskless one."""
        return str(self.transcript.path) if self.keeps_transcript else ""

    def fire(self, name: str, **changes: Any) -> Heard:
        """Send a recorded event; what it says to the model is noted."""
        heard = super().fire(name, **changes)
        self._hear(heard, name.partition("-")[2])
        return heard

    def fire_aside(self, name: str, **changes: Any) -> Heard:
        """Send an event of a subagent, marked as one or not: what it says reaches the subagent."""
        heard = super().fire(name, **changes)
        self._hear(heard, aside=True)
        return heard

    def _hear(self, heard: Heard, source: str = "", *, aside: bool = False) -> None:
        """Take in what was said to an event."""
        codes = [hook.exit_code for hook in heard.hooks]
        self.failed += [f"{heard.event} ended with {code}" for code in codes if code != 0]
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

        Where no hook told it the project, that is noted once, and it is told here, so that the rest can be judged.
        """
        known = self.env_file.is_file() and _PROJECT in self.env_file.read_text("utf-8", "replace")
        if not known and UNTOLD not in self.failed:
            self.failed.append(UNTOLD)
        return self.bash(*arguments, **({} if known else {_PROJECT: str(self.root)}))

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

    def rests(self) -> Heard:
        """The model answers and its turn is over."""
        words = "Done so far."
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
        return super().precompact(trigger)

    def restarted(self) -> Heard:
        """SessionStart(compact)."""
        self.before_compaction = self.before_compaction or self.transcript.last
        return super().restarted()

    def goes_on(self, summary: str) -> None:
        """The client writes down the compaction and what hooks said; the model answers; the user asks again."""
        self.writes_down(summary)
        self.asks()

    def writes_down(self, summary: str) -> None:
        """The client writes down the compaction and what hooks said; the model answers, and its turn is over."""
        if self.keeps_transcript:
            self.transcript.compacted("auto", summary, self.before_compaction)
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

    def launches(self, name: str) -> str:
        """Launch an agent in the background; return its id."""
        agent = self.agent(name, "side work", "Look.", background=True)
        agent.about_to()
        agent.launched()
        agent.started()
        self.agents.append(agent.run)
        return agent.run

    def delegates(self, name: str, prompt: str, report: str) -> None:
        """Have a foreground agent do something and return."""
        self.ends_agent(self.begins_agent(name, prompt), report)

    def begins_agent(self, name: str, prompt: str) -> Agent[Heard]:
        """Launch an agent and wait for it."""
        agent = self.agent(name, prompt, prompt)
        agent.about_to()
        agent.started()
        return agent

    def ends_agent(self, agent: Agent[Heard], report: str) -> None:
        """The agent that was waited for returns."""
        agent.stopped(report)
        agent.returned(report)

    def _ids(self, number: int) -> tuple[str, str]:
        """Return ids that no other session's agents have."""
        made = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.first}:{number}").hex
        return f"a{made[:16]}", f"toolu_{made[8:32]}"

    def _write_late(self) -> None:
        """Write down what hooks said: the client does that only after they were answered."""
        if self.keeps_transcript:
            for event, source, texts in self._late:
                self.transcript.told(event, source, texts)
        self._late.clear()


def as_delivered(text: str) -> str:
    """Return a string as the client hands it to the model: whole, or a preview of it (client fact §1.9)."""
    if units(text) <= LIMIT_UNITS:
        return text
    head = text[:PREVIEW_CHARS]
    cut = head.rfind("\n")
    head = head[:cut] if cut > PREVIEW_CHARS // 2 else head
    lead = "Output too large. Full output saved to a file\n\nPreview (first 2KB):"
    return f"<persisted-output>\n{lead}\n{head}\n...\n</persisted-output>"
