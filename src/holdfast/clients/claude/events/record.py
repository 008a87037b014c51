"""The frozen, tolerant shape that every event and every structure inside one is made of."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler

Identifier = Annotated[str, Field(coerce_numbers_to_str=True)]
"""An opaque id: a string, though some clients have sent numbers (client fact §7)."""


class Record(BaseModel):
    """What the client sent, typed: frozen, unknown keys kept in `model_extra`.

    A value whose type an optional field does not know is set aside in `unreadable` and the field keeps its
    default, so a drifting client never costs a save. `null` is the same as absent. Only a required field that
    is missing or of a wrong type is refused.
    """

    # Built at first use: a firing pays for its own event, not for every structure beside it.
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    _unreadable: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def unreadable(self) -> dict[str, Any]:
        """The values that were set aside, as they came, by the client's key."""
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
        """Name the keys to do without; none when it cannot be done without them."""
        if not isinstance(values, Mapping):
            return set()
        # A key that is no text hides all other faults, so it goes first and the rest are found in a second reading.
        unfit = {key for key in values if not _is_text(key)} or {
            fault["loc"][0] for fault in problem.errors(include_url=False, include_context=False) if fault["loc"]
        }
        return set() if unfit & cls.required() else unfit

    @classmethod
    def required(cls) -> frozenset[str]:
        """Name the fields without which there is no record."""
        return frozenset(name for name, field in cls.model_fields.items() if field.is_required())


def _is_text(key: object) -> bool:
    """Tell whether pydantic can keep a key: JavaScript can cut an emoji in two, and the half is no text."""
    if not isinstance(key, str):
        return False
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
