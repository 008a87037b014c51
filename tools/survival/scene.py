"""Play one row: plant workflows, and let sessions work, be compacted, end and die."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import formats
from tools.survival import samples, truth, workflow_files
from tools.survival.conversation import Conversation
from tools.survival.findings import Findings
from tools.survival.transcript import summary_of
from tools.survival.truth import Tokens, Truth

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from holdfast.testkit.place import Place
    from tools.survival.score import Reading

OLD = timedelta(days=90)
Change = Callable[[Truth, Tokens], object]


@dataclass
class Scene:
    """A row in progress, as a context manager that kills the processes of its clients at the end.

    Attributes:
        place: the throw-away home and project.
        seed: the seed of ids and planted words.
        format: the format that stores the main workflow.
        facts: how many facts are planted.
        cycles: how many compactions it has.
        instants: at how many writes of each step a process is killed; None for all.
        found: the findings so far.
        clients: all sessions, in the order of their creation.
        skipped: why the row can't be played here, or empty.
    """

    place: Place
    seed: int
    format: str
    facts: int
    cycles: int
    instants: int | None = None
    found: Findings = field(default_factory=Findings)
    clients: list[Conversation] = field(default_factory=list)
    skipped: str = ""
    _sessions: int = 0
    _spaces: int = 0
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _tokens: dict[int, Tokens] = field(default_factory=dict)
    _left: dict[int, int] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self._processes]:
            self.kill(process)

    def tokens(self) -> Tokens:
        """Return a source of words that occur nowhere else in this row."""
        self._spaces += 1
        return Tokens(self.seed, f"{self._spaces:02}")

    def word(self, kind: str) -> str:
        """Return a word that occurs nowhere else."""
        return self.tokens()(kind)

    def session(self) -> str:
        """Return a new session id."""
        self._sessions += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.seed}:{self._sessions}"))

    def process(self) -> str:
        """Start a process and return its id; it runs until it is killed, the row is over or this process ends."""
        process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._processes[str(process.pid)] = process
        return str(process.pid)

    def client(self, root: Path | None = None, *, process: str | None = None, **more: Any) -> Conversation:
        """Return a session that has not started yet, with a running client process."""
        named = self.process() if process is None else process
        client = Conversation(self.place, root or self.place.root, self.session(), named, **more)
        self.clients.append(client)
        return client

    def fork(self, client: Conversation) -> Conversation:
        """Return a started session that is a fork of another, with its own client process."""
        heir = self.client(client.root)
        heir.transcript = client.transcript.forked(heir.transcript.path, heir.session)
        heir.starts("fork")
        return heir

    def kill(self, process: str) -> None:
        """Kill a process that `process` started."""
        with self._processes[process] as running:
            running.kill()

    def begin(self, *, change: Change | None = None, **more: Any) -> tuple[Conversation, Truth]:
        """Install Holdfast, plant decoys, start a session and plant a workflow in it, with a background agent."""
        workflow_files.install(self.place, self.format)
        self.decoys()
        client = self.client(**more)
        client.starts()
        client.asks("Let us begin.")
        return client, self.plant(client, change=change)

    def plant(
        self,
        client: Conversation,
        *,
        format_name: str = "",
        facts: int = 0,
        finished: int = 2,
        change: Change | None = None,
    ) -> Truth:
        """Start a workflow in a session, complete its first phases, and launch an agent in the background.

        Args:
            client: the session.
            format_name: its format; by default the row's.
            facts: how many facts it has; by default the row's number.
            finished: how many phases to complete.
            change: changes the workflow before it is planted.
        """
        tokens = self.tokens()
        planted = truth.make(format_name or self.format, tokens, facts or self.facts, finished=finished)
        if change:
            change(planted, tokens)
        self._tokens[id(planted)] = tokens
        workflow_files.start(client, planted)
        for number in range(finished):
            by_agent = planted.format in formats.WITH_AGENTS and number == 0
            self.complete_phase(client, planted, tokens, by_agent=by_agent)
        name = tokens("scout")
        planted.agents[client.launches(name)] = name
        return planted

    def decoys(self) -> None:
        """Plant workflows that must not come back: a finished one, and one that nobody touched for 90 days."""
        for kind, age in (("over", timedelta()), ("old", OLD)):
            decoy = truth.make(workflow_files.BESIDE, self.tokens(), 16, finished=1)
            workflow_files.write_state(self.place, decoy, finished=kind == "over", age=age)
            self.found.resurrected |= decoy.words() - {decoy.title, decoy.phases[decoy.current - 1].title}
            self.found.named.add(decoy.title)

    def complete_another(self, client: Conversation) -> None:
        """Complete another workflow; its memory file stays unchanged."""
        decoy = truth.make(self.format, self.tokens(), 16, finished=0)
        if workflow_files.write_source(self.place, decoy):
            client.precompact()
        else:
            workflow_files.start(client, decoy)
        workflow_files.output(client.cli("done", decoy.title, "--all"))
        self.found.resurrected |= decoy.words()

    def bystander(self) -> Conversation:
        """Return another live session in the folder, with its own workflow."""
        other = self.client()
        other.starts()
        other.asks("Something else.")
        self.found.foreign |= self.plant(other, format_name=workflow_files.BESIDE, facts=14, finished=1).words()
        return other

    def end_process(self, client: Conversation, planted: Truth) -> None:
        """Kill the client's process, and its agents with it."""
        self.kill(client.process)
        client.agents.clear()
        self.gone_agents(planted)

    def leaves(self, client: Conversation, planted: Truth) -> None:
        """End the session properly, and its process."""
        client.ends()
        self.end_process(client, planted)

    def crash(self, client: Conversation, planted: Truth) -> None:
        """Kill the client's process and start another."""
        self.end_process(client, planted)
        client.process = self.process()

    def gone_agents(self, planted: Truth) -> None:
        """Record that a workflow's agents have died."""
        planted.died |= set(planted.agents.values())
        planted.agents.clear()

    def complete_phase(self, client: Conversation, planted: Truth, tokens: Tokens, *, by_agent: bool = False) -> None:
        """Complete the current phase, by an agent's report or on the command line."""
        handover = tokens("note")
        delivers = samples.of(planted.format).delivers
        if by_agent and not delivers:  # the agent's whole report becomes the summary, and several tasks may be ready
            client.delegates("general-purpose", planted.phases[planted.current - 1].title, handover)
            workflow_files.output(client.cli("next", planted.title))
            planted.complete_phase(handover)
        elif by_agent:
            deliverable = tokens("made")
            report = f"DELIVERABLES:\n- {deliverable}\nCONTEXT_FOR_NEXT: {handover}"
            client.delegates("general-purpose", planted.phases[planted.current - 1].title, report)
            planted.complete_phase(handover, deliverable)
        else:
            workflow_files.output(client.cli("done", planted.title, "--note", handover))
            planted.complete_phase(handover)

    def advance(self, client: Conversation, planted: Truth, cycle: int, cycles: int) -> None:
        """Work between two compactions: complete a phase (evenly spread over all cycles) or change a value.

        The last request and the newest decision change each time.
        """
        tokens = self._tokens[id(planted)]
        start = self._left.setdefault(id(planted), planted.left)
        due = (cycle + 1) * start // max(cycles, 1)
        if start - planted.left < due:
            by_agent = planted.format in formats.WITH_AGENTS and cycle % 2 == 0
            self.complete_phase(client, planted, tokens, by_agent=by_agent)
        else:
            value = tokens("value")
            workflow_files.output(client.cli("update", planted.title, "--set", f"turn={value}"))
            planted.set("turn", value)
        self.change_mind(client, planted, tokens)

    def change_mind(self, client: Conversation, planted: Truth, tokens: Tokens) -> None:
        """Change the last request and the newest decision; the model records both in the context."""
        planted.ask(tokens("asked"))
        planted.decide(tokens("decided"))
        words = [workflow_files.setting(key, planted.variables[key]) for key in ("last_request", "decisions")]
        workflow_files.output(client.cli("update", planted.title, "--set", words[0], "--set", words[1]))

    def summary(self, planted: Truth) -> str:
        """Return a summary that keeps every fifth fact word for word."""
        return summary_of(fact.needle for fact in planted.facts()[::5])

    def compact(
        self, client: Conversation, planted: Truth, *, pre: bool = True, post: bool = True, renamed: bool = False
    ) -> Reading:
        """Compact a session as the client does, let it continue, and judge what the model got.

        The compaction changes the session's id if it is `renamed`. Without PreCompact, only its transcript shows then
        which session it was.
        """
        self.found.quiet(client)
        summary = self.summary(planted)
        if pre:
            client.precompact()
        if renamed:
            client.becomes(self.session(), forked=not pre)
        client.summarised(summary)
        client.restarted()
        if post:
            client.postcompacted(summary)
        client.goes_on(summary)
        return self.found.judge(client, planted)

    def cycle(self, client: Conversation, planted: Truth, **how: bool) -> None:
        """Play all compactions of the row, with work before each, and repeat the last one, which changes the id."""
        for number in range(self.cycles):
            self.advance(client, planted, number, self.cycles)
            self.compact(client, planted, renamed=number + 1 == self.cycles, **how)
        self.repeat(client, planted, **how)

    def repeat(self, client: Conversation, planted: Truth, **how: bool) -> None:
        """Compact once more with nothing changed: the guidance must be the same, byte for byte."""
        self.compact(client, planted, **how)
        self.found.same_as_before(client)
