"""Read files that people write by hand with pydantic models: what doesn't fit is repaired, with a warning."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError, ValidationInfo, ValidatorFunctionWrapHandler
from pydantic_core import core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Model = TypeVar("Model", bound=BaseModel)


def read(model: type[Model], data: Mapping[str, Any], warnings: list[str]) -> Model:
    """Return an object as a model whose fields are `Lenient`, and add a warning for each value that doesn't fit.

    A missing value counts as None.
    """
    return model.model_validate({name: data.get(name) for name in model.model_fields}, context=warnings)


@dataclass(frozen=True)
class Lenient:
    """Has a value that doesn't fit its field repaired. It comes last in the field's `Annotated`.

    Attributes:
        name: the field's name in the warning.
        wanted: what the value should be, in words.
        repair: returns the value to use instead; by default the value as it is, for the caller to read.
    """

    name: str
    wanted: str
    repair: Callable[[Any], Any] = lambda value: value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Return the field's own schema with this around it."""
        return core_schema.with_info_wrap_validator_function(self._read, handler(source))

    def _read(self, value: Any, validated: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return validated(value)
        except ValidationError:
            repaired = self.repair(value)
        is_wrong = "is missing" if value is None else f"is {json.dumps(value, ensure_ascii=False)}, not {self.wanted}"
        taken = f"; {repaired} is taken" if isinstance(repaired, (str, int)) and repaired not in (value, "") else ""
        info.context.append(f'"{self.name}" {is_wrong}{taken}')
        return repaired
