"""Recordings are private, redacted, and lie outside the project."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.sessions import recordings
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, together

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    root = tmp_path / "project"
    root.mkdir()
    return Workspace.open(root)


def append(project: Workspace, session: str, payload: dict[str, Any]) -> Path:
    """Record an event of a session, and return the session's file."""
    event: Any = SimpleNamespace(session_id=session)
    context: Any = SimpleNamespace(project=project)
    recordings.record(event, context, payload)
    return recordings.folder(project) / f"{recordings.file_name(session)}.jsonl"


def lines(place: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in place.read_bytes().splitlines()]


def test_an_event_is_one_line_with_its_time(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line holds when it came, and the payload as it came."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    payload = {"hook_event_name": "Stop", "session_id": ME, "text": "line\nbreak é \ud83d"}

    place = append(project, ME, payload)
    append(project, ME, {"hook_event_name": "Stop"})

    first, second = lines(place)
    assert first == {"at": "2026-03-01T10:00:00.000000Z", "payload": payload}
    assert second["payload"] == {"hook_event_name": "Stop"}


@pytest.mark.parametrize(
    "session", ["../../escape", "/etc/passwd", "", ".", "a" * 300, "served:1/2", "a\x00b", "\ud83d"]
)
def test_a_session_id_never_leads_out_of_the_folder(project: Workspace, session: str) -> None:
    """Session ids in paths unchecked is one of the traps others fell into."""
    place = append(project, session, {})

    assert place.parent == recordings.folder(project)
    assert place.is_file()
    assert place != append(project, session + "x", {})


def test_a_symbolic_link_is_not_followed(project: Workspace, tmp_path: Path) -> None:
    """A planted link must not make us write elsewhere."""
    paths.ensure_private(recordings.folder(project))
    (recordings.folder(project) / f"{ME}.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic link"):
        append(project, ME, {})
    assert not (tmp_path / "elsewhere").exists()


def test_lines_of_events_at_once_never_mix(project: Workspace) -> None:
    """Three processes write long lines at the same moment; each line is whole."""
    together(
        project.root,
        ["a", "b", "c"],
        deed=f"for number in range(10): append(project, {ME!r}, {{'text': me * 20_000}})",
        before="from tests.sessions.test_recordings import append",
    )

    written = lines(recordings.folder(project) / f"{ME}.jsonl")
    texts = [str(line["payload"]["text"]) for line in written]  # type: ignore[index] # what json.loads returned
    assert sorted({text[0] for text in texts}) == ["a", "b", "c"]
    assert len(texts) == 30
    assert all(text == text[0] * 20_000 for text in texts)
