"""The client as sessions know it: the base class of each, the readers of its files, and the values these return.

A client runs sessions in a process, writes their transcripts, and may run scripts that start agents. The defaults are
right for one that does nothing of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    Mask = Callable[[dict[str, Any]], dict[str, Any]]

Reached = Literal["confirmed", "absent", "unknown"]
AgentStatus = Literal["completed", "async_launched", "remote_launched", "other"]


class Todo(NamedTuple):
    """An item of a to-do list: its words and `pending`, `in_progress`, `completed` or another status."""

    text: str
    status: str


class Answer(NamedTuple):
    """What the model asked a person, and the answer."""

    question: str
    answer: str


class Job(NamedTuple):
    """A command in the background. `output` is the path of the file that it writes to; empty if unknown."""

    id: str
    text: str
    output: str = ""


class Edit(NamedTuple):
    """A file that was created or edited, and how often it was written."""

    path: str
    writes: int
    created: bool


class Work(NamedTuple):
    """A command that ran, or an edit of a file."""

    at: str  # UTC stamp of its end; empty if unknown
    command: str = ""  # empty for an edit
    output: str = ""
    failed: bool = False  # by the command's exit code
    path: str = ""  # the file that was edited; empty for a command


@dataclass(frozen=True, slots=True)
class Trail:
    """What a session did, according to its transcript: nothing is redacted yet. Texts are empty if unknown."""

    requests: tuple[str, ...] = ()  # what the person asked, oldest first, the same words only once
    todos: tuple[Todo, ...] = ()  # the open to-dos, those in progress first, else in their order
    completed: int = 0  # how many to-dos are completed
    runs: tuple[Work, ...] = ()  # the last run of each command, newest first
    commands: tuple[Job, ...] = ()  # the commands that run in the background, newest first
    edits: tuple[Edit, ...] = ()  # the files that were created or edited, newest first
    plan: str = ""  # the plan's file
    plan_title: str = ""  # the first line of the plan
    branch: str = ""  # the branch the last entry was written on
    statements: tuple[str | Answer, ...] = ()  # what the model said and the person answered, newest first
    reads: tuple[str, ...] = ()  # the files that were read and not edited, newest first


class AgentResult(NamedTuple):
    """What the call that launched a subagent returned.

    `completed` means that it ran to its end inside the call, `async_launched` in the background, `remote_launched`
    elsewhere. Clients before 2.1.30 give no status (`other`).
    """

    status: AgentStatus
    agent_id: str = ""  # a remote one's task id; empty if unknown
    agent_type: str = ""  # empty if unknown
    text: str = ""  # its text blocks, joined by newlines
    total_tokens: int | None = None
    output_file: str = ""  # where a background agent writes; empty if unknown
    failed: bool = False  # whether anything reports a failure; that overrides its status (I000-14)


class CallResult(NamedTuple):
    """The result of a call by its `tool_use_id`, read from a transcript; `error` is empty unless the call failed."""

    call: str
    result: AgentResult
    error: str = ""


class TaskNotification(NamedTuple):
    """What the client tells the model when a background task stops (client fact §3.4)."""

    task_id: str = ""  # a subagent's `agent_id`
    tool_use_id: str = ""  # the call that launched it
    status: str = ""  # `completed`, `failed` or another word of the client's
    summary: str = ""  # one line about it
    result: str = ""  # a subagent's last message; other tasks have none
    output_file: str = ""  # the file with its complete output

    @property
    def words(self) -> str:
        """A subagent's last message or, if it has none and didn't complete, the summary, which says what went wrong."""
        return self.result or ("" if self.status == "completed" else self.summary)


class Noted(NamedTuple):
    """An entry about a file that the model was shown, or that it was refused."""

    kind: Literal["shown", "refused"]
    value: Any  # the Read's response or an attachment of the same form; the refused path
    cut: bool = False  # whether the client attached only a part of the file


class Reading(NamedTuple):
    """What a transcript notes of files in the present context of the model, oldest first."""

    present: Sequence[Noted] = ()  # after the last compaction; nothing while one is awaited
    boundary: str | None = None  # the id of the last compaction; None without one
    boundaries: int = 0  # how many compactions there are
    end: int = 0  # the byte after the last whole line


class ScriptAgent(NamedTuple):
    """An agent that a script's run started."""

    key: str  # what the client knows its call by
    agent_id: str  # empty if the client gave none
    label: str  # what the script calls it
    state: Literal["started", "finished", "failed"]
    result: str = ""  # what it returned, as text; empty unless it has finished


class Journal(NamedTuple):
    """What the client wrote down of a script's run."""

    agents: tuple[ScriptAgent, ...]  # in the order in which their calls were made
    known: bool  # whether this is the version of the client's notes that Holdfast knows
    whole: bool  # whether the client itself would serve every finished result again

    @property
    def done(self) -> int:
        """How many agents have finished with a result."""
        return sum(each.state == "finished" for each in self.agents)


class Transcripts:
    """Reads the transcripts of a client's sessions. They are never trusted, and nothing in them raises."""

    TAIL_BYTES = 0
    """The number of bytes read at the end of a transcript."""

    def size(self, path: str) -> int:
        """Return a transcript's size in bytes; 0 if there is none."""
        return 0

    def trail(self, *paths: str, mask: Mask | None = None) -> Trail:
        """Return a session's trail from its transcripts, oldest first. `mask` changes each JSON value before that."""
        return Trail()

    def work(self, path: str) -> Sequence[Work]:
        """Return a session's commands and edits, oldest first."""
        return ()

    def edited_since(self, path: str, since: str) -> bool:
        """Return whether a session or one of its agents edited a file after a UTC stamp."""
        return False

    def reading(self, path: str, awaited: int | None, *, since: int = 0, files: bool = True) -> Reading:
        """Return which files the main conversation was shown in its present context.

        If a compaction is awaited, it comes from the byte `awaited` on. What stands before the byte `since` isn't read.
        Without `files`, only compactions are looked for.
        """
        return Reading()

    def notices(self, path: str, *, most: int = TAIL_BYTES) -> Iterator[tuple[TaskNotification, str]]:
        """Yield the notifications of ended tasks in a transcript's last `most` bytes, each with its UTC stamp."""
        return iter(())

    def returned(self, path: str, calls: Iterable[str], *, most: int) -> Iterator[CallResult]:
        """Yield the results of calls, from a transcript's last `most` bytes.

        A call that a person refused or interrupted returned nothing.
        """
        return iter(())

    def agent_prompt(self, path: str, agent: str) -> str:
        """Return the first prompt of an agent in the session with this transcript; empty if unknown."""
        return ""

    def reached(self, path: str, mark: str, since: int, after: str = "") -> Reached:
        """Return whether a text with this mark, which no other text has, has reached the model.

        `confirmed` if the client noted it as context from a hook from byte `since` on, where the transcript ended when
        the client got it; `absent` if a whole compaction is noted there and the text is not; else `unknown`, for the
        client writes late. Entries before the UTC stamp `after` are skipped: 2.1.197 writes its whole history again at
        each compaction.
        """
        return "unknown"

    def compacted(self, path: str, since: int, after: str = "") -> bool:
        """Return whether there is a complete compaction from byte `since` on, and not before the UTC stamp `after`."""
        return False

    def shares(self, path: str, other: str) -> bool:
        """Return whether two transcripts share entries, because one session continues the other."""
        return False

    def tool_calls(self, root: Path) -> list[tuple[str, datetime]]:
        """Return the tool calls in the newest sessions of the project at `root`: the tool's name, and the time."""
        return []


class ScriptRuns:
    """Reads and copies the files in which a client notes what the agents of a script's run returned."""

    def run_of(self, transcript: str) -> str:
        """Return the run that an agent belongs to, from the path of its transcript; empty for no run's agent."""
        return ""

    def named_in(self, text: str) -> list[str]:
        """Return the ids of runs that a text names, each once, in order."""
        return []

    def folder(self, transcript: str, run: str) -> Path | None:
        """Return the folder of a run in the session with this transcript; None if there can be none."""
        return None

    def journal(self, folder: Path) -> Journal | None:
        """Return the content of a run's journal; None if there is none, or it can't be read."""
        return None

    def ended(self, folder: Path) -> str:
        """Return how the client says that a run ended (`completed`, `failed`, …); empty while it has not."""
        return ""

    def script(self, transcript: str, given: Mapping[str, Any], root: Path) -> str | None:
        """Return the text of the script that a call with this input asks for; None if it isn't known.

        A relative path in the input is read against the project's root.
        """
        return None

    def script_name(self, script: str) -> str:
        """Return the name that a script gives itself; empty if it gives none."""
        return ""

    def carry(self, folder: Path, target: Path) -> bool:
        """Copy a run's journal, repaired, to a folder that doesn't exist yet; False if it could not be done.

        The folder appears with the whole journal or not at all, and the earlier journal stays as it is.
        """
        return False

    def carry_agent(self, transcript: str, agent: str, target: str) -> bool:
        """Copy an agent's own transcript to another session, so that it can go on there; False if it isn't there."""
        return False


class Client:
    """A client whose sessions work in a project."""

    NAME = START_EVENT = PROMPT_EVENT = CALL_EVENT = ""
    """The name that the ledger has for it; the events with which a session begins, a prompt comes, a tool is called."""

    def process(self, environ: Mapping[str, str]) -> str | None:
        """Return the id of the client's process that started a hook with this environment; None if unknown."""
        return None

    def attended(self, environ: Mapping[str, str]) -> bool:
        """Return whether a person sits at the session that started a hook with this environment."""
        return True

    def marks_agents(self, environ: Mapping[str, str]) -> bool:
        """Return whether the client marks every event of a subagent, according to a hook's environment."""
        return False

    def reader(self) -> Transcripts:
        """Return the reader of its transcripts."""
        return Transcripts()

    def agent_runs(self) -> ScriptRuns:
        """Return the reader of what agents returned that a script started."""
        return ScriptRuns()
