"""Every command of the group `skills` answers with JSON when it is asked for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.formats.skills import file as files
from holdfast.formats.skills.commands import workflows
from holdfast.workflow import definitions
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

FEATURE = "features/login.md"
MACHINE = '[[phases]]\nname = "one"\n'
RUNS: dict[str, tuple[tuple[str, ...], ...]] = {
    "abandon": (("abandon", "Superseded"),),
    "block": (("block", "No key"),),
    "check": (("check",),),
    "checkpoint": (("checkpoint", "lint", "--passed"), ("checkpoint", "lint", "--passed")),
    "cleanup": (("cleanup",), ("cleanup", "--dry-run")),
    "clear": (("clear", "--yes"), ("clear",)),
    "complete": (("complete", "--all"),),
    "machines": (("machines",),),
    "pending": (("pending",),),
    "phase": (("phase", "create_branch"), ("phase", "create_branch", "--done")),
    "pr": (("pr", "--number", "7"),),
    "repair": (("repair",),),
    "resume": (("resume",), ("resume", FEATURE, "--yes")),
    "start": (("start", "dev", "--feature", FEATURE), ("start", "tdd", "--task", "Add a login")),
    "step": (("phase", "verification"), ("step", "lint")),
    "task": (("task", "1", "--start"), ("task", "1", "--done"), ("task", "1", "--reopen")),
    "tdd": (("task", "1", "--start"), ("tdd", "red", "--failing", "test_login")),
    "unblock": (("block", "No key"), ("unblock",)),
    "trust": (("trust", "own", "--yes"),),
}
"""Each command as it is used on a run of /dev at its first phase."""


def laid(root: Path) -> Path:
    """Return a project with a run of /dev, and a machine that nobody trusts yet."""
    (root / "features").mkdir(parents=True)
    (root / FEATURE).write_text("# Login\n\n- [ ] Add model\n- [ ] Add login\n")
    machines = definitions.project_folder(root, "machines")
    machines.mkdir(parents=True)
    (machines / "own.toml").write_text(MACHINE)
    holdfast("skills", "start", "dev", "--feature", FEATURE, root=root)
    holdfast("skills", "phase", "create_branch", root=root)
    return root


def test_each_command_is_walked() -> None:
    """One that is added has to be added here."""
    assert sorted(workflows.command.commands) == sorted(RUNS)


@each_row("name", sorted(RUNS))
def test_a_command_answers_with_json(tmp_path: Path, name: str) -> None:
    """One JSON value on stdout and nothing else, whatever came of it; a text of a person never splits it."""
    root = laid(tmp_path / "project")
    if name == "step":
        (path,) = (root / ".claude/workflow-state/active").glob("*.json")
        data = json.loads(path.read_text())
        data["tasks"] = []
        data["state_machine"]["phases"][2]["status"] = files.INIT
        path.write_text(json.dumps(data))
        holdfast("skills", "phase", "task_execution", root=root)
    for words in RUNS[name]:
        said = holdfast("skills", *words, "--json", root=root)
        assert isinstance(said.json, dict | list)
        assert said.out.endswith("\n")


def test_what_is_trusted_is_shown_on_stderr(tmp_path: Path) -> None:
    """So that a person sees it, and a program gets one value."""
    root = laid(tmp_path / "project")
    said = holdfast("skills", "trust", "own", "--yes", "--json", root=root)
    assert (said.json["trusted"], MACHINE in said.err) == (True, True)
    assert [
        each["used"] for each in holdfast("skills", "machines", "--json", root=root).json if each["skill"] == "own"
    ] == [True]
