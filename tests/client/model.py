"""A scripted stand-in for the Messages API on loopback, which keeps every request as the model would have seen it."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["main", "agent", "summary", "side"]
Block = dict[str, Any]

_HELD_S = 120.0  # seconds; longer than any test waits
_SUMMARY_ASKED = "Your task is to create a detailed summary"
_AGENT = re.compile(r"cc_is_subagent=true")


@dataclass(frozen=True)
class Request:
    """A request for a message.

    Attributes:
        number: its place among all requests.
        kind: the main conversation, a subagent, a compaction's summary, or a small question of the client's own.
        body: what was sent.
        headers: as sent, names in lower case.
    """

    number: int
    kind: Kind
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def system(self) -> str:
        """The system prompt's text."""
        return _text(self.body.get("system", ""))

    @property
    def messages(self) -> list[str]:
        """Each message's text, with the contents of tool calls and results."""
        return [_text(message["content"]) for message in self.body["messages"]]

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n".join(self.messages)

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that are offered."""
        return [tool["name"] for tool in self.body.get("tools", [])]

    def results(self) -> dict[str, str]:
        """Return the tool results in the last message, by call."""
        content = self.body["messages"][-1]["content"]
        blocks = content if isinstance(content, list) else []
        return {b["tool_use_id"]: _text(b.get("content", "")) for b in blocks if b.get("type") == "tool_result"}


@dataclass(frozen=True)
class Reply:
    """What the model says to one request.

    Attributes:
        content: text and tool_use blocks.
        tokens: the input tokens it reports; much of them makes the client compact.
        status: an HTTP status other than 200 makes it an error.
        error: the error's type and message.
        held: what the answer waits for; it may never come.
    """

    content: tuple[Block, ...] = ()
    tokens: int = 2_000
    status: int = 200
    error: tuple[str, str] = ("api_error", "scripted")
    held: threading.Event | None = None


Turn = Reply | Callable[[Request], Reply]


def say(text: str, *, tokens: int = 2_000, held: threading.Event | None = None) -> Reply:
    """Return a reply that ends the turn, once a test lets it if it is held."""
    return Reply(({"type": "text", "text": text},), tokens, held=held)


_calls = itertools.count(1)


def call(name: str, *, tokens: int = 2_000, held: threading.Event | None = None, **arguments: Any) -> Reply:
    """Return a reply that calls a tool, once a test lets it if it is held."""
    block = {"type": "tool_use", "id": f"toolu_{next(_calls):06d}", "name": name, "input": arguments}
    return Reply((block,), tokens, held=held)


def bash(command: str, *, tokens: int = 2_000) -> Reply:
    """Return a reply that runs a command."""
    return call("Bash", tokens=tokens, command=command, description="Run it")


def agent(title: str, prompt: str, kind: str = "general-purpose", *, background: bool = False) -> Reply:
    """Return a reply that launches a subagent."""
    return call("Agent", description=title, prompt=prompt, subagent_type=kind, run_in_background=background)


def fail(status: int, kind: str, message: str) -> Reply:
    """Return an API error."""
    return Reply(status=status, error=(kind, message))


@dataclass
class Model:
    """What the model will say, and what it was asked.

    Attributes:
        turns: replies of the main conversation, or what makes them of the request, in order; then it says "Done."
        agents: replies of subagents, or what makes them, by a text that their first message contains.
        fleet: makes the replies of subagents of which `agents` says nothing; None for one it doesn't know.
        summary: replies to requests for a summary, in order; the last one stays.
        requests: all requests so far.
    """

    turns: list[Turn] = field(default_factory=list)
    agents: dict[str, list[Turn]] = field(default_factory=dict)
    fleet: Callable[[Request], Reply | None] = lambda request: None
    summary: list[Reply] = field(default_factory=lambda: [say("<summary>They talked about the weather.</summary>")])
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, kind: Kind) -> list[Request]:
        """Return the requests of one kind."""
        return [request for request in self.requests if request.kind == kind]

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        """Note a request and return the scripted reply to it."""
        with self._lock:
            request = Request(len(self.requests), kind_of(body, headers), body, headers)
            self.requests.append(request)
            return self._scripted(request)

    def _scripted(self, request: Request) -> Reply:
        if request.kind == "summary":
            return self.summary.pop(0) if len(self.summary) > 1 else self.summary[0]
        if request.kind == "main":
            return _reply(self.turns.pop(0) if self.turns else say("Done."), request)
        if request.kind == "agent":
            for needle, replies in self.agents.items():
                if needle in request.text and replies:
                    return _reply(replies.pop(0), request)
            return self.fleet(request) or say("Fine.")
        return say("Fine.")


def _reply(turn: Turn, request: Request) -> Reply:
    return turn(request) if callable(turn) else turn


def kind_of(body: dict[str, Any], headers: dict[str, str]) -> Kind:
    """Tell what a request is for."""
    messages = body.get("messages", [])
    if messages and _SUMMARY_ASKED in _text(messages[-1]["content"]):
        return "summary"
    if "x-claude-code-agent-id" in headers or _AGENT.search(_text(body.get("system", ""))):
        return "agent"
    return "main" if any(tool.get("name") == "Bash" for tool in body.get("tools", [])) else "side"


@contextmanager
def serve(model: Model) -> Iterator[Model]:
    """Answer on a free port of loopback as long as the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, model))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    """One connection of the client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise a body waits some 40 ms for a delayed ACK, which hides what hooks cost

    def __init__(self, model: Model, *arguments: Any) -> None:
        self._model = model
        super().__init__(*arguments)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Answer the client's look whether anybody is there."""
        self._send(b"")

    def do_GET(self) -> None:
        """Answer anything harmlessly."""
        self._send(b"{}")

    def do_POST(self) -> None:
        """Answer a request for a message as scripted, anything else harmlessly."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._send(b'{"input_tokens": 2000}')
        elif path == "/v1/messages":
            self._answer(json.loads(raw))
        else:
            self._send(b"{}")

    def _answer(self, body: dict[str, Any]) -> None:
        reply = self._model.answer(body, {name.lower(): value for name, value in self.headers.items()})
        if reply.held:
            reply.held.wait(_HELD_S)
        if reply.status != 200:
            kind, words = reply.error
            error = {"type": "error", "error": {"type": kind, "message": words}}
            self._send(json.dumps(error).encode(), status=reply.status)
            return
        message = _message(reply, body.get("model", "scripted"))
        if body.get("stream"):
            events = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in _events(message))
            self._send(events.encode(), content_type="text/event-stream")
        else:
            self._send(json.dumps(message).encode())

    def _send(self, body: bytes, *, status: int = 200, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.send_header("request-id", "req_scripted")
        if status != 200:
            self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)


def _message(reply: Reply, model: str) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in reply.content)
    return {
        "id": f"msg_{next(_calls):06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(reply.content),
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.tokens,
            "output_tokens": 20,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start, delta = (
                block | {"input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(block) for block in content)
    if content.get("type") == "text":
        return str(content["text"])
    if content.get("type") == "tool_result":
        return _text(content.get("content", ""))
    return json.dumps(content, ensure_ascii=False)
