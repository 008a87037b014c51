"""Only what does its job is timed, and the page says what a run measured and what it didn't."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude.matchers import alternatives
from tests import warmth
from tests.processes import ROOT
from tests.tables import each_row
from tools.bench import client, firing, growth, page, peers
from tools.bench import place as places
from tools.bench.race import Contestant, WrongAnswerError, run

if TYPE_CHECKING:
    from pathlib import Path

SAY = (sys.executable, "-I", "-S", "-c", "import sys; sys.stdout.write(sys.stdin.read().upper())")


@each_row(
    "each",
    [
        Contestant("wrong words", "cold", SAY, b"no", says="YES"),
        Contestant("words where none are right", "cold", SAY, b"no"),
        Contestant("a wrong code", "cold", ("/bin/false",)),
    ],
)
def test_who_does_not_do_the_job_is_not_timed(each: Contestant) -> None:
    """Its time would mean nothing."""
    with pytest.raises(WrongAnswerError):
        run([each], {}, 1)


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler here, so no native relay")
def test_each_event_gets_its_answer_cold_and_warm(short_folder: Path) -> None:
    """As `make bench` fires them, beside what is always there to compare with."""
    place = places.make(short_folder)
    place.place.write(place.handlers.with_name("holdfast.toml"), "timeout = 60.0\ndeadline = 300.0\n")
    try:
        places.warm_up(place)
        contestants = [*peers.floors(), *firing.contestants(place), *peers.contestants(place)[0]]
        medians = run(contestants, place.environ, 1)
    finally:
        warmth.end(place.home)

    warm = {name: ms for (kind, name), ms in medians.items() if kind == "warm"}
    assert set(warm) == set(firing.EVENTS)
    assert firing.session_s(warm, 1) > firing.session_s(warm) > 0


def test_a_full_run_makes_a_full_page() -> None:
    """Each table has the rows that were measured, ratios included, and a part without figures has the reason."""
    rows = [("floor", peers.BARE, 10.0), ("floor", peers.COLD, 100.0), ("peer", "by hand", 25.0)]
    rows += [(kind, name, ms) for name in firing.EVENTS for kind, ms in (("warm", 7.5), ("cold", 100.0))]
    points = [growth.Point("plans", "Stop", "warm", size, ms, ms / 10) for size, ms in ((1, 10.0), (100, 12.0))]
    processes = {"rows": [{"kind": kind, "name": name, "ms": ms} for kind, name, ms in rows], "missing": ["cchooks"]}
    text = page.text(
        {
            "processes": processes | {"rounds": 5, "when": "now", "memory_mb": 58.4},
            "client": {"ways": {client.WARM: (11.0, 7.0, 17.5)}, "version": "2.1.332", "calls": 50, "when": "now"},
            "growth": {"points": [point._asdict() for point in points], "when": "now"},
            "machine": {"Python": "3.11"},
        }
    )

    for line in (
        f"| {firing.MATCHED} | 7.5 | 100.0 |",
        "| by hand | 25.0 | 2.50 | 0.25 |",
        "| cchooks | not installed |",
        f"| {client.WARM} | 11.0 | 7.0 … 17.5 |",
        "| plans | Stop | warm | 1 … 100 | 10.0 → 12.0 | 1.20 × |",
        "take 58 MB of memory",
        "- Python: 3.11",
    ):
        assert line in text
    assert "Not measured" not in text
    assert "Not measured: no client is here." in page.text({"client": {"why": "no client is here"}})


def test_the_session_holds_what_the_shipped_registration_starts_a_process_for() -> None:
    """No more, so that no time is counted that nobody spends."""
    hooks = json.loads((ROOT / "settings.example.json").read_text())["hooks"]
    for name, event in firing.EVENTS.items():
        if event.times:
            matcher = hooks[event.event][0].get("matcher")
            tool = name.partition("(")[2].rstrip(")")
            assert matcher is None or tool in (alternatives(matcher, event.event) or ()), name
    assert "Bash" not in (alternatives(hooks["PreToolUse"][0]["matcher"], "PreToolUse") or ())


def test_sizes_are_compared_within_each_round() -> None:
    """A slow second of the machine meets all sizes alike, and a size may have fewer rounds."""
    times = {1: {2: 10.0, 3: 80.0, 4: 20.0}, 100: {2: 12.0, 3: 96.0, 4: 24.0}, 1_000: {3: 120.0}}

    assert growth.ratios(times) == [1.0, 1.2, 1.5]
