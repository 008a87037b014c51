"""A client that runs no process and writes no transcripts, for tests of what needs none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.files.transcript import Trail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from re import Pattern

    from holdfast.files.agent_runs import AgentRuns
    from holdfast.files.transcript import Noted, Notice, Reached, Returned, Run, Tokens, Transcripts, Work


class NoClient:
    """The client of a project that was opened without one."""

    NAME = START_EVENT = PROMPT_EVENT = CALL_EVENT = ""

    def process(self, environ: Mapping[str, str]) -> None:
        """Return None."""

    def attended(self, environ: Mapping[str, str]) -> bool:
        """Return True."""
        return True

    def marks_agents(self, environ: Mapping[str, str]) -> bool:
        """Return False."""
        return False

    def reader(self) -> Transcripts:
        """Return a reader that reads nothing."""
        return Unread()

    def agent_runs(self) -> AgentRuns:
        """Return a reader that reads nothing."""
        return NoRuns()


class Unread:
    """Reads nothing: the transcripts of a project that was opened without its client."""

    TAIL_BYTES = 0

    def find(self, path: str) -> str:
        """Return the path."""
        return path

    def size(self, path: str) -> int:
        """Return 0."""
        return 0

    def tail(self, path: str) -> list[dict[str, Any]]:
        """Return no entries."""
        return []

    def reading(
        self, path: str, at: int, *, since: int = 0, files: bool = True
    ) -> tuple[Sequence[Noted], Sequence[Noted], int]:
        """Return no entries."""
        return [], [], 0

    def notices(self, path: str, *, most: int = 0) -> Iterator[tuple[Notice, object]]:
        """Yield none."""
        return iter(())

    def returned(self, path: str, calls: Iterable[str], *, most: int) -> Iterator[Returned]:
        """Yield none."""
        return iter(())

    def agent_prompt(self, path: str, agent: str) -> str:
        """Return an empty text."""
        return ""

    def reached(self, path: str, mark: str, since: int, after: str = "") -> Reached:
        """Return "unknown"."""
        return "unknown"

    def compacted(self, path: str, since: int, after: str = "") -> bool:
        """Return False."""
        return False

    def shares(self, path: str, other: str) -> bool:
        """Return False."""
        return False

    def trail(self, entries: Sequence[dict[str, Any]]) -> Trail:
        """Return an empty trail."""
        return Trail()

    def work(self, entries: Sequence[dict[str, Any]]) -> Sequence[Work]:
        """Return nothing."""
        return ()

    def edited(self, path: str) -> Sequence[str]:
        """Return no files."""
        return ()

    def edited_since(self, path: str, since: str) -> bool:
        """Return False."""
        return False

    def usage(self, path: str, since: str = "") -> Mapping[str, Tokens] | None:
        """Return None."""
        return None

    def runs(self, path: str, commands: Pattern[str], *, aside: bool = False) -> Sequence[Run]:
        """Return no runs."""
        return ()


class NoRuns:
    """The files of a client that starts no agents by scripts."""

    def run_of(self, transcript: str) -> str:
        """Return an empty string."""
        return ""

    def named_in(self, text: str) -> list[str]:
        """Return an empty list."""
        return []

    def folder(self, transcript: str, run: str) -> None:
        """Return None."""

    def journal(self, folder: Path) -> None:
        """Return None."""

    def ended(self, folder: Path) -> str:
        """Return an empty string."""
        return ""

    def script(self, transcript: str, given: Mapping[str, Any], root: Path) -> None:
        """Return None."""

    def script_name(self, script: str) -> str:
        """Return an empty string."""
        return ""

    def carry(self, folder: Path, target: Path) -> bool:
        """Return False."""
        return False

    def carry_agent(self, transcript: str, agent: str, target: str) -> bool:
        """Return False."""
        return False
