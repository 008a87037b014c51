"""The adapters of the formats: what each offers, loaded when it is first asked for, and what they find together."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from holdfast import formats
from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.workflow import wording
from holdfast.workflow.model import Foreign, Found, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from holdfast.workflow.model import (
        Brief,
        Changes,
        Detected,
        Judged,
        Phase,
        Restored,
        Start,
        Status,
        Step,
        Workflow,
    )
    from holdfast.workflow.records import Records


class Format(Protocol):
    """What a module in `formats/NAME/` offers as its adapter.

    All but `find`, `candidates`, `step` and `parsed` write the state; they raise StateError when the file cannot be
    read or written, SchemaMismatch when it has another schema, and TransitionError when the change is refused.
    """

    NAME: str

    def find(self, project: Records) -> Found:
        """Return the project's workflows of this format; never writes and never raises for what a file holds."""

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return as `find` does the workflows an event can be about: those last changed, those with these keys.

        A key may end with its `#`: then the workflow that is kept at that path is meant. What is generated from a file
        that somebody changed by hand may be brought in step with it.
        """

    def start(self, project: Records, start: Start) -> Workflow:
        """Create a workflow."""

    def begin(self, project: Records, workflow: Workflow) -> Workflow:
        """Start the first pending phase; nothing happens while one is active."""

    def done(self, project: Records, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
        """Complete the current phase (or, with `everything`, all) and advance; the last one completes the workflow."""

    def update(self, project: Records, workflow: Workflow, changes: Changes) -> Workflow:
        """Apply changes to the workflow."""

    def step(self, workflow: Workflow) -> Step | None:
        """Return what to do next, or None when all is done."""

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return what a content of a state file says. Raises SchemaMismatch, or StateError where it is broken."""

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Make a state file hold an earlier content again, and bring all that follows from it in step.

        Another workflow that is unfinished and in its place gives way only with `replace`.
        """

    def written(self, project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
        """Return a workflow as it is after somebody wrote a file, or None when the file is none of its own.

        What follows from the file is brought in step with it. What the writer is to be told is among its warnings.
        """


@runtime_checkable
class FindsForeignFiles(Protocol):
    """What an adapter may offer besides: it names other programs' files at its places."""

    def foreign(self, project: Records) -> Iterable[Foreign]:
        """Yield the files that Holdfast leaves alone; never write, and never raise for what a file holds."""


class Detector(Protocol):
    """The module `detector` in the folder of a format whose record has SOURCES."""

    def save(self, project: Records, *, written: Path | None = None) -> Detected:
        """Merge what the files say into a state file; never raises for what they hold.

        Where one was just `written`, it is among those that are looked at, and none counts as outdated.
        """

    def skipped(self, project: Records) -> list[str]:
        """Return a line for each kind of files of which some were not looked at, with what to do about it."""

    def outdated(self, project: Records, place: str) -> str:
        """Return what a session is told of an outdated file; empty where it is in progress no more."""


class AgentFormat(Format, Protocol):
    """What a format offers besides whose phases are worked on by agents and move by what those report."""

    def match_phase(self, workflow: Workflow, text: str, agent: str) -> Phase | None:
        """Return the phase an agent was launched for, or None when it is for none.

        `text` is the call's description followed by its prompt; without an `agent` only what is named there counts.
        """

    def judge(self, project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
        """Make a phase active, completed or failed because of its agent, which said `words`.

        What no hook may do does nothing, or raises TransitionError where the agent's words are lost by that.
        """

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
        """Return what an agent is given of a phase, where its format keeps more of it than a prompt says."""

    def ready(self, workflow: Workflow) -> tuple[Phase, ...]:
        """Return the phases that can be begun now and worked on in parallel."""

    def undoing(self, phase_id: str) -> str:
        """Return the command by which a person makes a completed phase active again."""


def get(name: str) -> Format:
    """Return a format's adapter.

    Raises HoldfastError for a name that is no format, and for one of another package that can't be loaded.
    """
    if name not in RECORDS:
        raise HoldfastError(f"there is no format {name!r}; known are {', '.join(sorted(RECORDS))}")
    try:
        return cast("Format", import_module(RECORDS[name].ADAPTER))
    except (Exception, SystemExit) as error:
        if name in formats.OURS:
            raise
        raise HoldfastError(_unusable(name, error)) from error


def of_agents(name: str) -> AgentFormat:
    """Return the adapter of a format whose units agents work on."""
    return cast("AgentFormat", get(name))


def detectors() -> list[Detector]:
    """Return what saves workflows that people describe in files of their own, of the formats that have such."""
    names = (name for name, record in RECORDS.items() if record.SOURCES)
    return list(cast("dict[str, Detector]", formats.parts("detector", names)).values())


def agents_work_on(project: Records, session: str) -> list[Workflow]:
    """Return the workflows that agents can be working on at an event of a session, finished ones too."""

    keys = project.lately(session)
    names = [name for name in _present(project) if RECORDS[name].AGENTS]
    found = [_asked(project, name, lambda adapter: adapter.candidates(project, keys)) for name in names]
    return [workflow for each in found for workflow in each.workflows]


def all_found(project: Records) -> Found:
    """Return the workflows of all formats, the most recently changed first (then by path), with all problems."""
    return _together([_asked(project, name, lambda adapter: adapter.find(project)) for name in _present(project)])


def candidates(project: Records, session: str, path: Path | None = None) -> Found:
    """Return, in the same order, the workflows an event of a session can be about, however many others there are.

    Those are the one kept at `path`, the session's own, those that lately were anybody's or set free, and the last
    changed of each format, as far as `statefile.BUDGET` goes.
    """

    keys = project.lately(session)
    names = _present(project)
    if path is not None and path.is_relative_to(project.root):
        keys = [*(f"{name}:{path.relative_to(project.root).as_posix()}#" for name in names), *keys]
    return _together([_asked(project, name, lambda adapter: adapter.candidates(project, keys)) for name in names])


def foreign(project: Records, *names: str) -> list[Foreign]:
    """Return other programs' files at the places of all formats or those named, also where these have no workflow."""
    found = list[Foreign]()
    for name in names or RECORDS:
        with suppress(*(() if name in formats.OURS else (Exception,))):  # what is wrong with it is said elsewhere
            adapter = get(name)
            found += adapter.foreign(project) if isinstance(adapter, FindsForeignFiles) else ()
    return found


def _present(project: Records) -> list[str]:
    """Return the formats that a project can have workflows of; a format that it has none of is not even loaded."""
    return [name for name, record in RECORDS.items() if any(_there(project.root / path) for path in record.PRESENCE)]


def _asked(project: Records, name: str, ask: Callable[[Format], Found]) -> Found:
    """Return what a format finds. One of another package that fails is a problem, and costs the others nothing."""
    try:
        found = ask(get(name))
        if not isinstance(found, Found):
            raise TypeError(f"it finds {found!r}")
        return found
    except (Exception, SystemExit) as error:
        if name in formats.OURS:
            raise
        why = str(error) if isinstance(error, HoldfastError) else _unusable(name, error)
        return Found(problems=(Problem(project.root / RECORDS[name].TOP, why),))


def _unusable(name: str, error: BaseException) -> str:
    said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return f"the format {name!r} of another package can't be used ({said}); {wording.DOCTOR}"


def _there(path: Path) -> bool:
    """Tell whether something lies at a path, also something that cannot be looked at: the format says what is wrong."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _together(found: list[Found]) -> Found:
    workflows = sorted((workflow for each in found for workflow in each.workflows), key=lambda each: each.ref)
    workflows.sort(key=lambda each: each.updated_at, reverse=True)
    return Found(
        tuple(workflows),
        tuple(problem for each in found for problem in each.problems),
        sum(each.left for each in found),
    )
