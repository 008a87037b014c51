"""A handler file's routes are cached, and the cache is used only while the file is unchanged."""

from __future__ import annotations

import marshal
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients import claude
from holdfast.errors import StateError
from holdfast.files import cache, file_memo, trust
from holdfast.plugins import bytecode_cache, loader, route_cache, scan
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path
    from types import CodeType

    from holdfast.plugins.loader import HandlerFile

STOP = "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event): return None\n"
GUARD = 'from holdfast import hookimpl\n@hookimpl(match="Bash", strict=True)\ndef on_pre_tool_use(event): ...\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without shipped handlers, in which every file counts as old enough to be known by its stamp."""
    monkeypatch.setattr(file_memo, "SETTLED_NS", -(10**18))
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    (tmp_path / "project" / ".claude" / "handlers").mkdir(parents=True)
    bytecode_cache._ready.clear()
    paths.ensure_private(paths.state_dir())
    return tmp_path / "project"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read and scanned from now on."""
    names: list[str] = []
    real = route_cache._read

    def reading(path: Path, within: Path | None) -> route_cache.Found:
        names.append(path.name)
        return real(path, within)

    monkeypatch.setattr(route_cache, "_read", reading)
    return names


def write(folder: Path, name: str, text: str = STOP) -> Path:
    """Write a handler file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def find(root: Path, *asked: str) -> list[HandlerFile]:
    """Find the handler files as the engine does, in a process that remembers nothing."""
    route_cache._shelves._known.clear()
    return loader.find(claude, Workspace.open(root), *asked)


def shelf() -> Path:
    """Return the file in which the user's handlers are kept."""
    return route_cache._file(paths.user_handlers())


def called(files: list[HandlerFile], event: str = "Stop", value: str | None = None) -> list[str]:
    """Return which files an event calls."""
    return [call.file.name for call in loader.plan(claude, files, event, value)]


def test_a_file_that_lies_about_its_stamp_runs_as_it_is(root: Path) -> None:
    """Even where an edit leaves no trace in the status, the bytes are compared before they run."""
    path = write(paths.user_handlers(), "a.py")
    find(root)
    path.write_text(STOP + "TRUTH = 'new'\n")
    known = route_cache._shelf(shelf())[1]["a.py"]
    route_cache._keep(
        shelf(),
        path.parent,
        route_cache._rules(claude.SOURCES),
        {"a.py": known._replace(stamp=file_memo.stamp(path.stat()))},
    )

    (file,) = find(root)
    with pytest.raises(StateError, match="changed"):
        _ = file.source
    (call,) = loader.plan(claude, [file], "Stop", None)

    assert call.file.digest == trust.digest(path.read_bytes())
    assert loader.load(call.file).TRUTH == "new"


def test_an_untrusted_file_is_never_run_through_what_is_kept(root: Path) -> None:
    """A trusted file is known and its code kept; changed under its old stamp, it is untrusted and does not run."""
    path = write(paths.project_handlers(root), "a.py")
    trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})
    (call,) = loader.plan(claude, find(root), "Stop", None)
    loader.load(call.file)
    path.write_text(STOP + "raise SystemExit\n")
    known = route_cache._shelf(route_cache._file(path.parent))[1]["a.py"]
    planted = known._replace(stamp=file_memo.stamp(path.stat()))
    route_cache._keep(
        route_cache._file(path.parent), path.parent, route_cache._rules(claude.SOURCES), {"a.py": planted}
    )

    assert called(find(root)) == []
    assert called(find(root, "Stop")) == []


@pytest.mark.parametrize(
    "harm", ["empty", "cut", "flipped", "not ours", "other rules", "other folder", "link", "folder"]
)
def test_what_is_kept_counts_only_whole_and_our_own(
    root: Path, read: list[str], harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anything else in its place is as good as nothing, and costs no event."""
    write(paths.user_handlers(), "a.py")
    find(root)
    file, content = shelf(), shelf().read_bytes()
    if harm == "empty":
        file.write_bytes(b"")
    elif harm == "cut":
        file.write_bytes(content[:-1])
    elif harm == "flipped":
        file.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    elif harm == "not ours":
        file.chmod(0o666)
    elif harm == "other rules":
        monkeypatch.setattr(route_cache, "_rules", lambda sources: ("another version",))
    elif harm == "other folder":
        (cache.folder() / "other.scan").write_bytes(content)
        monkeypatch.setattr(route_cache, "_file", lambda path: cache.folder() / "other.scan")
    elif harm == "link":
        file.rename(tmp_path / "moved")
        file.symlink_to(tmp_path / "moved")
    else:
        file.unlink()
        file.mkdir()
    read.clear()

    assert called(find(root)) == ["a"]
    assert read == ["a.py"]


def test_it_is_the_users_alone(root: Path) -> None:
    """The folder is private, and so is each file."""
    write(paths.user_handlers(), "a.py")
    loader.load(loader.plan(claude, find(root), "Stop", None)[0].file)
    assert cache.folder().stat().st_mode & 0o777 == 0o700
    assert {path.suffix for path in cache.folder().iterdir()} == {".scan", ".code"}
    assert {path.stat().st_mode & 0o777 for path in cache.folder().iterdir()} == {0o600}


def test_a_folder_others_may_write_into_is_not_used(root: Path) -> None:
    """Who can plant a file there could plant code."""
    paths.ensure_private(cache.folder()).chmod(0o777)
    write(paths.user_handlers(), "a.py")
    find(root)
    assert list(cache.folder().iterdir()) == []


@pytest.mark.parametrize("body", [b"", b"nonsense", b"marshalled", b"text"])
def test_kept_code_counts_only_for_its_bytes(root: Path, tmp_path: Path, body: bytes) -> None:
    """A file that is whole but holds no code, or another's, is compiled over."""
    path = write(paths.user_handlers(), "a.py", STOP + "TRUTH = 1\n")
    key = bytecode_cache._key(trust.digest(path.read_bytes()), path)
    evil: CodeType = compile(f"open({str(tmp_path / 'ran')!r}, 'w')", "x", "exec")
    bodies: dict[bytes, bytes] = {
        b"marshalled": b"x" * len(key) + b"\n" + marshal.dumps(evil),
        b"text": key + b"\n" + marshal.dumps("x"),
    }
    cache.write(bytecode_cache._file(key), bodies.get(body, key + b"\n" + body))

    assert loader.load(find(root)[0]).TRUTH == 1
    assert not (tmp_path / "ran").exists()


def test_a_process_that_forks_hands_on_what_it_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `preload` neither the shelf nor the code is read from a file; a change is noticed all the same."""
    path = write(paths.user_handlers(), "a.py", STOP + "TRUTH = 1\n")
    loader.load(find(root)[0])
    loader.preload()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "read", lambda path: pytest.fail("read again") if path.exists() else None)
        (call,) = loader.plan(claude, loader.find(claude, Workspace.open(root), "Stop"), "Stop", None)
        assert loader.load(call.file).TRUTH == 1
        loader.preload()

    path.write_text(STOP + "TRUTH = 2\n")
    (call,) = loader.plan(claude, loader.find(claude, Workspace.open(root), "Stop"), "Stop", None)
    assert loader.load(call.file).TRUTH == 2


# --- files that nobody has vouched for -----------------------------------------------------------------------------


def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the names of the files that are parsed from now on."""
    names: list[str] = []
    real = route_cache._parse

    def parsing(files: dict[str, route_cache.Found], rules: route_cache.Rules) -> dict[str, bool]:
        names.extend(files)
        return real(files, rules)

    monkeypatch.setattr(route_cache, "_parse", parsing)
    return names


def explodes(monkeypatch: pytest.MonkeyPatch, how: Any) -> None:
    """Have the parser do something terrible with every text that holds the word bomb."""
    real = scan.scan
    monkeypatch.setattr(scan, "scan", lambda source, hooks: how() if b"bomb" in source else real(source, hooks))


def burn() -> scan.Scan:
    """Be busy in C, where no signal handler of Python's gets a turn."""
    return scan.Scan(faults={"": str(sum(range(10**13)))})


def crash() -> scan.Scan:
    """End without a word, as a parser does that meets a fault of its own."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.mark.parametrize("how", [burn, crash])
def test_a_file_that_stuns_the_parser_costs_once(root: Path, monkeypatch: pytest.MonkeyPatch, how: Any) -> None:
    """It is at fault by name, the others are not, and nobody parses it again."""
    monkeypatch.setattr(route_cache, "PARSE_CPU_S", 0.05)
    explodes(monkeypatch, how)
    for name in ("a.py", "c.py"):
        write(paths.user_handlers(), name)
    write(paths.user_handlers(), "b.py", f"# bomb\n{STOP}")

    files = {file.name: file.faults for file in find(root)}

    assert (files["a"], files["c"]) == ((), ())
    assert "cannot be parsed" in files["b"][0]
    again = parses(monkeypatch)
    assert {file.name: file.faults for file in find(root)} == files
    assert again == []


def test_a_file_that_is_not_parsed_in_time_is_parsed_at_the_next_event(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is too busy leaves no verdict behind."""
    write(paths.user_handlers(), "slow.py", f"# bomb\n{STOP}")
    with monkeypatch.context() as patch:
        patch.setattr(route_cache, "OWN_PARSE_TIMEOUT_S", 0.05)
        explodes(patch, lambda: time.sleep(600))
        (file,) = find(root, "Stop")
    assert "was not parsed" in file.faults[0]

    assert called(find(root, "Stop")) == ["slow"]


def test_an_event_does_not_parse_what_nobody_trusts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hashes the project's files once; who wants to see them all has them parsed, in a process of its own."""
    path = write(paths.project_handlers(root), "theirs.py")
    parsed = parses(monkeypatch)

    assert [file.trusted for file in find(root, "Stop")] == [False]
    assert find(root, "Stop") == []
    assert parsed == []
    assert [route.event for file in find(root) for route in file.routes] == ["Stop"]
    assert parsed == ["theirs.py"]
    trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})
    assert called(find(root, "Stop")) == ["theirs"]
    assert parsed == ["theirs.py"]


@pytest.mark.parametrize("place", ["user", "project"])
def test_a_large_file_is_refused_before_it_is_parsed(root: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The refusal names the limit and what to do."""
    folder = paths.user_handlers() if place == "user" else paths.project_handlers(root)
    write(folder, "large.py", STOP + "#" * route_cache.SIZE_LIMIT_BYTES)
    parsed = parses(monkeypatch)

    (file,) = find(root)

    assert file.faults == ("is larger than 32768 bytes: split it",)
    assert parsed == []


def test_a_folder_of_no_handlers_hides_none_that_is_known(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not even all names are read, a guard that is known is looked for by its name."""
    write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    monkeypatch.setattr(route_cache, "LIST_LIMIT", 0)

    assert called(find(root, "PreToolUse", "Bash"), "PreToolUse", "Bash") == ["guard"]
