"""The JSON schema of `holdfast.toml`, with which editors complete and check the file; a copy may lie beside yours."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast import config_model, paths
from holdfast.errors import StateError
from holdfast.files import access, atomic, document
from holdfast.pydantic_plugins import unplugged

if TYPE_CHECKING:
    from pathlib import Path

# Beside the file and by a relative path: an editor finds it without a network, and it moves with your dotfiles.
NAME = "holdfast.schema.json"
LINE = f"#:schema ./{NAME}"
"""The first line of a `holdfast.toml` whose schema lies beside it, as taplo, Even Better TOML and tombi read it."""


def schema() -> dict[str, Any]:
    """Return the schema of the user's and the project's file, made from `holdfast.config_model.MODEL`.

    It has no references, which not every editor follows. It can't say that a regular expression is valid, or that one
    limit is below another: only loading the file tells.
    """
    with unplugged():
        made = config_model.MODEL.model_json_schema()
    named = made.pop("$defs", {})
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",  # editors of TOML know none later
        **_plain(made, named),
        "title": "holdfast.toml",
    }


def text() -> str:
    """Return the schema as JSON."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def place() -> Path:
    """Return where the copy beside the user's file lies."""
    return paths.config_dir() / NAME


def write() -> None:
    """Write the copy beside the user's file. Where that can't be written, an editor only lacks its help."""
    with suppress(StateError, OSError):
        made = text().encode()
        if not access.is_there(place()) or document.read(place())[0] != made:
            atomic.write(place(), made)


def refresh() -> None:
    """Write the copy beside the user's file again, if there is one: it may be an earlier version's."""
    if access.is_there(place()):
        write()


def _plain(part: Any, named: dict[str, Any]) -> Any:
    """Return part of a schema without references, made-up titles, and null, which TOML doesn't have."""
    if isinstance(part, list):
        return [_plain(each, named) for each in part]
    if not isinstance(part, dict):
        return part
    if reference := part.get("$ref"):
        part = {**named[reference.rpartition("/")[2]], **part}
    if "anyOf" in part:
        (only,) = (each for each in part["anyOf"] if each != {"type": "null"})
        part = {**only, **part}
    skipped = {"$ref", "anyOf"} | {key for key, value in part.items() if key == "default" and value is None}
    skipped |= {"title"} if isinstance(part.get("title"), str) else set()
    return {key: _plain(value, named) for key, value in part.items() if key not in skipped}
