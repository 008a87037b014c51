"""What an unused feature costs: no import."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.api.author import handler

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython
    from tests.processes import Place

NEVER = frozenset({"click", "rich", "jinja2", "markdown_it", "sqlite3", "subprocess", "asyncio", "pytest", "logging"})
SHOW = "\nimport sys; print(*sys.modules)"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project of the test's own, without shipped handlers."""
    return processes.make(tmp_path)


def loaded_by(run_python: RunPython, script: str) -> set[str]:
    """Return the modules a script adds to those of a bare interpreter."""
    return set(run_python(script + SHOW).split()) - set(run_python("pass" + SHOW).split())


def loaded_for(place: Place, payload: dict[str, Any]) -> set[str]:
    """Return all modules that are there when the engine has answered an event, in the engine's own process."""
    out = place.root / "modules"
    script = "import site, sys; site.main(); sys.path.insert(0, sys.argv[1]); from holdfast import engine; "
    script += "engine.main(None); open(sys.argv[2], 'w').write('\\n'.join(sys.modules))"
    command = [*processes.INTERPRETER, "-c", script, str(processes.SOURCE), str(out)]
    ended = processes.run(command, json.dumps(payload).encode(), place.environ(), place.root)
    assert ended.exit_code == 0, ended.stderr
    return set(out.read_text().split())


def test_the_package_itself_loads_nothing(run_python: RunPython) -> None:
    """`import holdfast` loads neither pluggy nor pydantic, nor any module of its own."""
    loaded = loaded_by(run_python, "import holdfast")

    assert not {"pluggy", "pydantic", "json", *NEVER} & loaded
    assert {name for name in loaded if name.startswith("holdfast")} == {"holdfast"}


@pytest.mark.slow
def test_the_server_loads_no_exporter(run_python: RunPython) -> None:
    """OpenTelemetry's exporter is a thread, and the server forks; the flush is a process of its own."""
    loaded = loaded_by(run_python, "from holdfast.server import preload, prefork; preload.load_all()")

    assert "holdfast.engine" in loaded
    assert not {name for name in loaded if name.startswith(("opentelemetry", "requests", "holdfast.telemetry"))}


UNUSED = {
    "shell commands": ("tree_sitter", "tree_sitter_bash", "holdfast.process.shell"),
    "memory": ("holdfast.plugins.state",),
    "options": ("holdfast.plugins.options",),
    "rules": ("holdfast.plugins.rules",),
    "scripts": ("holdfast.plugins.executables", "holdfast.clients.claude.hook_output"),
    "packages": ("packaging", "holdfast.install.handler_packages"),
    "checks and trials": ("holdfast.plugins.statics", "holdfast.testkit", "holdfast.testing"),
    "telemetry": ("opentelemetry", "requests", "holdfast.telemetry.flush", "holdfast.telemetry.sender"),
    "commands": tuple(NEVER - {"sqlite3", "subprocess"}),
}
"""What a feature is made of, which an event doesn't load unless a handler uses it."""


@pytest.mark.slow
def test_an_unused_feature_loads_nothing(place: Place) -> None:
    """Beside a plain handler of yours, whose answer is merged."""
    place.user_handler("plain", handler("return tell_user('x')", "stop"))
    loaded = loaded_for(place, place.payload("Stop"))
    found = [f"{feature}: {name}" for feature, names in UNUSED.items() for name in names if name in loaded]
    assert "holdfast.dispatch.calls" in loaded
    assert not found, "\n".join(found)
