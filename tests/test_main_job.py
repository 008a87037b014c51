"""The main job end to end, as Claude Code and Claude's Bash tool do it: every step in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.dispatch.budget import LIMIT_UNITS, units
from holdfast.install import register
from tests import processes
from tests.processes import SESSION, Ended, Place

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project with Holdfast installed as a user installs it, its shipped handlers on."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    holdfast(place, "install", "--scope", "project", "--yes")
    return place


def holdfast(place: Place, *arguments: str) -> None:
    """Run the command line as Claude's Bash tool does."""
    environ = place.environ(CLAUDE_CODE_SESSION_ID=SESSION, PYTHONPATH=str(paths.package_root()))
    done = processes.run([sys.executable, "-m", "holdfast", *arguments], b"", environ, place.root)
    assert done.exit_code == 0, done.stderr


def fire(place: Place, name: str) -> Ended:
    """Send a recorded payload through the command that install registered."""
    data = processes.encoded(place.payload(name, transcript_path=""))
    command = ["/bin/sh", "-c", register.command(name.split("-")[0])]
    ended = processes.run(command, data, place.environ(CLAUDE_ENV_FILE=str(place.home / "env.sh")), place.root)
    assert (ended.exit_code, ended.stderr) == (0, "")
    return ended


def compact(place: Place) -> str:
    """Let a compaction happen; return what the model gets back."""
    said = fire(place, "PreCompact-auto").stdout
    assert not said.lstrip().startswith("{")
    assert len(said) <= 400
    guidance = fire(place, "SessionStart-compact").advice
    assert units(guidance) <= LIMIT_UNITS
    return guidance


def facts(kind: str, count: int) -> list[str]:
    """Return distinct facts that cannot stand in a text by chance."""
    return [f"{kind}-canary-{number:02d}-{number * 7919 % 9973}" for number in range(count)]


def start_with_29_facts(place: Place) -> list[str]:
    """Start a compaction-format workflow that holds 29 distinct facts; return them."""
    reading, reminders, context = facts("docs/reading", 9), facts("remind", 9), facts("context", 9)
    for each in reading:
        place.write(each, "read me")
    arguments = [item for each in reading for item in ("--read", each)]
    arguments += [item for each in reminders for item in ("--remind", f"Never forget {each}")]
    arguments += [item for n, each in enumerate(context) for item in ("--set", f"key{n}={each}")]
    phases = [item for number in range(1, 13) for item in ("--phase", f"Phase-canary-{number:02d}")]
    holdfast(place, "start", "Title-canary-4711", "--type", "custom", *phases, *arguments)
    return [*[f"@{each}" for each in reading], *reminders, *context, "Title-canary-4711", "Phase-canary-01"]


def state_file(place: Place) -> Path:
    """Return the one state file of the compaction format."""
    (found,) = (place.root / "untracked" / "workflow-state").glob("*/state-*.json")
    return found


def test_29_facts_survive_ten_compactions_with_transitions_between(place: Place) -> None:
    """R001-11 to -17: all facts come back each time, with the current phase, and the file only ever grows richer."""
    wanted = start_with_29_facts(place)
    assert len(set(wanted)) == 29
    born = json.loads(state_file(place).read_bytes())
    for cycle in range(1, 11):
        guidance = compact(place)
        current = f"Phase-canary-{cycle:02d}"
        missing = [fact for fact in [*wanted[:-1], current, f"{cycle}/12"] if fact not in guidance]
        assert not missing
        holdfast(place, "done", "--note", f"handed over in cycle {cycle}")
        now = json.loads(state_file(place).read_bytes())
        assert now["created_at"] == born["created_at"]
        assert now["phase"]["current"] == cycle + 1
        assert set(now) >= set(born)
        assert set(now["required_reading"]) >= set(born["required_reading"])
        assert set(now["key_reminders"]) >= set(born["key_reminders"])
        assert now["context"].items() >= born["context"].items()


def test_the_model_can_call_the_command_line_from_the_environment_file(place: Place) -> None:
    """Every SessionStart appends what Claude's Bash tool needs, once."""
    fire(place, "SessionStart-startup")
    fire(place, "SessionStart-resume")
    script = f". {place.home / 'env.sh'}; cd /; holdfast start 'From Bash' --phase One; holdfast status --json"
    environ = {"PATH": os.defpath, "HOME": str(place.home)}
    done = subprocess.run(
        ["/bin/sh", "-c", script], env=environ, capture_output=True, text=True, timeout=500, check=True
    )
    assert "From Bash" in done.stdout
    assert state_file(place).is_file()
    assert (place.home / "env.sh").read_text().count("HOLDFAST_PROJECT_DIR") == 1
