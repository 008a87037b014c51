"""New handlers are registered at the next start, and the user is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast import client, install, scopes

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

HANDLER = "from holdfast import hookimpl\n\n@hookimpl\ndef on_setup(event):\n    return None\n"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project whose local settings register the shipped handlers, and a client nobody asks."""
    monkeypatch.setattr(client, "version", lambda: None)
    project = holdfast_project({})
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


def test_in_the_middle_of_a_session_nothing_is_rewritten(project: HoldfastProject) -> None:
    """A compaction is no time to touch settings."""
    project.write({".claude/handlers/mine.py": HANDLER})
    project.trust()

    project.fire("SessionStart", "SessionStart-compact").assert_silent()

    assert "Setup" not in registered(project)


def test_a_handler_nobody_trusts_is_not_registered(project: HoldfastProject) -> None:
    """An untrusted file decides nothing, not even what is registered."""
    project.write({".claude/handlers/mine.py": HANDLER})

    assert "systemMessage" not in project.fire("SessionStart", "SessionStart-startup").reply

    assert "Setup" not in registered(project)


def test_settings_without_an_entry_of_ours_stay_as_they_are(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever did not install Holdfast there, or took it out, wanted that."""
    monkeypatch.setattr(client, "version", lambda: None)
    project = holdfast_project({".claude/settings.local.json": "{}", ".claude/handlers/mine.py": HANDLER})
    project.trust()

    project.fire("SessionStart", "SessionStart-startup").assert_silent()

    assert (project.root / ".claude" / "settings.local.json").read_text() == "{}"
