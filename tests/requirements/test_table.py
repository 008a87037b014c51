"""docs/requirements.md has every requirement, with the tests that show it."""

from __future__ import annotations

from tests.requirements import operations, table
from tests.test_docs import fault


def test_every_requirement_has_its_row_once_in_order() -> None:
    """None is missing, none is there twice."""
    assert [row.number for row in table.rows()] == table.numbers()


def test_the_page_says_what_source_and_tests_say() -> None:
    """`python -m tests.requirements.table --write` brings it up to date."""
    assert table.written() == table.PAGE.read_text(encoding="utf-8")


def test_every_requirement_has_a_place_and_a_test() -> None:
    """A number that nothing cites, or no test opens with, is a promise without anything behind it."""
    cited = table.cited_in().keys() | table.ASKS_FOR_TESTS
    assert [row.number for row in table.rows() if not (row.says and row.tests and row.number in cited)] == []


def test_no_test_names_a_requirement_that_is_none() -> None:
    """A slip in a number would hide a gap."""
    assert set(table.shown_by()) <= set(table.numbers())


def test_every_operation_has_a_command_that_exists() -> None:
    """The page says which command does what a requirement asks for."""
    assert set(operations.OPERATIONS) <= set(table.numbers())
    calls = {call for each in operations.OPERATIONS.values() for call in each}
    assert {call: why for call in sorted(calls) if (why := fault(call))} == {}
