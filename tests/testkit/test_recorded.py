"""The recorded payloads as package data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.errors import HoldfastError
from holdfast.events import EVENTS
from holdfast.testkit import recorded
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

NEVER_RECORDED = {"TeammateIdle", "PermissionDenied"}


def test_all_events_but_two_are_recorded() -> None:
    """What no test can see of the real client is known by name."""
    assert set(EVENTS) - {name.partition("-")[0] for name in recorded.names()} == NEVER_RECORDED


def test_changes_replace_and_add_keys() -> None:
    """A test changes what it is about and leaves the rest as recorded."""
    payload = recorded.load("PreCompact-manual", session_id="x", brand_new=None)
    assert (payload["session_id"], payload["brand_new"], payload["trigger"]) == ("x", None, "manual")


def test_a_payload_is_sent_as_if_by_a_session(tmp_path: Path) -> None:
    """What is the session's own is set, all else is as it was recorded; what is given goes before both."""
    own = {"session_id": "me", "cwd": str(tmp_path), "transcript_path": ""}
    assert recorded.sent("Stop", "me", tmp_path) == recorded.load("Stop", **own)
    assert recorded.sent("PreCompact-manual", "me", tmp_path, cwd="/", more=1) == recorded.load(
        "PreCompact-manual", **own | {"cwd": "/", "more": 1}
    )


def test_an_event_is_sent_by_its_first_payload_or_with_the_common_fields(tmp_path: Path) -> None:
    """A variant that was not recorded is a misspelt one; an event that was not has no other fields."""
    assert recorded.names_of("PreCompact")[0] == "PreCompact-auto"
    assert recorded.sent("PreCompact", "me", tmp_path)["trigger"] == "auto"
    assert set(recorded.sent("TeammateIdle", "me", tmp_path)) == {
        "hook_event_name",
        "session_id",
        "cwd",
        "transcript_path",
    }
    with pytest.raises(HoldfastError, match="PreCompact-manul"):
        recorded.sent("PreCompact-manul", "me", tmp_path)


@each_row("name", ["PreCompact", "nothing", "../errors", ""])
def test_an_unknown_name_is_answered_with_the_known_ones(name: str) -> None:
    """A misspelt name gives an error that lists what there is."""
    with pytest.raises(HoldfastError, match=r"no recorded payload is named .*PreCompact-manual"):
        recorded.load(name)
