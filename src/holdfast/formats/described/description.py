"""The description of a format without code: where its files are, and what their fields and statuses mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.formats.described import fields
from holdfast.workflow import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.workflow.model import Status

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
STATUSES: tuple[Status, ...] = ("pending", "active", "completed", "failed", "blocked")
_UNIT = re.compile(r"[a-z][a-z -]{0,19}")
_MOST = 20  # files or words of a status
_PATTERN_LIMIT_CHARS = 200
_OF_WORKFLOW = ("title", "id", "status", "created", "reading", "reminders", "context")
_OF_UNITS = ("path", "word", "title", "id", "status", "agent", "note", "group")
_CLIENTS = ("settings", "handlers", "agents", "commands", "skills", "hooks", "formats", "machines", "holdfast")
_Word = str | int | bool


@dataclass(frozen=True, slots=True)
class Description:
    """A format without code.

    Attributes:
        name: its name, which is that of its file.
        source: that file.
        files: patterns of the state files, relative to the project's root; a new one goes where the first one says.
        units: the path to the units.
        word: the word for a unit.
        workflow: the fields of the workflow: what they are for → their path in the file.
        unit: the fields of a unit: what they are for → their path in the unit.
        statuses: the words of each status; the first is the one that is written.
        cancelled: the words of a workflow that was cancelled, for its own status.
    """

    name: str
    source: str
    files: tuple[str, ...]
    units: str
    word: str = "step"
    workflow: Mapping[str, str] = field(default_factory=dict)
    unit: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, tuple[_Word, ...]] = field(default_factory=dict)
    cancelled: tuple[_Word, ...] = ()

    @property
    def agents(self) -> bool:
        """Whether agents move its units: that takes words for one that is active, and for one that went wrong."""
        return bool(self.statuses["active"]) and bool(self.statuses["failed"] or self.statuses["blocked"])

    @property
    def top(self) -> str:
        """The folder that holds all files that the first pattern can mean, `.` for the root."""
        way: list[str] = []
        for part in self.files[0].split("/")[:-1]:
            if "*" in part:
                break
            way.append(part)
        return "/".join(way) or "."

    @property
    def presence(self) -> tuple[str, ...]:
        """For each pattern, the part before its first wildcard: a project with such a file has it."""
        return tuple(dict.fromkeys(_before_wildcard(each) for each in self.files))

    def record(self) -> dict[str, Any]:
        """Return the constants of its record."""
        return {
            "NAME": self.name,
            "RANK": 1000,
            "ADAPTER": "holdfast.formats.described.format",
            "AGENTS": self.agents,
            "UNIT": self.word,
            "IN_ORDER": True,
            "FINAL": ("completed",),
            "RETRIED": ("failed",),
            "SEVERAL": any("*" in each for each in self.files),
            "TOP": self.top,
            "PRESENCE": self.presence,
            "STATES": self.files,
            "SHARED": self.top,
        }


def parse(name: str, data: Mapping[str, Any], source: str) -> Description:
    """Return the format that a TOML file describes.

    Args:
        name: the format, which is the file's name.
        data: the file's tables.
        source: the file, for messages.

    Raises:
        ConfigError: a key is unknown, missing or has another type, or a file's place can't be used.
    """
    read = _Reader(source)
    read.only(data, ("files", "workflow", "units", "statuses"), "")
    files = read.texts(data, "files")
    for each in files:
        if why := misplaced(each):
            read.fail(f"files: {each!r} {why}")
    if "*" in files[0].rpartition("/")[0]:
        read.fail(f"files: {files[0]!r} has a wildcard in its folder; put a pattern whose folder is known first")
    workflow, units = read.paths(data, "workflow", _OF_WORKFLOW), read.paths(data, "units", _OF_UNITS)
    path, word = units.pop("path", ""), units.pop("word", "step")
    if not path or fields.is_single(path):
        read.fail('units.path is missing: write how to get to the units, such as "tasks[*]" or "phases[*].steps[*]"')
    if fields.parts(path)[0] in ("*", "[*]") or (fields.parts(path)[-1] not in ("*", "[*]")):
        read.fail(f"units.path: {path!r} must begin with a key, and end with [*] or *")
    if "title" not in units or "status" not in units:
        read.fail("units needs title and status: the fields of a unit that hold them")
    if not _UNIT.fullmatch(word):
        read.fail(f"units.word: {word!r} isn't a word in small letters")
    given = data.get("statuses")
    table: Mapping[str, Any] = given if isinstance(given, dict) else read.fail("statuses is missing: name the words")
    read.only(table, (*STATUSES, "cancelled"), "statuses.")
    statuses: dict[str, tuple[_Word, ...]] = {each: read.words(table, each) for each in STATUSES}
    if not statuses["pending"] or not statuses["completed"]:
        read.fail("statuses needs pending and completed: the words that the file has for them")
    cancelled = read.words(table, "cancelled")
    known = [_meaning(each) for words in (*statuses.values(), cancelled) for each in words]
    if twice := next((each for each in known if known.count(each) > 1), None):
        read.fail(f"statuses: {twice[1]!r} means two things; give each status its own words")
    return Description(name, source, files, path, word, workflow, units, statuses, cancelled)


def misplaced(place: str) -> str:
    """Say why no state file may lie at a path or pattern relative to a project's root; empty if it may."""
    folded = [each.casefold() for each in place.split("/")]
    if not place.isprintable() or "\\" in place or len(place) > _PATTERN_LIMIT_CHARS:
        return "isn't a path with slashes"
    if any(each in ("", ".", "..", "~") for each in folded) or "**" in place or any(c in place for c in "?[]"):
        return "must lie below the project's root; * is the only wildcard"
    if not folded[-1].endswith(".json"):
        return "must end in .json"
    if folded[0] == ".claude" and len(folded) > 1:
        inner = folded[1]
        if inner.split(".")[0] in _CLIENTS or "*" in inner:
            return "may be a file of the client or of Holdfast"
        folded = folded[1:]
    if any(each.startswith(".") or each == "node_modules" for each in folded):
        return "may be another program's file; hidden ones are left alone"
    return ""


def meaning(description: Description, value: Any) -> Status | None:
    """Return the status that a value in a file means; None if the description has no such word. Nothing is pending."""
    if value is None:
        return "pending"
    return next((each for each in STATUSES if among(description.statuses[each], value)), None)


def among(words: tuple[_Word, ...], value: Any) -> bool:
    """Return whether a value in a file is one of some words."""
    wanted = _meaning(value)
    return any(_meaning(word) == wanted for word in words)


def _meaning(value: Any) -> tuple[str, str]:
    """Return what two words have in common that mean the same: case, spaces and hyphens make no difference."""
    if isinstance(value, str):
        return "text", " ".join(value.casefold().replace("_", " ").replace("-", " ").split())
    return type(value).__name__, str(value)


def _before_wildcard(pattern: str) -> str:
    way: list[str] = []
    for part in pattern.split("/"):
        if "*" in part:
            return "/".join(way) or "."
        way.append(part)
    return pattern


class _Reader(definitions.Reader):
    """Reads values of the right type out of a description's file."""

    KIND = "format"

    def texts(self, data: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = data.get(key)
        listed: list[Any] = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        if not listed or not all(isinstance(each, str) for each in listed):
            self.fail(f'{key} must be a path such as "progress/*.json", or a list of them')
        if len(listed) > _MOST:
            self.fail(f"{key} must have at most {_MOST} paths")
        return tuple(listed)

    def paths(self, data: Mapping[str, Any], key: str, known: tuple[str, ...]) -> dict[str, str]:
        value = data.get(key, {})
        if not isinstance(value, dict):
            self.fail(f"{key} must be a table")
        self.only(value, known, f"{key}.")
        for name, path in value.items():
            if not isinstance(path, str):
                self.fail(f"{key}.{name} must be a text")
            try:
                if name != "word" and not fields.is_single(path) and name != "path":
                    self.fail(f"{key}.{name}: {path!r} leads to several fields; name one")
            except ValueError as error:
                self.fail(f"{key}.{name}: {error}")
        return dict(value)

    def words(self, data: Mapping[str, Any], key: str) -> tuple[_Word, ...]:
        value = data.get(key, [])
        listed = value if isinstance(value, list) else [value]
        if len(listed) > _MOST or not all(isinstance(each, (str, int)) for each in listed):
            self.fail(f"statuses.{key} must be a word, true, false, a number, or a list of these")
        return tuple(listed)
