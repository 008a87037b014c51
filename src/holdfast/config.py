"""The configuration: the user's and the project's `holdfast.toml`, merged into one model."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from holdfast import capture, paths
from holdfast.errors import MissingError, StateError
from holdfast.files import tomlfile
from holdfast.frozen import frozen
from holdfast.pydantic_plugins import unplugged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic.fields import FieldInfo

HARMLESS = frozenset({"format", "freshness_days"})  # these count even in a project's file that is not trusted
PROJECT_ID = "project.id"
LISTS = frozenset({"exclude", "exclude_patterns"})  # the entries of both files are joined, without invalid ones
USER_ONLY = frozenset({"server"})  # one server answers for all of a user's projects
_MAX_UNKNOWN_KEYS = 5  # how many are named per file; a file can hold thousands


class _Section(BaseModel):
    # Building takes longer than all that a usual event reads, so it waits until there is something to validate.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def _with_formats(schema: dict[str, Any]) -> None:
    from holdfast.formats import NAMES

    schema["enum"] = list(NAMES)


class ProjectSection(_Section):
    """The `[project]` table."""

    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="A name that gives all clones one memory, once trusted; without it the git repository decides.",
        json_schema_extra={"pattern": "^[^/]"},
    )

    @field_validator("id")
    @classmethod
    def _name(cls, given: str | None) -> str | None:
        # Without an id a project is known by its path, so an id that is a path would join that project's ledger.
        if given is not None and given.startswith("/"):
            raise ValueError('an id is a name and cannot begin with "/"')
        return given


class HandlersSection(_Section):
    """The `[handlers]` table."""

    off: list[str] = Field(default=[], description="Names of handlers that do not run.")
    on: list[str] = Field(default=[], description="Handlers that are off by default and shall run.")
    timeout: float = Field(
        default=5.0,
        gt=0,
        description="Seconds one handler may take for one event, where its own `timeout` says nothing.",
    )
    deadline: float = Field(
        default=20.0,
        gt=0,
        description="Seconds all handlers together may take for one event; a handler's own longer `timeout` is added.",
    )


class Price(_Section):
    """The dollars that a million tokens of a model cost, an entry of the `[prices]` table."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    long_cache_write: float | None = Field(default=None, ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    taken: str = ""


class Config(_Section):
    """Every key of `holdfast.toml`; each has a default, so nothing needs configuring."""

    # `json_schema_extra` is what the validators below say, as far as a JSON schema can say it.
    project: ProjectSection = Field(default_factory=ProjectSection.model_construct)
    format: str = Field(
        default="compaction",
        description="The format `holdfast start` uses; its `--help` lists them.",
        json_schema_extra=_with_formats,
    )
    freshness_days: float = Field(
        default=7.0, ge=0, description="Days after its last change in which a workflow of nobody is still restored."
    )
    handlers: HandlersSection = Field(default_factory=HandlersSection.model_construct)
    reading: Literal["off", "remind", "hold"] = Field(
        default="remind",
        description="Required reading: not watched, reminded of once after a compaction, or asked for before edits.",
    )
    todos: Literal["tell", "off"] = Field(
        default="tell", description="Whether the model is told the to-do list to write when it changed."
    )
    hold: Literal["off", "ask", "deny"] = Field(
        default="off", description="What happens to an agent's launch once a bound of the workflow is used up."
    )
    locks: Literal["off", "on"] = Field(
        default="off",
        description="Whether a file that an agent edits is locked, so that you are asked before another edit.",
    )
    checkpoints: int = Field(
        default=100, ge=1, description="Checkpoints of a run that are kept; older ones go, with their entries."
    )
    prices: dict[str, Price] = Field(
        default={},
        description="Dollars for a million tokens, by model: input, output, cache_write, long_cache_write, cache_read.",
    )
    agents: Literal["off", "tell", "reuse"] = Field(
        default="reuse",
        description="Agents launched again: not watched, told about, or answered with what an interrupted one left.",
    )
    trail: bool = Field(
        default=True, description="Whether what a session did is restored after a compaction where no workflow is."
    )
    exclude: list[str] = Field(
        default=[],
        description="Globs of files whose content is never kept: not recorded, no trail, no generation.",
        json_schema_extra={"items": {"type": "string", "pattern": "[^/ ]"}},
    )
    exclude_patterns: list[str] = Field(
        default=[],
        description="Regular expressions of text that is masked in recordings and the trail.",
        json_schema_extra={"items": {"type": "string", "minLength": 1}},
    )
    server: bool = Field(
        default=True, description="Whether a warm server answers events; counts only in the user's file."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important lines that reach the log."
    )

    @field_validator("format")
    @classmethod
    def _known(cls, name: str) -> str:
        from holdfast.formats import NAMES

        if name not in NAMES:
            raise ValueError(f"no format is named {name!r}; known are {', '.join(NAMES)}")
        return name

    @field_validator("exclude")
    @classmethod
    def _globs(cls, globs: list[str]) -> list[str]:
        for glob in globs:
            if not glob.strip("/ "):
                raise ValueError(f"{glob!r} names no file")
        return globs

    @field_validator("exclude_patterns")
    @classmethod
    def _patterns(cls, patterns: list[str]) -> list[str]:
        if fault := next(filter(None, map(capture.fault, patterns)), ""):
            raise ValueError(fault)
        return patterns


@frozen
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

    A file, key or value that can't be used is a problem that names file and key, and the rest still counts. A project
    file that is not `trusted` sets only the keys in HARMLESS; its other known keys are `ignored`, whatever their
    values. It may not be a symbolic link out of the project; the user's own file may lie anywhere.

    Args:
        root: the project's root, or None to read only the user's file.
        trusted: whether the project's file is trusted as it is now.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    ignored: list[str] = []
    sources: dict[str, tuple[Path, ...]] = {}
    untrusted_id = ""
    user = paths.user_config()
    for file in [user, *([paths.project_config(root)] if root else [])]:
        entries = _known_entries(file, None if file == user else root, problems)
        if file != user and not trusted:
            kept = {key: value for key, value in entries.items() if key in HARMLESS or key in USER_ONLY}
            ignored += [key for key in entries if key not in kept]
            named = entries.get(PROJECT_ID)
            untrusted_id = named if isinstance(named, str) and not _fault(PROJECT_ID, named) else ""
            entries = kept
        for key, value in _valid(file, entries, problems):
            # Joined, not replaced: a project's file can't undo what the user excludes.
            joins = key in LISTS and key in values
            values[key] = [*values[key], *value] if joins else value
            sources[key] = (*sources[key], file) if joins else (file,)
    with unplugged():
        config = Config.model_validate(_nest(values)) if values else _default()
    return Loaded(config, [*problems, *_conflicts(values)], ignored, untrusted_id, sources)


@cache
def _default() -> Config:
    """Return the configuration of nearly all projects, which nobody can change."""
    return Config.model_construct()


def check(file: Path, within: Path | None = None) -> list[str]:
    """Return what keeps keys of a file from counting, even once the file is trusted: a sentence each.

    Args:
        file: a `holdfast.toml`; nothing is wrong with one that doesn't exist.
        within: the folder that it may not lead out of through a symbolic link, or None if it may lie anywhere.
    """
    problems: list[str] = []
    values = dict(_valid(file, _known_entries(file, within, problems), problems))
    return [*problems, *(f"{file}: {conflict}" for conflict in _conflicts(values))]


@cache
def fields() -> Mapping[str, FieldInfo]:
    """Return the field of every key, in the model's order; a key in a table has a dot."""
    return {
        prefix + name: field
        for prefix, model in _tables()
        for name, field in model.model_fields.items()
        if not _is_table(field.annotation)
    }


def _known_entries(file: Path, within: Path | None, problems: list[str]) -> dict[str, Any]:
    """Return the file's dotted keys with their values; what it has beside known ones is added to `problems`."""
    known = fields()
    entries = dict(_entries(file, within, problems))
    problems += [f"{file}: {problem}" for problem in _unknown([key for key in entries if key not in known])]
    return {key: value for key, value in entries.items() if key in known}


def _valid(file: Path, entries: Mapping[str, Any], problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the keys that count with what counts of their values; what is wrong with others is added to `problems`."""
    for key, value in entries.items():
        fault = _fault(key, value)
        if fault:
            problems.append(f"{file}: {fault}")
        sound = _sound_part(key, value) if fault else value
        if fault and not sound:
            continue
        if key in USER_ONLY and file != paths.user_config():
            problems.append(f"{file}: key {key!r} counts only in {paths.user_config()}")
        else:
            yield key, sound


def _conflicts(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each value that another one makes useless."""
    deadline = values.get("handlers.deadline", fields()["handlers.deadline"].get_default())
    timeout = values.get("handlers.timeout", 0)
    if timeout > deadline:
        told = f"handlers.timeout is {timeout:g} seconds, but handlers.deadline ends them all after"
        yield f"{told} {deadline:g}: raise handlers.deadline"


def _entries(file: Path, within: Path | None, problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the file's dotted keys with their values; a file that can't be read is added to `problems`."""
    try:
        table = tomlfile.load(file, within=within)
    except MissingError:
        return
    except StateError as error:
        problems.append(str(error))
    else:
        yield from _flat(table)


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    known = {prefix.rstrip(".") for prefix, _ in _tables() if prefix}
    for name, value in table.items():
        if name in known and isinstance(value, dict):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value


def _fault(key: str, value: object) -> str | None:
    """Return what is wrong with the value of a known key, or None."""
    try:
        with unplugged():
            Config.model_validate(_nest({key: value}))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        said = first["msg"].removeprefix("Value error, ")
        said = said if said != first["msg"] else f"{said[0].lower()}{said[1:]}, got {_brief(value)}"
        return f"key {key!r}: {said}; {'the others count' if _sound_part(key, value) else 'the default is used'}"
    return None


def _sound_part(key: str, value: object) -> list[Any]:
    """Return the valid entries of a list in LISTS, so that one bad entry doesn't cancel all other exclusions.

    Empty for any other value, and for a list of fewer than two entries.
    """
    if key not in LISTS or not isinstance(value, list) or len(value) < 2:
        return []
    return [each for each in value if _fault(key, [each]) is None]


def _unknown(found: list[str]) -> list[str]:
    """Return a problem for each of the first unknown keys, and one with the number of the others."""
    named = [f"unknown key {_brief(key)}{_hint(key)}" for key in found[:_MAX_UNKNOWN_KEYS]]
    rest = len(found) - len(named)
    return [*named, *([f"and {rest} more unknown keys"] if rest else [])]


def _hint(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, fields(), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _brief(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a hexadecimal integer of more than 4,300 decimal digits
        return "a number that is too large"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _nest(values: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        (nested.setdefault(table, {}) if table else nested)[name] = value
    return nested


def _tables() -> list[tuple[str, type[BaseModel]]]:
    return [("", Config), ("project.", ProjectSection), ("handlers.", HandlersSection)]


def _is_table(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
