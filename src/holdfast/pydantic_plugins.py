"""Build pydantic models without searching all installed distributions for pydantic's plugins."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LOADER = "pydantic.plugin._loader"
"""The module that searches for plugins. Loading it takes several times as long as the search itself."""


@contextmanager
def unplugged() -> Iterator[None]:
    """Build models (at their first validation) inside this block as if no pydantic plugin were installed.

    The search reads the metadata of every distribution; loading the modules for that alone takes a tenth of a cold
    start. Plugins observe validations, and no installed package should observe events. Models built outside the block,
    such as a handler's own, still find plugins, and what they found stays. If pydantic no longer searches in this
    module, the block changes nothing.
    """
    known = sys.modules.get(LOADER)
    nobody = ModuleType(LOADER)
    nobody.get_plugins = tuple  # type: ignore[attr-defined]
    sys.modules[LOADER] = nobody
    try:
        yield
    finally:
        if sys.modules.get(LOADER) is nobody:
            del sys.modules[LOADER]
            if known:
                sys.modules[LOADER] = known
