"""The sessions of a row, each with a client process."""

from __future__ import annotations

import subprocess
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.survival.conversation import Conversation
from tools.survival.truth import Tokens

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from holdfast.testkit.place import Place


@dataclass
class Cast:
    """The sessions of a row, as a context manager that kills their client processes at its end.

    Attributes:
        place: the throw-away home and project.
        seed: the seed of ids and planted words.
        clients: all sessions, in the order of their creation.
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
