"""A session of the simulated client with its transcript and everything that reached the model."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.dispatch.budget import units
from holdfast.testkit.client import Client
from tools.survival.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.process.run_program import CompletedProgram
    from holdfast.testkit.agent import Agent
    from holdfast.testkit.reply import Heard

LIMIT_UNITS = 10_000  # UTF-16 units of one string; the client replaces a longer one by a preview (client fact §1.9)
PREVIEW_CHARS = 2_000  # what the model sees of a text over the client's limit


class Told(NamedTuple):
    """A text that reached the model (possibly cut), its event, and its length in UTF-16 units before the cut."""

    event: str
    text: str
    units: int


@dataclass
class Conversation(Client):
    """A session in a project.

    Attributes:
        keeps_transcript: whether the session has a transcript; without one its path is `""`.
        told: everything that reached the model, in order.
        asides: everything that reached subagents instead.
        failed: hooks that didn't end with 0, and other failures.
        agents: the ids of the agents that run in the background.
        arrives: whether the hooks' replies reach the model.
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
        """Return the path of a session's transcript."""
        return self.home / ".claude" / "projects" / "-project" / f"{session}.jsonl"

    @property
    def transcript_path(self) -> str:
        """The path of this session's transcript; empty if it keeps none."""
        return str(self.transcript.path) if self.keeps_transcript else ""

    def fire(self, name: str, **changes: Any) -> Heard:
        """Send a recorded event and keep what it tells the model."""
        heard = super().fire(name, **changes)
        self._hear(heard, name.partition("-")[2])
        return heard

    def fire_aside(self, name: str, **changes: Any) -> Heard:
        """Send an event of a subagent, whose replies reach the subagent, even if the event isn't marked as one."""
        heard = super().fire(name, **changes)
        self._hear(heard, aside=True)
        return heard

    def _hear(self, heard: Heard, source: str = "", *, aside: bool = False) -> None:
        """Keep the replies to an event."""
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

    def cli(self, *arguments: str) -> CompletedProgram:
        """Run the command line as Claude's Bash tool does."""
        return self.bash(*arguments)

    def starts(self, source: str = "startup") -> Heard:
        """Send SessionStart."""
        return self.fire(f"SessionStart-{source}")

    def asks(self, words: str = "Go on.") -> Heard:
        """Send the user's prompt."""
        heard = self.fire("UserPromptSubmit", prompt=words)
        if self.keeps_transcript:
            self.transcript.asked(words)
        self._write_late()
        return heard

    def rests(self) -> Heard:
        """Let the model answer and end its turn (Stop)."""
        words = "Done so far."
        if self.keeps_transcript:
            self.transcript.answered(words)
        listed = [{"id": agent, "type": "subagent", "status": "running", "description": "x"} for agent in self.agents]
        return self.fire("Stop", last_assistant_message=words, background_tasks=listed)

    def ends(self, reason: str = "other") -> Heard:
        """Send SessionEnd."""
        return self.fire(f"SessionEnd-{reason}")

    def precompact(self, trigger: str = "auto") -> Heard:
        """Send PreCompact; the part of the conversation before the compaction ends here."""
        self.before_compaction = self.transcript.last
        return super().precompact(trigger)

    def restarted(self) -> Heard:
        """Send SessionStart with source `compact`."""
        self.before_compaction = self.before_compaction or self.transcript.last
        return super().restarted()

    def goes_on(self, summary: str) -> None:
        """Do what `writes_down` does, and let the user ask again."""
        self.writes_down(summary)
        self.asks()

    def writes_down(self, summary: str) -> None:
        """Write the compaction and the hooks' replies to the transcript, and let the model answer and end its turn."""
        if self.keeps_transcript:
            self.transcript.compacted("auto", summary, self.before_compaction)
        self._write_late()
        self.before_compaction = None
        self.rests()

    def becomes(self, session: str, *, forked: bool = False) -> None:
        """Change the session's id, as a compaction may.

        Args:
            session: the new id.
            forked: the new transcript begins as a copy of the old one. Otherwise it only names the old one's last
                entry once the compaction is written.
        """
        self.before_compaction = self.transcript.last
        self.session = session
        path = self.transcript_of(session)
        self.transcript = self.transcript.forked(path, session) if forked else Transcript(path, session, str(self.root))

    def launches(self, name: str) -> str:
        """Launch an agent in the background and return its id."""
        agent = self.agent(name, "side work", "Look.", background=True)
        agent.about_to()
        agent.launched()
        agent.started()
        self.agents.append(agent.run)
        return agent.run

    def delegates(self, name: str, prompt: str, report: str) -> None:
        """Run an agent in the foreground to its end."""
        self.ends_agent(self.begins_agent(name, prompt), report)

    def begins_agent(self, name: str, prompt: str) -> Agent[Heard]:
        """Launch an agent in the foreground."""
        agent = self.agent(name, prompt, prompt)
        agent.about_to()
        agent.started()
        return agent

    def ends_agent(self, agent: Agent[Heard], report: str) -> None:
        """Let an agent in the foreground return."""
        agent.stopped(report)
        agent.returned(report)

    def _ids(self, number: int) -> tuple[str, str]:
        """Return an agent's id and a call's id that no other session uses."""
        made = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.first}:{number}").hex
        return f"a{made[:16]}", f"toolu_{made[8:32]}"

    def _write_late(self) -> None:
        """Write the hooks' replies to the transcript, which the client does only after the hooks have ended."""
        if self.keeps_transcript:
            for event, source, texts in self._late:
                self.transcript.told(event, source, texts)
        self._late.clear()


def as_delivered(text: str) -> str:
    """Return a text as the client gives it to the model: in full, or as a preview (client fact §1.9)."""
    if units(text) <= LIMIT_UNITS:
        return text
    head = text[:PREVIEW_CHARS]
    cut = head.rfind("\n")
    head = head[:cut] if cut > PREVIEW_CHARS // 2 else head
    lead = "Output too large. Full output saved to a file\n\nPreview (first 2KB):"
    return f"<persisted-output>\n{lead}\n{head}\n...\n</persisted-output>"
