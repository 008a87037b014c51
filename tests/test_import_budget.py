"""What an unused feature costs: an event that no handler wants loads no model, no pluggy and no SQLite."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude.events import EVENTS, HOMES
from tests import processes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython
    from tests.processes import Place

NEVER = frozenset({"click", "rich", "markdown_it", "sqlite3", "subprocess", "asyncio", "pytest", "logging"})
MODELS = frozenset(HOMES[name] for name in EVENTS)
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
