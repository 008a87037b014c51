"""`holdfast config`: show the configuration."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import click

from holdfast import config, paths
from holdfast.commands import options
from holdfast.commands.verb import ProjectDir, verb
from holdfast.files import trust
from holdfast.formats import NAMES
from holdfast.server import protocol

if TYPE_CHECKING:
    from pathlib import Path

_COLUMN = 36  # where the sources begin, if the value leaves room


@verb("config")
def command(
    *,
    schema: Annotated[bool, "Print the JSON schema of holdfast.toml, for your editor."] = False,
    project_dir: ProjectDir = None,
) -> None:
    """Show the configuration: your holdfast.toml and the project's.

    It prints the value of every key, and where it comes from. The output is TOML. What has no effect is in comments. To
    check the files, run `holdfast doctor configuration`.

    To use the schema in a project, write it there, and begin .claude/holdfast.toml with the line `#:schema
    ./holdfast.schema.json`.

    \b
    Examples:
      holdfast config
      holdfast config --schema > .claude/holdfast.schema.json
    """
    if schema:
        options.print_json(_schema())
    else:
        _show(options.open_project(project_dir, tell=False).root)


def _schema() -> dict[str, Any]:
    """Return the JSON schema of `holdfast.toml`. It can't say that a regular expression is valid."""
    schema = config.Config.model_json_schema() | {"$schema": "http://json-schema.org/draft-07/schema#"}
    schema["title"] = "holdfast.toml"
    schema["properties"]["format"]["enum"] = list(NAMES)
    return schema


def _show(root: Path) -> None:
    """Print the value of every key as TOML, with its source."""
    loaded = config.load(root, trusted=trust.config_trusted(root))
    for key in config.FIELDS:
        table, _, name = key.rpartition(".")
        value = getattr(getattr(loaded.config, table) if table else loaded.config, name)
        source = paths.shown(" and ".join(map(str, loaded.sources.get(key, ())))) or "default"
        if key == "server" and protocol.off(os.environb):
            value, source = False, "HOLDFAST_SERVER"
        if value is None:  # TOML has no word for that
            click.echo(f"# {key} is not set")
        else:
            line = f"{key} = {_toml(value)}"
            options.say(f"{line:<{_COLUMN}} # {source}")
    for problem in loaded.problems:
        options.say_short(f"# Problem: {problem}")
    if loaded.ignored:
        options.say_short(f"# Not used until you trust {paths.project_config(root)}: {', '.join(loaded.ignored)}")
        click.echo("# Read that file, then run: holdfast handlers trust")


def _toml(value: Any) -> str:
    """Return a value as TOML, which for those of the configuration is as JSON, but for tables."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(name)} = {_toml(each)}' for name, each in value.items())}}}"
    text = json.dumps(value, ensure_ascii=False)
    return text.removesuffix(".0") if isinstance(value, float) else text
