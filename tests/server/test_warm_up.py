"""What is loaded before any event: everything that shipped handlers need, found in their texts."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast import events, paths
from holdfast.server import rehearsal
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython

HANDLERS = sorted(paths.shipped("handlers").glob("*.py"))
LOADED = (
    "from holdfast.server import rehearsal; rehearsal.warm_up(); import json, sys; "
    "print(json.dumps(sorted(sys.modules)))"
)


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules of a process that is warm."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=500)
    return set(json.loads(done.stdout))


def imports(file: Path) -> set[str]:
    """Return the modules that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{each.name}" for each in node.names]
            found |= {node.module, *(name for name in names if is_module(name))}
    return found


def is_module(name: str) -> bool:
    """Return whether a dotted name is a module's."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("file", HANDLERS, ids=lambda file: file.stem)
def test_what_a_shipped_handler_imports_is_loaded(file: Path, loaded: set[str]) -> None:
    """Also inside its functions, of ours and of others; only what is for types is not needed."""
    wanted = {name for name in imports(file) if name not in ("__future__", "typing", "collections.abc")}
    assert wanted
    assert wanted - loaded == set()


def test_what_the_public_api_reaches_is_loaded_once(loaded: set[str]) -> None:
    """Its functions load modules that no handler names; a package under a second name would be run twice."""
    assert {"holdfast.sessions.compaction.restoration", "holdfast.install.upkeep"} <= loaded
    assert not {name for name in loaded if name.startswith("holdfast") and name.endswith("__init__")}


OWN = {
    "none": ("", False),
    "off": ("OFF_BY_DEFAULT = True\n@hookimpl\ndef on_notification(event): import pydantic\n", False),
    "on": ("@hookimpl\ndef on_notification(event): import pydantic\n", True),
}
"""A handler of the user's, and whether it runs."""


@pytest.mark.parametrize(("text", "runs"), OWN.values(), ids=OWN)
def test_the_rest_is_loaded_for_the_users_handlers(home: Path, run_python: RunPython, text: str, *, runs: bool) -> None:
    """The model of an event that no other handler wants, and what pydantic's search for plugins takes, but not made.

    A handler's own models search in their event's process; ours were built without, and no plugin's code runs here.
    Loading what the search needs takes 15 ms and more, and the search itself 3.
    """
    folder = paths.ensure_private(paths.user_handlers())
    (folder / "mine.py").write_text(f"from holdfast import *\n{text}", "utf-8")
    script = "from holdfast.server import rehearsal; rehearsal.warm_up(); import sys; "
    script += f"models = [sys.modules.get(each) for each in ({events.EVENTS['Notification']!r}, rehearsal.LOADER)]; "
    script += "print([bool(each) for each in models], getattr(models[1], '_plugins', None))"

    assert run_python(script).strip() == f"{[runs] * 2} None"


def test_the_events_of_the_shipped_handlers_are_loaded(loaded: set[str]) -> None:
    """With their models."""
    assert {events.EVENTS[name] for name in ("PreToolUse", "PreCompact", "UserPromptSubmit", "Stop")} <= loaded


@each_row("name", [*(f"holdfast.{each}" for each in rehearsal._ENGINE), *rehearsal._PACKAGES])
def test_every_name_in_the_lists_is_a_module(name: str) -> None:
    """One that is misspelt would be passed over without a word."""
    assert is_module(name)


def test_names_of_ours_are_found_in_functions_too(tmp_path: Path) -> None:
    """A handler imports late what not every event needs."""
    file = tmp_path / "x.py"
    file.write_text(
        "import os\nfrom json import loads\nfrom holdfast.sessions.ownership import owners\n"
        "def on_stop():\n    from holdfast.workflow import registry, guidance as g\n"
    )
    found = rehearsal.imported(file)
    ours = ("sessions.ownership.owners", "workflow.registry", "workflow.guidance")
    assert {f"holdfast.{name}" for name in ours} <= set(found)
    assert not {name for name in found if not name.startswith("holdfast")}


def test_a_package_that_is_missing_costs_only_itself(run_python: RunPython) -> None:
    """Whatever needs it says so when an event comes."""
    script = "import sys; sys.modules['sqlite3'] = None; from holdfast.server import rehearsal; rehearsal.warm_up(); "
    script += "print('holdfast.engine' in sys.modules, 'difflib' in sys.modules)"
    assert run_python(script).split() == ["True", "True"]


def test_every_model_is_finished(run_python: RunPython) -> None:
    """One that pydantic finishes at its first use would be finished again in each child."""
    script = "from holdfast.server import rehearsal; rehearsal.warm_up(); "
    script += "found = [m for m in rehearsal._subclasses(rehearsal.BaseModel) if m.__module__.startswith('holdfast')]; "
    script += "print(len(found), [m.__name__ for m in found if not m.__pydantic_complete__])"
    count, _, unfinished = run_python(script).strip().partition(" ")
    assert int(count) > 12
    assert unfinished == "[]"
