"""Logging never fails an event."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

import pytest

from holdfast import log, paths
from holdfast.files.redact import MASK, redact

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython


def test_one_line_with_time_level_and_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line holds UTC time, level, message and fields."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52Z")

    log.write("warning", "handler failed", handler="a.py", reason="no such key", empty="")

    assert log.tail(9) == [
        "2025-12-09T14:30:52.000000Z warning handler failed handler=a.py reason='no such key' empty=''"
    ]


def test_a_line_names_its_project_and_is_found_by_it(tmp_path: Path) -> None:
    """All projects share the log: a line names the one that was set last; what names none is everyone's."""
    here, there = tmp_path / "here", tmp_path / "over there's"
    log.write("error", "nobody's")
    log.set_project(str(there))
    log.write("error", "of a hook")
    log.set_project(here)
    log.write("error", "x" * 9_000)
    log.write("error", "of here", project="/forged")

    assert log.tail(1)[0].endswith(f" error of here project=/forged project={here}")
    assert [line.split()[2] for line in log.tail(9, project=here)] == ["nobody's", "x" * 8_192 + "…", "of"]
    assert [line.split(" ", 2)[2] for line in log.tail(9, project=there)] == [
        "nobody's",
        f'of a hook project="{there}"',
    ]
    assert len(log.tail(2, project=here)) == 2


def test_the_log_is_private() -> None:
    """Only the user may read the log."""
    log.write("info", "x")

    assert stat.S_IMODE(paths.log_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(paths.log_file().parent.stat().st_mode) == 0o700


def test_secrets_are_redacted_in_messages_and_fields() -> None:
    """Neither a token in a text nor the value of a secret-like field reaches the disk."""
    log.write("error", "sent Bearer abcdefgh12345678", password="hunter2", url="https://u:hunter2@example.org/")

    text = paths.log_file().read_text()
    assert "hunter2" not in text
    assert "abcdefgh" not in text


def test_secrets_are_redacted_before_anything_is_escaped() -> None:
    """A value ends at a backslash, so behind an escape the rest of it would stay."""
    secret = "DB_PASSWORD=hun\ater2"
    assert "ter2" in redact(secret.encode("unicode_escape").decode()), "this text no longer shows the order"
    log.set_project(f"/srv/{secret}")

    log.write("error", f"{secret} for good", field=secret, quoted=f"set {secret}")

    masked = f"DB_PASSWORD={MASK}"
    assert log.tail(1)[0].endswith(
        f" error {masked} for good field={masked} quoted='set {masked}' project=/srv/{masked}"
    )
    assert log.written(secret) == masked


def test_a_message_cannot_forge_a_line() -> None:
    """Newlines, escapes, bidirectional marks and lone surrogates are written as escapes."""
    log.write("info", "a\nb\x1b[31m\u2028\u202e\ud800", field="c\r\nd")

    assert len(log.tail(9)) == 1
    assert r"a\nb\x1b[31m\u2028\u202e\ud800" in log.tail(1)[0]
    assert log.tail(1)[0].isprintable()


def test_levels_below_the_lowest_are_left_out() -> None:
    """Debug lines are left out until asked for."""
    log.write("debug", "one")
    log.set_level("debug")
    log.write("debug", "two")
    log.set_level("error")
    log.write("warning", "three")

    assert [line.split()[-1] for line in log.tail(9)] == ["two"]


def test_long_messages_are_shortened() -> None:
    """A huge message takes a bounded line."""
    log.write("info", "x" * 10_000_000)

    assert len(paths.log_file().read_bytes()) < 9000


def test_a_full_file_is_rotated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the limit the file moves to `.1` and the tail reads across both."""
    monkeypatch.setattr(log, "LIMIT_BYTES", 200)
    for number in range(8):
        log.write("info", f"line-{number}")

    older = paths.log_file().with_name("holdfast.log.1")
    assert older.stat().st_size < 300
    assert paths.log_file().stat().st_size < 300
    last = [line.rpartition("-")[2] for line in log.tail(3)]
    assert last == ["5", "6", "7"]


def _file_in_the_way(home: Path) -> None:
    paths.state_dir().parent.mkdir(parents=True)
    paths.state_dir().write_text("")


def _pipe_in_the_way(home: Path) -> None:
    paths.log_file().parent.mkdir(parents=True)
    os.mkfifo(paths.log_file())


def _link_in_the_way(home: Path) -> None:
    paths.log_file().parent.mkdir(parents=True)
    (home / "victim").write_text("kept")
    paths.log_file().symlink_to(home / "victim")


@pytest.mark.parametrize("obstacle", [_file_in_the_way, _pipe_in_the_way, _link_in_the_way])
def test_a_log_that_cannot_be_written_costs_nothing(
    obstacle: object, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With a file, a pipe or a link in its place the log stays silent, and no link is followed."""
    assert callable(obstacle)
    obstacle(home)

    log.write("error", "lost")

    assert capfd.readouterr() == ("", "")
    assert not (home / "victim").exists() or (home / "victim").read_text() == "kept"


_MANY = """
import os, sys
from holdfast import log
children = []
for number in range(20):
    if not (child := os.fork()):
        for line in range(50):
            log.write("info", f"process-{number}-line-{line}-" + "x" * 500)
        os._exit(0)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


def test_lines_of_many_processes_never_mix(run_python: RunPython) -> None:
    """A thousand lines from twenty processes are all there and whole."""
    run_python(_MANY)

    lines = log.tail(2000)
    assert len(lines) == 1000
    assert all(re.fullmatch(r"\S+ info process-\d+-line-\d+-x{500}", line) for line in lines)


def test_rotation_by_many_processes_keeps_two_whole_files(run_python: RunPython) -> None:
    """When many processes meet a full log, it is rotated once and no fresh log is thrown away."""
    run_python("from holdfast import log\nlog.LIMIT = 300_000\n" + _MANY)

    lines = log.tail(2000)
    assert len(lines) == 1000
    assert all(re.fullmatch(r"\S+ info process-\d+-line-\d+-x{500}", line) for line in lines)
