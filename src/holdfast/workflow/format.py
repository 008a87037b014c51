"""The base class of formats: what Holdfast asks a format, with an answer for all that yours need not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from holdfast.errors import TransitionError
from holdfast.formats import RECORDS
from holdfast.workflow import assignments

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from holdfast.clients.client import Work
    from holdfast.workflow.definitions import Library
    from holdfast.workflow.draft import Draft
    from holdfast.workflow.findings import Finding, Level
    from holdfast.workflow.model import (
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


class Answer(NamedTuple):
    """What a format's own command prints.

    Attributes:
        text: a sentence that says what was done.
        workflow: the workflow that was changed, which the session then owns; None if none was.
        data: what `--json` prints; by default the workflow and its next step.
    """

    text: str
    workflow: Workflow | None = None
    data: Any = None


class Format:
    """A format: how workflows of one kind are stored. `MODULE` of its record names the module with its `FORMAT`.

    A workflow that is one JSON file needs less: `workflow.store.FileFormat`. Only `start`, `change`, `restore` and
    `written` write. They raise StateError if the file can't be read or written, SchemaMismatch if it has another
    schema, and TransitionError if the change is refused.

    Attributes:
        name: its name, as in its record.
        deviations: what `holdfast doctor` makes of a file that deviates from the schema: people may keep one by hand.
        reports_all: whether `findings` has the warnings of workflows, too, because it repairs what they are about.
        takes_total: whether a new workflow may have more phases than it names.
        clears_finished: whether the file of a finished workflow goes to the archive, so that `done` finishes what a
            hand or a crash left.
        takes_evidence: whether it has `record_evidence`, which costs a look at the transcript.
        locks_files: whether it has `lock` and `unlock`, which cost a look at each edit of an agent.
        holds_launches: whether it has `hold`, which costs a look at each launch.
        definitions: the TOML files that its workflows follow, if its record has DEFINITIONS.
    """

    name: str
    deviations: Level = "notice"
    reports_all = False
    takes_total = False
    clears_finished = False
    takes_evidence = False
    locks_files = False
    holds_launches = False
    definitions: Library[Any] | None = None

    # Find and read.

    def find(self, project: Records) -> Found:
        """Return the project's workflows of this format. Never writes, and never raises for the content of a file."""
        raise NotImplementedError

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return the workflows that an event can be about: those with these keys, and the last changed.

        A key may end with its `#`, which means the workflow stored at that path. If somebody changed a file by hand,
        the files generated from it may be updated, but none of a workflow that nobody owns.
        """
        return self.find(project)

    def with_keys(self, project: Records, keys: Collection[str]) -> Found:
        """Return the workflows with these keys, and others only if reading without them is no faster."""
        return self.candidates(project, keys)

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return the workflow in a content of a state file. Raises SchemaMismatch, or StateError if it is broken."""
        raise NotImplementedError

    def foreign(self, project: Records) -> Iterable[Foreign]:
        """Yield other programs' files at its paths, which Holdfast leaves alone. Never writes or raises."""
        return ()

    def findings(self, project: Records) -> Iterable[Finding]:
        """Yield the problems of its files, for `holdfast doctor`, which runs the fixes."""
        return ()

    # Write.

    def start(self, project: Records, start: Start) -> Workflow:
        """Create a workflow."""
        raise NotImplementedError

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
            why: what the version is called.
            error: the message of a failed or blocked phase, for the ledger.
            repair: write a broken file again from its last version, even if nothing changes.
        """
        raise NotImplementedError

    def resume(self, project: Records, workflow: Workflow, conversation: str | None, *, anyway: bool) -> Workflow:
        """Return a paused workflow after somebody claimed it: it goes on.

        Args:
            project: the project.
            workflow: the workflow.
            conversation: the conversation that claims it; None for a person.
            anyway: whether to interrupt another live conversation.

        Raises:
            TransitionError: another live conversation works on what would be paused instead.
        """
        return workflow

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Restore an earlier content of a state file, and update everything generated from it.

        Another unfinished workflow in its place is replaced only with `replace`.
        """
        raise NotImplementedError

    def written(self, project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
        """Return a workflow as it is after somebody wrote one of its files; None if the file isn't its own.

        What is generated from the file is updated. The workflow's warnings hold what to tell the writer.
        """
        return workflow if path == workflow.path else None

    def folder(self, project: Records) -> Path:
        """Return the folder whose lock is held while a workflow changes."""
        return project.root / self.top

    # Words.

    def step(self, workflow: Workflow) -> Step | None:
        """Return the next step in the format's own words, None to leave it to `verbs.step`."""
        return None

    def signal(self, workflow: Workflow) -> str:
        """Return a line that tells programs that a workflow was completed; empty for none."""
        return ""

    def noted(self, workflow: Workflow, changes: Changes, note: str) -> Changes:
        """Return changes with a note on the current phase; without a place of its own it is a context value."""
        return changes.with_note(workflow, note)

    # Agents, if the record says that they move its units.

    def match_phase(self, workflow: Workflow, text: str, agent: str) -> Phase | None:
        """Return the phase an agent was launched for, or None.

        `text` is the call's description followed by its prompt. If `agent` is empty, only a reference in the text
        counts.
        """
        return assignments.match_phase(workflow, text, agent)

    def judge(self, project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
        """Make a phase active, completed or failed because of its agent, which said `words`.

        A move that hooks may not make is ignored. Raises TransitionError if that would lose the agent's message.
        """
        raise TransitionError(f"agents don't move a workflow of {self.name}")

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
        """Return a brief for a phase's agent if the format has more than the prompt; else None.

        Raises HoldfastError if it can't be read (`registry.brief`).
        """
        return None

    def register_overseer(self, project: Records, workflow: Workflow, text: str, agent: str) -> bool:
        """List an agent that looks after the workflow as a whole; return whether it is one.

        `text` is the call's description followed by its prompt, as in `match_phase`.
        """
        return False

    def unregister_overseer(self, project: Records, workflow: Workflow, text: str, agent: str) -> None:
        """List such an agent no longer: it has ended."""

    def hold(self, project: Records, workflow: Workflow) -> str:
        """Return why no further agent should be launched for now, with what to do; empty if nothing speaks against it.

        Never writes.
        """
        return ""

    def lock(self, project: Records, workflow: Workflow, place: str, owner: str, alive: Collection[str]) -> str:
        """Lock a file for an agent and return an empty text, or why it can't be: somebody else has it locked.

        Args:
            project: the project.
            workflow: the session's workflow.
            place: the file, relative to the root.
            owner: the agent's id; empty for the main conversation, which is only told of others' locks.
            alive: the ids of the agents that run; what others locked counts no more.
        """
        return ""

    def unlock(self, project: Records, workflow: Workflow, owner: str) -> None:
        """Free all files that an agent has locked."""

    # Sessions.

    def asked(self, project: Records, command: str, argument: str) -> list[Workflow]:
        """Return the unfinished workflows that `/command argument` means; none if the command isn't known.

        An empty command is a person who names a workflow by what it is about.
        """
        return []

    def record_evidence(self, project: Records, workflow: Workflow, work: Sequence[Work]) -> list[str]:
        """Record what a session ran and edited, oldest first, and return sentences for its model.

        Evidence completes nothing. What was recorded before is left out, and the sentences are those that hold now.
        """
        return []

    def compacted(self, project: Records, workflow: Workflow) -> Workflow:
        """Record that a session goes on with an unfinished workflow after a compaction; return it as it is now."""
        return workflow

    @property
    def top(self) -> str:
        """The folder that holds its state, relative to the project's root."""
        return RECORDS[self.name].TOP


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

    def waiting(self, project: Records, places: Sequence[str]) -> list[str]:
        """Return a line about each waiting file that is still in progress."""

    def report(self, project: Records, session: str) -> DetectionReport:
        """Look at all files, for a session. Never writes, and never raises for their contents."""
