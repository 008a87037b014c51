"""Values of JSON that are equal for Python are not always the same, and those that nobody changed are."""

from __future__ import annotations

import copy
from typing import Any

from holdfast.files.jsonvalue import same
from tests.tables import each_row

VALUES: list[Any] = [
    1,
    1.0,
    True,
    "1",
    None,
    [1],
    [1.0],
    [True],
    [[1]],
    [[True]],
    {"a": 1},
    {"a": True},
    {"a": [1]},
    [],
]


@each_row("one", range(len(VALUES)))
def test_each_value_is_the_same_as_itself_alone(one: int) -> None:
    """Whether it is the very object, a list of the same objects, or a copy."""
    value = VALUES[one]
    for found in (value, copy.copy(value), copy.deepcopy(value)):
        assert [at for at, other in enumerate(VALUES) if same(found, other)] == [one]


def test_the_order_of_keys_does_not_matter() -> None:
    """Where the values of the keys are the same."""
    assert same({"a": 1, "b": [2]}, {"b": [2], "a": 1})
    assert not same({"a": 1, "b": [1]}, {"b": [True], "a": 1})
