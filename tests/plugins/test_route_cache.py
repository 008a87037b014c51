"""A handler file's routes are cached, and the cache is used only while the file is unchanged."""

from __future__ import annotations

import marshal
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients import claude
from holdfast.errors import StateError
from holdfast.files import cache, document, file_memo, trust
from holdfast.plugins import bytecode_cache, loader, route_cache, scan, strictness
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


def test_an_unchanged_file_is_not_read_again(root: Path, read: list[str]) -> None:
    """The second look reads nothing and finds the same."""
    write(paths.user_handlers(), "a.py")
    write(paths.user_handlers(), "b.py", "OFF_BY_DEFAULT = True\nRUNS_WHEN = {'reading': ['hold']}\ndef on_stop(): 1\n")
    first = find(root)
    assert read == ["a.py", "b.py"] or read == ["b.py", "a.py"]

    second = find(root)

    assert len(read) == 2
    assert [replace(file, held=None) for file in first] == [replace(file, held=None) for file in second]
    assert all(file.held is None for file in second)
    assert [file.source for file in second] == [file.held for file in first]


def test_a_file_that_was_loaded_in_advance_is_not_read_for_an_event(root: Path, read: list[str]) -> None:
    """A waiting process has it; what the event's own look at the folder says decides whether it is still that one."""
    path = write(paths.user_handlers(), "a.py")
    find(root)
    (file,) = find(root)
    loader.keep(file)
    path.unlink()
    (call,) = loader.plan(claude, [file], "Stop", None)
    assert vars(loader.load(call.file))["on_stop"]
    assert read == ["a.py"]


def test_only_the_file_that_is_called_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many unchanged files, planning reads the one that matches, and an event for nobody reads none."""
    for number in range(5):
        write(
            paths.user_handlers(), f"h{number}.py", GUARD.replace("Bash", f"Tool{number}").replace(", strict=True", "")
        )
    find(root)
    opened: list[str] = []
    real = document.read

    def reading(path: Path, *limits: int, **options: Any) -> tuple[bytes, float]:
        opened.extend([path.name] if path.suffix == ".py" else [])
        return real(path, *limits, **options)

    monkeypatch.setattr(document, "read", reading)
    monkeypatch.setattr(route_cache, "_parse", lambda files, apart: pytest.fail("nothing has changed"))

    assert find(root, "Stop") == []
    assert [file.name for file in find(root, "PreToolUse", "Tool3")] == ["h3"]
    assert opened == []
    assert called(find(root, "PreToolUse"), "PreToolUse", "Tool3") == ["h3"]
    assert opened == ["h3.py"]


def test_an_edit_that_keeps_size_and_time_is_noticed(root: Path) -> None:
    """Whoever sets the time of the last change back cannot set back when that was done."""
    path = write(paths.user_handlers(), "a.py", STOP)
    before = path.stat()
    assert called(find(root)) == ["a"]

    path.write_text(STOP.replace("on_stop", "on_done"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
    (file,) = find(root)
    assert called([file]) == []
    assert "isn't the name of an event" in file.faults[0]


def test_a_file_that_was_just_written_is_read_every_time(
    root: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two edits within one tick of the clock leave one stamp: until it is older, it is not believed."""
    monkeypatch.setattr(file_memo, "SETTLED_NS", 60 * 10**9)
    write(paths.user_handlers(), "a.py")
    find(root)
    find(root)
    assert read == ["a.py", "a.py"]
    assert not shelf().exists()


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


def test_trust_given_later_counts_though_the_file_is_known(root: Path) -> None:
    """What is kept says nothing about trust."""
    path = write(paths.project_handlers(root), "a.py")
    assert called(find(root)) == []
    trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})
    assert called(find(root)) == ["a"]
    trust.revoke(root)
    assert called(find(root, "Stop")) == []


def test_a_guard_in_a_known_file_is_remembered_and_refuses_when_it_breaks(root: Path) -> None:
    """Strict routes are remembered at any event, also when the file was first seen before it was trusted."""
    path = write(paths.project_handlers(root), "guard.py", GUARD)
    find(root)
    trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})
    find(root, "Stop")
    assert strictness.recall(path)

    path.write_text("def broken(:\n")
    trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})
    for _ in range(2):
        (call,) = loader.plan(claude, find(root, "PreToolUse", "Bash"), "PreToolUse", "Bash")
        assert call.route.broken


def test_an_event_hears_of_namesakes_and_of_what_is_at_fault(root: Path) -> None:
    """A nearer file that does not want the event still replaces a farther one; a file at fault is told of always."""
    write(paths.shipped("handlers"), "a.py")
    write(paths.shipped("handlers"), "z.py")
    write(paths.user_handlers(), "a.py", GUARD.replace(", strict=True", ""))
    write(paths.user_handlers(), "bad.py", "def f(:\n")
    find(root)

    files = find(root, "Stop")

    assert called(files) == ["z"]
    assert [(file.place, file.name) for file in files] == [
        *(("shipped", "a"), ("shipped", "z")),
        *(("user", "a"), ("user", "bad")),
    ]


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


def test_what_is_gone_is_left_out(root: Path) -> None:
    """A deleted file is not found, and no longer kept once anything is written."""
    path = write(paths.user_handlers(), "a.py")
    find(root)
    path.unlink()
    write(paths.user_handlers(), "b.py")
    assert [file.name for file in find(root)] == ["b"]
    assert list(route_cache._shelf(shelf())[1]) == ["b.py"]


def test_it_is_the_users_alone(root: Path) -> None:
    """The folder is private, and so is each file."""
    write(paths.user_handlers(), "a.py")
    loader.load(loader.plan(claude, find(root), "Stop", None)[0].file)
    assert cache.folder().stat().st_mode & 0o777 == 0o700
    assert {path.suffix for path in cache.folder().iterdir()} == {".scan", ".code"}
    assert {path.stat().st_mode & 0o777 for path in cache.folder().iterdir()} == {0o600}


def test_without_a_place_to_keep_it_everything_works(root: Path) -> None:
    """Where nothing can be kept, files are read as ever."""
    paths.ensure_private(paths.state_dir())
    cache.folder().write_text("in the way")
    write(paths.user_handlers(), "a.py", STOP + "TRUTH = 1\n")
    for _ in range(2):
        (call,) = loader.plan(claude, find(root), "Stop", None)
        assert loader.load(call.file).TRUTH == 1


def test_a_folder_others_may_write_into_is_not_used(root: Path) -> None:
    """Who can plant a file there could plant code."""
    paths.ensure_private(cache.folder()).chmod(0o777)
    write(paths.user_handlers(), "a.py")
    find(root)
    assert list(cache.folder().iterdir()) == []


def test_code_is_compiled_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second load compiles nothing; other bytes, and the same bytes elsewhere, are other code."""
    path = write(paths.user_handlers(), "a.py", STOP + "TRUTH = 1\n")
    loader.load(find(root)[0])
    monkeypatch.setattr(bytecode_cache, "compile", lambda *a, **k: pytest.fail("compiled again"), raising=False)
    assert loader.load(find(root)[0]).TRUTH == 1

    monkeypatch.delattr(bytecode_cache, "compile")
    path.write_text(STOP + "TRUTH = 2\n")
    assert loader.load(find(root)[0]).TRUTH == 2
    there = write(paths.project_handlers(root), "c.py", STOP + "TRUTH = 2\n")
    assert bytecode_cache.code(there.read_bytes(), there).co_filename == str(there)


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


def _look(folder: Path, number: int) -> None:
    file_memo.SETTLED_NS = -(10**18)
    for _ in range(20):
        for name in ("a", "b", "c"):
            (folder / f"{name}{number}.py").write_text(STOP)
        assert not route_cache.look(folder, route_cache.Rules(claude)).unreadable
        assert all(isinstance(entry.digest, str) for entry in route_cache._shelf(route_cache._file(folder))[1].values())


@pytest.mark.slow
def test_many_writers_leave_a_whole_file(root: Path, tmp_path: Path) -> None:
    """Processes that look at one folder at once each write all they know in one step; nobody reads half of it."""
    folder = tmp_path / "crowd"
    folder.mkdir()
    crowd: list[Any] = [multiprocessing.get_context("fork").Process(target=_look, args=(folder, n)) for n in range(4)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join(60)
    assert [each.exitcode for each in crowd] == [0] * 4
    route_cache.look(folder, route_cache.Rules(claude))
    assert set(route_cache._shelf(route_cache._file(folder))[1]) == {path.name for path in folder.iterdir()}
    assert not list(cache.folder().glob(".*.tmp"))


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


def test_a_file_that_is_trusted_before_it_was_parsed_runs(root: Path) -> None:
    """What an event hashed only is parsed as soon as it counts."""
    path = write(paths.project_handlers(root), "theirs.py")
    find(root, "Stop")
    trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})

    assert called(find(root, "Stop")) == ["theirs"]


@pytest.mark.parametrize("place", ["user", "project"])
def test_a_large_file_is_refused_before_it_is_parsed(root: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The refusal names the limit and what to do."""
    folder = paths.user_handlers() if place == "user" else paths.project_handlers(root)
    write(folder, "large.py", STOP + "#" * route_cache.SIZE_LIMIT_BYTES)
    parsed = parses(monkeypatch)

    (file,) = find(root)

    assert file.faults == ("is larger than 32768 bytes: split it",)
    assert parsed == []


def test_a_trusted_guard_that_grows_too_large_refuses(root: Path) -> None:
    """Until it is small again, or trust is taken back."""
    path = write(paths.project_handlers(root), "guard.py", GUARD)
    trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})
    find(root)
    path.write_text(GUARD + "#" * route_cache.SIZE_LIMIT_BYTES)

    (call,) = loader.plan(claude, find(root, "PreToolUse", "Bash"), "PreToolUse", "Bash")
    assert call.route.broken.startswith("its file is larger than 32768 bytes: split it, or do without it")

    trust.revoke(root)
    assert called(find(root, "PreToolUse", "Bash"), "PreToolUse", "Bash") == []


@pytest.mark.parametrize("place", ["user", "project"])
def test_a_crowded_folder_costs_as_much_as_a_full_one(root: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Two hundred files count, those first that are known or trusted; the folder is named once."""
    monkeypatch.setattr(route_cache, "COUNT_LIMIT", 5)
    folder = paths.user_handlers() if place == "user" else paths.project_handlers(root)
    guard = write(folder, "zz_guard.py", GUARD)
    trust.grant(
        root, {trust.relative_name(root, guard): trust.digest(guard.read_bytes())} if place == "project" else {}
    )
    assert called(find(root), "PreToolUse", "Bash") == ["zz_guard"]
    for number in range(50):
        write(folder, f"a{number:02}.py")

    files = find(root)

    assert {file.name for file in files if file.routes} == {"zz_guard", "a00", "a01", "a02", "a03"}
    assert [file.faults[0] for file in files if not file.routes] == [
        "holds 51 handler files: only 5 handlers run, those known before, then the first by name"
    ]
    assert called(find(root, "PreToolUse", "Bash"), "PreToolUse", "Bash") == ["zz_guard"]
    assert len(list(route_cache._names(route_cache.Folder(folder), route_cache.Rules(claude)))) == 5


def test_a_folder_of_no_handlers_hides_none_that_is_known(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not even all names are read, a guard that is known is looked for by its name."""
    write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    monkeypatch.setattr(route_cache, "LIST_LIMIT", 0)

    assert called(find(root, "PreToolUse", "Bash"), "PreToolUse", "Bash") == ["guard"]


def test_a_folder_whose_names_are_not_all_read_says_which_count(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first by name need not be among those that were read."""
    for name in ("a.py", "b.py", "c.py"):
        write(paths.user_handlers(), name)
    monkeypatch.setattr(route_cache, "LIST_LIMIT", 2)

    files = find(root)

    assert len([file for file in files if file.routes]) == 2
    assert [file.faults[0] for file in files if not file.routes] == [
        "holds at least 2 files: only 200 handlers run, those known before, then the first by name among the "
        "2 that the system lists first"
    ]


@pytest.mark.parametrize("linked", ["file", "handlers", ".claude"])
def test_no_link_leads_out_of_the_project(root: Path, tmp_path: Path, linked: str) -> None:
    """A file, the folder or `.claude` itself: what it leads to is neither read nor run, trusted or not."""
    there = write(tmp_path / "there" / "handlers", "theirs.py").parent
    own = paths.project_handlers(root)
    trust.grant(root, {".claude/handlers/theirs.py": trust.digest(STOP.encode())})
    if linked == "file":
        (own / "theirs.py").symlink_to(there / "theirs.py")
    elif linked == "handlers":
        own.rmdir()
        own.symlink_to(there)
    else:
        own.rmdir()
        own.parent.rmdir()
        own.parent.symlink_to(there.parent)

    files = find(root)

    assert called(files) == []
    assert [f"leads out of {root} through a symbolic link" in each for file in files for each in file.faults] == [True]
    assert [file.path for file in files] == [own / "theirs.py" if linked == "file" else own]


def test_links_within_the_project_and_of_the_user_are_followed(root: Path, tmp_path: Path) -> None:
    """Dotfiles lie where their owner likes; a project's link stays in it."""
    dotfiles = write(tmp_path / "dotfiles", "mine.py").parent
    paths.user_handlers().parent.mkdir(parents=True, exist_ok=True)
    paths.user_handlers().symlink_to(dotfiles)
    inner = write(root / "tools", "theirs.py")
    (paths.project_handlers(root) / "theirs.py").symlink_to(inner)
    trust.grant(root, {".claude/handlers/theirs.py": trust.digest(STOP.encode())})

    assert called(find(root)) == ["mine", "theirs"]
