"""The registry of formats: their adapters, loaded on first use, and what they find together."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from holdfast import formats, log
from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.workflow import search, wording
from holdfast.workflow.format import Format
from holdfast.workflow.model import Foreign, Found, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from holdfast.workflow.definitions import Library
    from holdfast.workflow.format import Detector
    from holdfast.workflow.model import Brief, Phase, Workflow
    from holdfast.workflow.records import Records

Value = TypeVar("Value")


class UnusableFormat(HoldfastError):
    """Another package's format can't be used.

    Attributes:
        fault: why, with the package and its module.
    """

    def __init__(self, name: str, error: BaseException) -> None:
        words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        whose = f"{formats.package(name)}, module {RECORDS[name].MODULE or 'without a name'}"
        self.fault = f"the format {name!r} ({whose}) can't be used: {words}"
        super().__init__(wording.with_remedy(self.fault))


def get(name: str) -> Format:
    """Return a format.

    Raises HoldfastError for an unknown name, and for another package's format that can't be loaded. Whatever fails in
    such a format is a HoldfastError that names the package.
    """
    if name not in RECORDS:
        raise HoldfastError(f"there is no format {name!r}; the formats are {', '.join(sorted(RECORDS))}")
    if name in formats.OURS:
        return cast("Format", import_module(RECORDS[name].MODULE).FORMAT)
    if name in formats.DESCRIBED:
        return cast("Format", formats.DESCRIBED[name])
    return cast("Format", _Brought(name, _called(name, _format, RECORDS[name].MODULE)))


def libraries() -> list[Library[Any]]:
    """Return the libraries of definitions that the workflows of formats follow, such as machines of skills."""
    return [each.definitions for each in usable(formats.NAMES) if each.definitions is not None]


def brief(project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
    """Return a format's brief for a phase's agent; None if it has none, or if that can't be read."""
    try:
        return get(workflow.format).brief(project, workflow, phase)
    except HoldfastError:
        return None


def reopening(workflow: Workflow) -> str:
    """Return how to reopen a finished workflow."""
    return RECORDS[workflow.format].REOPENING.replace("{id}", workflow.id)


def detected(ask: Callable[[Detector], Value]) -> Iterator[Value]:
    """Ask the detector of each format that takes workflows over from people's own files, and yield the answers.

    If the detector of another package fails, that is only a line in the log.
    """
    names = (name for name, record in RECORDS.items() if record.SOURCES)
    for name, module in formats.parts("detector", names).items():
        try:
            yield ask(cast("Detector", module if name in formats.OURS else _Brought(name, module)))
        except HoldfastError as error:
            if name in formats.OURS:
                raise
            log.write("error", str(error))


def agents_work_on(project: Records, session: str, *, own: bool = False) -> list[Workflow]:
    """Return the workflows that agents can be working on at an event of a session, finished ones included.

    With `own`, return only those that the session owns (`owned`).
    """

    names = [name for name in _present(project) if RECORDS[name].AGENTS]
    if own:
        return owned(project, session, names)
    return list(_searched(project, project.lately(session), names).workflows)


def any_with(project: Records, ability: str) -> bool:
    """Return whether agents work on the units of a present format that has an ability, such as `locks_files`."""
    names = [name for name in _present(project) if RECORDS[name].AGENTS]
    return any(getattr(each, ability) for each in usable(names))


def all_found(project: Records) -> Found:
    """Return the workflows of all formats, the most recently changed first (then by path), with all problems."""
    return _together([_asked(project, name, lambda adapter: adapter.find(project)) for name in _present(project)])


def candidates(project: Records, session: str, path: Path | None = None) -> Found:
    """Return, in the same order, the workflows that an event of a session can be about, however many others there are.

    These are the one stored at `path`, the session's own, those that lately got an owner or were released, and the last
    changed of each format, as far as `search.SEARCH_TIMEOUT_S` goes.
    """

    keys = project.lately(session)
    names = _present(project)
    if path is not None and path.is_relative_to(project.root):
        keys = [*(f"{name}:{path.relative_to(project.root).as_posix()}#" for name in names), *keys]
    return _searched(project, keys, names)


def with_keys(project: Records, keys: Collection[str]) -> Found:
    """Return the workflows with these keys, and the last changed of each format."""
    return _searched(project, keys, _present(project))


def _searched(project: Records, keys: Collection[str], names: Sequence[str]) -> Found:
    """Return the workflows with these keys, and the last changed of some formats, as far as there is time."""
    with search.limited():
        return _together([_asked(project, name, lambda format: format.candidates(project, keys)) for name in names])


def foreign(project: Records, *names: str) -> list[Foreign]:
    """Return other programs' files at the paths of all formats, or of those named, even if these have no workflow."""
    found = list[Foreign]()
    for name in names or RECORDS:
        with suppress(*(() if name in formats.OURS else (Exception,))):  # its problem is reported elsewhere
            found += get(name).foreign(project)
    return found


def convertible(project: Records) -> list[Foreign]:
    """Return other programs' files, at the paths of the present formats, that Holdfast works on after a command."""
    names = _present(project)
    found = foreign(project, *names) if names else []
    return [each for each in found if each.remedy and not each.in_the_way]


def asked(project: Records, command: str, argument: str) -> list[Workflow]:
    """Return the unfinished workflows of all formats that a client's slash command is about."""
    found: list[Workflow] = []
    for each in usable(_present(project)):
        with suppress(*(() if each.name in formats.OURS else (Exception,))):  # its problem is reported elsewhere
            found += each.asked(project, command, argument)
    return found


def taking_evidence(project: Records, session: str) -> list[Workflow]:
    """Return the unfinished workflows that a session owns and whose formats take evidence."""
    names = [each.name for each in usable(_present(project)) if each.takes_evidence]
    mine = owned(project, session, names) if names else []
    return [each for each in mine if each.resumable]


def owned(project: Records, session: str, names: Iterable[str] | None = None) -> list[Workflow]:
    """Return the workflows that a session owns, finished ones included, without a look at the others if possible.

    Args:
        project: the project.
        session: the session.
        names: the formats to search; by default those that are present.

    Raises:
        LedgerError: the ledger can't be read.
    """
    keys = set(project.owned(session))
    if not keys:
        return []
    chosen = _present(project) if names is None else names
    found = [_asked(project, name, lambda each: each.with_keys(project, keys)) for name in chosen]
    return [each for one in found for each in one.workflows if each.key in keys]


def _present(project: Records) -> list[str]:
    """Return the formats that a project can have workflows of, so that the others aren't even loaded."""
    top = project.root
    return [name for name, record in RECORDS.items() if any(_there(f"{top}/{path}") for path in record.PRESENCE)]


def usable(names: Iterable[str]) -> Iterator[Format]:
    """Yield formats, without those of other packages that can't be used; whoever looks for workflows says so."""
    for name in names:
        try:
            yield get(name)
        except HoldfastError:
            if name in formats.OURS:
                raise


def _asked(project: Records, name: str, ask: Callable[[Format], Found]) -> Found:
    """Return the findings of a format. If another package's format fails, only that one has a problem."""
    try:
        found = ask(get(name))
        if not isinstance(found, Found):
            raise UnusableFormat(name, TypeError(f"it finds {found!r}"))
    except HoldfastError as error:
        if name in formats.OURS:
            raise
        fault = error.fault if isinstance(error, UnusableFormat) else str(error)
        return Found(problems=(Problem(project.root / RECORDS[name].TOP, fault, remedy=wording.REMEDY),))
    return found


def _format(module: str) -> Format:
    """Return the format of another package's module."""
    found = getattr(import_module(module), "FORMAT", None)
    if not isinstance(found, Format):
        raise TypeError(f"{module} has no FORMAT")
    return found


class _Brought:
    """A format or detector of another package, whose functions are called by `_called`."""

    def __init__(self, name: str, part: object) -> None:
        self._name = name
        self._part = part

    def __getattr__(self, attribute: str) -> Any:
        try:
            value = getattr(self._part, attribute)
        except AttributeError as error:
            raise UnusableFormat(self._name, error) from error
        return partial(_called, self._name, value) if callable(value) else value


def _called(name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call something of another package's format; what fails in it is a HoldfastError that names the format."""
    try:
        with formats.off_stdout():
            return function(*arguments, **options)
    except HoldfastError:
        raise
    except (Exception, SystemExit) as error:
        raise UnusableFormat(name, error) from error


def _there(path: str) -> bool:
    """Return whether something is at a path, even something unreadable: the format reports what is wrong with it."""
    try:
        os.lstat(path)  # as text: an event asks often
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _together(found: list[Found]) -> Found:
    every = {workflow.key: workflow for each in found for workflow in each.workflows}
    workflows = sorted(every.values(), key=lambda each: each.ref)
    workflows.sort(key=lambda each: each.updated_at, reverse=True)
    return Found(
        tuple(workflows),
        tuple(dict.fromkeys(problem for each in found for problem in each.problems)),
        sum(each.left for each in found),
    )
