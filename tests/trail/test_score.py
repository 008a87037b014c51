"""The score of a session without a workflow: of 29 facts planted in its transcript, how many the model gets back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from holdfast.clients.claude import claude
from holdfast.trail import text as trail
from holdfast.workflow import wording
from tests.tables import each_row
from tests.trail.transcribed import CLIENTS, HOME, Transcript
from tools.survival import ordinary
from tools.survival.ordinary import CLIENTS_OWN, GOAL, PLANTED, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

TOOLS = get_args(Tool)
FOREIGN = (
    *("CANARY-SIDECHAIN", "CANARY-OLD-TODO", "CANARY-FIXED", "CANARY-QUEUED-BY-A-MACHINE", "CANARY-EXPANSION"),
    *("Caveat", "/compact", "keep the decision", "Compacted", "holdfast/run", *CLIENTS_OWN),
)


def plant(written: Transcript, tool: Tool, between: Callable[[int], None] = lambda part: None) -> list[str]:
    """Let an ordinary session do its work in four parts, and return the 29 facts a successor must know."""
    written.branch = "feature/canary-branch"
    planted = ordinary.plant(written, tool, between, mark="CANARY", branch=written.branch)
    assert len(planted.facts) == PLANTED
    assert {*FOREIGN} >= planted.machine | planted.stale
    return [fact.needle for fact in planted.facts]


def given(path: Path, branch: str | None = None) -> str:
    """Return what the model would get for a transcript, and hold what always holds."""
    text, mark = trail.text(claude.reader().trail(str(path)), branch=branch, root=Path(HOME))
    assert wording.units(text) <= 3_000
    assert text.count(f"<workflow-data-{mark}>") == text.count(f"</workflow-data-{mark}>") == 1
    assert [word for word in FOREIGN if word in text] == []
    return text


def score(text: str, planted: list[str]) -> int:
    """Return how many of the planted facts stand in the text; the rest is named where a goal is missed."""
    missing = [fact for fact in planted if fact not in text]
    print("missing:", missing)
    return len(planted) - len(missing)


@each_row("client", CLIENTS)
@each_row("tool", TOOLS)
def test_trail_keeps_all_facts_over_three_compactions(tmp_path: Path, client: str, tool: Tool) -> None:
    """The trail goes back beyond the last compaction: what came before an earlier one is not lost with its summary."""
    written = Transcript(client)
    planted = plant(written, tool, lambda part: written.compact() if part < 4 else None)
    boundaries = [entry for entry in written.entries if entry.get("subtype") == "compact_boundary"]
    assert len(boundaries) == 3
    text = given(written.file(tmp_path / "s.jsonl"))
    assert score(text, planted) >= GOAL
    if tool == "neither":
        assert "Write parser" not in text


@each_row("tool", TOOLS)
def test_of_a_session_of_forty_megabytes_the_end_is_enough(tmp_path: Path, tool: Tool) -> None:
    """Only the last four megabytes are read; what lies before them is not known, and nothing else is lost."""
    written = Transcript()
    filler = "0123456789abcdef\n" * 1_200

    def work(part: int) -> None:
        for number in range(20):
            written.read(f"{HOME}/src/module_{number % 5}.py", filler)
            written.run(f"wc -l src/module_{number}.py", "20")

    written.say("TOO-LONG-AGO: another thing.")
    work(0)
    early = written.entries
    written.entries = []
    planted = plant(written, tool, work)
    path = tmp_path / "s.jsonl"
    end = written.file(path).read_bytes()
    assert 3 << 20 < len(end) < 4 << 20
    written.entries = early
    begin = written.file(path).read_bytes()
    with path.open("wb") as out:
        for _ in range((40 << 20) // len(begin)):
            out.write(begin)
        out.write(end)
    assert path.stat().st_size > 40 << 20
    text = given(path)
    assert score(text, planted) >= GOAL
    assert text.count("TOO-LONG-AGO") <= 1


@each_row("tool", TOOLS)
def test_emoji_right_to_left_and_control_characters(tmp_path: Path, tool: Tool) -> None:
    """Emoji and right-to-left text arrive, controls do not, and the cap holds in the client's units."""
    written = Transcript()
    planted = plant(written, tool, lambda part: written.say(f"part {part}: \x1b[31m👩‍👩‍👧 تطوير\x07 \u202e\x00 日本語"))
    for entry in written.entries:
        content = entry.get("message", {}).get("content")
        if isinstance(content, list) and content[0].get("type") == "text" and "CANARY" in content[0]["text"]:
            content[0]["text"] = content[0]["text"].replace("CANARY", "\x00CAN\x08ARY\u202e") + " 🚀\u2066تم\r\x85"
    text = given(written.file(tmp_path / "s.jsonl"))
    assert score(text, planted) >= GOAL
    assert "👩‍👩‍👧 تطوير 日本語" in text
    assert "🚀تم" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)


def test_a_session_with_very_much_of_everything_gets_some_of_each(tmp_path: Path) -> None:
    """No kind of fact crowds out the others: must-keeps first, and a number for what is left out."""
    written = Transcript()
    long = " and so on and so on" * 40
    for number in range(60):
        written.say(f"request {number}, never forget{long}")
        written.edit(f"{HOME}/src/{'deep/' * 10}file_{number}.py", create=True)
        written.run(f"make target_{number}{long}", f"error: target_{number}{long}", failed=True)
        written.background(f"serve {number}{long}", f"b{number:08}")
    written.todos(*[(f"todo {number}{long}", "pending") for number in range(60)])
    text = given(written.file(tmp_path / "s.jsonl"), branch="main")
    for newest in ("request 59,", "todo 0 ", "target_59", "serve 59 ", "file_59.py"):
        assert newest in text
    assert text.count("more") >= 5
