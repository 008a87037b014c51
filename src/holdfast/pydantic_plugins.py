"""Build pydantic models without searching all installed distributions for pydantic's plugins."""

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
    """Build models (at their first validation) inside this block as if no pydantic plugin were installed.

    The search reads the metadata of every distribution; loading the modules for that alone takes a tenth of a cold
    start. Plugins observe validations, and no installed package should observe events. Models built outside the block,
    such as a handler's own, still find plugins. If pydantic has searched already, or no longer searches in this module,
    the block changes nothing.
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
