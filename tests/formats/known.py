"""The formats that tests know by heart. What holds for every format, yours too, is in `test_contract.py`."""

from __future__ import annotations

KNOWN = ("hybrid", "compaction", "wfs")
"""Tests that expect words, files or positions of one of these go through them, and not through all that there are."""
