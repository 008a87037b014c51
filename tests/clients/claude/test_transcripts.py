"""Transcripts that the real clients wrote are read within bounds (tests/sessions/transcripts)."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.claude import transcripts
from holdfast.clients.claude.entries import Attachment, Prompt
from holdfast.clients.claude.transcripts import read
from holdfast.clients.client import Trail
from tests.tables import each_row

reader = transcripts.Transcripts()

WRITTEN = Path(__file__).parents[2] / "sessions" / "transcripts"
CLIENTS = ("2.1.329", "2.1.197")
MARK = "RESTORED AFTER COMPACTION"


def written(name: str) -> bytes:
    """Return a transcript as a client wrote it."""
    return (WRITTEN / f"{name}.jsonl").read_bytes()


def places(data: bytes, words: bytes) -> list[int]:
    """Return where the lines begin that hold these words."""
    found, place = [], 0
    for line in data.splitlines(keepends=True):
        found += [place] if words in line else []
        place += len(line)
    return found


def put(tmp_path: Path, data: bytes) -> str:
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "session.jsonl"
    path.write_bytes(data)
    return str(path)


def said(path: str, **bounds: Any) -> list[str]:
    """Return the prompts that are read."""
    return [entry.text for entry in read(path, **bounds) if isinstance(entry, Prompt)]


def prompts(*words: str) -> list[bytes]:
    """Return a line for each prompt."""
    return [json.dumps({"type": "user", "message": {"content": each}}).encode() for each in words]


@each_row("client", CLIENTS)
@each_row("name", ["guided", "worked", "clear", "fork"])
def test_entries_are_read_and_the_clients_own_notes_are_not(client: str, name: str) -> None:
    """Prompts, answers, results and attachments are there; requests as they were sent are left out."""
    name = f"{name}-{client}{'-tasks' if name == 'worked' else ''}"
    entries = list(read(str(WRITTEN / f"{name}.jsonl")))
    assert "prompt_snapshot" not in {entry.kind for entry in entries if isinstance(entry, Attachment)}
    everything = [json.loads(line) for line in written(name).splitlines()]
    own = {each["uuid"] for each in everything if each["type"] in ("user", "assistant") and not each["isSidechain"]}
    assert own <= {entry.line.uuid for entry in entries}


@each_row("most", [1, 500, 5_000, 20_000])
def test_only_the_end_is_read(tmp_path: Path, most: int) -> None:
    """So many bytes and no more, whole lines of them, oldest first."""
    data = written("worked-2.1.197-todo")
    path = put(tmp_path, data)
    entries, everything = list(read(path, most=most)), list(read(path))
    assert len(entries) < len(everything)
    expected = everything[len(everything) - len(entries) :]
    assert [entry.line for entry in entries] == [entry.line for entry in expected]
    assert all(entry.line.offset >= len(data) - most for entry in entries)
    assert all(data[entry.line.offset :].startswith(b"{") for entry in entries)


def test_what_was_shown_before_a_compaction_does_not_count(tmp_path: Path) -> None:
    """While one is awaited, nothing does."""
    data = written("worked-2.1.197-todo")
    path = put(tmp_path, data)
    whole = reader.reading(path, None)
    assert "shown" in {each.kind for each in whole.present}
    assert whole.boundary
    place = places(data, b"compact_boundary")[0]
    for awaited in (0, 1, place - 1, place, place + 1, len(data), len(data) + 9):
        found = reader.reading(path, awaited)
        assert found == (whole if awaited <= place else ([], None, 0, len(data)))


def test_only_lines_that_hold_what_is_looked_for_are_parsed(tmp_path: Path) -> None:
    """In their order, each once, the last one without a line break too; what lies before a place is not even read."""
    lines, pattern = prompts("x b b", "x", "b", "y", "xb"), re.compile(b"b")
    path = put(tmp_path, b"\n".join(lines))
    assert said(path, only=pattern) == ["x b b", "b", "xb"]
    assert said(path, only=pattern, since=len(lines[0]) + 1) == ["b", "xb"]
    assert said(path, since=len(lines[0]) + 5) == ["b", "y", "xb"], "half a line is none"
    assert said(path, newest=False, most=sum(map(len, lines[:2])) + 5) == ["x b b", "x"]
    assert reader.reading(path, None).end == sum(map(len, lines[:4])) + 4, "the last line may grow"


def test_images_hide_no_request(tmp_path: Path) -> None:
    """However large they are and wherever a read begins; the other lines that are far too long don't count either."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 2_000_000}}
    contents = ["first", *([image, {"type": "text", "text": f"shot {number}"}] for number in range(9)), "x " * 900_000]
    lines = [json.dumps({"type": "user", "message": {"role": "user", "content": each}}) for each in contents]
    path = put(tmp_path, "\n".join(lines).encode() + b"\n")
    assert reader.trail(path).requests == ("first", *(f"shot {number}" for number in range(9)))


def test_a_missing_transcript_is_found_in_a_sibling_folder(tmp_path: Path) -> None:
    """By its session's id, the newest; a path that is there stands for itself."""
    for age, name in enumerate(("new", "old")):
        place = put(tmp_path / name, written("worked-2.1.197-todo"))
        os.utime(place, (1_000 - age, 1_000 - age))
    gone = str(tmp_path / "gone" / Path(place).name)
    assert list(read(gone)) == list(read(place)) != []
    assert list(read(str(tmp_path / "gone" / "other.jsonl"))) == list(read("")) == []


def test_what_is_no_entry_is_left_out(tmp_path: Path) -> None:
    """Half a line, what is no JSON, no object, far too long, or nested beyond reason."""
    good = b'{"type":"user","message":{"role":"user","content":"hi"}}'
    bad = [b"", b"[1]", b'"text"', b"{broken", b"\xff\xfe\x00", b'{"type":"user","x":"' + b"x " * (1 << 19) + b'"}']
    deep = b'{"a":' + b"[" * 100_000
    data = b"\n".join([*bad, good, deep, good, b'{"type":"us'])
    assert said(put(tmp_path, data)) == ["hi"] * 2


@each_row("path", ["", "missing", "folder", "pipe", "link", "a\0b"])
def test_what_is_no_transcript_is_empty(tmp_path: Path, path: str) -> None:
    """Nothing is waited for, followed or raised."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(WRITTEN / "guided-2.1.329.jsonl")
    place = str(tmp_path / path) if path else ""
    assert reader.size(place) == 0
    assert list(read(place)) == []
    assert reader.trail(place) == Trail()
    assert reader.reached(place, MARK, 0) == "unknown"
    assert not reader.shares(place, str(WRITTEN / "guided-2.1.329.jsonl"))
    assert not reader.shares(str(WRITTEN / "guided-2.1.329.jsonl"), place)


@each_row("client", CLIENTS)
@each_row("compaction", [0, 1])
def test_guidance_is_confirmed_where_the_client_notes_it_as_context(
    tmp_path: Path, client: str, compaction: int
) -> None:
    """Not before: neither the hook's own stdout nor the same words of an earlier compaction prove anything."""
    data = written(f"guided-{client}")
    begins = places(data, b"compact_boundary")[compaction]
    noted = places(data, b'"type":"hook_additional_context"')[compaction]
    ends = noted + data[noted:].index(b"\n") + 1
    assert reader.reached(put(tmp_path, data[:begins]), MARK, begins) == "unknown"
    assert reader.reached(put(tmp_path, data[:noted]), MARK, begins) == "unknown"
    assert reader.reached(put(tmp_path, data[: ends - 10]), MARK, begins) == "unknown"
    assert reader.reached(put(tmp_path, data[:ends]), MARK, begins) == "confirmed"
    assert reader.reached(put(tmp_path, data), MARK, begins) == "confirmed"


@pytest.mark.parametrize("client", CLIENTS)
def test_absence_is_proven_by_an_answer_after_the_compaction(tmp_path: Path, client: str) -> None:
    """The client writes late: until the model has answered after the boundary, nothing is known."""
    data = written(f"guided-{client}")
    lines = data.splitlines(keepends=True)
    silent = b"".join(line for line in lines if b'"type":"hook_additional_context"' not in line)
    begins = places(silent, b"compact_boundary")[0]
    answer = next(place for place in places(silent, b'"type":"assistant"') if place > begins)
    assert reader.reached(put(tmp_path, silent[:answer]), MARK, begins) == "unknown"
    assert reader.reached(put(tmp_path, silent), MARK, begins) == "absent"
    assert reader.reached(put(tmp_path, silent[:begins]), MARK, 0) == "unknown"  # an answer, and no compaction
    assert reader.reached(put(tmp_path, silent), MARK, len(silent)) == "unknown"
    assert reader.reached(put(tmp_path, silent), MARK, len(silent) + 1) == "unknown"


@pytest.mark.parametrize("client", CLIENTS)
def test_absence_is_proven_by_a_compaction_after_which_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """A person compacts, and says something before the model does: by then the client has long written all of it."""
    now = 1_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    data = written(f"guided-{client}")
    lines = data.splitlines(keepends=True)
    silent = b"".join(line for line in lines if b'"type":"hook_additional_context"' not in line)
    begins = places(silent, b"compact_boundary")[0]
    answer = next(place for place in places(silent, b'"type":"assistant"') if place > begins)
    for content, since, proven, of_compaction in (
        (silent[:answer], begins, "absent", True),
        (silent[:begins], 0, "unknown", False),  # no compaction
        (data[: data.index(b"\n", places(data, b'"type":"hook_additional_context"')[0])], begins, "confirmed", True),
    ):
        place = put(tmp_path, content)
        assert reader.reached(place, MARK, since) in ("unknown", "confirmed")
        os.utime(place, (1, now - transcripts.REST_S / 2))
        assert reader.compacted(place, since) is False
        os.utime(place, (1, now - transcripts.REST_S * 2))
        assert reader.reached(place, MARK, since) == proven
        assert reader.compacted(place, since) is of_compaction


@pytest.mark.parametrize("client", CLIENTS)
def test_a_fork_shares_entries_with_the_session_it_came_from(client: str) -> None:
    """And with no other one, also not after `/clear`."""
    fork, parent, clear, other = (
        str(WRITTEN / f"{name}.jsonl")
        for name in (f"fork-{client}", f"worked-{client}-tasks", f"clear-{client}", f"worked-{client}-todo")
    )
    assert reader.shares(fork, parent)
    assert not reader.shares(fork, other)
    assert not reader.shares(clear, parent)
    assert not reader.shares(clear, fork)
    assert not reader.shares(fork, clear)


def test_a_boundary_names_the_entry_it_goes_on_from(tmp_path: Path) -> None:
    """An id that changed with a compaction: the new transcript has nothing but the boundary in common."""
    data = written("worked-2.1.329-tasks")
    boundary = next(line for line in data.splitlines() if b"compact_boundary" in line)
    before = data[: data.index(boundary)]
    (tmp_path / "old.jsonl").write_bytes(before)
    assert reader.shares(put(tmp_path, boundary + b"\n"), str(tmp_path / "old.jsonl"))


def test_a_read_that_was_asked_for_before_a_compaction_is_not_refused_after_it(tmp_path: Path) -> None:
    """What was asked in the context that is gone says nothing about the present one."""
    asked = {"type": "tool_use", "name": "Read", "id": "toolu_1", "input": {"file_path": "/p/a.md"}}
    failed = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "no"}
    entries: list[dict[str, object]] = [
        {"type": "assistant", "message": {"content": [asked]}},
        {"type": "system", "subtype": "compact_boundary", "uuid": "b1"},
        {"type": "user", "message": {"content": [failed]}},
    ]

    def kinds(*chosen: dict[str, object]) -> list[str]:
        lines = [json.dumps(each, separators=(",", ":")) for each in chosen]
        path = put(tmp_path, ("\n".join(lines) + "\n").encode())
        return [each.kind for each in reader.reading(path, None).present]

    assert kinds(*entries) == []
    assert kinds(entries[0], entries[2]) == ["refused"]


def test_a_mask_hides_what_an_entry_says(tmp_path: Path) -> None:
    """It gets each JSON value, before anything is read from it."""
    path = put(tmp_path, b"\n".join(prompts("plain", "secret")))
    masked = reader.trail(path, mask=lambda value: value | {"message": {"content": value["message"]["content"][:3]}})
    assert masked.requests == ("pla", "sec")


@each_row("at, known", [("2026-01-01T00:00:01.000Z", False), ("2026-01-01T00:00:03.000Z", True)])
def test_what_was_edited_before_the_part_that_is_read_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, *, known: bool
) -> None:
    """Then it counts as an edit, unless the part reaches back to the moment."""
    lines = [{"type": "user", "timestamp": f"2026-01-01T00:00:0{n}.000Z", "message": {"content": "x"}} for n in (2, 4)]
    path = put(tmp_path, b"\n".join(json.dumps(each).encode() for each in lines))
    assert not reader.edited_since(path, at)
    monkeypatch.setattr(transcripts, "TAIL_BYTES", 10)
    assert reader.edited_since(path, at) is not known
