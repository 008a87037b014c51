"""`holdfast forget` leaves no word behind in any of Holdfast's files, and removes nothing else."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from holdfast import log, paths
from holdfast.clients.claude import claude
from holdfast.dispatch import notices
from holdfast.sessions import compactions, contents, conversations, erasure, messages, owners, recordings
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD
from tests.ledgers import COLUMNS
from tests.signals import Agent, begin, compacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject

NUMBERS = ("one", "two")


def canary(kind: str, whose: str) -> str:
    """A word that stands nowhere by chance, with a letter that JSON, the log and files each write their own way."""
    return f"Zeisig{kind}ü{whose}"


KINDS = ("Title", "Phase", "Reminder", "Value", "Note", "Words", "Prompt", "Summary", "Recorded", "Logged", "Task")


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project in which everything is recorded."""
    made = holdfast_project({})
    paths.ensure_private(paths.config_dir())
    paths.user_config().write_text('[handlers]\non = ["record_events"]\n', "utf-8")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T09:00:00Z")
    return made


def plant(project: HoldfastProject, whose: str, session: str) -> None:
    """Let a session do everything that leaves a word somewhere, each word telling whose it is."""
    word = {kind: canary(kind, whose) for kind in KINDS}
    known = {"session_id": session, "transcript_path": f"/nowhere/{canary('Transcript', whose)}.jsonl"}
    project.fire("SessionStart", "SessionStart-startup-tui", **known)
    many = [item for number in range(300) for item in ("--remind", f"{word['Reminder']} number {number}")]
    holdfast(
        *("start", word["Title"], "--phase", word["Phase"], "--phase", "Last", "--set", f"key={word['Value']}", *many),
        root=project.root,
        session=session,
    )
    holdfast("done", "--note", word["Note"], root=project.root, session=session)
    agent = Agent(project, "Look", "builder", word["Prompt"], number=len(whose) + ord(whose[0]), session=session)
    agent.about_to(session_id=session)
    agent.returned(word["Words"], session_id=session)
    project.fire(
        "PostToolUse",
        "PostToolUse-TaskCreate",
        session_id=session,
        tool_response={"task": {"id": "1", "subject": word["Task"]}},
    )
    project.fire("PreCompact", "PreCompact-auto", **known)
    project.fire("SubagentStop", "SubagentStop-compaction", session_id=session, last_assistant_message=word["Summary"])
    project.fire("SessionStart", "SessionStart-compact", **known)
    project.fire("SubagentStop", "SubagentStop-compaction", session_id=session, last_assistant_message=word["Summary"])
    project.fire("UserPromptSubmit", **known, prompt=word["Recorded"])
    log.set_project(project.root)
    log.write("warning", f"{word['Logged']} {word['Title']}", session=session)


def files(project: HoldfastProject) -> Iterator[Path]:
    """Yield every file below Holdfast's state folder and the project."""
    for root in (paths.state_dir(), project.root):
        yield from (path for path in sorted(root.rglob("*")) if path.is_file())


def spellings(word: str) -> set[bytes]:
    """Return the ways in which a word can stand in a file."""
    escaped = json.dumps(word)[1:-1]
    forms = {word, escaped, json.dumps(escaped)[1:-1], word.encode("unicode_escape").decode(), word.casefold()}
    return {form.encode(codec) for form in forms for codec in ("utf-8", "utf-16-le", "utf-16-be", "latin-1")}


def found(project: HoldfastProject, whose: str, *, but: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """Return where words of somebody stand, by kind; not in the user's own files, nor of kinds that are left out."""
    where: dict[str, set[str]] = {}
    for path in files(project):
        if path.is_relative_to(project.root / "untracked"):
            continue
        data = path.read_bytes()
        for kind in (*KINDS, "Transcript"):
            if kind not in but and any(form in data for form in spellings(canary(kind, whose))):
                where.setdefault(kind, set()).add(path.name)
    return where


def table_counts(project: HoldfastProject) -> dict[str, int]:
    there = Workspace.open(project.root)
    counts = {name: there.ledger.rows(f"SELECT COUNT(*) AS n FROM {name}")[0]["n"] for name in COLUMNS}
    there.close()
    return counts


@pytest.fixture
def planted(project: HoldfastProject) -> HoldfastProject:
    """Two sessions with a workflow each; every kind of word stands somewhere."""
    for whose, session in zip(NUMBERS, (ME, OTHER), strict=True):
        plant(project, whose, session)
    for whose in NUMBERS:
        assert set(found(project, whose)) == {*KINDS, "Transcript"}
    return project


def test_everything_is_gone_byte_by_byte(planted: HoldfastProject) -> None:
    """No word of anybody in the ledger, its log file, recordings, sidecars or Holdfast's log; state files stay."""
    states = {path: path.read_bytes() for path in planted.root.glob("untracked/*/*/*")}
    assert len(states) == 2
    said = holdfast("forget", "--everything", "--yes", root=planted.root)

    assert {whose: found(planted, whose) for whose in NUMBERS} == {"one": {}, "two": {}}
    assert set(table_counts(planted).values()) == {0}
    assert {path: path.read_bytes() for path in planted.root.glob("untracked/*/*/*")} == states
    assert all(str(path) in said.out for path in states)
    assert not paths.sidecar_dir(planted.root).exists()
    assert not recordings.folder(Workspace.open(planted.root)).exists()
    assert str(planted.root) not in paths.log_file().with_name("holdfast.log.1").read_text("utf-8")
    assert "nothing of that kind" in holdfast("forget", "--everything", "--yes", root=planted.root).out


def test_a_session_goes_and_the_other_stays_whole(planted: HoldfastProject) -> None:
    """Its words and its id are gone, but for what is its workflow's; of the other session not a row is missing."""
    there = Workspace.open(planted.root)
    conversations.change(there, OTHER, forked_from=ME)
    there.close()
    counts = table_counts(planted)
    holdfast("forget", "--session", ME[:8], "--yes", root=planted.root)

    # What the file of the workflow held belongs to the workflow.
    of_workflow = {"Title", "Phase", "Reminder", "Value", "Note"}
    assert set(found(planted, "one")) <= of_workflow
    assert not [path for path in files(planted) if ME.encode() in path.read_bytes()]
    assert set(found(planted, "two")) == {*KINDS, "Transcript"}
    there = Workspace.open(planted.root)
    for name, columns in COLUMNS.items():
        if "session" in columns:
            rows = there.ledger.rows(f"SELECT session FROM {name}")
            assert {row["session"] for row in rows} <= {OTHER}, name
            assert len(rows) >= counts[name] // 2, name
    assert {row.id for row in conversations.every(there)} == {OTHER}
    there.close()


def test_a_workflow_goes_and_the_other_stays_whole(planted: HoldfastProject) -> None:
    """Its contents, guidance, agents' words and the lines that name it; recorded prompts name no workflow."""
    holdfast("forget", "--workflow", canary("Title", "one"), "--yes", root=planted.root)

    left = found(planted, "one")
    assert set(left) <= {"Recorded", "Transcript", "Prompt", "Words", "Task", "Summary", "Note"}
    assert {name for names in left.values() for name in names} <= {
        f"{ME}.jsonl",
        "holdfast.log.1",
        Workspace.open(planted.root).ledger_file.name,
    }
    assert set(found(planted, "two")) == {*KINDS, "Transcript"}
    there = Workspace.open(planted.root)
    one, two = (
        next(each for each in registry.all_found(there).workflows if each.title == canary("Title", whose))
        for whose in NUMBERS
    )
    assert (owners.owner(there, one), owners.owner(there, two)) == (None, OTHER)
    assert contents.list_versions(there, one.path) == []
    assert len(contents.list_versions(there, two.path)) == 2
    assert [each.title for report in compactions.recent(there, 10) for each in report.workflows] == [two.title]
    there.close()


TELLING = f"# Memory\n\nWorkflow: {canary('Title', 'one')}\nPhase: 2/3 - {canary('Phase', 'one')}\n"


def test_what_is_over_stays_so_though_a_memory_file_tells_of_it(project: HoldfastProject) -> None:
    """CLAUDE.local.md is the user's own and stays; no compaction makes a workflow of it, and no word of it is kept."""
    memory, aside = project.root / "CLAUDE.local.md", project.root.parent / "aside"
    memory.write_text(TELLING, "utf-8")
    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    there = Workspace.open(project.root)
    (workflow,) = registry.all_found(there).workflows
    there.close()
    holdfast("done", "--all", workflow.title, root=project.root)

    holdfast("forget", "--workflow", workflow.title, "--yes", root=project.root)

    memory.rename(aside)
    assert found(project, "one") == {}
    aside.rename(memory)
    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    there = Workspace.open(project.root)
    assert registry.all_found(there).workflows == ()
    there.close()


def test_of_two_hybrid_workflows_in_one_file_only_the_one_that_is_named_goes(project: HoldfastProject) -> None:
    """They share the path and their generations' numbers, and the file beside it."""
    for whose in NUMBERS:
        title, remind = canary("Title", whose), canary("Reminder", whose)
        arguments = ("--format", "hybrid", "--phase", canary("Phase", whose), "--remind", remind, "--replace")
        holdfast("start", title, *arguments, root=project.root)
    holdfast("forget", "--workflow", canary("Title", "one"), "--yes", root=project.root)

    assert found(project, "one") == {}
    there = Workspace.open(project.root)
    path = project.root / ".claude/state/workflow.json"
    kept = [contents.content(there, path, each.number) or b"" for each in contents.list_versions(there, path)]
    there.close()
    assert [json.loads(content)["task"] for content in kept] == [canary("Title", "two")]


def held(planted: HoldfastProject) -> dict[Path, object]:
    """Return what each file holds: of a ledger its rows, which may move from its log into the file."""
    found: dict[Path, object] = {}
    for path in files(planted):
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as ledger:
                found[path] = list(ledger.iterdump())
        elif not path.name.endswith(("-wal", "-shm")):
            found[path] = path.read_bytes()
    return found


def test_a_dry_run_says_it_and_changes_nothing(planted: HoldfastProject) -> None:
    """What it counts is what goes."""
    before = held(planted)
    counts = table_counts(planted)
    said = holdfast("forget", "--everything", "--dry-run", root=planted.root)

    assert held(planted) == before
    assert table_counts(planted) == counts
    assert f"{sum(counts.values())} ledger rows" in said.out


def test_it_asks_first(planted: HoldfastProject) -> None:
    """Anything but yes leaves all as it is."""
    counts = table_counts(planted)
    for answer in ("n\n", ""):
        with mock.patch.object(sys, "stdin", io.StringIO(answer)):
            holdfast("forget", "--everything", root=planted.root, code=1)
        assert table_counts(planted) == counts
    with mock.patch.object(sys, "stdin", io.StringIO("y\n")):
        assert "Forgotten." in holdfast("forget", "--everything", root=planted.root).out
    assert found(planted, "one") == {}


@pytest.mark.parametrize("arguments", [(), ("--everything", "--session", ME), ("--workflow", "x", "--everything")])
def test_exactly_one_thing_is_forgotten_at_a_time(project: HoldfastProject, arguments: tuple[str, ...]) -> None:
    """A guess would be the wrong one."""
    assert "choose what to forget" in holdfast("forget", *arguments, "--yes", root=project.root, code=2).err


def test_every_table_is_known_to_every_scope(project: HoldfastProject) -> None:
    """A table that somebody adds has a session, a workflow, a file or an id by which it goes."""
    assert len(COLUMNS) == 15
    for name, columns in COLUMNS.items():
        assert {"session", "conversation", "workflow", "path", "name", "id"} & set(columns), name
        whose = {each for each in columns if "session" in each or "conversation" in each}
        assert whose - {*erasure.SESSIONS} == ({"session"} if name == "conversations" else set()), name


def test_other_projects_stay(project: HoldfastProject, tmp_path: Path) -> None:
    """The log is shared; of another project no line goes."""
    plant(project, "one", ME)
    log.set_project(tmp_path)
    log.write("warning", "of another project")
    log.set_project(project.root)
    holdfast("forget", "--everything", "--yes", root=project.root)
    whole = "".join(path.read_text("utf-8") for path in paths.log_file().parent.iterdir())
    assert "of another project" in whole
    assert not [line for line in whole.splitlines() if log.concerns(line, project.root)]


def test_a_reader_that_stays_is_said(planted: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's read of the ledger keeps the words in its write-ahead log: then it is not called done."""
    from holdfast.memory import store

    monkeypatch.setattr(store, "_CHECKPOINT_TIMEOUT_S", 0.2)
    idle = Workspace.open(planted.root)
    # While the process of a session has the ledger open, closing another connection cleans nothing.
    assert ME in {each.id for each in conversations.every(idle)}
    with closing(sqlite3.connect(Workspace.open(planted.root).ledger_file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM conversations").fetchone()
        said = holdfast("forget", "--everything", "--yes", root=planted.root, code=1)
        assert "run this again when no session is busy" in said.err
    assert found(planted, "one") != {}
    assert "nothing of that kind" in holdfast("forget", "--everything", "--yes", root=planted.root).out
    assert found(planted, "one") == {}
    idle.close()


def test_a_ledger_that_cannot_be_used_is_not_called_forgotten(planted: HoldfastProject) -> None:
    """Nothing is claimed that did not happen."""
    file = Workspace.open(planted.root).ledger_file
    for beside in file.parent.glob(f"{file.name}-*"):
        beside.unlink()
    file.write_bytes(b"no database" * 100)
    said = holdfast("forget", "--session", ME, "--yes", root=planted.root, code=1)
    assert "nothing was forgotten" in said.err
    assert (recordings.folder(Workspace.open(planted.root)) / f"{ME}.jsonl").exists()


def test_ledgers_that_nothing_reads_go_too(planted: HoldfastProject) -> None:
    """One that was damaged and set aside, and that of an earlier Holdfast: nobody can take a part out of them."""
    there = Workspace.open(planted.root)
    names = (f"{there.ledger_file.name}.corrupt-20260301_090000", f"{there.key}.db", f"{there.key}.db-wal")
    unread = [there.ledger_file.with_name(name) for name in names]
    for file in unread:
        file.write_text(canary("Title", "one"), "utf-8")
    holdfast("forget", "--session", ME, "--yes", root=planted.root)
    assert not [file for file in unread if file.exists()]


def test_what_handlers_print_goes_with_its_session(project: HoldfastProject) -> None:
    """The line of the log says whose event it was."""
    from holdfast import events
    from holdfast.plugins import discovery, loader

    (paths.ensure_private(paths.user_handlers()) / "loud.py").write_text(
        "from holdfast import hookimpl\n\n@hookimpl\ndef on_stop(event):\n    pass\n", "utf-8"
    )
    there = Workspace.open(project.root)
    event = events.parse({"hook_event_name": "Stop", "session_id": ME})
    plan = [
        call for call in loader.plan(claude, discovery.find(claude, there), "Stop", None) if call.file.name == "loud"
    ]
    word, secret = canary("Printed", "one"), "sk-ant-api03-abcdefghijklmnop"
    printed = {plan[0].label: bytearray(f"{word:<75}{secret}".encode())}
    notices.record("Stop", notices.of_answers(plan, [], printed), session=event.session_id)
    assert any(word in line and ME in line and secret[:5] not in line for line in log.tail(5))
    there.close()
    conversations.note_event(there := Workspace.open(project.root), ME)
    there.close()
    holdfast("forget", "--session", ME, "--yes", root=project.root)
    assert not [path for path in files(project) if any(form in path.read_bytes() for form in spellings(word))]


@pytest.mark.parametrize("named", [ME, OTHER])
def test_whichever_of_its_ids_names_a_session_all_go(project: HoldfastProject, named: str) -> None:
    """The client changed the id at a compaction, and each stands in the log."""
    there = Workspace.open(project.root)
    conversations.note_event(there, ME)
    conversations.adopt(there, ME, OTHER)
    there.close()
    for each in (ME, OTHER):
        log.write("warning", "something happened", session=each)
    holdfast("forget", "--session", named, "--yes", root=project.root)
    assert not [path for path in files(project) if any(each.encode() in path.read_bytes() for each in (ME, OTHER))]


@pytest.mark.parametrize(("named", "stays"), [(ME, OTHER), (OTHER, ME)])
def test_a_session_that_was_resumed_beside_its_later_self_goes_alone(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch, named: str, stays: str
) -> None:
    """A conversation goes on under a second id; elsewhere the first id has begun another one."""
    root, project.session = project.root, ME
    monkeypatch.setattr(claude, "process", lambda environ: str(os.getppid()))
    begin(project, "startup")
    holdfast("start", "Payments", "--phase", "One", root=root, session=ME)
    compacted(project, OTHER)
    project.session = ME
    monkeypatch.setattr(claude, "process", lambda environ: str(os.getpid()))
    begin(project, "resume")
    holdfast("start", "Invoices", "--phase", "One", root=root, session=ME)
    logs = {each: holdfast("log", "--session", each, "--json", root=root).out for each in (ME, OTHER)}
    for each, text in logs.items():
        assert {row["session"] for row in json.loads(text) if row["kind"] == "session"} == {each}

    holdfast("forget", "--session", named, "--yes", root=root)

    left = json.loads(holdfast("status", "--json", root=root).out)
    assert [each["id"] for each in left["sessions"]] == [stays]
    assert {each["title"]: each["owner"] for each in left["workflows"]} == {
        "Payments": OTHER if stays == OTHER else None,
        "Invoices": ME if stays == ME else None,
    }
    assert holdfast("log", "--session", stays, "--json", root=root).out == logs[stays]


def test_a_session_that_claimed_a_compaction_and_was_killed_goes_too(project: HoldfastProject) -> None:
    """The compaction is another session's until the one that claimed it goes on as that."""
    there = Workspace.open(project.root)
    compactions.announce(there, ME, "auto", [])
    compactions.claim(there, OTHER, known=False)
    holdfast("forget", "--session", OTHER, "--yes", root=project.root)
    assert compactions.recent(there) == []
    there.close()


def test_files_of_others_in_our_folder_stay(project: HoldfastProject) -> None:
    """Only what we wrote goes, and what is left there is said."""
    holdfast("start", "Book", "--phase", "Draft", root=project.root, session=ME)
    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    project.fire("SessionStart", "SessionStart-compact", session_id=ME)
    holdfast("report", root=project.root)
    folder = paths.sidecar_dir(project.root)
    ours = {each.name for each in folder.iterdir()}
    assert ours == {".gitignore", "report.html", "compaction-book.md"}
    (folder / f".report.html.1.{'0' * 12}.tmp").write_text("half", "utf-8")
    theirs = {"notes.md": "mine", "page.html": "<p>mine", "x.tmp": "mine", "data.json": "{}"}
    for name, text in theirs.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "linked.md").symlink_to(folder / "compaction-book.md")

    said = holdfast("forget", "--everything", "--yes", root=project.root).out

    left = {each.name: each.read_text("utf-8") for each in folder.iterdir() if not each.is_symlink()}
    assert left == theirs
    gone, _, stays = said.partition("These are your own and stay:")
    assert [name in stays and name not in gone for name in [*theirs, "linked.md"]] == [True] * 5
    assert [name in gone for name in ours] == [True] * 3


@pytest.mark.parametrize("answer", ["y", "n"])
def test_terminal_is_asked_whether_to_delete_workflows_too(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    holdfast("start", "Book", "--phase", "Draft", root=project.root)
    (state,) = project.root.glob("untracked/workflow-state/*/state-*.json")
    assert f"{state.relative_to(project.root)}\n" in holdfast("uninstall", root=project.root).out
    terminal = io.StringIO(f"y\n{answer}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)

    said = holdfast("forget", "--everything", root=project.root).out

    assert "Delete your workflows here too (1 file)?" in said
    assert state.exists() == (answer == "n")
    assert (project.root / "untracked").exists() == (answer == "n")
    assert ("offers to delete them" in holdfast("uninstall", root=project.root).out) == (answer == "n")


def test_workflows_are_offered_where_nothing_is_remembered_and_other_programs_files_never(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("start", "Book", "--phase", "Draft", root=project.root)
    theirs = '{"tool": "another"}'
    project.write({".claude/agent-state.json": theirs, ".claude/state/workflow.json": theirs})
    holdfast("forget", "--everything", "--yes", root=project.root)
    said = holdfast("uninstall", root=project.root).out.partition("Your workflows in this project stay.")[2]
    assert "untracked/" in said
    assert ".claude/" not in said
    terminal = io.StringIO("y\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)

    assert "(1 file)?" in holdfast("forget", "--everything", root=project.root).out

    left = [path.relative_to(project.root).as_posix() for path in project.root.rglob("*") if path.is_file()]
    assert sorted(left) == [".claude/agent-state.json", ".claude/state/workflow.json"]


@pytest.mark.parametrize("known", [True, False])
def test_the_cache_goes_too(project: HoldfastProject, known: bool) -> None:
    """The names of the project's own handlers lie there; also where there is nothing else to forget."""
    from holdfast.plugins import discovery

    word = canary("Handler", "one")
    paths.ensure_private(paths.state_dir())
    project.write({f".claude/handlers/{word}.py": "from holdfast import *\n@hookimpl\ndef on_stop(event): ...\n"})
    there = Workspace.open(project.root)
    discovery.find(claude, there)
    if known:
        conversations.note_event(there, ME)
    there.close()
    assert [file for file in files(project) if file.name.endswith(".index")]
    holdfast("forget", "--everything", "--dry-run", root=project.root)
    assert [file for file in files(project) if file.name.endswith(".index")]
    holdfast("forget", "--everything", "--yes", root=project.root)
    assert not [file for file in files(project) if any(form in file.read_bytes() for form in spellings(word))]


def test_worktrees_of_one_project_are_forgotten_together(
    holdfast_project: Callable[..., HoldfastProject], project: HoldfastProject, tmp_path: Path
) -> None:
    """They share the ledger; each has sidecars of its own."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(project.root)]
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tmp_path / "other")],
    ):
        subprocess.run([*git, *words], check=True, capture_output=True)
    from holdfast.testing import HoldfastProject as Made

    (tmp_path / "other" / ".claude").mkdir()
    other = Made(tmp_path / "other")
    plant(other, "two", OTHER)
    assert set(found(other, "two")) == {*KINDS, "Transcript"}
    holdfast("forget", "--everything", "--yes", root=project.root)
    assert found(other, "two") == {}


def test_words_that_were_dropped_long_before_go_too(planted: HoldfastProject) -> None:
    """What was deleted or replaced in the ledger without being overwritten lies in its free pages."""
    there = Workspace.open(planted.root)
    there.ledger.rows("PRAGMA secure_delete = OFF")

    word = canary("Dropped", "long ago")
    there.ledger.run("CREATE TABLE gone (said TEXT)")
    for number in range(200):
        there.ledger.run("INSERT INTO gone VALUES (?)", f"{word} {number} {'x' * 500}")
    there.ledger.run("DROP TABLE gone")
    there.close()
    assert [path for path in files(planted) if word.encode() in path.read_bytes()]  # the ledger's, or its log's
    holdfast("forget", "--session", ME, "--yes", root=planted.root)
    assert not [path for path in files(planted) if word.encode() in path.read_bytes()]


def test_no_row_names_a_workflow_that_was_forgotten(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor an agent of it, whatever ids its session has had: `/clear` and a compaction changed them."""
    monkeypatch.setattr(claude, "process", lambda environ: str(os.getpid()))
    plant(project, "one", ME)
    begin = {"--format": "hybrid", "--phase": canary("Phase", "two")}
    more = [each for pair in begin.items() for each in pair]
    holdfast("start", canary("Title", "two"), *more, root=project.root, session=ME)
    agents = [
        Agent(project, canary("Phase", "two"), "builder", f"{canary('Prompt', 'two')} {number}", number=number)
        for number in (7, 8)
    ]
    for agent in agents:
        agent.about_to(session_id=ME)
        agent.launched(session_id=ME)
        agent.started()
    agents[0].stopped(canary("Words", "two"))
    project.fire("SessionEnd", "SessionEnd-clear", session_id=ME)
    project.session = OTHER
    project.fire("SessionStart", "SessionStart-clear")
    agents[1].about_to(session_id=OTHER)
    agents[1].notified(words=canary("Words", "two"))
    project.fire("PreCompact", "PreCompact-auto")
    project.session = THIRD
    project.fire("SessionStart", "SessionStart-compact")
    names = {canary(kind, "two") for kind in KINDS} | {each for agent in agents for each in (agent.run, agent.use)}
    there = Workspace.open(project.root)
    (workflow,) = (each for each in registry.all_found(there).workflows if each.title == canary("Title", "two"))
    names |= {workflow.id, workflow.key}
    messages.owe(there, THIRD, messages.UNSAVED, f"{workflow.title!r} was not saved")

    def left() -> dict[str, set[str]]:
        found = {}
        for table in COLUMNS:
            rows = [
                json.dumps(row, ensure_ascii=False, default=str) for row in there.ledger.rows(f"SELECT * FROM {table}")
            ]
            found[table] = {name for name in names for row in rows if name in row}
        return {table: words for table, words in found.items() if words}

    holdfast("forget", "--workflow", workflow.title, "--yes", root=project.root)
    assert left() == {}
