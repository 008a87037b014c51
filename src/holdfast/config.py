"""The configuration: the keys of `holdfast.toml`, with the user's file and the project's merged into one model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, ValidationError

from holdfast import paths
from holdfast.errors import MissingError, StateError, did_you_mean
from holdfast.files import tomlfile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic.fields import FieldInfo

HARMLESS = frozenset({"format", "freshness_days"})
"""The keys that count even in a project's file that is not trusted."""
JOINED = frozenset({"exclude", "exclude_patterns"})
"""The lists that are joined: a project's file can't undo what the user excludes."""
USER_ONLY = frozenset({"server", "telemetry.endpoint", "telemetry.content", "telemetry.env_file"})
"""The keys that count in no project's file: there is one server for all projects, and telemetry leaves the machine."""
MANAGED = frozenset({"telemetry.endpoint", "telemetry.content", "telemetry.env_file"})
"""The keys that an administrator's file may set; there they override the user's."""
_ENDPOINT = r"(https?://[^\s@/?#]+(/[^\s?#]*)?)?"
_MOST_UNKNOWN = 5  # how many unknown keys of a file are named


def _format(name: str) -> str:
    from holdfast.formats import NAMES

    if name not in NAMES:
        raise ValueError(f"no format is named {name!r}; known are {', '.join(NAMES)}")
    return name


def _pattern(pattern: str) -> str:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} isn't a regular expression: {error}") from None
    if compiled.search(""):
        raise ValueError(f"{pattern!r} matches the empty text, so it would match everywhere")
    return pattern


def _endpoint(address: str) -> str:
    if not re.fullmatch(_ENDPOINT, address):  # a pattern's message would show the address
        raise ValueError("it isn't `http://HOST:PORT` or https, without a password and `?`; secrets go into `env_file`")
    return address


class _Table(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class ProjectSection(_Table):
    """The `[project]` table."""

    # Without an id a project is known by its path, so an id that is a path would join that project's ledger.
    id: str | None = Field(default=None, pattern="^[^/]", max_length=500)
    """A name that gives all clones one memory, once trusted. The default is the git repository."""


class HandlersSection(_Table):
    """The `[handlers]` table."""

    off: list[str] = []
    """Handlers to disable, by name."""
    on: list[str] = []
    """Handlers to enable that are off by default."""
    timeout: PositiveFloat = 5.0
    """Seconds one handler may take for an event, unless it has its own `timeout`."""
    deadline: PositiveFloat = 20.0
    """Seconds all handlers together may take for an event; a handler's longer `timeout` is added."""


class TelemetrySection(_Table):
    """The `[telemetry]` table: what is sent to a collector of your team. Only your own file and an administrator's."""

    endpoint: Annotated[str, AfterValidator(_endpoint), Field(json_schema_extra={"pattern": f"^{_ENDPOINT}$"})] = ""
    """Where to send decisions, deliveries and workflows as OTLP logs: `http://localhost:4318`; empty for nowhere."""
    content: Literal["none", "reasons"] = "none"
    """Whether only ids, names, counts and times are sent, or also the reasons that handlers gave, secrets masked."""
    env_file: str = ""
    """A file of yours with lines such as `OTEL_EXPORTER_OTLP_HEADERS=…`, because a hook's environment has none."""


class Config(_Table):
    """Every key of `holdfast.toml`; each has a default, so nothing needs configuring."""

    project: ProjectSection = ProjectSection()
    format: Annotated[str, AfterValidator(_format)] = "compaction"
    """The format `holdfast start` uses; its `--help` lists them."""
    freshness_days: NonNegativeFloat = 7.0
    """Restore an unowned workflow only if it changed within this many days."""
    handlers: HandlersSection = HandlersSection()
    reading: Literal["off", "remind", "hold"] = "remind"
    """Required reading: ignore it, remind once after a compaction, or hold edits until it is read."""
    todos: Literal["tell", "off"] = "tell"
    """Whether the model gets the to-do list to write when it changed."""
    hold: Literal["off", "ask", "deny"] = "ask"
    """What happens to an agent's launch once a limit of the workflow is used up."""
    locks: Literal["off", "on"] = "off"
    """Whether a file that an agent edits is locked, so that another edit asks you first."""
    checkpoints: Annotated[int, Field(ge=1)] = 100
    """How many checkpoints of a run stay; older ones are deleted with their entries."""
    agents: Literal["off", "tell", "reuse"] = "reuse"
    """Agents launched again: ignore them, report them, or answer with what an interrupted one left."""
    requires: list[str] = []
    """Packages that the project's handlers come from, such as `acme-hooks>=1.2`."""
    options: dict[str, dict[str, Any]] = {}
    """Options of your handlers, by name: each `[options.NAME]` is read by that handler."""
    trail: bool = True
    """Whether to restore what the session did where no workflow is."""
    exclude: list[Annotated[str, Field(pattern="[^/ ]")]] = []
    """Globs of files whose content Holdfast never stores: no recording, no trail, no versions."""
    exclude_patterns: list[Annotated[str, Field(min_length=1), AfterValidator(_pattern)]] = []
    """Regular expressions of text that is masked in recordings and the trail."""
    server: bool = True
    """Whether a warm server answers events; only in the user's file."""
    telemetry: TelemetrySection = TelemetrySection()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important lines that reach the log."""


_TABLES: dict[str, type[BaseModel]] = {
    "project": ProjectSection,
    "handlers": HandlersSection,
    "telemetry": TelemetrySection,
}
FIELDS: dict[str, FieldInfo] = {
    **{name: each for name, each in Config.model_fields.items() if name not in _TABLES},
    **{f"{table}.{name}": each for table, kind in _TABLES.items() for name, each in kind.model_fields.items()},
}
"""The field of every key; one in a table has a dot."""


@dataclass(frozen=True)
class Loaded:
    """A configuration, and what was wrong with its files.

    Attributes:
        config: the merged configuration.
        problems: what is wrong in all files, a sentence each.
        ignored: the keys of an untrusted project file that don't count, with their values.
        sources: the files that each key's value comes from; a key with its default has none.
    """

    config: Config
    problems: list[str]
    ignored: dict[str, Any]
    sources: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


def load(root: Path | None, *, trusted: bool) -> Loaded:
    """Read the user's file, the project's, whose keys override the user's, and an administrator's (`MANAGED`).

    Never raises for their content.

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
    ignored: dict[str, Any] = {}
    project = paths.project_config(root) if root else None
    for file in filter(None, (paths.user_config(), project, paths.managed_config())):
        entries = _entries(file, root if file == project else None, problems)
        if file == project and not trusted:
            ignored = {key: entries.pop(key) for key in list(entries) if key not in HARMLESS | USER_ONLY}
        for key, value in _usable(file, entries, problems).items():
            joins = key in JOINED and key in values
            values[key] = [*values[key], *value] if joins else value
            sources[key] = (*sources[key], file) if joins else (file,)
    return Loaded(Config.model_validate(_nested(values)), problems, ignored, sources)


def check(file: Path, within: Path | None = None) -> list[str]:
    """Return why keys of a file don't count even if it is trusted, a sentence each."""
    problems: list[str] = []
    _usable(file, _entries(file, within, problems), problems)
    return problems


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
    if more := unknown[_MOST_UNKNOWN:]:  # a file can hold thousands
        problems.append(f"{file}: and {len(more)} more unknown keys")
    problems += [f"{file}: unknown key {_brief(key)}{did_you_mean(key, FIELDS)}" for key in unknown[:_MOST_UNKNOWN]]
    return {key: value for key, value in entries.items() if key in FIELDS}


def _usable(file: Path, entries: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Return the values that count, of a list the valid entries; what is wrong is added to `problems`."""
    usable: dict[str, Any] = {}
    for key, value in entries.items():
        sound, fault = _checked(key, value)
        if fault and isinstance(value, list):
            sound = [each for each in value if not _checked(key, [each])[1]]
        if fault:
            problems.append(f"{file}: key {key!r}: {fault}; {'the others count' if sound else 'the default is used'}")
        if elsewhere := _elsewhere(file, key):
            problems.extend({elsewhere} - set(problems))  # one for a whole table
        elif sound or not fault:
            usable[key] = sound
    return usable


def _elsewhere(file: Path, key: str) -> str:
    """Return that a key doesn't count in a file, and where it does; empty if it counts."""
    table = key.partition(".")[0]
    name = f"table [{table}]" if table in _TABLES else f"key {key!r}"
    if file == paths.managed_config() and key not in MANAGED:
        return f"{file}: {name} doesn't count in an administrator's file"
    if key in USER_ONLY and file not in (paths.user_config(), paths.managed_config()):
        return f"{file}: {name} counts only in {paths.user_config()}"
    return ""


def _checked(key: str, value: Any) -> tuple[Any, str]:
    """Return a key's value, or None and what is wrong with it."""
    try:
        Config.model_validate(_nested({key: value}))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        message = fault["msg"].removeprefix("Value error, ")
        return None, message if message != fault[
            "msg"
        ] else f"{message[0].lower()}{message[1:]}, got {_brief(fault['input'])}"
    return value, ""


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        (nested.setdefault(table, {}) if table else nested)[name] = value
    return nested


def _brief(value: object) -> str:
    try:
        return f"{value!r:.60}"
    except ValueError:  # a hexadecimal integer of more than 4,300 decimal digits
        return "a number that is too large"
