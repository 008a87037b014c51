"""A project with a task document, in which no change writes into what it copied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.orchestrator.run import Run
from tests.requirements.conftest import scene

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scene"]


@pytest.fixture(autouse=True)
def _shared_entries_stay(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a change does, it changes nothing in the run that it copied (`Run.copy`)."""
    copied, known = list[tuple[Any, str]](), Run.copy

    def copy(self: Run) -> Run:
        copied.append((self.data, json.dumps(self.data)))
        return known(self)

    monkeypatch.setattr(Run, "copy", copy)
    yield
    assert all(json.dumps(data) == before for data, before in copied)
