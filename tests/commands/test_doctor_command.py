"""`holdfast doctor` says what is wrong and how to repair it, repairs what is safe, and exits with 1 on a problem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast import checks, paths
from holdfast.clients.claude import scopes
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_client")]


@pytest.fixture
def root(root: Path) -> Path:
    """A project in which Holdfast is installed for the user."""
    holdfast("install", root=root)
    return root


def break_ledger(root: Path) -> Path:
    holdfast("start", "User auth", "--phase", "Design", root=root)
    file = Workspace.open(root).ledger_file
    for each in file.parent.iterdir():
        each.unlink()
    file.write_bytes(b"junk" * 2000)
    return file


def test_health_is_told_in_one_line(root: Path) -> None:
    """With how many checks passed, exit code 0; `-v` lists what each of them found, by check."""
    assert holdfast("doctor", root=root).out == f"All good: {len(checks.CHECKS)} checks passed.\n"

    said = holdfast("doctor", "-v", root=root).out

    lines = said.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == [
        *checks.CHECKS,
        f"All good: {len(checks.CHECKS)} checks passed.",
    ]
    assert "problem:" not in said
    assert "  ok: ~/.local/share/holdfast/run starts " in said


def test_paths_are_relative_where_the_command_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the current folder, whatever the project's is, and `~` for home; the JSON names whole paths."""
    settings = root / ".claude" / "settings.json"
    settings.write_text('{"disableAllHooks": true}')
    monkeypatch.chdir(root)
    said = holdfast("doctor", code=1).out
    assert '  problem: .claude/settings.json: "disableAllHooks" is true' in said
    assert '    fix: remove "disableAllHooks" from .claude/settings.json\n' in said
    assert str(settings) in holdfast("doctor", "--json", code=1).out
    monkeypatch.chdir(root.parent)
    assert (
        f'    fix: remove "disableAllHooks" from {root.name}/.claude/settings.json\n'
        in holdfast("doctor", root=root, code=1).out
    )


def test_a_problem_is_told_with_what_to_do(root: Path) -> None:
    """Exit code 1, the command below the finding, and how many of them --fix mends."""
    (root / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    paths.launcher().unlink()

    said = holdfast("doctor", root=root, code=1).out

    assert "  problem: ~/.local/share/holdfast/run is missing, but " in said
    assert "\n    fix: holdfast install --scope user\n" in said
    assert '"disableAllHooks" is true, so Claude Code runs no hook\n    fix: remove "disableAllHooks" from ' in said
    assert said.endswith(f"\n\n2 problems in {len(checks.CHECKS)} checks. `holdfast doctor --fix` repairs 1 of them.\n")


def test_fix_mends_what_is_safe_and_says_what_it_did(root: Path) -> None:
    """What is left is told after it; a second run has nothing to do."""
    paths.launcher().unlink()
    settings = scopes.target("user", root).settings
    content = json.loads(settings.read_text())
    del content["hooks"]["PreCompact"]
    settings.write_text(json.dumps(content))
    ledger = break_ledger(root)
    paths.state_dir().chmod(0o755)

    said = holdfast("doctor", "--fix", root=root).out

    mended = said.split("\nrepaired\n")[1]
    assert "  ok: programs: wrote ~/.local/share/holdfast/run\n" in mended
    assert "  ok: registration: ~/.claude/settings.json: PreCompact: registered\n" in mended
    assert f"  ok: ledger: set ~/{ledger.relative_to(Path.home())} aside as {ledger.name}.corrupt-" in mended
    assert "  ok: folders: took others' permissions from 1 path" in mended
    assert "problem:" not in said
    assert said.endswith(f"\n1 warning in {len(checks.CHECKS)} checks.\n")  # the damaged ledger lies beside the new one
    assert "PreCompact" in json.loads(settings.read_text())["hooks"]
    assert "\nrepaired\n" not in holdfast("doctor", "--fix", root=root).out


def test_fix_leaves_a_teams_settings_alone(root: Path) -> None:
    """And ends with 1, for the problem is still there."""
    settings = root / ".claude" / "settings.json"
    holdfast("install", "--scope", "project", root=root)
    content = json.loads(settings.read_text())
    del content["hooks"]["PreCompact"]
    settings.write_text(json.dumps(content))
    before = settings.read_bytes()

    said = holdfast("doctor", "--fix", root=root, code=1).out

    assert f"    fix: holdfast install --scope project --project {root}" in said
    assert settings.read_bytes() == before


def test_what_cannot_be_mended_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason; the others are mended all the same."""
    paths.launcher().unlink()
    installed = scopes.target("user", root).settings
    content = json.loads(installed.read_text())
    del content["hooks"]["PreCompact"]
    installed.write_text(json.dumps(content))
    installed.chmod(0o444)

    said = holdfast("doctor", "--fix", root=root, code=1).out

    assert "  problem: registration: couldn't be repaired: " in said
    assert "is write-protected" in said
    assert said.endswith(f"\n1 problem in {len(checks.CHECKS)} checks.\n")  # trying again would mend no more
    assert "  ok: programs: wrote ~/.local/share/holdfast/run\n" in said


def test_json_is_for_programs(root: Path) -> None:
    """The same findings, whether each can be mended, and what was."""
    paths.launcher().unlink()

    said = holdfast("doctor", "--json", root=root, code=1).json

    assert (said["problems"], said["notices"], said["mended"]) == (1, 0, [])
    (problem,) = (row for row in said["findings"] if row["level"] == "problem")
    assert problem["check"] == "programs"
    assert problem["remedy"] == "holdfast install --scope user"
    assert problem["fixable"] is True
    assert {row["check"] for row in said["findings"]} == set(checks.CHECKS)
    assert all(row["remedy"] is None for row in said["findings"] if row["level"] == "ok")

    fixed = holdfast("doctor", "--json", "--fix", root=root).json
    assert fixed["problems"] == 0
    (row,) = fixed["mended"]
    assert (row["done"], row["succeeded"]) == (f"wrote {paths.launcher()}", True)


def test_named_checks_run_alone(root: Path) -> None:
    """In their usual order; `--fix` repairs only what they find, and an unknown name is wrong usage."""
    paths.launcher().unlink()
    folder = paths.state_dir()
    folder.chmod(0o755)

    lines = holdfast("doctor", "-v", "folders", "ledger", root=root).out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")][:-1] == ["folders", "ledger"]
    assert "took others' permissions" in holdfast("doctor", "folders", "--fix", root=root).out
    assert not paths.launcher().exists()
    assert "there is no check 'nothing'; there are programs, " in holdfast("doctor", "nothing", root=root, code=2).err


def test_names_in_files_reach_no_terminal_with_their_controls(root: Path) -> None:
    """What a finding quotes is somebody else's text."""
    paths.user_handlers().mkdir(parents=True)
    (paths.user_handlers() / "\x1b[31mred.py").write_text("def on_stop(event): ...\n")
    said = holdfast("doctor", root=root, code=1).out
    assert "[31mred.py: line 1: on_stop is named like a handler" in said
    assert "\x1b" not in said
