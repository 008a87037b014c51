"""The sessions of a row, each of a client whose process runs."""

from __future__ import annotations

import subprocess
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.survival.conversation import Conversation
from holdfast.survival.truth import Tokens

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from holdfast.testkit.place import Place


@dataclass
class Cast:
    """Who takes part; with the end of the block every process ends.

    Attributes:
        place: where.
        seed: what ids and planted words come from.
        clients: all sessions, in the order in which they came.
    """

    place: Place
    seed: int
    clients: list[Conversation] = field(default_factory=list)
    _sessions: int = 0
    _spaces: int = 0
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self._processes]:
            self.kill(process)

    def tokens(self) -> Tokens:
        """Return a source of words that nothing else in this row has."""
        self._spaces += 1
        return Tokens(self.seed, f"{self._spaces:02}")

    def word(self, kind: str) -> str:
        """Return a word that stands nowhere else."""
        return self.tokens()(kind)

    def session(self) -> str:
        """Return the id of a session that was never seen."""
        self._sessions += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.seed}:{self._sessions}"))

    def process(self) -> str:
        """Return the number of a process that runs until it is ended, the row is over or this process is gone."""
        process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._processes[str(process.pid)] = process
        return str(process.pid)

    def client(self, root: Path | None = None, *, process: str | None = None, **more: Any) -> Conversation:
        """Return a session that has not started yet, of a client whose process runs."""
        named = self.process() if process is None else process
        client = Conversation(self.place, root or self.place.root, self.session(), named, **more)
        self.clients.append(client)
        return client

    def fork(self, client: Conversation) -> Conversation:
        """Return a session that begins as a copy of another, in a client of its own."""
        heir = self.client(client.root)
        heir.transcript = client.transcript.forked(heir.transcript.path, heir.session)
        heir.starts("fork")
        return heir

    def kill(self, process: str) -> None:
        """End a process that `process` returned."""
        with self._processes[process] as running:
            running.kill()
