"""Agents, commands, sessions, installs and an editor at the same moment: nothing is lost, nothing is done twice."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.contract.traces import BUILD, MORNING, NOON, PLAN, TEST, Program
from tests.torture import scratch
from tests.torture.desk import FORMATS, INSTALL, UNINSTALL, Desk, differences, launched, returned, start, stopped
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, scratch.ON_LINUX]

THREE = (PLAN, BUILD, TEST)


@dataclass
class Row:
    """What happens before, what happens at once, in waves, and whether it needs a format that agents move."""

    before: Callable[[Desk, str], list[Program]]
    waves: list[Callable[[Desk, str], list[Program]]]
    agents: bool = False


def agents_at_work(desk: Desk, name: str) -> list[Program]:
    """Return what launches three agents."""
    launches = [launched(desk, number, title) for number, title in enumerate(THREE)]
    return [start(desk, name), *itertools.chain(*launches)]


def reminders(desk: Desk, *texts: str) -> list[Program]:
    """Return commands that remind of something."""
    return [desk.command("update", "--remind", text) for text in texts]


def go_on(desk: Desk, name: str) -> list[Program]:
    """Return the event that comes when all of it is over."""
    return [desk.event("UserPromptSubmit")]


ROWS = {
    "three agents end while commands and a compaction change the workflow": Row(
        agents_at_work,
        [
            lambda desk, name: [
                *(stopped(desk, number, title) for number, title in enumerate(THREE)),
                *reminders(desk, "One", "Two"),
                desk.event("PreCompact-auto"),
            ],
            lambda desk, name: [
                *(returned(desk, number, title) for number, title in enumerate(THREE)),
                *reminders(desk, "Three"),
            ],
            go_on,
        ],
        agents=True,
    ),
    "one end is reported many times": Row(
        lambda desk, name: [start(desk, name), *launched(desk)],
        [
            lambda desk, name: [*[stopped(desk)] * 3, *[returned(desk)] * 3],
            lambda desk, name: [*go_on(desk, name) * 3],
            go_on,
        ],
        agents=True,
    ),
    "one unit is completed many times": Row(
        lambda desk, name: [start(desk, name), desk.command("next")],
        [lambda desk, name: [desk.command("done", PLAN)] * 4, go_on],
    ),
    "many reminders": Row(
        lambda desk, name: [start(desk, name)],
        [lambda desk, name: reminders(desk, *(f"Mind {number}" for number in range(6))), go_on],
    ),
    "one workflow is started many times": Row(
        lambda desk, name: [],
        [lambda desk, name: [start(desk, name)] * 3, go_on],
    ),
    "two sessions have a workflow each": Row(
        lambda desk, name: [
            start(desk, name),
            desk.command("start", "Other", "--format", other(name), "--phase", "A", "--phase", "B", session=NOON),
        ],
        [
            lambda desk, name: [
                desk.command("done", PLAN),
                desk.command("done", "A", session=NOON),
                desk.command("update", "--remind", "Mine"),
                desk.command("update", "--remind", "Theirs", session=NOON),
                *(desk.event("PreCompact-auto", session_id=each) for each in (MORNING, NOON)),
            ],
            lambda desk, name: [desk.event("SessionStart-compact", session_id=each) for each in (MORNING, NOON)],
            go_on,
        ],
    ),
}


def other(name: str) -> str:
    """Return a format for another workflow beside one."""
    return "hybrid" if name == "compaction" else "compaction"


@pytest.mark.parametrize("name", FORMATS)
def test_what_happens_at_once_ends_as_if_it_happened_one_after_the_other(desk: Desk, name: str) -> None:
    """Each end, command and event counts once, in whichever order; each session gets its own workflow back."""
    desk.play(desk.command("install"), desk.event("SessionStart-startup"), minute=0)
    desk.keep("fresh")
    found: list[str] = []
    for title, row in ROWS.items():
        if row.agents and not FORMATS[name]:
            continue
        outcomes = []
        for at_once in (False, True):
            desk.reset("fresh")
            desk.play(*row.before(desk, name), minute=10)
            outcomes.append(played(desk, row, name, at_once=at_once))
        for one, many in zip(*outcomes, strict=True):
            found += [f"{title}: {each}" for each in differences(one, many)]
        found += [f"{title}: left behind: {path}" for path in desk.temporary()]
        if "Traceback" in (log := desk.files().get("~/.local/state/holdfast/log/holdfast.log", "")) or " error " in log:
            found.append(f"{title}: {log}")
    report(found)


def played(desk: Desk, row: Row, name: str, *, at_once: bool) -> list[dict[str, str]]:
    """Play a row; return its files, which programs ended badly, and which workflow each session got back."""
    ends: dict[str, str] = {}
    for number, wave in enumerate(row.waves):
        desk.now = desk.moment(40 + number)
        steps = wave(desk, name)
        answers = desk.run_at_once(*steps) if at_once else [desk.run_at_once(step)[0] for step in steps]
        bad = [each for each in answers if "Traceback" in each["err"] or each["code"] not in (0, 1)]
        ends[f"wave {number}"] = str(bad)
        for step, answer in zip(steps, answers, strict=True):
            if "SessionStart" in step.argv[-1]:
                ends[f"guidance of {json.loads(step.stdin)['session_id']}"] = shown(answer["out"])
    return [
        ends,
        {
            path: "\n".join(sorted(line.rstrip(",") for line in text.splitlines()))
            for path, text in desk.lasting().items()
        },
    ]


def shown(out: str) -> str:
    """Return what of two workflows a session is told."""
    return ", ".join(word for word in ("Ship it", "Other", "Mine", "Theirs") if word in out)


# --- an editor ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_what_an_editor_saves_while_a_file_is_written_is_kept(desk: Desk, name: str) -> None:
    """At each write below the project, by a new file that takes the name or in place; our own change is there too."""
    desk.play(desk.command("install"), desk.event("SessionStart-startup"), start(desk, name), minute=0)
    desk.play(desk.command("next"), minute=10)
    desk.keep("before")
    before = desk.files()
    done = desk.command("done", PLAN)
    desk.strike(done, 20, 0, TROUBLE_RUN="true", TROUBLE_BELOW=f"{desk.root}/")
    count, wanted, raw = desk.counted, desk.lasting(), desk.files()
    states = [each for each in before if each.endswith(".json") and before[each] != raw.get(each) and "~" not in each]
    states = [each for each in states if "holdfast/" not in each]
    found, late, missed = [], desk.top / "late", set(states) or {"any file"}
    for state, stop in itertools.product(states, range(1, count + 1)):
        desk.reset("before")
        late.unlink(missing_ok=True)
        edited = desk.top / "edited.json"
        edited.write_text(re.sub(r"^\{", '{"by_hand": "kept",', (desk.root / state).read_text()))
        save = f"cp {edited} '{desk.root / state}.swp' && mv '{desk.root / state}.swp' '{desk.root / state}'"
        save = save if stop % 2 else f"cat {edited} > '{desk.root / state}'"
        look = f"cmp -s '{desk.top}/before/project/{state}' '{desk.root / state}' || touch {late}"
        answer = desk.strike(done, 20, stop, TROUBLE_RUN=f"{look}; {save}", TROUBLE_BELOW=f"{desk.root}/")
        now = {path: text for path, text in desk.lasting().items() if path.endswith(".json")}
        where = f"{state} saved at {stop} of {count}, {answer['code']}"
        data = json.loads(desk.files_seen[state])
        if data.pop("by_hand", "") != "kept":
            found.append(f"{where}: what was saved is lost: {data}")
        elif late.exists():
            continue  # our change was there already, and the editor took it back
        missed.discard(state)
        if answer["code"] or json.loads(wanted[state]) != json.loads(desk.varied(json.dumps(data))):
            found.append(f"{where}: {answer['err']!r} {now[state]}")
    report(found + [f"{state}: no moment before it is written" for state in missed])


# --- installs -----------------------------------------------------------------------------------------------------

OFF = ("handlers", "off", "save_workflow")
# what happens at once → and whether Holdfast is installed then
PAIRS: dict[str, tuple[tuple[tuple[str, ...], ...], str]] = {
    "three installs": ((INSTALL, INSTALL, INSTALL), "without"),
    "an install and an uninstall": ((INSTALL, UNINSTALL), "with"),
    "two uninstalls": ((UNINSTALL, UNINSTALL), "with"),
    "two switches": ((OFF, ("handlers", "off", "restore_workflow")), "with"),
    "a switch and an install": ((OFF, INSTALL), "without"),
    "a switch and an uninstall": ((OFF, UNINSTALL), "with"),
}


@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.nightly)])
def test_installs_at_once_end_as_if_one_came_after_the_other(desk: Desk, rounds: int) -> None:
    """In one order or the other; nothing is registered twice, and what you wrote yourself stays as it is."""
    settings = desk.with_settings()
    found = []
    for title, (pair, usual) in PAIRS.items():
        for place in (usual,) if rounds == 1 else ("without", "with"):
            wanted = []
            for order in set(itertools.permutations(pair)):
                desk.reset(place)
                ends = [desk.strike(desk.command(*words), 20, 0)["code"] for words in order]
                wanted.append((sorted(ends), desk.installed()))
            for _ in range(rounds):
                desk.reset(place)
                answers = desk.run_at_once(*(desk.command(*words) for words in pair))
                now = (sorted(each["code"] for each in answers), desk.installed())
                if now not in wanted:
                    closest = differences(wanted[0][1], now[1])
                    found += [f"{title}, {place}: {now[0]} {answers}", *(f"  {each}" for each in closest)]
                if "say done" not in settings.read_text() or '"model": "opus"' not in settings.read_text():
                    found.append(f"{title}, {place}: yours is lost: {settings.read_text()}")
    report(found)
