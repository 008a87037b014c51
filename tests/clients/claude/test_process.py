"""The client's own process, as it names it to hooks or as it is found."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from holdfast.clients.claude import claude
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


@each_row("name, meant", [("claude", True), ("claude-proxy", False), ("my-claude", False)])
def test_the_clients_process_is_named_or_found(tmp_path: Path, name: str, *, meant: bool) -> None:
    """`CLAUDE_PID`, or on clients that set none the ancestor that is called `claude`, and no other program.

    Between the two are the handlers' process, the entrypoint and the shell.
    """
    client = tmp_path / name
    client.write_text('#!/bin/sh\n"$@"\nexit 0\n')
    client.chmod(0o755)
    script = "from holdfast.clients.claude import claude; print(claude.process({}))"
    shell = ["/bin/sh", "-c", '"$@"; exit 0', "sh"]

    command = [str(client), *(shell * 3), sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert (process.communicate()[0].strip() == str(process.pid)) is meant

    assert claude.process({"CLAUDE_PID": "42"}) == "42"


def test_without_a_client_there_is_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a session's silence alone decides."""
    monkeypatch.setattr(os, "getppid", lambda: 1)

    assert claude.process({}) is None
