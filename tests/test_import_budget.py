"""What an event costs in imports: nothing is loaded before it is needed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import formats
from holdfast.events import EVENTS
from tests import processes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython
    from tests.processes import Place

NEVER = frozenset({"click", "rich", "markdown_it", "sqlite3", "subprocess", "asyncio", "pytest", "logging"})
MODELS = frozenset(EVENTS.values())
# The modules of ours that an event of the shipped handlers may load in a project with a workflow, in whichever process.
# A few more than it does: what goes beyond was imported at the top of a module and belongs where it is used.
BUDGETS = {
    "PreToolUse-Bash": 64,
    "PreToolUse-TodoWrite": 104,
    "PostToolUse-Agent": 116,
    "UserPromptSubmit": 118,
    "PreCompact-auto": 139,
    "SessionStart-compact": 141,
}
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


def loaded_anywhere(place: Place, payload: dict[str, Any]) -> set[str]:
    """Return all modules that an event loads, in the engine's process and in those it forks."""
    out = place.root / "loaded"
    out.mkdir()
    script = "import os, site, sys; site.main(); sys.path.insert(0, sys.argv[1]); end = os._exit\n"
    script += "def told(code):\n"
    script += " open(os.path.join(sys.argv[2], str(os.getpid())), 'w').write('\\n'.join(sys.modules)); end(code)\n"
    script += "os._exit = told; from holdfast import engine; engine.main(None)\n"
    script += "try:\n while os.wait(): pass\nexcept ChildProcessError: told(0)"  # the handlers' child ends by itself
    command = [*processes.INTERPRETER, "-c", script, str(processes.SOURCE), str(out)]
    ended = processes.run(command, json.dumps(payload).encode(), place.environ(), place.root)
    assert ended.exit_code == 0, ended.stderr
    return {name for file in out.iterdir() for name in file.read_text().split()}


def as_installed(place: Place) -> None:
    """Switch the shipped handlers on, add one of the user's for Bash, and start a workflow in the test's session."""
    place.write(place.home / ".config" / "holdfast" / "holdfast.toml", "")
    place.user_handler("guard", "from holdfast import *\n@hookimpl(match='Bash')\ndef on_pre_tool_use(event): ...\n")
    command = [sys.executable, "-m", "holdfast", "start", "Bench", "--format", "hybrid", "--phase", "look @builder"]
    environ = place.environ(PYTHONPATH=str(processes.SOURCE), CLAUDE_CODE_SESSION_ID=processes.SESSION)
    ended = processes.run(command, b"", environ, place.root)
    assert ended.exit_code == 0, ended.stderr


def test_the_package_itself_loads_nothing(run_python: RunPython) -> None:
    """`import holdfast` loads neither pluggy nor pydantic, nor any module of its own."""
    loaded = loaded_by(run_python, "import holdfast")

    assert not {"pluggy", "pydantic", "json", *NEVER} & loaded
    assert {name for name in loaded if name.startswith("holdfast")} == {"holdfast"}


def test_an_event_nobody_handles_loads_no_model_and_no_pluggy(place: Place) -> None:
    """Where no handler wants the event, no model is loaded and nothing that calls handlers."""
    loaded = loaded_for(place, place.payload("Notification-permission_prompt"))

    assert "holdfast.engine" in loaded
    assert not {"pluggy", "holdfast.clients.claude.events.event", *MODELS} & loaded
    assert (
        not {
            "holdfast.dispatch.calls",
            "holdfast.dispatch.isolation",
            "holdfast.clients.claude.replies",
            "holdfast.plugins.context",
        }
        & loaded
    )
    assert not NEVER & loaded


@pytest.mark.parametrize(("name", "budget"), BUDGETS.items(), ids=list(BUDGETS))
def test_an_event_stays_within_its_budget(place: Place, name: str, budget: int) -> None:
    """Of Holdfast's own modules an event loads few more than it did when this was written.

    Records of formats aren't counted: whoever adds a format changes nothing here.
    """
    as_installed(place)

    ours = {each for each in loaded_anywhere(place, place.payload(name)) if each.startswith("holdfast")}
    ours -= {f"holdfast.formats.{each}{part}" for each in formats.OURS for part in ("", ".record")}

    assert {"holdfast.dispatch.calls", "holdfast.dispatch.isolation"} <= ours
    assert budget - 6 <= len(ours) <= budget, sorted(ours)
