"""The README's picture: a session before and after a compaction, exported from the demo as it really runs."""

from __future__ import annotations

import io
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.terminal_theme import MONOKAI
from rich.text import Text

from holdfast.testkit import demo, stage

if TYPE_CHECKING:
    from holdfast.testkit.stage import Shown

PLACE = Path(__file__).resolve().parents[2] / "docs" / "session.svg"
COLUMNS = 60  # so that it can be read on a phone
_NOW = "2026-03-02T09:30:00Z"  # so that the same program draws the same picture
_MARK = "5d68f81ee5cd"  # in place of one that is made from the path of the demo's folder
_RESTORED = 3  # the demo's step in which the workflow comes back
_LINES = 10  # of the guidance: what it is about, and what to read again


def drawn() -> str:
    """Run the demo up to the first compaction, and return the picture of it as SVG."""
    with stage.opened() as throwaway:
        throwaway.place.variables["HOLDFAST_NOW"] = _NOW
        *_, restored = islice(demo.story(throwaway), _RESTORED)
        root = f"{throwaway.root}/"
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Rule(Text("Before: what you wrote down"), align="left"))
    console.print(Panel(Text(demo.MEMORY.rstrip()), title="CLAUDE.local.md", title_align="left", border_style="cyan"))
    console.print(Rule(Text("Claude Code compacts the conversation", "bold yellow"), style="yellow"))
    console.print(Rule(Text("After: what Claude is told, without anyone typing it"), align="left"))
    console.print(Panel(Text(_shortened(restored, root)), title=restored.did, title_align="left", border_style="green"))
    picture = console.export_svg(title="holdfast demo", theme=MONOKAI, unique_id="demo", code_format=_light())
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


def _shortened(shown: Shown, root: str) -> str:
    """Return the first lines of what a step shows, without the demo's folder and what is made from its name."""
    text = re.sub(r"\bworkflow-data-[0-9a-f]{12}\b", f"workflow-data-{_MARK}", shown.panels[0].text.replace(root, ""))
    lines = text.rstrip().splitlines()
    return "\n".join([*lines[:_LINES], f"… {len(lines) - _LINES} more lines: what to do first"])


def _light() -> str:
    """Return rich's page without the fonts that it would fetch: a picture in a README loads nothing."""
    from rich._export_format import CONSOLE_SVG_FORMAT

    return re.sub(r"\s*@font-face \{\{.*?\}\}\n", "\n", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
