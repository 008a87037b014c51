"""A move is written into the text of a large index, and says there what it would say as data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from holdfast.files.lock import locked
from holdfast.formats.skills import file as files
from holdfast.formats.skills import index, indextext, places
from tests.formats.skills import documents

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace

AT = "2026-03-01T10:00:00Z"


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any index counts as a large one."""
    monkeypatch.setattr(index, "_LARGE_BYTES", 0)
    monkeypatch.setattr(files, "stamp", lambda *_: AT)


@pytest.fixture
def state(project: Workspace) -> Path:
    """The state file of a workflow that has just moved."""
    data = documents.state("dev")
    data["workflow"]["updated_at"] = AT
    return documents.put(project, "dev-0c8ef2ab", json.dumps(data).encode())


def rows(project: Workspace, state: Path) -> list[dict[str, Any]]:
    """Return three rows, the second one of them the workflow's as it was an hour before."""
    own = index.entry(project, state, files.load(project, state).data)._asdict()
    others = [own | {"id": each, "feature": "features/é.md"} for each in ("dev-0c8ef2a", "dev-0c8ef2abc")]
    return [others[0], own | {"last_activity": "2026-03-01T09:00:00Z", "note": "mine"}, others[1]]


def whole(listed: list[dict[str, Any]]) -> dict[str, Any]:
    return {"schema_version": "1.0", "updated_at": "", "active_workflows": listed}


def put(project: Workspace, state: Path, raw: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, bool]:
    """List the workflow in an index with some bytes; return its bytes then, and whether all rows were looked at."""
    places.index(project).write_bytes(raw)
    looked = Mock(side_effect=index._change)
    monkeypatch.setattr(index, "_change", looked)
    with locked(places.top(project)):
        index.put(project, state, files.load(project, state).data)
    return places.index(project).read_bytes(), looked.called


@pytest.mark.parametrize("style", [{"indent": 2}, {"indent": "\t", "ensure_ascii": False}, {"separators": (",", ":")}])
def test_only_the_times_change(
    project: Workspace, state: Path, monkeypatch: pytest.MonkeyPatch, style: dict[str, Any]
) -> None:
    """Every other byte stays, in whatever style the index is."""
    listed = rows(project, state)
    now, looked = put(project, state, json.dumps(whole(listed), **style).encode(), monkeypatch)
    listed[1]["last_activity"] = AT
    assert now == json.dumps(whole(listed) | {"updated_at": AT}, **style).encode()
    assert not looked


def changed(listed: list[dict[str, Any]], how: str) -> dict[str, Any]:
    """Return an index that is not as every one that Holdfast writes."""
    own = listed[1]
    if how == "twice":
        listed.append(own)
    elif how == "missing":
        del listed[1]
    elif how == "order":
        listed[1] = {"skill": own.pop("skill"), **own}
    elif how == "feature":
        own["feature"] = "features/other.md"
    elif how == "named elsewhere":
        listed[0]["after"] = own["id"]
    elif how == "another list":
        return {"updated_at": "", "ended": [listed.pop(1)], "active_workflows": listed}
    elif how == "time":
        own["last_activity"] = None
    elif how == "two times":
        own["before"] = {"last_activity": own["last_activity"]}
    elif how == "no time":
        return {"active_workflows": listed}
    return whole(listed)


@pytest.mark.parametrize(
    "how", ["twice", "missing", "order", "feature", "named elsewhere", "another list", "time", "two times", "no time"]
)
def test_all_rows_are_looked_at_where_it_is_not_that_simple(
    project: Workspace, state: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The workflow is listed once afterwards, with its last activity."""
    now, looked = put(project, state, json.dumps(changed(rows(project, state), how)).encode(), monkeypatch)
    own = [each for each in json.loads(now)["active_workflows"] if each["id"] == state.stem]
    assert [each["last_activity"] for each in own] == [AT]
    assert looked


def test_a_save_of_somebody_else_stands(project: Workspace, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they wrote between reading and writing is read again, as data."""
    listed = rows(project, state)
    theirs = json.dumps(whole(listed) | {"theirs": 1}).encode()
    moved_on = indextext.moved_on

    def meanwhile(*arguments: Any) -> bytes | None:
        places.index(project).write_bytes(theirs)
        return moved_on(*arguments)

    monkeypatch.setattr(indextext, "moved_on", meanwhile)
    now, looked = put(project, state, json.dumps(whole(listed)).encode(), monkeypatch)
    assert looked
    assert json.loads(now)["theirs"] == 1
    assert json.loads(now)["active_workflows"][1]["last_activity"] == AT
