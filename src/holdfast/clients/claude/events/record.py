"""The frozen, tolerant model from which events and the structures in them derive."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler

Identifier = Annotated[str, Field(coerce_numbers_to_str=True)]
"""An opaque id: a string, though some clients have sent numbers (client fact §7)."""


class Record(BaseModel):
    """A typed, frozen object that the client sent; unknown keys are in `model_extra`.

    An optional field with a value of an unexpected type keeps its default, and the value goes to `unreadable`, so that
    a change in the client never prevents a save. `null` is the same as absent. Only a required field that is missing or
    of a wrong type is an error.
    """

    # Built at first use, so that an event pays only for the models it needs.
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    _unreadable: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def unreadable(self) -> dict[str, Any]:
        """The values that no field could take, unchanged, by the client's key."""
        return self._unreadable

    @model_validator(mode="wrap")
    @classmethod
    def _set_aside(cls, values: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        fit = values
        while True:
            try:
                record = read(fit)
            except ValidationError as problem:
                unfit = cls._unfit(fit, problem)
                if not unfit:
                    raise
                fit = {key: value for key, value in fit.items() if key not in unfit}
            else:
                break
        if fit is not values:
            record._unreadable.update((k, v) for k, v in values.items() if k not in fit and v is not None)
        return record

    @classmethod
    def _unfit(cls, values: Any, problem: ValidationError) -> set[Any]:
        """Return the keys to leave out for a second reading; none if a required one is among them."""
        if not isinstance(values, Mapping):
            return set()
        # A key that is no text hides all other errors, so it is removed first; the next reading finds the rest.
        unfit = {key for key in values if not _is_text(key)} or {
            fault["loc"][0] for fault in problem.errors(include_url=False, include_context=False) if fault["loc"]
        }
        return set() if unfit & cls.required() else unfit

    @classmethod
    def required(cls) -> frozenset[str]:
        """Return the names of the required fields."""
        return frozenset(name for name, field in cls.model_fields.items() if field.is_required())


def _is_text(key: object) -> bool:
    """Return whether pydantic can keep a key: JavaScript can split an emoji, and half of one can't be encoded."""
    if not isinstance(key, str):
        return False
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
