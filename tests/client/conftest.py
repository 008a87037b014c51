"""The clients to test, and a world for each test."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import warmth
from tests.client import table
from tests.client.model import Model, serve
from tests.client.runner import SERVER, Client
from tests.client.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = Path(os.environ.get("HOLDFAST_CLIENTS", Path(__file__).resolve().parents[2] / ".clients"))
PROGRAM = Path(os.environ.get("HOLDFAST_PROGRAM", Path(sys.executable).with_name("holdfast")))
OUT = os.environ.get("HOLDFAST_RIG_OUT")
VERSIONS = tuple(os.environ.get("HOLDFAST_CLIENT_VERSIONS", "2.1.332 2.1.197").split())
"""The versions to test; `make client CLIENTS=…` names others, such as one that just came out."""


@pytest.fixture(scope="session")
def worker_folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket to lie in it, for all tests of this process."""
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture(params=VERSIONS)
def bare(request: pytest.FixtureRequest, worker_folder: Path) -> Iterator[World]:
    """A world in which Holdfast is not installed yet. Each has the same paths, so an install can be copied."""
    binary = CLIENTS / request.param / "package" / "claude"
    if not binary.exists():
        pytest.fail(f"no client {request.param} in {CLIENTS}; make client fetches it")
    folder = worker_folder / "world"
    home = folder / "home"
    with serve(Model()) as model, warmth.murderer(home) if SERVER == "killed" else nullcontext():
        client = Client(binary, model.url, home, folder / "project")
        client.prepare()
        world = World(client, model, PROGRAM, request.param)
        try:
            yield world
        finally:
            client.close()
            warmth.end(home)
            request.node.user_properties.append(("seen", _seen(world)))
            _keep(world, request.node.name)
            shutil.rmtree(folder)


@pytest.fixture
def world(bare: World, worker_folder: Path) -> World:
    """A world in which Holdfast is installed for the user, who lets the model call it.

    The first test of a process installs it, the others get a copy: an install takes a second of work.
    """
    home, installed = bare.client.home, worker_folder / "installed"
    if installed.exists():
        shutil.copytree(installed, home, symlinks=True, dirs_exist_ok=True)
        return bare
    bare.holdfast("install", "--scope", "user", "--yes")
    # The server's folder has sockets, and when a start was tried last.
    shutil.copytree(home, installed, symlinks=True, ignore=shutil.ignore_patterns("server"))
    return bare


def pytest_configure(config: pytest.Config) -> None:
    """Say what the mark means that names a test's scenario."""
    config.addinivalue_line(
        "markers", "scenario(number): the row of the final table that a test on a client belongs to"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every report know its scenario and client; a test without a scenario would be missing in the table."""
    for item in items:
        mark = item.get_closest_marker("scenario")
        if mark is None:
            raise pytest.UsageError(f"{item.nodeid} names no scenario")
        item.user_properties.append(("scenario", mark.args[0]))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was seen on the real clients: scenario, client version, events, result."""
    kinds = ("", "passed", "failed", "skipped", "error")  # "" is what was set up and torn down well
    reports = [each for kind in kinds for each in terminalreporter.stats.get(kind, [])]
    terminalreporter.section(f"the real client, events answered {SERVER}")
    for line in table.lines(reports):
        terminalreporter.write_line(line)


def _seen(world: World) -> dict[str, int]:
    """Count the events and the compactions in the client's stream, and what only a recording shows."""
    lines = [*world.other_lines, *(line for session in world.client.sessions for line in session.lines)]
    seen = Counter(str(line["hook_event"]) for line in lines if line.get("subtype") == "hook_response")
    seen.update(name for name in world.recorded if name in table.UNSEEN)
    seen[table.COMPACTIONS] = sum(line.get("subtype") == "compact_boundary" for line in lines)
    return dict(seen)  # what a test process sends to its master must be plain


def _keep(world: World, name: str) -> None:
    """Keep what a test saw, for whoever wants to read it."""
    if not OUT:
        return
    folder = Path(OUT) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for request in world.model.requests:
        text = "\n".join(
            f"--- {m['role']}\n{t}" for m, t in zip(request.body["messages"], request.messages, strict=True)
        )
        (folder / f"{request.number:02}-{request.kind}.txt").write_text(f"{request.headers}\n{text}\n")
    payloads = [*(world.client.home / ".local/state/holdfast").rglob("*.jsonl")]
    (folder / "payloads.jsonl").write_text("".join(path.read_text() for path in payloads))
    (folder / "holdfast.log").write_text("\n".join(world.log) + "\n")
    for number, session in enumerate(world.client.sessions):
        lines = [json.dumps(line, ensure_ascii=False) for line in session.lines]
        (folder / f"stream-{number}.jsonl").write_text("\n".join(lines) + "\n" + "\n".join(session.junk))
        (folder / f"stderr-{number}.txt").write_text(session.errors)
