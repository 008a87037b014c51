"""What the adapter of a format does, and what it may do besides: the protocols that `registry` knows adapters by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeGuard, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path
    from re import Pattern

    from holdfast.clients.client import Work
    from holdfast.workflow.draft import Draft
    from holdfast.workflow.model import (
        AgentWork,
        Brief,
        Changes,
        Detected,
        DetectionReport,
        Foreign,
        Found,
        Judged,
        Phase,
        Restored,
        Start,
        Status,
        Step,
        Workflow,
    )
    from holdfast.workflow.records import Records


_Ability = TypeVar("_Ability")


def able(adapter: object, ability: Callable[..., _Ability]) -> TypeGuard[_Ability]:
    """Return whether an adapter has an optional ability: everything that the ability's protocol names.

    The first `isinstance` of a protocol in a process takes up to 0.3 ms, and each event is a process.
    """
    names = (*vars(ability), *ability.__annotations__)
    return all(getattr(adapter, name, None) is not None for name in names if not name.startswith("_"))


class Format(Protocol):
    """The adapter of a format, a module in `formats/NAME/`.

    All functions but `find`, `candidates` and `parsed` write the state. They raise StateError if the file can't
    be read or written, SchemaMismatch if it has another schema, and TransitionError if the change is refused.
    """

    NAME: str

    def find(self, project: Records) -> Found:
        """Return the project's workflows of this format. Never writes, and never raises for the content of a file."""

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return, as `find` does, the workflows that an event can be about: the last changed and those with these keys.

        A key may end with its `#`, which means the workflow stored at that path. If somebody changed a file by hand,
        the files generated from it may be updated, but none of a workflow that nobody owns.
        """

    def start(self, project: Records, start: Start) -> Workflow:
        """Create a workflow."""

    def change(
        self,
        project: Records,
        workflow: Workflow,
        edit: Callable[[Draft], None],
        *,
        why: str,
        error: str = "",
        repair: bool = False,
    ) -> Workflow:
        """Run `edit` on a draft of the workflow under its lock, write what changed, and return the workflow.

        All verbs go through this (`workflow.verbs`).

        Args:
            project: the project.
            workflow: the workflow as the caller knows it; another one in its file by now is refused.
            edit: moves the draft. It may run several times, each time with a new draft.
            why: what the generation is called.
            error: what a failed or blocked phase said, for the ledger.
            repair: write a broken file again from its last generation, even if nothing changes.
        """

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return the workflow in a content of a state file. Raises SchemaMismatch, or StateError if it is broken."""

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Restore an earlier content of a state file, and update everything generated from it.

        Another unfinished workflow in its place is replaced only with `replace`.
        """

    def written(self, project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
        """Return a workflow as it is after somebody wrote one of its files; None if the file isn't its own.

        What is generated from the file is updated. The workflow's warnings hold what to tell the writer.
        """


class FindsForeignFiles(Protocol):
    """An optional ability of an adapter: to find other programs' files at its paths."""

    def foreign(self, project: Records) -> Iterable[Foreign]:
        """Yield the files that Holdfast leaves alone. Never writes, and never raises for the content of a file."""


class KnowsCommands(Protocol):
    """An optional ability of an adapter: to know the workflows that a client's slash command is about."""

    def asked(self, project: Records, command: str, argument: str) -> list[Workflow]:
        """Return the unfinished workflows that `/command argument` means; none if the command isn't known."""


class FindsByKey(Protocol):
    """An optional ability of an adapter: to read some workflows without a look at the others."""

    def with_keys(self, project: Records, keys: Collection[str]) -> Found:
        """Return, as `find` does, the workflows with these keys and no others."""


class TakesEvidence(Protocol):
    """An optional ability of an adapter: to record what a session's transcript shows of its workflows."""

    def evidence(self, project: Records, workflow: Workflow, work: Sequence[Work]) -> list[str]:
        """Record what a session ran and edited, oldest first, and return sentences for its model.

        Evidence completes nothing. What was recorded before is left out, and the sentences are those that hold now.
        """


class RecordsCompactions(Protocol):
    """An optional ability of an adapter: to record in a state that its session was compacted."""

    def compacted(self, project: Records, workflow: Workflow) -> Workflow:
        """Record that a session goes on with an unfinished workflow after a compaction; return it as it is now."""


class WordsSteps(Protocol):
    """An optional ability of an adapter: to word the next step itself, as its document does."""

    def step(self, workflow: Workflow) -> Step | None:
        """Return the next step, None if all is done."""


class ClearsFinished(Protocol):
    """An optional ability of an adapter: the state file of a finished workflow goes to the archive."""

    CLEARS_FINISHED: bool


class StoresNotes(Protocol):
    """An optional ability of an adapter: a place of its own for a note on the current phase.

    Without it, a note becomes a context value (`Changes.with_note`).
    """

    def noted(self, workflow: Workflow, changes: Changes, note: str) -> Changes:
        """Return changes with the note in the format's own place."""


class Detector(Protocol):
    """The module `detector` in the folder of a format whose record has SOURCES."""

    def save(
        self, project: Records, session: str, *, written: Path | None = None, text: str = "", starting: bool = False
    ) -> Detected:
        """Merge what the files say about a session's work into a state file. Never raises for their contents.

        A file that the session has just `written` is always looked at, and then none is waiting; what it says in the
        `text` of this edit begins again even if it was completed. When a session or a command is `starting`, only what
        every session is told is saved, and all other fresh files in progress wait.
        """

    def skipped(self, project: Records) -> list[str]:
        """Return a line for each kind of file of which some were not looked at, with what to do about it."""

    def waiting(self, project: Records, places: Sequence[str]) -> list[str]:
        """Return what to tell a session about waiting files, a line for each that is still in progress."""

    def report(self, project: Records, session: str) -> DetectionReport:
        """Look at all files, for a session. Never writes, and never raises for their contents."""


class AgentFormat(Format, Protocol):
    """The adapter of a format whose phases agents work on and move with their reports."""

    def match_phase(self, workflow: Workflow, text: str, agent: str) -> Phase | None:
        """Return the phase an agent was launched for, or None.

        `text` is the call's description followed by its prompt. If `agent` is empty, only a reference in the text
        counts.
        """

    def judge(self, project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
        """Make a phase active, completed or failed because of its agent, which said `words`.

        What no hook may do does nothing, or raises TransitionError if the agent's words would be lost.
        """

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
        """Return what to tell an agent about a phase if the format has more than the prompt; else None."""


class CreditsWork(Protocol):
    """An optional ability of an AgentFormat: to keep what agents and the main conversation did for a phase."""

    RUNS: Pattern[str]
    """The shell commands whose results it keeps."""

    def credit(self, project: Records, workflow: Workflow, phase_id: str, work: AgentWork) -> None:
        """Note what an agent of a phase did; it is judged right afterwards."""

    def ran(self, project: Records, workflow: Workflow, runs: Sequence[Work]) -> None:
        """Note what the main conversation ran, oldest first; the same run may come again."""


class HoldsLaunches(Protocol):
    """An optional ability of an AgentFormat: to say why no further agent should be launched for now."""

    def held(self, project: Records, workflow: Workflow) -> str:
        """Return the reason with what to do about it; empty if nothing speaks against a launch. Never writes."""


class LocksFiles(Protocol):
    """An optional ability of an AgentFormat: locks on the files that agents edit at the same time."""

    def lock(self, project: Records, workflow: Workflow, place: str, owner: str, alive: Collection[str]) -> str:
        """Lock a file for an agent and return an empty text, or why it can't be: somebody else has it locked.

        Args:
            project: the project.
            workflow: the session's workflow.
            place: the file, relative to the root.
            owner: the agent's id; empty for the main conversation, which is only told of others' locks.
            alive: the ids of the agents that run; what others locked counts no more.
        """

    def unlock(self, project: Records, workflow: Workflow, owner: str) -> None:
        """Free all files that an agent has locked."""


class ListsOverseers(Protocol):
    """An optional ability of an AgentFormat: to list agents that look after a workflow as a whole."""

    def joined(self, project: Records, workflow: Workflow, text: str, agent: str) -> bool:
        """List an agent that was launched for none of the phases, if it is one of these; return whether it is.

        `text` is the call's description followed by its prompt, as in `match_phase`.
        """

    def left(self, project: Records, workflow: Workflow, text: str, agent: str) -> None:
        """List such an agent no longer: it has ended."""
