"""`holdfast start` creates a workflow in each format and gives it to the session."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.files import atomic
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from holdfast.workflow.model import Start
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    import pytest

    from holdfast.workflow.model import Workflow


def only(root: Path) -> Workflow:
    (workflow,) = registry.all_found(Workspace.open(root)).workflows
    return workflow


def state(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(only(root).path.read_bytes())
    return content


@each_row(
    "arguments", [("--set", "novalue"), ("--set", "=x"), ("--total", "0"), ("--format", "odd"), ("--total", "many")]
)
def test_a_wrong_option_is_a_usage_error(tmp_path: Path, arguments: tuple[str, str]) -> None:
    """Exit 2, and no workflow."""
    holdfast("start", "T", "--phase", "One", *arguments, root=tmp_path, code=2)

    assert registry.all_found(Workspace.open(tmp_path)).workflows == ()


@each_row(
    "text, value",
    [
        *(
            ("7", 7),
            ("true", True),
            ("null", None),
            ('"7"', "7"),
            ('{"a": [1]}', {"a": [1]}),
            ("é 😀", "é 😀"),
            ("", ""),
        ),
        *((each, each) for each in ("NaN", "-Infinity", "1e999", "[" * 20_000, "{", "9" * 9_000)),
    ],
)
def test_a_context_value_may_be_json(tmp_path: Path, text: str, value: object) -> None:
    """Any other is text. Python reads more as JSON than JSON has; such a value would break the state file."""
    holdfast("start", "Book", "--phase", "One", "--set", f" x ={text}", root=tmp_path)

    assert state(tmp_path)["context"]["x"] == value


@each_row(
    "kind, seen, said",
    [
        ("compaction", [], []),
        ("hybrid", ["?? .claude/workflow_state_system.md"], [".claude/workflow_state_system.md"]),
        ("wfs", ["?? .workflow/"], [".workflow"]),
    ],
)
def test_git_sees_nothing_of_this_machines_state(tmp_path: Path, kind: str, seen: list[str], said: list[str]) -> None:
    """What a team may want to share is said once; a folder that was there before stays as it was."""

    def git(*words: str) -> list[str]:
        asked = ["git", "-C", str(tmp_path), "-c", "core.excludesFile=", *words]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()

    git("init", "-q")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{}")
    git("add", ".")
    words = ("start", "Ship it", "--format", kind, "--phase", "A")
    first, second = (holdfast(*words, "--replace", root=tmp_path).out for _ in range(2))

    assert [line for line in git("status", "--porcelain") if not line.startswith("A ")] == seen
    named = [f"Git sees {path}: commit it to share it, or add it to .gitignore." for path in said]
    assert [line for line in first.splitlines() if "git" in line.casefold()] == named
    assert "git" not in second.casefold()


FIRST: dict[str, list[tuple[str, ...]]] = {
    "nothing": [],
    "another": [("start", "Older", "--format", "wfs", "--phase", "One")],
    "finished": [("start", "Older", "--format", "hybrid", "--phase", "One", "--read", "old.md"), ("done",)],
    "same": [("start", "Ship it", "--format", "compaction", "--phase", "One")],
}


@each_row(
    "keeper, first",
    [
        ("wfs", "nothing"),
        ("wfs", "another"),
        ("hybrid", "nothing"),
        ("hybrid", "finished"),
        ("compaction", "nothing"),
        ("compaction", "same"),
    ],
)
def test_nothing_half_made_stays_where_a_start_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeper: str, first: str
) -> None:
    """Whichever write it is that a full disk refuses, what failed is named, and what was there before is as it was."""
    for command in FIRST[first]:
        holdfast(*command, root=tmp_path)
    phases = (("Build", "builder"), ("Test", "tester"))
    start = Start(title="Ship it", phases=phases, reading=("a.md",), replace=True)
    before, said = _tree(tmp_path), list[str]()
    for after in range(50):
        with monkeypatch.context() as patch, closing(Workspace.open(tmp_path)) as project:
            _fill_disk(patch, after)
            try:
                registry.get(keeper).start(project, start)
            except StateError as error:
                said.append(str(error))
                assert _tree(tmp_path) == before
                continue
        break

    assert said
    assert all(str(tmp_path) in each and each.endswith("No space left on device") for each in said)
    assert registry.all_found(Workspace.open(tmp_path)).workflows[0].title == "Ship it"


def _fill_disk(patch: pytest.MonkeyPatch, after: int) -> None:
    """Have the disk be full after so many writes, also for a new empty file."""
    left = [after]
    fill, touch = atomic._fill, Path.touch

    def take() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def filled(descriptor: int, data: bytes) -> None:
        take()
        fill(descriptor, data)

    def touched(path: Path) -> None:
        if not path.exists():
            take()
        touch(path)

    patch.setattr(atomic, "_fill", filled)
    patch.setattr(Path, "touch", touched)


def _tree(root: Path) -> dict[str, bytes]:
    """Return what lies in the formats' folders, empty ones too, but for what keeps a folder out of git."""
    tops = (".workflow", ".claude/state", "untracked/workflow-state")
    found = [path for top in tops for path in (root / top).glob("**/*") if path.name != ".gitignore"]
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"" for path in found}


def test_a_type_is_never_changed_without_a_word(tmp_path: Path) -> None:
    """A format that knows its types says so, or refuses another one; one that knows none takes any."""
    said = holdfast("start", "Book", "--type", "release", "--format", "compaction", root=tmp_path).out
    assert 'warning: "release" is stored as custom; the compaction format knows the types planning, qa-loop' in said
    said = holdfast("start", "Loop", "--type", "QA-Loop", "--format", "compaction", root=tmp_path).out
    assert "is stored as" not in said
    kinds = {each.title: each.kind for each in registry.all_found(Workspace.open(tmp_path)).workflows}
    assert kinds == {"Book": "custom", "Loop": "qa-loop"}

    refused = holdfast("start", "Tree", "--type", "release", "--format", "wfs", root=tmp_path, code=1).err
    assert 'no type "release"; it knows simple, medium, complex' in refused
    said = holdfast("start", "Tool", "--type", "release", "--format", "HYBRID", "--phase", "One", root=tmp_path).out
    assert "warning" not in said


def test_root_is_warned_in_the_folder_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user could not complete it: its files belong to root."""
    if os.geteuid() == 0:
        os.chown(tmp_path, 1000, 1000)
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    assert "Warning" not in holdfast("start", "Mine", "--phase", "One", root=tmp_path).err
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    said = holdfast("start", "Theirs", "--phase", "One", root=tmp_path).err
    assert f'To give it to them: chown -R {owner} "{tmp_path}/untracked"' in said
