"""Values kept by hand."""

from __future__ import annotations

from typing import Any

from holdfast.workflow import values
from tests.tables import each_row


@each_row(
    "value, texts, warned",
    [
        (None, (), False),
        (["a", "b"], ("a", "b"), False),
        ("a", ("a",), True),
        (["a", 1, {"b": 2}, None, " "], ("a", "1", '{"b": 2}'), True),
        ({"a": 1, "b": [2], "c": True, "d": None, "e": ""}, ("a: 1", "b: [2]", "c", "d", "e"), True),
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
    assert values.added({"a": 1}, ("b",)) == [{"a": 1}, "b"]


@each_row(
    "value, entries, warned",
    [
        (["@docs/a.md", "docs/b.md", "docs/a.md"], ("@docs/a.md", "@docs/b.md"), False),
        ("docs/a.md\n@docs/b.md\n", ("@docs/a.md", "@docs/b.md"), True),
        ([{"path": "docs/a.md", "why": "rules"}, {"file": "b.md"}], ("@docs/a.md", "@b.md"), True),
        ({"docs/a.md": "the rules. All of them", "b.md": ""}, ("@docs/a.md", "@b.md"), True),
        ({"plan": "docs/a.md", "style": "b.md"}, ("@docs/a.md", "@b.md"), True),
        ({"path": "docs/a.md"}, ("@docs/a.md",), True),
        ([{"n": 1}, 7], ('@{"n": 1}', "@7"), True),
        (7, ("@7",), True),
        (None, (), False),
    ],
)
def test_required_readings_are_understood(value: Any, entries: tuple[str, ...], warned: bool) -> None:
    """A reading is found in whatever shape it was listed, each once."""
    warnings: list[str] = []
    assert entries == values.entries(value, "name", warnings)
    assert warned == bool(warnings)
