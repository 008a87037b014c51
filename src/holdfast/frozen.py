"""Immutable classes that take a fraction of the time to make that frozen dataclasses and `typing.NamedTuple` take.

An event without a warm server makes some forty of each. For a frozen dataclass, `dataclass` writes, compiles and runs
the text of six functions: more than half a millisecond. These share their functions. In all else they are dataclasses.
Classes that change are dataclasses, where events make them without the functions that nobody calls (`repr=False,
eq=False`), which takes half of the time. For a named tuple, `typing` compiles the text of each annotation.
"""

from __future__ import annotations

import operator
from collections import namedtuple
from dataclasses import MISSING, FrozenInstanceError, dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import Field
    from typing import NamedTuple as NamedTuple

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    """Return a class as `@dataclass(frozen=True, slots=True)` would.

    `dataclasses.replace`, `asdict` and `fields` take its objects. They are equal, hashed and shown by their fields.

    Args:
        cls: a class with annotations. Its fields may have defaults, `compare=False` and `repr=False`. What else a
            dataclass knows, such as `__post_init__`, is not supported: use a dataclass for it.
    """
    cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclass works out a signature for it
    kinds = cls.__annotations__
    cls.__annotations__ = dict.fromkeys(kinds, object)  # dataclass searches each text for what isn't supported here
    made = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__annotations__ = kinds
    known: tuple[Field[Any], ...] = tuple(made.__dataclass_fields__.values())  # type: ignore[attr-defined]
    for each in known:
        each.type = kinds.get(each.name, each.type)  # another is a base class's
    compared = tuple(each.name for each in known if (each.compare if each.hash is None else each.hash))
    own = cls.__dict__
    for name, method in (
        ("__init__", _init(known, [getattr(made, each.name).__set__ for each in known])),
        ("__repr__", _repr(tuple(each.name for each in known if each.repr))),
        ("__eq__", _eq(tuple(each.name for each in known if each.compare))),
        ("__hash__", lambda self: hash(tuple([getattr(self, name) for name in compared]))),
        ("__setattr__", _refuse_to_assign),
        ("__delattr__", _refuse_to_delete),
        ("__reduce__", _reduce),
    ):
        if name not in own:
            setattr(made, name, method)
    return made


def _init(known: tuple[Field[Any], ...], setters: list[Callable[[object, object], None]]) -> Callable[..., None]:
    names = {each.name for each in known}
    defaults = tuple(each.default for each in known)
    needed = max((at + 1 for at, each in enumerate(defaults) if each is MISSING), default=0)
    by_name = dict(zip([each.name for each in known], defaults, strict=True))
    required = frozenset(name for name, default in by_name.items() if default is MISSING)

    def bound(cls: type, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """Return the value of each field, in order. Raises TypeError as a call of a function would."""
        if len(given) > len(known):
            raise TypeError(f"{cls.__name__}() takes {len(known)} values but {len(given)} were given")
        values = list(given)
        for each in known[len(given) :]:
            if each.name in named:
                values.append(named[each.name])
            elif each.default is not MISSING:
                values.append(each.default)
            elif each.default_factory is not MISSING:
                values.append(each.default_factory())
            else:
                raise TypeError(f"{cls.__name__}() needs a value for {each.name!r}")
        if twice := [each.name for each in known[: len(given)] if each.name in named]:
            raise TypeError(f"{cls.__name__}() got two values for {twice[0]!r}")
        if unknown := named.keys() - names:
            raise TypeError(f"{cls.__name__}() has no field {min(unknown)!r}")
        return values

    def init(self: object, *given: Any, **named: Any) -> None:
        values: Iterable[object]
        if named and not given and required <= named.keys() <= names:  # some events make a thousand objects
            values = (by_name | named).values()
        elif named or not needed <= len(given) <= len(setters):
            values = bound(type(self), given, named)
        else:
            values = given + defaults[len(given) :]
        any(map(operator.call, setters, repeat(self), values))  # no loop in Python: each returns None

    return init


def _repr(shown: tuple[str, ...]) -> Callable[[object], str]:
    from reprlib import recursive_repr

    @recursive_repr()
    def shown_as(self: object) -> str:
        said = ", ".join([f"{name}={getattr(self, name)!r}" for name in shown])
        return f"{type(self).__qualname__}({said})"

    return shown_as


def _eq(compared: tuple[str, ...]) -> Callable[[object, object], object]:
    def values(each: object) -> list[object]:
        return [getattr(each, name) for name in compared]

    def equal(self: object, other: object) -> object:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _refuse_to_assign(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    """What copying and pickling need: the usual way assigns to fields."""
    return type(self), tuple([getattr(self, name) for name in self.__dataclass_fields__])


class _Named(type):
    """Makes a named tuple of a class, as `typing.NamedTuple` does, and leaves its annotations alone."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
        if not bases:  # `NamedTuple` itself
            return super().__new__(cls, name, bases, body)
        if len(bases) > 1:
            raise TypeError(f"{name} has another base, too: use typing.NamedTuple")
        kinds: dict[str, str] = body.get("__annotations__", {})
        defaults = [body[each] for each in kinds if each in body]
        made = namedtuple(name, kinds, defaults=defaults, module=body["__module__"])  # type: ignore[misc]
        for key, value in body.items():
            if key not in kinds:
                setattr(made, key, value)
        return made


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Named):
        """What `typing.NamedTuple` is, for modules with `from __future__ import annotations`."""
