"""New handlers are registered at the next start, and the user is told."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.clients.claude import claude, scopes, versions
from holdfast.install import install
from holdfast.plugins import scan, strict_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

HANDLER = "from holdfast import hookimpl\n\n@hookimpl\ndef on_setup(event):\n    return None\n"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project whose local settings register the shipped handlers, and a client nobody asks."""
    monkeypatch.setattr(versions, "version", lambda: None)
    project = holdfast_project({})
    project.checked = False  # many tests are about files that nobody trusts
    install.install(scopes.target("local", project.root))
    return project


def registered(project: HoldfastProject) -> set[str]:
    settings = json.loads((project.root / ".claude" / "settings.local.json").read_bytes())
    return set(settings["hooks"])


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork"])
def test_a_handler_that_was_dropped_in_is_registered(project: HoldfastProject, source: str) -> None:
    """The entries are ours, the file is the user's own, and it is said what changed."""
    assert "Setup" not in registered(project)
    project.write({".claude/handlers/mine.py": HANDLER})
    project.trust()
    name = "SessionStart-startup-tui" if source == "startup" else f"SessionStart-{source}"

    fired = project.fire("SessionStart", name)

    assert "Setup" in registered(project)
    assert fired.reply["systemMessage"].startswith("Holdfast: ")
    assert "Setup" in fired.reply["systemMessage"]
    assert fired.context == ""
    assert "systemMessage" not in project.fire("SessionStart", name).reply


GUARD = HANDLER + "\n@hookimpl(match='Bash', strict=True)\ndef on_pre_tool_use(event): ...\n"


def start(project: HoldfastProject) -> str:
    """Return what the user is told at a session's start."""
    return str(project.fire("SessionStart", "SessionStart-startup").reply.get("systemMessage", ""))


def test_what_changed_or_is_gone_is_named_with_the_command(project: HoldfastProject) -> None:
    """The user hears of each at the start, and whether something is refused for it; trusted again, of none."""
    names = ("guard.py", "lost.py", "plain.py", "away.py")
    project.write({f".claude/handlers/{name}": GUARD if name in names[:2] else HANDLER for name in names})
    project.write({".claude/holdfast.toml": 'reading = "hold"\n'})
    project.trust()
    assert "trust" not in start(project)

    folder = project.root / ".claude" / "handlers"
    for name in ("guard.py", "plain.py"):
        (folder / name).write_text(HANDLER + "# changed\n")
    for name in ("lost.py", "away.py"):
        (folder / name).unlink()
    project.write({".claude/holdfast.toml": 'reading = "off"\n'})
    lines = start(project).removeprefix("Holdfast: ").split("\n")

    assert [line for line in lines if "trust" in line] == [
        "guard.py was changed since you trusted it, so what it guarded is refused.",
        "lost.py was trusted and is gone, so what it guarded is refused.",
        "plain.py was changed since you trusted it, so it does not run.",
        "away.py was trusted and is gone.",
        "holdfast.toml was changed since you trusted it, so it does not count.",
        f"To see what is new and trust it, run in a terminal: holdfast handlers trust --project {project.root}",
        f"To do without what changed or is gone: holdfast handlers untrust --project {project.root} NAME.py",
    ]
    assert not any("no longer registered" in line and "PreToolUse" in line for line in lines), "it has to refuse"
    assert "PreToolUse" in registered(project)


def test_a_guard_of_another_worktree_is_missed_here(project: HoldfastProject, tmp_path: Path) -> None:
    """A branch without its file has no guard, and that is said; with it, or without that worktree, there is no need."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", "-C", str(project.root), *who, *words], check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    guard = paths.project_handlers(tmp_path / "tree") / "guard.py"
    strict_memory.remember(guard, scan.scan(GUARD.encode(), claude).routes)
    assert "guard.py" not in start(project)
    guard.parent.mkdir(parents=True)
    guard.write_text(GUARD)
    missed = f"guard.py guards {tmp_path / 'tree'}, but not this worktree: add it to the branch, then trust it."
    assert missed in start(project).removeprefix("Holdfast: ").split("\n")

    project.write({".claude/handlers/guard.py": GUARD})
    assert missed not in start(project)
    assert "guard.py of this project is not trusted, so it does not run." in start(project)
    project.trust()
    assert "guard.py" not in start(project)


def test_many_untrusted_files_fill_no_screen_and_steer_no_terminal(project: HoldfastProject) -> None:
    """A hostile repository's names are escaped, and five are named."""
    project.write({f".claude/handlers/a\x1b[2J\n{number}.py": HANDLER for number in range(30)})
    said = start(project)
    assert "25 more: holdfast handlers list." in said
    assert "\x1b" not in said
    assert len(said.splitlines()) == 7


def test_a_handler_that_cannot_be_read_is_named_at_every_start(project: HoldfastProject) -> None:
    """It never runs, so it never fails; five are named, and where to look."""
    folder = paths.user_handlers()
    folder.mkdir(parents=True)
    for number in range(7):
        (folder / f"bad{number}.py").write_text("def broken(:\n")
    (folder / "off.py").write_text("OFF_BY_DEFAULT = True\n" + HANDLER.replace("event", "wrong"))
    for _ in range(2):
        lines = start(project).splitlines()
        assert lines[-3].startswith("user/bad4.py: line 1: cannot be read as Python")
        assert lines[-2:] == ["2 more are at fault", "More: holdfast handlers check"]


def test_a_configuration_that_cannot_be_read_is_named_at_every_start(project: HoldfastProject) -> None:
    """Or a key that is unknown: what a guard's options say wouldn't count in silence."""
    file = paths.user_config()
    file.parent.mkdir(parents=True, exist_ok=True)
    for text, words in {
        "[options": "is not TOML",
        "lokcs = 1\n": "unknown key 'lokcs'; did you mean locks?",
    }.items():
        file.write_text(text)
        assert [words in start(project) for _ in range(2)] == [True, True]
