"""Values kept by hand."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.workflow import values


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        ("3", 3),
        (3.0, 3),
        (" 7 ", 7),
        (True, None),
        (3.5, None),
        ("x", None),
        (None, None),
        ("9" * 50, None),
        ([], None),
    ],
)
def test_whole_numbers_are_understood(value: Any, number: int | None) -> None:
    """Numbers as text or whole floats count, truth values do not."""
    assert number == values.number(value)


@pytest.mark.parametrize(
    ("value", "texts", "warned"),
    [
        (None, (), False),
        (["a", "b"], ("a", "b"), False),
        ("a", ("a",), True),
        (["a", 1, {"b": 2}, None, " "], ("a", "1", '{"b": 2}'), True),
        ({"a": 1, "b": 2}, ("a", "b"), True),
        (7, ("7",), True),
    ],
)
def test_lists_of_texts_are_understood(value: Any, texts: tuple[str, ...], warned: bool) -> None:
    """What is not a list of texts is read as far as it makes sense, and warned of."""
    warnings: list[str] = []
    assert texts == values.texts(value, "name", warnings)
    assert warned == bool(warnings)


def test_adding_never_loses_what_was_there() -> None:
    """Only new texts are added, at the end; what was no list becomes one, and unchanged stays the same object."""
    before = ["a", 3]
    assert values.added(before, ("a",)) is before
    assert values.added(before, ("b", "b")) == ["a", 3, "b"]
    assert values.added("text", ("b",)) == ["text", "b"]
    assert values.added(None, ()) == []
