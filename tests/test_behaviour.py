"""The recorder that compares two trees shows exactly the differences."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.behaviour.__main__ import differs
from tests.behaviour.normal import Normal
from tests.behaviour.stage import ROOT, Stage

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = {
    "a reply": ("workflow/guidance.py", '"ACTION REQUIRED"', '"ACTION  REQUIRED"'),
    "a file": ("files/document.py", 'indent: str | None = "  "', 'indent: str | None = "   "'),
    "a file's mode": ("files/atomic.py", "wanted & 0o777", "wanted & 0o700 | 0o070"),
    "an exit code": ("commands/doctor.py", "1 if problems else 0", "0"),
    "a row of the ledger": (
        "dispatch/costs.py",
        "if not (units or decided):\n        return\n    from holdfast.errors import LedgerError",
        "return\n    from holdfast.errors import LedgerError",
    ),
    "a key of --json": ("commands/status.py", '"ledger": ', '"book": '),
}


def play(stage: Stage) -> None:
    """Start a workflow, compact, and look at it."""
    stage.make({})
    stage.command("start", "Calculator", "--phase", "Plan it", "--read", "gone.md")
    stage.fire("PreCompact-auto")
    stage.fire("SessionStart-compact")
    stage.command("status", "--json")
    stage.command("doctor")
    stage.command("cost")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_what_differs_is_shown(fault: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tree is compared with this one: nothing differs until something in it does."""
    shutil.copytree(ROOT / "hooks", tmp_path / "hooks")
    shutil.copytree(ROOT / "handlers", tmp_path / "handlers")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    if fault:
        path, old, new = FAULTS[fault]
        file = tmp_path / "src" / "holdfast" / path
        assert old in file.read_text("utf-8")
        file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
    assert differs(tmp_path, "short", play, warm=False, keep=None) is (fault is not None), capsys.readouterr().out


def test_equal_ids_keep_one_name_and_others_do_not() -> None:
    """Two recordings name the same thing alike, whatever its id is in them."""
    first, second = Normal({"/tmp/a": "<project>"}), Normal({"/tmp/b": "<project>"})
    text = "{} began at 2026-03-01T10:00:00Z in /tmp/{}/x, took 0.3 s; {} came; {}"
    ids = ("3f2504e04f8941d39a0c0305e82c3301", "9f2504e04f8941d39a0c0305e82c3302")
    said = first(text.format(ids[0], "a", ids[1], ids[0]))
    assert said == "<id 1> began at <time> in <project>/x, took <took>; <id 2> came; <id 1>"
    assert second(text.format(ids[1], "b", ids[0], ids[1])) == said
    assert second(text.format(ids[1], "b", ids[0], ids[0])) != said
