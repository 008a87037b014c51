"""A real client that makes a tool call when told to, and is idle in between."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.client import model as scripted
from tests.client.runner import Client
from tools.bench.place import COLD

if TYPE_CHECKING:
    from tests.client.model import Reply, Request

PATIENCE = 60.0  # seconds after which a client that doesn't continue has failed

# Otherwise a reply's body would wait until the client acknowledges the head, which takes it some 40 ms.
scripted._Handler.disable_nagle_algorithm = True


@dataclass
class Configured(Client):
    """A client with its own configuration folder in a home that it shares with other clients."""

    name: str = ".claude"

    @property
    def config(self) -> Any:
        """The client's configuration folder."""
        return self.home / self.name

    @property
    def environ(self) -> dict[str, str]:
        """The environment; only the way itself decides whether the server is asked."""
        values = {name: value for name, value in super().environ.items() if name not in COLD}
        return values | self.extra


@dataclass(frozen=True)
class Step:
    """One tool call, seen from outside.

    Attributes:
        call_ms: from the client's line with the call to its line with the result: permissions, hooks and the tool.
        request_ms: from the model's reply to the next request: everything a user waits for.
        result: the tool's result as the model sees it.
    """

    call_ms: float
    request_ms: float
    result: str


class Driven:
    """A running client and its scripted model."""

    def __init__(self, client: Configured) -> None:
        self._stack = ExitStack()
        self._asked: queue.Queue[float] = queue.Queue()
        self._replies: queue.Queue[Reply] = queue.Queue()
        self._calls: queue.Queue[float] = queue.Queue()
        self._results: queue.Queue[tuple[float, str]] = queue.Queue()
        self._said = 0.0
        model = self._stack.enter_context(scripted.serve(_Model(self._turn)))
        client.url = model.url
        self._process = self._start(client)
        self._stack.callback(self._end)
        threading.Thread(target=self._read, daemon=True).start()
        self._asked.get(timeout=PATIENCE)

    @property
    def pid(self) -> int:
        """The client's process id."""
        return self._process.pid

    def step(self, tool: str, **arguments: Any) -> Step:
        """Let the client make one tool call, and wait until it is idle again."""
        self._replies.put(scripted.call(tool, **arguments))
        asked = self._asked.get(timeout=PATIENCE)
        called, (returned, result) = self._calls.get(timeout=PATIENCE), self._results.get(timeout=PATIENCE)
        return Step((returned - called) * 1000, (asked - self._said) * 1000, result)

    def close(self) -> None:
        """End the client and its model."""
        self._stack.close()

    def _start(self, client: Configured) -> subprocess.Popen[bytes]:
        command = [str(client.binary), "-p", "--verbose", "--model", client.model]
        process = subprocess.Popen(
            [*command, "--input-format", "stream-json", "--output-format", "stream-json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=client.project,
            env=client.environ,
        )
        assert process.stdin
        message = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Go on."}]}}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        return process

    def _turn(self, request: Request) -> Reply:
        """Announce the client's request, and hold it until there is a reply."""
        self._asked.put(time.perf_counter())
        reply = self._replies.get()
        self._said = time.perf_counter()
        return reply

    def _read(self) -> None:
        assert self._process.stdout
        for raw in self._process.stdout:
            at, line = time.perf_counter(), json.loads(raw)
            content = line.get("message", {}).get("content", ()) if line["type"] in ("assistant", "user") else ()
            for block in content if isinstance(content, list) else ():
                if block["type"] == "tool_use":
                    self._calls.put(at)
                elif block["type"] == "tool_result":
                    self._results.put((at, str(block.get("content", ""))))

    def _end(self) -> None:
        self._replies.put(scripted.say("Done."))
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Model(scripted.Model):
    """A model that makes the reply to each main request when it comes."""

    def __init__(self, turn: Any) -> None:
        super().__init__()
        self._turn = turn

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        """Return the reply to one request; requests aren't kept."""
        kind = scripted.kind_of(body, headers)
        if kind != "main":
            return scripted.say("Fine.")
        reply: Reply = self._turn(scripted.Request(0, kind, body, headers))
        return reply
