"""A warm server works from the files while the ledger is locked or of a later version."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from holdfast.memory import SCHEMA_VERSION
from tests import processes, warmth
from tests.processes import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.processes import Ended, Place
    from tests.warmth import Warm

EVENTS = (
    *("SessionStart-startup", "SessionStart-resume", "SessionStart-clear", "SessionStart-fork", "SessionStart-compact"),
    *("UserPromptSubmit", "PreCompact-auto", "PreCompact-manual", "PreToolUse-Agent", "PostToolUse-Agent"),
    *("SubagentStart", "SubagentStop", "Stop", "PostToolUse-Read", "SessionEnd-other"),
)
HOLD = """
import sqlite3, sys
ledger = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
for statement in sys.argv[2].split(";"):
    ledger.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.read()
"""


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


def counted(place: Place, event: str) -> int:
    """Return of how many replies to an event it is kept what they cost, which happens after the reply."""
    query = "SELECT max(replies) FROM costs WHERE event = ?"
    with closing(sqlite3.connect(ledger(place))) as raw, suppress(sqlite3.OperationalError):  # no count, no table yet
        return int(raw.execute(query, [event]).fetchone()[0] or 0)
    return 0


@contextmanager
def held(place: Place) -> Iterator[None]:
    """Have another process hold a lock on the ledger."""
    script = [sys.executable, "-c", HOLD, str(ledger(place)), "BEGIN IMMEDIATE"]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            process.kill()


def answers(place: Place, name: str, sentence: str, fire: Callable[[Place, str], Ended]) -> None:
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
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")
def test_a_warm_event_is_answered_while_the_ledger_is_locked(fresh: Warm) -> None:
    """By the server's children, each event as without it."""
    warm = fresh
    shipped(warm)
    warm.warm_up()
    assert "warm" in warm.advice()
    warm.until(lambda: counted(warm, "PreToolUse") == 2)  # else its process finds the lock and says so among the first
    with held(warm):
        for name in EVENTS[:-1]:  # a busy machine has no time to spare for SessionEnd
            sentence = "another process has locked the ledger"
            answers(warm, name, sentence, lambda place, name: place.fire(place.payload(name), name.partition("-")[0]))


def upgraded(folder: Path) -> Path:
    """Return the source folder of a copy of Holdfast whose ledgers have another schema."""
    source = folder / "src"
    shutil.copytree(processes.SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    warmth.change(source / "holdfast" / "memory" / "__init__.py", "SCHEMA_VERSION", str(SCHEMA_VERSION + 1))
    return source


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")
def test_an_old_server_goes_on_beside_a_newer_command(fresh: Warm, short_folder: Path) -> None:
    """Another schema begins another ledger, so neither writes into the other's."""
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

    def compactions() -> int:
        with closing(sqlite3.connect(file)) as raw:
            return int(raw.execute("SELECT count(*) FROM compactions").fetchone()[0])

    before = compactions()
    command(warm, "status", source=upgraded(short_folder))
    assert sorted(each.name for each in file.parent.glob("*.db")) == [
        file.name,
        file.name.replace(f"-{SCHEMA_VERSION}.", f"-{SCHEMA_VERSION + 1}."),
    ]
    assert "remembered" not in compact()
    assert compactions() == before + 1
