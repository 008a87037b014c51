"""The model that checks the values of a `holdfast.toml`, made from its keys (`config_keys`)."""

from __future__ import annotations

from dataclasses import MISSING
from dataclasses import fields as fields_of
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from holdfast import capture
from holdfast.config_keys import KEYS, TABLES, Config, HandlersSection, Price, ProjectSection
from holdfast.pydantic_plugins import unplugged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic.fields import FieldInfo


class _Section(BaseModel):
    # Building takes longer than all that a usual event reads, so it waits until there is something to validate.
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def _no_path(given: str | None) -> str | None:
    # Without an id a project is known by its path, so an id that is a path would join that project's ledger.
    if given is not None and given.startswith("/"):
        raise ValueError('an id is a name and cannot begin with "/"')
    return given


def _known_format(name: str) -> str:
    from holdfast.formats import NAMES

    if name not in NAMES:
        raise ValueError(f"no format is named {name!r}; known are {', '.join(NAMES)}")
    return name


def _globs(globs: list[str]) -> list[str]:
    for glob in globs:
        if not glob.strip("/ "):
            raise ValueError(f"{glob!r} names no file")
    return globs


def _patterns(patterns: list[str]) -> list[str]:
    if fault := next(filter(None, map(capture.fault, patterns)), ""):
        raise ValueError(fault)
    return patterns


def _made(kind: type[Any], like: Mapping[Any, Any], **validators: Callable[[Any], Any]) -> type[_Section]:
    """Return the model of a class of `config_keys`; `like` has the types that stand for those of its own."""
    hints = get_type_hints(kind)
    said: dict[str, Any] = {}
    for each in fields_of(kind):
        given: dict[str, Any] = dict(each.metadata)
        hint = hints[each.name]
        if hint in TABLES.values():
            given["default_factory"] = like[hint].model_construct
        elif each.default_factory is not MISSING:
            given["default"] = each.default_factory()
        elif each.default is not MISSING:
            given["default"] = each.default
        said[each.name] = (like.get(hint, hint), Field(**given))
    checks: Any = {f"check_{name}": field_validator(name)(check) for name, check in validators.items()}
    made: type[_Section] = create_model(
        kind.__name__, __base__=_Section, __doc__=kind.__doc__, __validators__=checks, **said
    )
    return made


_PARTS = {ProjectSection: _made(ProjectSection, {}, id=_no_path), HandlersSection: _made(HandlersSection, {})}
PRICE = _made(Price, {})
MODEL = _made(
    Config,
    {**_PARTS, dict[str, Price]: GenericAlias(dict, (str, PRICE))},
    format=_known_format,
    exclude=_globs,
    exclude_patterns=_patterns,
)
_KINDS: dict[type[BaseModel], type[Any]] = {
    MODEL: Config,
    PRICE: Price,
    **{model: kind for kind, model in _PARTS.items()},
}


def validated(values: Mapping[str, Any]) -> Config:
    """Return a configuration from its tables and values. Raises ValidationError."""
    with unplugged():
        made = MODEL.model_validate(values)
    return cast("Config", _plain(made))


def fault(values: Mapping[str, Any], shown: Callable[[], str]) -> str:
    """Return what is wrong with a configuration, empty for nothing; `shown` returns the value as a person reads it."""
    try:
        with unplugged():
            MODEL.model_validate(values)
    except ValidationError as error:
        first: str = error.errors(include_url=False)[0]["msg"]
        said = first.removeprefix("Value error, ")
        return said if said != first else f"{said[0].lower()}{said[1:]}, got {shown()}"
    return ""


@cache
def fields() -> Mapping[str, FieldInfo]:
    """Return the field of every key, in the order of `KEYS`."""
    models = {"": MODEL, **{table: _PARTS[kind] for table, kind in TABLES.items()}}
    return {key: models[key.rpartition(".")[0]].model_fields[key.rpartition(".")[2]] for key in KEYS}


def _plain(value: Any) -> Any:
    """Return a model's value with objects of the classes of `config_keys` in place of models."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, BaseModel):
        return _KINDS[type(value)](**{name: _plain(getattr(value, name)) for name in type(value).model_fields})
    return value
