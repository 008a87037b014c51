"""Which processes run, as far as the system tells."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.process import liveness

if TYPE_CHECKING:
    import pytest


def test_where_the_system_has_no_namespaces_a_process_is_in_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, and in a sandbox without /proc."""

    def missing(path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "readlink", missing)
    liveness.namespace.cache_clear()
    try:
        assert liveness.namespace() is None
    finally:
        liveness.namespace.cache_clear()
