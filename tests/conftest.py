"""Keep every test away from the real home and from the environment of the person who runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

from holdfast import log
from holdfast.clients.claude import scopes, versions
from holdfast.clients.client import Client
from holdfast.install import inspection
from holdfast.memory import connection
from holdfast.memory.patience import Patience
from holdfast.paths import ensure_private
from holdfast.plugins import scan
from holdfast.project import OpenProject

with mock.patch.dict(os.environ, {"XDG_STATE_HOME": os.devnull}):
    import holdfast.formats  # noqa: F401 - without those that packages bring to whoever runs the tests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.plugins.discovery import HandlerFile
    from tests.warmth import Warm

# Most tests need no client.
_init = OpenProject.__init__


def _init_without_client(self: OpenProject, *values: Any, **fields: Any) -> None:
    _init(self, *values, **({"client": Client()} | fields))


mock.patch.object(OpenProject, "__init__", _init_without_client).start()

# How long an example takes, or making it up, says nothing on a busy machine.
settings.register_profile("holdfast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("holdfast")

_FOREIGN = ("AI_AGENT", "CLAUDE", "HOLDFAST_", "GIT_", "COLUMNS")
_FOLDERS = {
    "HOME": "",
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_DATA_HOME": ".local/share",
    "XDG_CACHE_HOME": ".cache",
    "XDG_RUNTIME_DIR": "run",
}
_numbers = count()
_scanned = cache(scan.scan)
_loaded: dict[tuple[Path, bytes], list[str]] = {}


class RunPython(Protocol):
    """Runs a script in a fresh interpreter and returns what it printed."""

    def __call__(self, script: str, *arguments: object) -> str: ...


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own; also forgets every variable of Claude Code, of Holdfast and of git, and the width."""
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        monkeypatch.delenv(name)
    return make_home(tmp_path_factory.getbasetemp() / f"home{next(_numbers)}", monkeypatch)


def make_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty home and let every setting of Holdfast be as in a fresh one."""
    folder.mkdir(mode=0o700)
    for name, place in _FOLDERS.items():
        monkeypatch.setenv(name, str(folder / place))
    (folder / "run").mkdir(mode=0o700)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOLDFAST_SERVER", "off")  # a test that wants one says so: it would outlive the test
    monkeypatch.setenv("HOLDFAST_RELAY", "python")  # a test that wants the native relay says so: it may be compiled
    monkeypatch.setattr(log, "_lowest", "info")
    monkeypatch.setattr(log, "_root", "")
    return folder


@pytest.fixture(autouse=True)
def made_once(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nearly every test would make again, and always the same.

    Those are the shipped handlers' routes, whether they can be loaded, and an empty ledger. To scan ten files, load
    each in a process of its own and run all migrations takes longer than what many a test is about.
    """
    base, prepare, load = tmp_path_factory.getbasetemp(), connection._prepare, inspection._load
    ready = base / "ready" / "ledger"

    def copied(file: Path) -> None:
        if file != ready and not file.exists():
            if not ready.exists():
                connection.connect(ready, Patience()).close()
            with suppress(OSError), tempfile.NamedTemporaryFile(dir=base) as copy:
                copy.write(ready.read_bytes())
                copy.flush()
                os.link(copy.name, ensure_private(file.parent) / file.name)  # fails if another process was first
        prepare(file)

    def loaded(project: OpenProject, file: HandlerFile) -> list[str]:
        key = (file.path, file.source)
        if file.place != "shipped":
            return load(project, file)
        if key not in _loaded:
            _loaded[key] = load(project, file)
        return _loaded[key]

    monkeypatch.setattr(inspection, "_load", loaded)
    monkeypatch.setattr(scan, "scan", _scanned)
    monkeypatch.setattr(connection, "_prepare", copied)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own, with a part of its name.

    pytest's own fixture looks at all folders of earlier tests to find a free number. With thousands of them, that takes
    longer than most tests.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_numbers)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project's folder."""
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    return folder


@pytest.fixture
def no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither a client nor an administrator's settings of whoever runs the tests; where the latter are looked for."""
    monkeypatch.setattr(versions, "version", lambda: None)
    monkeypatch.setattr(scopes, "MANAGED", tmp_path / "managed")
    return tmp_path / "managed"


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket to lie in it."""
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def fresh(short_folder: Path) -> Iterator[Warm]:
    """A home and a project where the server is not switched off and none runs yet."""
    from tests import warmth  # not above: a copy of this file alone is tried by test_conftest

    made = warmth.make(short_folder)
    yield made
    made.close()


@pytest.fixture
def warm(fresh: Warm) -> Warm:
    """The same, with a server that answers and has answered nothing yet."""
    fresh.warm_up()
    return fresh


@pytest.fixture
def run_python() -> RunPython:
    """Run a script in a fresh interpreter, with arguments; it must exit with 0."""

    def run(script: str, *arguments: object) -> str:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
