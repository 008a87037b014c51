"""A format is its folder: other code knows only its record, and nothing else names it."""

from __future__ import annotations

import ast
import re
import shutil
from typing import TYPE_CHECKING

from holdfast import formats
from holdfast.formats import RECORDS
from holdfast.formats.record import Record, misshapen
from holdfast.workflow import registry
from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RunPython

SOURCE = ROOT / "src" / "holdfast"
# What still names a format outside its folder. It goes when the format offers what is asked for there.
EXCEPTIONS = {
    "config.py",  # the default
}
# Words that are a format's name and mean something else here: where they do.
OTHERS = {
    "compaction": {  # of a session: columns, fields, kinds of events and what is counted
        "checks/deliveries.py",
        "memory/rows.py",
        "report/page.py",
        "sessions/compactions.py",
        "sessions/timeline.py",
    },
    "skills": {  # of the client: what a model is told about a subject
        "clients/claude/hookspecs.py",
        "clients/claude/scopes.py",
        "install/skill.py",
        "paths.py",
    },
}


def test_each_record_is_a_folders() -> None:
    """They are found by listing the folders, and named as these are."""
    assert {path.parent.name for path in (SOURCE / "formats").glob("*/record.py")} == set(RECORDS)
    assert [registry.get(name).name for name in RECORDS] == list(RECORDS)


def test_what_a_format_that_is_gone_left_behind_is_no_format(run_python: RunPython, tmp_path: Path) -> None:
    """Who goes to a branch without it, or moves it into a package, keeps its `__pycache__`; all else goes on."""
    copy = shutil.copytree(SOURCE, tmp_path / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "formats" / "gone" / "__pycache__").mkdir(parents=True)

    script = "import sys; sys.path.insert(0, sys.argv[1]); from holdfast import formats; print(*formats.OURS)"

    assert run_python(script, tmp_path).split() == list(formats.OURS)


@each_row("name", formats.OURS)
def test_a_record_says_all_that_is_asked_of_it(name: str) -> None:
    """Only that of a package may leave a constant out."""
    file = SOURCE / "formats" / name / "record.py"
    constants = vars(RECORDS[name])
    missing = [key for key in Record.__annotations__ if key not in constants]

    assert not missing, f"add {', '.join(missing)} to {file}; src/holdfast/formats/record.py says what they mean"
    assert list(misshapen(constants)) == [], file
    ranks = [record.RANK for record in RECORDS.values()]
    assert ranks == list(range(len(RECORDS))), f"{file}: give a new format the next free RANK"


@each_row("record", RECORDS.values())
def test_a_record_costs_nothing_but_itself(record: Record) -> None:
    """It holds constants and imports nothing."""
    tree = ast.parse((SOURCE / "formats" / record.NAME / "record.py").read_bytes())

    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef))]
    folder = SOURCE / "formats" / record.NAME
    assert bool(record.COMMANDS) == bool([*folder.glob("commands*"), *folder.glob("verbs.py")])
    assert bool(record.SOURCES) == (folder / "detector.py").is_file()


def naming() -> Iterator[tuple[str, str]]:
    """Yield (file, what it says) for whatever outside `formats/` names a format, or asks for its unit."""
    name = re.compile(rf"({'|'.join(formats.NAMES)})(:.*)?", re.DOTALL)
    folders = tuple(f"holdfast.formats.{each}" for each in formats.NAMES)
    files: list[Path] = [*SOURCE.rglob("*.py"), *(ROOT / "handlers").glob("*.py"), *(ROOT / "hooks").glob("*.py")]
    for path in files:
        if path.is_relative_to(SOURCE / "formats"):
            continue
        place = path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and name.fullmatch(node.value):
                yield place, node.value
            elif isinstance(node, ast.ImportFrom):
                asked = (f"{node.module}.{alias.name}" for alias in node.names)
                yield from ((place, each) for each in asked if each.startswith(folders))
            elif isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".unit"):
                yield place, ast.unparse(node)


def test_nothing_else_names_a_format() -> None:
    """Who adds one adds a folder, and looks for no list."""
    named = set(naming())
    others = {(place, word) for word, places in OTHERS.items() for place in places if word in formats.NAMES}

    assert {place for place, _ in named - others} == EXCEPTIONS
    assert named >= others
