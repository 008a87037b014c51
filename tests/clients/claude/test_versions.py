"""Asking the installed client for its version never fails or hangs."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.clients.claude import versions
from holdfast.events import EVENTS, OLDEST_CLIENT_EVENTS
from tests import waiting


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
    assert versions.version() == version


@pytest.mark.parametrize(
    ("agent", "version"),
    [
        ("claude-code_2-1-329_harness", (2, 1, 329)),
        ("claude-code/2.1.400/harness", (2, 1, 400)),
        ("claude-code_2-1-197_agent", (2, 1, 197)),
        ("claude-code_2-1-329", (2, 1, 329)),
        ("claude-code_2-1-329beta", None),
        ("claude-code_x", None),
        ("other_9-9-9_agent", None),
        ("", None),
    ],
)
def test_a_session_tells_its_clients_version(
    claude: Path, monkeypatch: pytest.MonkeyPatch, agent: str, version: versions.Version | None
) -> None:
    """Hooks and the model's commands have it in their environment, so no program is asked; else the one on PATH is."""
    claude.write_text("#!/bin/sh\necho 2.1.5\n")
    monkeypatch.setenv("AI_AGENT", agent)
    assert versions.of_session() == version
    assert versions.version() == (version or (2, 1, 5))


def test_a_client_that_is_not_there_or_does_not_start_has_no_version(claude: Path) -> None:
    """Neither a missing program nor a dead one is an error."""
    assert versions.version() is None
    claude.unlink()
    assert versions.version() is None


def test_a_client_that_does_not_answer_is_given_up(claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time limit the answer is that nobody knows, also when a grandchild keeps the output open."""
    monkeypatch.setattr(versions, "_TIMEOUT_S", 0.2)
    claude.write_text("#!/bin/sh\n/bin/sleep 30 &\n/bin/sleep 30\n")
    assert versions.version() is None


def test_a_client_that_does_not_answer_leaves_no_process(claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it started ends with it: each session's start would leave some more."""
    monkeypatch.setattr(versions, "_TIMEOUT_S", 0.5)
    pipe = claude.with_name("pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    claude.write_text(f"#!/bin/sh\nexec 9>{pipe}\n/bin/sleep 60 &\n/bin/sleep 30\n")
    assert versions.version() is None

    def closed() -> bool:
        with suppress(BlockingIOError):  # as long as somebody holds the other end
            return os.read(reader, 1) == b""
        return False

    waiting.until(closed, "a process that it started is left")
    os.close(reader)


def test_the_events_that_a_client_knows() -> None:
    """Each newer event since its own version; of a client that nobody knows only the oldest one's events."""
    newer = {
        None: set(),
        (2, 1, 197): set(),
        (2, 1, 219): {"DirectoryAdded"},
        (2, 1, 250): {"DirectoryAdded"},
        (2, 1, 331): {"DirectoryAdded", "PreModelSwitch", "PostModelSwitch"},
        (2, 1, 332): set(EVENTS) - OLDEST_CLIENT_EVENTS,
        (3, 0, 0): set(EVENTS) - OLDEST_CLIENT_EVENTS,
    }
    assert {each: versions.known_events(each) - OLDEST_CLIENT_EVENTS for each in newer} == newer
