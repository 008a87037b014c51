"""A handler file's text is parsed once for each content, and only if somebody may run it or asks to see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.files import cache, trust
from holdfast.plugins import discovery, index, scan
from holdfast.sessions.workspace import Workspace
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

STOP = "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event): return None\n"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The texts that are parsed from now on, without those of shipped handlers."""
    texts: list[bytes] = []
    real = scan.scan
    shipped = {path.read_bytes() for path in paths.shipped("handlers").glob("*.py")}

    def scanning(source: bytes, hooks: object) -> scan.Scan:
        if b"explodes" in source:
            raise KeyError("explodes")
        if source not in shipped:
            texts.append(source)
        return real(source, claude)

    monkeypatch.setattr(scan, "scan", scanning)
    paths.ensure_private(paths.state_dir())
    return texts


def write(folder: Path, name: str, text: str = STOP) -> Path:
    """Write a handler file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def events(root: Path, *, for_event: bool = True) -> dict[str, list[str]]:
    """Return the files that aren't shipped, each with the events that it answers, as a new process finds them."""
    index._index._known.clear()
    files = discovery.find(claude, Workspace.open(root), for_event=for_event)
    return {file.name: [route.event for route in file.routes] for file in files if file.place != "shipped"}


def test_a_content_is_parsed_once(tmp_path: Path, parsed: list[bytes]) -> None:
    """Until it changes; a file that is gone leaves the index with the next change."""
    path, other = write(paths.user_handlers(), "a.py"), write(paths.user_handlers(), "b.py", STOP + "# other\n")
    for _ in range(3):
        assert events(tmp_path) == {"a": ["Stop"], "b": ["Stop"]}
    assert len(parsed) == 2
    path.write_text(STOP.replace("on_stop", "on_setup"))
    other.unlink()
    assert events(tmp_path) == events(tmp_path) == {"a": ["Setup"]}
    assert len(parsed) == 3
    (file,) = cache.folder().glob("*.index")
    assert b"b.py" not in file.read_bytes()


@each_row(
    "content", [b"", b"{", b"[]", b'{"a": 1}', b'{"/a.py": {"digest": "", "declares": {}}}', b"[" * 9_999, b"\xff"]
)
def test_a_broken_index_costs_time_only(tmp_path: Path, content: bytes) -> None:
    """It is made again."""
    paths.ensure_private(paths.state_dir())
    write(paths.user_handlers(), "a.py")
    events(tmp_path)
    (file,) = cache.folder().glob("*.index")
    cache.write(file, content)
    assert events(tmp_path) == {"a": ["Stop"]}
    assert b"a.py" in file.read_bytes()


def test_an_event_parses_nothing_of_a_project_that_nobody_trusts(tmp_path: Path, parsed: list[bytes]) -> None:
    """A command that lists the handlers does, and what it found counts once the file is trusted."""
    path = write(paths.project_handlers(tmp_path), "theirs.py")
    assert events(tmp_path) == {"theirs": []}
    assert parsed == []
    assert events(tmp_path, for_event=False) == {"theirs": ["Stop"]}
    assert events(tmp_path) == {"theirs": []}
    trust.grant(tmp_path, {trust.relative_name(tmp_path, path): trust.digest(path.read_bytes())})
    assert events(tmp_path) == {"theirs": ["Stop"]}
    assert len(parsed) == 1


def test_a_file_that_no_parser_foresaw_costs_itself_only(tmp_path: Path, parsed: list[bytes]) -> None:
    """It has a fault; the others answer."""
    write(paths.user_handlers(), "a.py")
    write(paths.user_handlers(), "b.py", "# explodes\n")
    assert events(tmp_path) == {"a": ["Stop"], "b": []}
    files = discovery.find(claude, Workspace.open(tmp_path))
    assert [file.faults for file in files if file.faults] == [("cannot be read (KeyError: 'explodes')",)]


def test_another_version_of_the_code_reads_the_files_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two installations that share a state folder don't read each other's index."""
    paths.ensure_private(paths.state_dir())
    write(paths.user_handlers(), "a.py")
    events(tmp_path)
    monkeypatch.setattr(index, "_reader", lambda sources: "other")
    assert events(tmp_path) == {"a": ["Stop"]}
    assert len(list(cache.folder().glob("*.index"))) == 2
