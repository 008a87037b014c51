"""After a compaction the model gets its workflow back: complete, only its own, and only then."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock, paths
from holdfast.dispatch.budget import units
from holdfast.sessions import compactions, deliveries
from holdfast.sessions.workspace import Workspace
from holdfast.testing import HoldfastProject
from holdfast.workflow import registry, search, statefile, store
from tests.client_output import assert_acceptable
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD
from tests.signals import Agent, begin, compacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired

RESTORED = "WORKFLOW RESTORED AFTER COMPACTION"
TRANSCRIPTS = Path(__file__).parents[1] / "sessions" / "transcripts"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project without a workflow."""
    return holdfast_project({})


def start(project: HoldfastProject, title: str, *arguments: str, session: str = "") -> None:
    """Start a workflow of two phases."""
    phases = ("--phase", f"{title} first", "--phase", f"{title} second")
    holdfast("start", title, *phases, *arguments, root=project.root, session=session)


def compact(project: HoldfastProject, before: str = ME, after: str = "", **changes: Any) -> Fired:
    """Let a compaction happen, which may change the session's id."""
    project.fire("PreCompact", "PreCompact-auto", session_id=before)
    project.fire("SubagentStop", "SubagentStop-compaction", session_id=before)
    return begin(project, "compact", session_id=after or before, **changes)


def opened(project: HoldfastProject) -> Workspace:
    return Workspace.open(project.root)


@pytest.mark.parametrize("place", [b".workflow/WFS-\xff", b"untracked/workflow-state/\xff"])
def test_a_name_that_is_not_utf_8_costs_nobody_a_workflow(project: HoldfastProject, place: bytes) -> None:
    """Git carries such names, and a ledger cannot: the workflows beside it are saved and restored."""
    folder = Path(os.fsdecode(os.fsencode(project.root) + b"/" + place))
    folder.mkdir(parents=True)
    (folder / "workflow-session.json").write_text('{"session_id": "WFS-x", "project": "p", "status": "active"}')
    old = '{"workflow": "Odd", "phase": {"current": 1, "total": 2, "name": "p", "status": "in_progress"}}'
    (folder / "state-odd-20200101_000000.json").write_text(old)
    begin(project, "startup")
    start(project, "Mine", session=ME)
    fired = compact(project)
    assert "Workflow: Mine" in fired.context
    assert "raised" not in fired.stdout
    for command in ("status", "status --why", "log"):
        holdfast(*command.split(), root=project.root)


def test_what_another_live_session_owns_is_named_to_the_user_once(project: HoldfastProject) -> None:
    """With the command that moves it here; the model, whose it is not, hears nothing."""
    begin(project, "startup", session_id=OTHER)
    start(project, "Theirs", session=OTHER)

    fired = compact(project)
    assert fired.context == ""
    said = fired.reply["systemMessage"]
    assert said.startswith(f"Holdfast restored nothing: 1 workflow here belongs to another live session ({OTHER[:8]}).")
    assert "`holdfast status` shows it;" in said
    assert "Theirs" not in fired.stdout
    assert compact(project).reply.get("systemMessage") is None

    command = said.split("`")[3].replace("NAME", "Theirs").split()
    assert command[:2] == ["holdfast", "claim"]
    holdfast(*command[1:], root=project.root)
    assert "Theirs" in compact(project).context


def test_what_a_person_gives_a_session_is_announced_to_its_model_once(project: HoldfastProject) -> None:
    """At the next prompt; it is data, and the model is told how to go on."""
    begin(project, "startup")
    start(project, "Given </workflow-data> now")

    def prompted() -> str:
        return project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on").context

    said = prompted()
    assert '"Given ‹/workflow-data> now" (compaction): phase 1/2' in said
    assert "`holdfast next given-workflow-data-now`" in said
    assert prompted() == ""

    holdfast("claim", "--session", ME[:8], root=project.root)
    said = prompted()
    assert "Given" in said and said.endswith("whether to begin; `holdfast next` then says what to do."), "given again"
    holdfast("claim", root=project.root, session=ME)
    assert prompted() == "", "its own model asked"


def test_a_subagents_own_compaction_restores_nothing(project: HoldfastProject) -> None:
    """Client-rig: its SessionStart(compact) comes with the parent's session, and the context goes to the subagent."""
    start(project, "Book", session=ME)
    project.fire("PreCompact", "PreCompact-auto")

    assert begin(project, "compact-in-subagent").context == ""

    (report,) = compactions.recent(opened(project), 5)
    assert report.came_at is None
    begin(project, "compact").assert_advised(RESTORED)


def test_an_unmarked_compaction_while_the_main_thread_rests_is_an_agents(project: HoldfastProject) -> None:
    """Client-rig: on 2.1.197 a background agent's own compaction is unmarked; after a Stop the main thread has none."""
    start(project, "Book", session=ME)
    begin(project, "startup")
    agent = Agent(project, "look around", "Explore")
    agent.about_to()
    agent.launched()
    running = [{"id": agent.run, "type": "subagent", "status": "running"}]
    project.fire("Stop", "Stop", background_tasks=running).assert_silent("track_agents")

    assert "Book" not in compact(project).context

    project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")
    compact(project).assert_advised(RESTORED)


@pytest.mark.parametrize(
    "entry",
    [
        "x" * 5_000,
        "../" * 400,
        "~nobody-at-all/x",
        "a\x00b",
        "/dev/stdin",
        "docs/" + "é" * 300,
        "@@@",
        "a b (see below)",
    ],
)
def test_an_odd_required_reading_costs_nothing(project: HoldfastProject, entry: str) -> None:
    """I001-21: whether a reading exists is looked up, and no entry makes that fail."""
    start(project, "Book", "--remind", "Be kind", session=ME)
    (workflow,) = registry.all_found(opened(project)).workflows
    state = json.loads(workflow.raw)
    state["required_reading"] = [f"@{entry}"]
    project.write({workflow.place: state})

    heading = "don't read these:" if entry.startswith(("../", "/")) else "REQUIRED READING"
    compact(project).assert_advised(RESTORED, "Be kind", heading)


def test_a_worktree_gets_its_own(project: HoldfastProject, tmp_path: Path) -> None:
    """Two worktrees of one project share a ledger and nothing else."""
    other = HoldfastProject(tmp_path / "worktree", OTHER)
    for each in (project, other):
        each.write({".claude/holdfast.toml": '[project]\nid = "shared"\n'})
        each.trust()
    begin(project, "startup")
    begin(other, "startup")
    start(project, "Mine", session=ME)
    start(other, "Theirs", session=OTHER)
    keys = {Workspace.open(each.root, trusted=True).key for each in (project, other)}
    assert len(keys) == 1

    assert "Workflow: Mine" in compact(project, ME).context
    assert "Workflow: Theirs" in compact(other, OTHER).context


CLIENTS = ("2.1.329", "2.1.197")
BOUNDARY, ADDED, ANSWER = b"compact_boundary", b'"type":"hook_additional_context"', b'"type":"assistant"'


class Transcript:
    """A session's transcript as a client writes it: late, and piece by piece."""

    def __init__(self, path: Path, client: str) -> None:
        self.path = path
        lines = (TRANSCRIPTS / f"guided-{client}.jsonl").read_bytes().splitlines(keepends=True)
        begins = next(number for number, line in enumerate(lines) if BOUNDARY in line)
        ends = next(number for number, line in enumerate(lines) if number > begins and ANSWER in line)
        self._before, self._after = lines[:begins], lines[begins : ends + 1]
        path.write_bytes(b"".join(self._before))

    def compact(self, guidance: str = "", made_at: str = "") -> None:
        """Write what a compaction leaves, with what a hook gave to the model, and the model's answer.

        The entries are of now, or of `made_at` (UTC stamp).
        """
        at = made_at or clock.stamp()
        said = [re.sub(rb'"timestamp":"[^"]*"', b'"timestamp":"%b"' % at.encode(), line) for line in self._after]
        said = [line for line in said if ADDED not in line]
        if guidance:
            content = {"type": "hook_additional_context", "content": [guidance]}
            entry = {"type": "attachment", "attachment": content, "timestamp": at}
            said.insert(-1, json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self.append(*said)

    def append(self, *lines: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(lines))


@pytest.fixture(params=CLIENTS)
def transcript(tmp_path: Path, request: pytest.FixtureRequest) -> Transcript:
    return Transcript(tmp_path / "session.jsonl", request.param)


def prompt(project: HoldfastProject, transcript: Transcript, session: str = ME) -> str:
    """Let a person ask something; return what the model gets beside it."""
    fired = project.fire(
        "UserPromptSubmit", "UserPromptSubmit", session_id=session, transcript_path=str(transcript.path), prompt="Go on"
    )
    assert_acceptable("UserPromptSubmit", fired.stdout)
    assert fired.faults == []
    return fired.context


def states(project: HoldfastProject) -> list[str]:
    """Return the states of the deliveries, the last first."""
    there = opened(project)
    found = [each.state for each in deliveries.recent(there, 10)]
    there.close()
    return found


def test_guidance_that_arrived_is_confirmed_and_not_given_again(
    project: HoldfastProject, transcript: Transcript
) -> None:
    """The mark stands in what the client noted as context, after the size at delivery."""
    start(project, "Alpha")
    given = begin(project, "compact", transcript_path=str(transcript.path)).context
    assert states(project) == ["delivered"]
    assert prompt(project, transcript) == ""  # the client writes late: nothing is known yet
    assert states(project) == ["delivered"]

    transcript.compact(given)

    assert prompt(project, transcript) == ""
    assert states(project) == ["confirmed"]


@pytest.mark.parametrize("arrived", [True, False])
def test_an_earlier_compaction_that_is_written_late_proves_nothing(
    project: HoldfastProject, transcript: Transcript, arrived: bool
) -> None:
    """Its entries stand after the byte where the later one's begin; 2.1.197 even copies them there."""
    start(project, "Alpha")
    given = begin(project, "compact", transcript_path=str(transcript.path)).context
    earlier = clock.stamp()
    project.fire("PreCompact", "PreCompact-auto", session_id=ME, transcript_path=str(transcript.path))
    assert begin(project, "compact", transcript_path=str(transcript.path)).context == given

    transcript.compact(given if arrived else "", made_at=earlier)
    assert prompt(project, transcript) == ""
    assert states(project) == ["delivered", "unconfirmed"]

    transcript.compact(given)
    assert prompt(project, transcript) == ""
    assert states(project) == ["confirmed", "unconfirmed"]


def test_guidance_that_never_arrived_is_given_once_more_at_the_next_prompt(
    project: HoldfastProject, transcript: Transcript
) -> None:
    """[ISS 28305]: only where the transcript proves it, and once; what was moved meanwhile is told as it is now."""
    start(project, "Alpha")
    assert RESTORED in begin(project, "compact", transcript_path=str(transcript.path)).context
    transcript.compact()
    holdfast("next", root=project.root, session=ME)
    holdfast("done", root=project.root, session=ME)

    again = prompt(project, transcript)

    assert RESTORED in again and "Phase: 2/2 - Alpha second" in again
    assert states(project) == ["delivered", "absent"]
    assert prompt(project, transcript) == ""
    compactions = json.loads(holdfast("status", "--json", root=project.root).out)["compactions"]
    assert len(compactions) == 1


def test_what_is_over_by_then_is_not_given_again(project: HoldfastProject, transcript: Transcript) -> None:
    """A finished workflow is no second chance's business."""
    start(project, "Alpha")
    begin(project, "compact", transcript_path=str(transcript.path))
    transcript.compact()
    holdfast("done", "--all", root=project.root, session=ME)

    assert prompt(project, transcript) == ""


def test_a_compaction_whose_session_start_never_fired_is_made_good(
    project: HoldfastProject, transcript: Transcript
) -> None:
    """[ISS 15174]: PreCompact left a snapshot, the transcript shows the compaction, and nobody took the snapshot."""
    start(project, "Alpha")
    project.fire("PreCompact", "PreCompact-auto", session_id=ME, transcript_path=str(transcript.path))
    assert prompt(project, transcript) == ""
    transcript.compact()

    assert RESTORED in prompt(project, transcript)
    assert prompt(project, transcript) == ""


def test_a_process_that_was_killed_before_it_answered_takes_no_compaction_away(project: HoldfastProject) -> None:
    """The next event of the same compaction answers it."""
    start(project, "Alpha")
    project.fire("PreCompact", "PreCompact-auto")
    there = opened(project)
    assert compactions.claim(there, ME, known=True)
    there.close()
    begin(project, "compact").assert_advised(RESTORED)
    (row,) = holdfast("status", "--json", root=project.root).json["compactions"]
    assert (row["trigger"], row["not_restored"]) == ("auto", "")


def summarised(project: HoldfastProject, words: str) -> Fired:
    """Let a compaction happen, with this summary."""
    project.fire("PreCompact", "PreCompact-auto")
    project.fire("SubagentStop", "SubagentStop-compaction", last_assistant_message=words)
    given = begin(project, "compact")
    project.fire("PostCompact", "PostCompact-auto", compact_summary=words)
    return given


def test_what_the_summary_kept_is_counted_once(project: HoldfastProject) -> None:
    """Word for word, whatever the line breaks: title, phase, phases, reading, reminders and context."""
    extras = (
        "--remind",
        "Never forget tabs",
        "--remind",
        "Another thing",
        "--set",
        "database=SQLite",
        "--read",
        "a.md",
    )
    start(project, "Alpha", *extras)

    summarised(project, "<summary>We work on Alpha;\nalpha first. Never\nforget tabs, use SQLite.</summary>")

    (row,) = holdfast("status", "--json", root=project.root).json["compactions"]
    assert (row["facts_kept"], row["facts"]) == (3, 7)
    assert "Claude's summary kept 3 of 7 facts" in holdfast("status", "-v", root=project.root).out


def test_a_branch_that_changed_is_said(project: HoldfastProject) -> None:
    """The workflow is the session's on any branch; that another one is checked out now is worth knowing."""
    head = project.root / ".git" / "HEAD"
    project.write({".git/HEAD": "ref: refs/heads/feature\n"})
    start(project, "Alpha", session=ME)
    assert "in branch" not in compact(project).context

    head.write_text("ref: refs/heads/main\n")

    assert "- last worked on in branch 'feature'; this is 'main'" in begin(project, "compact").context
    assert "in branch" not in begin(project, "compact").context


TRAIL = "What this session did before its compaction"


def worked(tmp_path: Path, client: str) -> Path:
    """Return the transcript of an ordinary session, as far as it goes when SessionStart(compact) fires."""
    lines = (TRANSCRIPTS / f"worked-{client}-tasks.jsonl").read_bytes().splitlines(keepends=True)
    begins = next(number for number, line in enumerate(lines) if BOUNDARY in line)
    path = tmp_path / "worked.jsonl"
    path.write_bytes(b"".join(lines[:begins]))
    return path


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("finished", [False, True])
def test_where_there_is_no_workflow_the_session_gets_its_trail(
    project: HoldfastProject, tmp_path: Path, client: str, finished: bool
) -> None:
    """From its own transcript, once, noted as a delivery; a finished workflow is none."""
    if finished:
        start(project, "Alpha")
        holdfast("done", "--all", root=project.root)
    transcript = worked(tmp_path, client)
    for source in ("startup", "resume", "clear", "fork"):
        assert begin(project, source, transcript_path=str(transcript)).context == ""

    given = begin(project, "compact", transcript_path=str(transcript)).context

    assert TRAIL in given
    for fact in ("Always use tabs, never spaces.", "Write parser", "FAILED test_parser", "new.py", "SQLite"):
        assert fact in given
    assert units(given) <= 3_000
    assert begin(project, "compact", transcript_path=str(transcript)).context == given
    assert states(project) == ["delivered", "unconfirmed"]
    assert not (project.root / ".claude" / "holdfast").exists()


@pytest.mark.parametrize("why", ["off", "subagent", "no transcript", "empty transcript"])
def test_no_trail_is_given(project: HoldfastProject, tmp_path: Path, why: str) -> None:
    """Switched off by one line; a subagent's compaction; nothing to read, nothing to tell."""
    transcript = worked(tmp_path, "2.1.329")
    changes: dict[str, Any] = {"transcript_path": str(transcript)}
    if why == "off":
        file = paths.user_config()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("trail = false\n")
    if why == "subagent":
        changes |= {"agent_id": "a1", "agent_type": "general-purpose"}
    if why == "no transcript":
        changes["transcript_path"] = ""
    if why == "empty transcript":
        transcript.write_bytes(b"")
    assert begin(project, "compact", **changes).context == ""
    assert states(project) == []


def test_of_agents_words_neither_secrets_nor_what_is_excluded_is_kept(project: HoldfastProject) -> None:
    """Not in the ledger, so in nothing that is made of it."""
    file = paths.user_config()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('exclude = ["secret.md"]\nexclude_patterns = ["XSECRET[A-Z]+X"]\n')
    start(project, "Book", session=ME)
    token = "ghp_" + "a1B2c3D4e5" * 4
    first = Agent(project, f"Use XSECRETONEX and {token}", prompt=f"{token} and XSECRETTWOX", number=1, session=ME)
    second = Agent(project, "Look at secret.md", prompt="In secret.md it says canary-4711", number=2, session=ME)
    for agent in (first, second):
        agent.about_to(session_id=ME)
        agent.started()
    first.stopped(f"It is XSECRETTHREEX, {token}; done well")
    second.stopped("As secret.md says: canary-4712")

    there = opened(project)
    kept = json.dumps([there.ledger.rows(f"SELECT * FROM {table}") for table in ("agents", "events")])
    there.close()
    for word in ("XSECRET", token, "canary-47"):
        assert word not in kept
    assert "done well" in kept
    said = compact(project).context + holdfast("status", root=project.root).out + holdfast("log", root=project.root).out
    for word in ("XSECRET", token, "canary-47"):
        assert word not in said


def test_what_is_excluded_is_not_in_the_trail(project: HoldfastProject, tmp_path: Path) -> None:
    """Neither a file by its path nor text by a pattern."""
    file = paths.user_config()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('exclude = ["new.py"]\nexclude_patterns = ["test_[a-z]+"]\n')

    given = begin(project, "compact", transcript_path=str(worked(tmp_path, "2.1.197"))).context

    assert "app.py" in given and "new.py" not in given
    assert "FAILED [excluded]" in given and "test_parser" not in given


LARGE = json.dumps({"id": "wf", "task": "T", "phases": [], "pad": "x" * search.LIMIT_BYTES})


@pytest.mark.parametrize("source", ["startup", "compact"])
@pytest.mark.parametrize("other", [True, False], ids=["another", "none"])
@pytest.mark.parametrize(("text", "why"), [(LARGE, statefile.TOO_LARGE), ('{"id": ', "")], ids=["large", "broken"])
def test_a_state_file_that_cannot_be_read_is_said_once(
    project: HoldfastProject, source: str, other: bool, text: str, why: str
) -> None:
    """To the user, with the reason, whatever else is restored; it stays, and the doctor names it."""
    if other:
        start(project, "Book", session=ME)
    project.write({".claude/state/workflow.json": text})
    path = project.root / ".claude/state/workflow.json"
    raw = path.read_bytes()

    said = [begin(project, source, session_id=ME).reply.get("systemMessage", "") for _ in range(2)]
    project.session = ME
    said += [compacted(project, each).reply.get("systemMessage", "") for each in (OTHER, THIRD)]

    assert [each.count(f".claude/state/workflow.json could not be read: {why}") for each in said] == [1, 0, 0, 0]
    assert said[0].count("`holdfast doctor") == 1
    assert f"{path}: {why}" in holdfast("doctor", root=project.root, code=1).out.replace("\n", " ")
    assert path.read_bytes() == raw


def test_what_was_not_looked_at_is_said_at_any_start(project: HoldfastProject) -> None:
    """Once in a session, beside the line that names unfinished work."""
    for number in range(store.NEWEST + 3):
        start(project, f"Book {number}")

    said = begin(project, "startup").reply["systemMessage"]

    assert f"and {store.NEWEST - 1} more (`holdfast status`)" in said
    assert "Holdfast read only the newest state files here and left out 3 older ones. This session" in said
    assert "left out" not in begin(project, "startup").reply["systemMessage"]
