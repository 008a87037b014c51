"""The recorded payloads as handler authors name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.errors import HoldfastError
from holdfast.testkit import recorded
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path


def test_an_event_is_sent_by_its_first_payload_or_with_the_common_fields(tmp_path: Path) -> None:
    """An event that was never recorded has no other fields; what is the session's own goes before the recording."""
    own = {"session_id": "me", "cwd": str(tmp_path), "transcript_path": ""}
    assert recorded.sent("PreCompact", "me", tmp_path) == recorded.load("PreCompact-auto", **own)
    assert recorded.sent("TeammateIdle", "me", tmp_path) == own | {"hook_event_name": "TeammateIdle"}
    assert recorded.sent("Stop", "me", tmp_path, cwd="/", more=1).items() >= {"cwd": "/", "more": 1}.items()


@each_row("name", ["PreCompact-manul", "nothing-", "../errors-"])
def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path, name: str) -> None:
    """A misspelt name gives an error that lists what there is."""
    with pytest.raises(HoldfastError, match=rf"no recorded payload is named '{name}'.*PreCompact-manual"):
        recorded.sent(name, "me", tmp_path)
