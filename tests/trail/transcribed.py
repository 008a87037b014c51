"""Writes transcripts of sessions as long as a test needs, each entry in a shape that a client really wrote."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING

from holdfast.clients.claude import trail
from holdfast.clients.claude.entries import typed
from holdfast.testkit import agent
from tests.processes import ROOT
from tools.survival.worklog import Entry, Worked, shape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.clients.client import Trail

WRITTEN = ROOT / "tests" / "sessions" / "transcripts"
CLIENTS = ("2.1.329", "2.1.197")
HOME = "/home/user/project"
TASKS = "/home/user/home/tmp/claude/-home-user-project/5f80ac27-825a-4796-9275-db0f3edb624f/tasks"


@cache
def written(client: str) -> tuple[Entry, ...]:
    """Return all entries of what a client wrote: with TodoWrite, then with the Task tools."""
    files = [WRITTEN / f"worked-{client}-{tool}.jsonl" for tool in ("todo", "tasks")]
    return tuple(json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines())


class Transcript(Worked):
    """A session's transcript in the making; every method adds the entries that one of the clients would write."""

    home, tasks = HOME, TASKS

    def __init__(self, client: str = CLIENTS[0], branch: str = "HEAD") -> None:
        self.client, self.branch = client, branch
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Add a copy of an entry under an id of its own."""
        made = copy.deepcopy(entry)
        made["uuid"] = f"00000000-0000-4000-8000-{len(self.entries):012}"
        if "gitBranch" in made:
            made["gitBranch"] = self.branch
        self.entries.append(made)

    def shape(self, kind: str) -> Entry:
        return shape(kind, written(self.client))

    def compact(self) -> None:
        """Add what the client itself wrote around its compaction, all of it: boundary, summary, command, files."""
        entries = [entry for entry in written(self.client) if entry["type"] in ("user", "system", "attachment")]
        start = next(number for number, entry in enumerate(entries) if entry.get("subtype") == "compact_boundary")
        for entry in entries[start:]:
            if "promptSource" in entry:
                return
            if entry.get("attachment", {}).get("type") != "task_status":  # of jobs this session never started
                self.add(entry)

    def file(self, path: Path) -> Path:
        """Write the transcript as the client does, an entry a line."""
        with path.open("w", encoding="utf-8", errors="surrogatepass") as out:
            for entry in self.entries:
                out.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
        return path


def read(entries: Sequence[object]) -> Trail:
    """Return the trail of a transcript's entries."""
    return trail.trail(typed((at, each) for at, each in enumerate(entries) if isinstance(each, dict)))


def notification(id: str, summary: str, status: str, result: str = "") -> str:
    """Return a notification as both clients write it."""
    told = {"task-id": id, "status": status, "summary": summary, "result": result}
    return agent.notification(str(shape("notification", written(CLIENTS[0]))["message"]["content"]), told)
