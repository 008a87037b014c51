"""The guidance stays short: in characters, for a workflow of two phases in every shipped format."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

import pytest

from holdfast import formats
from holdfast.workflow.wording import units
from tests.context_costs import COMPACTION, RESUME, told
from tools.survival import samples

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

MOST = 500
FACTS = (
    *("Workflow: User auth", "1/2", "Design", "in_progress", "Build"),
    "Next step: ",
)
RICH = (
    *("REQUIRED READING\n- @docs/auth.md\n- @docs/api.md\n", "- ticket: 42\n"),
    *("- Run the tests after each change\n", "- Never store plain passwords\n"),
)


def own(text: str) -> int:
    """How many characters a format says of its state beyond phases, such as bounds: lines of context of its own."""
    _, _, context = text.partition("Context:\n")
    lines = takewhile(lambda line: line.startswith("- "), context.splitlines(keepends=True))
    return sum(units(line) for line in lines if line not in RICH)


@pytest.mark.parametrize("name", samples.FORMATS)
def test_the_guidance_of_two_phases_is_short(holdfast_project: Callable[..., HoldfastProject], name: str) -> None:
    """Every fact is there in 500 characters and what only this format keeps; only the heading differs after a crash."""
    texts = told(holdfast_project(), name, rich=False)
    text = texts[COMPACTION]
    assert units(text) <= MOST + own(text), text
    facts = FACTS if formats.RECORDS[name].IN_ORDER else [fact for fact in FACTS if fact != "1/2"]
    assert [fact for fact in facts if fact not in text] == []
    after_crash, compacted = (re.sub(r"[0-9a-f]{12}", "", each) for each in (texts[RESUME], text))
    assert after_crash == compacted.replace(" AFTER COMPACTION", "", 1)
    assert [texts[event] for event in ("SessionStart (startup)", "UserPromptSubmit", "Stop")] == ["", "", ""]


@pytest.mark.parametrize("name", samples.FORMATS)
def test_more_facts_cost_only_their_own_lines(holdfast_project: Callable[..., HoldfastProject], name: str) -> None:
    """Required reading, reminders and a value: their lines, three headings, and what to do with the reading."""
    text = told(holdfast_project(), name, rich=True)[COMPACTION]
    assert [fact for fact in RICH if fact not in text] == []
    assert units(text) <= MOST + own(text) + sum(map(len, RICH)) + len("Key reminders:\nContext:\n") + 80, text


@pytest.mark.parametrize("name", samples.FORMATS)
def test_no_text_speaks_of_how_holdfast_works(holdfast_project: Callable[..., HoldfastProject], name: str) -> None:
    """Nor does any hold a 64-digit hash."""
    for event, text in told(holdfast_project(), name, rich=True).items():
        assert not re.search(r"[0-9a-f]{64}", text), event
        assert "Holdfast" not in text, event
