"""Edits of a JSON text follow its style and leave every other character alone."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError
from holdfast.files import jsonedit
from holdfast.files.jsonedit import Editor, Steps
from tests.tables import each_row

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
CONTAINERS = st.lists(VALUES, max_size=4) | st.dictionaries(st.text(), VALUES, max_size=4)


@st.composite
def styles(draw: st.DrawFn) -> Callable[[Any], str]:
    """A way to write a document down: evenly, in one of the usual styles, or with blank space strewn in."""
    mark = draw(st.sampled_from(["", "\ufeff"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    end = draw(st.sampled_from(["", newline]))
    indent = draw(st.sampled_from([None, "  ", "    ", "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")])) if indent is None else (",", ": ")
    escaped = draw(st.booleans())
    strewn = draw(st.booleans())
    blanks = st.text(" \t\n", max_size=3).map(lambda blank: blank.replace("\n", newline))

    def messy(value: Any) -> str:
        if isinstance(value, dict) and value:
            pairs = [draw(blanks) + json.dumps(k) + draw(blanks) + ":" + messy(v) for k, v in value.items()]
            return "{" + ",".join(pairs) + "}" + draw(blanks)
        if isinstance(value, list) and value:
            return "[" + ",".join(messy(item) for item in value) + draw(blanks) + "]"
        return draw(blanks) + json.dumps(value) + draw(blanks)

    def even(value: Any) -> str:
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=escaped)
        return text.replace("\n", newline) if indent else text

    def write(value: Any) -> str:
        return mark + (messy(value) if strewn else even(value)) + end

    return write


def places(value: Any, steps: Steps = ()) -> list[Steps]:
    """The way to every container in a document."""
    if not isinstance(value, dict | list):
        return []
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [steps, *(place for step, item in inner for place in places(item, (*steps, step)))]


def at(document: Any, steps: Steps) -> Any:
    for step in steps:
        document = document[step]
    return document


def read(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


@given(document=CONTAINERS, write=styles(), value=VALUES, data=st.data())
def test_what_is_appended_and_removed_again_leaves_the_same_bytes(
    document: Any, write: Callable[[Any], str], value: Any, data: st.DataObject
) -> None:
    """Appending anywhere changes the meaning as expected; removing it gives back the identical text."""
    before = write(document)
    editor = Editor(before)
    steps = data.draw(st.sampled_from(places(document)))
    container = at(document, steps)
    if isinstance(container, dict):
        key = data.draw(st.text().filter(lambda name: name not in container))
        editor.append(steps, value, key)
        container[key] = value
        last: str | int = key
    else:
        editor.append(steps, value)
        container.append(value)
        last = len(container) - 1
    assert read(editor.text) == document
    assert json.dumps(read(editor.text)) == json.dumps(document), "order and number types stay"
    editor.remove((*steps, last))
    assert editor.text == before


@given(document=CONTAINERS.filter(bool), write=styles(), data=st.data())
def test_any_entry_can_be_removed(document: Any, write: Callable[[Any], str], data: st.DataObject) -> None:
    """Removing one entry removes its meaning and no other."""
    steps = data.draw(st.sampled_from([steps for steps in places(document) if at(document, steps)]))
    container = at(document, steps)
    step = data.draw(st.sampled_from(list(container) if isinstance(container, dict) else [*range(len(container))]))
    editor = Editor(write(document))
    editor.remove((*steps, step))
    del container[step]
    assert json.dumps(read(editor.text)) == json.dumps(document)


@given(write=styles(), text=st.text(), document=VALUES)
def test_a_string_can_be_replaced(write: Callable[[Any], str], text: str, document: Any) -> None:
    """Replacing one value leaves everything around it."""
    before = write({"a": document, "b": ["old", 1.0], "c": document})
    editor = Editor(before)
    editor.replace(("b", 0), json.dumps(text))
    assert read(editor.text) == {"a": document, "b": [text, 1.0], "c": document}
    editor.replace(("b", 0), '"old"')
    assert editor.text == before


@each_row(
    "before, after",
    [
        (
            '{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n',
            '{\n\t"a": {\n\t\t"b": 1\n\t},\n\t"k": {\n\t\t"x": [\n\t\t\t1\n\t\t]\n\t}\n}\n',
        ),
        (
            '{\r\n    "a": 1\r\n}',
            '{\r\n    "a": 1,\r\n    "k": {\r\n        "x": [\r\n            1\r\n        ]\r\n    }\r\n}',
        ),
        ('{"a":1,"b":2}', '{"a":1,"b":2,"k":{"x":[1]}}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "k": {"x": [1]}}'),
        ('{"a":1}', '{"a":1,"k":{"x":[1]}}'),
        ('{ "a" : 1 }', '{ "a" : 1, "k" : {"x" : [1]} }'),
        ("{}\n", '{\n  "k": {\n    "x": [\n      1\n    ]\n  }\n}\n'),
        ("{\n}", '{\n  "k": {\n    "x": [\n      1\n    ]\n  }\n}'),
        ("\ufeff{}", '\ufeff{\n  "k": {\n    "x": [\n      1\n    ]\n  }\n}'),
    ],
)
def test_what_is_added_looks_like_the_rest(before: str, after: str) -> None:
    """Indentation, newlines and spacing of the text are followed."""
    editor = Editor(before)
    editor.append((), {"x": [1]}, "k")
    assert editor.text == after


def test_number_forms_escapes_and_order_stay() -> None:
    """Nothing that is not edited is written anew."""
    inner = '"z": 1.0, "y": 1e5, "x": -0, "big": 123456789012345678901234567890, "s": "\\u00e9\\/\\ud800", "é": "é"'
    editor = Editor("{" + inner + "}")
    editor.append((), [], "new")
    assert editor.text == "{" + inner + ', "new": []}'


@each_row(
    "text, words",
    [
        ('{\n  // why\n  "a": 1\n}', "a comment isn't allowed, line 2 column 3"),
        ('{"a": 1, /* b */ "c": 2}', "a comment isn't allowed, line 1 column 10"),
        ('{\r\n\t"a": 1,\r\n}', "trailing comma"),
        ('{"a": 1,\n "\\u0061": 2}', "the key 'a' occurs twice"),
        ("\ufeff{,}", "line 1 column 2"),
    ],
)
def test_an_error_says_what_is_wrong_as_for_a_state_file(text: str, words: str) -> None:
    """What is not strict JSON is refused with the place and the reason."""
    with pytest.raises(HoldfastError) as caught:
        jsonedit.parse(text)
    assert words in str(caught.value)


def test_keys_are_found_whatever_their_spelling() -> None:
    """An escaped key is the same key."""
    assert Editor('{"h\\u006foks": {"x": 1}}').value(("hooks",)) == {"x": 1}
