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

SEARCH = frozenset({"importlib.metadata", "importlib_metadata", "pkg_resources"})  # for other packages' entry points
NEVER = SEARCH | frozenset({"click", "rich", "markdown_it", "sqlite3", "subprocess", "asyncio", "pytest", "logging"})
MODELS = frozenset(EVENTS.values())
# The modules of ours that an event of the shipped handlers may load in a project with a workflow, in whichever process.
# A few more than it does: what goes beyond was imported at the top of a module and belongs where it is used.
BUDGETS = {
    "PreToolUse-Bash": 68,
    "PreToolUse-TodoWrite": 108,
    "PostToolUse-Agent": 120,
    "UserPromptSubmit": 122,
    "PreCompact-auto": 143,
    "SessionStart-compact": 145,
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


@pytest.mark.parametrize("name", BUDGETS)
def test_no_event_searches_the_installed_packages(place: Place, name: str) -> None:
    """Neither Holdfast nor pydantic for it looks for other packages' entry points, nor has it what that takes."""
    as_installed(place)

    loaded = loaded_anywhere(place, place.payload(name))

    assert "pydantic" in loaded
    assert not {*SEARCH, "pydantic.plugin._loader", "click", "rich"} & loaded


def test_a_handlers_own_models_find_their_plugins(place: Place) -> None:
    """What is left out for our models is there for those that a handler defines."""
    place.user_handler(
        "own",
        """\
        from holdfast import *
        @hookimpl
        def on_pre_tool_use(event):
            import sys
            from pydantic import BaseModel
            class Own(BaseModel):
                name: str
            Own(name="x")
            return advise(str(hasattr(sys.modules["pydantic.plugin._loader"], "entry_points")))
        """,
    )

    assert place.fire(place.payload("PreToolUse-Bash")).advice == "True"
