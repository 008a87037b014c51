"""A rehearsal changes nothing anywhere, and loads only the shipped handlers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.files import cache
from holdfast.server import rehearsal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython

pytestmark = pytest.mark.slow

REHEARSE = """
import json, os, sys
changed, opened = [], []
def watch(name, given):
    if name == "open":
        path, mode, flags = given
        if isinstance(path, int):
            return  # what was opened before
        opened.append(str(path))
        if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            changed.append(f"{name} {path}")
    elif name in CHANGES or name.startswith(("subprocess.", "socket.", "shutil.", "tempfile.")):
        changed.append(f"{name} {given}")
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.chmod", "os.link", "os.symlink", "os.truncate",
           "os.utime", "os.kill", "os.killpg", "os.system", "os.exec", "os.posix_spawn", "os.chown", "os.putenv",
           "os.unsetenv", "os.fork"}
from holdfast import engine, log; from holdfast.server import rehearsal
from holdfast.files import file_memo
file_memo.SETTLED_NS = -(10**18)  # a text changed just now is parsed at each look, by a process of its own
rehearsal.warm_up()
sys.addaudithook(watch)
import sqlite3
connect = sqlite3.connect
databases = []
sqlite3.connect = lambda name, *rest, **named: databases.append(str(name)) or connect(name, *rest, **named)
before = dict(os.environ), os.getcwd()
told = []
plain = rehearsal._wired
rehearsal._wired = lambda *given: told.extend(found := plain(*given)) or found
with_errors = []
rehearsal.suppress = lambda *_: Loud()
class Loud:
    def __enter__(self): pass
    def __exit__(self, kind, error, trace):
        if error: with_errors.append(repr(error))
        return True
rehearsal.prepare()
rehearsal.of_engine()
rehearsal.of_handlers()
rehearsal.of_handlers()
print(json.dumps({"changed": changed, "opened": opened, "databases": databases, "errors": with_errors,
                  "answers": len(told), "faults": [each["fault"] for each in told if each["fault"]],
                  "same": before == (dict(os.environ), os.getcwd()), "project": log._root}))
"""
TIMES = ("before", "after")
LOUD = 'import os\nfrom holdfast import *\nopen(os.environ["HOME"] + "/loaded", "a")\n'
LOUD += "@hookimpl\ndef on_pre_tool_use(): open(os.environ['HOME'] + '/called', 'a')\n"


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file and folder below one, with its time and content."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")
    }


@pytest.fixture(params=["empty", "used"])
def home_before(request: pytest.FixtureRequest, home: Path) -> Path:
    """A home that has nothing of Holdfast's, and one with handlers, a log level and folders to write in."""
    if request.param == "used":
        paths.user_handlers().mkdir(parents=True)
        (paths.user_handlers() / "loud.py").write_text(LOUD)
        paths.user_config().write_text('[log]\nlevel = "debug"\n')
        for name in ("spare", "log", "status"):
            paths.ensure_private(paths.state_dir() / name)
    return home


@pytest.fixture
def rehearsed(home_before: Path, run_python: RunPython) -> Any:
    """What a process did that was warm and rehearsed, and the home as it was before that."""
    # What is compiled and found once lies there from then on.
    run_python(
        "from holdfast.files import file_memo; file_memo.SETTLED_NS = -(10**18)\n"
        "from holdfast.server import rehearsal; rehearsal.warm_up()"
    )
    before = tree(home_before)
    said = json.loads(run_python(REHEARSE))
    return said | {"before": before, "after": tree(home_before)}


def test_nothing_is_written_anywhere(rehearsed: Any) -> None:
    """Neither below the home nor elsewhere; nothing is started, no environment changed, no folder entered.

    But for what is kept of handlers' texts, where Holdfast keeps something already: any event writes the same there.
    """
    kept = str(cache.folder())
    assert [each for each in rehearsed["changed"] if not each.endswith(" /dev/null") and kept not in each] == []
    before, after = (
        {name: held for name, held in rehearsed[when].items() if not name.startswith(kept)} for when in TIMES
    )
    assert after == before
    assert rehearsed["same"]
    assert set(rehearsed["databases"]) <= {":memory:"}
    assert rehearsed["project"] == "", "no line of the log is about a project that nobody has"


def test_no_handler_of_the_users_is_loaded(rehearsed: Any, home_before: Path) -> None:
    """It might do anything."""
    assert not (home_before / "loaded").exists()
    assert not (home_before / "called").exists()


def test_a_rehearsal_runs_every_shipped_handler_without_a_fault(rehearsed: Any) -> None:
    """A rehearsal that fails early makes nothing ready: each handler answers, and nothing raises."""
    assert rehearsed["errors"] == []
    assert rehearsed["faults"] == []
    assert rehearsed["answers"] == 3 * len(rehearsal._PAYLOADS)  # by the engine once, by the handlers' child twice
