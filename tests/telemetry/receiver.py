"""A collector on loopback that decodes OTLP logs, and can be slow or refuse."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Received:
    """A log record: its event's name, time, severity, body, attributes, and those of its resource."""

    name: str
    at: int
    severity: str
    body: str
    attributes: dict[str, Any]
    resource: dict[str, Any]


@dataclass
class Receiver:
    """What came in, and how it is answered."""

    url: str = ""
    status: int = 200
    delay_s: float = 0.0
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Length": "0"})
    records: list[Received] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    raw: bytearray = field(default_factory=bytearray)

    def named(self, name: str) -> list[Received]:
        """Return the records of one kind: `decision`."""
        return [each for each in self.records if each.name == f"holdfast.{name}"]


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


def _attributes(pairs: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in pairs}


@contextmanager
def receive(port: int = 0, **settings: Any) -> Iterator[Receiver]:
    """Run a collector."""
    receiver = Receiver(**settings)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append((self.path, dict(self.headers)))
            time.sleep(receiver.delay_s)
            if receiver.status == 200 and self.path.endswith("/v1/logs"):
                receiver.raw.extend(body)
                request = ExportLogsServiceRequest.FromString(body)
                for group in request.resource_logs:
                    resource = _attributes(group.resource.attributes)
                    for scope in group.scope_logs:
                        receiver.records += [
                            Received(
                                each.event_name,
                                each.time_unix_nano,
                                each.severity_text,
                                each.body.string_value,
                                _attributes(each.attributes),
                                resource,
                            )
                            for each in scope.log_records
                        ]
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Say nothing of a client that gave up."""

    server = Server(("127.0.0.1", port), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
