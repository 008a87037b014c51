"""The parts of a run: each measures one thing and returns JSON values, or the reason why it couldn't."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.bench import firing, floors, machine, peers, place, race, server, unshipped
from tools.bench.client import added

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
FETCHED = ROOT / ".bench"


def processes(rounds: int) -> dict[str, Any]:
    """Return the times of whole processes under `race`, and the warm server's memory and CPU time under `server`.

    Args:
        rounds: how many of each contestant's times count.

    Raises:
        WrongAnswerError: a contestant didn't do its job, or the server was gone at the end.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        top = Path(folder).resolve()
        here = place.make(top)
        try:
            warm = place.warm_up(here)
            others, missing = peers.contestants(here, FETCHED)
            with ExitStack() as stack:
                contestants = [*floors.contestants(), *firing.contestants(here, top, warm=warm), *others]
                contestants.append(firing.status_line(here))
                warm = warm and place.warm_up(here)  # the preparations may have ended the server
                contestants += unshipped.contestants(here, stack, server=warm)
                before = place.answered(here)
                medians = race.run(contestants, here.environ, rounds)
                asked = (rounds + 1) * sum(each.asks for each in contestants)
                counted = {"asked": asked, "answered": place.answered(here) - before}
            if warm:
                place.still_warm(here)
            usage = server.measure(here)
        finally:
            server.stop(here)
            for line in place.endings(here):
                print(line, file=sys.stderr)
    rows = [{"kind": kind, "name": name, "ms": round(ms, 2)} for (kind, name), ms in medians.items()]
    about = {"rounds": rounds, "named": firing.NAMED, "missing": missing, **counted, "peers": machine.peers(FETCHED)}
    watched = dataclasses.asdict(usage) if usage else {"why": "no server came up"}
    return {"race": {"rows": rows, **about, **machine.now()}, "server": {**watched, **machine.now()}}


def client(version: str, calls: int) -> dict[str, Any]:
    """Return what each way of registration adds on the real client, under `client`.

    Args:
        version: the client's version.
        calls: how many calls of each way count.

    Raises:
        subprocess.CalledProcessError: it couldn't be measured.
    """
    program = added.binary(version)
    if program is None:
        return {"client": {"why": f"no client {version} is installed; `make clients` fetches it"}}
    command = [str(ROOT / "tests/client/alone"), sys.executable, "-m", "tools.bench.client", str(program), str(calls)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return {"client": {**json.loads(done.stdout), "version": version, **machine.now()}}


def growth(*arguments: str) -> dict[str, Any]:
    """Return the points of the growth curves under `growth`.

    Args:
        arguments: the arguments of `tools/bench/growth.py` besides `--json`.

    Raises:
        subprocess.CalledProcessError: they couldn't be measured.
    """
    if not (ROOT / "tools" / "bench" / "growth.py").exists():
        return {"growth": {"why": "there is no tools/bench/growth.py"}}
    command = [sys.executable, "-m", "tools.bench.growth", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return {"growth": {"points": points(json.loads(done.stdout)), **machine.now()}}


def merged(before: dict[str, Any], found: dict[str, Any], ranges: Sequence[str]) -> dict[str, Any]:
    """Return the earlier growth figures with some ranges replaced by new ones, and the time of each new range."""
    old, new = before.get("growth") or {}, found["growth"]
    if not old.get("points") or not new.get("points"):
        return found
    kept = [point for point in old["points"] if point["range"] not in ranges]
    when = {name: value for name, value in new.items() if name != "points"}
    later = {name: told for name, told in (old.get("later") or {}).items() if name not in ranges}
    return {"growth": old | {"points": [*kept, *new["points"]], "later": later | dict.fromkeys(ranges, when)}}


def points(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the points of `tools/bench/growth.py --json` in the page's shape, each size with its label."""
    named = ("range", "size", "event", "ms", "ratio")
    return [
        {name: each[name] for name in named} | {"mode": each["way"], "label": label(each["size"])}
        for each in found["points"]
    ]


def label(size: int) -> str:
    """Return a size for readers: a multiple of 1,024 counts as bytes and gets a unit, any other is a plain number."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if size and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,}"


def draw(results: Path, folder: Path) -> str | None:
    """Draw the pictures. Return why that failed, or None."""
    python = FETCHED / "venv" / "bin" / "python"
    if not python.exists():
        return "no matplotlib in .bench/venv; the pictures are as they were"
    done = subprocess.run([python, ROOT / "tools" / "bench" / "plots.py", results, folder], check=False)
    return "the pictures could not be drawn" if done.returncode else None
