"""The frozen, tolerant shape that every event and every structure inside one is made of."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)

Identifier = Annotated[str, Field(coerce_numbers_to_str=True)]
"""An opaque id: a string, though some clients have sent numbers (client fact §7)."""


class Record(BaseModel):
    """What the client sent, typed: frozen, unknown keys kept in `model_extra`.

    A value whose type an optional field does not know is set aside in `unreadable` and the field keeps its
    default, so a drifting client never costs a save. `null` is the same as absent. Only a required field that
    is missing or of a wrong type is refused.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    _unreadable: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def unreadable(self) -> dict[str, Any]:
        """The values that were set aside, as they came, by the client's key."""
        return self._unreadable

    @model_validator(mode="wrap")
    @classmethod
    def _set_aside(cls, values: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return read(values)
        except ValidationError as problem:
            if not isinstance(values, Mapping):
                raise
            unfit = {key for key in values if not _is_text(key)} | {str(fault["loc"][0]) for fault in _located(problem)}
            if unfit & cls.required():
                raise
            record = read({key: value for key, value in values.items() if key not in unfit})
            record._unreadable.update((key, values[key]) for key in unfit if values[key] is not None)
            return record

    @classmethod
    def required(cls) -> frozenset[str]:
        """Name the fields without which there is no record."""
        return frozenset(name for name, field in cls.model_fields.items() if field.is_required())


def _located(problem: ValidationError) -> list[Any]:
    return [fault for fault in problem.errors(include_url=False, include_context=False) if fault["loc"]]


def _is_text(key: object) -> bool:
    """Tell whether pydantic can keep a key: JavaScript can cut an emoji in two, and the half is no text."""
    if not isinstance(key, str):
        return False
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
