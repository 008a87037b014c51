"""What a session has really read is known by content, from events and from what both clients wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from holdfast.sessions import conversations, reads, required
from tests.handmade import ME, together, workflow, workspace
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

WRITTEN = Path(__file__).parent / "transcripts"
CLIENTS = ("2.1.329", "2.1.197")
WORKED = [f"worked-{client}-{tools}" for client in CLIENTS for tools in ("tasks", "todo")]
BOUNDARY = b'"subtype":"compact_boundary"'


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return made(tmp_path)


def made(tmp_path: Path) -> Workspace:
    """Return a project with a document of three lines."""
    (tmp_path / "project" / "docs").mkdir(parents=True)
    (tmp_path / "project" / "docs" / "a.md").write_text("one\ntwo\nthree\n")
    return workspace(tmp_path / "project")


def flow(project: Workspace, *entries: str) -> Workflow:
    return workflow(project.root, reading=entries or ("@docs/a.md",))


def states(project: Workspace, *entries: str, session: str = ME) -> list[tuple[str, bool]]:
    """What is said of each entry: how it changed, and whether the model has it before it."""
    found = required.states(project, session, flow(project, *entries))
    return [(each.change, each.in_context) for each in found.values()]


def due(project: Workspace, *entries: str, session: str = ME) -> list[str]:
    found = required.states(project, session, flow(project, *entries))
    return [each.entry for each in found.values() if each.due]


def heard(project: Workspace, session: str, asked: Mapping[str, Any], answer: Any) -> None:
    """Note the result of a Read, as its PostToolUse does."""
    event: Any = SimpleNamespace(session_id=session, tool_input=asked, tool_response=answer)
    reads.note_read(event, cast("Any", SimpleNamespace(project=project)))


def compacted(project: Workspace, session: str) -> None:
    """Have a compaction announced, as SessionStart does."""
    event: Any = SimpleNamespace(session_id=session)
    reads.forget_reading(event, cast("Any", SimpleNamespace(project=project)))


def unread(project: Workspace, session: str, workflow: Workflow) -> list[required.RequiredFile] | None:
    event: Any = SimpleNamespace(session_id=session)
    return required.unread(event, cast("Any", SimpleNamespace(project=project)), workflow)


def response(text: str, first: int = 1, count: int | None = None, **more: Any) -> dict[str, Any]:
    """What the client's Read answers with, of a text's lines; it counts an empty one behind the last line break."""
    lines = text.split("\n")
    part = lines[first - 1 : None if count is None else first - 1 + count]
    file = {"content": "\n".join(part), "numLines": len(part), "startLine": first, "totalLines": len(lines)}
    return {"type": "text", "file": {"filePath": "/somewhere", **file, **more}}


def read(project: Workspace, place: str = "docs/a.md", first: int = 1, count: int | None = None, **more: Any) -> None:
    """Read a file, or lines of it, as the model does."""
    path = project.root / place
    text = reads.as_shown(path.read_bytes().decode("utf-8", "replace"))
    session = more.pop("session", ME)
    asked: dict[str, Any] = {"file_path": str(path)}
    asked |= {"offset": first} if first > 1 else {}
    asked |= {"limit": count} if count else {}
    heard(project, session, asked, response(text, first, count, **more))


def put(project: Workspace, place: str, content: str | bytes) -> Path:
    path = project.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lines_of(project: Workspace, name: str) -> list[bytes]:
    """A transcript that a client wrote, as if in this project; its files are there as they were at its end."""
    put(project, "app.py", "a = 2\n")
    put(project, "new.py", "b = 1\n")
    put(project, "docs/req.md", "requirement one\n")
    data = (WRITTEN / f"{name}.jsonl").read_bytes()
    return data.replace(b"/home/user/project", os.fsencode(project.root)).splitlines(keepends=True)


def transcribed(project: Workspace, lines: list[bytes], session: str = ME) -> Path:
    """Put a transcript where the session's events say it is."""
    path = project.root.parent / f"{session}.jsonl"
    path.write_bytes(b"".join(lines))
    conversations.note_event(project, session, None, str(path))
    return path


def cut_at_boundary(lines: list[bytes]) -> int:
    return next(number for number, line in enumerate(lines) if BOUNDARY in line)


def said(**entry: Any) -> bytes:
    return json.dumps({"uuid": "0" * 32, **entry}, separators=(",", ":")).encode() + b"\n"


def shown(project: Workspace, text: str, place: str = "docs/a.md", **more: Any) -> bytes:
    """A line of a transcript: a Read's result."""
    result = response(text, filePath=str(project.root / place), **more)
    return said(type="user", toolUseResult=result)


# From events


def test_parts_read_at_the_same_time_are_all_kept(project: Workspace) -> None:
    """The client runs reads of one message beside one another."""
    text = "".join(f"line {number}\n" for number in range(100))
    put(project, "docs/a.md", text)
    before = f"""
from holdfast.sessions import reads
from tests.sessions.test_required import heard
reads.rows(project, {ME!r})
path = project.root / "docs/a.md"
"""
    deed = f"""
for number in range(int(me), 100, 4):
    file = {{"content": f"line {{number}}", "numLines": 1, "startLine": number + 1, "totalLines": 101}}
    asked = {{"file_path": str(path), "offset": number + 1, "limit": 1}}
    heard(project, {ME!r}, asked, {{"type": "text", "file": file}})
"""
    together(project.root, ["0", "1", "2", "3"], deed, before)
    assert states(project) == [("unchanged", True)]


@each_row(
    "content", [b"\xef\xbb\xbfone\r\ntwo\r\n", "one\ntwo\n".encode("utf-16"), b"\xff\x00\xc3(\n", b"", b"no newline"]
)
def test_text_is_compared_as_the_client_decodes_it(tmp_path: Path, content: bytes) -> None:
    """A byte order mark, CRLF, UTF-16 and broken UTF-8 are no change."""
    project = made(tmp_path)
    path = put(project, "docs/odd.txt", content)
    text = content[2:].decode("utf-16-le") if content[:2] == b"\xff\xfe" else content.decode("utf-8", "replace")
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    heard(project, ME, {"file_path": str(path)}, response(plain))
    assert states(project, "@docs/odd.txt") == [("unchanged", True)]


@each_row(
    "asked, answer, counts",
    [
        ({}, {"type": "file_unchanged", "file": {"filePath": "/x"}}, True),
        ({"offset": 2}, {"type": "file_unchanged", "file": {"filePath": "/x"}}, False),
        ({"limit": 1}, {"type": "file_unchanged", "file": {"filePath": "/x"}}, False),
        ({}, {"type": "image", "file": {"base64": "…"}}, True),
        ({}, {"type": "notebook", "file": {"cells": []}}, True),
        ({"pages": "1-3"}, {"type": "parts", "file": {"count": 3}}, True),
        ({"offset": 1, "limit": 9}, {"type": "text", "file": {}}, False),
        ({}, {"type": "text", "file": {"content": None}}, True),
        ({}, "plain words", True),
        ({}, None, True),
    ],
)
def test_read_without_text_counts_as_whole_if_asked_for_whole(
    tmp_path: Path, asked: dict[str, Any], answer: Any, counts: bool
) -> None:
    """Asked for whole and not refused is read, in whatever form a client says so."""
    project = made(tmp_path)
    heard(project, ME, {"file_path": str(project.root / "docs/a.md"), **asked}, answer)
    assert states(project) == [("unchanged", True) if counts else ("never read", False)]


# Places


@each_row("entry", ["@docs/a.md", "docs/a.md", "@docs/../docs/./a.md", "@{root}/docs/a.md", "@link.md"])
def test_a_file_is_the_same_by_any_name(tmp_path: Path, entry: str) -> None:
    """Relative, absolute, with or without @, through a link."""
    project = made(tmp_path)
    (project.root / "link.md").symlink_to("docs/a.md")
    read(project)
    assert states(project, entry.format(root=project.root)) == [("unchanged", True)]
    (state,) = required.states(project, ME, flow(project, entry.format(root=project.root))).values()
    assert (state.path, state.inside) == ("docs/a.md", True)


def test_files_outside_the_project_are_never_opened(project: Workspace) -> None:
    """In the home by `~`, or absolute, or where a link leads out: not read, not due, nothing waits for them."""
    outside = project.root.parent / "outside.md"
    for path in (Path.home() / "notes.md", outside):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("notes\n")
        heard(project, ME, {"file_path": str(path)}, response("notes\n"))
    (project.root / "out.md").symlink_to(outside)
    entries = ("@~/notes.md", f"@{outside}", "@out.md")
    assert states(project, *entries) == [("outside the project", False)] * 3
    assert due(project, *entries) == []
    assert reads.rows(project, ME) == {}


def test_what_nobody_can_read_whole_is_not_checked(project: Workspace) -> None:
    """A folder, a pattern, a pipe, ten megabytes: neither missing nor due."""
    os.mkfifo(project.root / "pipe")
    with (project.root / "large.bin").open("wb") as stream:
        stream.truncate(10 << 20)
    entries = ("@docs", "@docs/", "@", "@docs/*.md", "@docs/[ab].md", "@pipe", "@large.bin")
    assert states(project, *entries) == [("not checked", False)] * len(entries)
    assert due(project, *entries) == []
    asked = {"file_path": str(project.root / "large.bin")}
    heard(project, ME, asked, response("", totalLines=99))
    assert reads.rows(project, ME) == {}


@each_row("entry", ["@gone.md", "@docs/a.md/x", "@a\0b", "@" + "x" * 5000, "@~nobody-of-this-name/x"])
def test_what_is_not_there_is_missing(tmp_path: Path, entry: str) -> None:
    """I001-21, also for what no file can be called."""
    project = made(tmp_path)
    assert states(project, entry) == [("missing", False)]
    assert due(project, entry) == []


# Sessions


# From the transcript


@pytest.mark.parametrize("name", WORKED)
def test_until_it_is_written_what_is_attached_again_is_not_known(project: Workspace, name: str) -> None:
    """At SessionStart(compact) the transcript ends with the context that is gone; what was read there is known."""
    lines = lines_of(project, name)
    cut = cut_at_boundary(lines)
    path = transcribed(project, lines[:cut])
    assert states(project, "@docs/req.md", "@app.py") == [("unchanged", True), ("changed", True)]
    compacted(project, ME)
    conversations.change(project, ME, reminded=True)
    assert states(project, "@docs/req.md", "@app.py") == [("unchanged", False), ("changed", False)]
    assert not reads.settle(project, ME, ())
    assert unread(project, ME, flow(project, "@docs/req.md")) is None
    path.write_bytes(b"".join(lines))
    assert reads.settle(project, ME, ())
    assert states(project, "@docs/req.md", "@app.py") == [("unchanged", True)] * 2
    assert unread(project, ME, flow(project, "@docs/req.md")) == []
    assert conversations.get(project, ME).reminded  # the boundary is that of the compaction that was announced


@pytest.mark.parametrize("name", WORKED)
def test_a_second_compaction_takes_away_what_was_attached(project: Workspace, name: str) -> None:
    """Only what stands behind the last boundary counts, announced or not."""
    lines = lines_of(project, name)
    transcribed(project, lines)
    assert states(project, "@docs/req.md") == [("unchanged", True)]
    again = lines[cut_at_boundary(lines)].replace(b'"uuid":"', b'"uuid":"2')
    path = transcribed(project, [*lines, again])
    assert states(project, "@docs/req.md") == [("unchanged", False)]
    compacted(project, ME)
    path.write_bytes(path.read_bytes() + again.replace(b'"uuid":"2', b'"uuid":"3'))
    assert states(project, "@docs/req.md") == [("unchanged", False)]
    assert reads.settle(project, ME, ())


@each_row(
    "line",
    [
        lambda project: shown(project, "one\ntwo\nthree\n").replace(
            b'"type":"user"', b'"type":"user","isSidechain":true'
        ),
        lambda project: said(
            type="attachment",
            attachment={
                "type": "file",
                "truncated": True,
                "content": response("one\ntwo\n", filePath=str(project.root / "docs/a.md")),
            },
        ),
        lambda project: said(
            type="attachment",
            attachment={"type": "compact_file_reference", "filename": str(project.root / "docs/a.md")},
        ),
        lambda project: said(
            type="attachment", attachment={"type": "already_read_file", "content": response("one\ntwo\nthree\n")}
        ),
        lambda project: shown(project, "one\ntwo\nthree\n", "docs/b.md"),
        lambda project: said(type="user", toolUseResult={"type": "text", "file": {"content": "one\ntwo\nthree\n"}}),
        lambda project: said(type="user", toolUseResult={"type": "text", "file": None}),
        lambda project: said(type="user", toolUseResult=["odd"], attachment="odd", message={"content": ["odd", 3]}),
    ],
)
def test_what_does_not_show_the_file_is_no_read(tmp_path: Path, line: Callable[[Workspace], bytes]) -> None:
    """A subagent's read, a cut attachment, a mere reference, another file, broken entries."""
    project = made(tmp_path)
    transcribed(project, [line(project)])
    assert states(project) == [("never read", False)]
