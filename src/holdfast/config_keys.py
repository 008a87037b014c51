"""The keys of `holdfast.toml` with their defaults, all that an event without such a file needs.

`config_model` makes of them the model that checks a file's values. To load that takes longer than all the rest.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, Literal

from holdfast.frozen import frozen


def _key(default: Any, description: str, **bounds: Any) -> Any:
    """Return a field of a key, with what `config_model` needs of it."""
    said = {"description": description, **bounds}
    if isinstance(default, (list, dict)):
        return field(default_factory=type(default), metadata=said)
    return field(default=default, metadata=said)


def _with_formats(schema: dict[str, Any]) -> None:
    from holdfast.formats import NAMES

    schema["enum"] = list(NAMES)


@frozen
class ProjectSection:
    """The `[project]` table."""

    id: str | None = _key(
        None,
        "A name that gives all clones one memory, once trusted; without it the git repository decides.",
        min_length=1,
        max_length=500,
        json_schema_extra={"pattern": "^[^/]"},
    )


@frozen
class HandlersSection:
    """The `[handlers]` table."""

    off: list[str] = _key([], "Names of handlers that do not run.")
    on: list[str] = _key([], "Handlers that are off by default and shall run.")
    timeout: float = _key(
        5.0, "Seconds one handler may take for one event, where its own `timeout` says nothing.", gt=0
    )
    deadline: float = _key(
        20.0,
        "Seconds all handlers together may take for one event; a handler's own longer `timeout` is added.",
        gt=0,
    )


@frozen
class Price:
    """The dollars that a million tokens of a model cost, an entry of the `[prices]` table."""

    input: float = field(metadata={"ge": 0})
    output: float = field(metadata={"ge": 0})
    cache_write: float | None = field(default=None, metadata={"ge": 0})
    long_cache_write: float | None = field(default=None, metadata={"ge": 0})
    cache_read: float | None = field(default=None, metadata={"ge": 0})
    taken: str = ""


@frozen
class Config:
    """Every key of `holdfast.toml`; each has a default, so nothing needs configuring."""

    # `json_schema_extra` is what the model's validators say, as far as a JSON schema can say it.
    project: ProjectSection = field(default_factory=ProjectSection)
    format: str = _key(
        "compaction",
        "The format `holdfast start` uses; its `--help` lists them.",
        json_schema_extra=_with_formats,
    )
    freshness_days: float = _key(
        7.0, "Days after its last change in which a workflow of nobody is still restored.", ge=0
    )
    handlers: HandlersSection = field(default_factory=HandlersSection)
    reading: Literal["off", "remind", "hold"] = _key(
        "remind",
        "Required reading: not watched, reminded of once after a compaction, or asked for before edits.",
    )
    todos: Literal["tell", "off"] = _key("tell", "Whether the model is told the to-do list to write when it changed.")
    hold: Literal["off", "ask", "deny"] = _key(
        "ask", "What happens to an agent's launch once a bound of the workflow is used up."
    )
    locks: Literal["off", "on"] = _key(
        "off", "Whether a file that an agent edits is locked, so that you are asked before another edit."
    )
    checkpoints: int = _key(100, "Checkpoints of a run that are kept; older ones go, with their entries.", ge=1)
    prices: dict[str, Price] = _key(
        {},
        "Dollars for a million tokens, by model: input, output, cache_write, long_cache_write, cache_read.",
    )
    agents: Literal["off", "tell", "reuse"] = _key(
        "reuse",
        "Agents launched again: not watched, told about, or answered with what an interrupted one left.",
    )
    trail: bool = _key(True, "Whether what a session did is restored after a compaction where no workflow is.")
    exclude: list[str] = _key(
        [],
        "Globs of files whose content is never kept: not recorded, no trail, no generation.",
        json_schema_extra={"items": {"type": "string", "pattern": "[^/ ]"}},
    )
    exclude_patterns: list[str] = _key(
        [],
        "Regular expressions of text that is masked in recordings and the trail.",
        json_schema_extra={"items": {"type": "string", "minLength": 1}},
    )
    server: bool = _key(True, "Whether a warm server answers events; counts only in the user's file.")
    log_level: Literal["debug", "info", "warning", "error"] = _key(
        "info", "The least important lines that reach the log."
    )


TABLES: dict[str, type[Any]] = {"project": ProjectSection, "handlers": HandlersSection}
KEYS = (
    *(each.name for each in fields(Config) if each.name not in TABLES),
    *(f"{table}.{each.name}" for table, kind in TABLES.items() for each in fields(kind)),
)
"""Every key; one in a table has a dot."""
