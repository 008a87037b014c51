"""Following docs/contributing.md adds one of each: its examples are put into a copy of the tree and used there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import cli
from tests import processes
from tests.processes import INTERPRETER, ROOT, SESSION, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.processes import Ended, Place

PAGES = ("contributing.md", "architecture.md")
RE_BLOCK = re.MULTILINE | re.DOTALL
EXAMPLES = dict(re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```$", (ROOT / "docs" / PAGES[0]).read_text("utf-8"), RE_BLOCK))
APPENDED = dict(
    re.findall(
        r"^At the end of `(\S+)`:\n\n```\w+\n(.*?)^```$", (ROOT / "docs" / PAGES[0]).read_text("utf-8"), RE_BLOCK
    )
)
FILES = [file for top in ("src", "handlers", "tests", "tools") for file in (ROOT / top).rglob("*.*")] + [
    *ROOT.iterdir()
]
KINDS = (
    "handlers/",
    "src/holdfast/commands/",
    "src/holdfast/checks/",
    "src/holdfast/clients/claude/events/",
    "src/holdfast/formats/",
)
GOES_THROUGH_ALL = re.compile(r"\bformats\.(?:NAMES|OURS)\b|\bRECORDS\b")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what runs and of what tests share, with the page's examples in it."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("src", "handlers", "hooks"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for pattern in ("pyproject.toml", "tests/*.py", "tests/*/**/conftest.py", "tests/*/**/__init__.py"):
        for file in ROOT.glob(pattern):
            (tree / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, tree / file.relative_to(ROOT))
    for name, text in EXAMPLES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        with (tree / name).open("x", encoding="utf-8") as file:  # an example is a new file and changes none
            file.write(text)
    for name, text in APPENDED.items():
        with (tree / name).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{text}")
    return tree


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project, in which only handlers of the examples run."""
    return processes.make(tmp_path)


def holdfast(tree: Path, place: Place, *arguments: str) -> str:
    """Return what a command of the tree prints."""
    environ = place.environ(PYTHONPATH=str(tree / "src"), CLAUDE_CODE_SESSION_ID=SESSION)
    ended = processes.run([sys.executable, "-m", "holdfast", *arguments], b"", environ, place.root)
    assert ended.exit_code == 0, ended.stderr
    return ended.stdout


def fire(tree: Path, place: Place, payload: dict[str, Any]) -> Ended:
    """Send an event through the entrypoint of the tree."""
    sent = payload | {"session_id": SESSION, "cwd": str(place.root)}
    command = [*INTERPRETER, str(tree / "hooks" / "dispatch.py"), payload["hook_event_name"]]
    return processes.run(command, processes.encoded(sent), place.environ(), place.root)


def test_there_is_an_example_of_each_kind_with_its_test() -> None:
    """Nothing on the page is left untried."""
    assert [kind for kind in KINDS if not any(name.startswith(kind) for name in EXAMPLES | APPENDED)] == []
    assert sum(name.startswith("tests/") for name in EXAMPLES) == len(KINDS)
    assert len(re.findall(r"^```(?:python|json)$", (ROOT / "docs" / PAGES[0]).read_text("utf-8"), re.MULTILINE)) == len(
        EXAMPLES | APPENDED
    )


def pytest_passes(tree: Path, *words: str) -> str:
    """Run pytest on a tree, in one process; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *words],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_examples_tests_pass(tree: Path) -> None:
    """Each example's own test, all in one process."""
    said = pytest_passes(tree, *(name for name in EXAMPLES if name.startswith("tests/")))
    assert f"{len(KINDS)} passed" in said


def test_the_examples_are_as_ruff_wants_them(tree: Path) -> None:
    """They can be copied as they are."""
    files = [name for name in EXAMPLES if name.endswith(".py")]
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", *files],
            cwd=tree,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_an_added_handler_answers(tree: Path, place: Place) -> None:
    """The entrypoint finds it in the folder of the shipped ones."""
    ended = fire(tree, place, place.payload("PreToolUse-Bash", tool_input={"command": "git push --force"}))

    assert ended.specific["permissionDecision"] == "deny"


def test_an_added_command_prints(tree: Path, place: Place) -> None:
    """It is called by its module's name, and help has its line."""
    assert holdfast(tree, place, "where").splitlines()[0] == str(place.root)
    assert re.search(r"^  where +Say where Holdfast keeps", holdfast(tree, place, "--help"), re.MULTILINE)


def test_an_added_check_is_run(tree: Path, place: Place) -> None:
    """`holdfast doctor` shows what it found, whatever else it finds in an empty home."""
    environ = place.environ(PYTHONPATH=str(tree / "src"))
    ended = processes.run([sys.executable, "-m", "holdfast", "doctor", "--json"], b"", environ, place.root)

    assert [row["level"] for row in json.loads(ended.stdout)["findings"] if row["check"] == "git"]


def test_an_added_event_is_dispatched(tree: Path, place: Place) -> None:
    """`handlers new` writes its example into a file, which answers it."""
    holdfast(tree, place, "handlers", "new", "branch", "--event", "BranchSwitched")
    payload = next(json.loads(text) for name, text in EXAMPLES.items() if name.endswith("BranchSwitched.json"))

    assert fire(tree, place, payload).reply == {"systemMessage": "Now on main."}


@pytest.mark.nightly
def test_an_added_format_fails_no_test_that_goes_through_all(tree: Path) -> None:
    """Its folder is all there is of it: no test has a list that it must be put into."""
    (name,) = (each.split("/")[-2] for each in EXAMPLES if each.endswith("/format.py"))
    for folder in ("docs", "examples", "tools"):
        shutil.copytree(ROOT / folder, tree / folder, dirs_exist_ok=True)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, tree)
    shutil.copytree(ROOT / "tests", tree / "tests", dirs_exist_ok=True, ignore=lambda folder, names: {"__pycache__"})
    # The page's command and handler are in the tree too, and these files judge commands and handlers, not formats.
    others_too = ("test_completion.py", "test_help.py")
    every = [file for file in (ROOT / "tests").rglob("test_*.py") if file.name not in others_too]
    files = [file for file in every if GOES_THROUGH_ALL.search(file.read_text("utf-8"))]
    others = f"{name} or not (hybrid or compaction or wfs or checkbox)"
    pytest_passes(
        tree, "-m", "not slow and not nightly", "-k", others, *(str(file.relative_to(ROOT)) for file in files)
    )


@pytest.mark.slow
def test_an_added_format_keeps_a_workflow(tree: Path, place: Place) -> None:
    """It is started, advanced and shown."""
    started = holdfast(
        tree, place, "start", "Release", "--format", "worklist", "--phase", "Tag it", "--phase", "Say so"
    )
    assert "Started in .worklist/list.json" in started
    assert holdfast(tree, place, "done").startswith('Completed item 1/2 "Tag it".')
    shown = json.loads(holdfast(tree, place, "status", "--json"))["current"]
    assert (shown["format"], shown["phase"], shown["status"]) == ("worklist", "Say so", "active")


def test_an_added_description_keeps_a_workflow(tree: Path, place: Place) -> None:
    """The page's TOML is all there is of this format."""
    page = (ROOT / "docs" / PAGES[0]).read_text("utf-8")
    (description,) = re.findall(r"^```toml\n(files = .*?)^```$", page, RE_BLOCK)
    place.write(place.home / ".config/holdfast/formats/checklist.toml", description)
    holdfast(tree, place, "start", "Release", "--format", "checklist", "--phase", "Tag it", "--phase", "Say so")
    assert holdfast(tree, place, "done").startswith('Completed step 1/2 "Tag it".')


@pytest.mark.slow
def test_what_is_tried_by_hand_is_answered(tree: Path, tmp_path: Path) -> None:
    """The lines for a shell begin a workflow in a throw-away project, and a compaction gives it back."""
    (script,) = re.findall(r"^```\n(export HOME=.*?)^```$", (ROOT / "docs" / PAGES[0]).read_text("utf-8"), RE_BLOCK)
    script = re.sub(r"\.venv/bin/(python)?", lambda found: sys.executable + (" -m " if not found[1] else ""), script)
    done = subprocess.run(
        ["/bin/sh", "-euc", script],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree / "src"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Keep these workflows" in done.stdout
    assert "WORKFLOW RESTORED" in done.stdout
    assert "Phase: 1/2 - Build" in done.stdout


def named(page: str) -> Iterator[str]:
    """Yield what a page sets as code, outside and inside its blocks, a line each; examples are left out."""
    text = re.sub(
        r"^```(?:python|json)\n.*?^```$", "", (ROOT / "docs" / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for block, code in re.findall(r"^```\n(.*?)^```$|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL):
        yield from block.splitlines() if block else [code]


def there(path: str) -> bool:
    """Return whether the tree or an example has a file or folder.

    NAME stands for any, and a name alone may lie anywhere.
    """
    pattern = path.replace("NAME", "*").rstrip("/")
    if "/" not in pattern:
        return any(fnmatchcase(name.split("/")[-1], pattern) for name in (*EXAMPLES, *map(str, FILES)))
    return path in EXAMPLES or any(any(top.glob(pattern)) for top in (ROOT, SOURCE, SOURCE / "holdfast"))


@pytest.mark.parametrize("page", PAGES)
def test_the_paths_and_modules_a_page_names_are_there(page: str) -> None:
    """Files and folders, modules such as `dispatch.calls`, and what links lead to; what an example makes counts."""
    words = {word.strip(",") for line in named(page) for word in line.split()}
    paths = {
        word for word in words if re.fullmatch(r"\.?[\w*-]+(/[\w.*-]+)+/?|[\w-]+\.(py|md|toml|ini|yaml|json)", word)
    }
    modules = {word.replace(".", "/") for word in words - paths if re.fullmatch(r"[a-z]+(\.[a-z_]+|\.\*)+", word)}
    modules = {name for name in modules if (SOURCE / "holdfast" / name.partition("/")[0]).is_dir()}
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "docs" / page).read_text("utf-8"))

    assert [path for path in sorted(paths) if not path.startswith(".venv/") and not there(path)] == []
    assert modules or page == "contributing.md"
    assert [name for name in sorted(modules) if not there(name) and not there(f"{name}.py")] == []
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_a_page_names_are_there(page: str) -> None:
    """Targets of the Makefile, programs of the environment, modules of tests, and Holdfast's own commands."""
    makefile = (ROOT / "Makefile").read_text()
    added = {name.split("/")[-1].removesuffix(".py") for name in EXAMPLES if name.startswith("src/holdfast/commands/")}
    known = {*cli.commands(), *added, "NAME"}
    for line in named(page):
        for target in re.findall(r"\bmake (\w+)", line):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), line
        for command in re.findall(r"(?:^|/)holdfast (?!-)(\S+)", line):
            assert command in known, line
        for module in re.findall(r"-m (tests\.\S+)", line):
            place = ROOT / module.replace(".", "/")
            assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), line
