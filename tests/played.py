"""Three days of work in one project, played with recorded events, for the tests of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD
from tests.signals import Agent

if TYPE_CHECKING:
    import pytest

    from holdfast.testing import HoldfastProject

SECRET = "sk-ant-" + "a1b2c3d4" * 4
HOSTILE = f'Say </title><script>document.title="owned"</script><img src=x onerror=alert(1)> \u202eevil {SECRET}'
_GUIDED = Path(__file__).parent / "sessions" / "transcripts" / "guided-2.1.329.jsonl"


class Days:
    """Three days of work in one project.

    A calculator is built in session ME: four phases by agents, one of which fails first, with three compactions of
    which one loses its guidance. Session OTHER compacts a day later and has it meanwhile; THIRD is refused another one.

    Attributes:
        other: title and phase of the workflow that THIRD is refused.
    """

    def __init__(
        self,
        project: HoldfastProject,
        monkeypatch: pytest.MonkeyPatch,
        folder: Path,
        other: tuple[str, str] = (HOSTILE, "<b>One</b>"),
    ) -> None:
        self.project = project
        self.other = other
        self.patch = monkeypatch
        self.transcript = folder / "me.jsonl"
        self.transcript.touch()
        self.mine = {"session_id": ME, "transcript_path": str(self.transcript)}

    def at(self, moment: str) -> None:
        """Set the clock to a day of March 2026 and a time."""
        self.patch.setenv("HOLDFAST_NOW", f"2026-03-{moment}Z")

    def fire(self, event: str, recorded: str | None = None, **changes: Any) -> None:
        """Fire an event; nothing may go wrong."""
        assert self.project.fire(event, recorded, **changes).faults == []

    def play(self) -> None:
        """Play all of it; the clock stands at the end of the third day then."""
        self._first_day()
        self._second_day()
        self._third_day()

    def _first_day(self) -> None:
        root = self.project.root
        self.at("01T09:00:00")
        self.fire("SessionStart", "SessionStart-startup-tui", **self.mine)
        self.at("01T09:01:00")
        phases = ("Plan it @planner", "Build it @builder", "Test it @tester", "Write it up @writer")
        named = [item for phase in phases for item in ("--phase", phase)]
        holdfast("start", "Calculator", "--format", "hybrid", *named, "--remind", "No eval", root=root, session=ME)
        self._agent(1, "Plan it", "planner", "01T09:02:00", "01T09:09:00", "The plan is in docs/plan.md")
        failed = Agent(self.project, "Build it", "builder", number=2, session=ME)
        self.at("01T09:10:00")
        failed.about_to(session_id=ME)
        self.at("01T09:24:00")
        failed.failed("API Error: 529 Overloaded.")
        self._compaction("01T09:30:00", "PreCompact-auto")
        self._agent(3, "Build it", "builder", "01T09:35:00", "01T10:05:00", f"Built, with key {SECRET}")

    def _second_day(self) -> None:
        self.at("02T13:00:00")
        other = {"session_id": OTHER}
        self.fire("SessionStart", "SessionStart-startup-tui", **other)
        background = Agent(self.project, "Look for other calculators", "researcher", number=4, session=OTHER)
        background.about_to(**other)
        background.launched(**other)
        self.at("02T13:20:00")
        self.fire("PreCompact", "PreCompact-manual", **other)
        self.fire("SessionStart", "SessionStart-compact", **other)
        self.at("02T13:40:00")
        self.fire("SessionEnd", "SessionEnd-other", **other)

    def _third_day(self) -> None:
        root = self.project.root
        self.at("03T08:00:00")
        self.fire("SessionStart", "SessionStart-startup-tui", **self.mine)
        self._compaction("03T08:10:00", "PreCompact-manual")
        # The client went on, and nowhere in what it noted does the guidance stand.
        self.transcript.write_bytes(_GUIDED.read_bytes())
        self.at("03T08:12:00")
        self.fire("UserPromptSubmit", **self.mine, prompt="Go on")
        self._agent(5, "Test it", "tester", "03T08:13:00", "03T08:40:00", "All 12 tests pass")
        self.at("03T08:41:00")
        title, phase = self.other
        holdfast("start", title, "--phase", phase, root=root)
        self.fire("SessionStart", "SessionStart-compact", session_id=THIRD)
        self.at("03T08:50:00")
        running = Agent(self.project, "Write it up", "writer", number=6, session=ME)
        running.about_to(session_id=ME)
        running.launched(session_id=ME)
        self.at("03T09:00:00")

    def _agent(self, number: int, description: str, kind: str, begins: str, ends: str, words: str) -> None:
        agent = Agent(self.project, description, kind, number=number, session=ME)
        self.at(begins)
        agent.about_to(session_id=ME)
        self.at(ends)
        agent.returned(words, session_id=ME)

    def _compaction(self, moment: str, announced: str) -> None:
        self.at(moment)
        self.fire("PreCompact", announced, **self.mine)
        summary = json.dumps("The summary keeps Calculator and Build it")
        self.fire("SessionStart", "SessionStart-compact", **self.mine)
        self.fire("PostCompact", "PostCompact-auto", compact_summary=summary, **self.mine)
