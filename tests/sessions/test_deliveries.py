"""Deliveries move one way: pending, delivered, then confirmed, absent or never known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.sessions import deliveries
from tests.handmade import ME, OTHER, together

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace

pytestmark = pytest.mark.usefixtures("noon")
WRITTEN = Path(__file__).parent / "transcripts"
MARK = "RESTORED AFTER COMPACTION"


def begin(project: Workspace, transcript: str = "", session: str = ME, mark: str = MARK) -> str:
    event: Any = SimpleNamespace(session_id=session, hook_event_name="SessionStart", transcript_path=transcript)
    release: Any = SimpleNamespace(key="compaction:x#y", title="Release")
    deliveries.deliver(project, event, "x" * 4711, mark, workflow=release, compaction=None, omitted=3)
    return max(each.id for each in deliveries.recent(project, 100, session))


def states(project: Workspace, session: str | None = None) -> list[str]:
    return [each.state for each in deliveries.recent(project, 1_000, session)]


def test_a_later_delivery_ends_the_search_for_an_earlier_one(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same state gives the same mark: from here on the words might be the later one's. Other sessions' stay."""
    for minute, session in enumerate((OTHER, ME, ME)):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T12:0{minute}:00Z")
        deliveries.written(project, begin(project, session=session))
    assert states(project) == ["delivered", "unconfirmed", "delivered"]
    assert states(project, OTHER) == ["delivered"]


@pytest.mark.parametrize("client", ["2.1.197", "2.1.329"])
@pytest.mark.parametrize(("mark", "state"), [(MARK, "confirmed"), ("nowhere in it", "absent")])
def test_a_later_delivery_looks_for_the_earlier_one_first(
    project: Workspace, tmp_path: Path, client: str, mark: str, state: str
) -> None:
    """No prompt came since the client wrote its transcript, as in a turn that is compacted twice."""
    transcript = tmp_path / "t.jsonl"
    transcript.touch()
    first = begin(project, str(transcript), mark=mark)
    deliveries.written(project, first)
    assert deliveries.settle(project, ME) is None  # at the last prompt, nothing was written yet
    transcript.write_bytes((WRITTEN / f"guided-{client}.jsonl").read_bytes())

    second = begin(project, str(transcript))

    assert {each.id: each.state for each in deliveries.recent(project, 10)} == {first: state, second: "pending"}
    assert deliveries.settle(project, ME) is None  # the earlier one's words are not the later one's


def test_what_the_transcript_shows_stays(project: Workspace, tmp_path: Path) -> None:
    """Also if the process that wrote the reply notes only afterwards that it has."""
    transcript = tmp_path / "t.jsonl"
    transcript.touch()
    given = begin(project, str(transcript))
    transcript.write_bytes((WRITTEN / "guided-2.1.329.jsonl").read_bytes())
    deliveries.settle(project, ME)
    deliveries.written(project, given)
    assert states(project) == ["confirmed"]


def test_only_one_of_several_processes_gives_guidance_again(project: Workspace, tmp_path: Path) -> None:
    """Two hooks of one prompt must not both give the guidance again."""
    transcript = tmp_path / "t.jsonl"
    transcript.touch()
    begin(project, str(transcript), mark="nowhere in it")
    transcript.write_bytes((WRITTEN / "guided-2.1.197.jsonl").read_bytes())
    project.close()

    said = together(
        project.root,
        ["one", "two", "three", "four"],
        deed=f"found = deliveries.settle(project, {ME!r})\nprint('told' if found else 'not')",
        before="from holdfast.sessions import deliveries\n",
    )

    assert sorted(each.strip() for each in said) == ["not", "not", "not", "told"]


@pytest.mark.parametrize(("hour", "state"), [("11", "delivered"), ("13", "unconfirmed")])
def test_delivery_is_unconfirmed_after_a_day(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, hour: str, state: str
) -> None:
    """A transcript that says nothing, or is gone."""
    deliveries.written(project, begin(project))
    monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-02T{hour}:00:00Z")
    assert deliveries.settle(project, ME) is None
    assert states(project) == [state]


def test_absent_guidance_is_offered_again_after_a_minute(
    project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that was told may have been killed; not while it may still be at it, nor once it is let go."""
    transcript = tmp_path / "t.jsonl"
    transcript.touch()
    id_ = begin(project, str(transcript), mark="nowhere in it")
    transcript.write_bytes((WRITTEN / "guided-2.1.329.jsonl").read_bytes())
    assert deliveries.settle(project, ME) is not None
    assert deliveries.settle(project, ME) is None

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:01:01Z")
    found = deliveries.settle(project, ME)
    assert found is not None
    assert found.id == id_

    deliveries.let_go(project, id_)
    assert deliveries.settle(project, ME) is None
    assert states(project) == ["unconfirmed"]
