"""The strict JSON parser yields spans, and errors with line and column."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.files import jsontext
from holdfast.files.jsontext import JSONTextError, Node
from tests.tables import each_row

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def check(text: str, node: Node, expected: Any) -> None:
    assert node.value(text) == expected
    if isinstance(expected, dict):
        assert [entry.key for entry in node.entries] == list(expected)
        for entry in node.entries:
            assert json.loads(text[entry.start : entry.key_end]) == entry.key
    if isinstance(expected, dict | list):
        values = list(expected.values()) if isinstance(expected, dict) else expected
        for entry, value in zip(node.entries, values, strict=True):
            check(text, entry.value, value)


@given(document=DOCUMENTS, indent=st.sampled_from([None, 0, 2, "\t"]), mark=st.sampled_from(["", "\ufeff"]))
def test_every_span_holds_the_value_it_stands_for(document: Any, indent: int | str | None, mark: str) -> None:
    """The tree of a text has the same shape and values as Python's own reading of it."""
    text = mark + json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
    check(text, jsontext.parse(text), document)


@given(st.text(alphabet='{}[]",:0123456789eE+-.truefalsn \\u\n/', max_size=12))
def test_it_accepts_what_strict_json_is_and_nothing_else(text: str) -> None:
    """A text is accepted exactly when Python's strict reading accepts it without a doubled key."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("doubled key")
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=once)
    except ValueError:
        with pytest.raises(JSONTextError):
            jsontext.parse(text)
    else:
        jsontext.parse(text)


@each_row(
    "text, line, column, words",
    [
        ('{\n  // why\n  "a": 1\n}', 2, 3, "a comment"),
        ('{"a": 1, /* b */ "c": 2}', 1, 10, "a comment"),
        ('{"a": 1} // end', 1, 10, "a comment"),
        ('{"a": # no\n 1}', 1, 7, "a comment"),
        ('{\r\n\t"a": 1,\r\n}', 2, 8, "trailing comma"),
        ("[1, 2,]", 1, 6, "trailing comma"),
        ('{"a": 1 "b": 2}', 1, 9, "comma or '}' is missing"),
        ("[1 2]", 1, 4, "comma or ']' is missing"),
        ('{"a" 1}', 1, 6, 'colon after "a" is missing'),
        ("{a: 1}", 1, 2, "a key in double quotes is missing"),
        ("{'a': 1}", 1, 2, "a key in double quotes is missing"),
        ('{"a": NaN}', 1, 7, "no JSON value"),
        ('{"a": 01}', 1, 7, "no JSON value"),
        ('{"a": "x\ny"}', 1, 7, "a string that is not valid JSON"),
        ('{"a": "\\x"}', 1, 7, "a string that is not valid JSON"),
        ('{"a": 1,\n "\\u0061": 2}', 2, 2, 'the key "a" is there twice'),
        ('{"a": [1', 1, 9, "the text ends here"),
        ("", 1, 1, "the text ends here"),
        ("\ufeff{,}", 1, 2, "a key in double quotes is missing"),
        ("{} {}", 1, 4, "the document is complete before this"),
    ],
)
def test_an_error_names_line_and_column(text: str, line: int, column: int, words: str) -> None:
    """What is not strict JSON is refused with the place and the reason."""
    with pytest.raises(JSONTextError) as caught:
        jsontext.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in caught.value.message
    assert str(caught.value).startswith(f"line {line}, column {column}: ")


def test_nesting_has_an_end() -> None:
    """A text nested beyond reason is refused instead of exhausting the stack."""
    deepest = jsontext.DEEPEST
    jsontext.parse("[" * deepest + "]" * deepest)
    with pytest.raises(JSONTextError, match="nested deeper than"):
        jsontext.parse("[" * 100_000)


def test_keys_are_found_whatever_their_spelling() -> None:
    """An escaped key is the same key."""
    text = '{"h\\u006foks": {"x": 1}}'
    hooks = jsontext.parse(text).get("hooks")
    assert hooks is not None
    assert text[hooks.start : hooks.end] == '{"x": 1}'
