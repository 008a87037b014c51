"""The configuration: the keys of `holdfast.toml`, with the user's file and the project's merged into one model."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from holdfast import capture, paths
from holdfast.errors import MissingError, StateError
from holdfast.files import tomlfile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic.fields import FieldInfo

HARMLESS = frozenset({"format", "freshness_days"})
"""The keys that count even in a project's file that is not trusted."""
JOINED = frozenset({"exclude", "exclude_patterns"})
"""The lists that are joined: a project's file can't undo what the user excludes."""
USER_ONLY = frozenset({"server"})
"""The keys of the user's file alone: one server answers for all of a user's projects."""
_MAX_UNKNOWN_KEYS = 5  # how many are named per file; a file can hold thousands


def _format(name: str) -> str:
    from holdfast.formats import NAMES

    if name not in NAMES:
        raise ValueError(f"no format is named {name!r}; known are {', '.join(NAMES)}")
    return name


def _pattern(pattern: str) -> str:
    if fault := capture.fault(pattern):
        raise ValueError(fault)
    return pattern


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class ProjectSection(_Table):
    """The `[project]` table."""

    # Without an id a project is known by its path, so an id that is a path would join that project's ledger.
    id: str | None = Field(
        default=None,
        pattern="^[^/]",
        max_length=500,
        description="A name that gives all clones one memory, once trusted. The default is the git repository.",
    )


class HandlersSection(_Table):
    """The `[handlers]` table."""

    off: list[str] = Field(default=[], description="Handlers to disable, by name.")
    on: list[str] = Field(default=[], description="Handlers to enable that are off by default.")
    timeout: float = Field(
        default=5.0, gt=0, description="Seconds one handler may take for an event, unless it has its own `timeout`."
    )
    deadline: float = Field(
        default=20.0,
        gt=0,
        description="Seconds all handlers together may take for an event; a handler's longer `timeout` is added.",
    )


class Price(_Table):
    """The dollars that a million tokens of a model cost, an entry of the `[prices]` table."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    long_cache_write: float | None = Field(default=None, ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    taken: str = ""


class Config(_Table):
    """Every key of `holdfast.toml`; each has a default, so nothing needs configuring."""

    project: ProjectSection = Field(default_factory=ProjectSection)
    format: Annotated[str, AfterValidator(_format)] = Field(
        default="compaction", description="The format `holdfast start` uses; its `--help` lists them."
    )
    freshness_days: float = Field(
        default=7.0, ge=0, description="Restore an unowned workflow only if it changed within this many days."
    )
    handlers: HandlersSection = Field(default_factory=HandlersSection)
    reading: Literal["off", "remind", "hold"] = Field(
        default="remind",
        description="Required reading: ignore it, remind once after a compaction, or hold edits until it is read.",
    )
    todos: Literal["tell", "off"] = Field(
        default="tell", description="Whether the model gets the to-do list to write when it changed."
    )
    hold: Literal["off", "ask", "deny"] = Field(
        default="ask", description="What happens to an agent's launch once a limit of the workflow is used up."
    )
    locks: Literal["off", "on"] = Field(
        default="off", description="Whether a file that an agent edits is locked, so that another edit asks you first."
    )
    checkpoints: int = Field(
        default=100, ge=1, description="How many checkpoints of a run stay; older ones are deleted with their entries."
    )
    prices: dict[str, Price] = Field(
        default={},
        description="Dollars for a million tokens by model: input, output, cache_write, long_cache_write, cache_read.",
    )
    agents: Literal["off", "tell", "reuse"] = Field(
        default="reuse",
        description="Agents launched again: ignore them, report them, or answer with what an interrupted one left.",
    )
    requires: list[str] = Field(
        default=[], description="Packages that the project's handlers come from, such as `acme-hooks>=1.2`."
    )
    options: dict[str, dict[str, Any]] = Field(
        default={}, description="Options of your handlers, by name: each `[options.NAME]` is read by that handler."
    )
    trail: bool = Field(default=True, description="Whether to restore what the session did where no workflow is.")
    exclude: list[Annotated[str, Field(pattern="[^/ ]")]] = Field(
        default=[],
        description="Globs of files whose content Holdfast never stores: no recording, no trail, no versions.",
    )
    exclude_patterns: list[Annotated[str, Field(min_length=1), AfterValidator(_pattern)]] = Field(
        default=[], description="Regular expressions of text that is masked in recordings and the trail."
    )
    server: bool = Field(default=True, description="Whether a warm server answers events; only in the user's file.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important lines that reach the log."
    )


_TABLES: dict[str, type[BaseModel]] = {"project": ProjectSection, "handlers": HandlersSection}
FIELDS: dict[str, FieldInfo] = {
    **{name: each for name, each in Config.model_fields.items() if name not in _TABLES},
    **{f"{table}.{name}": each for table, kind in _TABLES.items() for name, each in kind.model_fields.items()},
}
"""The field of every key; one in a table has a dot."""


@dataclass(frozen=True)
class Loaded:
    """A configuration and what was wrong with its files.

    Attributes:
        config: the merged configuration.
        problems: one sentence each.
        ignored: the keys of an untrusted project file that don't count.
        untrusted_id: the `project.id` among them, or empty.
        sources: the files that each key's value comes from; a key with its default has none.
    """

    config: Config
    problems: list[str]
    ignored: list[str]
    untrusted_id: str = ""
    sources: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


def load(root: Path | None, *, trusted: bool) -> Loaded:
    """Read the user's file and then the project's, whose keys override the user's. Never raises for their content.

    A file, key or value that can't be used is a problem that names file and key, and the rest counts. A project file
    that is not `trusted` sets only the keys in HARMLESS; its other known keys are `ignored`, whatever their values. It
    may not be a symbolic link out of the project; the user's own file may lie anywhere.

    Args:
        root: the project's root, or None to read only the user's file.
        trusted: whether the project's file is trusted as it is now.
    """
    values: dict[str, Any] = {}
    sources: dict[str, tuple[Path, ...]] = {}
    problems: list[str] = []
    ignored: list[str] = []
    untrusted_id = ""
    user = paths.user_config()
    for file in [user, *([paths.project_config(root)] if root else [])]:
        entries = _entries(file, None if file == user else root, problems)
        if file != user and not trusted:
            untrusted_id = _checked("project.id", entries.get("project.id"))[0] or ""
            ignored = [key for key in entries if key not in HARMLESS | USER_ONLY]
            entries = {key: value for key, value in entries.items() if key not in ignored}
        for key, value in _usable(file, entries, problems).items():
            joins = key in JOINED and key in values
            values[key] = [*values[key], *value] if joins else value
            sources[key] = (*sources[key], file) if joins else (file,)
    config = Config.model_validate(_nested(values))
    return Loaded(config, [*problems, *_conflicts(config)], ignored, untrusted_id, sources)


def check(file: Path, within: Path | None = None) -> list[str]:
    """Return what keeps keys of a file from counting, even once the file is trusted: a sentence each.

    Args:
        file: a `holdfast.toml`; nothing is wrong with one that doesn't exist.
        within: the folder that it may not lead out of through a symbolic link, or None if it may lie anywhere.
    """
    problems: list[str] = []
    values = _usable(file, _entries(file, within, problems), problems)
    return [*problems, *(f"{file}: {each}" for each in _conflicts(Config.model_validate(_nested(values))))]


def schema() -> str:
    """Return the JSON schema of `holdfast.toml`, with which editors complete and check the file.

    It can't say that a regular expression is valid, or that one limit is below another: only loading the file tells.
    """
    from holdfast.formats import NAMES

    made = Config.model_json_schema() | {"$schema": "http://json-schema.org/draft-07/schema#", "title": "holdfast.toml"}
    made["properties"]["format"]["enum"] = list(NAMES)
    return json.dumps(made, indent=2) + "\n"


def _entries(file: Path, within: Path | None, problems: list[str]) -> dict[str, Any]:
    """Return the values of a file's known keys; unknown ones, and why it can't be read, are added to `problems`."""
    try:
        table = tomlfile.load(file, within=within)
    except MissingError:
        return {}
    except StateError as error:
        problems.append(str(error))
        return {}
    entries: dict[str, Any] = {}
    for name, value in table.items():
        inner = value if name in _TABLES and isinstance(value, dict) else None
        entries |= {name: value} if inner is None else {f"{name}.{key}": each for key, each in inner.items()}
    unknown = [key for key in entries if key not in FIELDS]
    for key in unknown[:_MAX_UNKNOWN_KEYS]:
        close = difflib.get_close_matches(key, FIELDS, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        problems.append(f"{file}: unknown key {_brief(key)}{hint}")
    if more := len(unknown[_MAX_UNKNOWN_KEYS:]):
        problems.append(f"{file}: and {more} more unknown keys")
    return {key: value for key, value in entries.items() if key in FIELDS}


def _usable(file: Path, entries: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Return the values that count; what is wrong with others is added to `problems`."""
    usable: dict[str, Any] = {}
    for key, value in entries.items():
        sound, fault = _checked(key, value)
        if fault:
            problems.append(f"{file}: key {key!r}: {fault}; {'the others count' if sound else 'the default is used'}")
        if key in USER_ONLY and file != paths.user_config():
            problems.append(f"{file}: key {key!r} counts only in {paths.user_config()}")
        elif sound or not fault:
            usable[key] = sound
    return usable


def _checked(key: str, value: Any) -> tuple[Any, str]:
    """Return what counts of a key's value, and what is wrong with it: of a list the valid entries count."""
    try:
        Config.model_validate(_nested({key: value}))
    except ValidationError as error:
        faults = error.errors(include_url=False)
        entry = key.count(".") + 1  # where the number of a list's entry is in the location of a fault
        bad = {each["loc"][entry] for each in faults if isinstance(value, list) and len(each["loc"]) > entry}
        sound = [each for number, each in enumerate(value) if number not in bad] if bad else None
        message = faults[0]["msg"].removeprefix("Value error, ")
        if message == faults[0]["msg"]:  # pydantic's own
            within = "".join(f"{part}: " for part in faults[0]["loc"][entry:] if isinstance(part, str))
            message = f"{within}{message[0].lower()}{message[1:]}, got {_brief(faults[0]['input'])}"
        return sound, message
    return value, ""


def _conflicts(config: Config) -> Iterator[str]:
    """Yield a sentence for each value that another one makes useless."""
    timeout, deadline = config.handlers.timeout, config.handlers.deadline
    if timeout > deadline and "timeout" in config.handlers.model_fields_set:
        ends = f"handlers.timeout is {timeout:g} seconds, but handlers.deadline ends them all after"
        yield f"{ends} {deadline:g}: raise handlers.deadline"


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        (nested.setdefault(table, {}) if table else nested)[name] = value
    return nested


def _brief(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a hexadecimal integer of more than 4,300 decimal digits
        return "a number that is too large"
    return text if len(text) <= 60 else f"{text[:60]}…"
