"""`holdfast config`: show and check the configuration."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from holdfast import config, paths
from holdfast.commands import options
from holdfast.commands.verb import Json, ProjectDir, verb
from holdfast.files import access, trust
from holdfast.formats import NAMES
from holdfast.server import protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.config import Loaded

_COLUMN = 36  # where the sources begin, if the value leaves room


@verb("config")
def command(
    *files: Annotated[Path, click.Path(exists=True, path_type=Path)],
    check: Annotated[bool, "Name what is wrong in your file and the project's, or in FILES."] = False,
    schema: Annotated[bool, "Print the JSON schema of holdfast.toml, for your editor."] = False,
    as_json: Json = False,
    project_dir: ProjectDir = None,
) -> None:
    """Show and check the configuration: your holdfast.toml and the project's.

    It prints the value of every key, and where it comes from. The output is TOML. What has no effect is in comments.

    With --check or FILES, it names what is wrong, and the exit code is 1 if anything is. A project's file is checked as
    if you trusted it.

    To use the schema in a project, write it there, and begin .claude/holdfast.toml with the line `#:schema
    ./holdfast.schema.json`.

    \b
    Examples:
      holdfast config
      holdfast config --check
      holdfast config --schema > .claude/holdfast.schema.json
    """
    options.at_most_one({"--check": check or bool(files), "--schema": schema, "--json": as_json})
    if schema:
        options.print_json(_schema())
        return
    root = options.open_project(project_dir, tell=False).root
    if check or files:
        sys.exit(_check(root, files))
    _show(root, as_json=as_json)


def _schema() -> dict[str, Any]:
    """Return the JSON schema of `holdfast.toml`. It can't say that a regular expression is valid."""
    schema = config.Config.model_json_schema() | {"$schema": "http://json-schema.org/draft-07/schema#"}
    schema["title"] = "holdfast.toml"
    schema["properties"]["format"]["enum"] = list(NAMES)
    return schema


def _show(root: Path, *, as_json: bool) -> None:
    """Print the value of every key as TOML or JSON, with its source."""
    loaded = config.load(root, trusted=trust.config_trusted(root))
    rows = [_row(key, field.get_default(), loaded) for key, field in config.FIELDS.items()]
    if as_json:
        options.print_json({"keys": rows, "problems": loaded.problems, "untrusted": list(loaded.ignored)})
        return
    for row in rows:
        if row["value"] is None:  # TOML has no word for that
            click.echo(f"# {row['key']} is not set")
            continue
        source = row["variable"] or paths.shown(" and ".join(row["files"])) or "default"
        line = f"{row['key']} = {_toml(row['value'])}"
        options.say(f"{line:<{_COLUMN}} # {source}")
    for problem in loaded.problems:
        options.say_short(f"# Problem: {problem}")
    if loaded.ignored:
        options.say_short(f"# Not used until you trust {paths.project_config(root)}: {', '.join(loaded.ignored)}")
        click.echo("# Read that file, then run: holdfast handlers trust")


def _check(root: Path, files: Sequence[Path]) -> int:
    """Name what is wrong in files, by default the user's and the project's. Return the exit code."""
    within = {paths.user_config(): None, paths.project_config(root): root}
    named = [Path(os.path.abspath(file)) for file in files]  # noqa: PTH100 - `..` goes, a link stays
    chosen = named or [file for file in within if access.is_there(file)]
    problems = {file: config.check(file, within.get(file)) for file in chosen}
    for file, found in problems.items():
        for line in found or [f"{file}: every key is valid"]:
            options.say_short(line)
    if not chosen:
        click.echo("There is no holdfast.toml, and none is needed.")
    return 1 if any(problems.values()) else 0


def _row(key: str, default: Any, loaded: Loaded) -> dict[str, Any]:
    """Return a key with its value in force, and the files or the variable that it comes from."""
    table, _, name = key.rpartition(".")
    value = getattr(getattr(loaded.config, table) if table else loaded.config, name)
    off = key == "server" and protocol.off(os.environb)
    return {
        "key": key,
        "value": False if off else value,
        "default": default,
        "files": [str(file) for file in loaded.sources.get(key, ())],
        "variable": "HOLDFAST_SERVER" if off else None,
    }


def _toml(value: Any) -> str:
    """Return a value as TOML, which for those of the configuration is as JSON, but for tables."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(name)} = {_toml(each)}' for name, each in value.items())}}}"
    text = json.dumps(value, ensure_ascii=False)
    return text.removesuffix(".0") if isinstance(value, float) else text
