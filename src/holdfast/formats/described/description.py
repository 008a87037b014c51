"""The description of a format without code: where its files are, and what their fields and statuses mean."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from holdfast.formats.described import fields
from holdfast.formats.record import Record
from holdfast.workflow import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.workflow.model import Status

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
STATUSES: tuple[Status, ...] = ("pending", "active", "completed", "failed", "blocked")
_MOST = 20  # files or words of a status
_PATTERN_LIMIT_CHARS = 200
_CLIENTS = ("settings", "handlers", "agents", "commands", "skills", "hooks", "formats", "machines", "holdfast")
_Word = str | int | bool


def _state_file(place: str) -> str:
    if why := misplaced(place):
        raise ValueError(f"{place!r} {why}")
    return place


def _files(places: tuple[str, ...]) -> tuple[str, ...]:
    if not places:
        raise ValueError('files must be a path such as "progress/*.json", or a list of them')
    if "*" in places[0].rpartition("/")[0]:
        raise ValueError(f"{places[0]!r} has a wildcard in its folder; put a pattern whose folder is known first")
    return places


def _field(path: str) -> str:
    if not fields.is_single(path):
        raise ValueError(f"{path!r} leads to several fields; name one")
    return path


def _units(path: str) -> str:
    if fields.is_single(path):
        raise ValueError('write how to get to the units, such as "tasks[*]" or "phases[*].steps[*]"')
    first, last = fields.parts(path)[0], fields.parts(path)[-1]
    if first in ("*", "[*]") or last not in ("*", "[*]"):
        raise ValueError(f"{path!r} must begin with a key, and end with [*] or *")
    return path


def _one_or_several(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


Field_ = Annotated[str, AfterValidator(_field)]
"""A path to one field."""
Words = Annotated[tuple[_Word, ...], BeforeValidator(_one_or_several), Field(max_length=_MOST)]
"""A word that the file has for a status, or several."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class WorkflowFields(_Table):
    """The paths to what belongs to the whole workflow; empty for what the file doesn't have."""

    title: Field_ = ""
    id: Field_ = ""
    status: Field_ = ""
    created: Field_ = ""
    reading: Field_ = ""
    reminders: Field_ = ""
    context: Field_ = ""


class UnitFields(_Table):
    """The path to the units, the word for one, and the paths in a unit; empty for what it doesn't have."""

    path: Annotated[str, AfterValidator(_units)]
    word: Annotated[str, Field(pattern=r"^[a-z][a-z -]{0,19}$")] = "step"
    title: Field_
    id: Field_ = ""
    status: Field_
    agent: Field_ = ""
    note: Field_ = ""
    group: Field_ = ""


class StatusWords(_Table):
    """The words for each status; the first is the one that is written. `cancelled` is for the workflow's own status."""

    pending: Annotated[Words, Field(min_length=1)]
    active: Words = ()
    completed: Annotated[Words, Field(min_length=1)]
    failed: Words = ()
    blocked: Words = ()
    cancelled: Words = ()

    def of(self, status: Status) -> tuple[_Word, ...]:
        """Return the words for a status; none if the format can't say it."""
        found: tuple[_Word, ...] = getattr(self, status)
        return found

    @model_validator(mode="after")
    def check_meanings(self) -> StatusWords:
        """Refuse a word that means two statuses."""
        known = [_meaning(each) for words in dict(self).values() for each in words]
        if twice := next((each for each in known if known.count(each) > 1), None):
            raise ValueError(f"{twice[1]!r} means two things; give each status its own words")
        return self


class DescriptionFile(_Table):
    """The file `formats/NAME.toml`. `files` are patterns relative to the root; a new file goes where the first says."""

    files: Annotated[
        tuple[Annotated[str, AfterValidator(_state_file)], ...],
        BeforeValidator(_one_or_several),
        Field(max_length=_MOST),
        AfterValidator(_files),
    ]
    workflow: WorkflowFields = WorkflowFields()
    units: UnitFields
    statuses: StatusWords


class Description(DescriptionFile):
    """A format without code: what its file says, and which file that is.

    Attributes:
        name: its name, which is that of its file.
        source: that file.
    """

    name: str
    source: str

    @property
    def agents(self) -> bool:
        """Whether agents move its units: that takes words for one that is active, and for one that went wrong."""
        return bool(self.statuses.active) and bool(self.statuses.failed or self.statuses.blocked)

    @property
    def top(self) -> str:
        """The folder that holds all files that the first pattern can mean, `.` for the root."""
        return _before_wildcard(self.files[0].rpartition("/")[0])

    @property
    def presence(self) -> tuple[str, ...]:
        """For each pattern, the part before its first wildcard: a project with such a file has it."""
        return tuple(dict.fromkeys(_before_wildcard(each) for each in self.files))

    def record(self) -> Record:
        """Return its record."""
        return Record(
            NAME=self.name,
            RANK=1000,
            MODULE="holdfast.formats.described.format",
            AGENTS=self.agents,
            UNIT=self.units.word,
            SEVERAL=any("*" in each for each in self.files),
            TOP=self.top,
            PRESENCE=self.presence,
            STATES=self.files,
            SHARED=self.top,
        )


def parse(name: str, data: Mapping[str, Any], source: str) -> Description:
    """Return the format that a TOML file describes.

    Args:
        name: the format, which is the file's name.
        data: the file's tables.
        source: the file, for messages.

    Raises:
        ConfigError: a key is unknown, missing or has another type, or a file's place can't be used.
    """
    found = definitions.checked(DescriptionFile, data, source, "format")
    return Description.model_construct(name=name, source=source, **dict(found))


def misplaced(place: str) -> str:
    """Return why a path or pattern, relative to a project's root, isn't valid for state files; empty if it is."""
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
            return "may be a file of Claude Code or of Holdfast"
        folded = folded[1:]
    if any(each.startswith(".") or each == "node_modules" for each in folded):
        return "may be another program's file; hidden ones are left alone"
    return ""


def meaning(description: Description, value: Any) -> Status | None:
    """Return the status that a value in a file means; None if the description has no such word. Nothing is pending."""
    if value is None:
        return "pending"
    return next((each for each in STATUSES if among(description.statuses.of(each), value)), None)


def among(words: tuple[_Word, ...], value: Any) -> bool:
    """Return whether a value in a file is one of some words."""
    wanted = _meaning(value)
    return any(_meaning(word) == wanted for word in words)


def _meaning(value: Any) -> tuple[str, str]:
    """Return a word's normal form: case, spaces and hyphens make no difference."""
    if isinstance(value, str):
        return "text", " ".join(value.casefold().replace("_", " ").replace("-", " ").split())
    return type(value).__name__, str(value)


def _before_wildcard(pattern: str) -> str:
    return "/".join(takewhile(lambda part: "*" not in part, pattern.split("/"))) or "."
