"""Whole-process time of the registered command per event, side by side with two floors measured in the same run.

Floors: a bare interpreter (`python -I -S -c pass`), and the cold floor: a Python program of the same environment
that imports pydantic, pluggy, platformdirs, sqlite3, json and hashlib, defines one small model and validates one
value. All commands take turns, round after round, so that noise meets them alike; the ratios are what counts.

    python bench/dispatch.py [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from holdfast import paths, recorded, registration

SESSION = "0d3f0d5e-0000-4000-8000-00000000bec4"
COLD_FLOOR = """
import hashlib, json, sqlite3
import platformdirs, pluggy, pydantic
class Model(pydantic.BaseModel):
    name: str
    number: int = 0
Model.model_validate({"name": "x", "number": 1})
"""
EVENTS = (
    ("PreToolUse, no handler matches", "PreToolUse-Bash"),
    ("PreToolUse (TodoWrite)", "PreToolUse-TodoWrite"),
    ("PreToolUse (Agent)", "PreToolUse-Agent"),
    ("PostToolUse (Agent)", "PostToolUse-Agent"),
    ("UserPromptSubmit", "UserPromptSubmit"),
    ("PreCompact", "PreCompact-auto"),
    ("SessionStart (startup)", "SessionStart-startup"),
    ("SessionStart (compact)", "SessionStart-compact"),
)


@dataclass(frozen=True)
class Contestant:
    """One command that is timed: its name, its arguments and what it reads from stdin."""

    name: str
    command: list[str]
    stdin: bytes = b""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        home, project, environ = _prepare(Path(folder).resolve())
        contestants = _contestants(home, project)
        times = _race(contestants, environ, options.rounds)
    medians = {name: statistics.median(each) for name, each in times.items()}
    rows = [_row(name, medians) for name in medians]
    if options.json:
        print(json.dumps({"machine": _machine(), "rounds": options.rounds, "rows": rows}, indent=2))
    else:
        _print(rows, options.rounds)


def _prepare(top: Path) -> tuple[Path, Path, dict[str, str]]:
    """Install Holdfast into an empty home and give the project a workflow."""
    home, project = top / "home", top / "project"
    (project / ".claude").mkdir(parents=True)
    home.mkdir()
    environ = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8", "CLAUDECODE": "1"}
    environ["CLAUDE_PROJECT_DIR"] = str(project)
    holdfast = [sys.executable, "-m", "holdfast"]
    extra = {"PYTHONPATH": str(paths.package_root()), "CLAUDE_CODE_SESSION_ID": SESSION}
    start = ["start", "Bench", "--format", "hybrid", "--phase", "look around @general-purpose", "--phase", "Write it"]
    for arguments in (["install", "--scope", "project"], start):
        subprocess.run([*holdfast, *arguments], env=environ | extra, cwd=project, check=True, capture_output=True)
    return home, project, environ


def _contestants(home: Path, project: Path) -> list[Contestant]:
    python = sys.executable
    floors = [
        Contestant("python -I -S -c pass", [python, "-I", "-S", "-c", "pass"]),
        Contestant("cold floor", [python, "-I", "-c", COLD_FLOOR]),
    ]
    fields = {"session_id": SESSION, "cwd": str(project), "transcript_path": ""}
    for name, payload in EVENTS:
        command = ["/bin/sh", "-c", registration.command(payload.split("-")[0])]
        floors.append(Contestant(name, command, json.dumps(recorded.load(payload, **fields)).encode() + b"\n"))
    return floors


def _race(contestants: list[Contestant], environ: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Let every contestant run once a round, in milliseconds; the first round only warms the caches."""
    times: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds + 1):
        for contestant in contestants:
            started = time.perf_counter()
            subprocess.run(contestant.command, input=contestant.stdin, env=environ, capture_output=True, check=True)
            if number:
                times[contestant.name].append((time.perf_counter() - started) * 1000)
    return times


def _row(name: str, medians: dict[str, float]) -> dict[str, object]:
    bare, cold = medians["python -I -S -c pass"], medians["cold floor"]
    return {
        "name": name,
        "median_ms": round(medians[name], 1),
        "of_bare": round(medians[name] / bare, 2),
        "of_cold_floor": round(medians[name] / cold, 2),
    }


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def _print(rows: list[dict[str, object]], rounds: int) -> None:
    print(f"{_machine()}; medians of {rounds} rounds, whole processes\n")
    print(f"{'':<34}{'ms':>8}{'× bare':>9}{'× cold floor':>14}")
    for row in rows:
        print(f"{row['name']:<34}{row['median_ms']:>8}{row['of_bare']:>9}{row['of_cold_floor']:>14}")


if __name__ == "__main__":
    main()
