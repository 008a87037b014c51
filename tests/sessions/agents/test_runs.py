"""A run without an id of the client's has a name of ours."""

from __future__ import annotations

from holdfast.sessions.agents import runs
from tests.agentry import CALL, RUN


def test_a_run_without_an_id_is_called_after_its_call() -> None:
    """A failed launch does not say which agent it was."""
    assert runs.run_id(RUN, CALL) == RUN
    assert runs.run_id("", CALL) not in ("", CALL)
