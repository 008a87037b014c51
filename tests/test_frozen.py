"""A frozen class is a frozen dataclass in all that its users see: the same class is made both ways, and compared."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, make_dataclass
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.frozen import frozen
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

FIELDS: list[tuple[str, Any, Any]] = [
    ("name", str, field()),
    ("size", int, field(default=3)),
    ("parts", list, field(default_factory=list)),
    ("seen", int, field(default=0, compare=False)),
    ("hidden", str, field(default="", repr=False)),
]
Oracle: Any = make_dataclass("Box", FIELDS, frozen=True, slots=True)


@frozen
class Box:
    """The same, as a frozen class."""

    name: str
    size: int = 3
    parts: list[int] = field(default_factory=list)
    seen: int = field(default=0, compare=False)
    hidden: str = field(default="", repr=False)

    @property
    def long(self) -> bool:
        """Methods stay."""
        return self.size > 3


@frozen
class Lid(Box):
    """A subclass."""

    colour: str = "red"

    def __repr__(self) -> str:
        """What a class defines itself stays."""
        return f"a {self.colour} lid"


GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 4, [1], 2, "h"), {}),
    (("a", 4, [1]), {}),
    (("a", 4, [1], 2), {}),
    ((), {"name": "a", "hidden": "h"}),
    (("a",), {"seen": 9, "size": 1}),
    ((), {}),
    ((), {"size": 1}),
    (("a", 1, [], 0, "", 7), {}),
    (("a",), {"name": "b"}),
    (("a",), {"other": 1}),
    (("a", 4, [1], 2, "h"), {"size": 1}),
]


@each_row("given, named", GIVEN)
def test_it_takes_what_a_dataclass_takes_and_shows_it_alike(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    """With a TypeError for all else."""

    def made(cls: Callable[..., Any]) -> object:
        try:
            box = cls(*given, **named)
        except TypeError:
            return TypeError
        return repr(box), dataclasses.asdict(box)

    assert made(Box) == made(Oracle)


@each_row(
    "call, said",
    [
        (lambda: Box(), "Box() needs a value for 'name'"),  # type: ignore[call-arg]
        (lambda: Box("a", other=1), "Box() has no field 'other'"),  # type: ignore[call-arg]
        (lambda: Box("a", name="b"), "Box() got two values for 'name'"),  # type: ignore[misc]
        (lambda: Box("a", 1, [], 0, "", 7), "Box() takes 5 values but 6 were given"),  # type: ignore[call-arg]
    ],
)
def test_what_is_wrong_is_named(call: Callable[[], object], said: str) -> None:
    """In words."""
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == said


@each_row("change", [{}, {"name": "b"}, {"size": 1}, {"parts": [1]}, {"seen": 1}, {"hidden": "x"}])
def test_it_is_equal_by_the_fields_that_a_dataclass_compares(change: dict[str, Any]) -> None:
    """And never to something of another class."""
    box, oracle = Box("a"), Oracle("a")
    assert (dataclasses.replace(box, **change) == box) == (dataclasses.replace(oracle, **change) == oracle)
    assert Box("a") != Lid("a")
    assert Box("a") != dataclasses.astuple(Box("a"))  # type: ignore[comparison-overlap]


def test_nothing_can_be_assigned_or_deleted() -> None:
    """Nor added."""
    box = Box("a")
    for name in ("name", "new"):
        with pytest.raises(FrozenInstanceError):
            setattr(box, name, 1)
    with pytest.raises(FrozenInstanceError):
        del box.name
    assert not hasattr(box, "__dict__")


@each_row("again", [copy.copy, copy.deepcopy, lambda box: pickle.loads(pickle.dumps(box))])
def test_it_can_be_copied_and_pickled(again: Callable[[Box], Box]) -> None:
    """With each field, compared or not."""
    box = Box("a", 4, [1], 2, "h")
    assert dataclasses.astuple(again(box)) == dataclasses.astuple(box)
