"""Read a file's data by a pydantic model, leniently: what doesn't fit is converted or left out, with a warning."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping

Model = TypeVar("Model", bound=BaseModel)

_ROUNDS = 20
"""Times that data is validated: what is converted may have members that don't fit either."""
FAULTS = {
    "string_type": "is not a text",
    "list_type": "is not a list",
    "tuple_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
    "model_attributes_type": "is not an object",
    "int_type": "is not a whole number",
    "greater_than_equal": "is too small",
    "bool_type": "is not true or false",
    "missing": "is missing",
}
"""What is wrong with a value, by pydantic's types of errors."""


Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text; null is an empty one."""
Texts = Annotated[list[Text], BeforeValidator(lambda value: [] if value is None else value)]
"""A list of texts; null is an empty one."""
Name = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else values.text(value))]
"""A text that people may also write as a number."""


def read(model: type[Model], data: Mapping[str, Any], warnings: list[str], prefix: str = "") -> Model:
    """Return a model of a file's data; `data` stays as it is.

    A value that doesn't fit is converted where that loses nothing: anything is a text as JSON, and a single value is a
    list of one. Otherwise the field gets its default. Each such value is a warning (`values.deviation`), in which
    `prefix` comes before the field's name; what is in a value that was converted is none. A file that lacks a field
    without a default isn't the format's own (`Format.check`), so that is an error here.

    Raises:
        ValueError: a field without a default is missing.
    """
    copied: dict[str, Any] | None = None  # nearly every file fits as it is
    seen = set[tuple[int | str, ...]]()
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(data if copied is None else copied)
        except ValidationError as error:
            copied = copy.deepcopy(dict(data)) if copied is None else copied
            for fault in error.errors(include_url=False):
                where = fault["loc"]
                if fault["type"] == "missing":
                    raise ValueError(f'"{name(where)}" is missing') from error
                if not any(where[:length] in seen for length in range(1, len(where) + 1)):
                    warnings.append(values.deviation(f"{prefix}{name(where)}", _words(fault)))
                _mend(copied, where, fault["type"], again=where in seen)
                seen.add(where)
    raise ValueError(f"{model.__name__} has fields whose defaults don't fit")


def name(where: tuple[int | str, ...]) -> str:
    """Return the name of a field in a message: `phases[0].title`."""
    text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in where)
    return text.removeprefix(".")


def _words(fault: Any) -> str:
    if fault["type"] in FAULTS:
        return FAULTS[fault["type"]]
    value = values.text(fault["input"])
    if fault["type"] == "literal_error":
        return f'is "{value}", not one of {fault["ctx"]["expected"].replace(" or ", ", ").replace(chr(39), "")}'
    return f'is "{value}", which doesn\'t fit: {fault["msg"]}'


def _mend(data: Any, where: tuple[int | str, ...], kind: str, *, again: bool) -> None:
    """Convert the value at a place, or remove it so that the field gets its default."""
    *way, last = where
    for key in way:
        data = data[key]
    value = data[last]
    if kind == "string_type" and not again:
        data[last] = values.text(value)
    elif kind == "list_type" and not again and value is not None:
        data[last] = [values.member(*each) for each in value.items()] if isinstance(value, dict) else [value]
    elif isinstance(data, dict):
        del data[last]
    else:
        data[last] = {}
