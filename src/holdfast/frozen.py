"""A decorator that only the configuration's modules still use; elsewhere it is written out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    """Return a class as `@dataclass(frozen=True, slots=True)` does."""
    return dataclass(frozen=True, slots=True)(cls)
