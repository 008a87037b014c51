"""The guide on handlers: its code runs, and its commands print what it shows."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from tests.commandline import holdfast
from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from holdfast.testing import HoldfastProject
    from tests.api.author import Authors

GUIDE = (ROOT / "docs/guides/writing-handlers.md").read_text("utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
*HANDLERS, TEST = PYTHON
SECRETS = HANDLERS[0]
RULES = (ROOT / "docs/guides/rules-and-scripts.md").read_text("utf-8")


def test_its_examples_come_out(tmp_path: Path) -> None:
    """Each handler passes `check` and `test`, and so do the rules and scripts of the other page."""
    for number, text in enumerate(HANDLERS):
        (tmp_path / f"handler{number}.py").write_text(text)
    rules = [text for text in blocks("toml") if text.startswith("event")]
    for number, text in enumerate(rules):
        (tmp_path / f"rule{number}.toml").write_text(text)
    for number, text in enumerate(scripts := blocks("sh")):
        (tmp_path / f"script{number}.sh").write_text(text)
        (tmp_path / f"script{number}.sh").chmod(0o755)
    assert len(rules) == len(scripts) == 2

    count = len(HANDLERS) + 4
    assert holdfast("handlers", "test", str(tmp_path)).out.endswith(f" examples passed, of {count} handlers.\n")
    assert holdfast("handlers", "check", str(tmp_path)).out == f"No faults in {count} handlers.\n"


def blocks(language: str) -> list[str]:
    """Return the blocks of code in a language on the page about rules and scripts."""
    return re.findall(rf"^```{language}\n(.*?)^```$", RULES, re.MULTILINE | re.DOTALL)


def test_its_test_passes(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """The test that it shows."""
    names: dict[str, Any] = {"SOURCE": SECRETS}
    exec(TEST, names)
    names["test_no_secrets"](holdfast_project)


def test_its_command_prints_what_it_shows(author: Authors, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the times."""
    made = author({"no_secrets": SECRETS})
    monkeypatch.chdir(made.root)
    words, shown = re.findall(
        r"^```\nholdfast (handlers try .*)\n```\n\n```text\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL
    )[0]

    said = holdfast(*shlex.split(words), root=made.root, code=1).out

    assert re.sub(r"[0-9.]+ ms", "", said) == re.sub(r"[0-9.]+ ms", "", shown)
