"""A command that is killed after any of its writes leaves whole files, and the next commands finish its work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython

# For each boundary in turn, a child begins at a copy of the same project and is killed there (`survival.faulty`). Then
# the command runs again, as the person who typed it would do, and the next one after it. Without a kill, it ends.
_KILL_AT_EACH_WRITE = """
import contextlib, io, json, os, shutil, signal, sys
from itertools import count
from pathlib import Path

top, before, verbs = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
root, home = top / "project", top / "home"
os.environ |= {"HOLDFAST_PROJECT_DIR": str(root), "HOME": str(home)}

from holdfast import cli
from tools.survival import faulty

strokes = faulty.Strokes(top / "strokes")


def run(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            cli.main(list(words))
            code = 0
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue() + err.getvalue()


def apart(*words, stop=faulty.NEVER):
    strokes.expect(stop)
    child = os.fork()
    if not child:
        if stop != faulty.NEVER:
            faulty.strike(str(strokes.file))
        code, said = run(*words)
        (top / "said").write_text(said)
        os._exit(code)
    status = os.waitpid(child, 0)[1]
    if not os.WIFEXITED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        return None
    return os.WEXITSTATUS(status)


def whole():
    found = {}
    for path in sorted((root / ".claude/workflow-state").glob("*/*.json")):
        if path.parent.name != "extra":
            data = json.loads(path.read_bytes())
            found[f"{path.parent.name}/{path.name}"] = data
    return found


def shape():
    said = {}
    for name, data in whole().items():
        machine = data["state_machine"]
        phases = [[each["name"], each["status"]] for each in machine["phases"]]
        tasks = [[each["status"], each.get("commit_sha")] for each in data.get("tasks", [])]
        history = [each["event"] for each in data["history"]]
        said[name] = [data["workflow"]["status"], machine["current_phase"], phases, tasks, history]
    index = root / ".claude/workflow-state/index.json"
    rows = json.loads(index.read_bytes())["active_workflows"] if index.exists() else []
    return said | {"index": [each["id"] for each in rows]}


def reset():
    for place, kept in ((root, top / "kept"), (home, top / "kept-home")):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(kept, place, symlinks=True)


for words in before:
    if isinstance(words, dict):
        os.environ |= words
    else:
        assert apart("skills", *words) == 0, (words, (top / "said").read_text())
shutil.copytree(root, top / "kept", symlinks=True)
shutil.copytree(home, top / "kept-home", symlinks=True)
rows = []
for words in verbs:
    reset()
    assert apart("skills", *words) == 0, (words, (top / "said").read_text())
    wanted = shape()
    for stop in count(1):
        reset()
        code = apart("skills", *words, stop=stop)
        if code == 0:
            break
        assert code is None, (words, stop, (top / "said").read_text())
        whole()
        again = apart("skills", *words)
        said = (top / "said").read_text()
        apart("skills", "pending")
        found = shape()
        if found != wanted:
            rows.append([words, stop, again, said, found, wanted])
    rows.append([words, stop - 1])
print(json.dumps(rows))
"""
DEV = ["start", "dev", "--task", "Log in", "--item", "Add model", "--item", "Add login"]
BEGUN = [DEV, ["phase", "create_branch"], ["task", "1", "--start"]]
LATER = {"HOLDFAST_NOW": "2199-01-01T00:00:00Z"}
ENDED = [["start", "tdd", "--task", "Other"], ["abandon"]]
OLD = [*BEGUN, ["complete", "--all"], ["start", "tdd", "--task", "Old"], LATER]
SCENES: dict[str, tuple[list[Any], list[str]]] = {
    "start": (ENDED, DEV),
    "start after a finished run": ([*BEGUN, ["complete", "--all"]], DEV),
    "start with old runs": (OLD, ["start", "tdd", "--task", "New"]),
    "cleanup": (OLD, ["cleanup"]),
    "task": (BEGUN, ["task", "1", "--done", "--commit", "172c0b0"]),
    "tdd": (BEGUN, ["tdd", "red", "--failing", "test_login"]),
    "phase": ([*BEGUN, ["task", "1", "--done"], ["task", "2", "--done"]], ["phase", "verification"]),
    "block": (BEGUN, ["block", "No key"]),
    "complete": (BEGUN, ["complete", "--all"]),
    "abandon": (BEGUN, ["abandon", "Superseded"]),
    "clear": (BEGUN, ["clear", "--yes"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_a_kill_after_each_write_heals(scene: str, tmp_path: Path, run_python: RunPython) -> None:
    """Nothing is half, nothing happens twice in the history, one copy is left, and the index agrees with the files."""
    before, verb = SCENES[scene]
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    *wrong, counted = json.loads(run_python(_KILL_AT_EACH_WRITE, tmp_path, json.dumps(before), json.dumps([verb])))
    assert wrong == []
    assert counted[0] == verb
    assert counted[1] >= 5, "it writes"
