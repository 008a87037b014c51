"""A changed JSON file keeps every character of the parts that didn't change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.files import jsonkeep
from tests.tables import each_row

BY_HAND = """{
  "workflow": "Fé",
  "phase": {"current": 1, "total": 5, "name": "Design"},
  "cost" : 1.50, "exact": 0.12345678901234567890,  "large": 1E3,
  "required_reading": [
    "@a.md",
      "@b.md"
  ],
  "key_reminders": ["Follow",  "Test"],
  "none": [],

  "context": {
      "deep": {"list": [1, 2, {"x": null}]}
  }
}

"""


def changed(text: str, data: Any, *, escaped: bool = False) -> str:
    """Return the text with other content; it must be possible."""
    raw = jsonkeep.rewritten(text.encode(), json.loads(text.removeprefix("\ufeff")), data, escaped=escaped)
    assert raw is not None
    return raw.decode()


def test_one_value_changes_one_value() -> None:
    """Order, layout, spelling of numbers and blank space all stay."""
    data = json.loads(BY_HAND)
    data["phase"]["current"] = 2
    data["context"]["deep"]["list"][2]["x"] = "é"

    assert changed(BY_HAND, data) == BY_HAND.replace('"current": 1', '"current": 2').replace("null", '"é"')


@each_row(
    "path, value, old, new",
    [
        (("required_reading",), "@c.md", '      "@b.md"\n', '      "@b.md",\n      "@c.md"\n'),
        (("key_reminders",), "More", '["Follow",  "Test"]', '["Follow",  "Test",  "More"]'),
        (("none",), "x", "[]", '[\n    "x"\n  ]'),
        (("context", "deep", "list"), 3, '{"x": null}]', '{"x": null}, 3]'),
    ],
)
def test_what_is_added_looks_like_its_neighbours(path: tuple[str, ...], value: Any, old: str, new: str) -> None:
    """A list on one line stays on one line, one with a line for each entry gets one more."""
    data = json.loads(BY_HAND)
    place = data
    for step in path:
        place = place[step]
    place.append(value)

    assert changed(BY_HAND, data) == BY_HAND.replace(old, new)


def test_a_new_key_comes_last() -> None:
    """It has a line of its own where the others have one, and none where they do not."""
    data = json.loads(BY_HAND) | {"created_at": {"n": 1}}
    data["phase"]["status"] = "done"

    text = changed(BY_HAND, data)

    assert text.endswith('null}]}\n  },\n  "created_at": {\n    "n": 1\n  }\n}\n\n')
    assert '"name": "Design", "status": "done"}' in text


@each_row("gone", ["workflow", "cost", "context"])
def test_a_key_that_goes_takes_its_comma_along(gone: str) -> None:
    """First, in the middle and last."""
    data = json.loads(BY_HAND)
    del data[gone]

    text = changed(BY_HAND, data)

    assert json.loads(text) == data
    assert {key: text.count(f'"{key}"') for key in data} == dict.fromkeys(data, 1)
    assert '"exact": 0.12345678901234567890' in text


def test_windows_lines_and_mark_stay() -> None:
    """What a Windows editor saved keeps its line ends and its byte order mark."""
    text = '\ufeff{\r\n\t"a": [\r\n\t\t1\r\n\t],\r\n\t"b": {}\r\n}\r\n'

    assert changed(text, {"a": [1, 2], "b": {"c": [3]}}) == text.replace("1\r\n", "1,\r\n\t\t2\r\n").replace(
        "{}", '{\r\n\t\t"c": [\r\n\t\t\t3\r\n\t\t]\r\n\t}'
    )


def test_new_letters_are_escaped_on_demand_only() -> None:
    """A file in plain ASCII stays one; half an emoji is escaped in any case."""
    assert changed('{"a": "b"}', {"a": "ü"}, escaped=True) == '{"a": "\\u00fc"}'
    assert changed('{"a": "b"}', {"a": "ü"}) == '{"a": "ü"}'
    assert changed('{"a": "b"}', {"a": "x\ud83d"}) == '{"a": "x\\ud83d"}'


@each_row(
    "raw, data",
    [
        (b'{"a": 1,}', {"a": 2}),
        (b'\xff{"a": 1}', {"a": 2}),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", {"a": 2}),
        (b'{"a": "' + b"x" * jsonkeep.LIMIT_BYTES + b'"}', {"a": 2}),
        (b'{"a": 1}', {"a": float("nan")}),
    ],
)
def test_what_cannot_be_kept_is_left_to_others(raw: bytes, data: dict[str, Any]) -> None:
    """A text that is broken, too deep or too large, and data that is no JSON, are nothing for this writer."""
    assert jsonkeep.rewritten(raw, {"a": 1}, data, escaped=False) is None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc") | st.text(), inner, max_size=4),
    max_leaves=10,
)
_OBJECTS = st.dictionaries(st.sampled_from("abcdef") | st.text(), _VALUES, max_size=6)
_LAYOUTS: list[dict[str, Any]] = [{"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}, {"indent": 0}]


@pytest.mark.slow
@given(_OBJECTS, _OBJECTS, st.sampled_from(_LAYOUTS))
def test_any_data_becomes_any_other(before: dict[str, Any], after: dict[str, Any], layout: dict[str, Any]) -> None:
    """What is written says exactly what was asked for, and what says the same already keeps every byte."""
    raw = json.dumps(before, **layout).encode()

    written = jsonkeep.rewritten(raw, before, after, escaped=False)

    assert written is not None
    assert json.dumps(json.loads(written), sort_keys=True) == json.dumps(after, sort_keys=True)
    assert jsonkeep.rewritten(raw, before, before, escaped=False) == raw
