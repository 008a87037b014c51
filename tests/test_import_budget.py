"""What an event costs in imports: nothing is loaded before it is needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.events import EVENTS
from tests import processes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython
    from tests.processes import Place

NEVER = frozenset({"click", "rich", "sqlite3", "subprocess", "asyncio", "pytest", "logging"})
FAMILIES = frozenset(EVENTS.values())
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


def test_what_a_handler_imports_costs_only_itself(run_python: RunPython) -> None:
    """The marker and the outcomes load pluggy, but no pydantic and no event."""
    loaded = loaded_by(run_python, "from holdfast import hookimpl, deny")

    assert "pluggy" in loaded
    assert not {"pydantic", "holdfast.events", "holdfast.loader", "holdfast.engine"} & loaded


def test_naming_the_events_loads_no_model(run_python: RunPython) -> None:
    """`holdfast.events` knows all names without pydantic."""
    loaded = loaded_by(run_python, "from holdfast.events import EVENTS, HOOK_NAMES, snake")

    assert not {"pydantic", "holdfast.events.event", *FAMILIES} & loaded


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_model_loads_its_family_alone(run_python: RunPython, family: str) -> None:
    """Of the families of events only the one that is asked for is loaded."""
    name = next(event for event, home in EVENTS.items() if home == family)
    loaded = loaded_by(run_python, f"from holdfast.events import model; model({name!r})")

    assert loaded & FAMILIES == {family}
    assert not NEVER & loaded


def test_an_event_nobody_handles_loads_no_model_and_no_pluggy(place: Place) -> None:
    """Where no handler wants the event, no model is loaded and nothing that calls handlers."""
    loaded = loaded_for(place, place.payload("Notification-permission_prompt"))

    assert "holdfast.engine" in loaded
    assert not {"pluggy", "holdfast.events.event", *FAMILIES} & loaded
    assert not {"holdfast.calls", "holdfast.isolation", "holdfast.merging", "holdfast.context"} & loaded
    assert not NEVER & loaded


def test_an_event_of_another_tool_loads_no_pluggy(place: Place) -> None:
    """Where a handler wants the event but not this tool, the model is loaded to see that, and no more."""
    place.user_handler("reads", "from holdfast import *\n@hookimpl(match='Read')\ndef on_pre_tool_use(event): ...\n")
    loaded = loaded_for(place, place.payload("PreToolUse-Bash"))

    assert loaded & FAMILIES == {"holdfast.events.tools"}
    assert not {"pluggy", "holdfast.calls", "holdfast.isolation", "holdfast.merging", *NEVER} & loaded


def test_a_handled_event_loads_one_family_and_no_workflow(place: Place) -> None:
    """A handler of a stranger's costs its event's family, pluggy and the merging: no ledger, no right wing."""
    place.user_handler("all", "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): return advise('x')\n")
    loaded = loaded_for(place, place.payload("PreToolUse-Bash"))

    assert loaded & FAMILIES == {"holdfast.events.tools"}
    assert {"pluggy", "holdfast.calls", "holdfast.merging"} <= loaded
    assert not {name for name in loaded if name.startswith(("holdfast.workflow", "holdfast.survival"))}
    assert not {"holdfast.state.ledger", *NEVER} & loaded


def test_the_shipped_handlers_cost_a_plain_tool_call_nothing(place: Place) -> None:
    """As installed, a Bash call loads no right wing and no ledger into the engine's process."""
    place.write(place.home / ".config" / "holdfast" / "holdfast.toml", "")
    loaded = loaded_for(place, place.payload("PreToolUse-Bash"))

    assert not {name for name in loaded if name.startswith(("holdfast.workflow", "holdfast.survival"))}
    assert not {"pluggy", "holdfast.state.ledger", *NEVER} & loaded
