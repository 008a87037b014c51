"""An event records its trace only on request, and its answer never depends on that."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.dispatch import trace
from tests import processes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython
    from tests.processes import Place

ADVISES = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): return advise('here')\n"
FAILS = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): 1 / 0\n"
ENDS = "import os\nfrom holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): os._exit(0)\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project of the test's own, without shipped handlers."""
    return processes.make(tmp_path)


def traced(place: Place, name: str = "PreToolUse-Bash") -> list[dict[str, Any]]:
    """Send an event with the variable set and return the lines that were written."""
    file = place.write("trace", "")
    ended = place.fire(place.payload(name), environ=place.environ(**{trace.VARIABLE: str(file)}))
    assert ended.exit_code == 0
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_cold_start_notes_its_points_in_their_order(place: Place) -> None:
    """Between the moments before and after it, on the clock that all processes share."""
    place.user_handler("advises", ADVISES)
    before = time.monotonic()
    (line,) = traced(place)
    inner = [line["points"][name] for name in trace.POINTS if name in line["points"]]
    moments = [before, *inner, time.monotonic()]

    assert list(line["points"]) == ["begun", "read", "found", "answered", "written", "delivered", "over"]
    assert moments == sorted(moments)


def test_each_call_says_when_it_was_loaded_and_called(place: Place) -> None:
    """Between the points of its event, one after another; one that fails, too."""
    place.user_handler("advises", ADVISES)
    place.user_handler("fails", FAILS)
    (line,) = traced(place)
    first, second = line["calls"]
    within = [line["points"]["found"], *first["moments"][2:], *second["moments"][2:], line["points"]["answered"]]

    assert (first["label"], first["fault"]) == ("user/advises.py: on_pre_tool_use", "")
    assert second["fault"].startswith("raised ZeroDivisionError")
    assert len(first["moments"]) == len(second["moments"]) == 4
    assert within == sorted(within)


def test_one_that_ended_its_process_has_what_its_parent_saw(place: Place) -> None:
    """Two moments: from when it was begun until it was buried."""
    place.user_handler("ends", ENDS)
    (line,) = traced(place)
    (call,) = line["calls"]
    begin, end = call["moments"]

    assert "ended its process" in call["fault"]
    assert line["points"]["found"] <= begin < end <= line["points"]["answered"]


def test_an_event_nobody_wants_says_so_much(place: Place) -> None:
    """It was read and nobody was found."""
    (line,) = traced(place)
    assert list(line["points"]) == ["begun", "read", "found", "over"]
    assert line["calls"] == []


def test_nothing_is_noted_unasked(place: Place) -> None:
    """Nor is a file made that was not there, or one written behind a link."""
    ended = place.fire(place.payload("PreToolUse-Bash"))
    assert ended.exit_code == 0
    target, link, none = place.write("target", ""), place.root / "link", place.root / "none"
    link.symlink_to(target)
    for file in (link, none, place.root):
        ended = place.fire(place.payload("PreToolUse-Bash"), environ=place.environ(**{trace.VARIABLE: str(file)}))
        assert (ended.exit_code, ended.stderr) == (0, "")
    assert target.read_text() == ""
    assert not none.exists()
    assert "error" not in place.log()


def test_the_module_is_loaded_only_where_it_is_asked_for(place: Place, run_python: RunPython) -> None:
    """An event that nobody asks about does not import it."""
    script = "import os, sys; os.environ.pop('HOLDFAST_TRACE', 0); from holdfast import engine; engine.passed('read'); "
    script += "engine.passed('over'); print('holdfast.dispatch.trace' in sys.modules)"
    assert run_python(script).split() == ["False"]
