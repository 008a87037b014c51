"""docs/requirements.md has every requirement, with places that exist and the tests that show it."""

from __future__ import annotations

import re

from tests.requirements import table


def test_every_requirement_has_its_row_once_in_order() -> None:
    """None is missing, none is there twice."""
    assert [row.number for row in table.rows()] == table.numbers()


def test_every_requirement_is_shown_by_the_tests_named() -> None:
    """The last column is what the docstrings say: `python -m tests.requirements.table --write` brings it up to date."""
    assert table.written() == table.PAGE.read_text(encoding="utf-8")
    assert [row.number for row in table.rows() if not row.tests] == []


def test_every_place_named_exists() -> None:
    """Where a requirement lives is a file or folder of the repository."""
    rows = table.rows()
    places = {place for row in rows for place in re.findall(r"`([^`]+)`", row.where)}
    assert {place for place in places if not (table.ROOT / place).exists()} == set()
    assert [row.number for row in rows if "`" not in row.where or not row.says] == []


def test_no_test_names_a_requirement_that_is_none() -> None:
    """A slip in a number would hide a gap."""
    assert set(table.shown_by()) <= set(table.numbers())
