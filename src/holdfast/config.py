"""The configuration: the user's and the project's `holdfast.toml`, merged into one model."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.config_keys import KEYS as KEYS
from holdfast.config_keys import TABLES
from holdfast.config_keys import Config as Config
from holdfast.config_keys import HandlersSection as HandlersSection
from holdfast.errors import MissingError, StateError
from holdfast.files import tomlfile
from holdfast.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

HARMLESS = frozenset({"format", "freshness_days"})  # these count even in a project's file that is not trusted
PROJECT_ID = "project.id"
LISTS = frozenset({"exclude", "exclude_patterns"})  # the entries of both files are joined, without invalid ones
USER_ONLY = frozenset({"server"})  # one server answers for all of a user's projects
_MAX_UNKNOWN_KEYS = 5  # how many are named per file; a file can hold thousands


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
    return Loaded(
        _made(values) if values else _default(), [*problems, *_conflicts(values)], ignored, untrusted_id, sources
    )


@cache
def _default() -> Config:
    """Return the configuration of nearly all projects, which nobody can change."""
    return Config()


def _made(values: Mapping[str, Any]) -> Config:
    """Return the configuration with these values, by dotted key."""
    from holdfast import config_model

    return config_model.validated(_nest(values))


def check(file: Path, within: Path | None = None) -> list[str]:
    """Return what keeps keys of a file from counting, even once the file is trusted: a sentence each.

    Args:
        file: a `holdfast.toml`; nothing is wrong with one that doesn't exist.
        within: the folder that it may not lead out of through a symbolic link, or None if it may lie anywhere.
    """
    problems: list[str] = []
    values = dict(_valid(file, _known_entries(file, within, problems), problems))
    return [*problems, *(f"{file}: {conflict}" for conflict in _conflicts(values))]


def _known_entries(file: Path, within: Path | None, problems: list[str]) -> dict[str, Any]:
    """Return the file's dotted keys with their values; what it has beside known ones is added to `problems`."""
    entries = dict(_entries(file, within, problems))
    problems += [f"{file}: {problem}" for problem in _unknown([key for key in entries if key not in KEYS])]
    return {key: value for key, value in entries.items() if key in KEYS}


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
    deadline = values.get("handlers.deadline", _default().handlers.deadline)
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
    for name, value in table.items():
        if name in TABLES and isinstance(value, dict):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value


def _fault(key: str, value: object) -> str | None:
    """Return what is wrong with the value of a known key, or None."""
    from holdfast import config_model

    said = config_model.fault(_nest({key: value}), lambda: _brief(value))
    return (
        f"key {key!r}: {said}; {'the others count' if _sound_part(key, value) else 'the default is used'}"
        if said
        else None
    )


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

    near = difflib.get_close_matches(key, KEYS, n=1)
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
