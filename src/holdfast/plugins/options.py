"""A handler's options: the table `[options.NAME]` of `holdfast.toml`, read by the handler's own model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from holdfast import config, paths
from holdfast.errors import HoldfastError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.plugins.discovery import HandlerFile
    from holdfast.project import Project

MODEL = "Options"
"""The class in a handler file that has its options: a pydantic model."""


def values(file: HandlerFile, project: Project) -> Mapping[str, Any]:
    """Return the values that the configuration has for a handler.

    For a strict handler of yours only your own configuration counts: a project can't loosen it.
    """
    own = file.place != "project" and file.strict
    settings = config.load(None, trusted=False).config if own else project.config
    return settings.options.get(file.name, {})


def read(model: object, file: HandlerFile, project: Project) -> BaseModel:
    """Return a handler's options as its model has them.

    Args:
        model: the handler file's class `Options`.
        file: the handler file.
        project: the project whose configuration counts.

    Raises:
        HoldfastError: there is no such model, or a key or value doesn't fit it; with file and line.
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise HoldfastError(f"asks for options, so it needs a class {MODEL}(BaseModel) with a field for each")
    configured = values(file, project)
    known = {field.alias or name: name for name, field in model.model_fields.items()}
    for key in configured:
        if key not in known:
            hint = did_you_mean(key, known, else_all=True)
            raise HoldfastError(f"{_where(file, project, key)}: there is no option {key!r}{hint}")
    try:
        return model.model_validate(dict(configured))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = str(fault["loc"][0]) if fault["loc"] else ""
        message = fault["msg"].removeprefix("Value error, ")
        raise HoldfastError(f"{_where(file, project, key)}: {key}: {message[0].lower()}{message[1:]}") from None


def _where(file: HandlerFile, project: Project, key: str) -> str:
    """Return the file and line that set an option, the nearest file first; the table's name if no line is found."""
    for place in (paths.project_config(project.root), paths.user_config()):
        try:
            text = place.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        table = re.search(rf'^\[options\.("?){re.escape(file.name)}\1\]', text, re.MULTILINE)
        line = re.compile(rf"^[ \t]*{re.escape(key)}\s*=", re.MULTILINE).search(text, table.end() if table else 0)
        if table and line:
            return f"{place}, line {text.count(chr(10), 0, line.start()) + 1}"
    return f"[options.{file.name}]"
