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

    from tests.processes import Place

ADVISES = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): return advise('here')\n"


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
