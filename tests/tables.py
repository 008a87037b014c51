"""Run one test over all rows of a table, as one case."""

from __future__ import annotations

import functools
import inspect
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Test = Callable[..., None]

LABEL_LIMIT_CHARS = 200


def each_row(
    names: str | Sequence[str], table: Iterable[Any], *, ids: Callable[[Any], str] = repr
) -> Callable[[Test], Test]:
    """Call a test once per row of a table; each row that fails is reported as a subtest with the row's values.

    Write it as you write `pytest.mark.parametrize`; several tables on one test are combined. Use it where rows are
    cells of a table: cheap, and with the same assertions. Keep `parametrize` where a row is a scenario that takes time.

    All rows run, even if an earlier one fails. Each row gets a `tmp_path` and a `monkeypatch` of its own; the other
    fixtures and the home are the same for all rows. A table without rows is an error.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [dict(zip(fields, row if len(fields) > 1 else (row,), strict=True)) for row in table]
    assert rows, f"the table of {', '.join(fields)} has no rows"
    labelled = [([ids(value) for value in row.values()], row) for row in rows]

    def decorate(test: Test) -> Test:
        inner, more = getattr(test, "table", (test, [([], {})]))
        combined = [(one + two, row | other) for one, row in labelled for two, other in more]
        fixtures = [one for one in inspect.signature(inner).parameters.values() if one.name not in combined[0][1]]

        @functools.wraps(test)
        def run(subtests: pytest.Subtests, **values: Any) -> None:
            __tracebackhide__ = True
            for number, (label, row) in enumerate(combined):
                try:
                    _call(inner, row, values, number)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception):
                    with subtests.test(" | ".join(label)[:LABEL_LIMIT_CHARS]):  # one that passes costs more than most rows do
                        raise

        subtests = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        vars(run).update(__signature__=inspect.Signature([*fixtures, subtests]), table=(inner, combined))
        return run

    return decorate


def _call(test: Test, row: dict[str, Any], values: dict[str, Any], number: int) -> None:
    """Call a test for one row, with a folder and with patches of its own."""
    __tracebackhide__ = True
    with ExitStack() as ends:
        if "tmp_path" in values:
            values = values | {"tmp_path": values["tmp_path"] / str(number)}
            values["tmp_path"].mkdir(mode=0o700)
        if "monkeypatch" in values:
            values = values | {"monkeypatch": ends.enter_context(values["monkeypatch"].context())}
        test(**row, **values)
