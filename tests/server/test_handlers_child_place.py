"""What a process takes over from the caller for which it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.server.handlers_child import Place

if TYPE_CHECKING:
    from tests.conftest import RunPython

TAKE = """
import json, os, subprocess, sys, time
from pathlib import Path
from holdfast.process import caller
from holdfast.server.handlers_child import Place
environ = {name.encode(): value.encode() for name, value in json.loads(sys.argv[1]).items()}
place = Place(environ, os.fsencode(sys.argv[2]), 0o027, 4711)
place.enter()
place.take()
mask = os.umask(0)
same = {os.fsdecode(name): os.fsdecode(value) for name, value in os.environb.items()} == dict(os.environ)
child = subprocess.run(["/usr/bin/env"], capture_output=True, text=True).stdout.splitlines()
print(json.dumps({"environ": dict(os.environ), "same": same, "child": sorted(child), "mask": mask,
                  "folder": os.getcwd(), "process": caller(),
                  "zone": time.strftime("%Z"), "home": str(Path.home())}))
"""


@pytest.fixture
def took(run_python: RunPython, tmp_path: Path) -> Any:
    """Take a place in a fresh process, with some variables; return what it has then."""

    def take(**environ: str) -> Any:
        return json.loads(run_python(TAKE, json.dumps(environ), tmp_path))

    return take


def test_all_of_it_is_taken(took: Any, tmp_path: Path) -> None:
    """Its environment and no variable more, in Python and in what is started; folder, umask and process."""
    given = {"HOME": "/home/other", "ODD": "a=b \u00fc", "EMPTY": ""}
    found = took(**given)

    assert found["environ"] == given
    assert found["same"]
    assert found["child"] == sorted(f"{name}={value}" for name, value in given.items())
    assert (found["folder"], found["mask"], found["process"]) == (str(tmp_path), 0o027, 4711)
    assert found["home"] == "/home/other"


@pytest.mark.parametrize(("zone", "shown"), [("Asia/Tokyo", "JST"), ("UTC", "UTC")])
def test_its_time_zone_counts_at_once(took: Any, monkeypatch: pytest.MonkeyPatch, zone: str, shown: str) -> None:
    """Python asks the system for it only when it is told to."""
    monkeypatch.setenv("TZ", "America/New_York")
    assert took(TZ=zone)["zone"] == shown


def test_a_time_zone_that_it_does_not_have_goes(took: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own does not count."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert took()["zone"] != "JST"


def test_a_folder_that_cannot_be_entered_is_an_error(tmp_path: Path) -> None:
    """Who asks answers for itself then."""
    with pytest.raises(FileNotFoundError):
        Place({}, bytes(tmp_path / "gone"), 0o022, 1).enter()
    assert Path.cwd()
