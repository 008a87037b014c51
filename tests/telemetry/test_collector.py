"""A real collector takes what is sent: `rotel`, whose package brings the program."""

from __future__ import annotations

import importlib.util
import re
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import waiting
from tests.commandline import holdfast
from tests.telemetry.test_flush import configure, decide, project

if TYPE_CHECKING:
    from holdfast.testing import HoldfastProject

__all__ = ["project"]
FOUND = importlib.util.find_spec("rotel")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOUND is None, reason="rotel isn't installed (pip install rotel): no real collector was tried"),
]


def ports() -> list[int]:
    """Return two free ports: the collector listens for HTTP and for gRPC."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    numbers = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return numbers


def test_a_collector_takes_the_records(project: HoldfastProject, tmp_path: Path) -> None:
    """Each of them, with its attributes, as its own debug output has it."""
    assert FOUND is not None
    assert FOUND.origin is not None
    program = Path(FOUND.origin).with_name("rotel-agent")
    http, grpc = ports()
    command = [str(program), "start", "--exporter", "blackhole", "--debug-log", "logs", "--debug-log-verbosity"]
    command += ["detailed", "--otlp-http-endpoint", f"127.0.0.1:{http}", "--otlp-grpc-endpoint", f"127.0.0.1:{grpc}"]
    log = tmp_path / "collector.log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path) as collector:
        try:
            waiting.until(lambda: _listens(http), log.read_text)
            configure(f"http://127.0.0.1:{http}")
            decide(project, 3)
            said = holdfast("telemetry", "flush", root=project.root)
            assert said.out.startswith("Sent 3 records")
            waiting.until(lambda: "holdfast.handler" in log.read_text(), log.read_text)
        finally:
            collector.terminate()
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text())
    for number in range(3):
        assert f"toolu_{number}" in text
    assert "user/guard.py" in text
    assert "holdfast.decision" in text


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
