"""Machines are data: shipped, a user's, or a project's once trusted; what they say is checked."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import ConfigError, HoldfastError
from holdfast.files import trust
from holdfast.formats.skills import machine
from holdfast.workflow import definitions
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine
    from holdfast.testing import HoldfastProject

REVIEW = '[[phases]]\nname = "read"\n[[phases]]\nname = "judge"\nnext = ["read"]\n'


def parse(text: str) -> Machine:
    return machine.parse("review", tomllib.loads(text), "review.toml")


def users(name: str, text: str = REVIEW) -> Path:
    """Write a machine into the user's folder."""
    definitions.user_folder("machines").mkdir(parents=True, exist_ok=True)
    path = definitions.user_folder("machines") / f"{name}.toml"
    path.write_text(text)
    return path


def theirs(root: Path, name: str, text: str = REVIEW) -> Path:
    """Write a machine into the project's folder."""
    definitions.project_folder(root, "machines").mkdir(parents=True, exist_ok=True)
    path = definitions.project_folder(root, "machines") / f"{name}.toml"
    path.write_text(text)
    return path


def grant(root: Path, path: Path) -> None:
    raw = path.read_bytes()
    trust.grant(root, {trust.relative_name(root, path): trust.digest(raw)}, [raw])


def names(found: Machine) -> list[str]:
    return [each.name for each in found.phases]


@each_row(
    "text, said",
    [
        ("", "phases is missing"),
        ("phases = []", "phases: "),
        ('phases = ["read"]', "phases[0] is not a table"),
        ("[[phases]]\nlabel = 'Read'", "phases[0].name is missing"),
        ("[[phases]]\nname = ' '", "a phase has no name"),
        ("[[phases]]\nname = 7", "phases[0].name is not a text"),
        ("[[phases]]\nname = 'a'\nrun = 'rm'", "phases[0].run isn't a key of a machine"),
        ("[[phases]]\nname = 'a'\nnext = ['b']", "'a' can't lead to 'b': there is no such phase; there is only a"),
        ("[[phases]]\nname = 'a'\n[[phases]]\nname = 'a'", "two phases have the name 'a'"),
        ("[[phases]]\nname = 'a'\nsteps = 'b'", "phases[0].steps is not a list"),
        (f"{REVIEW}[tasks]\nrun = 'a'", "tasks.run isn't a key of a machine"),
        (f"{REVIEW}[checkpoints]\nlint = 1", "checkpoints.lint is not a table"),
        (f"kind = 'x'\n{REVIEW}", "kind isn't a key of a machine"),
    ],
)
def test_what_is_wrong_with_a_machine_is_named(text: str, said: str) -> None:
    """With the file, so that whoever wrote it finds the place."""
    with pytest.raises(ConfigError) as refused:
        parse(text)

    assert str(refused.value).startswith("review.toml: ")
    assert said in str(refused.value)


def test_a_projects_machine_never_replaces_a_users(tmp_path: Path) -> None:
    """Trusted or not; it does replace a shipped one. An edit counts at once."""
    for name in ("tdd", "dev"):
        grant(tmp_path, theirs(tmp_path, name, '[[phases]]\nname = "theirs"\n'))
    users("tdd")

    assert names(machine.get(tmp_path, "tdd")) == ["read", "judge"]
    assert names(machine.get(tmp_path, "dev")) == ["theirs"]
    users("tdd", '[[phases]]\nname = "mine"\n')
    assert names(machine.get(tmp_path, "tdd")) == ["mine"]


def test_a_broken_machine_is_a_problem_of_its_own(tmp_path: Path) -> None:
    """A workflow goes on by the phases in its file."""
    users("review", "[[phases]")

    with pytest.raises(HoldfastError):
        machine.get(tmp_path, "review")
    found, said = machine.known(tmp_path, "review")
    assert found is None
    assert "is not TOML" in said
    assert machine.known(tmp_path, "release") == (None, "")


def test_the_last_task_completes_a_workflow_whose_last_phase_has_the_tasks(tmp_path: Path) -> None:
    """The phase is no unit: its tasks stand in its place."""
    users("mini", '[tasks]\nphase = "work"\n[[phases]]\nname = "plan"\n[[phases]]\nname = "work"\n')
    holdfast("skills", "start", "mini", "Ship it", "--phase", "Write", "--phase", "Tag", root=tmp_path)

    answers = [holdfast("done", "--json", root=tmp_path).json["status"] for _ in range(3)]

    assert answers == ["active", "active", "completed"]


def test_what_nobody_trusts_is_told_at_a_sessions_start(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Machines and formats alike, five of them with the command for each; once trusted, no more."""
    files = {f".claude/machines/own{number}.toml": '[[phases]]\nname = "one"\n' for number in range(5)}
    project = holdfast_project({**files, ".claude/formats/mine.toml": "x = 1\n"})
    said = project.fire("SessionStart", "SessionStart-startup").reply.get("systemMessage", "")
    assert '".claude/formats/mine.toml" is not trusted as it is now, so it is not used.' in said
    assert "run in a terminal: holdfast formats trust mine" in said
    assert "run in a terminal: holdfast formats trust machines/own3" in said
    assert "own4" not in said
    assert "The next start names 1 more, once these are trusted." in said
    (project.root / ".claude/formats/mine.toml").unlink()
    for number in range(5):
        holdfast("formats", "trust", f"machines/own{number}", "--yes", root=project.root)
    assert "trusted" not in project.fire("SessionStart", "SessionStart-startup", session_id="another").reply.get(
        "systemMessage", ""
    )
    (project.root / ".claude/machines/own0.toml").write_text('[[phases]]\nname = "two"\n')
    assert "own0" in project.fire("SessionStart", "SessionStart-startup", session_id="a-third").reply.get(
        "systemMessage", ""
    )


def test_a_projects_machine_is_trusted_by_a_person(tmp_path: Path) -> None:
    """It is shown first; without a terminal, --yes says that it was read. The list says which are used."""
    text = '[[phases]]\nname = "tag"\n'
    theirs(tmp_path, "release", text)
    name = "machines/release"
    assert "is not trusted" in holdfast("skills", "start", "release", "2.0", root=tmp_path, code=1).err
    assert "release.toml is not trusted; read it" in holdfast("formats", "list", root=tmp_path).out
    assert "--yes" in holdfast("formats", "trust", name, root=tmp_path, code=1).err

    assert text in holdfast("formats", "trust", name, "--yes", root=tmp_path).out

    holdfast("skills", "start", "release", "2.0", root=tmp_path)
    rows = holdfast("formats", "list", "--json", root=tmp_path).json
    assert {each["name"]: each["used"] for each in rows if "/" in each["name"]} == dict.fromkeys(
        (name, "machines/dev", "machines/tdd"), True
    )
    assert "has no machine '../x'" in holdfast("formats", "trust", "machines/../x", "--yes", root=tmp_path, code=1).err
