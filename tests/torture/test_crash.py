"""Processes are killed, and disks fail, at a write, a rename or a removal: files are whole, and the work goes on."""

from __future__ import annotations

import errno
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.traces import COMMAND, PLAN, TITLE, Program
from tests.torture import scratch
from tests.torture.desk import FORMATS, Desk, differences, launched, long_ago, returned, start, stopped
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
        for words in (("next", TITLE), ("update", TITLE, "--remind", "Go on")):
            desk.strike(desk.command(*words), 60, 0)
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
@pytest.mark.parametrize("instants", [3, pytest.param(None, marks=pytest.mark.nightly)], ids=["some", "all"])
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
        yield from (f"{where}: in the end {each}" for each in differences(wanted, deed.go_on(desk)))
        if desk.temporary():
            desk.strike(desk.command("doctor", "--fix"), 70, 0)
            yield from (f"{where}: for ever: {path}" for path in desk.temporary())


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
