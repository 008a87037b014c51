"""Building pydantic models without a search of all installed distributions for pydantic's plugins."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOADER = "pydantic.plugin._loader"


@contextmanager
def unplugged() -> Iterator[None]:
    """Have models that are built in the block, at their first validation, be built as if no plugin were installed.

    The search reads the metadata of every distribution: the modules for that alone take a tenth of a cold start.
    Plugins watch validations, and no installed package has a say about an event. Models that are built elsewhere, such
    as a handler's own, find their plugins. Where pydantic has looked for them already, or keeps the search elsewhere,
    this does nothing.
    """
    if _LOADER in sys.modules:
        yield
        return
    nobody = ModuleType(_LOADER)
    nobody.get_plugins = tuple  # type: ignore[attr-defined]
    sys.modules[_LOADER] = nobody
    try:
        yield
    finally:
        if sys.modules.get(_LOADER) is nobody:
            del sys.modules[_LOADER]
