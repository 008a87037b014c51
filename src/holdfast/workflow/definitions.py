"""Definitions: TOML files that describe something as data, the user's own and, once trusted, a project's.

Machines of skills and formats without code are such files. They execute nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from holdfast import formats, paths
from holdfast.errors import ConfigError, HoldfastError, MissingError, TransitionError, command_line
from holdfast.files import document, tomlfile, trust
from holdfast.workflow import lenient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

Value = TypeVar("Value")
Model = TypeVar("Model", bound=BaseModel)

MAX_FILES = 200  # of one folder that are listed


class UntrustedError(TransitionError):
    """A project's definition that is not trusted as it is now; the message names the command that trusts it."""


class Listed(NamedTuple, Generic[Value]):
    """A definition's file.

    Attributes:
        name: what it defines, the file's name without its ending.
        path: the file.
        value: what it says; None if it isn't used.
        reason: why it isn't used, with the file, and with the command if it only has to be trusted; empty if it is.
        trusted: whether it may be used; false for a project's file that isn't trusted as it is now.
    """

    name: str
    path: Path
    value: Value | None
    reason: str
    trusted: bool = True


def checked(model: type[Model], data: Mapping[str, Any], source: str, kind: str) -> Model:
    """Return the model of a definition's tables.

    Args:
        model: describes the tables.
        data: the tables.
        source: the file, for messages.
        kind: what the file defines, for messages: `format`, `machine`.

    Raises:
        ConfigError: a key is unknown, missing or has a value that doesn't fit; it names file and field.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        way = [
            each for each in fault["loc"] if isinstance(each, int) or "[" not in each
        ]  # without pydantic's own names
        field, kinds = lenient.name(tuple(way)), fault["type"]
        if kinds == "extra_forbidden":
            text = f"{field} isn't a key of a {kind}; use {', '.join(_keys(model, way[:-1]))}"
        elif kinds == "value_error":
            text = f"{field}: {fault['ctx']['error']}" if field else str(fault["ctx"]["error"])
        elif kinds in lenient.FAULTS:
            text = f"{field} {lenient.FAULTS[kinds].replace('an object', 'a table')}"
        else:
            text = f"{field}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"
        raise ConfigError(f"{source}: {text}") from error


def _keys(model: Any, way: Iterable[str | int]) -> list[str]:
    """Return the keys of the table that some keys and indexes lead to in a model."""
    for key in way:
        if isinstance(key, str):
            found = model.model_fields[key].annotation
            model = next(each for each in (found, *get_args(found)) if hasattr(each, "model_fields"))
    return [each.alias or name for name, each in model.model_fields.items()]


def user_folder(kind: str) -> Path:
    """Return the folder of the user's own definitions of a kind."""
    return paths.config_dir() / kind


def project_folder(root: Path, kind: str) -> Path:
    """Return the folder of a project's definitions of a kind."""
    return root / ".claude" / kind


def trusting(kind: str, name: str) -> str:
    """Return the command that trusts a project's definition: formats by their names, others with their kind."""
    return command_line("formats", "trust", name if kind == formats.DESCRIPTIONS else f"{kind}/{name}")


def content(root: Path, path: Path) -> bytes:
    """Return the bytes of a project's definition. Raises StateError, also if links lead out of the project."""
    return document.read(path, tomlfile.LIMIT_BYTES, within=root)[0]


class Library(Generic[Value]):
    """The definitions of one kind: the user's come first, then the project's, then those that are shipped.

    So a project's file never replaces a user's. A shipped one gives way to both.
    """

    def __init__(
        self,
        kind: str,
        parse: Callable[[str, Mapping[str, Any], str], Value],
        *,
        is_name: Callable[[str], bool],
        shipped: Path | None = None,
    ) -> None:
        """Read definitions of a kind.

        Args:
            kind: what the folders are called: `machines`, `formats`.
            parse: makes a value of a name, a file's tables and the file's path. Raises ConfigError.
            is_name: whether a file's name without its ending can name a definition.
            shipped: the folder of those that come with Holdfast.
        """
        self.kind, self.shipped = kind, shipped
        self._parse, self._is_name = parse, is_name
        self._values: dict[tuple[Path, bytes], Value] = {}  # an event may ask for the same file several times

    def folders(self, root: Path) -> list[Path]:
        """Return the folders, in the order in which they count."""
        shipped = [self.shipped] if self.shipped else []
        return [user_folder(self.kind), project_folder(root, self.kind), *shipped]

    def of_people(self, root: Path) -> list[Listed[Value]]:
        """Return the files of people, without those that are shipped and those that give way to another one."""
        found = list[Listed[Value]]()
        for each in self.listed(root):
            gives_way = any(one.value is not None and one.name == each.name for one in found)
            if each.path.parent != self.shipped and not gives_way:
                found.append(each)
        return found

    def value(self, root: Path, path: Path) -> Value:
        """Return the content of a file.

        Raises:
            MissingError: there is no file.
            UntrustedError: it is a project's, and not trusted as it is now.
            ConfigError: it defines nothing.
            StateError: it can't be read.
        """
        theirs = path.parent == project_folder(root, self.kind)
        raw = content(root, path) if theirs else document.read(path, tomlfile.LIMIT_BYTES)[0]
        if theirs and not trust.trusted(root, trust.relative_name(root, path), trust.digest(raw)):
            raise UntrustedError(f"{path} is not trusted; read it, then run `{trusting(self.kind, path.stem)}`")
        if (path, raw) not in self._values:  # the very bytes that are trusted
            self._values[path, raw] = self._parse(path.stem, tomlfile.parse(path, raw), str(path))
        return self._values[path, raw]

    def first(self, root: Path, name: str) -> Value | None:
        """Return the value of a name: the first that there is and that may be used; None without one.

        Raises ConfigError if its file defines nothing, StateError if it can't be read.
        """
        for folder in self.folders(root) if self._is_name(name) else ():
            try:
                return self.value(root, folder / f"{name}.toml")
            except (MissingError, UntrustedError):
                continue
        return None

    def listed(self, root: Path) -> list[Listed[Value]]:
        """Return the files in the order in which they count. Only the first of a name is used."""
        files: list[Listed[Value]] = []
        for folder in self.folders(root):
            for path in sorted(folder.glob("*.toml"))[:MAX_FILES]:
                files.append(self._look(root, path, {each.name for each in files if each.value is not None}))
        return files

    def _look(self, root: Path, path: Path, used: set[str]) -> Listed[Value]:
        if not self._is_name(path.stem):
            return Listed(path.stem, path, None, f"{path}: its name can't be used")
        try:
            value = self.value(root, path)
        except UntrustedError as error:
            return Listed(path.stem, path, None, str(error), trusted=False)
        except HoldfastError as error:
            return Listed(path.stem, path, None, str(error))
        if path.stem in used:
            return Listed(path.stem, path, None, f"{path}: another one of this name comes first")
        return Listed(path.stem, path, value, "")


def untrusted(root: Path) -> list[tuple[Path, str]]:
    """Return a project's definitions that are not trusted as they are now, each with the command that trusts it."""
    found: list[tuple[Path, str]] = []
    for kind in formats.definition_kinds():
        there = sorted(project_folder(root, kind).glob("*.toml"))[:MAX_FILES]
        found += [(each, trusting(kind, each.stem)) for each in there if not is_trusted(root, each)]
    return found


def is_trusted(root: Path, path: Path) -> bool:
    """Return whether a project's definition is trusted as it is now."""
    try:
        return trust.trusted(root, trust.relative_name(root, path), trust.digest(content(root, path)))
    except HoldfastError:
        return False
