"""A frozen class is a frozen dataclass in all that its users see: the same class is made both ways, and compared."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import typing
from dataclasses import FrozenInstanceError, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import holdfast
from holdfast.frozen import NamedTuple, frozen
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


def test_its_hash_is_of_the_fields_that_are_compared() -> None:
    """So equal ones are found in sets; a list in one of them can't be hashed, as ever."""
    assert hash(Box("a", parts=(1,), seen=1)) == hash(Box("a", parts=(1,), seen=2))  # type: ignore[arg-type]
    assert hash(Box("a", parts=(1,))) != hash(Box("a", parts=(2,)))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        hash(Box("a"))


def test_each_object_gets_its_own_default() -> None:
    """One that a factory makes."""
    assert Box("a").parts is not Box("a").parts


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


def test_a_subclass_has_all_fields_and_what_it_defines_itself() -> None:
    """The class it comes from stays as it was."""
    lid = Lid("a", 4, colour="blue")
    assert (lid.name, lid.long, lid.colour, repr(lid)) == ("a", True, "blue", "a blue lid")
    assert [each.name for each in dataclasses.fields(lid)][-1] == "colour"
    assert "colour" not in repr(Box("a"))


def test_a_class_without_a_docstring_gets_its_name() -> None:
    """Working out a signature would take longer than all the rest."""

    @frozen
    class Bare:
        x: int

    assert Bare.__doc__ == "Bare"


def test_an_object_in_itself_can_be_shown() -> None:
    """As lists that hold themselves can."""
    box = Box("a")
    box.parts.append(box)  # type: ignore[arg-type]
    assert "..." in repr(box)


def test_the_annotations_are_as_they_were_written() -> None:
    """Of the class and of its fields; a field of a base class keeps its own."""

    @frozen
    class Large(Box):
        weight: int | None = None

    kinds = {each.name: each.type for each in dataclasses.fields(Large)}
    assert kinds == {**Box.__annotations__, "weight": "int | None"}
    assert Large.__annotations__ == {"weight": "int | None"}
    assert Box.__annotations__ == {"name": "str", "size": "int", "parts": "list[int]", "seen": "int", "hidden": "str"}


class Pair(NamedTuple):
    """A named tuple."""

    name: str
    sizes: tuple[int, ...] = (3,)

    @property
    def long(self) -> bool:
        """What is computed."""
        return len(self.name) > 3

    @classmethod
    def of(cls, name: str) -> Pair:
        """Make one."""
        return cls(name)


class Usual(typing.NamedTuple):
    """A named tuple."""

    name: str
    sizes: tuple[int, ...] = (3,)


def test_a_named_tuple_is_what_typing_makes_of_it() -> None:
    """All but the annotations, which stay texts, as in any class of a module that postpones them."""
    one: Any = Pair.of("long enough")
    usual: Any = Usual("long enough")

    assert one == usual == ("long enough", (3,))
    assert repr(one).replace("Pair", "Usual") == repr(usual)
    assert (Pair.__mro__[1:], Pair._fields, Pair._field_defaults) == (
        Usual.__mro__[1:],
        Usual._fields,
        Usual._field_defaults,
    )
    assert (Pair.__doc__, Pair.__module__, Pair.__qualname__) == (Usual.__doc__, __name__, "Pair")
    assert typing.get_type_hints(Pair) == typing.get_type_hints(Usual)
    assert one.long
    assert one._replace(name="x") == ("x", (3,))
    assert pickle.loads(pickle.dumps(one)).__class__ is copy.deepcopy(one).__class__ is Pair
    with pytest.raises(TypeError):
        Pair()  # type: ignore[call-arg]


def test_a_named_tuple_with_another_base_is_refused() -> None:
    """It would be lost without a word."""
    with pytest.raises(TypeError, match=r"Odd has another base, too: use typing\.NamedTuple"):
        exec("class Odd(NamedTuple, dict): ...", {"NamedTuple": NamedTuple, "__name__": __name__})


def test_named_tuples_are_made_the_quick_way() -> None:
    """In a module that postpones its annotations; those of typing are for classes with another base."""
    top = Path(holdfast.__file__).parent
    texts = {str(file.relative_to(top)): file.read_text("utf-8") for file in top.rglob("*.py")}
    ours = {name: text for name, text in texts.items() if re.search(r"(?m)^ *class \w+\(NamedTuple\)", text)}
    quick = re.compile(
        r"^from __future__ import annotations$.*^from holdfast\.frozen import NamedTuple", re.MULTILINE | re.DOTALL
    )

    assert len(ours) > 50
    assert [name for name, text in ours.items() if not quick.search(text)] == []
