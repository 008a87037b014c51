"""The table of requirements in docs/requirements.md: what each says and the files of the tests that show it.

A test shows a requirement if its docstring opens with the number. `python -m tests.requirements.table --write` updates
the files; `--run` runs the tests and prints for each requirement whether they pass.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.requirements import operations

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "requirements.md"
TESTS = ROOT / "tests" / "requirements"

SOURCES = ("src", "handlers", "hooks", "skills", "examples")
ASKS_FOR_TESTS = frozenset({"R000-41", "R001-25"})
"""Requirements that ask for tests and for nothing else: they live where they are shown."""

_COUNTS = {"R000": 41, "I000": 21, "R001": 27, "I001": 22, "R002": 47, "I002": 31, "R003": 34, "I003": 20}
_COUNTS |= {"R004": 42, "I004": 24}
_WIDE = ("R000", "R001", "R002", "R003", "R004")  # numbered with two digits
_NUMBER = r"[RI]\d{3}-\d+"
_OPENING = re.compile(rf"({_NUMBER}(?:(?:, | and ){_NUMBER})*)\b")


@dataclass(frozen=True, slots=True)
class Row:
    """A requirement with what it says, and the tests (`file::test`) that show it."""

    number: str
    says: str
    tests: tuple[str, ...]


def numbers() -> list[str]:
    """Return every requirement and resolution there is, in the page's order."""
    return [
        f"{prefix}-{number:02}" if prefix in _WIDE else f"{prefix}-{number}"
        for prefix, count in _COUNTS.items()
        for number in range(1, count + 1)
    ]


def shown_by() -> dict[str, list[str]]:
    """Return the tests of each number: those whose docstring opens with it, alone or in a list of numbers."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.glob("test_*.py")):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                opening = _OPENING.match(ast.get_docstring(node) or "")
                for number in re.findall(_NUMBER, opening[1]) if opening else ():
                    found[number].append(f"{path.name}::{node.name}")
    return found


def cited_in() -> dict[str, list[str]]:
    """Return the source files that cite each number."""
    found: dict[str, list[str]] = defaultdict(list)
    files = [file for top in SOURCES for file in (ROOT / top).rglob("*") if file.suffix in (".py", ".md")]
    for file in sorted(files):
        for number in sorted(set(re.findall(rf"\b{_NUMBER}\b", file.read_text(encoding="utf-8")))):
            found[number].append(file.relative_to(ROOT).as_posix())
    return found


def rows() -> list[Row]:
    """Return the page's rows."""
    tests, lines = shown_by(), PAGE.read_text(encoding="utf-8").splitlines()
    return [Row(cells[0], cells[1], tuple(tests[cells[0]])) for line in lines if (cells := _cells(line))]


def written() -> str:
    """Return the page with its last column as the tests are now, and the table of operations."""
    tests, lines = shown_by(), []
    page = PAGE.read_text(encoding="utf-8").partition(f"\n{operations.HEADING}\n")[0].rstrip("\n")
    for line in page.splitlines():
        if cells := _cells(line):
            number, says = cells[:2]
            files = sorted({test.removeprefix("test_").partition(".py")[0] for test in tests[number]})
            line = f"| {number} | {says} | {', '.join(files)} |"
        lines.append(line)
    return "\n".join(lines) + f"\n\n{operations.table()}"


def _cells(line: str) -> list[str]:
    """Return the three cells of a requirement's row; no cells for any other line."""
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    return cells if len(cells) == 3 and re.fullmatch(_NUMBER, cells[0]) else []


def run() -> int:
    """Run the tests the page names, print each requirement with its verdict, and return the exit code."""
    wanted = sorted({test for row in rows() for test in row.tests})
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        named = [f"{TESTS.relative_to(ROOT)}/{test}" for test in wanted]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", f"--junitxml={report}", *named]
        ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        verdicts = _verdicts(report) if report.exists() else {}
    failing = 0
    for row in rows():
        good = bool(row.tests) and all(verdicts.get(test, False) for test in row.tests)
        failing += not good
        print(f"{'pass' if good else 'FAIL'}  {row.number:<8} {row.says}")
    if ended.returncode or failing:
        print(ended.stdout)
    print(f"{len(rows()) - failing} of {len(rows())} requirements hold, by {len(wanted)} tests")
    return 1 if failing or ended.returncode else 0


def _verdicts(report: Path) -> dict[str, bool]:
    """Return for each `file::test` whether all its cases passed."""
    passed: dict[str, bool] = {}
    for case in ET.parse(report).iter("testcase"):
        file = case.get("classname", "").rpartition(".")[2]
        name = f"{file}.py::{case.get('name', '').partition('[')[0]}"
        passed[name] = passed.get(name, True) and len([part for part in case if part.tag != "properties"]) == 0
    return passed


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        sys.exit(run())
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(), encoding="utf-8")
    else:
        sys.exit("usage: python -m tests.requirements.table --write | --run")
