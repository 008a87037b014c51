"""Events and commands work from the files while the ledger is locked, of a later version or damaged."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.commands import options
from holdfast.ledger import schema
from tests import processes, warmth
from tests.commandline import holdfast
from tests.processes import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.processes import Ended, Place
    from tests.warmth import Warm

EVENTS = (
    *("SessionStart-startup", "SessionStart-resume", "SessionStart-clear", "SessionStart-fork", "SessionStart-compact"),
    *("UserPromptSubmit", "PreCompact-auto", "PreCompact-manual", "PreToolUse-Agent", "PostToolUse-Agent"),
    *("SubagentStart", "SubagentStop", "Stop", "PostToolUse-Read", "SessionEnd-other"),
)
MAIN_EVENTS = (
    "SessionStart-startup",
    "SessionStart-compact",
    "PreCompact-auto",
    "PostToolUse-Agent",
    "SessionEnd-other",
)
LOCKS = {
    "immediate": "BEGIN IMMEDIATE",
    "exclusive": "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE held (x)",
}
HOLD = """
import sqlite3, sys
ledger = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
for statement in sys.argv[2].split(";"):
    ledger.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.read()
"""
RECORDS = (["log"], ["cost"], ["export"], ["list", "--archive"])
VIEWS = (["status"], ["list"], ["show"], ["explain"], ["resume"], ["next"], ["done"], ["report", "-o", "-"])


FIRED = """
import site, sys, time
site.main()
sys.path.insert(0, sys.argv[1])
from holdfast.ledger import patience
class Clock:
    monotonic = staticmethod(time.monotonic)
    @staticmethod
    def sleep(seconds):
        with open(sys.argv[2], "a") as file:
            file.write("x")
        time.sleep(seconds)
patience.time = Clock
from holdfast import engine
engine.deadline = lambda event, limits, started, plan: started + 60
sys.exit(engine.main(None))
"""
"""Answers an event, with time for SessionEnd on a busy machine too, and notes each pause that is made for a lock."""


def shipped(place: Place) -> Place:
    """Switch the shipped handlers on, and let the test's session start a workflow, be there, and compact once."""
    limits = "[handlers]\ntimeout = 60\ndeadline = 60\n"  # a busy machine takes its time
    place.write(place.home / ".config" / "holdfast" / "holdfast.toml", limits)
    command(place, "start", "Bench", "--format", "hybrid", "--phase", "look @builder", "--phase", "write @tester")
    place.fire(place.payload("SessionStart-startup"))
    place.fire(place.payload("PreCompact-manual"))
    return place


def command(place: Place, *arguments: str, source: Path = processes.SOURCE) -> Ended:
    environ = place.environ(PYTHONPATH=str(source), CLAUDE_CODE_SESSION_ID=SESSION, CLAUDECODE=None)
    ended = processes.run([sys.executable, "-m", "holdfast", *arguments], b"", environ, place.root)
    assert "Traceback" not in ended.stderr
    return ended


def ledger(place: Place) -> Path:
    (file,) = (place.home / ".local" / "state" / "holdfast" / "projects").glob("*.db")
    return file


def contents(file: Path, names: str = "*") -> dict[str, bytes]:
    """Return what the ledger holds, and what lies beside it."""
    return {each.name: each.read_bytes() for each in file.parent.glob(file.name + names) if each.is_file()}


def counted(place: Place, event: str) -> int:
    """Return of how many replies to an event it is kept what they cost, which happens after the reply."""
    query = "SELECT count(DISTINCT reply) FROM costs WHERE event = ?"
    with closing(sqlite3.connect(ledger(place))) as raw, suppress(sqlite3.OperationalError):  # no count, no table yet
        return int(raw.execute(query, [event]).fetchone()[0])
    return 0


@contextmanager
def held(place: Place, lock: str) -> Iterator[None]:
    """Have another process hold a lock on the ledger."""
    script = [sys.executable, "-c", HOLD, str(ledger(place)), LOCKS[lock]]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of the test's own with a workflow and a ledger that knows of it."""
    return shipped(processes.make(tmp_path))


def fire(place: Place, name: str) -> Ended:
    """Answer an event without a server; all its pauses together must not be longer than a second."""
    pauses = place.write(place.home / "pauses", b"")
    script = [*processes.INTERPRETER, "-c", FIRED, str(processes.SOURCE), str(pauses)]
    ended = processes.run(script, processes.encoded(place.payload(name)), place.environ(), place.root)
    assert pauses.stat().st_size <= 1.0 / 0.005 + 1, name
    return ended


def answers(place: Place, name: str, sentence: str, fire: Callable[[Place, str], Ended] = fire) -> None:
    """Fire an event; assert that it is answered from the files, and that the log says once why."""
    before = place.log().count("\n")
    ended = fire(place, name)
    assert (ended.exit_code, ended.stderr) == (0, "")
    lines = place.log().splitlines()[before:]
    assert [line for line in lines if " error " in line or "took longer" in line] == []
    told = [line for line in lines if sentence in line]
    assert len(told) == (0 if name == "PostToolUse-Read" and not told else 1), "\n".join(lines)
    if name == "SessionStart-compact":
        assert "Bench" in ended.advice
        assert "WORKFLOW RESTORED" in ended.advice
        assert sentence in ended.reply["systemMessage"]
    elif name.startswith("PreCompact"):
        assert '"Bench"' in ended.stdout
    elif name.startswith("SessionStart"):
        assert sentence in ended.reply["systemMessage"]


@pytest.mark.slow
@pytest.mark.parametrize("lock", LOCKS)
def test_events_are_answered_while_the_ledger_is_locked(place: Place, lock: str) -> None:
    """From the files; all handlers of an event together, in however many processes, wait for a second at most."""
    with held(place, lock):
        for name in EVENTS:
            answers(place, name, "another process has locked the ledger")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")
def test_a_warm_event_is_answered_while_the_ledger_is_locked(fresh: Warm) -> None:
    """By the server's children, each event as without it."""
    warm = fresh
    shipped(warm)
    warm.warm_up()
    assert "warm" in warm.advice()
    warm.until(lambda: counted(warm, "PreToolUse") == 2)  # else its process finds the lock and says so among the first
    with held(warm, "immediate"):
        for name in EVENTS[:-1]:  # a busy machine has no time to spare for SessionEnd
            sentence = "another process has locked the ledger"
            answers(warm, name, sentence, lambda place, name: place.fire(place.payload(name), name.partition("-")[0]))


@pytest.mark.slow
def test_what_was_answered_without_the_ledger_is_remembered_again_later(place: Place) -> None:
    """Nothing of the lock stays behind."""
    with held(place, "immediate"):
        fire(place, "SessionEnd-other")
    fire(place, "SessionEnd-other")
    with closing(sqlite3.connect(ledger(place))) as raw:
        assert raw.execute("SELECT COUNT(*) FROM sessions WHERE ended_at IS NOT NULL").fetchone() == (1,)


ADDS = "ALTER TABLE seals ADD COLUMN place TEXT NOT NULL DEFAULT ''"
BREAKS = "ALTER TABLE generations ADD COLUMN place TEXT"  # rows are inserted there by position


def upgraded(folder: Path, *migrations: str, version: int) -> Path:
    """Return the source folder of a copy of Holdfast whose ledgers have more migrations, of one statement each."""
    source = folder / f"src{len(migrations)}"
    shutil.copytree(processes.SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    place, numbered = source / "holdfast" / "ledger", enumerate(migrations, schema.NEWEST + 1)
    sections = "".join(f"\n-- migration {number}: another.\n\n{each};\n" for number, each in numbered)
    log = f"\n-- {schema.LOG}: "
    sql = (place / "schema.sql").read_text()
    (place / "schema.sql").write_text(sql.replace(log, sections + log))
    warmth.change(place / "schema.py", "NEWEST", str(schema.NEWEST + len(migrations)))
    warmth.change(place / "schema.py", "VERSION", str(version))
    return source


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")
def test_an_old_server_goes_on_beside_a_newer_command(fresh: Warm, short_folder: Path) -> None:
    """After a migration that adds something it remembers what it did before; after another one it writes no more."""
    warm = fresh
    shipped(warm)
    warm.warm_up()
    pid, file = warm.pid, ledger(warm)

    def compact() -> str:
        warm.fire(warm.payload("PreCompact-manual"), "PreCompact")
        ended = warm.fire(warm.payload("SessionStart-compact"), "SessionStart")
        assert "Bench" in ended.advice
        assert warm.pid == pid
        return str(ended.reply.get("systemMessage", ""))

    def seals() -> tuple[int, int]:
        with closing(sqlite3.connect(file)) as raw:
            return (
                raw.execute("SELECT max(number) FROM migrations").fetchone()[0],
                raw.execute("SELECT count(*) FROM seals").fetchone()[0],
            )

    newest, later = schema.NEWEST + 1, schema.NEWEST + 2
    assert (
        "compaction announced"
        in command(warm, "log", source=upgraded(short_folder, ADDS, version=schema.VERSION)).stdout
    )
    assert seals() == (newest, 1)
    assert "remembered" not in compact()
    assert seals() == (newest, 2)

    command(warm, "log", source=upgraded(short_folder, ADDS, BREAKS, version=later))
    assert f"has schema version {later} and this Holdfast knows versions up to {schema.VERSION}" in compact()
    assert seals() == (later, 2)


def later(file: Path) -> str:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("ALTER TABLE sessions RENAME TO members")
        raw.execute("CREATE VIEW sessions AS SELECT 1 AS one")
        raw.execute("PRAGMA user_version = 99")
        raw.commit()
    return f"{file} has schema version 99 and this Holdfast knows versions up to 1"


def another_programs(file: Path) -> str:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("PRAGMA application_id = 77")
        raw.commit()
    return f"{file} is another program's SQLite database (application_id 0x0000004d)"


def cut(file: Path) -> str:
    file.write_bytes(file.read_bytes()[:5000])
    return f"{file}: the ledger cannot be used ("


def garbage(file: Path) -> str:
    file.write_bytes(b"nothing of SQLite's" * 1000)
    return f"{file}: the ledger cannot be used (file is not a database)"


def spoiled(file: Path) -> str:
    """Break all pages but the first, which only a later query meets."""
    with closing(sqlite3.connect(file)) as opened:
        opened.execute("PRAGMA wal_checkpoint")  # a cold event leaves its last pages in a log beside the file
    raw = file.read_bytes()
    file.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))
    return f"{file}: the ledger cannot be used (database disk image is malformed)"


def folder(file: Path) -> str:
    file.unlink()
    file.mkdir()
    return f"{file}: the ledger cannot be used (it is not a regular file)"


def pipe(file: Path) -> str:
    file.unlink()
    os.mkfifo(file)
    return f"{file}: the ledger cannot be used (it is not a regular file)"


BROKEN = [later, another_programs, cut, garbage, spoiled, folder, pipe]


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_events_are_answered_without_a_usable_ledger(place: Place, broken: Callable[[Path], str]) -> None:
    """And what lies there stays as it is."""
    file = ledger(place)
    sentence = broken(file)
    names = "*" if broken in (later, another_programs) else ""  # to read what is damaged, SQLite wants a log beside it
    before = contents(file, names)
    for name in MAIN_EVENTS:
        answers(place, name, sentence)
    assert contents(file, names) == before


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_commands_say_so_and_end_properly(
    place: Place, monkeypatch: pytest.MonkeyPatch, broken: Callable[[Path], str]
) -> None:
    """Those whose answer is in the ledger with 1, those that have the files with 0; forget claims nothing."""
    file = ledger(place)
    sentence = broken(file)
    names = "*" if broken in (later, another_programs) else ""  # to read what is damaged, SQLite wants a log beside it
    before = contents(file, names)
    warmth.move_in(place, monkeypatch)
    for arguments in RECORDS:
        said = holdfast(*arguments, root=place.root, code=1)
        assert (said.out, said.err.count(sentence)) == ("", 1), arguments
    for arguments in VIEWS:
        said = holdfast(*arguments, root=place.root, session=SESSION)
        assert "Bench" in said.out or arguments == ["done"]
        assert said.err.count(sentence) == 1, arguments
    for scope in (["--everything"], ["--session", SESSION], ["--before", "2000-01-01"]):
        for more in ("--yes", "--dry-run"):
            said = holdfast("forget", *scope, more, root=place.root, code=1)
            assert (said.out, said.err.count(sentence)) == ("", 1), scope
            assert "nothing was forgotten" in said.err
    assert contents(file, names) == before


@pytest.mark.slow
@pytest.mark.parametrize("broken", [later, another_programs])
def test_doctor_names_it_and_fixes_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, broken: Callable[[Path], str]
) -> None:
    """It is not damaged, and not ours to change."""
    file = ledger(place)
    sentence = broken(file)
    before = contents(file)
    warmth.move_in(place, monkeypatch)
    for arguments in (["doctor"], ["doctor", "--fix"]):
        said = holdfast(*arguments, root=place.root, code=1).out.replace("~/", f"{Path.home()}/")
        assert f"problem: {sentence}" in said
    assert contents(file) == before


@pytest.mark.slow
@pytest.mark.parametrize("lock", LOCKS)
def test_forget_claims_nothing_while_the_ledger_is_locked(
    place: Place, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    """It gives up with 1, and everything is there as before."""
    monkeypatch.setattr(options, "COMMAND_WAIT_S", 0.05)
    warmth.move_in(place, monkeypatch)
    report = place.write(".claude/holdfast/report.html", "told")
    with held(place, lock):
        said = holdfast("forget", "--everything", "--yes", root=place.root, code=1)
    assert "nothing was forgotten" in said.err
    assert "Forgotten" not in said.out
    assert report.exists()
    assert "compaction" in command(place, "log").stdout
