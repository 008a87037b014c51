"""The tables of a ledger, for tests that look into all of them."""

from holdfast.memory import rows, schema

COLUMNS = {each.TABLE: tuple(schema.columns(each)) for each in rows.TABLES}
"""The names of each table's columns, by table."""
