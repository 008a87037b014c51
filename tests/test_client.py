"""Asking the installed client for its version never stops anything."""

from pathlib import Path

import pytest

from holdfast import client
from holdfast.events import EVENTS, OLDEST_CLIENT_EVENTS


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program named claude, the only one on PATH, that fails until something is written into it."""
    path = tmp_path / "claude"
    path.write_text("#!/gone\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo '2.1.329 (Claude Code)'", (2, 1, 329)),
        ("echo 'a notice'; echo 2.1.5", (2, 1, 5)),
        ("printf '\\377 2.1.5'", (2, 1, 5)),
        ("echo nothing", None),
        ("echo 2.1.5; exit 1", None),
        (":", None),
    ],
)
def test_the_version_is_read_from_what_it_prints(
    claude: Path, script: str, version: tuple[int, int, int] | None
) -> None:
    """The first three-part number counts, of a call that went well."""
    claude.write_text(f"#!/bin/sh\n{script}\n")
    assert client.version() == version


def test_a_client_that_is_not_there_or_does_not_start_has_no_version(claude: Path) -> None:
    """Neither a missing program nor a dead one is an error."""
    assert client.version() is None
    claude.unlink()
    assert client.version() is None


def test_a_client_that_does_not_answer_is_given_up(claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time limit the answer is that nobody knows, also when a grandchild keeps the output open."""
    monkeypatch.setattr(client, "_PATIENCE", 0.2)
    claude.write_text("#!/bin/sh\n/bin/sleep 30 &\n/bin/sleep 30\n")
    assert client.version() is None


@pytest.mark.parametrize(
    ("version", "everything"), [(None, False), ((2, 1, 250), False), ((2, 1, 251), True), ((3, 0, 0), True)]
)
def test_from_which_version_on_every_event_is_known(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int] | None, everything: bool
) -> None:
    """Pre- and PostModelSwitch came last (client fact §1.1)."""
    monkeypatch.setattr(client, "version", lambda: version)
    assert client.knows_all_events() is everything


def test_the_known_events() -> None:
    """Without that certainty only the oldest client's events may be registered."""
    assert client.known_events(True) == set(EVENTS)
    assert client.known_events(False) == OLDEST_CLIENT_EVENTS
