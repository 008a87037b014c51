"""Holdfast reads a simulated transcript like one of the client's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.clients.claude.entries import Prompt
from holdfast.clients.claude.transcripts import Transcripts, read
from tools.survival.conversation import LIMIT_UNITS, as_delivered
from tools.survival.transcript import Transcript, summary_of

if TYPE_CHECKING:
    from pathlib import Path


def test_there_is_no_file_before_the_first_entry(tmp_path: Path) -> None:
    """As at a session's first events."""
    transcript = Transcript(tmp_path / "deep" / "a.jsonl", "a", "/project")
    assert not transcript.path.exists()
    transcript.asked("Hello.")
    assert [type(entry) for entry in read(str(transcript.path))] == [Prompt]


def test_guidance_is_confirmed_by_what_hooks_said_and_absent_without(tmp_path: Path) -> None:
    """After the boundary and an answer."""
    transcript = Transcript(tmp_path / "a.jsonl", "a", "/project")
    path = str(transcript.path)
    transcript.asked("Hello.")
    since = Transcripts().size(path)
    transcript.compacted("auto", summary_of(["fact"]), transcript.last)
    assert Transcripts().reached(path, "abcdef", since) == "unknown"
    transcript.told("SessionStart", "compact", ["a mark: abcdef"])
    transcript.answered("Yes.")
    assert Transcripts().reached(path, "abcdef", since) == "confirmed"
    assert Transcripts().reached(path, "fedcba", since) == "absent"
    assert Transcripts().compacted(path, since)
    assert not Transcripts().compacted(path, Transcripts().size(path))


def test_entries_follow_one_another_and_a_boundary_names_the_last_one_before_it(tmp_path: Path) -> None:
    """`parentUuid` chains; the boundary begins anew, with `logicalParentUuid`."""
    transcript = Transcript(tmp_path / "a.jsonl", "a", "/project")
    transcript.asked("Hello.")
    transcript.answered("Yes.")
    transcript.asked("More.")
    transcript.compacted("manual", "Short.", transcript.last)
    entries = [json.loads(line) for line in transcript.path.read_text().splitlines()]
    assert [entry["parentUuid"] for entry in entries[:4]] == [None, *(entry["uuid"] for entry in entries[:2]), None]
    assert entries[3]["logicalParentUuid"] == entries[2]["uuid"]
    assert entries[4]["isCompactSummary"]
    assert len({entry["uuid"] for entry in entries}) == len(entries)


def test_a_fork_shares_its_beginning(tmp_path: Path) -> None:
    """The entries under their old ids, in a file of its own (client fact §2.5)."""
    transcript = Transcript(tmp_path / "a.jsonl", "a", "/project")
    transcript.asked("Hello.")
    heir = transcript.forked(tmp_path / "b.jsonl", "b")
    heir.answered("Yes.")
    assert Transcripts().shares(str(heir.path), str(transcript.path))
    entries = [json.loads(line) for line in heir.path.read_text().splitlines()]
    assert [entry["sessionId"] for entry in entries] == ["b", "b"]
    assert entries[1]["parentUuid"] == entries[0]["uuid"]
    stranger = Transcript(tmp_path / "c.jsonl", "c", "/project")
    stranger.asked("Hello.")
    assert not Transcripts().shares(str(stranger.path), str(transcript.path))


def test_the_client_cuts_what_is_too_long() -> None:
    """10,000 UTF-16 units pass whole, one more becomes a preview of 2 KB (client fact §1.9)."""
    assert as_delivered("x" * LIMIT_UNITS) == "x" * LIMIT_UNITS
    assert as_delivered("🧵" * (LIMIT_UNITS // 2)) == "🧵" * (LIMIT_UNITS // 2)
    cut = as_delivered("line\n" * LIMIT_UNITS)
    assert cut.startswith("<persisted-output>\nOutput too large.")
    assert len(cut) < 2_200
    assert as_delivered("🧵" * (LIMIT_UNITS // 2) + "x") != "🧵" * (LIMIT_UNITS // 2) + "x"
