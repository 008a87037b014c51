"""The exceptions that Holdfast raises on purpose."""

from __future__ import annotations

from pathlib import Path

from holdfast import errors
from tests.tables import each_row


def test_state_error_is_path_and_reason() -> None:
    """A StateError's text is the whole message, and both its parts can be read."""
    error = errors.StateError(Path("/a/b.json"), "is empty")

    assert str(error) == "/a/b.json: is empty"
    assert (error.path, error.reason) == (Path("/a/b.json"), "is empty")


@each_row("name", ["StateError", "SchemaMismatch", "MissingError", "TransitionError", "ConfigError", "LedgerError"])
def test_one_boundary_catches_them_all(name: str) -> None:
    """Every exception raised on purpose is a HoldfastError."""
    assert issubclass(getattr(errors, name), errors.HoldfastError)
