"""Processes are killed, and disks fail, at a write, a rename or a removal: files are whole, and the work goes on."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.contract.traces import COMMAND, PLAN, TITLE, Program
from tests.torture import scratch
from tests.torture.desk import (
    FORMATS,
    INSTALL,
    SETTINGS,
    UNINSTALL,
    Desk,
    called,
    differences,
    launched,
    long_ago,
    returned,
    start,
    stopped,
)
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = scratch.ON_LINUX

# --- a workflow's files -------------------------------------------------------------------------------------------


@dataclass
class Deed:
    """What is killed: a command or an event, what comes before it, and whether it is sent once more afterwards."""

    act: Callable[[Desk, str], Program]
    before: Callable[[Desk, str], list[Program]] = lambda desk, name: [start(desk, name)]
    again: bool = True
    after: Callable[[Desk], Program] | None = None

    def go_on(self, desk: Desk) -> dict[str, str]:
        """Do what comes next, and go on with it; return the files then."""
        desk.play(*([self.after(desk)] if self.after else []), desk.event("UserPromptSubmit"), minute=40)
        refused = desk.strike(desk.command("next", TITLE), 60, 0)["err"]
        if named := re.search(r"`holdfast ([^`]+)` continues it", refused):
            for words in (named[1].split(), ["next", TITLE]):
                desk.strike(desk.command(*words), 60, 0)
        desk.strike(desk.command("update", TITLE, "--remind", "Go on"), 60, 0)
        return desk.lasting()


DEEDS = {
    "start": Deed(start, lambda desk, name: []),
    "next": Deed(lambda desk, name: desk.command("next")),
    "done": Deed(lambda desk, name: desk.command("done", PLAN)),
    "update": Deed(lambda desk, name: desk.command("update", "--remind", "Small commits")),
    "cancel": Deed(lambda desk, name: desk.command("cancel", TITLE, "--reason", "Bought")),
    "save": Deed(lambda desk, name: desk.event("PreCompact-auto"), again=False),
    "restore": Deed(
        lambda desk, name: desk.event("SessionStart-compact"),
        lambda desk, name: [start(desk, name), desk.event("PreCompact-auto")],
    ),
    "an agent's last event": Deed(
        lambda desk, name: stopped(desk),
        lambda desk, name: [start(desk, name), *launched(desk)],
        again=False,  # the client sends no event twice
        after=returned,
    ),
    "an agent's result": Deed(
        lambda desk, name: returned(desk),
        lambda desk, name: [start(desk, name), *launched(desk), stopped(desk)],
        again=False,
    ),
}
WAYS: dict[str, dict[str, str]] = {
    "all are killed": {"TROUBLE_ALL": "1"},
    "the disk is full": {"TROUBLE_ACT": str(errno.ENOSPC)},
    "one is killed": {},
    "nothing may be written": {"TROUBLE_ACT": str(errno.EACCES)},
    "the disk fails": {"TROUBLE_ACT": str(errno.EIO)},
}


def spread(count: int, most: int | None, first: int) -> list[int]:
    """Return numbers from 1 to a count: all, or about so many, beginning at different ones."""
    stride = 1 if most is None else max(count // most, 1)
    return list(range(1 + first % stride, count + 1, stride))


@pytest.mark.slow
@pytest.mark.parametrize("instants", [2, pytest.param(None, marks=pytest.mark.nightly)], ids=["some", "all"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_workflow_survives_a_kill_or_a_failing_disk_at_any_write(desk: Desk, name: str, instants: int | None) -> None:
    """Its files are old or new, the next event or the command once more goes on, and ends where it would have."""
    desk.play(desk.command("install"), desk.event("SessionStart-startup"), minute=0)
    desk.keep("fresh")
    found: list[str] = []
    for at, (title, deed) in enumerate(DEEDS.items()):
        if FORMATS[name] or "agent" not in title:
            found += [f"{title}: {each}" for each in tried(desk, name, deed, instants, at)]
    report(found)


def tried(desk: Desk, name: str, deed: Deed, instants: int | None, first: int) -> Iterator[str]:
    """Do a deed with trouble at its changes one after the other; yield what is wrong then."""
    desk.reset("fresh")
    desk.play(*deed.before(desk, name), minute=10)
    desk.keep("before")
    old = desk.lasting()
    once = deed.act(desk, name)
    desk.strike(once, 20, 0)
    count, new = desk.counted, desk.lasting()
    wanted = deed.go_on(desk)
    for number, stop in enumerate(spread(count, instants, first)):
        way = list(WAYS)[(number + first) % len(WAYS)]
        desk.reset("before")
        once = deed.act(desk, name)
        answer = desk.strike(once, 20, stop, **WAYS[way])
        where = f"{way} at {stop} of {count}"
        yield from (f"{where}: {each}" for each in broken(desk, old, new, wanted))
        if "TROUBLE_ACT" in WAYS[way] and bad_end(answer, event=once.argv[0] != COMMAND):
            yield f"{where}: it ends badly: {answer}"
        left = desk.temporary()
        if left and way == "the disk is full":
            yield f"{where}: left behind: {left}"
        long_ago(*left)
        if deed.again:
            answer = desk.strike(once, 20, 0)
            if "Traceback" in answer["err"]:
                yield f"{where}: once more: {answer}"
        yield from (f"{where}: in the end {each}" for each in differences(wanted, deed.go_on(desk)) if is_lasting(each))
        if desk.temporary():
            desk.strike(desk.command("doctor", "--fix"), 70, 0)
            yield from (f"{where}: for ever: {path}" for path in desk.temporary())


def is_lasting(difference: str) -> bool:
    """Return whether a difference is one of state: a full version follows from what was printed, and to whom."""
    return not difference.startswith(".claude/holdfast/")


def bad_end(answer: dict[str, Any], *, event: bool) -> bool:
    """Return whether a program that couldn't write ended otherwise than well, or, a command, with a reason."""
    if event:
        return bool(answer["code"] or answer["err"])
    return answer["code"] not in (0, 1) or "Traceback" in answer["err"] or (answer["code"] and not answer["err"])


def broken(desk: Desk, *known: dict[str, str]) -> Iterator[str]:
    """Yield which files are neither whole JSON nor as they are without trouble, and what the ledger lacks."""
    for name, text in desk.lasting().items():
        if any(each.get(name) == text for each in known) or (name.endswith(".md") and text.endswith("\n")):
            continue
        try:
            json.loads(desk.files_seen[name])
        except ValueError:
            yield f"{name} is neither old nor new: {text[-300:]!r}"
    for file in (desk.home / ".local/state/holdfast/projects").glob("*.db"):
        with closing(sqlite3.connect(file)) as ledger:
            said = ledger.execute("PRAGMA integrity_check").fetchall()
            if said != [("ok",)]:
                yield f"the ledger: {said}"


def lost(desk: Desk, report: str) -> list[Program]:
    """Return the events of an agent's end that nobody can store; the transcript has what they say."""
    call = called(1, PLAN)
    if report == "it fails":
        block = {"tool_use_id": call["tool_use_id"], "type": "tool_result", "content": "x", "is_error": True}
        error = "Error: API Error: 529 Overloaded."
        desk.note({"message": {"role": "user", "content": [block]}, "toolUseResult": error})
        return [desk.event("PostToolUseFailure-Bash", **call, tool_name="Agent", error=error)]
    return [stopped(desk), returned(desk)] if "started" in report else [returned(desk)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, agents in FORMATS.items() if agents])
def test_what_an_agent_reports_while_nothing_can_be_written_counts_later(desk: Desk, name: str) -> None:
    """It is read from the transcript at the next event of the main conversation."""
    desk.play(desk.command("install"), desk.event("SessionStart-startup"), start(desk, name), minute=0)
    desk.keep("fresh")
    found = []
    for title in ("it ends", "it fails", "it started, and ends"):
        outcomes = []
        for way in ({}, {"TROUBLE_ACT": str(errno.ENOSPC)}, {"TROUBLE_ACT": str(errno.EACCES)}):
            desk.reset("fresh")
            desk.play(*launched(desk)[: 2 if "started" in title else 1], minute=10)
            events = [*lost(desk, title), *([desk.event("UserPromptSubmit")] if way else [])]
            ends = [desk.strike(each, 20, bool(way), **way) for each in events]
            found += [f"{title}, {way}: {each}" for each in ends if each["code"] or each["err"]]
            desk.play(desk.event("PreToolUse-Agent-background"), desk.event("UserPromptSubmit"), minute=40)
            outcomes.append(desk.lasting())
            found += [f"{title}, {way}: {each}" for each in differences(outcomes[0], outcomes[-1])]
    report(found)


# --- an installation ----------------------------------------------------------------------------------------------

CHANGES = {
    "install": ("without", INSTALL),
    "install again": ("with", INSTALL),
    "uninstall": ("with", UNINSTALL),
    "switch a handler off": ("with", ("handlers", "off", "save_workflow")),
}


@pytest.mark.slow
@pytest.mark.parametrize("instants", [3, pytest.param(None, marks=pytest.mark.nightly)], ids=["some", "all"])
def test_an_installation_survives_a_kill_or_a_failing_disk_at_any_write(desk: Desk, instants: int | None) -> None:
    """Settings are whole and yours stay, what is registered answers, and the same command once more finishes it."""
    settings = desk.with_settings()
    found = []
    for at, (title, (place, words)) in enumerate(CHANGES.items()):
        desk.reset(place)
        desk.strike(desk.command(*words), 20, 0)
        count, wanted = desk.counted, desk.installed()
        for number, stop in enumerate(spread(count, instants, at)):
            way = list(WAYS)[(number + at) % len(WAYS)]
            where = f"{title}: {way} at {stop} of {count}"
            desk.reset(place)
            answer = desk.strike(desk.command(*words), 20, stop, **WAYS[way])
            if "TROUBLE_ACT" in WAYS[way] and bad_end(answer, event=False):
                found.append(f"{where}: it ends badly: {answer}")
            found += [f"{where}: {each}" for each in unusable(desk, settings)]
            long_ago(*desk.temporary())
            again = desk.strike(desk.command(*words), 30, 0)
            found += [f"{where}: once more, {again}: {each}" for each in differences(wanted, desk.installed())]
            if desk.temporary():
                desk.strike(desk.command("doctor", "--fix"), 70, 0)
                # Nobody sweeps the folder of the settings' backups.
                found += [f"{where}: for ever: {each}" for each in desk.temporary() if each.parent.name != "backups"]
            desk.strike(desk.command(*UNINSTALL), 80, 0)
            if settings.read_text() != SETTINGS:
                found.append(f"{where}: uninstalled, there is left {settings.read_text()}")
    report(found)


def unusable(desk: Desk, settings: Path) -> Iterator[str]:
    """Yield what is wrong with the settings: not whole, without yours, or with a command that doesn't answer."""
    text = settings.read_text()
    try:
        hooks = json.loads(text)["hooks"]
    except (ValueError, KeyError):
        yield f"settings: {text}"
        return
    if "say done" not in text or '"model": "opus"' not in text:
        yield f"yours is lost: {text}"
    for group in hooks.get("PreCompact", []):
        program = group["hooks"][0]["command"]
        payload = processes.encoded(json.loads(desk.event("PreCompact-auto").stdin))
        ended = processes.run(["/bin/sh", "-c", program], payload, desk.environ() | {"LD_PRELOAD": ""}, desk.root)
        if ended.exit_code or ended.stderr:
            yield f"{program}: {ended}"


# --- a folder that can't be made, a ledger that can't be used ------------------------------------------------------

FOLDERS = {
    "start Book --format wfs": ".workflow",
    "start Book": "untracked/workflow-state",
    "handlers new guard --event Stop --in-project": ".claude/handlers",
}


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(desk: Desk) -> None:
    """Without the error's number."""
    found = []
    for words, folder in FOLDERS.items():
        answer = desk.strike(
            desk.command(*words.split()), 10, 1, TROUBLE_ACT=str(errno.EACCES), TROUBLE_BELOW=f"{desk.root}/"
        )
        said = answer["err"].replace("can't be created: ", "")
        if answer["code"] != 1 or f"{folder}: permission denied" not in said:
            found.append(f"{words}: {answer}")
    report(found)


def altered(*statements: str) -> Callable[[Path], object]:
    """Return what executes statements in a database."""

    def alter(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as raw:
            for each in statements:
                raw.execute(each).fetchall()

    return alter


def spoiled(file: Path) -> None:
    """Break all pages but the first, which only a later query meets."""
    altered("PRAGMA wal_checkpoint")(file)
    raw = file.read_bytes()
    file.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))


def instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return what puts something else in a file's place."""

    def put(file: Path) -> None:
        file.unlink()
        make(file)

    return put


LEDGERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "another program's": (altered("PRAGMA application_id = 77"), "(it is another program's database)"),
    "cut": (lambda file: os.truncate(file, 5_000), "the ledger cannot be used ("),
    "garbage": (lambda file: file.write_bytes(b"nothing of SQLite's" * 1_000), "(file is not a database)"),
    "spoiled": (spoiled, "(database disk image is malformed)"),
    "a folder": (instead(Path.mkdir), "(it is not a regular file)"),
    "a pipe": (instead(os.mkfifo), "(it is not a regular file)"),
    "locked": (lambda file: None, "another process has locked the ledger"),
}
RECORDS = ("log", "export", "status --all", "forget --everything --yes", "forget --everything --dry-run")
VIEWS = ("status", "status -v", "status --why", "claim", "next", "report -")
FEW = ("log", "status")
"""What stands for all commands where another ledger shows them already."""


@pytest.mark.slow
def test_events_and_commands_work_from_the_files_without_a_usable_ledger(desk: Desk) -> None:
    """Each says so once, and what lies there stays as it is."""
    desk.play(start(desk, "hybrid"), desk.event("SessionStart-startup"), desk.event("PreCompact-auto"), minute=0)
    (file,) = (desk.home / ".local/state/holdfast/projects").glob("*.db")
    desk.keep("before")
    found = []
    for title, (spoil, sentence) in LEDGERS.items():
        desk.reset("before")
        for suffix in ("-wal", "-shm"):  # else SQLite moves what its log has into the file, as far as it can
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        spoil(file)
        before = file.read_bytes() if file.is_file() else b""
        with closing(sqlite3.connect(file if title == "locked" else ":memory:", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            for name in ("SessionStart-compact", "PreCompact-auto", "PostToolUse-Agent", "SessionEnd-other"):
                answer = desk.strike(desk.event(name), 20, 0)
                told = name != "SessionStart-compact" or (TITLE in answer["out"] and sentence in answer["out"])
                if answer["code"] or answer["err"] or not told:
                    found.append(f"{title}: {name}: {answer}")
            few = ("forget --everything --yes",) if title == "locked" else FEW
            for words in (*RECORDS, *VIEWS) if title in ("garbage", "spoiled") else few:
                answer = desk.strike(desk.command(*words.split()), 30, 0)
                said = (
                    answer["err"].count(sentence) == 1
                    if title != "locked"
                    else "nothing was forgotten" in answer["err"]
                )
                if answer["code"] != (words in RECORDS) or not said or (words in VIEWS) != bool(answer["out"]):
                    found.append(f"{title}: {words}: {answer}")
        if title != "locked" and (file.read_bytes() if file.is_file() else b"") != before:
            found.append(f"{title}: it was changed")
        if "Traceback" in desk.files().get("~/.local/state/holdfast/log/holdfast.log", ""):
            found.append(f"{title}: {desk.files()['~/.local/state/holdfast/log/holdfast.log']}")
    report(found)
