"""The table of requirements in docs/requirements.md: which test shows each, found by the number it opens with.

`python -m tests.requirements.table --write` brings the table's last column up to date; `--run` runs the tests it names
and prints for each requirement whether they pass.
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

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "requirements.md"
TESTS = ROOT / "tests" / "requirements"

_COUNTS = {"R000": 41, "I000": 21, "R001": 27, "I001": 22, "R002": 47, "I002": 30}
_WIDE = ("R000", "R001", "R002")  # numbered with two digits
_NUMBER = r"[RI]\d{3}-\d+"
_OPENING = re.compile(rf"({_NUMBER}(?:(?:, | and ){_NUMBER})*)\b")


@dataclass(frozen=True, slots=True)
class Row:
    """A requirement with what it says, where it lives, and the tests (`file::test`) that show it."""

    number: str
    says: str
    where: str
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


def rows() -> list[Row]:
    """Return the page's rows."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and re.fullmatch(_NUMBER, cells[0]):
            tests = tuple(re.findall(r"`([^`]+)`", cells[3]))
            found.append(Row(cells[0], cells[1], cells[2], tests))
    return found


def written() -> str:
    """Return the page with its last column as the tests are now."""
    by_number = shown_by()
    lines = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and re.fullmatch(_NUMBER, cells[0]):
            cells[3] = " ".join(f"`{test}`" for test in by_number[cells[0]])
            line = f"| {' | '.join(cells)} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


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
